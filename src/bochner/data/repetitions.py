"""Equal rows: copies of one observation, or independent observations (ties).

Two rows of a table with equal cells and equal targets can mean two things.

*Copies* of one observation: the table was exported twice, rows were oversampled or drawn with
replacement, or a row has a weight above one. A row is then left out together with all its copies
and all its weight. Copies are on the same side of every split. Otherwise a model would be evaluated
on its training rows.

*Ties*: inputs are discrete, so that the same inputs occur many times, with different outcomes.
Equal rows are then independent observations. One observation is left out at a time, and equal rows
may be on both sides of a split. Leaving out all rows of one outcome would leave only the other
outcomes at these inputs.

``EqualRows`` decides which of the two a table has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from .checks import gathered
from .columns import is_frame
from .rows import Block, LocalRows, Rows, as_rows, is_remote
from .targets import Labels, Target, Values

# Equal rows are ties if at least this share of the repeated rows has inputs that also occur with
# another outcome.
_CONTESTED_SHARE = 0.15
# Weights are counts of observations if they are multiples of a common unit, up to this relative
# error.
_ROUNDING = 1e-6
# The smallest unit, relative to the smallest weight.
_SMALLEST_UNIT = 1e-3

# Equal rows are merged in tables of at most this many rows.
FEW_ROWS = 4000
# Held-out rows: one of so many rows, within these limits.
_HELD_OUT_SHARE, _HELD_OUT = 6, (600, 2500)
# Keys have 53 bits, so that they are exact in float64.
_SHIFT = np.uint64(11)
_FOLD = np.uint64(32)
_NAN = np.uint64(0x7FF8000000000000)


def different(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of each distinct row of numbers, and the distinct row of each row.

    Distinct rows are sorted by their values.
    """
    # Adding zero removes negative zeros.
    bits = np.ascontiguousarray(table + 0.0, dtype=np.float64).view(np.int64)
    # Unsigned integers of the same order, whose bytes sort as they do, the highest byte first.
    bits = np.where(bits < 0, ~bits, bits ^ np.int64(np.iinfo(np.int64).min))
    as_bytes = bits.view(np.uint64).astype(">u8").view(f"V{8 * table.shape[1]}").ravel()
    _, first, places = np.unique(as_bytes, return_index=True, return_inverse=True)
    return first, places.ravel()


def target_columns(target: Target | None) -> list[np.ndarray]:
    """Return the columns of a target that distinguish equal rows of different outcome."""
    if target is None:
        return []
    if isinstance(target, Labels):
        return [target.codes]
    return [target.rows if isinstance(target, Values) else target.similarity().factors]


# --- copies or ties -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EqualRows:
    """Groups of rows with equal inputs and equal targets.

    ``groups`` (n_rows,) is the group of each row, ``first`` (n_groups,) its first row, ``totals``
    (n_groups,) its summed weight; ``unit`` is the weight of one observation.
    """

    groups: np.ndarray
    first: np.ndarray
    totals: np.ndarray
    unit: float
    are_ties: bool

    @classmethod
    def of(
        cls,
        first: np.ndarray,
        groups: np.ndarray,
        inputs: np.ndarray,
        target: Target,
        weights: np.ndarray | None = None,
    ) -> EqualRows:
        """Decide whether equal rows are copies or ties.

        Equal rows are ties if the target has few levels, and the inputs of at least 15 % of the
        repeated rows also occur with another outcome. Copies of a row never disagree with it.
        ``inputs`` are keys: equal inputs have equal keys.
        """
        weights = np.ones(len(groups)) if weights is None else weights
        totals = np.bincount(groups, weights, minlength=len(first))
        unit = _observation_weight(totals, weights, is_table_of_counts=len(first) == len(groups))
        repeated = totals > unit * (1 + _ROUNDING)
        _, inputs_of_groups = np.unique(inputs[first], return_inverse=True)
        n_outcomes = np.bincount(inputs_of_groups.ravel(), totals > 0)
        contested = repeated & (n_outcomes[inputs_of_groups.ravel()] > 1)
        few_levels = isinstance(target, Labels) or _n_levels(target, first) <= len(first) / 2
        are_ties = bool(
            repeated.any()
            and few_levels
            and totals[contested].sum() >= _CONTESTED_SHARE * totals[repeated].sum()
        )
        return cls(groups, first, totals, float(unit), are_ties)

    def left_out_weights(self) -> np.ndarray:
        """Return the weight left out with each row: of all its copies, or of one observation."""
        totals = self.totals[self.groups]
        return np.minimum(totals, self.unit) if self.are_ties else totals

    def with_copies(self, numbers: np.ndarray) -> np.ndarray:
        """Return the sorted numbers of these rows and of all their copies."""
        groups = self.split_groups()
        return np.flatnonzero(np.isin(groups, groups[numbers]))

    def split_groups(self) -> np.ndarray:
        """Return a group for each row; rows of one group belong on the same side of a split.

        Ties have a number of their own each, unless one observation weighs more than one row: in a
        table of ties that was exported twice, equal rows go together in pairs.
        """
        if not self.are_ties:
            return self.groups
        sizes = np.bincount(self.groups)
        n_rows, row_weights = len(self.groups), self.totals / sizes
        if self.unit <= row_weights.max() * (1 + _ROUNDING):
            return np.arange(n_rows)
        in_groups = np.argsort(self.groups, kind="stable")
        places = np.empty(n_rows)  # of each row in its group
        places[in_groups] = np.arange(n_rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        observations = np.floor(places * row_weights[self.groups] / self.unit + _ROUNDING)
        keys = column_keys(np.column_stack([self.groups, observations]))
        return np.unique(keys, return_inverse=True)[1].ravel()

    def first_of_copies(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return one for the first row of positive weight among copies, and zero for the others."""
        present = np.arange(len(self.groups)) if weights is None else np.flatnonzero(weights)
        _, first = np.unique(self.split_groups()[present], return_index=True)
        chosen = np.zeros(len(self.groups))
        chosen[present[first]] = 1.0
        return chosen


def equal_rows(rows: Rows | np.ndarray, target: Target, weights: Any = None) -> EqualRows | None:
    """Find equal rows by their keys; None if every row occurs once and all weights are equal.

    The rows are read once. The keys, one number per row, are in memory.
    """
    keys = column_keys(rows) if isinstance(rows, np.ndarray) else row_keys(rows)
    return equal_keys(keys, target, weights)


def equal_keys(
    inputs: np.ndarray, target: Target, weights: np.ndarray | None = None
) -> EqualRows | None:
    """Find equal rows by keys of their inputs, see ``equal_rows``."""
    columns = [np.asarray(column, dtype=np.float64) for column in target_columns(target)]
    keys = column_keys(np.column_stack([inputs, *columns]))
    all_weigh_the_same = weights is None or np.ptp(weights) == 0
    if all_weigh_the_same and not _has_duplicates(keys):
        return None
    _, first, groups = np.unique(keys, return_index=True, return_inverse=True)
    return EqualRows.of(first, groups.ravel(), inputs, target, weights)


def independent_rows(X: Any, y: np.ndarray, *, are_labels: bool) -> tuple[np.ndarray | None, str]:
    """Return the numbers of the independent rows of (X, y), None for all, and a note on copies.

    One row represents all its copies. ``X`` is anything that an estimator may predict on: numbers
    in memory, in files or on Dask, frames, and lists of texts or other objects.
    """
    equal = equal_keys(input_keys(X), _target(y, are_labels))
    if equal is None:
        return None, ""
    return np.sort(np.unique(equal.split_groups(), return_index=True)[1]), repeated_in_words(equal)


def repeated_in_words(equal: EqualRows) -> str:
    """Return a clause on the number of repeated rows."""
    n_rows = len(equal.groups)
    n_repeated = n_rows - len(equal.first)
    meaning = "they count as independent rows" if equal.are_ties else "copies count once"
    return (
        f"{n_repeated} of {n_rows} rows ({n_repeated / n_rows:.0%}) repeat another row; {meaning}"
    )


def _target(y: np.ndarray, are_labels: bool) -> Target:
    if y.dtype.kind in "fiub" and not are_labels:
        return Values(np.reshape(y, (len(y), -1)).astype(np.float64))
    values = y[:, None] if y.ndim == 1 else y
    classes, codes = np.unique([repr(row) for row in values.tolist()], return_inverse=True)
    return Labels(classes, codes.ravel())


def held_out_size(n_rows: int, share: int) -> int:
    """Return the number of held-out rows: a sixth, 600 to 2500, but at most one of ``share``."""
    return min(max(n_rows // _HELD_OUT_SHARE, _HELD_OUT[0]), _HELD_OUT[1], n_rows // share)


def draw_held_out(
    equal: EqualRows | None, n_rows: int, n_held: int, rng: np.random.Generator
) -> np.ndarray:
    """Return sorted numbers of about ``n_held`` random rows; copies are held out together.

    At least one group of copies stays, so that there are training rows.
    """
    if equal is None or equal.are_ties or len(equal.first) < 2:
        return np.sort(rng.permutation(n_rows)[:n_held])
    order = rng.permutation(len(equal.first))
    sizes = np.cumsum(np.bincount(equal.groups)[order])
    n_groups = int(np.clip(np.searchsorted(sizes, n_held, side="right"), 1, len(order) - 1))
    return equal.with_copies(equal.first[order[:n_groups]])


def _has_duplicates(keys):
    in_order = np.sort(keys)
    return bool(np.any(in_order[1:] == in_order[:-1]))


def _n_levels(target, first):
    return len(np.unique(column_keys(np.column_stack(target_columns(target.take(first))))))


def _observation_weight(totals, weights, is_table_of_counts):
    """Return the weight of one observation.

    Rows that are all different have weights that count observations, if these have a common unit:
    3, 6 and 9 are one, two and three observations. Rows that are repeated are one observation each,
    whose weight is the mean weight.
    """
    present = weights[weights > 0]
    unit = _common_unit(totals[totals > 0])
    if unit is None:
        return present.mean()
    return unit if is_table_of_counts else max(unit, present.mean())


def _common_unit(totals):
    """Return the greatest common divisor of positive numbers, None if it is very small.

    >>> float(_common_unit(np.array([1.5, 3.0, 4.5])))
    1.5
    >>> _common_unit(np.array([1.0, np.pi]))
    """
    values = np.unique(totals)
    unit, least = values[0], _SMALLEST_UNIT * values[0]
    for value in values[1:]:
        tolerance = _ROUNDING * unit
        while True:
            rest = value - unit * np.round(value / unit)
            if abs(rest) <= tolerance:
                break
            value, unit = unit, abs(rest)
            if unit < least:
                return None
    return unit


# --- keys: equal rows have equal keys, different rows have different ones, almost surely ----------


def row_keys(rows: Rows) -> np.ndarray:
    """Return one key per row as whole numbers in float64: one pass over the rows.

    Two different rows share a key with probability 2⁻⁵³. Dense and sparse rows, float32 and
    float64, have the same keys for the same numbers; all NaN are equal, and so are 0 and −0.
    """
    block = Block(_keys_block, row_bytes=32 * rows.n_features)
    return rows.values(block, dtype=np.float64)


def column_keys(table: np.ndarray) -> np.ndarray:
    """Return one key per row of an array of numbers, (n_samples, n_columns) or (n_samples,)."""
    table = np.asarray(table)
    keys = np.empty(len(table))
    _keys_block(table.reshape(len(table), -1), out=keys)
    return keys


def _keys_block(X: Any, out: np.ndarray) -> None:
    multipliers = _multipliers(X.shape[1])
    if sp.issparse(X):
        X = X.tocsr()
        # Stored zeros add nothing.
        added = _folded_bits(X.data) * multipliers[X.indices]
        below = np.concatenate([np.zeros(1, np.uint64), np.cumsum(added, dtype=np.uint64)])
        sums = below[X.indptr[1:]] - below[X.indptr[:-1]]
    else:
        sums = _folded_bits(np.asarray(X)) @ multipliers
    out[...] = sums >> _SHIFT


def _folded_bits(numbers):
    """Return the bits of numbers as integers, high bits folded into low ones."""
    numbers = np.ascontiguousarray(numbers, dtype=np.float64) + 0.0  # −0 becomes 0
    bits = numbers.view(np.uint64)
    bits[np.isnan(numbers)] = _NAN
    return bits ^ (bits >> _FOLD)


@cache
def _multipliers(n_columns):
    """Return one odd random number per column."""
    drawn = np.random.default_rng(2009).integers(2**63, size=n_columns, dtype=np.uint64)
    return 2 * drawn + np.uint64(1)


def input_keys(X: Any) -> np.ndarray:
    """Return a number for each row of X; equal rows have equal numbers."""
    if isinstance(X, Rows):
        return row_keys(X)
    if is_remote(X):
        from .dask.inputs import remote_frame

        if remote_frame(X) is None:
            return row_keys(as_rows(X))
        return np.asarray(gathered(X.map_partitions(frame_keys, meta=("keys", np.float64))))
    if is_frame(X):
        is_polars = type(X).__module__.split(".")[0] == "polars"
        return frame_keys(X.to_pandas() if is_polars else X)
    if sp.issparse(X):
        X = X.tocsr().copy()
        X.sum_duplicates()
        return row_keys(LocalRows(X))
    X = np.asarray(X)
    if X.dtype.kind in "fiub":
        return row_keys(LocalRows(X.reshape(len(X), -1)))
    # Texts and other objects have no bits to hash.
    texts = np.array([repr(row) for row in X.tolist()])
    return np.unique(texts, return_inverse=True)[1].ravel().astype(np.float64)


def frame_keys(frame: Any) -> np.ndarray:
    """Return one key per row of a pandas frame, by the values of its columns."""
    keys = np.zeros(len(frame))
    for j in range(frame.shape[1]):
        keys = column_keys(np.column_stack([keys, series_keys(frame.iloc[:, j])]))
    return keys


def series_keys(column: Any) -> np.ndarray:
    """Return one key per value of a pandas series, as whole numbers of 53 bits in float64."""
    import pandas

    try:
        hashes = pandas.util.hash_pandas_object(column, index=False)
    except TypeError:  # lists or other objects without a hash
        hashes = pandas.util.hash_pandas_object(column.map(repr), index=False)
    return (np.asarray(hashes, dtype=np.uint64) >> _SHIFT).astype(np.float64)
