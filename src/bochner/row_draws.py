"""Random choices among rows that need no list of all of them: a seed gives the same ones in memory and on a cluster."""

from functools import partial
from typing import Any

import numpy as np

from ._compute import cleared, entrywise, fold, gathered, is_remote, read_column, rows_at_shares, smallest_reaching
from .repetitions import EqualRows

# A row that counts more often than this is split in as many pieces.
_MOST_COPIES = 4000


def split_counts(counts: Any, share: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """How often each row counts in two random parts, of which the first has about this share of all; where ``counts`` are.

    A row that counts several times is as many rows that are drawn one by one, the last of them perhaps a part of one.  Each of these copies has
    a random number of its own, found by its place among all copies, and the smallest numbers are the first part: a random set of just that
    size, as the beginning of a permutation would be, but nobody has to know the whole of it.
    """
    copies = entrywise(_copies, counts, np.float64)
    placed = np.stack([np.cumsum(copies, axis=0), counts], axis=1)
    placed = read_column(placed) if is_remote(placed) else placed  # looked at in several passes
    total, seed = int(fold(np.sum, np.add, copies)), int(rng.integers(2**63))
    n_first = min(max(int(share * total), 1), total - 1)
    largest = smallest_reaching(placed, counts, n_first, read=partial(_drawn_numbers, seed))
    parts = entrywise(partial(_counts_of_parts, seed, largest), placed, np.float64, 2)
    return parts[:, 0], parts[:, 1]


def split_observations(
    counts: Any, equal: EqualRows | None, is_merged: bool, share: float, rng: np.random.Generator
) -> tuple[Any, Any, Any]:
    """Split rows at random into two parts, with all copies of a row in the same part.

    Parameters
    ----------
    counts : array or Dask array (n_rows,)
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
        groups, counts = groups.ravel(), gathered(counts)
        first, second = split_counts(np.sign(np.bincount(groups, counts)), share, rng)
        observations = np.zeros(len(counts))
        observations[rows] = second
        return first[groups] * counts, second[groups] * counts, observations
    if equal is not None and equal.are_ties:
        first, second = split_counts(counts / equal.unit, share, rng)
        return first * equal.unit, second * equal.unit, second
    first, second = split_counts(entrywise(np.sign, counts, np.float64), share, rng)
    return first * counts, second * counts, second


def _copies(counts):
    return np.minimum(np.ceil(counts), _MOST_COPIES)


def _numbers_of_copies(seed, placed):
    """A number in [0, 1) for each copy of some rows, by the places of their last copies, and how many copies each row has."""
    copies = _copies(placed[:, 1]).astype(int)
    stream = np.random.PCG64(seed)
    if len(copies):
        stream.advance(int(placed[0, 0]) - int(copies[0]))
    return np.random.Generator(stream).random(copies.sum()), copies


def _drawn_numbers(seed, placed, counts):
    numbers, _ = _numbers_of_copies(seed, placed)
    return numbers, np.ones(len(numbers))


def _counts_of_parts(seed, largest, placed):
    numbers, copies = _numbers_of_copies(seed, placed)
    below = np.concatenate([[0], np.cumsum(numbers <= largest)])
    stops = np.cumsum(copies)
    first = below[stops] - below[stops - copies]
    size = placed[:, 1] / np.maximum(copies, 1)
    return np.stack([first * size, (copies - first) * size], axis=1)


def drawn_rows(weights: Any, count: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of ``count`` different rows, one drawn after the other by the weights of those that are left."""
    found = np.empty(0, int)
    while len(found) < count:
        left = cleared(weights, np.sort(found)) if len(found) else weights
        drawn = rows_at_shares(left, rng.random(count - len(found)))
        # Drawn again, a row is not there any more: what comes first of each counts, as NumPy's own choice does it.
        _, first = np.unique(drawn, return_index=True)
        found = np.concatenate([found, drawn[np.sort(first)]])
    return found
