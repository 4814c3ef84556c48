"""What travels to and from a cluster, how many tasks there are, and that sums depend on neither."""

import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from dask_samples import CASES, NAMES, QUICK, SIGNAL, TWO, N, X, chunked, every_case, fitted, said
from selection import long_except
from sklearn.base import clone

from bochner import LandmarkFeatures, OperatorClassifier, OperatorRegressor, SpectralRidge
from bochner.boosting import gbrff_base, shared
from bochner.data import as_rows, batches
from bochner.data.dask import clusters
from bochner.data.dask import rows as dask_rows
from bochner.data.dask.inputs import group_bounds, group_sizes
from bochner.data.targets import Labels, Values, as_target
from bochner.learners.descent import joint_descent
from bochner.learners.game import value as game_value
from bochner.models import certified as certificates

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
RNG = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def in_this_thread():
    """Run the tasks of Dask one after another."""
    with dask.config.set(scheduler="synchronous"):
        yield


class Watched:
    """A scheduler that notes how many bytes come back to who asked, and how many tasks were run."""

    def __init__(self, monkeypatch):
        self.bytes, self.tasks, self._held = 0, 0, threading.local()
        persist = dask.base.persist

        def holding(*collections, **keywords):
            self._held.now = True
            try:
                return persist(*collections, **keywords)
            finally:
                self._held.now = False

        monkeypatch.setattr(dask, "persist", holding)
        monkeypatch.setattr(dask.base, "persist", holding)

    def __call__(self, graph, keys, **keywords):
        from dask.sizeof import sizeof

        graph = dict(graph.__dask_graph__() if hasattr(graph, "__dask_graph__") else graph)
        self.tasks += len(graph)
        results = dask.get(graph, keys)
        if not getattr(self._held, "now", False):
            self.bytes += sizeof(results)
        return results


@pytest.fixture
def watched(monkeypatch):
    watching = Watched(monkeypatch)
    with dask.config.set(scheduler=watching):
        yield watching


# Numbers of each row that come to the client: y, weights and keys of rows, and those of a step or
# round.
_NUMBERS_A_ROW = {
    "certified": 60,
    "GBRFF1": 60,
    "GBRFF1 of random rows": 60,
    "GBRFF2": 60,
    "GBRFF2 of several": 60,
}


@pytest.mark.parametrize(
    "name", long_except(CASES, *(set(QUICK) - {"certified", "GBRFF2", "logistic"}))
)
def test_rows_do_not_come_to_the_client(name, watched, monkeypatch):
    """With three times the rows, a few numbers for each further row come here, and statistics of
    the same size.
    """
    monkeypatch.setattr(batches, "MOST_STEPS", 8)  # the gradient of each step travels
    monkeypatch.setattr(dask_rows, "FEW_BYTES", 0)
    monkeypatch.setattr(joint_descent, "_START_ROWS", 400)
    monkeypatch.setattr(game_value, "_MACHINE_ENTRIES", 2**12)
    monkeypatch.setattr(certificates, "_MOST_TAILS", 2**12)
    monkeypatch.setattr(gbrff_base, "_MOST_HELD_OUT", 400)
    monkeypatch.setattr(shared, "IMPORTANCE_ROWS", 400)
    estimator, y = CASES[name]
    if isinstance(estimator, LandmarkFeatures) and estimator.landmarks == "kmeans":
        pytest.skip("centroids are those of up to 50 000 rows of a class, which come to the client")
    wide, travelled = (
        np.hstack([X] * 25),
        [],
    )  # rows of 100 numbers, many more than may come for each
    for copies in (1, 3):
        before = watched.bytes
        rows, column = (
            chunked(np.tile(wide, (copies, 1)), 1600),
            chunked(np.concatenate([y] * copies), 2100),
        )
        model = clone(estimator).set_params(random_state=0)
        if isinstance(
            model, OperatorClassifier | OperatorRegressor
        ):  # whose objective is summed in as many steps then
            model.set_params(alpha=copies)
        model.fit(rows, column)
        model.fit(rows, column, sample_weight=chunked(np.ones(len(rows)), 2900))
        if hasattr(model, "score"):
            model.score(rows, column)
        travelled.append(watched.bytes - before)
    numbers = _NUMBERS_A_ROW.get(name, 30)
    assert travelled[1] <= 1.05 * travelled[0] + 20_000 + numbers * 8 * 2 * N


@every_case
def test_predictions_are_made_when_they_are_asked_for(name, watched):
    model = fitted(name, X[:500], CASES[name][1][:500])
    before = watched.tasks
    said(model, chunked(X, 500))
    assert watched.tasks == before


def test_the_tasks_of_a_pass_are_bounded(watched):
    def tasks(n_partitions):
        rows = as_rows(da.zeros((2**14, 2), chunks=(2**14 // n_partitions, 2)), persist=True)
        column = np.zeros(2**14)
        rows.assert_all_finite()
        before = watched.tasks
        rows.sum(_count, column)
        return watched.tasks - before

    assert tasks(512) <= tasks(64) * 1.1 < 500


def _count(block, *_):
    return np.array(float(block.shape[0]))


def test_signals_are_sent_in_the_groups_of_their_rows_once(watched):
    rows = as_rows(chunked(X, 10), persist=True)
    sent = rows.persist(SIGNAL)
    assert [len(piece.compute()) for piece in sent.pieces] == list(
        group_sizes(chunked(X, 10).chunks[0])
    )
    np.testing.assert_array_equal(rows.sum(_moments, sent), rows.sum(_moments, SIGNAL))
    assert rows.persist(None) is None


# --- sums do not depend on the cluster ------------------------------------------------------------


def test_groups_cover_all_partitions_and_have_rows():
    for lengths in (
        [5],
        [0, 5],
        [5, 0],
        [0, 0, 3, 0, 4, 0],
        [1] * 1000,
        [0, 7] * 500,
        list(RNG.integers(0, 9, 3000)),
    ):
        bounds = group_bounds(lengths)
        assert bounds[0] == 0
        assert bounds[-1] == len(lengths)
        assert np.all(np.diff(bounds) > 0)
        sizes = group_sizes(lengths)
        assert sum(sizes) == sum(lengths)
        assert min(sizes) > 0
        assert len(sizes) <= 64
    many = group_sizes([10_000] * 2000)
    assert max(many) <= 2 * min(many)
    assert len(group_sizes([2**20] * 1000)) == 250


def test_held_or_read_again_and_any_scheduler_give_the_same_bits(monkeypatch):
    def total():
        return as_rows(chunked(X, 120), persist=True).sum(_moments, chunked(SIGNAL, 400))

    with dask.config.set(scheduler="threads"):
        expected = total()
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_array_equal(total(), expected)
    monkeypatch.setattr(dask_rows, "has_room", lambda n_bytes: False)
    np.testing.assert_array_equal(total(), expected)


def _moments(block, signal):
    return block.T @ np.column_stack([block, signal])


def test_rows_without_room_are_read_again_with_one_warning(monkeypatch):
    reads = []

    def read(block):
        if len(block):
            reads.append(len(block))
        return block

    source = chunked(X, 2500).map_blocks(read, meta=np.empty((0, 0)))
    rows = as_rows(source, persist=True)
    for _ in range(3):
        rows.sum(_count)
    rows.take(np.array([0, 4000]))
    assert sum(reads) == N
    monkeypatch.setattr(dask_rows, "has_room", lambda n_bytes: False)
    rows = as_rows(source, persist=True)
    rows.sum(_count)
    with pytest.warns(UserWarning, match="computed again for every pass"):
        rows.sum(_count)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows.sum(_count)
    assert sum(reads) == 4 * N


def test_room_is_a_share_of_the_memory_here(monkeypatch):
    monkeypatch.setattr(clusters, "_local_memory", lambda: 1000)
    assert clusters.has_room(250)
    assert not clusters.has_room(251)


# --- one number per row ---------------------------------------------------------------------------


def test_maps_of_rows_that_are_held_read_nothing_again():
    reads = []

    def read(block):
        if len(block):
            reads.append(len(block))
        return block

    gaps = da.concatenate([chunked(X, 100)[:900], chunked(X, 100)[:0], chunked(X, 100)[900:]])
    rows = as_rows(gaps.map_blocks(read, meta=np.empty((0, 0))), persist=True)
    before = [
        rows.map(_twice, signals=[SIGNAL]),
        rows.map(_both_twice, 4, dtype=np.float32, signals=[SIGNAL]),
    ]
    rows.sum(_count)
    assert sum(reads) == N
    after = [
        rows.map(_twice, signals=[SIGNAL]),
        rows.map(_both_twice, 4, dtype=np.float32, signals=[SIGNAL]),
    ]
    assert after[0].chunks == (group_sizes(gaps.chunks[0]),)
    for found, expected in zip(
        after, (2 * X[:, 0] + SIGNAL, (2 * X + SIGNAL[:, None]).astype(np.float32))
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    assert sum(reads) == N
    np.testing.assert_array_equal(before[0], after[0])
    np.testing.assert_array_equal(before[1], after[1])


def _twice(block, signal, out):
    out[...] = 2 * block[:, 0] + signal


def _both_twice(block, signal, out):
    out[...] = 2 * block + signal[:, None]


def test_targets_of_a_cluster_are_read_as_those_in_memory():
    for y in (
        NAMES,
        SIGNAL,
        TWO,
        (SIGNAL > 0),
        np.round(SIGNAL),
        np.round(SIGNAL).astype(int),
        NAMES.astype(object),
    ):
        here, there = as_target(y, N), as_target(chunked(y, 700), N)
        assert type(there) is type(here)
        if isinstance(here, Labels):
            np.testing.assert_array_equal(there.classes, here.classes)
            np.testing.assert_array_equal(there.codes, here.codes)
        else:
            np.testing.assert_array_equal(there.rows, here.rows)


def test_whole_numbers_of_many_levels_are_values_there_too():
    y = np.arange(N)
    with pytest.warns(UserWarning, match="5000 different whole numbers"):
        assert isinstance(as_target(chunked(y, 700), N), Values)


def test_bad_targets_are_refused_before_rows_are_read():
    reads = []

    def read(block):
        reads.append(len(block))
        return block

    rows = chunked(X, 2500).map_blocks(read, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match="Input y contains NaN"):
        SpectralRidge().fit(rows, chunked(np.where(SIGNAL > 2, np.nan, SIGNAL), 700))
    assert not reads


@pytest.mark.long
def test_settings_of_distributed_outlive_sums_made_before_its_import():
    code = """
import numpy as np, dask, dask.array as da
from bochner import SpectralRidge, SpectralFeatures
SpectralRidge(SpectralFeatures(n_components=5)).fit(da.arange(50, chunks=20)[:, None], np.arange(50.0))
import distributed
dask.config.get("distributed.comm.compression")
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
