"""Labels where they are: which there are, the code of each row, and how often each code occurs; only results travel."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .dask_rows import is_remote


def distinct(values: Any) -> np.ndarray:
    """The different values of a vector, sorted, in memory."""
    if not is_remote(values):
        return np.unique(values)
    import dask

    parts = dask.compute(*(dask.delayed(np.unique)(block) for block in values.to_delayed().ravel()))
    return np.unique(np.concatenate([np.asarray(part) for part in parts]))


def each_value(function: Callable, values: Any, dtype: Any) -> Any:
    """function(values), value by value, where the vector is."""
    if not is_remote(values):
        return function(values).astype(dtype, copy=False)
    return values.map_blocks(lambda block: function(block).astype(dtype, copy=False), dtype=dtype)


def code_totals(codes: Any, n_codes: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Σ of the weights (or the number) of the rows of each code, (n_codes,)."""
    if not is_remote(codes):
        return np.bincount(codes, weights, minlength=n_codes)
    import dask.array as da

    weights = None if weights is None else da.from_array(weights, chunks=codes.chunks)
    return np.asarray(da.bincount(codes, weights, minlength=n_codes).compute())
