"""Training data of the tabular models: tables as read, and rows with prepared columns."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from .._loops.threads import ordered_map
from ..data import LocalRows, column_keys, row_keys
from ..data.inputs import TableInputs
from ..data.repetitions import EqualRows, different, held_out_size, target_columns
from ..data.tables import Table
from ..data.targets import Labels, Values
from ..data.training import TrainingData
from ..learners.evidence import Evidence
from ..priors import Laplace

# Evidence that chooses between numbers and ranks: a few iterations on some rows.
_RANK_EVIDENCE = Evidence(n_rows=500, n_iterations=10, standardize=False)
# The share of ranks that is tried, and the gain in nats per row that it needs.
_RANKS, _LEAST_GAIN = 0.5, 1e-3


@dataclass(frozen=True, eq=False)
class TableData:
    """A table with its target and weights; ``note`` tells how equal rows were treated."""

    table: Table
    target: Labels | Values
    weights: np.ndarray
    note: str = ""

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, numbers: np.ndarray) -> Self:
        """Return the rows of these sorted numbers."""
        return replace(
            self,
            table=self.table.select(numbers),
            target=self.target.take(numbers),
            weights=self.weights[numbers],
        )

    def merge_equal_rows(self, most_ties: int) -> Self:
        """Keep the first of all equal rows in memory, with their summed weight.

        Ties are merged only if at most ``most_ties`` rows remain and all have the same weight,
        which makes the sums counts.
        """
        equal = self.table.equal_rows(self.target, self.weights)
        if equal is None or len(equal.first) == len(equal.groups):
            return self
        if equal.are_ties and (len(equal.first) > most_ties or np.ptp(self.weights) > 0):
            return self
        first = np.sort(equal.first)
        totals = equal.totals[equal.groups[first]]
        return replace(self.take(first), weights=totals, note=repetition_note(equal))

    def sample(self, n_rows: int, rng: np.random.Generator) -> np.ndarray:
        """Draw sorted numbers of ``n_rows`` rows that have a weight, and of some to hold out."""
        present = np.flatnonzero(self.weights > 0)
        n_drawn = min(n_rows + held_out_size(len(present), 4), len(present))
        return present[np.sort(rng.choice(len(present), n_drawn, replace=False))]


def repetition_note(equal: EqualRows) -> str:
    """Return the treatment of equal rows as the end of a sentence; empty if there are none."""
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


@dataclass(frozen=True, eq=False)
class PreparedData(TrainingData):
    """Rows with prepared columns, their target and weights.

    Parameters
    ----------
    observations : array (n_rows,) or None
        The number of independent observations that each row stands for. One observation is left
        out at a time. None: each row is one observation, and is left out with all its weight.
    numbers : array (n_rows,) or None
        The numbers of the rows in the table.
    """

    numbers: Any = None
    observations: np.ndarray | None = None

    @classmethod
    def merged(
        cls, Z: np.ndarray, target: Labels | Values, weights: np.ndarray, most_ties: int
    ) -> tuple[Self, EqualRows]:
        """Merge copies of a row, and ties if that leaves at most ``most_ties`` rows.

        Weights have mean one, those of merged ties are counts. Rows are sorted by their values, so
        that neither their order nor the way in which repetitions are given changes a model.
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
        merged = LocalRows(Z[rows]), target.take(rows), counts
        return cls(*merged, numbers=rows, observations=observations), equal

    @property
    def Z(self) -> np.ndarray:
        """The prepared columns of rows in memory."""
        rows: Any = self.rows
        return rows.source

    @cached_property
    def outputs(self) -> np.ndarray:
        """Targets of least squares: values, or one-hot labels; of two classes the second alone."""
        return target_outputs(self.target)

    @property
    def row_counts(self) -> np.ndarray:
        """The weights without those of the classes."""
        return self.row_weights if self.counts is None else self.counts

    def take(self, numbers: np.ndarray) -> Self:
        """Return the rows of these numbers, in this order."""
        weights, counts, observations, own = (
            None if column is None else column[numbers]
            for column in (self.weights, self.counts, self.observations, self.numbers)
        )
        rows, target = LocalRows(self.Z[numbers]), self.target.take(numbers)
        return type(self)(rows, target, weights, counts, own, observations=observations)

    def with_costs(self, costs: np.ndarray | None) -> Self:
        """Multiply the weights with the costs of the rows of the table."""
        if costs is None:
            return self
        weights = self.row_weights
        own = costs if self.numbers is None else costs[self.numbers]
        return replace(self, weights=weights * own, counts=weights)

    def without(self, numbers: np.ndarray, *, and_equal: bool) -> Self:
        """Set the weights of some rows, and of all rows equal to these (``and_equal``), to zero."""
        weights = self.row_weights.copy()
        if and_equal:
            keys = row_keys(self.rows)
            weights[np.isin(keys, keys[numbers])] = 0.0
        else:
            weights[numbers] = 0.0
        return replace(self, weights=weights)

    def gather(self) -> Self:
        """Return the rows that have a weight, in memory."""
        kept = np.flatnonzero(self.row_weights > 0)
        rows = LocalRows(self.rows.take(kept))
        return type(self)(rows, self.target.take(kept), self.row_weights[kept])


def target_outputs(target: Labels | Values, dtype: Any = np.float64) -> np.ndarray:
    """Return values as they are, or one-hot labels; of two classes the second alone."""
    if isinstance(target, Values):
        return target.rows
    one_hot = np.eye(len(target.classes), dtype=dtype)
    columns = np.ascontiguousarray(one_hot[:, 1:]) if len(one_hot) == 2 else one_hot
    return columns[target.codes]


@dataclass(frozen=True, eq=False)
class Preparation:
    """The fitted encoder, the rows for exact kernels, and the treatment of equal rows."""

    inputs: TableInputs
    data: PreparedData
    note: str
    are_ties: bool


def prepare_columns(
    inputs: TableInputs, data: TableData, most_rows: int, most_ties: int, rng: np.random.Generator
) -> Preparation:
    """Fit ``inputs``, and prepare all rows, or a sample if there are more than ``most_rows``."""
    numbers, is_sample = np.arange(len(data)), len(data) > most_rows
    if is_sample:
        numbers = data.sample(most_rows, rng)
        data = data.take(numbers)
    X = data.table.take(np.arange(len(data)))
    Z = inputs.fit(X, sample_weight=data.weights).transform(X)
    merged, equal = PreparedData.merged(Z, data.target, data.weights, 0 if is_sample else most_ties)
    table = data.table.select(merged.numbers)
    chosen = choose_rank_encoding(inputs, table, merged, rng)
    if chosen is not inputs:
        Z = chosen.transform(table.take(np.arange(len(merged))))
        merged = replace(merged, rows=LocalRows(Z))
    merged = replace(merged, numbers=numbers[merged.numbers])
    return Preparation(chosen, merged, data.note or repetition_note(equal), equal.are_ties)


def choose_rank_encoding(
    inputs: TableInputs, table: Table, data: PreparedData, rng: np.random.Generator
) -> TableInputs:
    """Return ``inputs``, or a copy that replaces half of each number by its rank.

    The copy is chosen if the evidence of some rows is larger by 0.001 nats per row. ``data`` has
    the rows of ``table`` as prepared by ``inputs``.
    """
    if not any(knots.shape[1] > 2 for knots in inputs.knots_):
        return inputs
    ranked, n_rows, most = copy(inputs).set_params(ranks=_RANKS), len(data), _RANK_EVIDENCE.n_rows
    some = np.arange(n_rows) if n_rows <= most else np.sort(rng.choice(n_rows, most, replace=False))
    target = data.target.take(some)
    values = target.codes if isinstance(target, Labels) else target.rows
    spread = np.ptp(values, axis=0)
    if not np.any(spread > 0):
        return inputs
    if isinstance(target, Values):
        # Rescale first: squares of huge values would overflow.
        scaled = (values - values.min(axis=0)) / np.where(spread > 0, spread, 1.0)
        target = Values.of(scaled)

    def objective(rows):
        return _RANK_EVIDENCE.learn(Laplace(), rows, target, rng, data.row_counts[some]).objective

    plain, other = ordered_map(objective, [data.Z[some], ranked.transform(table.take(some))])
    return ranked if other < plain - _LEAST_GAIN else inputs
