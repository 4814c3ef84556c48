"""Rows of a Dask array: sums and maps run on the partitions, where they are, and only results travel."""

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .dask_batches import DaskShards
from .rows import LocalRows, Rows, shuffled_within


def is_remote(X: Any) -> bool:
    """Whether X is a collection of Dask, whose numbers may be on other machines; asked without importing Dask."""
    return type(X).__module__.split(".")[0] == "dask"


def gathered(values: Any) -> Any:
    """Numbers that may be on a cluster, in memory."""
    return values.compute() if is_remote(values) else values


def mean_rows(values: Any, weights: np.ndarray | None) -> np.ndarray:
    """The (weighted) mean over the rows of an array, computed where the array is."""
    if not is_remote(values):
        return np.average(values, axis=0, weights=weights)
    if weights is None:
        return np.asarray(values.mean(axis=0).compute())
    return np.asarray(((values * weights[:, None]).sum(axis=0) / weights.sum()).compute())


class DaskRows(Rows):
    """A two-dimensional Dask array of known chunk lengths; each partition is checked for finite numbers where it lives."""

    is_local = False

    def __init__(self, source: Any, block_size: int | str = "auto"):
        if not isinstance(getattr(source, "chunks", None), tuple) or source.ndim != 2:
            raise ValueError(
                "Got a Dask collection that is not a two-dimensional array. bochner needs rows and columns: "
                "write e.g. ddf.to_dask_array(lengths=True)."
            )
        if source.dtype.kind not in "fiub":
            raise ValueError(f"Got a Dask array of dtype {source.dtype}; bochner needs real numbers.")
        if any(np.isnan(source.chunks[0])):
            raise ValueError(
                "The Dask array has partitions of unknown length; rows of X must be paired with rows of y. "
                "Call X.compute_chunk_sizes() first."
            )
        source = source if len(source.chunks[1]) == 1 else source.rechunk({1: -1})
        self.source = source if source.dtype in (np.float32, np.float64) else source.astype(np.float64)
        self.block_size = block_size

    def sum(self, block, *signals):
        import dask

        stops = np.cumsum(self.source.chunks[0])
        columns = []
        for signal in signals:
            if is_remote(signal):
                columns.append(self._aligned(signal).to_delayed().ravel())
            else:
                columns.append([signal[s - size : s] for s, size in zip(stops, self.source.chunks[0], strict=True)])
        # One delayed object for the function: its frequencies travel to a worker once, not with every task.
        function = dask.delayed(partial(_partition_sum, block, self.block_size))
        sums = [function(*parts) for parts in zip(self.source.to_delayed().ravel(), *columns, strict=True)]
        add = dask.delayed(_pure_add)
        while len(sums) > 1:
            sums = [add(*sums[i : i + 2]) if i + 1 < len(sums) else sums[i] for i in range(0, len(sums), 2)]
        return dask.compute(sums[0])[0]

    def map(self, block, n_columns=None, *, dtype=None, out=None, signals=()):
        if out is not None:
            raise ValueError("out= is for arrays in memory or on disk; a Dask result stays on the cluster.")
        dtype = np.dtype(self.dtype if dtype is None else dtype)
        function = partial(_partition_map, block, n_columns, dtype, self.block_size, [s.ndim for s in signals])
        columns = [self._aligned(signal if signal.ndim == 2 else signal[:, None]) for signal in signals]
        if n_columns is None:
            return self.source.map_blocks(function, *columns, dtype=dtype, chunks=(self.source.chunks[0],), drop_axis=1)
        return self.source.map_blocks(function, *columns, dtype=dtype, chunks=(self.source.chunks[0], (n_columns,)))

    def _aligned(self, signal):
        """A signal as a Dask array whose chunks are those of the rows."""
        import dask.array as da

        chunks = {0: self.source.chunks[0]} | dict.fromkeys(range(1, signal.ndim), -1)
        return da.asarray(signal).rechunk(chunks)

    def held(self, signal):
        return self._aligned(signal).persist()

    def assert_all_finite(self):
        self.sum(_nothing)

    def take(self, numbers):
        return _checked(self.source[numbers].compute()).source

    def epochs(self, plan, kept, *signals):
        return DaskShards(self.source, plan, kept, signals).batches

    def batches(self, size, rng, kept=None):
        stops = np.cumsum(self.source.chunks[0])
        for i in rng.permutation(len(stops)):
            block = _checked(self.source.blocks[int(i)].compute()).source
            yield from shuffled_within(int(stops[i] - self.source.chunks[0][i]), block, size, rng, kept)


def _nothing(X):
    return np.zeros(())


def _checked(X, block_size="auto"):
    rows = LocalRows(X.tocsr() if sp.issparse(X) else np.asarray(X), block_size)
    rows.assert_finite(place=" of its partition")
    return rows


def _partition_sum(block, block_size, X, *signals):
    return _checked(X, block_size).sum(block, *map(_finite_signal, signals))


def _partition_map(block, n_columns, dtype, block_size, dimensions, X, *signals):
    columns = [_finite_signal(s[:, 0] if ndim == 1 else s) for s, ndim in zip(signals, dimensions, strict=True)]
    return _checked(X, block_size).map(block, n_columns, dtype=dtype, signals=columns)


def _finite_signal(signal):
    signal = np.asarray(signal)
    if signal.dtype.kind == "f":
        LocalRows(signal).assert_finite("y", place=" of its partition")
    return signal


def _pure_add(left, right):
    if isinstance(left, tuple):
        return tuple(a + b for a, b in zip(left, right, strict=True))
    return left + right


def as_rows(X: Any, block_size: int | str = "auto", names: Any = None) -> Rows:
    """The rows of X, checked for finite numbers; what ``check_rows`` or an earlier call made is taken as it is.

    ``names`` of the columns are for the message.
    """
    if isinstance(X, Rows):
        return X
    if is_remote(X):
        return DaskRows(X, block_size)
    if sp.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:  # entries given twice are meant to be added up, once and for all
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.asarray(X)
        if X.dtype.kind not in "fiub":
            X = X.astype(np.float64)
    rows = LocalRows(X, block_size)
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional (points, features), got {X.ndim} dimension(s).")
    rows.assert_finite(names=names)
    return rows
