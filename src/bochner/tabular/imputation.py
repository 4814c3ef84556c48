"""Means of predictions over plausible values of cells that are missing or unknown in new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

import numpy as np
from scipy.special import logsumexp

from .neighbors import Neighbors

# Training rows over whose cells a prediction is averaged.
N_DONORS = 16
# Rows whose cells are replaced at once.
_ROWS_AT_ONCE = 256

Function = Callable[[np.ndarray], np.ndarray]

_fills: ContextVar[bool] = ContextVar("cells are filled", default=False)


@contextmanager
def filled_cells() -> Iterator[None]:
    """Predict inside the block as ONNX graphs do: medians in place of averages over donors."""
    token = _fills.set(True)
    try:
        yield
    finally:
        _fills.reset(token)


def count_marks(Z: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Return the number of marked cells in each row, (n_samples, 1)."""
    return np.count_nonzero(marks, axis=1)[:, None]


def donors(
    neighbors: Neighbors, Z: np.ndarray, marks: np.ndarray, ignored: Sequence[int] = ()
) -> np.ndarray:
    """Return the numbers of the kept rows nearest in all unmarked cells, (n_donors, n_samples).

    The columns ``ignored`` of the table do not count: donors do not depend on them.
    """
    left_out = marks != 0
    left_out[:, list(ignored)] = True
    distances = neighbors.distances(Z, left_out)
    n_donors = min(N_DONORS, len(neighbors))
    # Kept rows are in random order, so equal distances are chosen from at random.
    return np.argpartition(distances, n_donors - 1, axis=1)[:, :n_donors].T


def completed_rows(
    neighbors: Neighbors, Z: np.ndarray, marks: np.ndarray, ignored: Sequence[int] = ()
) -> np.ndarray:
    """Return rows Z with the marked cells of each donor, (n_donors, n_samples, n_columns).

    All marked cells of a row come from the same donor.
    """
    numbers = donors(neighbors, Z, marks, ignored)
    return np.where(marks[:, neighbors.sources] != 0, neighbors.Z[numbers], Z)


def by_donor(function: Function, rows: np.ndarray) -> np.ndarray:
    """Return ``function`` of completed rows, (n_donors, n_samples, n_results)."""
    return function(rows.reshape(-1, rows.shape[2])).reshape(*rows.shape[:2], -1)


def mean_over_donors(function: Function, rows: np.ndarray) -> np.ndarray:
    """Return the mean of ``function`` over donors, (n_samples, n_results)."""
    return by_donor(function, rows).mean(axis=0)


def deviation_over_donors(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation of (n_donors, n_samples, n_results) over donors."""
    return values.std(axis=0, ddof=min(1, len(values) - 1))


def log_mean_over_donors(log_function: Function, rows: np.ndarray) -> np.ndarray:
    """Return the logarithm of the mean of exp(``log_function``) over donors."""
    return logsumexp(by_donor(log_function, rows), axis=0) - np.log(len(rows))


def integrated(
    neighbors: Neighbors,
    function: Function,
    of_completed: Function,
    ignored: Sequence[int] = (),
) -> Callable:
    """Return a function of prepared rows Z and marks, for ``map_prepared``.

    It returns ``function(Z)``, but for rows with marked cells ``of_completed`` of their
    ``completed_rows``. So incomplete rows of a table do not change the values of its other rows.
    Donors do not depend on the columns ``ignored`` of the table.
    """
    if _fills.get():
        return lambda Z, marks: function(Z)
    return partial(_integrate, neighbors, function, of_completed, ignored)


def _integrate(neighbors, function, of_completed, ignored, Z, marks):
    values, incomplete = function(Z), np.flatnonzero(marks.any(axis=1))
    for start in range(0, len(incomplete), _ROWS_AT_ONCE):
        rows = incomplete[start : start + _ROWS_AT_ONCE]
        values[rows] = of_completed(completed_rows(neighbors, Z[rows], marks[rows], ignored))
    return values
