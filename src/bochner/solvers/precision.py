"""Conditions under which a Gram matrix may be summed in float32 tiles.

A tile of 1024 rows is rounded to about 1e-7 of its largest entry, and a sum of many tiles to less,
because their errors cancel. The system multiplies that by its condition. For 40 000 and 50 000 rows
of 2 to 20 columns, predictions differed from those in float64 by less than 1e-5 up to a condition
of 1e4, and by 2e-4 at 1e6. For 5000 rows they differed by 5e-6 at 1e3, hence the least number of
tiles.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._loops.arrays import as_dense
from .._loops.threads import single_threaded_blas, threads_for_matrices
from ..data import as_rows
from ..data.targets import Values
from ..data.training import TrainingData
from .outputs import Outputs
from .statistics import TILE_ROWS, RidgeStatistics

LARGEST_CONDITION = 1e4
_FEWEST_TILES = 32
# Whether tiles suffice is first estimated on this many rows per column, if there are far more in
# all. The smallest eigenvalue of four rows a column is about a quarter of that of many.
_ROWS_A_COLUMN, _FEWEST_SHARE, _SLACK = 4, 16, 4.0
# Steps of the power method, which estimates the largest and smallest eigenvalue.
_STEPS = 10


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
    except LinAlgError:
        return np.inf
    vector = np.random.default_rng(0).normal(size=(len(matrix), 2))
    vector /= np.linalg.norm(vector, axis=0)
    with single_threaded_blas():
        for _ in range(_STEPS):
            # The first column finds the largest eigenvalue, the second that of the inverse.
            vector = np.stack(
                [shifted @ vector[:, 0], cho_solve(factor, vector[:, 1], check_finite=False)],
                axis=1,
            )
            sizes = np.linalg.norm(vector, axis=0)
            vector /= sizes
    return float(np.prod(sizes))


def tiles_seem_enough(
    features: Callable,
    data: TrainingData,
    n_columns: int,
    hardest: Callable[[RidgeStatistics], float],
) -> bool:
    """Return True if sums in tiles are likely to be precise enough.

    There must be many rows, float32 features, and a well-conditioned system on some of the rows.
    ``hardest`` returns the largest condition of the systems to be solved, from sums.
    """
    rows = data.rows
    n_some = _ROWS_A_COLUMN * n_columns
    enough = len(rows) >= max(_FEWEST_TILES * TILE_ROWS, _FEWEST_SHARE * n_some)
    if not (n_columns and enough and rows.dtype == np.float32 and rows.has_cheap_access):
        return False
    some = as_dense(rows.sample(n_some))
    if as_dense(features(some[:1])).dtype != np.float32:
        return False
    weight = len(rows) if data.weights is None else float(np.sum(data.weights))
    sums = RidgeStatistics.of(
        features, TrainingData(as_rows(some), Values(np.zeros((len(some), 1)))), np.zeros(1)
    )
    return hardest(sums.times(weight / len(some))) <= _SLACK * LARGEST_CONDITION


def hardest_condition(matrix: np.ndarray, outputs: Outputs, alphas: np.ndarray) -> float:
    """Return the condition for the smallest ridge, in the output that it penalizes least."""
    return condition(matrix, float(outputs.penalties(alphas.min()).min()))
