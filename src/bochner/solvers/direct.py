"""Direct solvers: eigenvectors for all ridges, and Cholesky factors, faster for one ridge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.linalg.lapack import dpotri

from .._loops.threads import single_threaded_blas, threads_for_matrices
from ..data import Block, Rows
from ..data.training import TrainingData
from .problem import (
    CenteredRows,
    CoupledOutputs,
    DecoupledOutputs,
    Factorization,
    Outputs,
    RidgeProblem,
    RidgeStatistics,
    Solution,
    Solver,
)

# If the remainder 1 − leverage of a row is smaller, rounding dominates its residual, and the ridge
# is never chosen.
SMALLEST_REMAINDER = 1e-9
# Up to this many different penalties, Cholesky factors are cheaper than one set of eigenvectors.
_FEW_PENALTIES = 8
# Steps of the power method, which estimates the largest and smallest eigenvalue.
_POWER_STEPS = 10
# Columns of residuals computed at once while rows are left out.
_COLUMNS_AT_ONCE = 256
# Equations, one for each row and coupled output, that choose the ridge if no matrix of all unknowns
# is factorized.
_SOME_EQUATIONS = 1000
_FEWEST_ROWS = 50


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


def condition(matrix: np.ndarray, penalty: float) -> float:
    """Estimate the condition of matrix + penalty I; infinite if it is singular up to rounding.

    >>> round(condition(np.diag([99.0, 2.0, 0.0]), 1.0), 1)
    100.0
    """
    shifted = matrix.copy()
    shifted[np.diag_indices_from(shifted)] += penalty
    try:
        with threads_for_matrices(len(matrix) ** 3 / 3):
            factor = cho_factor(shifted, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return np.inf
    vector = np.random.default_rng(0).normal(size=(len(matrix), 2))
    vector /= np.linalg.norm(vector, axis=0)
    with single_threaded_blas():
        for _ in range(_POWER_STEPS):
            # The first column finds the largest eigenvalue, the second that of the inverse.
            vector = np.stack(
                [shifted @ vector[:, 0], cho_solve(factor, vector[:, 1], check_finite=False)],
                axis=1,
            )
            sizes = np.linalg.norm(vector, axis=0)
            vector /= sizes
    return float(np.prod(sizes))


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
    part of the intercept in a leverage, a number or (n_samples, n_outputs). Outputs that are not
    observed have zeros in all of them.
    """
    inverse = system.inverse(penalties)
    solution = inverse * system.projections
    if design.ndim == 2:
        return _left_out(targets - design @ solution, design**2 @ inverse + share, weights)
    leverages = (design * inverse[:, 0]) @ design.transpose(0, 2, 1)
    if np.ndim(share):
        leverages, share = leverages + np.eye(design.shape[1]) * np.asarray(share)[:, None], 0.0
    leverages, frames = np.linalg.eigh(leverages)
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


class Eigen(Solver):
    """Eigenvectors of the Gram matrix of the features, or of the matrix of coupled outputs.

    One factorization serves every ridge, leave-one-out errors, variances and leverages.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpectralRidge
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = SpectralRidge(solver=Eigen(), alpha=[1e-3, 1e-2, 1.0], random_state=0)
    >>> model.fit(X, np.sin(X[:, 0])).alpha_
    0.001
    """

    needs_matrix: ClassVar[bool] = True

    def init(self, problem, data=None, rng=None) -> EigenFactorization:
        outputs = problem.outputs
        if isinstance(outputs, DecoupledOutputs) and problem.spectrum is not None:
            system = problem.spectrum.turned(outputs.vectors)
        else:
            system = Eigensystem.of(problem.matrix, problem.right_side)
        return EigenFactorization(system, outputs, problem.rows, problem.sums.weight)


class Cholesky(Solver):
    """A Cholesky factor for each different penalty; the fastest for one ridge.

    Eigenvectors are used if there are more than eight penalties, or if the ridge is below rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpectralRidge
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = SpectralRidge(solver=Cholesky(), alpha=0.01, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    needs_matrix: ClassVar[bool] = True

    def init(self, problem, data=None, rng=None) -> CholeskyFactorization:
        return CholeskyFactorization(problem)


@dataclass(frozen=True, eq=False)
class CholeskyFactorization(Factorization):
    """Cholesky factors, computed for each ridge."""

    problem: RidgeProblem

    def solve(self, alpha: float) -> Solution:
        problem, outputs = self.problem, self.problem.outputs
        solution = ridge_solution(problem.matrix, problem.right_side, outputs.penalties(alpha))
        return Solution(outputs.coefficients(solution))

    def mean_leverage(self, alpha: float) -> float:
        outputs, weight = self.problem.outputs, self.problem.sums.weight
        spent = ridge_spent(self.problem.matrix, outputs.penalties(alpha))
        return spent / (outputs.n_outputs * weight) + self.problem.rows.mean_share


@dataclass(frozen=True, eq=False)
class EigenFactorization(Factorization):
    """M = U diag(s) Uᵀ: in this basis every ridge is a division."""

    system: Eigensystem
    outputs: Outputs
    rows: CenteredRows
    weight: float

    @classmethod
    def of_some_rows(
        cls, problem: RidgeProblem, data: TrainingData
    ) -> tuple[EigenFactorization, TrainingData]:
        """Return the factorization of about a thousand equations, and their rows, evenly spread."""
        outputs = problem.outputs
        per_row = outputs.n_outputs if isinstance(outputs, CoupledOutputs) else 1
        n_rows = max(_SOME_EQUATIONS // per_row, _FEWEST_ROWS)
        some = data.take(data.rows.spread(n_rows, data.weights))
        root = np.sqrt(some.row_weights)[:, None]
        features = problem.rows(some.rows.source)
        targets = root * problem.rows.targets(some.target.rows)
        if features.ndim == 3:
            features = np.where(np.isnan(targets)[:, :, None], 0.0, root[:, :, None] * features)
            targets = np.nan_to_num(targets)
        else:
            features = root * features
        system = Eigensystem.of_rows(*outputs.equations(features, targets))
        return cls(system, outputs, problem.rows, float(some.row_weights.sum())), some

    def solve(self, alpha: float) -> Solution:
        solution = self.system.solution(self.outputs.penalties(alpha))
        return Solution(self.outputs.coefficients(solution))

    def mean_leverage(self, alpha: float) -> float:
        spent = self.system.spent(self.outputs.penalties(alpha))
        return spent / (self.outputs.n_outputs * self.weight) + self.rows.mean_share

    def leave_one_out_errors(self, alphas: np.ndarray, data: TrainingData) -> np.ndarray:
        """Return the mean squared leave-one-out error for each ridge.

        Infinite if rounding dominates. A row is left out with its copies and all their weight, see
        ``TrainingData``.
        """
        n_outputs = self.outputs.n_outputs
        row_bytes = 8 * (2 * self.rows.feature_mean.size + (len(alphas) + 2) * n_outputs)
        weighted = data.weights is not None
        block = Block(self._errors_block, alphas, weighted, row_bytes=row_bytes)
        sums, weight = data.rows.sum(block, *self._signals(data))
        return sums / (weight * n_outputs)

    def _signals(self, data):
        """Return targets, weights, and the weight to be left out if it is not the row's own."""
        left_out = data.left_out_weights()
        return data.signals if left_out is None else [*data.signals, left_out]

    def generalized_errors(self, alphas: np.ndarray, sums: RidgeStatistics) -> np.ndarray:
        """Return the generalized cross-validation errors mean r² / (1 − mean leverage)²."""
        errors = np.full(len(alphas), np.inf)
        for number, alpha in enumerate(alphas):
            inverse = self.system.inverse(self.outputs.penalties(alpha))
            factors = 2 - self.system.values[:, None] * inverse
            explained = np.sum(self.system.projections**2 * inverse * factors)
            remainder = 1 - self.mean_leverage(alpha)
            if remainder > SMALLEST_REMAINDER:
                errors[number] = max(np.trace(sums.target_gram) - explained, 0.0) / remainder**2
        return errors / (self.weight * self.outputs.n_outputs)

    def leave_one_out(self, alpha: float, data: TrainingData) -> Any:
        """Return predictions by the fits without each row and its copies."""
        row_bytes = 16 * self.rows.feature_mean.size
        block = Block(self._left_out_block, alpha, row_bytes=row_bytes)
        signals = self._signals(data)
        return data.rows.map(block, self.outputs.n_outputs, dtype=np.float64, signals=signals)

    def variance(self, alpha: float, noise: Any, rows: Rows) -> Any:
        """Return the variance of function and noise at these rows, (n_samples, n_outputs).

        This is the Bayesian view of the ridge: coefficients have prior variance noise / α.
        """
        row_bytes = 16 * self.rows.feature_mean.size
        block = Block(self._variance_block, alpha, noise, row_bytes=row_bytes)
        return rows.map(block, self.outputs.n_outputs, dtype=np.float64)

    def _left_out(self, alphas, X, Y, weights):
        """Yield rows, number of the ridge, and residuals of the refits without each row."""
        # If outputs decouple, residuals of several ridges are columns of one product.
        coupled = isinstance(self.outputs, CoupledOutputs)
        at_once = 1 if coupled else max(1, _COLUMNS_AT_ONCE // self.outputs.n_outputs)
        for rows, features in self.rows.in_tiles(X, self.outputs.rows_at_once):
            design = self.outputs.design(features, self.system.vectors)
            targets = self.outputs.turned(self.rows.targets(Y[rows]))
            share = self.rows.share
            if features.ndim == 3:
                # An output of a single row does not say which ridge is best.
                alone = weights[rows, None] * share > 1 - SMALLEST_REMAINDER
                observed = ~(np.isnan(targets) | alone)
                share = share * observed
                design, targets = design * observed[:, :, None], np.where(observed, targets, 0.0)
            for first in range(0, len(alphas), at_once):
                numbers = range(len(alphas))[first : first + at_once]
                penalties = np.concatenate([self.outputs.penalties(alphas[k]) for k in numbers])
                projections = np.tile(self.system.projections, len(numbers))
                repeated = replace(self.system, projections=projections)
                left_out = left_out_residuals(
                    design,
                    np.tile(targets, len(numbers)),
                    repeated,
                    penalties,
                    weights[rows],
                    share,
                )
                for number, residuals in zip(numbers, np.split(left_out, len(numbers), axis=1)):
                    yield rows, number, residuals

    def _errors_block(self, alphas, weighted, X, Y, *columns):
        ones = np.ones(X.shape[0])
        weights = np.asarray(columns[0], dtype=np.float64) if weighted else ones
        left_out = np.asarray(columns[-1], dtype=np.float64) if columns else ones
        sums = np.zeros(len(alphas))
        for rows, number, residuals in self._left_out(alphas, X, Y, left_out):
            sums[number] += np.sum(weights[rows, None] * residuals**2)
        return sums, (weights * np.mean(~np.isnan(Y), axis=1)).sum()

    def _left_out_block(self, alpha, X, Y, *columns, out):
        left_out = np.asarray(columns[-1], dtype=np.float64) if columns else np.ones(X.shape[0])
        for rows, _, residuals in self._left_out([alpha], X, Y, left_out):
            out[rows] = Y[rows] - self.outputs.turned(residuals, back=True)

    def _variance_block(self, alpha, noise, X, out):
        penalties = self.outputs.penalties(alpha)
        inverse = self.system.inverse(penalties)
        for rows, features in self.rows.in_tiles(X, self.outputs.rows_at_once):
            design = self.outputs.design(features, self.system.vectors)
            out[rows] = noise * (
                1 + self.rows.share + self.outputs.variances(features, design, inverse, penalties)
            )
