"""Rows before they are learned from: received, taken, equal ones merged, and their numbers as they are or half as ranks."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from .._columns import is_frame
from .._compute import (
    Block,
    FileRows,
    LocalRows,
    RemoteTable,
    Rows,
    entrywise,
    fold,
    gathered,
    mean_rows,
    ordered_map,
    release_scratches,
    scratch,
)
from .._validation import check_weights
from ..evidence import Evidence
from ..inputs import TableInputs
from ..priors import Laplace
from ..repetitions import different, target_columns
from ..targets import Labels, Values

# What the choice between numbers and ranks is made by: a few steps on some rows tell which of the two describes a target better.
_GLANCE = Evidence(n_rows=500, n_iterations=10, standardize=False)
# The share of ranks that is tried, and the nats a row that it must gain.
_RANKS, _CLEARLY = 0.5, 1e-3
# Rows that are prepared at once, and the size up to which all prepared rows are kept in memory, not in a temporary file.
_ROWS_AT_ONCE, _PREPARED_BYTES = 50_000, 2**28


def is_elsewhere(X: Any) -> bool:
    """Whether rows are on a cluster or in a file that is read in pieces: some of them are taken, and sums go over all."""
    return isinstance(X, RemoteTable | FileRows)


def counted_elsewhere(sample_weight: Any, n_rows: int) -> tuple[np.ndarray, Any]:
    """(which rows take part, what each counts): of rows elsewhere, whose weights may be there too; None where each counts as one."""
    weights = check_weights(sample_weight, n_rows, gather=False)
    if weights is None:
        return np.ones(n_rows, dtype=bool), None
    kept = gathered(entrywise(_positive, weights, bool))
    largest = fold(np.max, max, weights)
    # Relative weights, such as some that add up to one.
    return kept, weights if largest >= 1 else entrywise(
        partial(np.multiply, 1 / mean_rows(weights, kept)), weights, np.float64
    )


def _positive(weights):
    return weights > 0


def taken(X: Any, rows: np.ndarray) -> Any:
    """Some rows, as a frame or an array in memory."""
    if is_elsewhere(X):
        return X.take(rows)
    if len(rows) == X.shape[0] and np.array_equal(rows, np.arange(len(rows))):
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


def all_prepared(inputs: TableInputs, X: Any) -> Rows:
    """All rows with their columns prepared, in float32, for many passes: on the cluster where they are, else in memory or a temporary file."""
    n_columns = len(inputs.sources_)
    if isinstance(X, RemoteTable):
        return X.prepared(inputs.transform_part, n_columns)
    Z = scratch((X.shape[0], n_columns), np.float32, _PREPARED_BYTES)
    if isinstance(X, FileRows):

        def fill(block, out):
            out[...] = inputs.transform(block)

        X.map(Block(fill, row_bytes=8 * n_columns), n_columns, out=Z)
        return LocalRows(Z)
    for rows in gen_batches(X.shape[0], _ROWS_AT_ONCE):
        Z[rows] = inputs.transform(taken(X, np.arange(rows.start, rows.stop)))
        release_scratches()
    return LocalRows(Z)
