"""Ridge in two eigenbases: of the features' Gram matrix and of the output matrix.  One factorization serves all ridges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.linalg.lapack import dpotri

from .._compute import row_sum
from .statistics import RidgeStatistics, tiles

# Where leaving a row out changes its prediction by more than this factor, rounding decides: such a ridge is never chosen.
_SMALLEST_REMAINDER = 1e-9


@dataclass(frozen=True)
class Eigensystem:
    """ΦᵀΦ = U diag(s) Uᵀ, with Z = UᵀΦᵀY: s ``values``, U ``vectors`` (n_columns, k), Z ``projections`` (k, n_outputs)."""

    values: np.ndarray
    vectors: np.ndarray
    projections: np.ndarray

    @classmethod
    def of(cls, gram: np.ndarray, cross: np.ndarray) -> Eigensystem:
        """From the normal equations."""
        values, vectors = eigh(gram, driver="evd")
        return cls(np.maximum(values, 0.0), vectors, vectors.T @ cross)

    @classmethod
    def of_rows(cls, rows: np.ndarray, targets: np.ndarray) -> Eigensystem:
        """From fewer rows than columns, through the smaller Gram matrix of the rows; directions without data are left out."""
        values, left = eigh(rows @ rows.T, driver="evd")
        kept = values > 1e-14 * values[-1]
        values, left = values[kept], left[:, kept]
        vectors = (rows.T @ left) / np.sqrt(values)
        return cls(values, vectors, np.sqrt(values)[:, None] * (left.T @ targets))


def whole_system(statistics: RidgeStatistics, fit_intercept: bool) -> Eigensystem:
    """The eigensystem from the sums alone."""
    used = statistics.centered() if fit_intercept else statistics
    return Eigensystem.of(used.gram, used.cross)


def small_system(
    features: Callable, statistics: RidgeStatistics, fit_intercept: bool, X: Any, Y: Any, sample_weight: Any
) -> Eigensystem:
    """The eigensystem of fewer rows than columns."""
    rows = np.asarray(features(X), dtype=np.float64)
    targets = np.asarray(Y, dtype=np.float64)
    if fit_intercept:
        rows, targets = rows - statistics.feature_mean, targets - statistics.target_mean
    if sample_weight is not None:
        root = np.sqrt(sample_weight)[:, None]
        rows, targets = root * rows, root * targets
    return Eigensystem.of_rows(rows, targets)


@dataclass(frozen=True)
class OutputBasis:
    """A = Q diag(t) Qᵀ: outputs rotated by Q decouple, and a ridge α becomes α / t (infinite where t = 0)."""

    vectors: np.ndarray
    scales: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray) -> OutputBasis:
        """Of a positive semi-definite matrix; eigenvalues below 1e-12 of the largest count as zero."""
        scales, vectors = np.linalg.eigh(matrix)
        return cls(vectors, np.where(scales > 1e-12 * scales[-1], scales, 0.0))

    def penalties(self, alpha: float) -> np.ndarray:
        """α / t for each rotated output."""
        return np.divide(alpha, self.scales, out=np.full_like(self.scales, np.inf), where=self.scales > 0)


def eigen_ridge(system: Eigensystem, basis: OutputBasis, alpha: float) -> np.ndarray:
    """Coefficients (n_columns, n_outputs) of the minimizer of ‖ΦΘBᵀ − Y‖² + α‖Θ‖², already multiplied by Bᵀ.

    The stationarity condition ΦᵀΦ Θ BᵀB + αΘ = ΦᵀYB is a Stein equation (Brault et al. 2016, Eq. 12); in the two eigenbases
    it is a division.
    """
    shrunk = (system.projections @ basis.vectors) / (system.values[:, None] + basis.penalties(alpha))
    return system.vectors @ shrunk @ basis.vectors.T


# Up to this many different penalties, Cholesky factors are cheaper than one set of eigenvectors.
_FEW_PENALTIES = 8


def direct_ridge(statistics: RidgeStatistics, basis: OutputBasis, alpha: float) -> tuple[np.ndarray, np.ndarray] | None:
    """One ridge without eigenvectors: coefficients, and what the fit explains of each rotated output.

    One Cholesky factor for each different penalty α / t; equal scales, as of the identity, share one.  None where there are
    too many of them, or where the ridge is below rounding.
    """
    distinct, groups = _distinct(basis.penalties(alpha))
    if len(distinct) > _FEW_PENALTIES:
        return None
    rotated = statistics.cross @ basis.vectors
    solution = np.zeros_like(rotated)
    for group, penalty in enumerate(distinct):
        factor = _shifted_factor(statistics.gram, penalty)
        if factor is None:
            return None
        solution[:, groups == group] = cho_solve(factor, rotated[:, groups == group], check_finite=False)
    return solution @ basis.vectors.T, np.sum(solution * rotated, axis=0)


def direct_leverage(statistics: RidgeStatistics, basis: OutputBasis, alpha: float) -> float:
    """The mean leverage of the rows, averaged over outputs, without eigenvectors: tr(G (G + α/t)⁻¹) / Σ weights."""
    penalties = basis.penalties(alpha)
    distinct, groups = _distinct(penalties)
    spent = 0.0
    for group, penalty in enumerate(distinct):
        factor = _shifted_factor(statistics.gram, penalty)
        if factor is None:
            return 1.0
        inverse, _ = dpotri(factor[0], lower=factor[1], overwrite_c=True)
        spent += np.count_nonzero(groups == group) * (len(inverse) - penalty * np.trace(inverse))
    return spent / (len(penalties) * statistics.weight)


def _distinct(penalties):
    """Finite penalties that differ by more than rounding, and the number of each output's (−1: infinite)."""
    finite = np.isfinite(penalties)
    logarithms = np.round(np.log(penalties[finite]), 10)
    distinct, groups = np.unique(logarithms, return_inverse=True)
    numbers = np.full(len(penalties), -1)
    numbers[finite] = groups
    # The first of each group stands for all: rounding its logarithm would change it.
    return [penalties[numbers == group][0] for group in range(len(distinct))], numbers


def _shifted_factor(gram, penalty):
    shifted = gram.copy()
    shifted[np.diag_indices_from(shifted)] += penalty
    try:
        return cho_factor(shifted, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:  # a ridge below rounding
        return None


def explained(system: Eigensystem, basis: OutputBasis, alpha: float) -> np.ndarray:
    """YᵀΦ(ΦᵀΦ + α/t)⁻¹ΦᵀY on the diagonal, one number for each *rotated* output: what the fit explains."""
    rotated = system.projections @ basis.vectors
    return np.sum(rotated**2 / (system.values[:, None] + basis.penalties(alpha)), axis=0)


@dataclass(frozen=True)
class RowWork:
    """What the passes over rows after a fit share: the feature map, the centers, and the two bases."""

    features: Callable
    feature_mean: np.ndarray
    target_mean: np.ndarray
    row_share: float  # 1 / Σ weights with an intercept, else 0: what the intercept adds to a leverage
    system: Eigensystem
    basis: OutputBasis

    @classmethod
    def of(
        cls,
        features: Callable,
        statistics: RidgeStatistics,
        fit_intercept: bool,
        system: Eigensystem,
        basis: OutputBasis,
    ) -> RowWork:
        """With an intercept rows are taken around their means."""
        if fit_intercept:
            return cls(features, statistics.feature_mean, statistics.target_mean, 1 / statistics.weight, system, basis)
        zero_features, zero_targets = np.zeros_like(statistics.feature_sum), np.zeros_like(statistics.target_sum)
        return cls(features, zero_features, zero_targets, 0.0, system, basis)


def leave_one_out_errors(work: RowWork, alphas: np.ndarray, X: Any, Y: Any, sample_weight: Any = None) -> np.ndarray:
    """Mean squared leave-one-out error for each ridge (n_alphas,), infinite where it cannot be told from rounding."""
    signals = [Y] if sample_weight is None else [Y, sample_weight]
    row_bytes = 8 * (2 * len(work.feature_mean) + (len(alphas) + 2) * len(work.target_mean))
    *sums, weight = row_sum(partial(_errors_block, work, alphas), X, *signals, row_bytes=row_bytes)
    return sums[0] / (weight * len(work.target_mean))


def _errors_block(work, alphas, X, Y, sample_weight=None):
    weights = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    sums = np.zeros(len(alphas))
    for rows in tiles(X.shape[0]):
        projected, rotated = _rotated(work, X[rows], Y[rows])
        squares = projected**2
        for index, alpha in enumerate(alphas):
            residuals = _left_out(work, alpha, projected, squares, rotated, weights[rows])
            sums[index] += np.sum(weights[rows, None] * residuals**2)
    return sums, weights.sum()


def leave_one_out_predictions(work: RowWork, alpha: float, X: Any, Y: Any, sample_weight: Any = None) -> np.ndarray:
    """The prediction of each row by the fit without it, (n_samples, n_outputs)."""
    Y = np.asarray(Y, dtype=np.float64)
    weights = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    predictions = np.empty_like(Y)
    for rows in tiles(X.shape[0]):
        projected, rotated = _rotated(work, X[rows], Y[rows])
        residuals = _left_out(work, alpha, projected, projected**2, rotated, weights[rows])
        predictions[rows] = Y[rows] - residuals @ work.basis.vectors.T
    return predictions


def _rotated(work, X, Y):
    """Rows in the eigenbasis of the features and outputs in that of A, both around their centers."""
    centered = np.asarray(work.features(X), dtype=np.float64) - work.feature_mean
    return centered @ work.system.vectors, (np.asarray(Y, dtype=np.float64) - work.target_mean) @ work.basis.vectors


def _left_out(work, alpha, projected, squares, rotated, weights):
    """Residuals of rotated outputs, each divided by 1 − leverage: exactly those of the refits without the row."""
    inverse = 1 / (work.system.values[:, None] + work.basis.penalties(alpha))
    residuals = rotated - projected @ (inverse * (work.system.projections @ work.basis.vectors))
    remainder = 1 - weights[:, None] * (squares @ inverse + work.row_share)
    # A remainder of zero is never clamped to something harmless: that would make tiny ridges look best.
    return np.where(remainder > _SMALLEST_REMAINDER, residuals / np.maximum(remainder, _SMALLEST_REMAINDER), np.inf)


def predictive_variance(work: RowWork, alpha: float, noise: np.ndarray, X: Any) -> np.ndarray:
    """Variance of the outputs at X, (n_samples, n_outputs): of the fitted function and of the noise around it.

    The Bayesian reading of the ridge: coefficients have prior variance noise / α.  ``noise`` is one number for each
    *rotated* output.
    """
    penalties = work.basis.penalties(alpha)
    inverse = 1 / (work.system.values[:, None] + penalties)
    variances = np.empty((X.shape[0], len(penalties)))
    for rows in tiles(X.shape[0]):
        centered = np.asarray(work.features(X[rows]), dtype=np.float64) - work.feature_mean
        squares = (centered @ work.system.vectors) ** 2
        unseen = np.maximum(np.sum(centered**2, axis=1) - squares.sum(axis=1), 0.0)  # directions without any data
        variances[rows] = squares @ inverse + unseen[:, None] / penalties + work.row_share
    return (noise * (1 + variances)) @ (work.basis.vectors**2).T
