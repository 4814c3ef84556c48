"""Dask collections as arrays of known chunk sizes, and sums over groups of partitions."""

from functools import reduce
from typing import Any

import numpy as np

from .clusters import with_the_scheduler

# A pass has one task for each group of consecutive partitions.  The groups depend only on the
# lengths of the partitions, so that results do not depend on the number of workers.  There are at
# least _GROUPS of them, if there are as many partitions, of at most _GROUP_ROWS rows each.
_GROUPS = 64
_GROUP_ROWS = 2**22
# Sums that one task of the tree adds: few tasks, and few large statistics on a worker at once.
_BRANCHES = 8


def _dask_array_of_zarr(X):
    try:
        import dask.array as da
    except ImportError:
        raise TypeError(
            "X is an array of zarr, whose blocks are read through Dask, which is not installed. "
            "Write pip install 'bochner[dask]', or give X[:] if it fits into memory."
        ) from None
    return da.from_array(X, chunks=X.chunks, inline_array=True)


def remote_frame(X: Any) -> Any:
    """Return a pandas frame with the columns of a Dask frame and no rows; None for other input."""
    return X._meta if _is_table(X) and X.ndim == 2 else None


def _is_table(X):
    """Return True for a Dask frame, series or index; arrays are recognized without pandas."""
    module = type(X).__module__
    if module.startswith(("dask.array", "zarr")):
        return False
    import dask.dataframe as dd

    return isinstance(X, (dd.DataFrame, dd.Series, dd.Index))


def remote_array(X: Any) -> Any:
    """Return an array of zarr or a Dask array or frame as an array of known partition lengths.

    Unknown lengths are computed by the workers, in one pass.
    """
    if type(X).__module__.startswith("zarr"):
        return _dask_array_of_zarr(X)
    import dask.array as da

    if isinstance(X, da.Array):
        if X.ndim and any(np.isnan(X.chunks[0])):
            X = X.copy()  # lengths are stored on it, and the caller's X must not change
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
    """Raise if a partition has another number of columns or another dtype than Dask declares."""
    if part.shape[1] != n_columns:
        raise ValueError(
            f"Partition {number} of X has {part.shape[1]} columns, but Dask declares {n_columns}. "
            "Make partitions that all have the same columns."
        )
    if dtype.kind in "fiub" and part.dtype != dtype:
        raise ValueError(
            f"Partition {number} of X holds {part.dtype}, but Dask declares {dtype}. Declare the "
            "dtype that partitions have, or convert them, e.g. by "
            f"X.map_blocks(lambda block: block.astype('{dtype}'))."
        )


def checked_array(X: Any) -> Any:
    """Return a two-dimensional Dask array that raises if a partition is not as declared."""

    def check(part, block_id=None):
        assert_declared(part, block_id[0], X.chunks[1][block_id[1]], X.dtype)
        return part

    return X.map_blocks(check, dtype=X.dtype, meta=X._meta)


def checked_frame(X: Any, frame: Any) -> Any:
    """Return a Dask frame that raises if a partition has other columns than ``frame``."""
    return X.map_partitions(
        _assert_same_columns, list(frame.columns), meta=frame, enforce_metadata=False
    )


def _assert_same_columns(part, columns, partition_info=None):
    present = list(part.columns)
    if present == columns:
        return part
    lacking = [c for c in columns if c not in present]
    extra = [c for c in present if c not in columns]
    differences = [
        f"{verb} {', '.join(map(repr, some))}"
        for verb, some in (("lacks", lacking), ("adds", extra))
        if some
    ]
    which = "A partition" if partition_info is None else f"Partition {partition_info['number']}"
    raise ValueError(
        f"{which} of X {' and '.join(differences) or 'has its columns in another order'}: Dask "
        f"declares the columns {', '.join(map(repr, columns))}. Make partitions that all have "
        "these columns in this order."
    )


def assert_two_dimensional(X: Any) -> None:
    """Raise as scikit-learn does for arrays in memory that are not two-dimensional."""
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
        X = X.astype("float64")  # missing numbers become NaN, for which workers raise
    with with_the_scheduler():
        return X.to_dask_array(lengths=True)


def group_bounds(lengths: Any) -> np.ndarray:
    """Return the first partition of each group, and the number of partitions at the end.

    Every group has rows.

    >>> group_bounds([3, 0, 2])
    array([0, 2, 3])
    """
    stops = np.cumsum(lengths)
    n_rows = int(stops[-1])
    n_groups = max(_GROUPS, -(-n_rows // _GROUP_ROWS))
    filled = np.flatnonzero(lengths)
    if len(filled) > n_groups:  # the partitions in which a share of the rows begins
        shares = np.arange(n_groups) * n_rows // n_groups
        filled = np.unique(np.searchsorted(stops, shares, side="right"))
    return np.append(0, np.append(filled[1:], len(stops)))


def group_sizes(lengths: Any) -> tuple[int, ...]:
    """Return the number of rows of each group."""
    return tuple(int(size) for size in np.add.reduceat(lengths, group_bounds(lengths)[:-1]))


def by_partition(numbers: Any, lengths: Any) -> list[np.ndarray]:
    """Return sorted row numbers for each partition, counted from its first row.

    >>> by_partition([0, 4], [3, 0, 2])
    [array([0]), array([], dtype=int64), array([1])]
    """
    stops = np.cumsum(lengths)
    pieces = np.split(np.asarray(numbers), np.searchsorted(numbers, stops[:-1]))
    return [piece - start for piece, start in zip(pieces, stops - lengths)]


def added(sums: list[Any], counts: Any) -> Any:
    """Add delayed sums in order within groups of ``counts``, then by a tree over groups."""
    import dask

    add = dask.delayed(_added)
    stops = np.cumsum(counts)
    sums = [
        add(*sums[stop - count : stop]) if count > 1 else sums[stop - count]
        for stop, count in zip(stops, counts, strict=True)
    ]
    while len(sums) > 1:
        sums = [add(*sums[i : i + _BRANCHES]) for i in range(0, len(sums), _BRANCHES)]
    return sums[0]


def _added(*parts):
    present = [part for part in parts if part is not None]  # a partition without rows has no sum
    return reduce(plus, present) if present else None


def plus(left: Any, right: Any) -> Any:
    """Return the sum of two arrays or tuples of arrays as a new object: Dask may reuse both."""
    if isinstance(left, tuple):
        return tuple(plus(a, b) for a, b in zip(left, right, strict=True))
    return left + right
