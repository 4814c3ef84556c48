"""Tables on Dask, with columns of any type: workers convert all rows to numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._loops.arrays import as_dense, assert_finite, assert_unmasked, working_dtype
from .clusters import computed, has_room, warn_of_rereading
from .inputs import (
    assert_two_dimensional,
    by_partition,
    checked_array,
    checked_frame,
    remote_array,
    remote_frame,
)
from .rows import DaskRows


class RemoteTable:
    """Rows of a two-dimensional Dask array or frame, partition by partition.

    Missing values are allowed; infinity in arrays is not. ``frame`` is a pandas frame with the same
    columns and no rows, None for arrays.
    """

    def __init__(self, source: Any):
        self.frame = remote_frame(source)
        if self.frame is None:
            source = remote_array(source)
            assert_two_dimensional(source)
            source = checked_array(source).rechunk({1: -1})
            lengths, self.n_features, self.dtype = source.chunks[0], source.shape[1], source.dtype
            self._working = working_dtype(source)
        else:
            source = checked_frame(source, self.frame)
            (lengths,) = computed(source.map_partitions(len))
            self.n_features, self.dtype, self._working = len(self.frame.columns), None, np.float64
        self.source = source
        self._lengths = np.array(lengths, dtype=int)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self._lengths.sum()), self.n_features

    def here(self) -> Any:
        """Return all rows as a frame or an array in memory."""
        (table,) = computed(self.source)
        assert_unmasked(table, "X")
        return table

    def take(self, numbers: np.ndarray) -> Any:
        """Return the rows of these sorted numbers as a frame or an array in memory."""
        import dask

        take = dask.delayed(_taken)
        wanted = enumerate(zip(self._parts(), by_partition(numbers, self._lengths), strict=True))
        selected = list(computed(*(take(part, some, i) for i, (part, some) in wanted if len(some))))
        if self.frame is None:
            return np.concatenate(selected)
        import pandas as pd

        return pd.concat(selected)

    def map(self, function: Callable, n_columns: int, dtype: Any = None) -> Any:
        """Return ``function(part)`` of every partition as a lazy Dask array (n_rows, n_columns)."""
        import dask
        import dask.array as da

        dtype = np.dtype(self._working if dtype is None else dtype)
        delayed_function = dask.delayed(function, traverse=False)  # sent to each worker once
        on_part = dask.delayed(_on_part)
        pieces = [
            da.from_delayed(
                on_part(delayed_function, n_columns, dtype, part, number),
                (int(length), n_columns),
                dtype,
            )
            for number, (part, length) in enumerate(zip(self._parts(), self._lengths, strict=True))
            if length
        ]
        return da.concatenate(pieces) if pieces else da.empty((0, n_columns), dtype=dtype)

    def prepared(self, function: Callable, n_columns: int) -> DaskRows:
        """Return ``function`` of all rows in float32, persisted on the workers if there is room."""
        numbers = self.map(function, n_columns, np.float32)
        n_bytes = 4.0 * self.shape[0] * n_columns
        if has_room(n_bytes):
            numbers = numbers.persist()
        else:
            warn_of_rereading(n_bytes)
        return DaskRows(numbers)

    def _parts(self):
        return np.ravel(self.source.to_delayed()).tolist()


def _is_array(part):
    return isinstance(part, np.ndarray) or sp.issparse(part)


def _checked(part, number):
    """Raise if a partition of an array contains infinity; return frames unchanged."""
    if not _is_array(part):
        return part
    assert_unmasked(part, "X")
    assert_finite(part, place=f" of partition {number}", allow_nan=True)
    return part


def _taken(part, numbers, number):
    part = _checked(part.tocsr() if sp.issparse(part) else part, number)
    return as_dense(part[numbers]) if _is_array(part) else part.iloc[numbers]


def _on_part(function, n_columns, dtype, part, number):
    if not part.shape[0]:
        return np.empty((0, n_columns), dtype)
    part = _checked(part, number)
    return np.asarray(function(as_dense(part) if _is_array(part) else part)).astype(
        dtype, copy=False
    )
