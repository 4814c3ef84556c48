"""Collections of Dask at the door: arrays, frames and series as arrays of known lengths, and how
their partitions go together.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ..tensor_rows import is_tensor, on_host
from .clusters import computed, with_the_scheduler

# A pass makes a task for each group of consecutive partitions.  The groups follow from the lengths
# of the partitions alone, so that results do not depend on how many workers there are; so many at
# least where there are partitions for them, and so many rows at most.
_GROUPS = 64
_GROUP_ROWS = 2**22
# Sums that one task of a tree adds up: few tasks, and no worker holds many large statistics at
# once.
_BRANCHES = 8


def is_remote(X: Any) -> bool:
    """Whether X is a collection of Dask, whose numbers may be on other machines; asked without
    importing Dask.
    """
    # Arrays are told first: rounds on few rows ask several times.
    return type(X) is not np.ndarray and type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def gathered(values: Any) -> Any:
    """Bring numbers that may be on a cluster or another device into the memory of NumPy."""
    return (
        computed(values)[0]
        if is_remote(values)
        else on_host(values)
        if is_tensor(values)
        else values
    )


def of_predictions(
    function: Callable, values: Any, dtype: Any, n_columns: int | None = None
) -> Any:
    """Apply a function to predictions, one-dimensional or of ``n_columns`` in the result; those on
    a cluster stay there.
    """
    if not is_remote(values):
        return function(values)
    shape: dict[str, Any] = {"drop_axis": 1} if n_columns is None and values.ndim == 2 else {}
    if n_columns is not None:
        shape = {"chunks": (values.chunks[0], (n_columns,))}
    meta = np.empty((0,) * (1 if n_columns is None else 2), dtype)
    return values.map_blocks(function, dtype=dtype, meta=meta, **shape)


def zarr_as_dask(X: Any) -> Any:
    """An array of zarr as blocks that are read when they are needed; everything else as it is."""
    if type(X).__module__.split(".")[0] != "zarr":
        return X
    try:
        import dask.array as da
    except ImportError:
        raise TypeError(
            "X is an array of zarr, whose blocks are read through Dask, which is not installed. "
            "Write pip install 'bochner[dask]', "
            "or give X[:] if it fits into memory."
        ) from None
    return da.from_array(X, chunks=X.chunks, inline_array=True)


def remote_frame(X: Any) -> Any:
    """The columns of a Dask frame as a pandas frame without rows; None for other collections."""
    return X._meta if _is_table(X) and X.ndim == 2 else None


def _is_table(X):
    """Whether X is a frame, a series or an index; asked without importing pandas where it is an
    array.
    """
    if type(X).__module__.split(".")[:2] == ["dask", "array"]:
        return False
    import dask.dataframe as dd

    return isinstance(X, (dd.DataFrame, dd.Series, dd.Index))


def remote_array(X: Any) -> Any:
    """A Dask array with the numbers of a Dask array or frame, the lengths of its partitions known.

    Lengths that nobody knows are asked of the workers, in one pass.
    """
    import dask.array as da

    if isinstance(X, da.Array):
        if X.ndim and any(np.isnan(X.chunks[0])):
            X = X.copy()  # lengths are noted on it, and the caller's own stays as it is
            with with_the_scheduler():
                X.compute_chunk_sizes()
        return X
    if not _is_table(X):
        raise TypeError(
            f"X is a {type(X).__name__} of Dask; bochner takes Dask arrays and frames. "
            "Write e.g. dask.array.from_delayed(...) to make an array of it."
        )
    if X.ndim == 1:
        raise ValueError(
            "X must be two-dimensional (points, features), got a series. Write X.to_frame() for "
            "one column."
        )
    return _frame_array(X, X._meta)


def assert_declared(part: Any, number: int, n_columns: int, dtype: Any) -> None:
    """Raise if a partition of an array has not the number of columns and the numeric dtype that
    Dask declares.
    """
    if part.shape[1] != n_columns:
        raise ValueError(
            f"Partition {number} of X has {part.shape[1]} columns, but Dask declares {n_columns}. "
            "Make partitions that all have the same columns."
        )
    if dtype.kind in "fiub" and part.dtype != dtype:
        raise ValueError(
            f"Partition {number} of X holds {part.dtype}, but Dask declares {dtype}. Declare the "
            "dtype that partitions have, or "
            f"convert them, e.g. by X.map_blocks(lambda block: block.astype('{dtype}'))."
        )


def checked_array(X: Any) -> Any:
    """Return a two-dimensional Dask array whose partitions are refused if they are not what Dask
    declares.
    """

    def check(part, block_id=None):
        assert_declared(part, block_id[0], X.chunks[1][block_id[1]], X.dtype)
        return part

    return X.map_blocks(check, dtype=X.dtype, meta=X._meta)


def checked_frame(X: Any, frame: Any) -> Any:
    """Return a Dask frame whose partitions are refused if they have not the columns of ``frame``,
    in its order.
    """
    return X.map_partitions(
        _assert_same_columns, list(frame.columns), meta=frame, enforce_metadata=False
    )


def _assert_same_columns(part, columns, partition_info=None):
    found = list(part.columns)
    if found == columns:
        return part
    lacking, extra = [c for c in columns if c not in found], [c for c in found if c not in columns]
    differences = [
        f"{verb} {', '.join(map(repr, some))}"
        for verb, some in (("lacks", lacking), ("adds", extra))
        if some
    ]
    which = "A partition" if partition_info is None else f"Partition {partition_info['number']}"
    raise ValueError(
        f"{which} of X {' and '.join(differences) or 'has its columns in another order'}: Dask "
        "declares the columns "
        f"{', '.join(map(repr, columns))}. Make partitions that all have these columns in this "
        "order."
    )


def assert_two_dimensional(X: Any) -> None:
    """In the words that begin scikit-learn's for arrays in memory."""
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: X must be two-dimensional (points, "
            "features), e.g. X[:, None] for one column."
        )


def _frame_array(X, frame):
    from pandas.api.types import is_extension_array_dtype, is_numeric_dtype

    for column, dtype in frame.dtypes.items():
        if not is_numeric_dtype(dtype):
            raise ValueError(
                f"Column {column!r} of the Dask frame X holds {dtype}, and numbers are needed. "
                "Encode it first, e.g. by dask.dataframe.get_dummies(X.categorize())."
            )
    X = checked_frame(X, frame)
    if any(is_extension_array_dtype(dtype) for dtype in frame.dtypes):
        X = X.astype(
            "float64"
        )  # missing numbers of pandas' own types become NaN, which is refused where it is found
    with with_the_scheduler():
        return X.to_dask_array(lengths=True)


def group_bounds(lengths: Any) -> np.ndarray:
    """Numbers of the partitions with which groups begin, and at the end their number; every group
    has rows.

    >>> group_bounds([3, 0, 2])
    array([0, 2, 3])
    """
    stops = np.cumsum(lengths)
    n_rows = int(stops[-1])
    n_groups = max(_GROUPS, -(-n_rows // _GROUP_ROWS))
    filled = np.flatnonzero(lengths)
    if len(filled) > n_groups:  # those in which a share of the rows begins
        shares = np.arange(n_groups) * n_rows // n_groups
        filled = np.unique(np.searchsorted(stops, shares, side="right"))
    return np.append(0, np.append(filled[1:], len(stops)))


def group_sizes(lengths: Any) -> tuple[int, ...]:
    """Rows of each group."""
    return tuple(int(size) for size in np.add.reduceat(lengths, group_bounds(lengths)[:-1]))


def added(sums: list[Any], counts: Any) -> Any:
    """Delayed sums, one after the other within groups of ``counts``, then by a tree over groups."""
    import dask

    together = dask.delayed(_added)
    stops = np.cumsum(counts)
    sums = [
        together(*sums[stop - count : stop]) if count > 1 else sums[stop - count]
        for stop, count in zip(stops, counts, strict=True)
    ]
    while len(sums) > 1:
        sums = [together(*sums[i : i + _BRANCHES]) for i in range(0, len(sums), _BRANCHES)]
    return sums[0]


def _added(*parts):
    present = [part for part in parts if part is not None]  # a partition without rows has no sum
    return reduce(plus, present) if present else None


def plus(left: Any, right: Any) -> Any:
    """The sum of two arrays, or of tuples of them, as a new one: Dask may need the parts again."""
    if isinstance(left, tuple):
        return tuple(plus(a, b) for a, b in zip(left, right, strict=True))
    return left + right
