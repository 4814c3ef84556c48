"""Derivatives and parts of a fitted vector field, as methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compute import row_block_size
from ..operators import VectorFieldKernel
from .fields import (
    along_coefficients,
    curl_of,
    divergence_coefficients,
    evaluate,
    jacobian_coefficients,
    potential_coefficients,
)


class FieldModel:
    """What a model f(x) = features(x) @ coefficients + constant knows about its own derivatives.

    A subclass has ``_scalar`` (the FourierMeasure), ``_coefficients`` (2 n_atoms, n_outputs), ``_constant``, ``kernel_``,
    ``block_size`` and ``_checked(X)``.
    """

    _scalar: Any
    _coefficients: np.ndarray
    _constant: np.ndarray
    kernel_: Any
    block_size: Any

    def jacobian(self, X: Any) -> np.ndarray:
        """∂f_a/∂x_b, (n_samples, n_outputs, n_features), exact: symmetric for a curl-free kernel, of trace zero for a
        divergence-free one, whatever the data."""
        X = self._checked(X)
        slopes = self._evaluate(X, jacobian_coefficients(self._scalar, self._coefficients))
        return slopes.reshape(X.shape[0], self._coefficients.shape[1], X.shape[1])

    def divergence(self, X: Any) -> np.ndarray:
        """Σ_a ∂f_a/∂x_a, (n_samples,): where the field flows out."""
        X = self._checked(X)
        coefficients = divergence_coefficients(self._scalar, self._coefficients, self._space(X.shape[1]))
        return self._evaluate(X, coefficients)[:, 0]

    def curl(self, X: Any) -> np.ndarray:
        """How the field turns: (n_samples,) in the plane, (n_samples, 3) in space, else J − Jᵀ (n_samples, p, p)."""
        X = self._checked(X)
        space = self._space(X.shape[1])
        return curl_of(self.jacobian(X)[:, :, space])

    def potential(self, X: Any) -> np.ndarray:
        """The scalar (n_samples,) whose gradient is the curl-free part of the field, up to a constant."""
        X = self._checked(X)
        space = self._field_space(X.shape[1])
        waves = self._evaluate(X, potential_coefficients(self._scalar, self._coefficients, space))[:, 0]
        return waves + np.asarray(X[:, space] @ self._constant).ravel()

    def curl_free_part(self, X: Any) -> np.ndarray:
        """The gradient part of the field, (n_samples, n_outputs); the constant belongs to it."""
        X = self._checked(X)
        coefficients = along_coefficients(self._scalar, self._coefficients, self._field_space(X.shape[1]))
        return self._evaluate(X, coefficients, self._constant)

    def divergence_free_part(self, X: Any) -> np.ndarray:
        """The rest: ``predict`` is the sum of both parts."""
        X = self._checked(X)
        along = along_coefficients(self._scalar, self._coefficients, self._field_space(X.shape[1]))
        return self._evaluate(X, self._coefficients - along)

    def _space(self, n_features):
        """The columns of X that span the space of the field."""
        if isinstance(self.kernel_, VectorFieldKernel):
            return self.kernel_.space(n_features)
        if self._coefficients.shape[1] != n_features:
            raise ValueError(
                f"Divergence and curl need one output per direction; this model has {self._coefficients.shape[1]} outputs on "
                f"{n_features} features. Fit a kernel with coordinates=[...], e.g. Helmholtz."
            )
        return np.arange(n_features)

    def _field_space(self, n_features):
        if not isinstance(self.kernel_, VectorFieldKernel):
            raise ValueError(
                f"Only vector-field kernels have a potential and parts, got {type(self.kernel_).__name__}. Fit with Helmholtz."
            )
        return self.kernel_.space(n_features)

    def _checked(self, X):
        raise NotImplementedError

    def _evaluate(self, X, coefficients, constant=0.0):
        with row_block_size(self.block_size):
            return evaluate(self._scalar, X, coefficients, constant)
