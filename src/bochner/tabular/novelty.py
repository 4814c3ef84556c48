"""Novelty of rows: their distance from the training rows, as a share of left-out training rows."""

from __future__ import annotations

import numpy as np

from ..data.unfamiliar import MISSING, UNKNOWN
from .neighbors import Neighbors

# Rows whose distances are computed at once.
_ROWS_AT_ONCE = 512
# Distances that are equal but for rounding count as equal.
_ROUNDING = 1e-9


def novelty_shares(neighbors: Neighbors, Z: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Return the share of kept rows that are at most as far from the others, (n_samples, 1).

    Cells marked as missing do not count. Unknown levels are as far from all levels as the two most
    different levels of the kept rows are from each other.
    """
    shares = np.empty((len(Z), 1))
    for start in range(0, len(Z), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        is_missing, is_unknown = marks[rows] == MISSING, marks[rows] == UNKNOWN
        nearest = neighbors.distances(Z[rows], is_missing, is_unknown).min(axis=1)
        shares[rows, 0] = share_within(neighbors.own_distances, nearest)
    return shares


def share_within(own: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return the share of the sorted distances ``own`` that are at most each of ``distances``.

    >>> share_within(np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.5, 1.0, 7.0]))
    array([0.25, 0.75, 1.  ])
    """
    limits = distances + _ROUNDING * (1 + distances)
    return np.searchsorted(own, limits, side="right") / len(own)
