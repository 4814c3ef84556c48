"""Training data: rows, target and weights, which ``fit`` reads once and passes on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .._loops.arrays import as_dense
from . import repetitions
from .checks import check_weights
from .repetitions import EqualRows, different, equal_rows, target_columns
from .rows import LocalRows, Rows
from .targets import Labels, Target, Values

# Equal rows are merged in tables of at most this many numbers.
_MOST_COMPARED = 2**24
# A row that counts more often than this is split into this many copies.
_MOST_COPIES = 4000


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows with their target and weights.

    Rows may be on Dask or in a memory map; target and weights are always in memory.

    Parameters
    ----------
    rows : Rows
    target : Target or None
        None if there is no y.
    weights : array (n_rows,) or None
        None if every row counts once.
    counts : array (n_rows,) or None
        The weights without those of the classes; None if these are ``weights``.
    numbers : array (n_rows,) or None
        Set by ``distinct``: the number of each row among the original rows. None if rows are the
        original ones.
    places : array (n_original_rows,) or None
        Set by ``distinct``: the row that represents each original row, −1 if its weight is zero.
        None if rows are the original ones.
    units : array (n_rows,) or None
        The weight that leave-one-out leaves out with each row; None if this is all its weight.
    groups : array (n_rows,) or None
        Rows with the same number are left out together; None if each row is left out alone.
    """

    rows: Rows
    target: Any = None
    weights: np.ndarray | None = None
    counts: np.ndarray | None = None
    numbers: np.ndarray | None = None
    places: np.ndarray | None = None
    units: np.ndarray | None = None
    groups: np.ndarray | None = None

    @classmethod
    def of_labels(
        cls, rows: Rows, y: Any, sample_weight: Any, class_weight: Any = None, *, owner: str
    ) -> Self:
        """Read the labels of a classifier; weights are multiplied with those of the classes."""
        labels, weights = Labels.weighted(y, len(rows), sample_weight, class_weight, owner=owner)
        counts = None if class_weight is None else check_weights(sample_weight, len(rows))
        return cls(rows, labels, weights, counts)

    @classmethod
    def of_outputs(cls, rows: Rows, target: Values, weights: np.ndarray | None) -> Self:
        """Read outputs that may be missing; a row without any output has weight zero."""
        missing = np.isnan(target.rows)
        if not missing.any():
            return cls(rows, target, weights)
        empty = missing.all(axis=1)
        if weights is not None or empty.any():
            weights = np.where(empty, 0.0, 1.0 if weights is None else weights)
        counted = np.ones(len(missing)) if weights is None else weights
        unseen = np.flatnonzero(counted @ ~missing == 0)
        if len(unseen):
            raise ValueError(
                f"Column {unseen[0]} of y has no observed value, only NaN. Leave the column out."
            )
        # Rows without weight are not used, but zero times NaN would be NaN.
        values = np.where(missing & (counted == 0)[:, None], 0.0, target.rows)
        return cls(rows, replace(target, rows=values), weights)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def row_weights(self) -> np.ndarray:
        """Weights of the rows, ones if every row counts once."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def take(self, numbers: np.ndarray) -> TrainingData:
        """Return the rows of these sorted numbers, in memory."""
        rows = LocalRows(self.rows.take(numbers), self.rows.block_size)
        target = None if self.target is None else self.target.take(numbers)
        columns = {
            name: None if (column := getattr(self, name)) is None else column[numbers]
            for name in ("weights", "counts", "units", "groups")
        }
        return TrainingData(rows, target, **columns)

    def equal_rows(self) -> EqualRows | None:
        """Return groups of equal rows with equal targets, or None if all rows are different."""
        target: Target = self.target
        return equal_rows(self.rows, target, self.weights if self.counts is None else self.counts)

    def distinct(self, *, in_order: bool = False) -> TrainingData:
        """Merge equal rows of equal target into one row with their summed weight.

        Algorithms that draw rows, or amplify rounding over many rounds, would otherwise give
        different models for weights and for repeated rows. Merged rows are sorted by their values,
        and rows of zero weight are dropped. Rows that are all different and have weight one keep
        their order, unless ``in_order`` is true. Large tables are returned unchanged.
        """
        n_rows = len(self)
        if n_rows > repetitions.FEW_ROWS or n_rows * self.rows.n_features > _MOST_COMPARED:
            return self
        points = self.rows.take(np.arange(n_rows))
        first, places = different(np.column_stack([as_dense(points), *target_columns(self.target)]))
        totals = np.bincount(places, self.weights).astype(np.float64)
        if not in_order and len(first) == n_rows and np.all(totals == 1):
            rows = self.rows if isinstance(self.rows, LocalRows) else LocalRows(points)
            return replace(self, rows=rows, weights=None)
        present = totals > 0
        counts = None if self.counts is None else np.bincount(places, self.counts)[present]
        numbers, places = first[present], np.where(present, np.cumsum(present) - 1, -1)[places]
        target = None if self.target is None else self.target.take(numbers)
        rows = LocalRows(points[numbers])
        return TrainingData(rows, target, totals[present], counts, numbers, places)

    def original_numbers(self, numbers: np.ndarray) -> np.ndarray:
        """Return the original numbers of some rows of ``distinct``."""
        return numbers if self.numbers is None else self.numbers[numbers]

    def for_original_rows(self, values: np.ndarray) -> np.ndarray:
        """Return the values of rows of ``distinct`` for all original rows, zero for zero weight."""
        if self.places is None:
            return values
        return np.concatenate([values, np.zeros_like(values[:1])])[self.places]

    def with_copies(self) -> Self:
        """Find equal rows, so that leave-one-out leaves out copies together, see ``EqualRows``."""
        equal = self.equal_rows()
        if equal is None:
            return self
        if not equal.are_ties:
            return replace(self, groups=equal.groups)
        units = equal.left_out_weights()
        if self.counts is not None:
            # A row is left out with the whole weight of its class.
            units = units * self.weights / np.maximum(self.counts, np.finfo(float).tiny)
        return replace(self, units=units)

    @property
    def signals(self) -> list[np.ndarray]:
        """Values and, if there are any, weights: the columns of a sum over rows."""
        values = self.target.rows
        return [values] if self.weights is None else [values, self.weights]

    def left_out_weights(self) -> np.ndarray | None:
        """Return the weight that is left out with each row; None if it is that of the row."""
        if self.groups is None:
            return self.units
        units = self.weights if self.units is None else self.units
        return np.bincount(self.groups, units)[self.groups].astype(np.float64)

    def mean_left_out_weight(self) -> float:
        """Return the weighted mean of the weight that is left out with each row."""
        left_out = self.left_out_weights()
        left_out = self.weights if left_out is None else left_out
        return 1.0 if left_out is None else float(np.average(left_out, weights=self.weights))


def without_repetitions(
    rows: Rows, target: Target | None, weights: np.ndarray | None, *, in_order: bool = False
) -> TrainingData:
    """Merge equal rows, see ``TrainingData.distinct``."""
    return TrainingData(rows, target, weights).distinct(in_order=in_order)


# --- random splits --------------------------------------------------------------------------------


def members(
    codes: np.ndarray | None, n_codes: int, n_rows: int, weights: np.ndarray | None
) -> list[np.ndarray]:
    """Return the sorted numbers of the rows of positive weight, one array for each code."""
    order = np.arange(n_rows) if codes is None else np.argsort(codes, kind="stable")
    if weights is not None:
        order = order[weights[order] > 0]
    if codes is None:
        return [order]
    return np.split(order, np.cumsum(np.bincount(codes[order], minlength=n_codes))[:-1])


def split_counts(
    counts: np.ndarray, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Split counts at random into two parts, the first with about this share.

    A row that counts several times is split into as many copies, of which the last may be a part of
    one. Each copy draws a random number, and the copies of the smallest numbers are the first part.
    """
    copies = np.minimum(np.ceil(counts), _MOST_COPIES).astype(int)
    numbers = np.random.Generator(np.random.PCG64(int(rng.integers(2**63)))).random(copies.sum())
    n_first = min(max(int(share * len(numbers)), 1), len(numbers) - 1)
    is_first = np.zeros(len(numbers), bool)
    is_first[np.argpartition(numbers, n_first)[:n_first]] = True
    below = np.concatenate([[0], np.cumsum(is_first)])
    stops = np.cumsum(copies)
    first = below[stops] - below[stops - copies]
    size = counts / np.maximum(copies, 1)
    return first * size, (copies - first) * size


def split_observations(
    counts: Any, equal: EqualRows | None, is_merged: bool, share: float, rng: np.random.Generator
) -> tuple[Any, Any, Any]:
    """Split rows at random into two parts, with all copies of a row in the same part.

    Parameters
    ----------
    counts : array (n_rows,)
        How often each row counts while a model is fitted.
    equal : EqualRows or None
        Equal rows of the table as it was given, see ``equal_rows``.
    is_merged : bool
        True if equal rows have been merged into one row since then, with their summed count.
    share : float
        Share of the observations in the first part.
    rng : Generator

    Returns
    -------
    first, second : how often each row counts in either part while a model is fitted
    observations : how many independent observations of the second part each row stands for
    """
    if equal is not None and not is_merged:
        _, rows, groups = np.unique(equal.split_groups(), return_index=True, return_inverse=True)
        groups = groups.ravel()
        first, second = split_counts(np.sign(np.bincount(groups, counts)), share, rng)
        observations = np.zeros(len(counts))
        observations[rows] = second
        return first[groups] * counts, second[groups] * counts, observations
    if equal is not None and equal.are_ties:
        first, second = split_counts(counts / equal.unit, share, rng)
        return first * equal.unit, second * equal.unit, second
    first, second = split_counts(np.sign(counts), share, rng)
    return first * counts, second * counts, second
