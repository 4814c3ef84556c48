"""Rows before they are learned from: taken, equal ones merged, and their numbers as they are or half as ranks."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from .._columns import is_frame
from .._compute import ordered_map
from ..evidence import Evidence
from ..inputs import TableInputs
from ..priors import Laplace
from ..repetitions import different, target_columns
from ..targets import Labels, Values

# What the choice between numbers and ranks is made by: a few steps on some rows tell which of the two describes a target better.
_GLANCE = Evidence(n_rows=500, n_iterations=10, standardize=False)
# The share of ranks that is tried, and the nats a row that it must gain.
_RANKS, _CLEARLY = 0.5, 1e-3


def taken(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a frame or an array."""
    if np.array_equal(rows, np.arange(X.shape[0])):
        return X
    if not is_frame(X):
        return X[rows]
    return X.iloc[rows] if type(X).__module__.split(".")[0] == "pandas" else X[rows]


def merged(Z: np.ndarray, target: Labels | Values, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(one row number for each different row of Z and the target, their counts): equal rows are one row that counts more.

    In the order of their values, so that neither the order of rows nor how repetitions are written changes a model.
    """
    first, places = different(np.column_stack([Z, *target_columns(target)]))
    return first, np.bincount(places, counts)


def with_ranks_where_better(
    inputs: TableInputs, X: Any, Z: np.ndarray, target: Labels | Values, counts: np.ndarray, rng: np.random.Generator
) -> TableInputs:
    """``inputs``, or the same with half of each number replaced by its rank where the evidence of some rows is in favor of it.

    Z are the rows X as prepared by ``inputs``.
    """
    if not any(knots.shape[1] > 2 for knots in inputs.knots_):
        return inputs
    ranked, n_rows = copy(inputs).set_params(ranks=_RANKS), len(Z)
    some = np.arange(n_rows) if n_rows <= _GLANCE.n_rows else np.sort(rng.choice(n_rows, _GLANCE.n_rows, replace=False))
    seen = target.take(some)
    values = seen.codes if isinstance(seen, Labels) else seen.rows
    if not np.any(np.ptp(values, axis=0) > 0):  # a constant: nothing to tell by
        return inputs
    if isinstance(seen, Values):  # squares of huge numbers are no numbers
        spread = np.ptp(seen.rows, axis=0)
        seen = Values.of((seen.rows - seen.rows.min(axis=0)) / np.where(spread > 0, spread, 1.0))

    def objective(rows):
        return _GLANCE.learn(Laplace(), rows, seen, rng, counts[some]).objective

    plain, other = ordered_map(objective, [Z[some], ranked.transform(taken(X, some))])
    return ranked if other < plain - _CLEARLY else inputs
