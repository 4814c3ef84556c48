"""Rows of a Dask collection: sums and maps run on the workers, and only results are returned."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._loops.arrays import working_dtype
from ..batches import shuffled_within
from ..checks import assert_unmasked, inconsistent_rows
from ..rows import LocalRows, Rows, as_rows
from .batches import FEW_BYTES, DaskShards
from .clusters import computed, has_room, is_persisted, persisted, sent, warn_of_rereading
from .inputs import (
    added,
    assert_declared,
    assert_two_dimensional,
    by_partition,
    group_bounds,
    group_sizes,
    plus,
    remote_array,
)


class DaskRows(Rows):
    """Rows of a two-dimensional Dask array or frame; workers check that numbers are finite.

    Sums are added in order within a group of partitions, then by a tree over groups. With
    ``persist`` the workers keep the groups in memory from the first sum on, if there is room. So
    several sums read the data once.
    """

    def __init__(
        self,
        source: Any,
        block_size: int | str = "auto",
        names: Any = None,
        *,
        persist: bool = False,
    ):
        source = remote_array(source)
        assert_two_dimensional(source)
        if source.dtype.kind not in "fiub":
            raise ValueError(
                f"Got a Dask array of dtype {source.dtype}; bochner needs real numbers."
            )
        source = source.rechunk({1: -1})  # no copy if there is one chunk of columns
        self.source = source.astype(working_dtype(source), copy=False)
        self.block_size, self.names = block_size, names
        self._groups = _Groups(self.source, names, persist)

    @property
    def has_cheap_access(self):
        """True if workers keep the rows in memory; otherwise some rows cost as much as a pass."""
        return self._groups.are_persisted()

    def sum(self, block, *signals):
        import dask

        groups, sizes = self._groups.for_pass()
        # One delayed object, so that its frequencies are sent to a worker once a pass.
        function = dask.delayed(partial(_group_sum, block, self.block_size))
        columns = [self._in_pieces(signal, sizes) for signal in signals]
        sums = [function(*parts) for parts in zip(groups, *columns, strict=True)]
        return computed(added(sums, self._groups.counts(len(sums))))[0]

    def map(self, block, n_columns=None, *, dtype=None, out=None, signals=()):
        import dask
        import dask.array as da

        if out is not None:
            raise ValueError(
                "out= is for arrays in memory or on disk; a Dask result stays on the cluster."
            )
        dtype = np.dtype(self.dtype if dtype is None else dtype)
        groups, sizes = self._groups.current()
        function = dask.delayed(partial(_group_map, block, n_columns, dtype, self.block_size))
        pieces = zip(groups, *(self._in_pieces(signal, sizes) for signal in signals), strict=True)
        shape = () if n_columns is None else (n_columns,)
        return da.concatenate(
            [
                da.from_delayed(function(*parts), (size, *shape), dtype)
                for size, parts in zip(sizes, pieces)
            ]
        )

    def values(self, block, n_columns=None, *, dtype=None, signals=()):
        return computed(self.map(block, n_columns, dtype=dtype, signals=signals))[0]

    def persist(self, signal):
        self._groups.are_persisted()  # from now on groups do not change
        return None if signal is None else PersistedSignal(signal, self._groups.current()[1])

    def _in_pieces(self, signal, sizes):
        """Return a signal in pieces, one for each group or partition."""
        if signal.shape[0] != sum(sizes):
            raise ValueError(inconsistent_rows(sum(sizes), signal.shape[0]))
        return signal.pieces if isinstance(signal, PersistedSignal) else _cut(signal, sizes)

    def assert_all_finite(self):
        self.sum(_zero)

    def take(self, numbers):
        import dask

        groups, sizes = self._groups.current()
        take = dask.delayed(_taken)
        pieces = zip(groups, by_partition(numbers, sizes), strict=True)
        selected = list(computed(*(take(group, some) for group, some in pieces if len(some))))
        if not selected:
            return np.empty((0, self.n_features), self.source.dtype)
        return _stacked(selected)

    def epochs(self, plan, excluded, *signals):
        if self.source.dtype.itemsize * self.source.size <= FEW_BYTES:
            (numbers,) = computed(self.source)
            assert_unmasked(numbers, "X")
            return as_rows(numbers, names=self.names).epochs(plan, excluded, *signals)
        return DaskShards(self.source, plan, excluded, signals)

    def batches(self, size, rng):
        lengths = self.source.chunks[0]
        for number in rng.permutation(len(lengths)).tolist():
            if lengths[number]:
                (part,) = computed(self.source.blocks[number])
                (block,) = _checked(number, _declared(self.source), self.names, part)
                yield from shuffled_within(sum(lengths[:number]), block, size, rng)


class _Groups:
    """Groups of partitions of an array, as lists on the workers; shared by copies of the rows."""

    def __init__(self, source, names, persist):
        self.source, self.names, self.persist = source, names, persist
        self.lengths = source.chunks[0]
        self.bounds = group_bounds(self.lengths)
        self.persisted_groups: Any = None
        self.n_passes = 0

    def for_pass(self):
        """Return lists of partitions, and the rows in each; the first call may persist groups."""
        self._persist()
        self.n_passes += 1
        if self.persist and self.n_passes == 2 and not self.are_persisted():
            warn_of_rereading(self._bytes())
        return self.current()

    def are_persisted(self):
        """Return True if the workers keep the rows in memory; persist them first if possible."""
        self._persist()
        return self.persisted_groups is not None or is_persisted(self.source)

    def current(self):
        """Return the same as ``for_pass``, but do not count a pass."""
        if self.persisted_groups is not None:
            return self.persisted_groups, group_sizes(self.lengths)
        return self._lists(range(len(self.lengths) + 1)), self.lengths

    def counts(self, n_sums):
        """Return the number of sums of a pass in each group."""
        return np.diff(self.bounds) if n_sums == len(self.lengths) else np.ones(n_sums, int)

    def _lists(self, bounds):
        """Return delayed lists of checked partitions, those between two bounds each."""
        import dask

        check, parts = dask.delayed(_checked), self.source.to_delayed().ravel()
        declared = _declared(self.source)
        return [
            check(int(first), declared, self.names, *parts[first:last])
            for first, last in pairwise(bounds)
        ]

    def _persist(self):
        """Let the workers keep the groups in memory, if that is wanted and there is room."""
        if self.persisted_groups is None and self.persist and has_room(self._bytes()):
            self.persisted_groups = list(persisted(*self._lists(self.bounds)))

    def _bytes(self):
        return self.source.dtype.itemsize * self.source.size


def _declared(source):
    """Return the number of columns and the dtype of every partition."""
    return source.shape[1], source.dtype


class PersistedSignal:
    """Signal that the workers keep in pieces, so that it is sent once for many sums."""

    def __init__(self, signal: np.ndarray, sizes: Any):
        self.shape, self.pieces = signal.shape, sent(_cut(signal, sizes))


def _cut(signal, sizes):
    stops = np.cumsum(sizes)
    return [signal[stop - size : stop] for stop, size in zip(stops, sizes, strict=True)]


def _zero(X):
    return np.zeros(())


def _checked(first, declared, names, *parts):
    """Return partitions, of numbers from ``first`` on, as finite arrays or CSR matrices.

    ``declared`` are the number of columns and the dtype that each of them must have.
    """
    checked = []
    for number, part in enumerate(parts, first):
        assert_unmasked(part, "X")
        assert_declared(part, number, *declared)
        part = part.tocsr() if sp.issparse(part) else np.asarray(part)
        LocalRows(part).assert_finite(names=names, place=f" of partition {number}")
        checked.append(part)
    return checked


def _group_sum(block, block_size, parts, *signals):
    """Return the sum over the partitions of a group in order, None if all are empty."""
    total, start = None, 0
    for part in parts:
        rows = slice(start, start + part.shape[0])
        start = rows.stop
        if part.shape[0]:
            sums = LocalRows(part, block_size).sum(block, *(signal[rows] for signal in signals))
            total = sums if total is None else plus(total, sums)
    return total


def _group_map(block, n_columns, dtype, block_size, parts, *signals):
    """Return the map over the partitions of a group in order."""
    start, width = 0, () if n_columns is None else (n_columns,)
    out = np.empty((sum(part.shape[0] for part in parts), *width), dtype)
    for part in parts:
        rows = slice(start, start + part.shape[0])
        start = rows.stop
        if part.shape[0]:
            own = [signal[rows] for signal in signals]
            LocalRows(part, block_size).map(block, n_columns, out=out[rows], signals=own)
    return out


def _taken(parts, numbers):
    """Return the rows of a group with these sorted numbers."""
    pieces = zip(parts, by_partition(numbers, [part.shape[0] for part in parts]))
    selected = [part[some] for part, some in pieces if len(some)]
    return _stacked(selected)


def _stacked(parts):
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
