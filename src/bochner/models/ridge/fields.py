"""Calculus on a fitted field: derivatives and parts of an expansion are expansions again, so all of
it is exact.
"""

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from ...expansions.waves import Expansion
from ...operators import OperatorKernel


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
        """How the field turns: ∂f_2/∂x_1 − ∂f_1/∂x_2 (n_samples,) in the plane, (n_samples, 3) in
        space, else J − Jᵀ (n_samples, p, p).
        """
        rows, field = self._rows(X), self.expansion_
        space, n_outputs = self.kernel_.space(rows.n_features), field.n_outputs
        if len(space) != n_outputs:
            raise ValueError(
                f"A curl needs one output per direction; this function has {n_outputs} outputs on "
                f"{len(space)} directions. "
                "Fit a kernel with coordinates=[...], e.g. Helmholtz."
            )
        pairs = {2: [(1, 0)], 3: [(2, 1), (0, 2), (1, 0)]}.get(
            n_outputs, list(np.ndindex(n_outputs, n_outputs))
        )
        mixing = np.zeros((n_outputs * field.n_features, len(pairs)))
        for column, (a, b) in enumerate(pairs):
            mixing[a * field.n_features + space[b], column] += 1
            mixing[b * field.n_features + space[a], column] -= 1
        turning = field.derivative().mixed(mixing).evaluate(rows)
        if len(pairs) == 1:
            return turning[:, 0]
        return turning if n_outputs == 3 else turning.reshape(-1, n_outputs, n_outputs)

    def scalar_potential(self, X: Any) -> Any:
        """The scalar (n_samples,) whose gradient is the curl-free part of the field, up to a
        constant.
        """
        rows, field = self._rows(X), self.expansion_
        space, _, cosine, sine = self._along()
        slopes = np.zeros((field.n_features, 1))
        slopes[space, 0] = field.intercept
        return Expansion(field.frequencies, -sine, cosine, np.zeros(1), slopes).evaluate(rows)[:, 0]

    def curl_free_part(self, X: Any) -> Any:
        """The gradient part of the field, (n_samples, n_outputs); the constant belongs to it."""
        rows = self._rows(X)
        _, waves, cosine, sine = self._along()
        return replace(self.expansion_, cosine=cosine * waves, sine=sine * waves).evaluate(rows)

    def divergence_free_part(self, X: Any) -> Any:
        """The rest: ``predict`` is the sum of both parts."""
        rows, field = self._rows(X), self.expansion_
        _, waves, cosine, sine = self._along()
        across = {"cosine": field.cosine - cosine * waves, "sine": field.sine - sine * waves}
        return replace(field, **across, intercept=np.zeros_like(field.intercept)).evaluate(rows)

    def _along(self):
        """The directions of the field, the frequencies ω in them, and the amplitudes along ω: ω·c /
        ‖ω‖² of cosines and of sines.
        """
        if not self.kernel_.vector_field:
            raise ValueError(
                "Only vector-field kernels have a scalar potential and parts, got "
                f"{type(self.kernel_).__name__}. "
                "Fit with Helmholtz."
            )
        field, space = self.expansion_, self.kernel_.space(self.expansion_.n_features)
        waves = field.frequencies[:, space]
        squares = np.sum(waves**2, axis=1, keepdims=True)
        inverse = waves / np.where(
            squares == 0, 1, squares
        )  # kernels of vector fields give no amplitude to ω = 0
        return (
            space,
            waves,
            *(np.sum(inverse * part, axis=1, keepdims=True) for part in (field.cosine, field.sine)),
        )
