"""Equal rows of equal target as one row that counts more: weights and repetitions then give one and the same model."""

from typing import Any

import numpy as np

from ._compute import LocalRows, Rows, as_dense
from .targets import Labels, Target, Values

# Rows that are compared with each other: so many, of so many numbers in all.
FEW_ROWS = 4000
_MOST_COMPARED = 2**24


def without_repetitions(
    rows: Rows, target: Target | None, weights: np.ndarray | None, *, in_order: bool = False
) -> tuple[Rows, Any, np.ndarray | None, np.ndarray]:
    """(rows, target, weights, numbers): one row for each different one, its summed weight, and its number among those given.

    Algorithms that draw rows, or amplify rounding over many rounds, would otherwise end elsewhere for weights than for repeated rows.
    Rows stand in an order of their own, that of their bytes; where nothing is repeated and all weights are one they stay as they are,
    unless ``in_order`` asks for that order all the same.  So do rows that are many.
    """
    n_rows = len(rows)
    if n_rows > FEW_ROWS or n_rows * rows.n_features > _MOST_COMPARED:
        return rows, target, weights, np.arange(n_rows)
    points = rows.take(np.arange(n_rows))
    # Compared by their bytes, so without negative zeros.
    table = np.ascontiguousarray(np.column_stack([as_dense(points), *_columns(target)]), dtype=np.float64) + 0.0
    as_bytes = table.view(f"V{table.itemsize * table.shape[1]}")
    _, first, group = np.unique(as_bytes, return_index=True, return_inverse=True)
    totals = np.bincount(group.ravel(), weights).astype(np.float64)
    if not in_order and len(first) == n_rows and np.all(totals == 1):
        return rows, target, None, np.arange(n_rows)
    kept = first[totals > 0]
    return LocalRows(points[kept]), None if target is None else target.take(kept), totals[totals > 0], kept


def _columns(target):
    if target is None:
        return []
    if isinstance(target, Labels):
        return [target.codes]
    return [target.rows if isinstance(target, Values) else target.similarity().factors]
