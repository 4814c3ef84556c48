"""Mini-batches for descent: the same ones for a seed, wherever the rows are stored.

Rows are cut into shards, contiguous and of equal length. In each epoch, short runs of rows of a
shard are assigned to windows. The rows of a window are shuffled and cut into slices. A batch is one
slice of each shard, and a sum over a batch adds its slices in a fixed order. All of this depends
only on the number of rows and the seed, never on threads, files, partitions or workers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from .._loops.arrays import add_parts
from .._loops.threads import ordered_map
from .maps import is_mapped, release_pages

# Steps of an epoch at most: on a cluster each one is a message to all workers and back.
MOST_STEPS = 512
# Rows of a slice, since fewer are finished before a second thread starts; shards at most.
SLICE_ROWS, MOST_SHARDS = 512, 64
# Numbers that are shuffled together, and read from a file at once; rows of a shard at least.
WINDOW_NUMBERS, FEWEST_TOGETHER = 2**23, 1024
# Rows of a run, which are read from a file together; a window has RUNS runs of each shard, so that
# rows sorted by their labels are mixed.
LONGEST_RUN, RUNS = 1024, 64
# Sums that one task adds.
ADDED_AT_ONCE = 8
# Bytes read at once from a memory map or a sparse matrix.
STREAMED_BYTES = 2**25


@dataclass(frozen=True)
class BatchPlan:
    """Deterministic mini-batch schedule: ``n_steps`` batches an epoch, one slice of each shard."""

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
        """Plan batches of about ``batch_size`` of the ``n_kept`` rows that are used.

        Batches are larger if an epoch would have too many of them.
        """
        batch_size = enough_rows(batch_size, n_kept)
        # Two slices from 512 rows on, for two threads.
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
        """Return the rows of a shard."""
        return _nth_part(self.n_rows, number, self.n_shards)

    def window(
        self, epoch: int, shard: int, number: int, kept: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sorted places of a window's rows within its shard, and their random order.

        ``kept`` marks the rows of the shard that are used.
        """
        rows = self.shard(shard)
        places = np.arange(rows.stop - rows.start)
        if self.n_windows > 1:
            n_runs = -(-len(places) // self.run_rows)
            runs = np.random.default_rng([self.seed, epoch, shard]).permutation(n_runs)
            in_window = np.zeros(n_runs, dtype=bool)
            in_window[runs[_nth_part(n_runs, number, self.n_windows)]] = True
            places = places[np.repeat(in_window, self.run_rows)[: len(places)]]
        if kept is not None:
            places = places[kept[places]]
        return places, np.random.default_rng([self.seed, epoch, shard, number]).permutation(
            len(places)
        )

    def slice_of(self, order: np.ndarray, number: int) -> np.ndarray:
        """Return the part of a window that belongs to one batch."""
        return order[_nth_part(len(order), number, self.n_slices)]


def enough_rows(batch_size: int, n_kept: int) -> int:
    """Return the batch size: the requested one, or enough for at most ``MOST_STEPS`` batches."""
    return max(batch_size, -(-n_kept // MOST_STEPS))


def kept_rows(excluded: np.ndarray, rows: slice) -> np.ndarray | None:
    """Return a mask of the rows that are not in the sorted ``excluded``, or None for all."""
    first, last = np.searchsorted(excluded, [rows.start, rows.stop])
    if first == last:
        return None
    kept = np.ones(rows.stop - rows.start, dtype=bool)
    kept[excluded[first:last] - rows.start] = False
    return kept


def _nth_part(n_items, number, n_parts):
    """Return one of ``n_parts`` contiguous parts whose lengths differ by at most one."""
    return slice(number * n_items // n_parts, (number + 1) * n_items // n_parts)


# --- rows on this machine -------------------------------------------------------------------------


def local_batches(
    source: Any, plan: BatchPlan, epoch: int, excluded: np.ndarray, signals: tuple
) -> Iterator[Callable[[Callable], tuple]]:
    """Yield the batches of an epoch as functions of a block function.

    Each returns the sum of ``block(source, places, *signals)`` over the slices of the batch.
    """
    shards = [plan.shard(s) for s in range(plan.n_shards)]
    for window in range(plan.n_windows):
        windows = [
            _Window(source, rows, *plan.window(epoch, s, window, kept_rows(excluded, rows)))
            for s, rows in enumerate(shards)
        ]
        for number in range(plan.n_slices):
            yield partial(_summed, [one.slice_of(plan, number, signals) for one in windows])
        del windows  # before the next window is read


class _Window:
    """Rows of a window: a copy if the source is a memory map, else the source itself."""

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
    if len(slices) == 1:
        return block(*slices[0])
    return added_in_groups([*ordered_map(lambda one: slice_sum(block, *one), slices)])


def slice_sum(block: Callable, *arguments: Any) -> tuple:
    """Return a copy of the sums of a block function, which may reuse its memory."""
    return tuple(np.array(part) for part in block(*arguments))


def added_in_groups(sums: list) -> tuple:
    """Add tuples of arrays by groups in a fixed order, the same on one machine and on many."""
    while len(sums) > 1:
        groups = (sums[i : i + ADDED_AT_ONCE] for i in range(0, len(sums), ADDED_AT_ONCE))
        sums = [reduce(add_parts, group, None) for group in groups]
    return sums[0]


def streamed_blocks(source, row_bytes, rng):
    """Yield (first row, block) of a memory map or a sparse matrix in random order.

    The blocks of a memory map share one array.
    """
    size, n_rows = max(256, STREAMED_BYTES // row_bytes), source.shape[0]
    starts = rng.permutation(np.arange(0, n_rows, size))
    if sp.issparse(source):
        yield from ((int(start), source[start : start + size]) for start in starts)
        return
    block = np.empty((min(size, n_rows), source.shape[1]), source.dtype)
    for start in starts:
        filled = block[: min(size, n_rows - start)]
        for part in gen_batches(len(filled), -(-size // 4)):
            rows = slice(int(start) + part.start, int(start) + part.stop)
            filled[part] = source[rows]
            release_pages(source, rows)
        yield int(start), filled


def shuffled_within(start, block, size, rng):
    """Yield the batches of one block that begins at row ``start``."""
    picked = rng.permutation(np.arange(start, start + block.shape[0]))
    for first in range(0, len(picked), size):
        numbers = picked[first : first + size]
        yield block, numbers - start, numbers
