"""The batches of ``batches.py`` on a cluster: rows stay with the workers, parameters go there and
sums come back.

Each worker holds some shards, and a step is a message to all of them and back. Few rows are brought
here instead, where a batch takes less time than a message. Both are the batches of rows in memory,
and give the same digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._loops.threads import single_threaded_blas
from ..batches import ADDED_AT_ONCE, BatchPlan, add_all, kept_rows, slice_sum
from ..rows import assert_finite
from .clusters import computed, persisted, worker_threads

# Rows up to this size are brought into the memory of the client.
FEW_BYTES = 2**28


class DaskShards:
    """The shards of a Dask array with what belongs to their rows, some on each worker.

    Partitions that are in the workers' memory are not copied; those that are not are computed once
    and kept while this lives. A shard, and the order of its rows in an epoch, is a pure function:
    when its worker dies, another one makes it again.
    """

    def __init__(self, source: Any, plan: BatchPlan, excluded: np.ndarray, signals: tuple):
        self.source, self.plan, self.excluded, self.signals = source, plan, excluded, signals

    @cached_property
    def bundles(self) -> list:
        """(numbers of shards, these shards as one object on a worker): as few as there are threads
        for, all of one group of what is added.

        A step is a task for each bundle. How many these are changes no digit: sums of shards are
        added in the order of shards.
        """
        import dask

        size = ADDED_AT_ONCE
        while size > 1 and self.plan.n_shards < size * worker_threads():
            size //= 2
        make = dask.delayed(_shards)
        numbers = [
            range(s, min(s + size, self.plan.n_shards)) for s in range(0, self.plan.n_shards, size)
        ]
        held = persisted(*(make(*zip(*map(self._parts_of, some), strict=True)) for some in numbers))
        return list(zip(numbers, held, strict=True))

    def _parts_of(self, number):
        rows = self.plan.shard(number)
        pieces = self.source[rows].rechunk({1: -1}).to_delayed().ravel().tolist()
        return (
            pieces,
            rows.start,
            [signal[rows] for signal in self.signals],
            kept_rows(self.excluded, rows),
        )

    def __call__(self, epoch: int) -> Iterator[Callable[[Callable], tuple]]:
        """As ``local_batches``."""
        import dask

        order = dask.delayed(_orders)
        for window in range(self.plan.n_windows):
            orders = persisted(
                *(order(self.plan, epoch, some, window, held) for some, held in self.bundles)
            )
            for number in range(self.plan.n_slices):
                yield partial(self._summed, orders, number)

    def _summed(self, orders, number, block):
        """The sum of a batch: of each bundle's shards, of the bundles of a group, of the groups."""
        import dask

        one = dask.delayed(
            block, traverse=False
        )  # travels to each worker once, not with every task
        part, add = dask.delayed(_part_of_batch), dask.delayed(_added)
        bundles_a_group = ADDED_AT_ONCE // len(self.bundles[0][0])
        alone = bundles_a_group == 1 or len(self.bundles) == 1
        together = zip(self.bundles, orders, strict=True)
        sums = [part(one, self.plan, held, order, number, alone) for (_, held), order in together]
        if 1 < bundles_a_group < len(sums):
            sums = [
                add(sums[i : i + bundles_a_group]) for i in range(0, len(sums), bundles_a_group)
            ]
        return computed(add(sums) if len(sums) > 1 else sums[0])[0][0]


class _Shard:
    """Contiguous rows in the pieces that they came in, and one array for each signal."""

    def __init__(self, pieces, first_row, signals, kept):
        self.pieces = [
            piece.tocsr() if sp.issparse(piece) else np.asarray(piece)
            for piece in pieces
            if piece.shape[0]
        ]
        self.stops = np.cumsum([piece.shape[0] for piece in self.pieces])
        self.signals, self.kept = signals, kept
        for stop, piece in zip(self.stops, self.pieces):
            assert_finite(piece, first_row=first_row + int(stop) - piece.shape[0])

    def rows(self, places):
        """An array, and the places there of these rows; gathered where there are several pieces."""
        if len(self.pieces) == 1:
            return self.pieces[0], places
        owners = np.searchsorted(self.stops, places, side="right")
        gathered = np.empty((len(places), self.pieces[0].shape[1]), self.pieces[0].dtype)
        for number in np.unique(owners):
            here = owners == number
            piece = self.pieces[number]
            taken = piece[places[here] - (int(self.stops[number]) - piece.shape[0])]
            gathered[here] = taken.toarray() if sp.issparse(taken) else taken
        return gathered, np.arange(len(places))


def _shards(pieces, starts, signals, kept):
    return [_Shard(*one) for one in zip(pieces, starts, signals, kept, strict=True)]


def _orders(plan, epoch, numbers, window, shards):
    windows = (
        plan.window(epoch, s, window, shard.kept) for s, shard in zip(numbers, shards, strict=True)
    )
    return [places[order] for places, order in windows]


def _part_of_batch(block, plan, shards, orders, number, alone):
    """The sums of some shards' slices, added where these are ``alone`` in their group."""
    sums = []
    with single_threaded_blas():  # as on one machine, where threads share the slices
        for shard, order in zip(shards, orders, strict=True):
            places = plan.slice_of(order, number)
            sums.append(
                slice_sum(block, *shard.rows(places), *(signal[places] for signal in shard.signals))
            )
    return _added([sums]) if alone else sums


def _added(lists):
    """The sum of lists of sums, as a list of one."""
    return [add_all([one for sums in lists for one in sums])]
