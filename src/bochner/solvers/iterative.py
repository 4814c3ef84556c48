"""Iterative solvers, which only multiply by the matrix, or pass over the rows."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import diags_array
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from .._checks import as_generator, check_count, check_positive
from .._estimator import keyword_only_from
from .._terminal.progress import step_done, track
from ..data import Block
from ..data.training import TrainingData
from .problem import TILE_ROWS, Factorization, RidgeProblem, Solution, Solver

Operator = Callable[[np.ndarray], np.ndarray]


@keyword_only_from("0.4", old_order=("max_iter", "tol"))
class IterativeSolver(Solver):
    """Base of solvers of (M + penalty I) z = b in ``max_iter`` steps or to accuracy ``tol``."""

    def __init__(self, *, max_iter: int = 1000, tol: float = 1e-8):
        self.max_iter = max_iter
        self.tol = tol

    def init(self, problem, data=None, rng=None) -> IterativeFactorization:
        return IterativeFactorization(self, problem, data)

    def check_parameters(self) -> None:
        check_count(self.max_iter, "max_iter")
        check_positive(self.tol, "tol")

    @abstractmethod
    def steps(
        self, operator: Operator, right_side: np.ndarray, diagonal: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Return operator⁻¹ right_side, (n, n_right_sides), and the number of steps.

        ``diagonal`` is that of the operator.
        """


class _Stopped(Exception):
    """Raised if a callback requests to stop; its argument is the current solution."""


class ConjugateGradient(IterativeSolver):
    """Conjugate gradients, preconditioned by the diagonal.

    Parameters
    ----------
    max_iter : int, default 1000
        Steps at most.
    tol : float, default 1e-8
        Stop at this residual, relative to the right-hand side.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpectralRidge
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = SpectralRidge(solver=ConjugateGradient(), alpha=0.01, random_state=0)
    >>> bool(model.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    def steps(self, operator, right_side, diagonal):
        n_iter = 0

        def count(reached):
            nonlocal n_iter
            n_iter += 1
            if step_done("conjugate gradients"):
                raise _Stopped(reached)

        size, shape = right_side.size, right_side.shape
        applied = LinearOperator(
            (size, size), lambda z: operator(z.reshape(shape)).ravel(), dtype=right_side.dtype
        )
        inverse = diags_array((1 / np.broadcast_to(diagonal, shape)).ravel())
        limits = {"rtol": self.tol, "atol": 0.0, "maxiter": self.max_iter}
        try:
            solution, _ = cg(applied, right_side.ravel(), M=inverse, callback=count, **limits)
        except _Stopped as stopped:
            (solution,) = stopped.args
        return solution.reshape(shape), n_iter


class LBFGS(IterativeSolver):
    """L-BFGS on ½ zᵀ(M + penalty)z − bᵀz, the solver of Brault et al. 2016.

    It runs on √diagonal · z, whose Hessian has a diagonal of ones.

    Parameters
    ----------
    max_iter : int, default 1000
        Steps at most.
    tol : float, default 1e-8
        Stop at a gradient this small, relative to the first one.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpectralRidge
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = SpectralRidge(solver=LBFGS(), alpha=0.01, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    def steps(self, operator, right_side, diagonal):
        root = np.sqrt(np.broadcast_to(diagonal, right_side.shape))

        def value_and_gradient(scaled):
            z = scaled.reshape(root.shape) / root
            image = operator(z)
            gradient = ((image - right_side) / root).ravel()
            return 0.5 * np.vdot(z, image) - np.vdot(right_side, z), gradient

        goal = max(self.tol * np.abs(right_side / root).max(), 1e-300)
        limits = {"maxiter": self.max_iter, "maxfun": 2 * self.max_iter}
        options = {**limits, "maxcor": 30, "gtol": goal, "ftol": 0.0}

        def report(_):
            if step_done("L-BFGS"):
                raise StopIteration  # ends SciPy's loop

        start = np.zeros(root.size)
        minimum = minimize(
            value_and_gradient, start, jac=True, method="L-BFGS-B", options=options, callback=report
        )
        return minimum.x.reshape(root.shape) / root, int(minimum.nit)


@dataclass(frozen=True, eq=False)
class IterativeFactorization(Factorization):
    """A problem without a factorization: the solver runs for each ridge."""

    solver: IterativeSolver
    problem: RidgeProblem
    data: TrainingData | None

    def solve(self, alpha: float) -> Solution:
        outputs = self.problem.outputs
        penalties = outputs.penalties(alpha)
        # Columns with an infinite penalty have the solution zero.
        right_side = np.where(np.isfinite(penalties), self.problem.right_side, 0.0)
        penalties = np.where(np.isfinite(penalties), penalties, 0.0)
        diagonal = outputs.diagonal(self.problem.sums.gram_diagonal) + penalties
        diagonal = np.where(diagonal > 0, diagonal, 1.0)

        def operator(z):
            return outputs.right_side(self._gram_times(outputs.coefficients(z))) + penalties * z

        solution, n_iter = self.solver.steps(operator, right_side, diagonal)
        if n_iter >= self.solver.max_iter:
            warnings.warn(
                f"{self.solver!r} stopped after max_iter={n_iter} steps without reaching "
                f"tol={self.solver.tol}. Raise max_iter or alpha.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return Solution(outputs.coefficients(solution), n_iter)

    def _gram_times(self, coefficients):
        """Return ΦᵀΦ @ coefficients, by a pass over the rows if the Gram matrix is too large."""
        gram = self.problem.sums.gram
        if gram.ndim == 3:  # one for each output
            return (gram @ coefficients.T[:, :, None])[:, :, 0].T
        if gram.ndim == 2:
            return gram @ coefficients
        if self.data is None:
            raise ValueError(
                "The Gram matrix was too large to be stored, and the rows were not. Call fit again."
            )
        weights = [] if self.data.weights is None else [self.data.weights]
        row_bytes = 8 * coefficients.shape[1]
        block = Block(_image_block, self.problem.rows, coefficients, row_bytes=row_bytes)
        return self.data.rows.sum(block, *weights)


def _image_block(centered, coefficients, X, weights=None):
    image = np.zeros(coefficients.shape)
    for rows, tile in centered.in_tiles(X, TILE_ROWS):
        field = tile @ coefficients
        image += tile.T @ (field if weights is None else weights[rows, None] * field)
    return image


@keyword_only_from("0.4", old_order=("n_epochs", "batch_size"))
class StochasticGradient(Solver):
    """Stochastic gradient descent on minibatches, averaged over the second half of the epochs.

    The step is 1 / (2 R²), R² the largest eigenvalue of the mean of K(x, x). For a shift-invariant
    kernel K(x, x) is the same at every x, so the step needs no tuning.

    Parameters
    ----------
    n_epochs : int, default 100
        Passes over the rows.
    batch_size : int, default 64
        Rows of one step.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpectralRidge
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = SpectralRidge(solver=StochasticGradient(), alpha=0.01, random_state=0)
    >>> bool(model.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9)
    True
    """

    needs_rows: ClassVar[bool] = True

    def __init__(self, *, n_epochs: int = 100, batch_size: int = 64):
        self.n_epochs = n_epochs
        self.batch_size = batch_size

    def init(self, problem, data=None, rng=None) -> StochasticFactorization:
        return StochasticFactorization(
            self, problem, data, as_generator(0 if rng is None else rng, "rng")
        )

    def check_parameters(self) -> None:
        check_count(self.n_epochs, "n_epochs")
        check_count(self.batch_size, "batch_size")


@dataclass(frozen=True, eq=False)
class StochasticFactorization(Factorization):
    """A problem without a factorization: one descent runs for each ridge."""

    solver: StochasticGradient
    problem: RidgeProblem
    data: TrainingData | None
    rng: np.random.Generator

    def solve(self, alpha: float) -> Solution:
        if self.data is None:
            raise ValueError(
                "Stochastic descent needs the rows, which are not stored. Call fit again."
            )
        problem, outputs = self.problem, self.problem.outputs
        rows, targets = self.data.rows, problem.rows.targets(self.data.target.rows)
        weights = self.data.row_weights
        mean_squares = problem.sums.gram / problem.sums.weight + problem.rows.feature_mean**2
        largest = outputs.largest(mean_squares) * max(1.0, weights.max() / weights.mean())
        step = 0.5 / (largest + alpha / len(rows))
        # Steps are those of parameters with penalty α in every column; z is √(α / penalty) times
        # these.
        scales = alpha / outputs.penalties(alpha)
        z = np.zeros_like(problem.right_side)
        average, n_averaged, n_epochs = np.zeros_like(z), 0, self.solver.n_epochs
        for epoch in track(range(n_epochs), "stochastic ridge", n_epochs):
            for block, positions, numbers in rows.batches(self.solver.batch_size, self.rng):
                tile = problem.rows(block[positions])
                residual = tile @ outputs.coefficients(z) - targets[numbers]
                shares = weights[numbers, None] / weights.mean()
                pull = outputs.right_side(tile.T @ (shares * residual))
                z = z - step * (scales * pull / len(numbers) + alpha / weights.sum() * z)
                if 2 * epoch >= n_epochs:
                    n_averaged += 1
                    average += (z - average) / n_averaged
        # There is no average if a callback stopped the descent in its first half.
        return Solution(outputs.coefficients(average if n_averaged else z), epoch + 1)
