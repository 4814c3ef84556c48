"""Calculus on a fitted field: derivatives and parts of an expansion are expansions again, so all of it is exact."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from ..expansions import Expansion
from ..operators import OperatorKernel


def curl_free_part(field: Expansion, space: np.ndarray) -> Expansion:
    """The gradient part: each wave's amplitude projected on its frequency; the constant belongs to it."""
    waves = field.frequencies[:, space]
    return replace(field, cosine=_along(waves, field.cosine) * waves, sine=_along(waves, field.sine) * waves)


def divergence_free_part(field: Expansion, space: np.ndarray) -> Expansion:
    """The rest: the field is the sum of both parts."""
    along = curl_free_part(field, space)
    return replace(
        field,
        cosine=field.cosine - along.cosine,
        sine=field.sine - along.sine,
        intercept=np.zeros_like(field.intercept),
    )


def scalar_potential(field: Expansion, space: np.ndarray) -> Expansion:
    """The scalar whose gradient is the curl-free part, up to a constant."""
    waves = field.frequencies[:, space]
    slopes = np.zeros((field.n_features, 1))
    slopes[space, 0] = field.intercept
    return Expansion(
        field.frequencies, -_along(waves, field.sine), _along(waves, field.cosine), np.zeros(1), slopes=slopes
    )


def _along(waves, amplitudes):
    """ω·c / ‖ω‖²; kernels of vector fields give no amplitude to ω = 0."""
    squares = np.sum(waves**2, axis=1, keepdims=True)
    return np.sum(waves * amplitudes, axis=1, keepdims=True) / np.where(squares == 0, 1, squares)


def curl(field: Expansion, space: np.ndarray) -> Expansion:
    """∂f_2/∂x_1 − ∂f_1/∂x_2 in the plane, the three entries of the curl in space, else all p² entries of J − Jᵀ."""
    n_outputs = len(space)
    if n_outputs != field.n_outputs:
        raise ValueError(
            f"A curl needs one output per direction; this function has {field.n_outputs} outputs on {n_outputs} directions. "
            "Fit a kernel with coordinates=[...], e.g. Helmholtz."
        )
    pairs = {2: [(1, 0)], 3: [(2, 1), (0, 2), (1, 0)]}.get(n_outputs, list(np.ndindex(n_outputs, n_outputs)))
    mixing = np.zeros((n_outputs * field.n_features, len(pairs)))
    for column, (a, b) in enumerate(pairs):
        mixing[a * field.n_features + space[b], column] += 1
        mixing[b * field.n_features + space[a], column] -= 1
    return field.derivative().mixed(mixing)


class FieldMethods:
    """Derivatives and parts of a fitted vector field, as methods of a model with an ``expansion_``."""

    expansion_: Expansion
    _rows: Any

    @property
    @abstractmethod
    def kernel_(self) -> OperatorKernel:
        """The kernel of the fit, which knows the directions of its outputs."""

    def divergence(self, X: Any) -> Any:
        """Σ_a ∂f_a/∂x_a, (n_samples,): where the field flows out."""
        rows = self._rows(X)
        return self.expansion_.divergence(rows, self.kernel_.space(rows.n_features))

    def curl(self, X: Any) -> Any:
        """How the field turns: (n_samples,) in the plane, (n_samples, 3) in space, else J − Jᵀ (n_samples, p, p)."""
        rows = self._rows(X)
        turning = curl(self.expansion_, self.kernel_.space(rows.n_features)).evaluate(rows)
        if turning.shape[1] == 1:
            return turning[:, 0]
        n_outputs = self.expansion_.n_outputs
        return turning if n_outputs == 3 else turning.reshape(-1, n_outputs, n_outputs)

    def scalar_potential(self, X: Any) -> Any:
        """The scalar (n_samples,) whose gradient is the curl-free part of the field, up to a constant."""
        rows = self._rows(X)
        return scalar_potential(self.expansion_, self._field_space(rows)).evaluate(rows)[:, 0]

    def curl_free_part(self, X: Any) -> Any:
        """The gradient part of the field, (n_samples, n_outputs); the constant belongs to it."""
        rows = self._rows(X)
        return curl_free_part(self.expansion_, self._field_space(rows)).evaluate(rows)

    def divergence_free_part(self, X: Any) -> Any:
        """The rest: ``predict`` is the sum of both parts."""
        rows = self._rows(X)
        return divergence_free_part(self.expansion_, self._field_space(rows)).evaluate(rows)

    def _field_space(self, rows):
        if not self.kernel_.vector_field:
            raise ValueError(
                f"Only vector-field kernels have a scalar potential and parts, got {type(self.kernel_).__name__}. "
                "Fit with Helmholtz."
            )
        return self.kernel_.space(rows.n_features)
