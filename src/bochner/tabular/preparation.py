"""Training data of the tabular models: tables as read, and rows with prepared columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..data import column_keys
from ..data.inputs import TableInputs
from ..data.repetitions import EqualRows, different, equal_rows, target_columns
from ..data.tables import LocalTable, Table
from ..data.targets import Labels, Values
from ..priors import SpectralPrior, WithCategories

# Levels above which a category has one factor of the kernel instead of a column for each level.
CODE_LEVELS = 20
# Rows of a large table from which its columns are prepared and its priors learned.
_SAMPLE_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class TableData:
    """A table with its target and weights; ``note`` states how equal rows were treated."""

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
        """Keep the first of all equal rows in memory, with the sum of their weights.

        Ties are merged only if at most ``most_ties`` rows remain and all weights are equal. The
        sums are then counts.
        """
        equal = self.table.equal_rows(self.target, self.weights)
        if equal is None or len(equal.first) == len(equal.groups):
            return self
        if equal.are_ties and (len(equal.first) > most_ties or np.ptp(self.weights) > 0):
            return self
        first = np.sort(equal.first)
        totals = equal.totals[equal.groups[first]]
        return replace(self.take(first), weights=totals, note=repetition_note(equal))


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
class PreparedData:
    """Rows with prepared columns in memory, their target and weights.

    Parameters
    ----------
    Z : array (n_rows, n_columns)
        The prepared columns.
    target : Labels or Values
    row_weights : array (n_rows,)
    row_counts : array (n_rows,)
        The weights without those of the classes; None if these are ``row_weights``.
    numbers : array (n_rows,) or None
        The numbers of the rows in the table.
    observations : array (n_rows,) or None
        The number of independent observations that each row stands for. One observation is left
        out at a time. None: each row is one observation, and is left out with all its weight.
    """

    Z: np.ndarray
    target: Any
    row_weights: np.ndarray
    row_counts: Any = None
    numbers: Any = None
    observations: np.ndarray | None = None

    def __post_init__(self) -> None:
        # A read-only array is shared by all members of a leaf, and a model file stores it once.
        if self.Z.flags.writeable:
            object.__setattr__(self, "Z", self.Z.view())
            self.Z.flags.writeable = False
        if self.row_counts is None:
            object.__setattr__(self, "row_counts", self.row_weights)

    def __len__(self) -> int:
        return len(self.Z)

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
        merged = cls(Z[rows], target.take(rows), counts, numbers=rows, observations=observations)
        return merged, equal

    @cached_property
    def outputs(self) -> np.ndarray:
        """Targets of least squares: values, or one-hot labels (for two classes the second one)."""
        if isinstance(self.target, Values):
            return self.target.rows
        columns = self.target.one_hot(np.float64)
        return np.ascontiguousarray(columns[:, 1:]) if columns.shape[1] == 2 else columns

    def take(self, numbers: np.ndarray) -> Self:
        """Return the rows of these numbers, in this order."""
        columns: dict[str, Any] = {
            name: None if (column := getattr(self, name)) is None else column[numbers]
            for name in ("Z", "row_weights", "row_counts", "numbers", "observations")
        }
        return type(self)(target=self.target.take(numbers), **columns)


@dataclass(frozen=True, eq=False)
class Preparation:
    """The fitted encoder, the rows to learn from, and the treatment of equal rows.

    ``data`` has all rows or a sample of them, and ``table`` the same rows as they were given.
    """

    inputs: TableInputs
    data: PreparedData
    table: LocalTable
    note: str


def prepare_columns(
    categorical_features: Any,
    data: TableData,
    is_large: bool,
    most_ties: int,
    rng: np.random.Generator,
    priors: tuple[SpectralPrior, ...],
) -> Preparation:
    """Fit an encoder, and prepare all rows, or at most 50 000 of a large table.

    Categories with many levels are codes if all priors can have a factor for them.
    """
    numbers = np.arange(len(data))
    if is_large:
        present = np.flatnonzero(data.weights > 0)
        n_drawn = min(_SAMPLE_ROWS, len(present))
        numbers = present[np.sort(rng.choice(len(present), n_drawn, replace=False))]
        data = data.take(numbers)
    X = data.table.take(np.arange(len(data)))
    code_levels = CODE_LEVELS if all(one.has_column_factors for one in priors) else None
    inputs = TableInputs(categorical_features, code_levels=code_levels)
    Z = inputs.fit(X, sample_weight=data.weights).transform(X)
    merged, equal = PreparedData.merged(Z, data.target, data.weights, 0 if is_large else most_ties)
    table = LocalTable(X).select(merged.numbers)
    merged = replace(merged, numbers=numbers[merged.numbers])
    return Preparation(inputs, merged, table, data.note or repetition_note(equal))


def with_codes(priors: tuple[SpectralPrior, ...], inputs: TableInputs) -> tuple[SpectralPrior, ...]:
    """Return the priors with a factor for each prepared column of codes."""
    codes = tuple(inputs.code_columns_.tolist())
    return tuple(WithCategories(prior, codes) for prior in priors) if codes else priors


def prepare_all_rows(data: TableData, inputs: TableInputs) -> tuple[PreparedData, str]:
    """Prepare all rows with a weight in float32, without copies, and return a note on these."""
    rows = data.table.prepared(inputs)
    weights, kept, note = data.weights, np.flatnonzero(data.weights > 0), ""
    equal = equal_rows(rows, data.target, weights)
    if equal is not None and not equal.are_ties:
        kept = np.sort(equal.first)
        weights = np.zeros(len(data))
        weights[kept] = equal.totals[equal.groups[kept]]
        kept, note = kept[weights[kept] > 0], repetition_note(equal)
    Z = rows.source if len(kept) == len(data) else rows.take(kept)
    weights = weights[kept] / weights[kept].mean()
    return PreparedData(Z, data.target.take(kept), weights, numbers=kept), note
