"""Batches of rows for descent: the same ones for a seed, wherever the rows live.

Rows are cut into shards, contiguous and of equal length. In each epoch the short runs of a shard
are dealt into windows, the rows of a window are shuffled and cut into slices; a batch is one slice
of each shard. All of this follows from the number of rows and the seed alone, never from threads,
files, partitions or workers; a sum over a batch adds its slices in one order.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._loops.threads import ordered_map
from .maps import is_mapped, release_pages

# More steps an epoch would gain little and wait long: on a cluster each one is a message to all
# workers and back.
MOST_STEPS = 512
# Rows of a slice: fewer are done before a second thread has woken up.
SLICE_ROWS, MOST_SHARDS = 512, 64
# Numbers that all windows of one moment may hold: what is shuffled together, and read at once of a
# file; rows of a shard at least.
WINDOW_NUMBERS, FEWEST_TOGETHER = 2**23, 1024
# Rows that stay together until they are shuffled within a window, so that reads of a file are not
# too short; a window has so many of these runs of each shard, so that rows in the order of their
# labels are mixed.
LONGEST_RUN, RUNS = 1024, 64
# Sums of so many slices are added at once; no more groups of them than this, as on a cluster one
# task adds the groups.
ADDED_AT_ONCE = 8


@dataclass(frozen=True)
class BatchPlan:
    """Who meets whom when: ``n_steps`` batches an epoch, each of one slice of each shard."""

    n_rows: int
    n_shards: int
    n_windows: int
    n_slices: int
    run_rows: int
    seed: int

    @classmethod
    def of(
        cls, n_rows: int, n_features: int, batch_size: int, n_kept: int, seed: int
    ) -> "BatchPlan":
        """Batches of about ``batch_size`` of the ``n_kept`` rows that take part; larger ones where
        there would be too many.
        """
        batch_size = enough_rows(batch_size, n_kept)
        # Two slices from 512 rows on, where a second thread is worth waking up.
        n_shards = min(
            MOST_SHARDS, max(-(-batch_size // SLICE_ROWS), 1 + (batch_size >= SLICE_ROWS))
        )
        together = max(WINDOW_NUMBERS // max(n_features, 1), FEWEST_TOGETHER * n_shards)
        run_rows = min(max(together // (RUNS * n_shards), 1), LONGEST_RUN)
        n_steps = max(1, -(-n_kept // batch_size))
        n_windows = -(-n_steps // max(1, together // batch_size))
        return cls(n_rows, n_shards, n_windows, -(-n_steps // n_windows), run_rows, seed)

    @property
    def n_steps(self) -> int:
        return self.n_windows * self.n_slices

    def shard(self, number: int) -> slice:
        """The rows of a shard."""
        return _component(self.n_rows, number, self.n_shards)

    def window(
        self, epoch: int, shard: int, number: int, kept: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The sorted places within a shard of the rows of one of its windows, and the order in
        which they are met.

        ``kept`` marks the rows of the shard that take part.
        """
        rows = self.shard(shard)
        places = np.arange(rows.stop - rows.start)
        if self.n_windows > 1:
            n_runs = -(-len(places) // self.run_rows)
            runs = np.random.default_rng([self.seed, epoch, shard]).permutation(n_runs)
            dealt = np.zeros(n_runs, dtype=bool)
            dealt[runs[_component(n_runs, number, self.n_windows)]] = True
            places = places[np.repeat(dealt, self.run_rows)[: len(places)]]
        if kept is not None:
            places = places[kept[places]]
        return places, np.random.default_rng([self.seed, epoch, shard, number]).permutation(
            len(places)
        )

    def slice_of(self, order: np.ndarray, number: int) -> np.ndarray:
        """The part of a window that goes into one batch."""
        return order[_component(len(order), number, self.n_slices)]


def enough_rows(batch_size: int, n_kept: int) -> int:
    """The rows of a batch: those asked for, or more where an epoch would have more than
    ``MOST_STEPS`` batches.
    """
    return max(batch_size, -(-n_kept // MOST_STEPS))


def kept_rows(excluded: np.ndarray, rows: slice) -> np.ndarray | None:
    """Which of these rows take part, where those of the sorted numbers ``excluded`` do not; None where
    all do.
    """
    first, last = np.searchsorted(excluded, [rows.start, rows.stop])
    if first == last:
        return None
    kept = np.ones(rows.stop - rows.start, dtype=bool)
    kept[excluded[first:last] - rows.start] = False
    return kept


def _component(n_items, number, n_parts):
    """One of ``n_parts`` contiguous parts whose lengths differ by one at most."""
    return slice(number * n_items // n_parts, (number + 1) * n_items // n_parts)


# --- rows on this machine -------------------------------------------------------------------------


def local_batches(
    source: Any, plan: BatchPlan, epoch: int, excluded: np.ndarray, signals: tuple
) -> Iterator[Callable[[Callable], tuple]]:
    """The batches of an epoch; each takes a block function and gives the sum of ``block(source,
    places, *signals)`` over its slices.
    """
    shards = [plan.shard(s) for s in range(plan.n_shards)]
    for window in range(plan.n_windows):
        held = [
            _Window(source, rows, *plan.window(epoch, s, window, kept_rows(excluded, rows)))
            for s, rows in enumerate(shards)
        ]
        for number in range(plan.n_slices):
            yield partial(_summed, [one.slice_of(plan, number, signals) for one in held])
        del held  # before the next one is read


class _Window:
    """The rows of a window: a copy of those of a file, else the source itself."""

    def __init__(self, source, rows, places, order):
        self.source, self.places = source, places[order]
        self.places += rows.start
        self.numbers = self.places
        if is_mapped(source):
            self.source, self.places = np.take(np.asarray(source[rows]), places, axis=0), order
            release_pages(source, rows)

    def slice_of(self, plan, number, signals):
        numbers = plan.slice_of(self.numbers, number)
        return (
            self.source,
            plan.slice_of(self.places, number),
            *(signal[numbers] for signal in signals),
        )


def _summed(slices, block):
    if len(slices) == 1:  # no other thread to ask, and nothing to be added
        return block(*slices[0])
    return added_in_groups([*ordered_map(lambda one: slice_sum(block, *one), slices)])


def slice_sum(block: Callable, *arguments: Any) -> tuple:
    """The block function's sums, in memory that it does not use again."""
    return tuple(np.array(part) for part in block(*arguments))


def added_in_groups(sums: list) -> tuple:
    """Σ of tuples of arrays, by groups in one order: the same number on one machine and on many."""
    while len(sums) > 1:
        sums = [add_all(sums[i : i + ADDED_AT_ONCE]) for i in range(0, len(sums), ADDED_AT_ONCE)]
    return sums[0]


def add_all(sums: list) -> tuple:
    """Σ of tuples of arrays, from the first to the last."""
    total = tuple(np.array(part) for part in sums[0])
    for more in sums[1:]:
        total = tuple(
            np.add(a, b, out=a if a.ndim else None) for a, b in zip(total, more, strict=True)
        )
    return total
