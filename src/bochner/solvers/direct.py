"""Direct solvers: eigenvectors for all ridges, and Cholesky factors, faster for one ridge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._loops.blocks import tiles
from ..data import Block, Rows
from ..data.training import TrainingData
from .base import CenteredRows, Factorization, RidgeProblem, Solution, Solver
from .outputs import CoupledOutputs, DecoupledOutputs, Outputs
from .statistics import RidgeStatistics
from .systems import (
    SMALLEST_REMAINDER,
    Eigensystem,
    left_out_residuals,
    ridge_solution,
    ridge_spent,
)

# Columns of residuals computed at once while rows are left out.
_COLUMNS_AT_ONCE = 256
# Equations, one for each row and coupled output, that choose the ridge if no matrix of all unknowns
# is factorized.
_SOME_EQUATIONS = 1000
_FEWEST_ROWS = 50


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
        return spent / (outputs.n_outputs * weight) + self.problem.rows.share


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
        weights = np.ones(len(some.rows)) if some.weights is None else some.weights
        root = np.sqrt(weights)[:, None]
        features = root * problem.rows(some.rows.source)
        targets = root * problem.rows.targets(some.target.rows)
        system = Eigensystem.of_rows(*outputs.equations(features, targets))
        return cls(system, outputs, problem.rows, float(weights.sum())), some

    def solve(self, alpha: float) -> Solution:
        solution = self.system.solution(self.outputs.penalties(alpha))
        return Solution(self.outputs.coefficients(solution))

    def mean_leverage(self, alpha: float) -> float:
        spent = self.system.spent(self.outputs.penalties(alpha))
        return spent / (self.outputs.n_outputs * self.weight) + self.rows.share

    def leave_one_out_errors(self, alphas: np.ndarray, data: TrainingData) -> np.ndarray:
        """Return the mean squared leave-one-out error for each ridge.

        Infinite if rounding dominates. A row is left out with its copies and all their weight, see
        ``TrainingData``.
        """
        n_outputs = self.outputs.n_outputs
        row_bytes = 8 * (2 * len(self.rows.feature_mean) + (len(alphas) + 2) * n_outputs)
        block = Block(self._errors_block, alphas, data.weights is not None, row_bytes=row_bytes)
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
        block = Block(self._left_out_block, alpha, row_bytes=16 * len(self.rows.feature_mean))
        signals = self._signals(data)
        return data.rows.map(block, self.outputs.n_outputs, dtype=np.float64, signals=signals)

    def variance(self, alpha: float, noise: Any, rows: Rows) -> Any:
        """Return the variance of function and noise at these rows, (n_samples, n_outputs).

        This is the Bayesian view of the ridge: coefficients have prior variance noise / α.
        """
        row_bytes = 16 * len(self.rows.feature_mean)
        block = Block(self._variance_block, alpha, noise, row_bytes=row_bytes)
        return rows.map(block, self.outputs.n_outputs, dtype=np.float64)

    def _left_out(self, alphas, X, Y, weights):
        """Yield rows, number of the ridge, and residuals of the refits without each row."""
        # If outputs decouple, residuals of several ridges are columns of one product.
        coupled = isinstance(self.outputs, CoupledOutputs)
        at_once = 1 if coupled else max(1, _COLUMNS_AT_ONCE // self.outputs.n_outputs)
        for rows in tiles(X.shape[0], self.outputs.rows_at_once):
            design = self.outputs.design(self.rows(X[rows]), self.system.vectors)
            targets = self.outputs.turned(self.rows.targets(Y[rows]))
            for some in tiles(len(alphas), at_once):
                numbers = np.arange(len(alphas))[some]
                penalties = np.concatenate([self.outputs.penalties(alphas[k]) for k in numbers])
                projections = np.tile(self.system.projections, len(numbers))
                repeated = replace(self.system, projections=projections)
                left_out = left_out_residuals(
                    design,
                    np.tile(targets, len(numbers)),
                    repeated,
                    penalties,
                    weights[rows],
                    self.rows.share,
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
        return sums, weights.sum()

    def _left_out_block(self, alpha, X, Y, *columns, out):
        left_out = np.asarray(columns[-1], dtype=np.float64) if columns else np.ones(X.shape[0])
        for rows, _, residuals in self._left_out([alpha], X, Y, left_out):
            out[rows] = Y[rows] - self.outputs.turned(residuals, back=True)

    def _variance_block(self, alpha, noise, X, out):
        penalties = self.outputs.penalties(alpha)
        inverse = self.system.inverse(penalties)
        for rows in tiles(X.shape[0], self.outputs.rows_at_once):
            features = self.rows(X[rows])
            design = self.outputs.design(features, self.system.vectors)
            out[rows] = noise * (
                1 + self.rows.share + self.outputs.variances(features, design, inverse, penalties)
            )
