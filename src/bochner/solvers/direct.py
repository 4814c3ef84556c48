"""Direct solvers: eigenvectors, which answer everything, and Cholesky factors, which answer one ridge sooner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._compute import Block, Rows, tiles
from .base import CenteredRows, Factorization, RidgeProblem, Solution, Solver
from .outputs import DecoupledOutputs, Outputs
from .statistics import TrainingRows
from .systems import Eigensystem, left_out_residuals, ridge_solution, ridge_spent


class Eigen(Solver):
    """Eigenvectors of the features' Gram matrix and of the output matrix, or of the normal matrix of coupled outputs.

    One factorization serves every ridge, leave-one-out errors, variances and leverages.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpectralRidge
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = SpectralRidge(solver=Eigen(), alpha=[1e-3, 1e-2, 1.0], random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.alpha_
    0.001
    """

    needs_matrix: ClassVar[bool] = True
    several_ridges: ClassVar[bool] = True

    def init(self, problem, data=None, rng=None) -> EigenFactorization:
        outputs = problem.outputs
        if isinstance(outputs, DecoupledOutputs) and problem.spectrum is not None:
            system = problem.spectrum.turned(outputs.vectors)
        else:
            system = Eigensystem.of(problem.matrix, problem.right_side)
        return EigenFactorization(system, outputs, problem.rows, problem.sums.weight)


class Cholesky(Solver):
    """A Cholesky factor for each different penalty; the fastest for one ridge.

    Eigenvectors take over where there are more than eight penalties, or where the ridge is below rounding.

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
    """Factors are made for the ridge that is asked for."""

    problem: RidgeProblem

    def solve(self, alpha: float) -> Solution:
        outputs = self.problem.outputs
        solution = ridge_solution(self.problem.matrix, self.problem.right_side, outputs.penalties(alpha))
        return Solution(outputs.coefficients(solution))

    def mean_leverage(self, alpha: float) -> float:
        outputs, weight = self.problem.outputs, self.problem.sums.weight
        spent = ridge_spent(self.problem.matrix, outputs.penalties(alpha))
        return spent / (outputs.n_outputs * weight) + self.problem.rows.share


@dataclass(frozen=True, eq=False)
class EigenFactorization(Factorization):
    """M = U diag(s) Uᵀ: every question about the ridge is a division in this basis."""

    system: Eigensystem
    outputs: Outputs
    rows: CenteredRows
    weight: float

    def solve(self, alpha: float) -> Solution:
        return Solution(self.outputs.coefficients(self.system.solution(self.outputs.penalties(alpha))))

    def mean_leverage(self, alpha: float) -> float:
        spent = self.system.spent(self.outputs.penalties(alpha))
        return spent / (self.outputs.n_outputs * self.weight) + self.rows.share

    def leave_one_out_errors(self, alphas: np.ndarray, data: TrainingRows) -> np.ndarray:
        """Mean squared leave-one-out error for each ridge, infinite where it cannot be told from rounding.

        A row of weight h counts as h rows, one of which is left out, or all of it where it is less than one.
        """
        n_outputs = self.outputs.n_outputs
        row_bytes = 8 * (2 * len(self.rows.feature_mean) + (len(alphas) + 2) * n_outputs)
        sums, weight = data.rows.sum(Block(self._errors_block, alphas, row_bytes=row_bytes), *data.signals)
        return sums / (weight * n_outputs)

    def leave_one_out(self, alpha: float, data: TrainingRows) -> Any:
        """The prediction of each row by the fit without it, (n_samples, n_outputs)."""
        block = Block(self._left_out_block, alpha, row_bytes=16 * len(self.rows.feature_mean))
        return data.rows.map(block, self.outputs.n_outputs, dtype=np.float64, signals=data.signals)

    def variance(self, alpha: float, noise: Any, rows: Rows) -> Any:
        """Variance of the outputs at these rows, (n_samples, n_outputs): of the fitted function and of the noise around it.

        The Bayesian reading of the ridge: coefficients have prior variance noise / α.
        """
        block = Block(self._variance_block, alpha, noise, row_bytes=16 * len(self.rows.feature_mean))
        return rows.map(block, self.outputs.n_outputs, dtype=np.float64)

    def _left_out(self, alphas, X, Y, weights):
        """(rows, number of the ridge, residuals of the refits without each row) for every tile of rows and every ridge."""
        for rows in tiles(X.shape[0], self.outputs.rows_at_once):
            design = self.outputs.design(self.rows(X[rows]), self.system.vectors)
            targets = self.outputs.turned(self.rows.targets(Y[rows]))
            for number, alpha in enumerate(alphas):
                penalties = self.outputs.penalties(alpha)
                left_out = left_out_residuals(design, targets, self.system, penalties, weights[rows], self.rows.share)
                yield rows, number, left_out

    def _errors_block(self, alphas, X, Y, weights=None):
        weights = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
        sums = np.zeros(len(alphas))
        for rows, number, residuals in self._left_out(alphas, X, Y, np.minimum(weights, 1)):
            sums[number] += np.sum(weights[rows, None] * residuals**2)
        return sums, weights.sum()

    def _left_out_block(self, alpha, X, Y, weights=None, *, out):
        weights = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
        for rows, _, residuals in self._left_out([alpha], X, Y, weights):
            out[rows] = Y[rows] - self.outputs.turned(residuals, back=True)

    def _variance_block(self, alpha, noise, X, out):
        penalties = self.outputs.penalties(alpha)
        inverse = self.system.inverse(penalties)
        for rows in tiles(X.shape[0], self.outputs.rows_at_once):
            features = self.rows(X[rows])
            design = self.outputs.design(features, self.system.vectors)
            out[rows] = noise * (1 + self.rows.share + self.outputs.variances(features, design, inverse, penalties))
