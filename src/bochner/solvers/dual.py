"""Linear systems of kernel ridge regression: (K + α / h) a + b 1 = y with 1ᵀa = 0.

h are the weights of the rows, and b is the intercept, which is not penalized. Without an intercept
the second equation is left out. Let C be the upper left block of the inverse of the whole matrix.
Then a = C y, and the residual of row i in the fit without it is exactly a_i / C_ii.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, lapack, solve_triangular

from .._loops.matrices import add_products, invert, mirror
from ..expansions.kernels import KernelExpansion, closed_form_gram
from ..priors import SpectralPrior

# If the remainder 1 − leverage of a row is smaller, rounding dominates its residual, and the ridge
# is never chosen.
_SMALLEST_REMAINDER = 1e-9
# Smaller ridges, relative to the largest eigenvalue, would be close to the rounding of the matrix.
_SMALLEST_RIDGE = 1e-10


@dataclass(frozen=True)
class Solution:
    """Dual coefficients a (n_samples, n_outputs), intercept b (n_outputs,), and residuals.

    ``left_out`` are the residuals of fits without each row, or without a share of its weight.
    ``log_determinant`` is that of K + α / h, which only direct solutions have.
    """

    dual: np.ndarray
    intercept: np.ndarray
    left_out: np.ndarray | None = None
    log_determinant: float | None = None


def kernel_matrix(
    prior: SpectralPrior, linear: np.ndarray, X: np.ndarray, others: np.ndarray | None = None
) -> np.ndarray:
    """Return the kernels between rows X and ``others`` (X if None), in the precision of X."""
    gram = closed_form_gram(prior, X, others)
    if np.any(linear):
        scaled = X * linear.astype(X.dtype)
        add_products(gram, scaled, np.ascontiguousarray(X if others is None else others))
    return gram


def dual_expansion(
    prior: SpectralPrior, linear: np.ndarray, X: np.ndarray, solution: Solution, dtype: Any
) -> KernelExpansion:
    """Return f(x) = Σ_i a_i (k(x, x_i) + linear part) + b, with coefficients a of a dtype."""
    slopes = linear[:, None] * (X.T.astype(np.float64, copy=False) @ solution.dual)
    return KernelExpansion(prior, X, solution.dual.astype(dtype), slopes, solution.intercept)


def left_out_residuals(
    dual: np.ndarray,
    diagonal: np.ndarray,
    alpha: float,
    weights: np.ndarray,
    share: np.ndarray | float = 1.0,
) -> np.ndarray:
    """Return residuals of the fits without ``share`` of a row's weight.

    These are r_i / (1 − share_i leverage_i), or a_i / C_ii for a share of one. Here
    r_i = α a_i / h_i is the residual of the whole fit, and 1 − leverage_i = α C_ii / h_i. A share
    above one also leaves out copies of the row, because the leverages of equal rows add up. The
    result is infinite if rounding dominates the divisor.
    """
    residuals = dual * (alpha / weights)[:, None]
    remainder = 1 - share * (1 - diagonal * alpha / weights)
    safe = remainder > _SMALLEST_REMAINDER
    return np.where(safe[:, None], residuals / np.where(safe, remainder, 1.0)[:, None], np.inf)


class EigenPath:
    """All ridges from one eigendecomposition of √h K √h.

    (K + α / h)⁻¹ = V diag(1 / (s + α)) Vᵀ, V = √h times the eigenvectors.
    """

    def __init__(
        self, gram: np.ndarray, targets: np.ndarray, weights: np.ndarray, fit_intercept: bool
    ):
        root = np.sqrt(weights)
        gram *= root
        gram *= root[:, None]
        # The transpose is in Fortran's order, which LAPACK overwrites without a copy.
        values, vectors = eigh(gram.T, driver="evd", overwrite_a=True, check_finite=False)
        vectors *= root[:, None]
        self.values, self.vectors = np.maximum(values, 0.0), vectors
        self.weights, self.fit_intercept = weights, fit_intercept
        self.projections = self.vectors.T @ np.column_stack([targets, np.ones(len(targets))])

    @property
    def smallest_ridge(self) -> float:
        """Smallest ridge that is well above the rounding of the matrix."""
        return _SMALLEST_RIDGE * float(self.values[-1])

    def solve(self, alpha: float, share: np.ndarray | float = 1.0) -> Solution:
        """Solve for one ridge in O(n²), with residuals of the fits without ``share`` of a row."""
        inverse = 1 / (self.values + alpha)
        solved = self.vectors @ (inverse[:, None] * self.projections)
        dual, intercept, flat = _with_intercept(solved, self.fit_intercept)
        diagonal = np.einsum("ij,ij,j->i", self.vectors, self.vectors, inverse) - flat
        left_out = left_out_residuals(dual, diagonal, alpha, self.weights, share)
        log_determinant = float(np.sum(np.log((self.values + alpha) / self.weights)))
        return Solution(dual, intercept, left_out, log_determinant)


class CholeskySystem:
    """One ridge by a Cholesky factor of K + α / h; ``gram`` is overwritten."""

    def __init__(self, gram: np.ndarray, weights: np.ndarray, alpha: float, fit_intercept: bool):
        try:
            gram[np.diag_indices_from(gram)] += alpha / weights
            self.factor = cho_factor(gram.T, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"alpha={alpha:.3g} is below the rounding of the kernel matrix, which is not "
                "positive definite with it. Write a larger alpha."
            ) from error
        self.weights, self.alpha, self.fit_intercept = weights, alpha, fit_intercept
        self.flat = cho_solve(self.factor, np.ones(len(weights)), check_finite=False)

    def solve(self, targets: np.ndarray) -> Solution:
        """Return the solution without leave-one-out residuals, which take twice the time."""
        solved = np.column_stack([cho_solve(self.factor, targets, check_finite=False), self.flat])
        log_determinant = 2 * float(np.sum(np.log(np.diag(self.factor[0]))))
        dual, intercept, _ = _with_intercept(solved, self.fit_intercept)
        return Solution(dual, intercept, log_determinant=log_determinant)

    def left_out(self, dual: np.ndarray, share: np.ndarray | float = 1.0) -> np.ndarray:
        """Return the residuals of the fits without ``share`` of each row, for ``dual`` of a fit."""
        inverse, _ = lapack.dpotri(self.factor[0], lower=True)
        diagonal = np.diag(inverse).copy()
        if self.fit_intercept:
            diagonal -= self.flat**2 / self.flat.sum()
        return left_out_residuals(dual, diagonal, self.alpha, self.weights, share)

    def variance(self, cross: np.ndarray, at_zero: np.ndarray) -> np.ndarray:
        """Return k(x, x) − (k; 1)ᵀ M⁻¹ (k; 1), M the whole matrix.

        ``cross`` is k between rows x and the training rows, ``at_zero`` is k(x, x).
        """
        half = solve_triangular(self.factor[0], cross.T, lower=True, check_finite=False)
        variance = at_zero - np.sum(half**2, axis=0)
        if self.fit_intercept:  # variance of the intercept
            variance += (1 - cross @ self.flat) ** 2 / self.flat.sum()
        return np.maximum(variance, 0.0)

    def covariance(self, cross: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Return ``variance`` for all pairs of rows; ``own`` is k between these rows."""
        half = solve_triangular(self.factor[0], cross.T, lower=True, check_finite=False)
        covariance = own - half.T @ half
        if self.fit_intercept:
            unexplained = 1 - cross @ self.flat
            covariance += np.outer(unexplained, unexplained) / self.flat.sum()
        return covariance


class InverseSystem:
    """One ridge by the inverse C, with leave-one-out residuals and their derivative in the ridge.

    It is faster than an eigendecomposition unless there are dozens of ridges. Only the lower half
    of ``gram`` is read, and it is not changed. Computes in the precision of ``gram``, and raises
    ``numpy.linalg.LinAlgError`` if K + α / h is not positive definite in this precision.
    """

    def __init__(self, gram: np.ndarray, weights: np.ndarray, alpha: float):
        self.inverse = gram.copy()
        self.inverse[np.diag_indices_from(gram)] += (alpha / weights).astype(gram.dtype)
        if invert(self.inverse) is None:
            raise np.linalg.LinAlgError(
                f"alpha={alpha:.3g} is below the rounding of the kernel matrix."
            )
        mirror(self.inverse)
        self.weights, self.alpha = weights, alpha
        self.flat = self.inverse.sum(axis=1, dtype=np.float64)

    def solve(
        self, targets: np.ndarray, observations: np.ndarray | None = None
    ) -> tuple[Solution, np.ndarray]:
        """Return the solution, with a free intercept, and ∂ ``left_out`` / ∂ log α.

        A row that stands for several ``observations`` is left out with the weight of one of them,
        else with all its weight.
        """
        # Centered, so that rounding is relative to deviations and not to the mean.
        center = np.average(targets, axis=0, weights=self.weights)
        plain = self._times(targets - center)
        dual, shift, removed = _with_intercept(np.column_stack([plain, self.flat]), True)
        diagonal = np.diag(self.inverse).astype(np.float64) - removed
        unit = np.ones(len(dual)) if observations is None else 1 / np.maximum(observations, 1.0)
        left_out = left_out_residuals(dual, diagonal, self.alpha, self.weights, unit)
        # C = G − flat flatᵀ / Σ flat, and ∂C/∂α = −C h⁻¹ C.
        scaled = dual / self.weights[:, None]
        shared = np.outer(self.flat, self.flat @ scaled) / self.flat.sum()
        dual_slope = -(self._times(scaled) - shared)
        reciprocals = (1 / self.weights).astype(self.inverse.dtype)
        squares = np.einsum("ij,ij,j->i", self.inverse, self.inverse, reciprocals)
        cross = self._times((self.flat / self.weights)[:, None])[:, 0]
        own = np.sum(self.flat**2 / self.weights)
        diagonal_slope = -(
            squares - 2 * cross * self.flat / self.flat.sum() + removed * own / self.flat.sum()
        )
        share = self.alpha / self.weights
        remainder = 1 - unit * (1 - diagonal * share)
        moved = share[:, None] * (dual + self.alpha * dual_slope)
        finite = np.where(np.isfinite(left_out), left_out, 0)
        moved -= finite * (unit * share * (diagonal + self.alpha * diagonal_slope))[:, None]
        slopes = moved / np.where(remainder > _SMALLEST_REMAINDER, remainder, np.inf)[:, None]
        return Solution(dual, center + shift, left_out), slopes

    def _times(self, columns):
        return (self.inverse @ columns.astype(self.inverse.dtype)).astype(np.float64)


def _with_intercept(solved, fit_intercept):
    """Return dual coefficients, intercept, and its part of the diagonal of the inverse.

    ``solved`` is (K + α / h)⁻¹ (Y, 1).
    """
    plain, flat = solved[:, :-1], solved[:, -1]
    if not fit_intercept:
        return plain, np.zeros(plain.shape[1]), np.zeros(len(flat))
    intercept = plain.sum(axis=0) / flat.sum()
    return plain - flat[:, None] * intercept, intercept, flat**2 / flat.sum()
