"""Where rows are: in an array, a memory map, a sparse matrix or a Dask array; and how sums over them are taken.

``row_sum(block_function, X, y)`` is Σ over row blocks of ``block_function(X_block, y_block)``.  The blocks depend on the
data's shape only and partial sums are added in row order, so the result does not depend on the number of threads.
"""

import mmap
from collections import deque
from contextlib import closing, contextmanager
from contextvars import ContextVar
from functools import partial

import numpy as np
import scipy.sparse as sp

from .threads import ordered_map

# Memory that one block of rows may take, whatever the number of rows: input, features and temporaries.
BLOCK_BYTES = 32 * 2**20
LARGEST_BLOCK = 4096
# What is read and written for less is done before a second thread has woken up.
SHARED_BYTES = 2**18
SMALLEST_BLOCK = 256

_requested_block_size: ContextVar[int | None] = ContextVar("block_size", default=None)


@contextmanager
def row_block_size(block_size):
    """Within this context rows come in blocks of ``block_size``; ``"auto"`` leaves the choice to the memory budget."""
    token = _requested_block_size.set(None if block_size == "auto" else int(block_size))
    try:
        yield
    finally:
        _requested_block_size.reset(token)


def blocks_of(n_rows, row_bytes=0):
    """Slices covering ``n_rows``, at most ``BLOCK_BYTES`` each; a few are about equal and a multiple of four, to keep cores busy.

    Many are not made equal: a block of a memory map must end where a page does, or each would leave some behind.
    """
    size = _requested_block_size.get()
    if size is None:
        size = max(1, min(LARGEST_BLOCK, BLOCK_BYTES // row_bytes if row_bytes else LARGEST_BLOCK))
        if n_rows < 16 * size:
            n_blocks = 4 * -(-n_rows // (4 * size))
            size = max(-(-n_rows // max(n_blocks, 1)), min(SMALLEST_BLOCK, size))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def _blocks_of_rows(X, row_bytes):
    """Blocks of X; of sparse rows as few as memory allows: a block turns all frequencies over, which costs as much as many rows."""
    if sp.issparse(X) and _requested_block_size.get() is None:
        with row_block_size(max(1, min(LARGEST_BLOCK, BLOCK_BYTES // (row_bytes + _bytes_per_row(X))))):
            return blocks_of(X.shape[0])
    return blocks_of(X.shape[0], row_bytes + _bytes_per_row(X))


def row_sum(block_function, X, *signals, row_bytes=0):
    """Σ over row blocks of ``block_function(X_block, *signal_blocks)``, added in float64.

    ``block_function`` returns an array or a tuple of arrays.  ``row_bytes`` is the memory it needs for one row beyond
    the row itself; it bounds the block size.  With a Dask array the function runs on the partitions, where they are;
    partial sums are reduced as a tree and only the result travels.
    """
    if is_dask(X):
        return _dask_row_sum(block_function, X, signals, row_bytes)
    total = None
    block_sums = ordered_map(partial(_on_block, block_function, X, signals), _blocks_of_rows(X, row_bytes))
    # Closed even where a traceback would keep it alive: helpers must not wait for a reader who has left.
    with closing(block_sums):
        for part in block_sums:
            total = _add(total, part)
    return total


def row_map(block_function, X, out, row_bytes=0):
    """out[block] = block_function(X[block], out=out[block]) for every block of rows, in parallel; returns ``out``."""

    def write(rows):
        block_function(X[rows], out=out[rows])
        _release_pages(X, rows)
        _release_pages(out, rows)

    few = _bytes_per_row(X) * X.shape[0] + out.nbytes < SHARED_BYTES
    deque((map if few else ordered_map)(write, _blocks_of_rows(X, row_bytes)), maxlen=0)
    return out


def _on_block(block_function, X, signals, rows):
    result = block_function(X[rows], *(signal[rows] for signal in signals))
    _release_pages(X, rows)
    parts = result if isinstance(result, tuple) else (result,)
    parts = tuple(np.asarray(part, dtype=np.float64) for part in parts)
    return parts if isinstance(result, tuple) else parts[0]


def _add(total, part):
    """total + part, in place after the first block so that large statistics are not allocated again and again."""
    if isinstance(part, tuple):
        return tuple(_add(t, p) for t, p in zip(total or [None] * len(part), part, strict=True))
    if total is None:
        return part.copy()  # never add into memory that the block function may still own
    return np.add(total, part, out=total if total.ndim else None)


def _bytes_per_row(X):
    if sp.issparse(X):
        return int(12 * X.nnz / max(X.shape[0], 1)) + 1
    return X.dtype.itemsize * int(np.prod(X.shape[1:]))


# --- finite numbers -------------------------------------------------------------------------------------------------


def assert_finite(X, name="X"):
    """Reject NaN and infinity block by block: the check of a memory map must not pull the file into memory."""
    if is_dask(X):
        return  # each partition is checked where it lives, see _partition_sum

    blocks = blocks_of(X.shape[0], _bytes_per_row(X))
    # What fits into the cache, or nearly, has been summed before a second thread wakes up.
    each = ordered_map if X.shape[0] * _bytes_per_row(X) > BLOCK_BYTES else map
    deque(each(partial(_assert_finite_block, X, name=name), blocks), maxlen=0)


def _assert_finite_block(X, rows, name):
    block = X[rows].data if sp.issparse(X) else X[rows]
    # The sum is finite for almost every finite block and needs no temporary; only then look at each number.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(np.sum(block, dtype=np.float64)) or np.isfinite(block).all()
    _release_pages(X, rows)
    if not finite:
        raise ValueError(
            f"Input {name} contains NaN or infinity (between rows {rows.start} and {rows.stop - 1}). bochner needs "
            "finite numbers: impute them first, e.g. make_pipeline(SimpleImputer(), ...)."
        )


# --- memory maps ----------------------------------------------------------------------------------------------------


def _release_pages(array, rows):
    """Give back the resident pages of a memory-mapped block; its content stays in the file and its cache.

    Without this the pages of a file larger than memory count as ours until the system runs short.
    """
    owner = array
    while isinstance(owner, np.ndarray) and not isinstance(owner, np.memmap):
        owner = owner.base
    # Copy-on-write maps (mode "c") hold changes that exist nowhere else: never drop those.
    if not isinstance(owner, np.memmap) or owner.mode == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return
    block = array[rows]
    mapping = owner._mmap
    if mapping is None or not block.flags.c_contiguous or block.nbytes == 0:
        return
    start = block.ctypes.data - np.frombuffer(mapping, dtype=np.uint8).ctypes.data
    first_page = start // mmap.PAGESIZE * mmap.PAGESIZE
    mapping.madvise(mmap.MADV_DONTNEED, first_page, start + block.nbytes - first_page)


# --- Dask -----------------------------------------------------------------------------------------------------------


def is_dask(X):
    """Whether X is a Dask collection; asked without importing Dask."""
    return type(X).__module__.split(".")[0] == "dask"


def compute_rows(X, n_rows):
    """At most ``n_rows`` rows of X, evenly spread, as an array in memory (for medians and the like)."""
    picked = X[np.unique(np.linspace(0, X.shape[0] - 1, min(n_rows, X.shape[0])).astype(int))]
    return picked.compute() if is_dask(X) else picked


def _partition_sum(block_function, row_bytes, block_size, X, *signals):
    with row_block_size(block_size):
        X = X if sp.issparse(X) else np.asarray(X)
        assert_finite(X)
        return row_sum(block_function, X, *signals, row_bytes=row_bytes)


def _dask_row_sum(block_function, X, signals, row_bytes):
    import dask

    if any(np.isnan(X.chunks[0])):
        raise ValueError(
            "The Dask array has partitions of unknown length; row sums pair rows of X with rows of y. "
            "Call X.compute_chunk_sizes() first."
        )
    if X.ndim > 1 and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    partitions = X.to_delayed().ravel()
    stops = np.cumsum(X.chunks[0])
    columns = []
    for signal in signals:
        if is_dask(signal):
            chunks = {0: X.chunks[0]} | dict.fromkeys(range(1, signal.ndim), -1)
            columns.append(signal.rechunk(chunks).to_delayed().ravel())
        else:
            columns.append([signal[stop - size : stop] for stop, size in zip(stops, X.chunks[0], strict=True)])
    # One delayed object for the function: its frequencies travel to a worker once, not with every task.
    function = dask.delayed(partial(_partition_sum, block_function, row_bytes, _requested_block_size.get() or "auto"))
    sums = [function(*parts) for parts in zip(partitions, *columns, strict=True)]
    add = dask.delayed(_pure_add)
    while len(sums) > 1:
        pairs = [add(*sums[i : i + 2]) if i + 1 < len(sums) else sums[i] for i in range(0, len(sums), 2)]
        sums = pairs
    return dask.compute(sums[0])[0]


def _pure_add(left, right):
    if isinstance(left, tuple):
        return tuple(a + b for a, b in zip(left, right, strict=True))
    return left + right
