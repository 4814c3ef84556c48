"""Rows: the data at the door, wherever it lives, and what algorithms may ask of it.

``rows.sum(block, y)`` is Σ over row blocks of ``block(X_block, y_block)``. The blocks depend on the
data's shape only and partial sums are added in row order, so the result does not depend on the
number of threads. Nothing above this package asks whether rows are an array, a sparse matrix, a
memory map or a Dask array; another place for rows is another subclass of ``Rows``.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import copy
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from .._loops.arrays import working_dtype
from .._loops.threads import ordered_map
from .batches import BatchPlan, local_batches
from .maps import is_mapped, release_pages

# Memory that one block of rows may take, whatever the number of rows: input, features and
# temporaries.
BLOCK_BYTES = 32 * 2**20
LARGEST_BLOCK = 4096
SMALLEST_BLOCK = 256
# What is read and written for less is done before a second thread has woken up.
SHARED_BYTES = 2**18
# Rows read at once from a memory map or a sparse matrix for batches; shuffled within, in random
# order among themselves.
STREAMED_BYTES = 2**25


class Block(partial):
    """A function of a block of rows, its parameters filled in, that says how many bytes it needs
    for one row beyond the row.

    >>> Block(np.multiply, 2.0, row_bytes=8)(np.arange(3.0))
    array([0., 2., 4.])
    """

    row_bytes: int

    def __new__(
        cls, function: Callable, /, *args: Any, row_bytes: int = 0, **keywords: Any
    ) -> Self:
        block = super().__new__(cls, function, *args, **keywords)
        block.row_bytes = max(int(row_bytes), getattr(function, "row_bytes", 0))
        return block


class Rows(ABC):
    """(n_rows, n_features) real numbers: rows that are summed, mapped, taken and shuffled in
    blocks.
    """

    source: Any
    block_size: int | str
    # Whether the rows are on this machine, in memory or in a file, so that a look at some of them
    # costs little.
    is_local: ClassVar[bool]

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    @property
    def n_features(self) -> int:
        return self.shape[1]

    @property
    def dtype(self) -> Any:
        """In which rows are worked on: float32 stays float32, everything else is float64."""
        return working_dtype(self.source)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def in_memory(self) -> bool:
        """Whether the rows are an array in memory."""
        return False

    @property
    def looks_cost_little(self) -> bool:
        """Whether some rows from all over can be taken for much less than a pass."""
        return self.is_local

    @abstractmethod
    def sum(self, block: Callable, *signals: Any) -> Any:
        """Σ over row blocks of ``block(X_block, *signal_blocks)``, an array or a tuple of arrays,
        added in float64.

        ``signals`` have one entry a row. A ``Block`` says how many bytes it needs for a row, which
        bounds the blocks.
        """

    @abstractmethod
    def map(
        self,
        block: Callable,
        n_columns: int | None = None,
        *,
        dtype: Any = None,
        out: Any = None,
        signals: Any = (),
    ) -> Any:
        """``block(X_block, *signal_blocks, out=out_block)`` for every block, as (n_rows,
        n_columns), or (n_rows,) for None.

        Rows in files and arrays give an array, or fill ``out``; rows on a cluster give what is
        computed there when asked for.
        """

    def values(
        self, block: Callable, n_columns: int | None = None, *, dtype: Any = None, signals: Any = ()
    ) -> np.ndarray:
        """Return what ``map`` computes, always as an array in memory."""
        return self.map(block, n_columns, dtype=dtype, signals=signals)

    def held(self, signal: Any) -> Any:
        """Return a signal to pass to many sums; rows on a cluster send it to the workers once.
        None stays None.
        """
        return signal

    @abstractmethod
    def take(self, numbers: np.ndarray) -> Any:
        """The rows of these sorted numbers, in memory: an array, or a sparse matrix of sparse rows."""

    @abstractmethod
    def batches(
        self, size: int, rng: np.random.Generator, kept: np.ndarray | None = None
    ) -> Iterator[tuple]:
        """(array, positions in it, row numbers): batches of rows in random order, each row once.

        Arrays in memory are shuffled as a whole; what is streamed comes in blocks, in random order
        and shuffled within. The array is overwritten after its last batch. ``kept`` marks the rows
        that take part.
        """

    def epochs(
        self, plan: BatchPlan, apart: np.ndarray, *signals: Any
    ) -> Callable[[int], Iterator[Callable]]:
        """A function that gives the batches of an epoch by its number.

        A batch takes a block function and gives Σ over its slices of ``block(array, places in it,
        *signal_slices)``, a tuple of arrays, computed where the rows are. ``apart`` are sorted
        numbers of rows that take no part.
        """
        raise NotImplementedError(f"{type(self).__name__} has no batches for a descent.")

    def can_keep(self, row_bytes: int, limit: int) -> bool:
        """Return True if so many bytes per row, at most ``limit`` in all, may be kept in memory."""
        return False

    def converted(self, write: Callable, dtype: Any, limit: int) -> Any:
        """Return rows of this dtype that ``write(array, out)`` fills, made once.

        None if the rows are not in memory or the result would have more than ``limit`` bytes.
        """
        return None

    def spread(self, n_rows: int, weights: np.ndarray | None = None) -> np.ndarray:
        """Numbers of at most ``n_rows`` rows, evenly spread over all of them, or over those whose
        weight is not zero.
        """
        if weights is None:
            return spread_places(len(self), n_rows)
        return evenly_spread(np.flatnonzero(weights), n_rows)

    def assert_all_finite(self) -> None:  # noqa: B027 (nothing to do unless rows are read later than ``as_rows``)
        """Raise for NaN and infinity in rows that ``as_rows`` has not checked because reading them
        would be a pass.
        """

    def sample(self, n_rows: int) -> Any:
        """At most ``n_rows`` rows, evenly spread, in memory (for medians and the like)."""
        return self.take(self.spread(n_rows))

    def in_blocks(self, block_size: int | str) -> Self:
        """The same rows, worked on in blocks of this many; ``"auto"`` leaves the choice to the
        memory budget.
        """
        other = copy(self)
        other.block_size = block_size
        return other


class LocalRows(Rows):
    """Rows of an array, a CSR matrix or a memory map: shared between threads, block by block."""

    is_local = True

    def __init__(self, source: Any, block_size: int | str = "auto"):
        self.source, self.block_size = source, block_size

    @property
    def in_memory(self) -> bool:
        return isinstance(self.source, np.ndarray) and not is_mapped(self.source)

    def sum(self, block, *signals):
        total, blocks = None, self._blocks(block)
        if (
            len(blocks) == 1
        ):  # no other thread to ask, which for a thousand rows takes longer than the sum
            return add_parts(total, self._on_block(block, signals, blocks[0]))
        block_sums = ordered_map(partial(self._on_block, block, signals), blocks)
        # Closed even where a traceback would keep it alive: helpers must not wait for a reader who
        # has left.
        with closing(block_sums):
            for part in block_sums:
                total = add_parts(total, part)
        return total

    def map(self, block, n_columns=None, *, dtype=None, out=None, signals=()):
        shape = (len(self),) if n_columns is None else (len(self), n_columns)
        if out is None:
            out = np.empty(shape, self.dtype if dtype is None else dtype)
        elif out.shape != shape:
            raise ValueError(f"out has shape {out.shape}, but the result for X needs {shape}.")

        def write(rows):
            block(self._component(rows), *(signal[rows] for signal in signals), out=out[rows])
            release_pages(self.source, rows)
            release_pages(out, rows)

        few = self._row_size() * len(self) + out.nbytes < SHARED_BYTES
        deque((map if few else ordered_map)(write, self._blocks(block)), maxlen=0)
        return out

    def take(self, numbers):
        if not is_mapped(self.source):
            return self.source if len(numbers) == len(self) else self.source[numbers]
        taken = np.empty((len(numbers), self.n_features), self.source.dtype)
        for block in blocks_of(
            len(self), self._row_size()
        ):  # only one block of pages is resident at a time
            first, last = np.searchsorted(numbers, [block.start, block.stop])
            if first < last:
                taken[first:last] = self.source[numbers[first:last]]
                release_pages(self.source, block)
        return taken

    def batches(self, size, rng, kept=None):
        if self.in_memory:
            order = row_numbers(len(self))
            order = rng.permutation(order if kept is None else order[kept])
            for start in range(0, len(order), size):
                picked = order[start : start + size].astype(np.intp)
                yield self.source, picked, picked
            return
        for start, block in self._streamed(rng):
            yield from shuffled_within(start, block, size, rng, kept)

    def epochs(self, plan, apart, *signals):
        return partial(local_batches, self.source, plan, apart=apart, signals=signals)

    def can_keep(self, row_bytes, limit):
        return len(self) * row_bytes <= limit

    def converted(self, write, dtype, limit):
        if not self.in_memory or len(self) * self.n_features * np.dtype(dtype).itemsize > limit:
            return None
        out = np.empty(self.shape, dtype)
        write(np.ascontiguousarray(self.source, dtype=self.dtype), out)
        return LocalRows(out)

    def assert_finite(self, name="X", names=None, place=""):
        """Reject NaN and infinity block by block: the check of a memory map must not pull the file
        into memory.
        """
        size = self._row_size()
        # What fits into the cache, or nearly, has been summed before a second thread wakes up.
        each = ordered_map if len(self) * size > BLOCK_BYTES else map
        deque(
            each(
                partial(_assert_finite_block, self.source, name, names, place),
                blocks_of(len(self), size),
            ),
            maxlen=0,
        )

    def _on_block(self, block, signals, rows):
        result = block(self._component(rows), *(signal[rows] for signal in signals))
        release_pages(self.source, rows)
        parts = result if isinstance(result, tuple) else (result,)
        parts = tuple(np.asarray(part, dtype=np.float64) for part in parts)
        return parts if isinstance(result, tuple) else parts[0]

    def _component(self, rows):
        """Some rows; all of them as they are, as a slice of a sparse matrix takes longer than a
        small sum.
        """
        return self.source if rows == slice(0, len(self)) else self.source[rows]

    def _row_size(self):
        if sp.issparse(self.source):
            return int(12 * self.source.nnz / max(len(self), 1)) + 1
        return self.source.dtype.itemsize * int(np.prod(self.source.shape[1:]))

    def _blocks(self, block):
        """Of sparse rows as few blocks as memory allows: each turns all frequencies over, which
        costs as much as many rows.
        """
        if self.block_size != "auto":
            return blocks_of(len(self), size=int(self.block_size))
        size = self._row_size() + (block.row_bytes if isinstance(block, Block) else 0)
        if sp.issparse(self.source):
            return blocks_of(len(self), size=max(1, min(LARGEST_BLOCK, BLOCK_BYTES // size)))
        return blocks_of(len(self), size)

    def _streamed(self, rng):
        row_size = self._row_size()
        size = max(256, STREAMED_BYTES // row_size)
        starts = rng.permutation(np.arange(0, len(self), size))
        if sp.issparse(self.source):
            yield from ((int(start), self.source[start : start + size]) for start in starts)
            return
        block = np.empty((min(size, len(self)), self.n_features), self.source.dtype)
        for start in starts:
            filled = block[: min(size, len(self) - start)]
            for part in blocks_of(len(filled), row_size):
                rows = slice(int(start) + part.start, int(start) + part.stop)
                filled[part] = self.source[rows]
                release_pages(self.source, rows)
            yield int(start), filled


def shuffled_within(start, block, size, rng, kept):
    """Batches of one streamed block that begins at row ``start``."""
    picked = np.arange(start, start + block.shape[0])
    if kept is not None:
        picked = picked[kept[picked]]
    picked = rng.permutation(picked)
    for first in range(0, len(picked), size):
        numbers = picked[first : first + size]
        yield block, numbers - start, numbers


def blocks_of(n_rows, row_bytes=0, size=None):
    """Slices covering ``n_rows``, at most ``BLOCK_BYTES`` each; a few are about equal and a
    multiple of four, to keep cores busy.

    Many are not made equal: a block of a memory map must end where a page does, or each would leave
    some behind. No rows are one empty block, whose sum is zero.
    """
    if size is None:
        size = max(1, min(LARGEST_BLOCK, BLOCK_BYTES // row_bytes if row_bytes else LARGEST_BLOCK))
        if n_rows < 16 * size:
            n_blocks = 4 * -(-n_rows // (4 * size))
            size = max(-(-n_rows // max(n_blocks, 1)), min(SMALLEST_BLOCK, size))
    return [slice(start, min(start + size, n_rows)) for start in range(0, max(n_rows, 1), size)]


def evenly_spread(numbers, count):
    """At most ``count`` of the numbers, from the first to the last."""
    return numbers[spread_places(len(numbers), count)]


def spread_places(length, count):
    """At most ``count`` of 0, …, length − 1, evenly spread."""
    return np.unique(np.linspace(0, length - 1, min(count, length)).astype(int))


def row_numbers(n_rows):
    """0, …, n_rows − 1 in half the memory where that is possible."""
    return np.arange(n_rows, dtype=np.int32 if n_rows <= np.iinfo(np.int32).max else np.int64)


def add_parts(total, part):
    """total + part, in place after the first block so that large statistics are not allocated again
    and again.
    """
    if isinstance(part, tuple):
        return tuple(
            add_parts(t, p) for t, p in zip(total or [None] * len(part), part, strict=True)
        )
    if total is None:
        return part.copy()  # never add into memory that the block function may still own
    return np.add(total, part, out=total if total.ndim else None)


def _assert_finite_block(X, name, names, place, rows):
    block = X[rows]
    try:
        assert_finite(block, name, names, first_row=rows.start, place=place)
    finally:
        release_pages(X, rows)


def assert_unmasked(values, name):
    """Refuse masked numbers, which would count as the numbers behind the mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"Input {name} contains masked values, which bochner would have to guess. Fill them "
            f"first, e.g. {name}.filled(0), or leave "
            "their rows out."
        )


def assert_finite(block, name="X", names=None, *, first_row=0, place="", allow_nan=False):
    """Refuse NaN (unless it is allowed) and infinity, naming the first row that holds one and its
    column.
    """
    numbers = block.data if sp.issparse(block) else block
    if numbers.dtype.kind != "f":
        return
    # The sum is finite for almost every finite block and needs no temporary; only then look at each
    # number.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(numbers, dtype=np.float64)):
            return
    wrong = np.isinf(numbers) if allow_nan else ~np.isfinite(numbers)
    if not wrong.any():
        return
    row, column, value = _first(block, wrong)
    kind = "NaN" if np.isnan(value) else "infinity"
    where = f"in row {first_row + row}{place}"
    if column is not None:
        where = f"in column {column if names is None else repr(str(names[column]))}, {where}"
    advice = (
        "impute first, e.g. make_pipeline(SimpleImputer(), ...)"
        if kind == "NaN"
        else "replace or clip it first"
    )
    raise ValueError(
        f"Input {name} contains {kind}: first {where}, counted from 0. bochner needs finite "
        f"numbers: {advice}."
    )


def _first(block, wrong):
    """Row, column and value of the first wrong number; a vector has no column."""
    if not sp.issparse(block):
        place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        return int(place[0]), int(place[1]) if len(place) > 1 else None, block[place]
    entries = block.tocoo()
    k = np.flatnonzero(wrong)[0]
    return int(entries.row[k]), int(entries.col[k]), entries.data[k]
