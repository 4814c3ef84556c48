"""Hash keys of rows: different rows have different keys, almost surely."""

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from .dask.inputs import gathered, is_remote
from .rows import Block, LocalRows, Rows
from .tensor_rows import TensorRows

# Keys have 53 bits, so that they are exact in float64.
_SHIFT = np.uint64(11)
_FOLD = np.uint64(32)
_NAN = np.uint64(0x7FF8000000000000)


def row_keys(rows: Rows) -> np.ndarray:
    """Return one key per row as whole numbers in float64: one pass over the rows.

    Two different rows share a key with probability 2⁻⁵³. Dense and sparse rows, float32 and
    float64, have the same keys for the same numbers; all NaN are equal, and so are 0 and −0.
    """
    if isinstance(rows, TensorRows):
        rows = LocalRows(gathered(rows.source))
    block = Block(_keys_block, row_bytes=32 * rows.n_features)
    keys = rows.map(block, dtype=np.float64)
    return gathered(keys) if is_remote(keys) else keys


def column_keys(table: np.ndarray) -> np.ndarray:
    """Return one key per row of an array of numbers, (n_samples, n_columns) or (n_samples,)."""
    table = np.asarray(table)
    keys = np.empty(len(table))
    _keys_block(table.reshape(len(table), -1), out=keys)
    return keys


def _keys_block(X: Any, out: np.ndarray) -> None:
    multipliers = _multipliers(X.shape[1])
    if sp.issparse(X):
        X = X.tocsr()
        # Stored zeros add nothing.
        added = _folded_bits(X.data) * multipliers[X.indices]
        below = np.concatenate([np.zeros(1, np.uint64), np.cumsum(added, dtype=np.uint64)])
        sums = below[X.indptr[1:]] - below[X.indptr[:-1]]
    else:
        sums = _folded_bits(np.asarray(X)) @ multipliers
    out[...] = sums >> _SHIFT


def _folded_bits(numbers):
    """Return the bits of numbers as integers, high bits folded into low ones."""
    numbers = np.ascontiguousarray(numbers, dtype=np.float64) + 0.0  # −0 becomes 0
    bits = numbers.view(np.uint64)
    bits[np.isnan(numbers)] = _NAN
    return bits ^ (bits >> _FOLD)


@cache
def _multipliers(n_columns):
    """Return one odd random number per column."""
    drawn = np.random.default_rng(2009).integers(2**63, size=n_columns, dtype=np.uint64)
    return 2 * drawn + np.uint64(1)
