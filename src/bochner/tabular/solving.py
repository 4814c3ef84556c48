"""A learned prior as a fitted function: all rows at once, with scores of rows that the fit has not
seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._loops.matrices import add_products
from ..expansions.kernels import KernelExpansion, closed_form_gram
from ..learners.evidence import LearnedPrior
from ..solvers.dual import (
    InverseSystem,
    MatrixProducts,
    NystromPreconditioner,
    Solution,
    conjugate_gradients,
)

# Ridges are tried in half decades, and none below this.
_STEP, _LEAST_RIDGE = np.log(10) / 2, 1e-5
# A change of the ridge that promises less, relatively, is not worth a factorization.
_WORTHWHILE = 1e-3
# float32 is precise enough for a ridge above this, and needed only from so many rows on.
_RIDGE_FOR_FLOAT32, _ROWS_FOR_FLOAT32 = 0.03, 1000
# Rows that say where the ridge of a larger problem may be, outputs that choose it, and half decades
# that it may lie below.
_CHOOSING_ROWS, _MOST_OUTPUTS, _MOST_STEPS = 1000, 2, 6
# Conjugate gradients: residual, steps at most (to choose the ridge, and for the solution), columns
# of the preconditioner, smallest ridge, also in units of the rounding of products.
_TOL, _CHOOSING_STEPS, _MAX_STEPS, _NYSTROM, _LEAST_ITERATED_RIDGE, _ROUNDINGS = (
    (1e-3, 3e-2),
    30,
    60,
    1000,
    1e-3,
    5.0,
)


@dataclass(frozen=True)
class Problem:
    """Prepared rows Z, targets Y (n_samples, n_outputs), and weights: a row of count h and cost c
    has weight h c.

    ``observations`` is the number of independent observations that each row stands for, one of
    which is left out at a time. None: every row is one observation, and is left out with all its
    weight.
    """

    Z: np.ndarray
    Y: np.ndarray
    counts: np.ndarray
    costs: np.ndarray
    observations: np.ndarray | None = None

    @property
    def weights(self) -> np.ndarray:
        return self.counts * self.costs

    def take(self, rows: np.ndarray) -> Problem:
        """Return some of the rows."""
        observations = None if self.observations is None else self.observations[rows]
        return Problem(
            self.Z[rows], self.Y[rows], self.counts[rows], self.costs[rows], observations
        )


@dataclass(frozen=True)
class Solved:
    """A fitted function and its ``held_out`` scores: predictions for rows by fits that left them
    out.
    """

    expansion: Any  # a KernelExpansion, or what else can be evaluated
    held_out: np.ndarray
    ridge: float


def learned_gram(
    learned: LearnedPrior, Z: np.ndarray, others: np.ndarray | None = None
) -> np.ndarray:
    """k(z, z') + Σ_j linear_j z_j z'_j / d in the precision of Z."""
    gram = closed_form_gram(learned.prior, Z, others)
    scaled = Z * (learned.linear / Z.shape[1]).astype(Z.dtype)
    add_products(gram, scaled, np.ascontiguousarray(Z if others is None else others))
    return gram


def expansion_of(
    learned: LearnedPrior, Z: np.ndarray, solution: Solution, dtype: type
) -> KernelExpansion:
    """The function Σ_i a_i (k + linear part)(z, z_i) + b."""
    slopes = (learned.linear / Z.shape[1])[:, None] * (Z.T @ solution.dual)
    return KernelExpansion(
        learned.prior, Z, solution.dual.astype(dtype), slopes, solution.intercept
    )


def solve_leaving_out(problem: Problem, learned: LearnedPrior, n_steps: int) -> Solved:
    """Solve for all rows, and predict each row exactly without it.

    The ridge follows the slope of the squared error of these predictions. See
    ``Problem.observations`` for what is left out.
    """
    weights = problem.weights
    single = len(problem.Z) > _ROWS_FOR_FLOAT32 and learned.noise > _RIDGE_FOR_FLOAT32
    gram = learned_gram(learned, problem.Z.astype(np.float32) if single else problem.Z)
    seen: dict[int, tuple] = {}

    def error_and_slope(step):
        nonlocal gram
        ridge = max(learned.noise * np.exp(step * _STEP), _LEAST_RIDGE)
        if ridge <= _RIDGE_FOR_FLOAT32:
            gram = gram.astype(np.float64, copy=False)
        try:
            solution, slopes = InverseSystem(gram, weights, ridge).solve(
                problem.Y, problem.observations
            )
        except np.linalg.LinAlgError:
            return np.inf, -np.inf
        left_out = np.asarray(solution.left_out)
        residuals: np.ndarray = np.where(
            np.isfinite(left_out), left_out, problem.Y - solution.intercept
        )
        seen[step] = ridge, solution, residuals
        error = np.average(np.sum(residuals**2, axis=1), weights=weights)
        return error, np.average(np.sum(2 * residuals * slopes, axis=1), weights=weights)

    best = _downhill(error_and_slope, n_steps)
    ridge, solution, residuals = seen[best]
    return Solved(
        expansion_of(learned, problem.Z, solution, gram.dtype.type), problem.Y - residuals, ridge
    )


def _downhill(error_and_slope: Callable, n_steps: int) -> int:
    """The step of smallest error, from 0 on in the direction that the slope shows, until the slope
    turns.
    """
    least, slope = error_and_slope(0)
    best, direction = 0, 1 if slope < 0 else -1
    if np.isfinite(least) and abs(slope) * _STEP < _WORTHWHILE * least:
        return best
    for step in range(1, n_steps + 1 if np.isfinite(least) else 40):
        error, slope = error_and_slope(direction * step)
        if np.isfinite(least) and not error < least:
            break
        best, least = direction * step, error
        if np.isfinite(error) and slope * direction >= -_WORTHWHILE * error / _STEP:
            break
    return best


def solve_holding_out(
    problem: Problem,
    learned: LearnedPrior,
    n_steps: int,
    n_held: int,
    rng: np.random.Generator,
    refit: bool = True,
) -> Solved:
    """The last ``n_held`` rows choose the ridge of a fit of the others and are scored by it; then
    all rows are fitted (``refit``).

    By conjugate gradients. Some of the rows, left out exactly, say where to look for the ridge
    (more rows want less of it), and how precise a solution must be: a residual of a twentieth of
    their error adds a few percent to its square at most.
    """
    Z, Y, weights = problem.Z.astype(np.float32), problem.Y, problem.weights
    n_inner = len(Z) - n_held
    some = problem.take(np.arange(min(n_inner, _CHOOSING_ROWS)))
    near = solve_leaving_out(some, learned, n_steps)
    tol = float(np.clip(0.05 * np.sqrt(_unexplained(some, near.held_out)), *_TOL))
    gram = learned_gram(learned, Z if refit else Z[:n_inner])
    across = gram[n_inner:, :n_inner] if refit else learned_gram(learned, Z[n_inner:], Z[:n_inner])
    columns = np.sort(rng.choice(n_inner, min(_NYSTROM, n_inner // 4), replace=False))
    preconditioner = NystromPreconditioner.of(MatrixProducts(gram), columns, weights[: len(gram)])
    inner = preconditioner.first(n_inner) if refit else preconditioner
    # Of many outputs the ridge is chosen by a few random sums: their squared errors have the right
    # mean, at a fraction of the cost.
    few = Y.shape[1] <= _MOST_OUTPUTS
    tried = Y if few else Y @ rng.choice([-1.0, 1.0], size=(Y.shape[1], _MOST_OUTPUTS))
    judge = Problem(Z[n_inner:], tried[n_inner:], problem.counts[n_inner:], problem.costs[n_inner:])
    # A ridge below the rounding of the largest eigenvalue, which is the trace at most, is lost in
    # products.
    trace = float(weights[: len(gram)] @ np.diagonal(gram))
    least = max(_LEAST_ITERATED_RIDGE, _ROUNDINGS * np.finfo(np.float32).eps * trace)
    seen: dict[int, tuple] = {}

    def solutions(ridges, targets, max_steps, start=None):
        found = _iterated(
            MatrixProducts(gram, n_inner), inner, ridges, targets[:n_inner], tol, max_steps, start
        )
        for ridge, (solution, solved) in zip(ridges, found):
            scores = (across @ solution.dual.astype(np.float32)).astype(
                np.float64
            ) + solution.intercept
            yield ridge, scores, solution, solved

    def errors(steps):
        start = None
        if seen:  # further out: from the nearest ridge
            nearest = min(seen, key=lambda step: abs(step - steps[0]))
            start = np.tile(seen[nearest][3], (len(steps), 1))
        ridges = [max(near.ridge * np.exp(step * _STEP), least) for step in steps]
        seen.update(zip(steps, solutions(ridges, tried, _CHOOSING_STEPS, start)))
        return [_unexplained(judge, seen[step][1]) for step in steps]

    ridge, _, _, solved = seen[_best_of_batches(errors)]
    ((_, scores, solution, solved),) = solutions([ridge], Y, _MAX_STEPS, solved if few else None)
    if refit:
        start = np.pad(solved, [(0, 0), (0, n_held)])
        ((solution, _),) = _iterated(
            MatrixProducts(gram), preconditioner, [ridge], Y, tol, _MAX_STEPS, start
        )
    return Solved(
        expansion_of(learned, problem.Z[: len(gram)], solution, np.float32), scores, ridge
    )


def _unexplained(problem, scores):
    """The squared error of scores, as a share of that of the mean."""
    deviation = problem.Y - np.average(problem.Y, axis=0, weights=problem.weights)
    return np.sum(problem.weights @ (problem.Y - scores) ** 2) / max(
        np.sum(problem.weights @ deviation**2), 1e-300
    )


def _best_of_batches(errors: Callable) -> int:
    """The step of smallest error: three at once from 0 down, then two more beyond an end while it
    is the best and errors still fall.

    A product with the kernel matrix costs about the same for one column and for a few.
    """
    steps = [0, -1, -2]
    found: dict[int, float] = {}
    while True:
        found.update(zip(steps, errors(steps)))
        best = min(found, key=lambda step: (found[step], -step))
        outward = 1 if best == max(found) else -1
        at_the_end = best in (max(found), min(found)) and abs(best) <= _MOST_STEPS
        if not at_the_end or (best != 0 and found[best] > 0.99 * found[best - outward]):
            return best
        steps = [best + outward, best + 2 * outward]


def _iterated(products, preconditioner, ridges, Y, tol, max_steps, start=None):
    """For each ridge a solution with a free intercept, and what a longer system may start from; all
    at once, in float32.
    """
    weights = preconditioner.weights
    center = np.average(Y, axis=0, weights=weights)
    rows = np.tile(
        np.vstack([(Y - center).T, np.ones(len(Y))]).astype(np.float32), (len(ridges), 1)
    )
    alphas = np.repeat(ridges, Y.shape[1] + 1)
    shift = (alphas[:, None] / weights).astype(np.float32)
    solved = conjugate_gradients(
        products, shift, rows, preconditioner.at(alphas), tol, max_steps, start
    )
    solutions = []
    for own in np.split(solved.astype(np.float64), len(ridges)):
        moved = own[:-1].sum(axis=1) / own[-1].sum()
        solutions.append((Solution((own[:-1] - moved[:, None] * own[-1]).T, center + moved), own))
    return solutions
