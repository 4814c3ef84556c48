"""Random splits of rows."""

from typing import Any

import numpy as np

from .repetitions import EqualRows

# A row that counts more often than this is split into this many copies.
_MOST_COPIES = 4000


def members(
    codes: np.ndarray | None, n_codes: int, n_rows: int, weights: np.ndarray | None
) -> list[np.ndarray]:
    """Return the sorted numbers of the rows of positive weight, one array for each code."""
    order = np.arange(n_rows) if codes is None else np.argsort(codes, kind="stable")
    if weights is not None:
        order = order[weights[order] > 0]
    if codes is None:
        return [order]
    return np.split(order, np.cumsum(np.bincount(codes[order], minlength=n_codes))[:-1])


def split_counts(
    counts: np.ndarray, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Split counts at random into two parts, the first with about this share.

    A row that counts several times is split into as many copies, of which the last may be a part of
    one. Each copy draws a random number, and the copies of the smallest numbers are the first part.
    """
    copies = np.minimum(np.ceil(counts), _MOST_COPIES).astype(int)
    numbers = np.random.Generator(np.random.PCG64(int(rng.integers(2**63)))).random(copies.sum())
    n_first = min(max(int(share * len(numbers)), 1), len(numbers) - 1)
    is_first = np.zeros(len(numbers), bool)
    is_first[np.argpartition(numbers, n_first)[:n_first]] = True
    below = np.concatenate([[0], np.cumsum(is_first)])
    stops = np.cumsum(copies)
    first = below[stops] - below[stops - copies]
    size = counts / np.maximum(copies, 1)
    return first * size, (copies - first) * size


def split_observations(
    counts: Any, equal: EqualRows | None, is_merged: bool, share: float, rng: np.random.Generator
) -> tuple[Any, Any, Any]:
    """Split rows at random into two parts, with all copies of a row in the same part.

    Parameters
    ----------
    counts : array (n_rows,)
        How often each row counts while a model is fitted.
    equal : EqualRows or None
        Equal rows of the table as it was given, see ``equal_rows``.
    is_merged : bool
        True if equal rows have been merged into one row since then, with their summed count.
    share : float
        Share of the observations in the first part.
    rng : Generator

    Returns
    -------
    first, second : how often each row counts in either part while a model is fitted
    observations : how many independent observations of the second part each row stands for
    """
    if equal is not None and not is_merged:
        _, rows, groups = np.unique(equal.split_groups(), return_index=True, return_inverse=True)
        groups = groups.ravel()
        first, second = split_counts(np.sign(np.bincount(groups, counts)), share, rng)
        observations = np.zeros(len(counts))
        observations[rows] = second
        return first[groups] * counts, second[groups] * counts, observations
    if equal is not None and equal.are_ties:
        first, second = split_counts(counts / equal.unit, share, rng)
        return first * equal.unit, second * equal.unit, second
    first, second = split_counts(np.sign(counts), share, rng)
    return first * counts, second * counts, second
