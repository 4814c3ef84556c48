"""Exact kernel members: solutions for all rows, with scores of rows that a fit has not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..expansions.kernels import KernelExpansion
from ..learners.evidence import LearnedPrior
from ..solvers.dual import (
    InverseSystem,
    IteratedSolution,
    MatrixProducts,
    NystromPreconditioner,
    Solution,
    dual_expansion,
    iterated_solutions,
    kernel_matrix,
)
from .preparation import PreparedData

# Ridges are tried in half decades, and none below this.
_HALF_DECADE, _LEAST_RIDGE = np.log(10) / 2, 1e-5
# The relative change of the error that is worth another factorization.
_WORTHWHILE = 1e-3
# float32 is precise enough for a ridge above this, and used from this number of rows on.
_RIDGE_FOR_FLOAT32, _ROWS_FOR_FLOAT32 = 0.03, 1000
# A ridge is first estimated from this number of rows and of outputs. That for all rows is at most
# so many half decades away.
_CHOOSING_ROWS, _MOST_OUTPUTS, _MOST_STEPS = 1000, 2, 6
# Conjugate gradients: the smallest and the largest tolerance, and columns of the preconditioner.
_TOL, _NYSTROM = (1e-3, 3e-2), 1000
# Most iterations, to choose the ridge and for the solution.
_CHOOSING_STEPS, _MAX_STEPS = 30, 60
# The smallest ridge, and the same in units of the rounding of products.
_LEAST_ITERATED_RIDGE, _ROUNDINGS = 1e-3, 5.0


@dataclass(frozen=True)
class Solved:
    """A fitted function, and ``held_out``: scores of rows by fits that did not see them."""

    expansion: Any
    held_out: np.ndarray
    ridge: float = np.nan


def learned_gram(
    learned: LearnedPrior, Z: np.ndarray, others: np.ndarray | None = None
) -> np.ndarray:
    """Return k(z, z') + Σ_j linear_j z_j z'_j / d in the precision of Z."""
    return kernel_matrix(learned.prior, learned.linear / Z.shape[1], Z, others)


def expansion_of(
    learned: LearnedPrior, Z: np.ndarray, solution: Solution, dtype: Any
) -> KernelExpansion:
    """Return the function of a dual solution for rows Z, with coefficients of a dtype."""
    return dual_expansion(learned.prior, learned.linear / Z.shape[1], Z, solution, dtype)


# --- leave-one-out --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _DirectTrial:
    """A solution for one ridge and its leave-one-out residuals."""

    ridge: float
    solution: Solution
    residuals: np.ndarray


def solve_leaving_out(data: PreparedData, learned: LearnedPrior, n_steps: int) -> Solved:
    """Solve for all rows, and predict each row exactly without it.

    The ridge minimizes the squared error of these predictions, over at most ``n_steps`` half
    decades from the noise of the evidence. See ``PreparedData`` for ``observations``.
    """
    return _leave_out(data, learned, n_steps)[1]


def _leave_out(data, learned, n_steps):
    """Return the step of the ridge and the solution of ``solve_leaving_out``.

    The search in many rows starts from the best ridge of some of them.
    """
    start, stride = 0, len(data.Z) // _CHOOSING_ROWS
    if stride > 1:
        some = data.take(np.arange(0, len(data.Z), stride))
        start = _leave_out(some, learned, n_steps)[0]
    Z, Y, weights = data.Z, data.outputs, data.row_weights
    single = len(Z) > _ROWS_FOR_FLOAT32 and learned.noise > _RIDGE_FOR_FLOAT32
    gram = learned_gram(learned, Z.astype(np.float32) if single else Z)
    trials: dict[int, _DirectTrial] = {}

    def error_and_slope(step):
        nonlocal gram
        ridge = max(learned.noise * np.exp(step * _HALF_DECADE), _LEAST_RIDGE)
        if ridge <= _RIDGE_FOR_FLOAT32:
            gram = gram.astype(np.float64, copy=False)
        try:
            solution, slopes = InverseSystem(gram, weights, ridge).solve(Y, data.observations)
        except np.linalg.LinAlgError:
            return np.inf, -np.inf
        left_out = np.asarray(solution.left_out)
        residuals = np.where(np.isfinite(left_out), left_out, Y - solution.intercept)
        trials[step] = _DirectTrial(ridge, solution, residuals)
        error = np.average(np.sum(residuals**2, axis=1), weights=weights)
        return error, np.average(np.sum(2 * residuals * slopes, axis=1), weights=weights)

    step = _descend(error_and_slope, n_steps, start)
    best = trials[step]
    expansion = expansion_of(learned, Z, best.solution, gram.dtype.type)
    return step, Solved(expansion, Y - best.residuals, best.ridge)


def _descend(error_and_slope: Callable, n_steps: int, start: int = 0) -> int:
    """Return the step of smallest error: from ``start`` against the slope, until the slope turns.

    It is at most ``n_steps`` from zero, unless there is no solution there.
    """
    least, slope = error_and_slope(start)
    best, direction = start, 1 if slope < 0 else -1
    if np.isfinite(least) and abs(slope) * _HALF_DECADE < _WORTHWHILE * least:
        return best
    furthest = n_steps if np.isfinite(least) else 40
    for step in range(start + direction, direction * (furthest + 1), direction):
        error, slope = error_and_slope(step)
        if np.isfinite(least) and not error < least:
            break
        best, least = step, error
        if np.isfinite(error) and slope * direction >= -_WORTHWHILE * error / _HALF_DECADE:
            break
    return best


# --- held-out rows --------------------------------------------------------------------------------


def solve_holding_out(
    data: PreparedData,
    learned: LearnedPrior,
    n_steps: int,
    n_held: int,
    rng: np.random.Generator,
) -> Solved:
    """Fit the first rows, choose the ridge by the last ``n_held`` rows, then fit all rows.

    Systems are solved by conjugate gradients in float32, to a tolerance that adds at most a few
    percent to the error. The search for the ridge starts from that of up to 1000 rows, which are
    left out exactly.

    Up to the tolerance of conjugate gradients, the result is that of this version, in which K is
    the kernel matrix of all rows::

        def solve(K, Y, weights, ridge):
            ones, system = np.ones((len(K), 1)), K + np.diag(ridge / weights)
            system = np.block([[system, ones], [ones.T, np.zeros((1, 1))]])
            solved = np.linalg.solve(system, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
            return solved[:-1], solved[-1]

        def hold_out(K, Y, weights, n_held, ridges):
            n, scores = len(K) - n_held, []
            for ridge in ridges:
                dual, intercept = solve(K[:n, :n], Y[:n], weights[:n], ridge)
                scores.append(K[n:, :n] @ dual + intercept)
            best = np.argmin([np.sum(weights[n:] @ (Y[n:] - s) ** 2) for s in scores])
            return ridges[best], scores[best], solve(K, Y, weights, ridges[best])
    """
    some = data.take(np.arange(min(len(data) - n_held, _CHOOSING_ROWS)))
    first = solve_leaving_out(some, learned, n_steps)
    tol = 0.05 * np.sqrt(_unexplained(some.outputs, first.held_out, some.row_weights))
    search = _HoldingOut(data, learned, n_held, float(np.clip(tol, *_TOL)), rng)
    return search.solve(search.best_near(first.ridge))


@dataclass(frozen=True)
class _IteratedTrial:
    """A solution for one ridge and its scores of the held-out rows."""

    ridge: float
    scores: np.ndarray
    iterated: IteratedSolution


class _HoldingOut:
    """Kernel matrix and preconditioner of the search in ``solve_holding_out``."""

    def __init__(
        self,
        data: PreparedData,
        learned: LearnedPrior,
        n_held: int,
        tol: float,
        rng: np.random.Generator,
    ):
        Z, Y, weights = data.Z.astype(np.float32), data.outputs, data.row_weights
        n_inner = len(Z) - n_held
        self.data, self.learned, self.tol = data, learned, tol
        self.Y, self.weights, self.n_inner, self.n_held = Y, weights, n_inner, n_held
        self.gram = learned_gram(learned, Z)
        self.across = self.gram[n_inner:, :n_inner]
        columns = np.sort(rng.choice(n_inner, min(_NYSTROM, n_inner // 4), replace=False))
        self.whole = NystromPreconditioner.of(MatrixProducts(self.gram), columns, weights)
        self.inner = self.whole.first(n_inner)
        # A few random sums of many outputs choose the ridge, at a fraction of the cost. The
        # expected squared error of a sum is the sum of those of the outputs.
        self.few_outputs = Y.shape[1] <= _MOST_OUTPUTS
        self.choosing = Y
        if not self.few_outputs:
            self.choosing = Y @ rng.choice([-1.0, 1.0], size=(Y.shape[1], _MOST_OUTPUTS))
        # A ridge below the rounding error of the largest eigenvalue would be lost in products. The
        # trace exceeds this eigenvalue.
        trace = float(weights @ np.diagonal(self.gram))
        self.least = max(_LEAST_ITERATED_RIDGE, _ROUNDINGS * np.finfo(np.float32).eps * trace)

    def best_near(self, start_ridge: float) -> _IteratedTrial:
        """Return the trial of smallest held-out error among ridges around one."""
        trials: dict[int, _IteratedTrial] = {}

        def errors(steps):
            start = None
            if trials:
                nearest = min(trials, key=lambda step: abs(step - steps[0]))
                start = np.tile(trials[nearest].iterated.solved, (len(steps), 1))
            ridges = [max(start_ridge * np.exp(step * _HALF_DECADE), self.least) for step in steps]
            trials.update(zip(steps, self._trials(ridges, self.choosing, _CHOOSING_STEPS, start)))
            Y, weights = self.choosing[self.n_inner :], self.weights[self.n_inner :]
            return [_unexplained(Y, trials[step].scores, weights) for step in steps]

        return trials[_best_of_batches(errors)]

    def solve(self, best: _IteratedTrial) -> Solved:
        """Solve for all outputs with the ridge of a trial, then for all rows."""
        start = best.iterated.solved if self.few_outputs else None
        (trial,) = self._trials([best.ridge], self.Y, _MAX_STEPS, start)
        start = np.pad(trial.iterated.solved, [(0, 0), (0, self.n_held)])
        (whole,) = iterated_solutions(
            MatrixProducts(self.gram), self.whole, [best.ridge], self.Y, self.tol, _MAX_STEPS,
            start, dtype=np.float32,
        )  # fmt: skip
        expansion = expansion_of(self.learned, self.data.Z, whole.solution, np.float32)
        return Solved(expansion, trial.scores, best.ridge)

    def _trials(self, ridges, targets, max_steps, start):
        """Fit the rows that are not held out, for several ridges."""
        solutions = iterated_solutions(
            MatrixProducts(self.gram, self.n_inner), self.inner, ridges, targets[: self.n_inner],
            self.tol, max_steps, start, dtype=np.float32,
        )  # fmt: skip
        for ridge, iterated in zip(ridges, solutions):
            solution = iterated.solution
            scores = (self.across @ solution.dual.astype(np.float32)).astype(np.float64)
            yield _IteratedTrial(ridge, scores + solution.intercept, iterated)


def _unexplained(Y, scores, weights):
    """Return the squared error of scores as a share of that of the mean."""
    deviation = Y - np.average(Y, axis=0, weights=weights)
    return np.sum(weights @ (Y - scores) ** 2) / max(np.sum(weights @ deviation**2), 1e-300)


def _best_of_batches(errors: Callable) -> int:
    """Return the step of smallest error.

    The first batch is 0, −1 and −2. While an end is the best step and errors still fall, a batch of
    two more steps beyond it follows. A product with the kernel matrix costs about the same for one
    column and for a few.
    """
    steps = [0, -1, -2]
    error_of: dict[int, float] = {}
    while True:
        error_of.update(zip(steps, errors(steps)))
        best = min(error_of, key=lambda step: (error_of[step], -step))
        outward = 1 if best == max(error_of) else -1
        is_end = best in (max(error_of), min(error_of)) and abs(best) <= _MOST_STEPS
        if not is_end or (best != 0 and error_of[best] > 0.99 * error_of[best - outward]):
            return best
        steps = [best + outward, best + 2 * outward]
