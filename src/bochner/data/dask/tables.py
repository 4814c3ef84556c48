"""Tables on Dask, with columns of any type: workers convert all rows to numbers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_n_features

from ..._loops.arrays import as_dense, assert_finite, working_dtype
from ..checks import assert_unmasked
from ..columns import lists_columns
from ..inputs import TableInputs
from ..maps import release_scratches, scratch
from ..rows import LocalRows
from ..tables import PREPARED_BYTES, LocalTable, checked_part, mapped_part, set_columns
from ..targets import Target
from .clusters import computed
from .inputs import (
    assert_two_dimensional,
    by_partition,
    checked_array,
    checked_frame,
    remote_array,
    remote_frame,
)


class DaskTable:
    """A two-dimensional Dask array or frame with the methods of ``LocalTable``.

    Missing values are allowed; infinity in arrays is not. ``frame`` is a pandas frame with the same
    columns and no rows, None for arrays.
    """

    def __init__(self, estimator: Any, source: Any, reset: bool):
        self.frame, self._estimator = remote_frame(source), estimator
        if self.frame is None:
            source = remote_array(source)
            assert_two_dimensional(source)
            source = checked_array(source).rechunk({1: -1})
            lengths, self.n_features = source.chunks[0], source.shape[1]
            self._working = working_dtype(source)
            if source.dtype.kind not in "fiub" and not lists_columns(
                estimator.categorical_features
            ):
                raise ValueError(
                    f"Arrays are read as numbers, but X is a Dask array of dtype {source.dtype}. "
                    "Give a Dask frame, or name the columns that hold categories in "
                    "categorical_features."
                )
        else:
            source = checked_frame(source, self.frame)
            (lengths,) = computed(source.map_partitions(len))
            self.n_features, self._working = len(self.frame.columns), np.float64
        self.source = source
        self._lengths = np.array(lengths, dtype=int)
        if reset:
            set_columns(estimator, self.n_features)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self._lengths.sum()), self.n_features

    def in_memory(self, most_rows: float = np.inf, refusal: Exception | None = None) -> Any:
        """Return a ``LocalTable`` of at most ``most_rows`` rows; of more raise ``refusal``.

        Without ``refusal`` a table of more rows is returned as it is.
        """
        if self.shape[0] <= most_rows:
            (table,) = computed(self.source)
            assert_unmasked(table, "X")
            return LocalTable(checked_part(self._estimator, table, True)).in_memory()
        if refusal is not None:
            raise refusal
        return self

    def without_rows(self) -> Any:
        """Return a frame or an array with the same columns and no rows."""
        return np.empty((0, self.n_features)) if self.frame is None else self.frame

    def select(self, numbers: np.ndarray) -> Any:
        """Return a table in memory of the rows of these sorted numbers; all rows stay on Dask."""
        return self if len(numbers) == self.shape[0] else LocalTable(self.take(numbers))

    def rows_to_read(self, weights: np.ndarray) -> np.ndarray:
        """Return the numbers of all rows: those without weight are not removed from Dask."""
        return np.arange(len(weights))

    def equal_rows(self, target: Target, weights: np.ndarray) -> None:
        """Return None: rows on Dask are not compared with each other."""

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

    def prepared(self, inputs: TableInputs) -> LocalRows:
        """Return all rows with prepared columns as ``LocalTable``; workers prepare them."""
        numbers = self.map(inputs.transform_part, len(inputs.sources_), np.float32)
        Z = scratch(numbers.shape, np.float32, PREPARED_BYTES)
        starts = np.concatenate([[0], np.cumsum(numbers.chunks[0])])
        # A few partitions at once, so that workers are busy and the client's memory is bounded.
        n_rows = max(1, PREPARED_BYTES // (4 * numbers.shape[1]))
        first = 0
        while first < len(starts) - 1:
            end = max(first + 1, int(np.searchsorted(starts, starts[first] + n_rows, "right")) - 1)
            (Z[starts[first] : starts[end]],) = computed(numbers.blocks[first:end])
            release_scratches()
            first = end
        return LocalRows(Z)

    def map_prepared(self, inputs: TableInputs, function: Callable, n_columns: int) -> Any:
        """Return ``function(prepared rows, marks)`` as a Dask array; see ``LocalTable``.

        It is computed later, so that there is no warning of unfamiliar values.
        """
        if self.frame is not None:
            inputs.check_columns(self.frame)
        else:
            _check_n_features(self._estimator, self, reset=False)

        transform = partial(inputs.transform_marked, whole=False)

        def on_part(part):
            part = checked_part(inputs, part, False)
            return mapped_part(part, inputs, transform, function, n_columns)

        return self.map(on_part, n_columns, self._working)

    def map(self, function: Callable, n_columns: int, dtype: Any) -> Any:
        """Return ``function(part)`` of every partition as a lazy Dask array (n_rows, n_columns)."""
        import dask
        import dask.array as da

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
