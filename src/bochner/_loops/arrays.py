"""Arrays for the loops: dtype, dense blocks, sums, read-only arrays, and checks of numbers."""

from typing import Any

import numpy as np
import scipy.sparse as sp


def working_dtype(X):
    """Return float32 for float32 arrays, and float64 for all others."""
    return np.float32 if X.dtype == np.float32 else np.float64


def as_dense(X):
    """Return a block of rows as an array."""
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def add_parts(total: Any, part: Any) -> Any:
    """Add an array, or a tuple of arrays, to the total (None at first), in place if possible."""
    if isinstance(part, tuple):
        return tuple(
            add_parts(t, p) for t, p in zip(total or [None] * len(part), part, strict=True)
        )
    if total is None:
        return part.copy()  # the block function may reuse its memory
    return np.add(total, part, out=total if total.ndim else None)


def frozen_array(values: Any, name: str, ndim: int, *, dtype: Any = None) -> np.ndarray:
    """Return a read-only view of ``values``, checked once; float32 is kept, others are float64."""
    array = np.asarray(values, dtype=dtype)
    if array.dtype.kind not in ("c" if dtype is complex else "fiub"):
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}.")
    if dtype is None and array.dtype != np.float32:
        array = array.astype(np.float64, copy=False)
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), got shape {array.shape}.")
    if not np.isfinite(np.sum(array)) and not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got NaN or infinity.")
    return read_only(array)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to, or the array itself if it is read-only.

    Loops that only read an array get such a view: numba compiles a loop once for arrays that can be
    written to and once for others, such as memory maps and frozen values.
    """
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def assert_finite(block, names=None, first_row=0, place="", allow_nan=False):
    """Raise for infinity, and for NaN unless it is allowed, with the first row and column."""
    numbers = block.data if sp.issparse(block) else block
    if numbers.dtype.kind != "f":
        return
    # The sum is finite for almost every finite block, and needs no temporary array.
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
        f"Input X contains {kind}: first {where}, counted from 0. bochner needs finite "
        f"numbers: {advice}."
    )


def _first(block, wrong):
    """Return row, column and value of the first wrong number; a vector has no column."""
    if not sp.issparse(block):
        place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        return int(place[0]), int(place[1]) if len(place) > 1 else None, block[place]
    entries = block.tocoo()
    k = np.flatnonzero(wrong)[0]
    return int(entries.row[k]), int(entries.col[k]), entries.data[k]
