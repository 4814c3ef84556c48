"""Independent observations among rows of any kind: copies count once, ties count each."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .columns import is_frame
from .dask.inputs import gathered, is_remote, remote_frame, zarr_as_dask
from .dask.rows import as_rows
from .repetitions import EqualRows, equal_keys
from .row_keys import column_keys, row_keys
from .rows import LocalRows, Rows
from .targets import Labels, Target, Values
from .tensor_rows import is_tensor


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


def input_keys(X: Any) -> np.ndarray:
    """Return a number for each row of X; equal rows have equal numbers."""
    X = zarr_as_dask(X)
    if isinstance(X, Rows):
        return row_keys(X)
    if is_remote(X):
        if remote_frame(X) is None:
            return row_keys(as_rows(X))
        return np.asarray(gathered(X.map_partitions(frame_keys, meta=("keys", np.float64))))
    if is_tensor(X):
        X = gathered(X)
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
    return (np.asarray(hashes, dtype=np.uint64) >> np.uint64(11)).astype(np.float64)


def _target(y: np.ndarray, are_labels: bool) -> Target:
    if y.dtype.kind in "fiub" and not are_labels:
        return Values(np.reshape(y, (len(y), -1)).astype(np.float64))
    values = y[:, None] if y.ndim == 1 else y
    classes, codes = np.unique([repr(row) for row in values.tolist()], return_inverse=True)
    return Labels(classes, codes.ravel())
