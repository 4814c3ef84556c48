"""The functions that ``Rows`` replaces, for rooms that have not moved yet; deleted when the last one has."""

from contextlib import contextmanager

import numpy as np

from .dask_rows import DaskRows, is_dask
from .rows import Block, LocalRows, Rows


def _rows(X):
    return X if isinstance(X, Rows) else DaskRows(X) if is_dask(X) else LocalRows(X)


@contextmanager
def row_block_size(block_size):
    yield


def row_sum(block_function, X, *signals, row_bytes=0):
    return _rows(X).sum(Block(block_function, row_bytes=row_bytes), *signals)


def row_map(block_function, X, out, row_bytes=0):
    n_columns = None if out.ndim == 1 else out.shape[1]
    return _rows(X).map(Block(block_function, row_bytes=row_bytes), n_columns, out=out)


def assert_finite(X, name="X"):
    if not is_dask(X):
        LocalRows(X).assert_finite(name)


def compute_rows(X, n_rows):
    return _rows(X).sample(n_rows)


def take_rows(X, rows):
    return _rows(X).take(rows)


def shuffled_batches(X, kept, size, rng):
    return _rows(X).batches(size, rng, kept)


__all__ = [
    "assert_finite",
    "compute_rows",
    "np",
    "row_block_size",
    "row_map",
    "row_sum",
    "shuffled_batches",
    "take_rows",
]
