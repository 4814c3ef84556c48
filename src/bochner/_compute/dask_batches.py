"""The batches of ``batches.py`` on a cluster: rows stay with the workers, parameters go there and sums come back.

Of many rows each worker holds some shards, and a step is a message to all of them and back.  Few rows, far quicker to pass over on one
worker than to ask all of them for every batch, are put together on one: an epoch is then a single task, which comes back with the
parameters it has reached.  Both are the batches of rows in memory, and give the same digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .batches import ADDED_AT_ONCE, BatchPlan, add_all, kept_rows, local_batches, slice_sum
from .clusters import computed, one_worker_has_room, worker_threads
from .rows import assert_finite
from .threads import single_threaded_blas, threads_for_rows_only

# Rows and what belongs to them are put together up to this size.
WHOLE_BYTES = 2**28


def dask_epochs(source: Any, plan: BatchPlan, apart: np.ndarray, signals: tuple) -> DaskShards:
    """The epochs of a Dask array's rows, wherever these are best held."""
    n_bytes = sum(part.dtype.itemsize * part.size for part in (source, *signals))
    few = n_bytes <= WHOLE_BYTES and one_worker_has_room(n_bytes)
    return (DaskWhole if few else DaskShards)(source, plan, apart, signals)


class DaskShards:
    """The shards of a Dask array with what belongs to their rows, some on each worker.

    Partitions that are in the workers' memory are not copied; those that are not are computed once and kept while this lives.
    A shard, and the order of its rows in an epoch, is a pure function: when its worker dies, another one makes it again.
    """

    def __init__(self, source: Any, plan: BatchPlan, apart: np.ndarray, signals: tuple):
        self.source, self.plan, self.apart, self.signals = source, plan, apart, signals

    @cached_property
    def bundles(self) -> list:
        """(numbers of shards, these shards as one object on a worker): as few as there are threads for, all of one group of what is added.

        A step is a task for each bundle.  How many these are changes no digit: sums of shards are added in the order of shards.
        """
        import dask

        size = ADDED_AT_ONCE
        while size > 1 and self.plan.n_shards < size * worker_threads():
            size //= 2
        make = dask.delayed(_shards)
        numbers = [range(s, min(s + size, self.plan.n_shards)) for s in range(0, self.plan.n_shards, size)]
        held = dask.persist(*(make(*zip(*map(self._parts_of, some), strict=True)) for some in numbers))
        return list(zip(numbers, held, strict=True))

    def _parts_of(self, number):
        rows = self.plan.shard(number)
        signals = [_pieces(signal, rows) for signal in self.signals]
        return _pieces(self.source, rows), rows.start, signals, kept_rows(self.apart, rows)

    def __call__(self, epoch: int) -> Iterator[Callable[[Callable], tuple]]:
        """As ``local_batches``."""
        import dask

        order = dask.delayed(_orders)
        for window in range(self.plan.n_windows):
            orders = dask.persist(*(order(self.plan, epoch, some, window, held) for some, held in self.bundles))
            for number in range(self.plan.n_slices):
                yield partial(self._summed, orders, number)

    def _summed(self, orders, number, block):
        """The sum of a batch: of each bundle's shards, of the bundles of a group, of the groups."""
        import dask

        one = dask.delayed(block, traverse=False)  # travels to each worker once, not with every task
        part, add = dask.delayed(_part_of_batch), dask.delayed(_added)
        bundles_a_group = ADDED_AT_ONCE // len(self.bundles[0][0])
        alone = bundles_a_group == 1 or len(self.bundles) == 1
        together = zip(self.bundles, orders, strict=True)
        sums = [part(one, self.plan, held, order, number, alone) for (_, held), order in together]
        if 1 < bundles_a_group < len(sums):
            sums = [add(sums[i : i + bundles_a_group]) for i in range(0, len(sums), bundles_a_group)]
        return computed(add(sums) if len(sums) > 1 else sums[0])[0][0]


class DaskWhole(DaskShards):
    """The same batches of rows that one worker holds: an epoch is walked over there."""

    @cached_property
    def whole(self) -> Any:
        import dask

        rows = slice(0, self.plan.n_rows)
        signals = [_pieces(signal, rows) for signal in self.signals]
        return dask.persist(dask.delayed(_whole)(_pieces(self.source, rows), signals, self.apart))[0]

    def walked(self, epoch: int, walks: list, walk: Callable) -> list:
        """As ``batches.walked``; a worker that dies loses an epoch, which another one walks again."""
        import dask

        there = dask.delayed(_walked)
        return list(computed(*(there(walk, one, self.plan, epoch, self.whole) for one in walks)))


def _pieces(collection, rows):
    """Some rows of an array, as it is or, of a Dask array, as its delayed partitions."""
    part = collection[rows]
    if isinstance(part, np.ndarray):
        return [part]
    return part.rechunk(dict.fromkeys(range(1, part.ndim), -1)).to_delayed().ravel().tolist()


class _Shard:
    """Contiguous rows in the pieces that they came in, and one array for each signal."""

    def __init__(self, pieces, first_row, signals, kept):
        self.pieces = [piece.tocsr() if sp.issparse(piece) else np.asarray(piece) for piece in pieces if piece.shape[0]]
        self.stops = np.cumsum([piece.shape[0] for piece in self.pieces])
        self.signals = [np.concatenate([np.asarray(part) for part in parts]) for parts in signals]
        self.kept = kept
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
    windows = (plan.window(epoch, s, window, shard.kept) for s, shard in zip(numbers, shards, strict=True))
    return [places[order] for places, order in windows]


def _part_of_batch(block, plan, shards, orders, number, alone):
    """The sums of some shards' slices, added where these are ``alone`` in their group."""
    sums = []
    with single_threaded_blas():  # as on one machine, where threads share the slices
        for shard, order in zip(shards, orders, strict=True):
            places = plan.slice_of(order, number)
            sums.append(slice_sum(block, *shard.rows(places), *(signal[places] for signal in shard.signals)))
    return _added([sums]) if alone else sums


def _added(lists):
    """The sum of lists of sums, as a list of one."""
    return [add_all([one for sums in lists for one in sums])]


def _whole(pieces, signals, apart):
    """All rows as one array, their signals, and the numbers of those that take no part."""
    shard = _Shard(pieces, 0, signals, None)
    pieces = shard.pieces
    rows = (
        pieces[0]
        if len(pieces) == 1
        else sp.vstack(pieces, "csr")
        if sp.issparse(pieces[0])
        else np.concatenate(pieces)
    )
    return rows, tuple(shard.signals), apart


def _walked(walk, one, plan, epoch, whole):
    rows, signals, apart = whole
    with threads_for_rows_only():  # a copy, as a task may be run twice, and may be in the caller's own process
        return walk([deepcopy(one)], local_batches(rows, plan, epoch, apart, signals))[0]
