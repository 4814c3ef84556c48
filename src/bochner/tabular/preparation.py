"""Rows before they are learned from: received, taken, equal ones merged, and their numbers as they
are or half as ranks.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from .._loops.threads import ordered_map
from ..data import LocalRows, RemoteTable, Rows, column_keys, release_scratches, scratch
from ..data.columns import is_frame
from ..data.inputs import TableInputs
from ..data.observations import input_keys
from ..data.repetitions import EqualRows, different, equal_keys, target_columns
from ..data.targets import Labels, Values
from ..learners.evidence import Evidence
from ..priors import Laplace
from .solving import Problem

# What the choice between numbers and ranks is made by: a few steps on some rows tell which of the
# two describes a target better.
_GLANCE = Evidence(n_rows=500, n_iterations=10, standardize=False)
# The share of ranks that is tried, and the nats a row that it must gain.
_RANKS, _CLEARLY = 0.5, 1e-3
# Rows that are prepared at once, and the size up to which all prepared rows are kept in memory, not
# in a temporary file.
_ROWS_AT_ONCE, _PREPARED_BYTES = 50_000, 2**28


def select_rows(X: Any, rows: np.ndarray) -> Any:
    """Return some rows as a frame or an array in memory."""
    if isinstance(X, RemoteTable):
        return X.take(rows)
    if len(rows) == X.shape[0] and np.array_equal(rows, np.arange(len(rows))):
        return X
    if not is_frame(X):
        return X[rows]
    return X.iloc[rows] if type(X).__module__.split(".")[0] == "pandas" else X[rows]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Training rows of a tabular model with their columns prepared; copies of a row are merged.

    ``rows`` are their numbers in X, ``counts`` their weights, of mean one. Ties may be merged, too:
    then ``observations`` and ``counts`` are the number of equal rows. Otherwise ``observations`` is
    None.
    """

    Z: np.ndarray
    rows: np.ndarray
    target: Any
    counts: np.ndarray
    observations: np.ndarray | None

    @classmethod
    def of(
        cls, Z: np.ndarray, target: Labels | Values, weights: np.ndarray, most_ties: int
    ) -> tuple[Prepared, EqualRows]:
        """Merge copies, and ties if that leaves at most ``most_ties`` rows.

        Rows are in the order of their values, so that neither their order nor the way in which
        repetitions are given changes a model.
        """
        first, groups = different(np.column_stack([Z, *target_columns(target)]))
        equal = EqualRows.of(first, groups, column_keys(Z), target, weights)
        observations = None
        if not equal.are_ties:
            rows, counts = first, equal.totals / equal.totals.mean()
        elif len(first) <= most_ties:
            rows, counts = first, equal.totals / equal.unit
            observations = counts
        else:
            rows, counts = np.argsort(groups, kind="stable"), weights / weights.mean()
            counts = counts[rows]
        return cls(Z[rows], rows, target.take(rows), counts, observations), equal

    def take(self, numbers: np.ndarray) -> Prepared:
        """Return some of the rows."""
        observations = None if self.observations is None else self.observations[numbers]
        return Prepared(
            self.Z[numbers],
            self.rows[numbers],
            self.target.take(numbers),
            self.counts[numbers],
            observations,
        )

    def problem(self, Y: np.ndarray, costs: np.ndarray | None = None) -> Problem:
        """Return the least-squares problem of these rows for targets Y."""
        costs = np.ones(len(self.rows)) if costs is None else costs
        return Problem(self.Z, Y, self.counts, costs, self.observations)


def repetition_note(equal: EqualRows) -> str:
    """Return how equal rows were treated, as the end of a sentence; empty if there are none."""
    n_repeated = len(equal.groups) - len(equal.first)
    if not n_repeated:
        return ""
    meaning = (
        "the same inputs occur with different outcomes, so equal rows count as independent "
        "observations"
        if equal.are_ties
        else "copies, which are left out and held out together"
    )
    return f"; {n_repeated} of {len(equal.groups)} rows repeat another row: {meaning}"


def merge_equal_rows(
    X: Any, target: Any, weights: np.ndarray, most_ties: int
) -> tuple[Any, Any, np.ndarray, str]:
    """Keep the first of all equal rows in memory, with their summed weight; also return a note on
    what was merged.

    Ties are merged only if at most ``most_ties`` rows remain and all have the same weight, which
    makes the sums counts.
    """
    equal = equal_keys(input_keys(X), target, weights)
    if equal is None or len(equal.first) == len(equal.groups):
        return X, target, weights, ""
    if equal.are_ties and (len(equal.first) > most_ties or np.ptp(weights) > 0):
        return X, target, weights, ""
    first = np.sort(equal.first)
    totals = equal.totals[equal.groups[first]]
    return select_rows(X, first), target.take(first), totals, repetition_note(equal)


def with_ranks_where_better(
    inputs: TableInputs,
    X: Any,
    Z: np.ndarray,
    target: Labels | Values,
    counts: np.ndarray,
    rng: np.random.Generator,
) -> TableInputs:
    """``inputs``, or the same with half of each number replaced by its rank where the evidence of
    some rows is in favor of it.

    Z are the rows X as prepared by ``inputs``.
    """
    if not any(knots.shape[1] > 2 for knots in inputs.knots_):
        return inputs
    ranked, n_rows = copy(inputs).set_params(ranks=_RANKS), len(Z)
    some = (
        np.arange(n_rows)
        if n_rows <= _GLANCE.n_rows
        else np.sort(rng.choice(n_rows, _GLANCE.n_rows, replace=False))
    )
    seen = target.take(some)
    values = seen.codes if isinstance(seen, Labels) else seen.rows
    if not np.any(np.ptp(values, axis=0) > 0):  # a constant: nothing to tell by
        return inputs
    if isinstance(seen, Values):  # squares of huge numbers are no numbers
        spread = np.ptp(seen.rows, axis=0)
        seen = Values.of((seen.rows - seen.rows.min(axis=0)) / np.where(spread > 0, spread, 1.0))

    def objective(rows):
        return _GLANCE.learn(Laplace(), rows, seen, rng, counts[some]).objective

    plain, other = ordered_map(objective, [Z[some], ranked.transform(select_rows(X, some))])
    return ranked if other < plain - _CLEARLY else inputs


def all_prepared(inputs: TableInputs, X: Any) -> Rows:
    """All rows with their columns prepared, in float32, for many passes: on the cluster where they
    are, else in memory or a temporary file.
    """
    n_columns = len(inputs.sources_)
    if isinstance(X, RemoteTable):
        return X.prepared(inputs.transform_part, n_columns)
    Z = scratch((X.shape[0], n_columns), np.float32, _PREPARED_BYTES)
    for rows in gen_batches(X.shape[0], _ROWS_AT_ONCE):
        Z[rows] = inputs.transform(select_rows(X, np.arange(rows.start, rows.stop)))
        release_scratches()
    return LocalRows(Z)
