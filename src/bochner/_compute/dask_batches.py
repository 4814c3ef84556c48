"""The batches of ``batches.py`` on a cluster: shards stay with the workers, parameters go there and sums come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from .batches import BatchPlan, add_all, added_in_groups, kept_rows, slice_sum
from .rows import assert_finite
from .threads import single_threaded_blas


class DaskShards:
    """The shards of a Dask array with what belongs to their rows, each held by one worker.

    Partitions that are in the workers' memory are not copied; those that are not are computed once and kept while this lives.
    A shard, and the order of its rows in an epoch, is a pure function: when its worker dies, another one makes it again.
    """

    def __init__(self, source: Any, plan: BatchPlan, apart: np.ndarray, signals: tuple):
        import dask

        self.plan = plan
        parts = [(plan.shard(s), dask.delayed(_Shard)) for s in range(plan.n_shards)]
        self.shards = dask.persist(
            *(
                make(
                    _pieces(source, rows),
                    rows.start,
                    [_pieces(signal, rows) for signal in signals],
                    kept_rows(apart, rows),
                )
                for rows, make in parts
            )
        )

    def batches(self, epoch: int) -> Iterator[Callable[[Callable], tuple]]:
        """As ``local_batches``."""
        import dask

        order, add = dask.delayed(_order), dask.delayed(add_all)
        for window in range(self.plan.n_windows):
            orders = dask.persist(*(order(self.plan, epoch, s, window, shard) for s, shard in enumerate(self.shards)))
            for number in range(self.plan.n_slices):

                def summed(block, orders=orders, number=number):
                    one = dask.delayed(block, traverse=False)  # travels to each worker once, not with every task
                    part = dask.delayed(_part_of_batch)
                    sums = [part(one, self.plan, shard, order, number) for shard, order in zip(self.shards, orders)]
                    return dask.compute(added_in_groups(sums, add))[0]

                yield summed


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


def _order(plan, epoch, number, window, shard):
    places, order = plan.window(epoch, number, window, shard.kept)
    return places[order]


def _part_of_batch(block, plan, shard, order, number):
    places = plan.slice_of(order, number)
    with single_threaded_blas():  # as on one machine, where threads share the slices
        return slice_sum(block, *shard.rows(places), *(signal[places] for signal in shard.signals))
