"""Leave-one-out and predictive variance of an operator-valued ridge: leverages are p x p blocks instead of numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import eigh

from .._compute import row_sum
from ..operators import OperatorMeasure

# Entries of Ψ(x) held at once: 32 MB.
_TILE_ENTRIES = 2**22


@dataclass(frozen=True)
class NormalSystem:
    """ΨᵀΨ = V diag(s) Vᵀ and Vᵀ Ψᵀy, with the centered feature map that made them."""

    measure: OperatorMeasure
    features: Callable
    target_mean: np.ndarray
    row_share: float  # 1 / Σ weights with an intercept, else 0
    values: np.ndarray
    vectors: np.ndarray
    projections: np.ndarray

    @classmethod
    def of(
        cls,
        measure: OperatorMeasure,
        features: Callable,
        target_mean: np.ndarray,
        row_share: float,
        matrix: np.ndarray,
        right_side: np.ndarray,
    ) -> NormalSystem:
        """By the eigendecomposition of the normal matrix."""
        values, vectors = eigh(matrix, driver="evd")
        values = np.maximum(values, 0.0)
        return cls(measure, features, target_mean, row_share, values, vectors, vectors.T @ right_side)

    def parameters(self, alpha: float) -> np.ndarray:
        """θ = (ΨᵀΨ + αI)⁻¹ Ψᵀy."""
        return self.vectors @ (self.projections / (self.values + alpha))

    def explained(self, alpha: float) -> float:
        """yᵀΨ(ΨᵀΨ + αI)⁻¹Ψᵀy."""
        return float(np.sum(self.projections**2 / (self.values + alpha)))

    def leave_one_out_errors(self, alphas: np.ndarray, X: Any, Y: Any, sample_weight: Any = None) -> np.ndarray:
        """Mean squared leave-one-out error of each ridge, (n_alphas,)."""
        signals = [Y] if sample_weight is None else [Y, sample_weight]
        sums, weight = row_sum(partial(_errors_block, self, alphas), X, *signals)
        return sums / (weight * self.measure.n_outputs)

    def leave_one_out_predictions(self, alpha: float, X: Any, Y: Any, sample_weight: Any = None) -> np.ndarray:
        """The prediction of each row by the fit without it."""
        Y = np.asarray(Y, dtype=np.float64)
        weights = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        predictions = np.empty_like(Y)
        for rows in self.tiles(X.shape[0]):
            projected = self.projected(X[rows])
            predictions[rows] = Y[rows] - self.left_out(alpha, projected, Y[rows] - self.target_mean, weights[rows])
        return predictions

    def variance(self, alpha: float, noise: float, X: Any) -> np.ndarray:
        """Variance of the outputs at X, (n_samples, n_outputs): of the fitted function and of the noise around it."""
        variances = np.empty((X.shape[0], self.measure.n_outputs))
        for rows in self.tiles(X.shape[0]):
            variances[rows] = self.projected(X[rows]) ** 2 @ (1 / (self.values + alpha)) + self.row_share
        return noise * (1 + variances)

    def tiles(self, n_rows: int) -> list[slice]:
        """Slices small enough for Ψ."""
        size = max(1, _TILE_ENTRIES // (self.measure.n_columns * self.measure.n_outputs))
        return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]

    def projected(self, X: Any) -> np.ndarray:
        """Ψ(x) V, (n_rows, n_outputs, n_columns)."""
        return self.measure.spread(self.features(X)) @ self.vectors

    def left_out(self, alpha: float, projected: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """(I − H_ii)⁻¹ r_i: exactly the residual of the refit without row i."""
        inverse = 1 / (self.values + alpha)
        residuals = targets - projected @ (inverse * self.projections)
        identity = np.eye(self.measure.n_outputs)
        leverage = (projected * inverse) @ projected.transpose(0, 2, 1) + self.row_share * identity
        return np.linalg.solve(identity - weights[:, None, None] * leverage, residuals[:, :, None])[:, :, 0]


def _errors_block(system, alphas, X, Y, sample_weight=None):
    weights = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    sums = np.zeros(len(alphas))
    for rows in system.tiles(X.shape[0]):
        projected = system.projected(X[rows])
        targets = np.asarray(Y[rows], dtype=np.float64) - system.target_mean
        for index, alpha in enumerate(alphas):
            residuals = system.left_out(alpha, projected, targets, weights[rows])
            sums[index] += np.sum(weights[rows, None] * residuals**2)
    return sums, weights.sum()
