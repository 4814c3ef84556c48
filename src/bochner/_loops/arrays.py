"""Arrays for the loops: dtype, dense blocks, and read-only arrays."""

from typing import Any

import numpy as np
import scipy.sparse as sp


def working_dtype(X):
    """Return float32 for float32 arrays, and float64 for all others."""
    return np.float32 if X.dtype == np.float32 else np.float64


def as_dense(X):
    """Return a block of rows as an array."""
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def frozen_array(values: Any, name: str, ndim: int, *, dtype: Any = None) -> np.ndarray:
    """Return a read-only view of ``values``, checked once; float32 is kept, others are float64."""
    array = np.asarray(values, dtype=dtype)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}.")
    if dtype is None and array.dtype != np.float32:
        array = array.astype(np.float64, copy=False)
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), got shape {array.shape}.")
    if not np.isfinite(np.sum(array)) and not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got NaN or infinity.")
    return read_only(array)


def read_only(array: np.ndarray) -> np.ndarray:
    """A view that cannot be written to.

    Loops that only read an array get such a view: numba compiles a loop once for arrays that can be
    written to and once for others, such as memory maps and frozen values.
    """
    view = array.view()
    view.flags.writeable = False
    return view
