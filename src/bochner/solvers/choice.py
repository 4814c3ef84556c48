"""Choices of a ridge: solver, candidates for the ridge, and precision of the sums.

A Gram matrix of float32 features may be summed in float32 tiles if the system is well conditioned.
A tile of 1024 rows is rounded to about 1e-7 of its largest entry, and a sum of many tiles to less,
because their errors cancel. The solution multiplies this error by the condition of the system.

For 40 000 and 50 000 rows of 2 to 20 columns, we compared predictions with those in float64. They
differed by less than 1e-5 up to a condition of 1e4, and by 2e-4 at 1e6. For 5000 rows they differed
by 5e-6 at 1e3, hence the least number of tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._checks import check_flag, check_positive, refuse_class
from .._loops.arrays import as_dense
from ..data import as_rows
from ..data.targets import Values
from ..data.training import TrainingData
from .direct import Cholesky, Eigen, condition
from .iterative import ConjugateGradient
from .problem import TILE_ROWS, Outputs, RidgeProblem, RidgeStatistics, Solver

# Up to this many unknowns (or scalar features) a matrix of all pairs of them is formed: 128 MB.
DENSE_LIMIT = 4096
# Values of "auto", relative to the mean of K(x, x): three per decade over eight decades. One
# factorization serves them all, so a fine grid costs less than a second search around the best.
# Smaller ridges would be lost in the rounding of the normal equations.
_SIZES = np.logspace(2, -6, 25)
# Errors with a smaller relative difference are equal: rounding must not decide between ridges.
_EQUAL_ERRORS = 1e-6
# Most ridges beyond an edge of the given ones, and the gain that is worth another one.
_MOST_FURTHER, _LEAST_GAIN = 6, 1e-3
# The largest condition, and the smallest number of tiles, of a Gram matrix summed in tiles.
LARGEST_CONDITION, _FEWEST_TILES = 1e4, 32
# Whether tiles suffice is first estimated on this many rows per column, if there are far more in
# all. The smallest eigenvalue of four rows a column is about a quarter of that of many.
_ROWS_A_COLUMN, _FEWEST_SHARE, _SLACK = 4, 16, 4.0


def matrix_fits(n_unknowns: int) -> bool:
    """Return True if a matrix of all pairs of this many features or unknowns is formed."""
    return n_unknowns <= DENSE_LIMIT


def rows_are_few(solver: Solver | None, n_rows: int, n_columns: int) -> bool:
    """Return True if the Gram matrix of the rows is the smaller one and gives the eigensystem."""
    return isinstance(solver, Eigen | None) and n_rows < min(n_columns, DENSE_LIMIT)


def check_ridge(solver: Any, fit_intercept: Any, alpha: Any) -> None:
    """Check the parameters of a ridge; ``solver`` is None or a solver with valid parameters."""
    refuse_class(solver, "solver")
    if solver is not None and not isinstance(solver, Solver):
        raise TypeError(
            "solver must be None (an automatic choice) or an object: Eigen(), Cholesky(), "
            f"ConjugateGradient(), LBFGS() or StochasticGradient(), got {solver!r}."
        )
    if solver is not None:
        solver.check_parameters()
    check_flag(fit_intercept, "fit_intercept")
    ridges(alpha)


def chosen_solver(
    solver: Solver | None,
    n_alphas: int,
    n_columns: int,
    n_unknowns: int,
    *,
    few_rows: bool,
    bounded: bool = True,
) -> Solver:
    """Return the solver for ``n_columns`` scalar features and ``n_unknowns`` rows of M.

    A matrix that would be too large is refused, unless ``bounded=False``.
    """
    dense = few_rows or not bounded or (matrix_fits(n_columns) and matrix_fits(n_unknowns))
    if solver is None:
        direct = Eigen() if few_rows or n_alphas > 1 else Cholesky()
        solver = direct if dense else ConjugateGradient()
    too_large = not matrix_fits(n_columns) or n_unknowns > 4 * DENSE_LIMIT
    if solver.needs_matrix and not dense and too_large:
        raise ValueError(
            f"{solver!r} forms a matrix of all pairs of {max(n_columns, n_unknowns)} unknowns, "
            f"{8e-9 * max(n_columns, n_unknowns) ** 2:.1f} GB. Write solver=ConjugateGradient(), "
            "or lower n_components."
        )
    return solver


def check_alphas(alpha: Any) -> np.ndarray:
    """Return one or several positive ridges as a vector."""
    if not isinstance(alpha, Iterable) or isinstance(alpha, str):
        return np.array([check_positive(alpha, "alpha")])
    alphas = [check_positive(value, "alpha") for value in alpha]
    if not alphas:
        raise ValueError(
            "alpha is an empty list; give a number, e.g. alpha=1.0, or several to choose from."
        )
    return np.array(alphas)


def ridges(alpha: Any, scale: float = 1.0) -> np.ndarray:
    """Return the ridges to choose from; those of "auto" are relative to ``scale``."""
    if not isinstance(alpha, str):
        return check_alphas(alpha)
    if alpha != "auto":
        raise ValueError(
            f'alpha must be "auto", a positive number or several of them, got {alpha!r}.'
        )
    return scale * _SIZES


def chosen_ridge(alphas: np.ndarray, errors: np.ndarray) -> float:
    """Return the largest ridge whose error is the smallest up to rounding.

    >>> chosen_ridge(np.array([1.0, 0.1, 0.01]), np.array([2.0, 1.0 + 1e-9, 1.0]))
    0.1
    """
    return float(np.max(alphas[errors <= np.min(errors) * (1 + _EQUAL_ERRORS)]))


def with_further_ridges(
    alphas: np.ndarray,
    errors: np.ndarray,
    error_of: Callable[[float], float],
    smallest: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return ridges and errors, with those of better ridges beyond the best one if it is an edge.

    Below the smallest ridge each is a tenth of the one before, above the largest ten times it. At
    most six are added, none below ``smallest``, as long as each lowers the error by more than
    0.1 %: rounding must not decide between ridges.

    >>> with_further_ridges(np.array([1.0, 2.0]), np.array([1.0, 2.0]), lambda a: a, 0.01)
    (array([1.  , 2.  , 0.1 , 0.01]), array([1.  , 2.  , 0.1 , 0.01]))
    """
    best, low, high = alphas[np.argmin(errors)], np.min(alphas), np.max(alphas)
    for _ in range(_MOST_FURTHER if best in (low, high) else 0):
        best = best / 10 if best <= low else best * 10
        if best < min(low, smallest):
            break
        error = error_of(float(best))
        if not error < (1 - _LEAST_GAIN) * np.min(errors):
            break
        alphas, errors = np.append(alphas, best), np.append(errors, error)
    return alphas, errors


def tiles_seem_enough(
    features: Callable,
    data: TrainingData,
    n_columns: int,
    hardest: Callable[[RidgeStatistics], float],
) -> bool:
    """Return True if sums in tiles are likely to be precise enough.

    This needs many rows, float32 features, and a well-conditioned system on some of the rows.
    ``hardest`` maps sums to the largest condition of the systems that will be solved.
    """
    rows = data.rows
    n_some = _ROWS_A_COLUMN * n_columns
    enough = len(rows) >= max(_FEWEST_TILES * TILE_ROWS, _FEWEST_SHARE * n_some)
    if not (n_columns and enough and rows.dtype == np.float32 and rows.has_cheap_access):
        return False
    some = as_dense(rows.sample(n_some))
    if features(some[:1]).dtype != np.float32:
        return False
    weight = float(data.row_weights.sum())
    sums = RidgeStatistics.of(
        features, TrainingData(as_rows(some), Values(np.zeros((len(some), 1)))), np.zeros(1)
    )
    return hardest(sums.times(weight / len(some))) <= _SLACK * LARGEST_CONDITION


def tiles_are_too_coarse(problem: RidgeProblem, alphas: np.ndarray) -> bool:
    """Return True if sums in float32 tiles are too coarse for the condition of the system."""
    if not problem.sums.tiled or not matrix_fits(len(problem.right_side)):
        return problem.sums.tiled
    return hardest_condition(problem.matrix, problem.outputs, alphas) > LARGEST_CONDITION


def hardest_condition(matrix: np.ndarray, outputs: Outputs, alphas: np.ndarray) -> float:
    """Return the condition for the smallest ridge, in the output that it penalizes least."""
    return condition(matrix, float(outputs.penalties(alphas.min()).min()))
