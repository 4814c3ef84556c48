"""Rows in random order, and some of them: whole arrays in memory, block by block from files and clusters."""

import numpy as np
import scipy.sparse as sp

from .rows import _bytes_per_row, _release_pages, blocks_of, is_dask

# Rows read at once from a memory map, a sparse matrix or a Dask array; shuffled within, in random order among themselves.
STREAMED_BYTES = 2**25


def is_mapped(X):
    """Whether X is a view of a file; scikit-learn's checks hide the map behind a plain array."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False


def row_numbers(n_rows):
    """0, …, n_rows − 1 in half the memory where that is possible."""
    return np.arange(n_rows, dtype=np.int32 if n_rows <= np.iinfo(np.int32).max else np.int64)


def take_rows(X, rows):
    """X[rows] for sorted row numbers, in memory; of a memory map only one block of pages is resident at a time."""
    if is_dask(X):
        return X[rows].compute()
    if not is_mapped(X):
        return X if len(rows) == X.shape[0] else X[rows]
    taken = np.empty((len(rows), X.shape[1]), X.dtype)
    for block in blocks_of(X.shape[0], _bytes_per_row(X)):
        first, last = np.searchsorted(rows, [block.start, block.stop])
        if first < last:
            taken[first:last] = X[rows[first:last]]
            _release_pages(X, block)
    return taken


def shuffled_batches(X, kept, size, rng):
    """(array, positions in it, row numbers in X): batches of rows in random order, each row once.

    Arrays in memory are shuffled as a whole; what is streamed (memory maps, sparse, Dask) comes in blocks, in random order and
    shuffled within, so that a file is read block by block.  The array is overwritten after its last batch.
    """
    if isinstance(X, np.ndarray) and not is_mapped(X):
        order = row_numbers(X.shape[0])
        order = rng.permutation(order if kept is None else order[kept])
        for start in range(0, len(order), size):
            picked = order[start : start + size].astype(np.intp)
            yield X, picked, picked
        return
    for start, block in _streamed(X, rng):
        picked = np.arange(start, start + block.shape[0])
        if kept is not None:
            picked = picked[kept[picked]]
        picked = rng.permutation(picked)
        for first in range(0, len(picked), size):
            rows = picked[first : first + size]
            yield block, rows - start, rows


def _streamed(X, rng):
    if is_dask(X):
        stops = np.cumsum(X.chunks[0])
        for i in rng.permutation(len(stops)):
            yield int(stops[i] - X.chunks[0][i]), X.blocks[int(i)].compute()
        return
    size = max(256, STREAMED_BYTES // _bytes_per_row(X))
    starts = rng.permutation(np.arange(0, X.shape[0], size))
    if sp.issparse(X):
        yield from ((int(start), X[start : start + size]) for start in starts)
        return
    block = np.empty((min(size, X.shape[0]), X.shape[1]), X.dtype)
    for start in starts:
        filled = block[: min(size, X.shape[0] - start)]
        for part in blocks_of(len(filled), _bytes_per_row(X)):
            rows = slice(int(start) + part.start, int(start) + part.stop)
            filled[part] = X[rows]
            _release_pages(X, rows)
        yield int(start), filled
