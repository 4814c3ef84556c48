"""Linear systems of ridges, (M + penalty I) z = b, and residuals of rows that are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.linalg.lapack import dpotri

from .._loops.threads import threads_for_matrices

# If the remainder 1 − leverage of a row is smaller, rounding dominates its residual, and the ridge
# is never chosen.
SMALLEST_REMAINDER = 1e-9
# Up to this many different penalties, Cholesky factors are cheaper than one set of eigenvectors.
_FEW_PENALTIES = 8


@dataclass(frozen=True, eq=False)
class Eigensystem:
    """M = U diag(s) Uᵀ and Uᵀb.

    s ``values`` (k,), U ``vectors`` (n, k), Uᵀb ``projections`` (k, n_right_sides).
    """

    values: np.ndarray
    vectors: np.ndarray
    projections: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray, right_side: np.ndarray) -> Eigensystem:
        """Decompose a positive semi-definite matrix."""
        with threads_for_matrices(9 * len(matrix) ** 3):
            values, vectors = eigh(matrix, driver="evd", check_finite=False)
            return cls(np.maximum(values, 0.0), vectors, vectors.T @ right_side)

    @classmethod
    def of_rows(cls, rows: np.ndarray, targets: np.ndarray) -> Eigensystem:
        """Decompose M = rowsᵀ rows, b = rowsᵀ targets, by the smaller Gram matrix of the rows.

        Directions without data are left out.
        """
        values, left = eigh(rows @ rows.T, driver="evd")
        kept = values > 1e-14 * values[-1]
        values, left = values[kept], left[:, kept]
        vectors = (rows.T @ left) / np.sqrt(values)
        return cls(values, vectors, np.sqrt(values)[:, None] * (left.T @ targets))

    def turned(self, vectors: np.ndarray) -> Eigensystem:
        """Return the system of the same M for the right side b @ vectors."""
        return replace(self, projections=self.projections @ vectors)

    def inverse(self, penalties: np.ndarray) -> np.ndarray:
        """Return 1 / (s + penalty), (k, n_right_sides)."""
        return 1 / (self.values[:, None] + penalties)

    def solution(self, penalties: np.ndarray) -> np.ndarray:
        """Return z, (n, n_right_sides)."""
        return self.vectors @ (self.projections * self.inverse(penalties))

    def spent(self, penalties: np.ndarray) -> float:
        """Return the degrees of freedom Σ s / (s + penalty), over all columns."""
        return float(np.sum(self.values[:, None] * self.inverse(penalties)))


def ridge_solution(matrix: np.ndarray, right_side: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """Return z by a Cholesky factor for each penalty; by eigenvectors if there are many."""
    try:
        solution = np.zeros_like(right_side)
        with threads_for_matrices(len(matrix) ** 3 / 3):
            for columns, _, factor in _factors(matrix, penalties):
                solution[:, columns] = cho_solve(factor, right_side[:, columns], check_finite=False)
        return solution
    except np.linalg.LinAlgError:
        return Eigensystem.of(matrix, right_side).solution(penalties)


def ridge_spent(matrix: np.ndarray, penalties: np.ndarray) -> float:
    """Return the degrees of freedom tr M (M + penalty I)⁻¹ over all columns."""
    try:
        spent = 0.0
        for columns, penalty, factor in _factors(matrix, penalties):
            inverse, _ = dpotri(factor[0], lower=factor[1], overwrite_c=True)
            spent += np.count_nonzero(columns) * (len(inverse) - penalty * np.trace(inverse))
        return spent
    except np.linalg.LinAlgError:
        return Eigensystem.of(matrix, np.zeros((len(matrix), 0))).spent(penalties)


def _factors(
    matrix: np.ndarray, penalties: np.ndarray
) -> Iterator[tuple[np.ndarray, float, tuple]]:
    """Yield columns, penalty and factor of M + penalty I for each different finite penalty."""
    # Penalties that differ by rounding only share the factor of the first of them.
    logarithms = np.round(np.log(penalties), 10)
    distinct = np.unique(logarithms[np.isfinite(penalties)])
    if len(distinct) > _FEW_PENALTIES:
        raise np.linalg.LinAlgError("Eigenvectors are cheaper than so many factors.")
    for logarithm in distinct:
        columns = logarithms == logarithm
        penalty = float(penalties[columns][0])
        # In Fortran's order, which LAPACK overwrites without a copy.
        shifted = matrix.T.copy(order="F")
        shifted[np.diag_indices_from(shifted)] += penalty
        yield columns, penalty, cho_factor(shifted, overwrite_a=True, check_finite=False)


def left_out_residuals(
    design: np.ndarray,
    targets: np.ndarray,
    system: Eigensystem,
    penalties: np.ndarray,
    weights: np.ndarray,
    share: float = 0.0,
) -> np.ndarray:
    """Return (I − h_i H_i)⁻¹ r_i: the residual of the refit without row i.

    ``design`` are the rows in the eigenbasis of M: (n_samples, k) if outputs decouple, so that
    leverages H_i are numbers, else (n_samples, n_outputs, k), with matrices H_i. ``share`` is the
    part of the intercept in a leverage.
    """
    inverse = system.inverse(penalties)
    solution = inverse * system.projections
    if design.ndim == 2:
        return _left_out(targets - design @ solution, design**2 @ inverse + share, weights)
    leverages, frames = np.linalg.eigh((design * inverse[:, 0]) @ design.transpose(0, 2, 1))
    residuals = np.einsum("iab,ia->ib", frames, targets - (design @ solution)[:, :, 0])
    left_out = _left_out(residuals, leverages + share, weights)
    lost = np.isinf(left_out).any(axis=1, keepdims=True)
    turned = np.einsum("iab,ib->ia", frames, np.where(lost, 0.0, left_out))
    return np.where(lost, np.inf, turned)


def _left_out(residuals, leverages, weights):
    """Return residuals of refits; infinite, so that tiny ridges lose, if rounding dominates."""
    remainder = 1 - weights[:, None] * leverages
    safe = np.maximum(remainder, SMALLEST_REMAINDER)
    return np.where(remainder > SMALLEST_REMAINDER, residuals / safe, np.inf)
