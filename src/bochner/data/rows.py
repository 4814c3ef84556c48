"""Rows of numbers with the operations that algorithms need; each storage is a subclass of ``Rows``.

``rows.sum(block, y)`` is Σ over row blocks of ``block(X_block, y_block)``. The blocks depend only
on the shape of the data, and partial sums are added in row order. So the result does not depend on
the number of threads.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import copy
from functools import partial, reduce
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from .._loops.arrays import add_parts, as_dense, assert_finite, working_dtype
from .._loops.threads import ordered_map
from .batches import BatchPlan, local_batches, shuffled_within, streamed_blocks
from .maps import is_mapped, release_pages

# Bytes of one block of rows at most: input, features and temporary arrays.
BLOCK_BYTES = 32 * 2**20
LARGEST_BLOCK = 4096
SMALLEST_BLOCK = 256
# Smaller arrays are read and written before a second thread would start.
SHARED_BYTES = 2**18


class Block(partial):
    """Partial function of a block of rows that states the temporary bytes it needs per row.

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
    """(n_rows, n_features) real numbers, summed, mapped, selected and shuffled in blocks."""

    source: Any
    block_size: int | str

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    @property
    def n_features(self) -> int:
        return self.shape[1]

    @property
    def dtype(self) -> Any:
        """Dtype of computations: float32 for float32 rows, float64 for all others."""
        return working_dtype(self.source)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def has_cheap_access(self) -> bool:
        """True if some rows can be read for much less than a pass over all rows."""
        return False

    @abstractmethod
    def sum(self, block: Callable, *signals: Any) -> Any:
        """Return Σ over row blocks of ``block(X_block, *signal_blocks)``, added in float64.

        The block function returns an array or a tuple of arrays. ``signals`` have one entry per
        row. The bytes per row of a ``Block`` limit the size of the blocks.
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
        """Return ``block(X_block, *signal_blocks, out=out_block)`` of all blocks.

        The result has shape (n_rows, n_columns), or (n_rows,) for None. It is an array, ``out`` if
        that is given, or a lazy Dask array for rows on Dask.
        """

    def values(
        self, block: Callable, n_columns: int | None = None, *, dtype: Any = None, signals: Any = ()
    ) -> np.ndarray:
        """Return the result of ``map`` as an array in memory."""
        return self.map(block, n_columns, dtype=dtype, signals=signals)

    def persist(self, signal: Any) -> Any:
        """Return a signal for many sums, which Dask sends to the workers once; None stays None."""
        return signal

    @abstractmethod
    def take(self, numbers: np.ndarray) -> Any:
        """Return the rows of these sorted numbers in memory, as an array or a sparse matrix."""

    def in_c_order(self, n_dense: int) -> "Rows":
        """Return rows in memory in C order; up to ``n_dense`` numbers as one dense array.

        Rows on a cluster are returned unchanged.
        """
        return self

    def in_dense_blocks(self, block_size: int) -> "Rows":
        """Return dense rows of this machine in blocks of this size; other rows keep their own."""
        return self

    def small_array(self, n_numbers: int) -> np.ndarray | None:
        """Return the array of the rows if it is in memory and has at most this many numbers."""
        return None

    def room_beside(self, n_bytes: int) -> int:
        """Return how many bytes may be kept in memory for these rows: ``n_bytes``, or their size.

        Zero for rows on a cluster.
        """
        return 0

    @abstractmethod
    def batches(self, size: int, rng: np.random.Generator) -> Iterator[tuple]:
        """Yield (array, positions in it, row numbers): batches in random order, each row once.

        Arrays in memory are shuffled as a whole. Other rows are read in blocks, in random order and
        shuffled within a block; the array is overwritten after its last batch.
        """

    def take_local(self, numbers: np.ndarray) -> Any | None:
        """Return the rows of these sorted numbers if they are on this machine, else None."""
        return None

    def local(self, max_rows: int, refusal: str) -> "LocalRows":
        """Return these rows on this machine.

        Raise ``TypeError(refusal)`` if more than ``max_rows`` rows would have to be moved to it.
        """
        if len(self) > max_rows:
            raise TypeError(refusal)
        return LocalRows(self.take(np.arange(len(self))), self.block_size)

    def epochs(
        self, plan: BatchPlan, excluded: np.ndarray, *signals: Any
    ) -> Callable[[int], Iterator[Callable]]:
        """Return a function that yields the batches of an epoch, given its number.

        A batch is a function of a block function. It returns the sum over its slices of
        ``block(array, places in it, *signal_slices)``, a tuple of arrays. ``excluded`` are sorted
        numbers of rows that are not used.
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
        """Return numbers of at most ``n_rows`` evenly spaced rows of positive weight."""
        if weights is None:
            return spread_places(len(self), n_rows)
        present = np.flatnonzero(weights)
        return present[spread_places(len(present), n_rows)]

    def assert_all_finite(self) -> None:  # noqa: B027 (``as_rows`` has checked local rows)
        """Raise for NaN and infinity in rows that ``as_rows`` has not read yet."""

    def sample(self, n_rows: int) -> Any:
        """Return at most ``n_rows`` evenly spaced rows in memory."""
        return self.take(self.spread(n_rows))

    def in_blocks(self, block_size: int | str) -> Self:
        """Return the same rows with another block size; "auto" follows the memory budget."""
        other = copy(self)
        other.block_size = block_size
        return other


class LocalRows(Rows):
    """Rows of an array, a CSR matrix or a memory map: blocks are shared between threads."""

    def __init__(self, source: Any, block_size: int | str = "auto"):
        self.source, self.block_size = source, block_size

    @property
    def has_cheap_access(self):
        return True

    @property
    def in_memory(self) -> bool:
        """True for an array that is not a memory map."""
        return isinstance(self.source, np.ndarray) and not is_mapped(self.source)

    def sum(self, block, *signals):
        blocks = self._blocks(block)
        if len(blocks) == 1:  # threads would take longer than the sum
            return add_parts(None, self._on_block(block, signals, blocks[0]))
        # Closed explicitly: a traceback could keep the generator, and its threads, alive.
        with closing(ordered_map(partial(self._on_block, block, signals), blocks)) as block_sums:
            return reduce(add_parts, block_sums, None)

    def map(self, block, n_columns=None, *, dtype=None, out=None, signals=()):
        shape = (len(self),) if n_columns is None else (len(self), n_columns)
        if out is None:
            out = np.empty(shape, self.dtype if dtype is None else dtype)
        elif out.shape != shape:
            raise ValueError(f"out has shape {out.shape}, but the result for X needs {shape}.")

        def write(rows):
            block(self._select(rows), *(signal[rows] for signal in signals), out=out[rows])
            release_pages(self.source, rows)
            release_pages(out, rows)

        few = self._row_size() * len(self) + out.nbytes < SHARED_BYTES
        deque((map if few else ordered_map)(write, self._blocks(block)), maxlen=0)
        return out

    def take(self, numbers):
        if not is_mapped(self.source):
            return self.source if len(numbers) == len(self) else self.source[numbers]
        selected = np.empty((len(numbers), self.n_features), self.source.dtype)
        # Only one block of pages is resident at a time.
        for block in blocks_of(len(self), self._row_size()):
            first, last = np.searchsorted(numbers, [block.start, block.stop])
            if first < last:
                selected[first:last] = self.source[numbers[first:last]]
                release_pages(self.source, block)
        return selected

    def in_c_order(self, n_dense):
        few = np.prod(self.shape) <= n_dense
        if not few and not (self.in_memory and not self.source.flags.c_contiguous):
            return self
        points = as_dense(self.take(np.arange(len(self))))
        return LocalRows(np.ascontiguousarray(points, dtype=self.dtype if few else None))

    def in_dense_blocks(self, block_size):
        return self.in_blocks(block_size) if isinstance(self.source, np.ndarray) else self

    def small_array(self, n_numbers):
        few = self.in_memory and self.source.size <= n_numbers
        return self.source if few and self.source.dtype == self.dtype else None

    def room_beside(self, n_bytes):
        own = len(self) * self.n_features * np.dtype(self.dtype).itemsize
        return max(n_bytes, own if self.in_memory else 0)

    def take_local(self, numbers):
        return self.take(numbers)

    def local(self, max_rows, refusal):
        return self

    def batches(self, size, rng):
        if self.in_memory:
            order = rng.permutation(row_numbers(len(self)))
            for start in range(0, len(order), size):
                picked = order[start : start + size].astype(np.intp)
                yield self.source, picked, picked
            return
        for start, block in streamed_blocks(self.source, self._row_size(), rng):
            yield from shuffled_within(start, block, size, rng)

    def epochs(self, plan, excluded, *signals):
        return partial(local_batches, self.source, plan, excluded=excluded, signals=signals)

    def can_keep(self, row_bytes, limit):
        return len(self) * row_bytes <= limit

    def converted(self, write, dtype, limit):
        if not self.in_memory or len(self) * self.n_features * np.dtype(dtype).itemsize > limit:
            return None
        out = np.empty(self.shape, dtype)
        write(np.ascontiguousarray(self.source, dtype=self.dtype), out)
        return LocalRows(out)

    def assert_finite(self, names=None, place="", *, allow_nan=False):
        """Raise for NaN and infinity, block by block to limit the memory of memory maps."""

        def check(rows):
            try:
                assert_finite(self.source[rows], names, rows.start, place, allow_nan)
            finally:
                release_pages(self.source, rows)

        size = self._row_size()
        # Few rows are summed before a second thread would start.
        each = ordered_map if len(self) * size > BLOCK_BYTES else map
        deque(each(check, blocks_of(len(self), size)), maxlen=0)

    def _on_block(self, block, signals, rows):
        result = block(self._select(rows), *(signal[rows] for signal in signals))
        release_pages(self.source, rows)
        parts = result if isinstance(result, tuple) else (result,)
        parts = tuple(np.asarray(part, dtype=np.float64) for part in parts)
        return parts if isinstance(result, tuple) else parts[0]

    def _select(self, rows):
        """Return some rows; all of them without a slice, which is slow for sparse matrices."""
        return self.source if rows == slice(0, len(self)) else self.source[rows]

    def _row_size(self):
        if sp.issparse(self.source):
            return int(12 * self.source.nnz / max(len(self), 1)) + 1
        return self.source.dtype.itemsize * int(np.prod(self.source.shape[1:]))

    def _blocks(self, block):
        """Return slices of rows; few for sparse rows, since each transposes all frequencies."""
        if self.block_size != "auto":
            return blocks_of(len(self), size=int(self.block_size))
        size = self._row_size() + (block.row_bytes if isinstance(block, Block) else 0)
        if sp.issparse(self.source):
            return blocks_of(len(self), size=max(1, min(LARGEST_BLOCK, BLOCK_BYTES // size)))
        return blocks_of(len(self), size)


def blocks_of(n_rows, row_bytes=0, size=None):
    """Return slices that cover ``n_rows``, at most ``BLOCK_BYTES`` each.

    A few blocks are about equal and a multiple of four, to keep cores busy. Many blocks are not
    made equal: a block of a memory map must end at the end of a page, or each block would leave a
    page resident. No rows give one empty block, whose sum is zero.
    """
    if size is None:
        size = max(1, min(LARGEST_BLOCK, BLOCK_BYTES // row_bytes if row_bytes else LARGEST_BLOCK))
        if n_rows < 16 * size:
            n_blocks = 4 * -(-n_rows // (4 * size))
            size = max(-(-n_rows // max(n_blocks, 1)), min(SMALLEST_BLOCK, size))
    return [slice(start, min(start + size, n_rows)) for start in range(0, max(n_rows, 1), size)]


def spread_places(length, count):
    """Return at most ``count`` of 0, …, length − 1, evenly spaced."""
    return np.unique(np.linspace(0, length - 1, min(count, length)).astype(int))


def row_numbers(n_rows):
    """Return 0, …, n_rows − 1 as int32 if possible."""
    return np.arange(n_rows, dtype=np.int32 if n_rows <= np.iinfo(np.int32).max else np.int64)


# --- rows of any input ----------------------------------------------------------------------------


def as_rows(
    X: Any, block_size: int | str = "auto", names: Any = None, *, persist: bool = False
) -> Rows:
    """Return the rows of X, checked for finite numbers; ``Rows`` are returned unchanged.

    ``names`` of the columns are for error messages. Rows that are read several times should
    ``persist`` on the workers.
    """
    if isinstance(X, Rows):
        return X
    if is_remote(X):
        from .dask.rows import DaskRows

        return DaskRows(X, block_size, names, persist=persist)
    if sp.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:  # repeated entries are added up
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.asarray(X)
        if X.dtype.kind not in "fiub":
            X = X.astype(np.float64)
    if X.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional (points, features), got {X.ndim} dimension(s)."
        )
    rows = LocalRows(X, block_size)
    rows.assert_finite(names)
    return rows


def is_remote(X: Any) -> bool:
    """Return True for Dask collections and arrays of zarr, without importing their libraries."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr", "zarr")
