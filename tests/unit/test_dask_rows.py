"""Rows of small Dask arrays: sums, maps and selections are those of the array in memory."""

import numpy as np
import pytest

from bochner.data.dask.inputs import group_bounds
from bochner.data.dask.rows import DaskRows
from bochner.data.dask.tables import DaskTable
from bochner.data.inputs import TableInputs

da = pytest.importorskip("dask.array")
N = 150
X = np.random.default_rng(0).normal(size=(N, 3))
Y = np.arange(N, dtype=float)
# Few partitions, one of them empty; and more than the 64 groups that are summed at once.
PARTITIONS = {"few": (60, 0, 50, 40), "many": (1,) * 60 + (9,) * 10}


def _partitioned(array, lengths):
    stops = np.cumsum(lengths)
    parts = [array[stop - length : stop] for stop, length in zip(stops, lengths)]
    return da.concatenate([da.from_array(part, chunks=max(len(part), 1)) for part in parts])


@pytest.fixture(params=[("few", False), ("few", True), ("many", True)], ids=str)
def rows(request):
    name, held = request.param
    return DaskRows(_partitioned(X, PARTITIONS[name]), persist=held)


def _weighted(block, y):
    return block.T @ y


def _scaled(block, y, out):
    out[...] = block * y[:, None]


def test_sums_with_a_column_of_signals(rows):
    np.testing.assert_allclose(rows.sum(_weighted, Y), X.T @ Y)
    np.testing.assert_allclose(rows.sum(_weighted, da.from_array(Y, chunks=70)), X.T @ Y)


def test_maps_with_a_column_of_signals(rows):
    for _ in range(2):  # also after a sum, when workers may hold the rows
        np.testing.assert_array_equal(rows.map(_scaled, 3, signals=[Y]).compute(), X * Y[:, None])
        rows.sum(_weighted, Y)


def test_selected_rows_come_from_all_partitions(rows):
    numbers = np.array([0, 59, 60, 61, 109, 110, N - 1])
    for _ in range(2):
        np.testing.assert_array_equal(rows.take(numbers), X[numbers])
        rows.sum(_weighted, Y)


def test_selected_rows_of_a_table_come_from_all_partitions():
    numbers = np.array([0, 59, 60, 61, 109, 110, N - 1])
    for lengths in PARTITIONS.values():
        table = DaskTable(TableInputs(), _partitioned(X, lengths), False)
        np.testing.assert_array_equal(table.take(numbers), X[numbers])


def test_groups_of_partitions_have_equal_shares_of_the_rows():
    np.testing.assert_array_equal(group_bounds(np.ones(128, int)), np.arange(0, 129, 2))


def test_a_partition_of_another_dtype_is_refused():
    wrong = da.from_array(X, chunks=(50, 3)).map_blocks(np.float32, dtype=np.float64)
    with pytest.raises(ValueError, match="holds float32, but Dask declares float64"):
        DaskRows(wrong).sum(_weighted, Y)
