"""Mini-batches on Dask: rows stay with the workers, parameters are sent and sums are returned.

Each worker holds some shards, and a step is one message to all of them and back. Few rows are
computed on the client instead, where a batch takes less time than a message. Both give the batches
of rows in memory, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial, reduce
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._loops.arrays import add_parts, as_dense, assert_finite
from ..._loops.threads import single_threaded_blas
from ..batches import ADDED_AT_ONCE, BatchPlan, kept_rows, slice_sum
from .clusters import computed, persisted, worker_threads

# Rows up to this many bytes are computed on the client.
FEW_BYTES = 2**28


class DaskShards:
    """Shards of a Dask array and of its signals, distributed over the workers.

    Partitions in the workers' memory are not copied; others are computed once and kept while this
    object lives. A shard, and the order of its rows in an epoch, is a pure function: when its
    worker dies, another worker computes it again.
    """

    def __init__(self, source: Any, plan: BatchPlan, excluded: np.ndarray, signals: tuple):
        self.source, self.plan, self.excluded, self.signals = source, plan, excluded, signals

    @cached_property
    def bundles(self) -> list:
        """Return pairs (numbers of shards, these shards as one object on a worker).

        A step is one task per bundle, so there are only as many bundles as threads can use. The
        shards of a bundle belong to one group of the sum. The number of bundles does not change
        results: sums are added in the order of shards.
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
        """Yield the batches of an epoch, see ``local_batches``."""
        import dask

        order = dask.delayed(_orders)
        for window in range(self.plan.n_windows):
            orders = persisted(
                *(order(self.plan, epoch, some, window, held) for some, held in self.bundles)
            )
            for number in range(self.plan.n_slices):
                yield partial(self._summed, orders, number)

    def _summed(self, orders, number, block):
        """Return the sum of a batch: over shards of a bundle, bundles of a group, and groups."""
        import dask

        one = dask.delayed(block, traverse=False)  # sent to each worker once
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
        """Return an array that holds these rows, and their places in it."""
        if len(self.pieces) == 1:
            return self.pieces[0], places
        owners = np.searchsorted(self.stops, places, side="right")
        rows = np.empty((len(places), self.pieces[0].shape[1]), self.pieces[0].dtype)
        for number in np.unique(owners):
            in_piece = owners == number
            piece = self.pieces[number]
            selected = piece[places[in_piece] - (int(self.stops[number]) - piece.shape[0])]
            rows[in_piece] = as_dense(selected)
        return rows, np.arange(len(places))


def _shards(pieces, starts, signals, kept):
    return [_Shard(*one) for one in zip(pieces, starts, signals, kept, strict=True)]


def _orders(plan, epoch, numbers, window, shards):
    windows = (
        plan.window(epoch, s, window, shard.kept) for s, shard in zip(numbers, shards, strict=True)
    )
    return [places[order] for places, order in windows]


def _part_of_batch(block, plan, shards, orders, number, alone):
    """Return the sums of some shards' slices, added up if they are a whole group (``alone``)."""
    sums = []
    with single_threaded_blas():  # as in memory, where threads share the slices
        for shard, order in zip(shards, orders, strict=True):
            places = plan.slice_of(order, number)
            sums.append(
                slice_sum(block, *shard.rows(places), *(signal[places] for signal in shard.signals))
            )
    return _added([sums]) if alone else sums


def _added(lists):
    """Add up lists of sums, and return a list of one."""
    return [reduce(add_parts, chain.from_iterable(lists), None)]
