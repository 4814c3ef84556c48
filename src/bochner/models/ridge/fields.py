"""Calculus on a fitted vector field: methods of models with ``expansion_`` and ``kernel_``.

Derivatives and parts of an expansion are expansions again, so all results are exact. Each function
is assigned in the body of a class.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ...expansions.waves import Expansion


def divergence(self: Any, X: Any) -> Any:
    """Return Σ_a ∂f_a/∂x_a, (n_samples,): the outflow of the field."""
    rows = self._read_rows(X)
    return self.expansion_.divergence(rows, self.kernel_.space(rows.n_features))


def curl(self: Any, X: Any) -> Any:
    """Return the rotation of the field.

    In the plane it is ∂f_2/∂x_1 − ∂f_1/∂x_2, (n_samples,); in space (n_samples, 3); else J − Jᵀ,
    (n_samples, p, p).
    """
    rows, field = self._read_rows(X), self.expansion_
    space, n_outputs = self.kernel_.space(rows.n_features), field.n_outputs
    if len(space) != n_outputs:
        raise ValueError(
            f"A curl needs one output per direction; this function has {n_outputs} outputs on "
            f"{len(space)} directions. Fit a kernel with coordinates=[...], e.g. Helmholtz."
        )
    all_pairs = list(np.ndindex(n_outputs, n_outputs))
    pairs = {2: [(1, 0)], 3: [(2, 1), (0, 2), (1, 0)]}.get(n_outputs, all_pairs)
    mixing = np.zeros((n_outputs * field.n_features, len(pairs)))
    for column, (a, b) in enumerate(pairs):
        mixing[a * field.n_features + space[b], column] += 1
        mixing[b * field.n_features + space[a], column] -= 1
    rotation = field.derivative().mixed(mixing).evaluate(rows)
    if len(pairs) == 1:
        return rotation[:, 0]
    return rotation if n_outputs == 3 else rotation.reshape(-1, n_outputs, n_outputs)


def scalar_potential(self: Any, X: Any) -> Any:
    """Return the scalar (n_samples,) whose gradient is the curl-free part, up to a constant."""
    rows, field = self._read_rows(X), self.expansion_
    space, _, cosine, sine = _along(self)
    slopes = np.zeros((field.n_features, 1))
    slopes[space, 0] = field.intercept
    return Expansion(field.frequencies, -sine, cosine, np.zeros(1), slopes).evaluate(rows)[:, 0]


def curl_free_part(self: Any, X: Any) -> Any:
    """Return the gradient part of the field with the constant, (n_samples, n_outputs)."""
    rows = self._read_rows(X)
    _, waves, cosine, sine = _along(self)
    return replace(self.expansion_, cosine=cosine * waves, sine=sine * waves).evaluate(rows)


def divergence_free_part(self: Any, X: Any) -> Any:
    """Return ``predict`` minus the curl-free part, (n_samples, n_outputs)."""
    rows, field = self._read_rows(X), self.expansion_
    _, waves, cosine, sine = _along(self)
    across = {"cosine": field.cosine - cosine * waves, "sine": field.sine - sine * waves}
    return replace(field, **across, intercept=np.zeros_like(field.intercept)).evaluate(rows)


def _along(model):
    """Return the columns of the field's space, the frequencies ω in it, and amplitudes along ω.

    The amplitudes are ω·c / ‖ω‖², of cosines and of sines.
    """
    if not model.kernel_.vector_field:
        raise ValueError(
            "Only vector-field kernels have a scalar potential and parts, got "
            f"{type(model.kernel_).__name__}. Fit with Helmholtz."
        )
    field, space = model.expansion_, model.kernel_.space(model.expansion_.n_features)
    waves = field.frequencies[:, space]
    squares = np.sum(waves**2, axis=1, keepdims=True)
    # Kernels of vector fields have no amplitude at ω = 0.
    inverse = waves / np.where(squares == 0, 1, squares)
    cosine, sine = (
        np.sum(inverse * part, axis=1, keepdims=True) for part in (field.cosine, field.sine)
    )
    return space, waves, cosine, sine
