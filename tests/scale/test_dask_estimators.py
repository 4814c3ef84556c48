"""Fits on a real cluster of two worker processes: NumPy's model, few bytes at the client, and a killed worker changes nothing."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone

from bochner import (
    LandmarkFeatures,
    OperatorRidge,
    OperatorRidgeClassifier,
    OptimalAlignment,
    PacBayes,
    SpectralFeatures,
    SpectralRidge,
)

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.long

N = 20_000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 20))
VALUES = np.sin(X[:, 0]) + X[:, 1] / 2
LABELS = np.array(["low", "middle", "upper"])[np.searchsorted([-0.5, 0.5], VALUES)]
TWO = np.column_stack([VALUES, np.cos(X[:, 0])])
FEATURES = SpectralFeatures(learner=PacBayes(), n_candidates=100, n_components=20)

KINDS = {
    "features": (SpectralFeatures(n_components=20), LABELS),
    "PacBayes": (FEATURES, LABELS),
    "OptimalAlignment": (clone(FEATURES).set_params(learner=OptimalAlignment()), VALUES),
    "landmarks": (LandmarkFeatures(n_landmarks=9, n_components=16, landmarks="random"), LABELS),
    "ridge": (SpectralRidge(SpectralFeatures(n_components=20), alpha=[0.1, 1.0]), VALUES),
    "ridge on learned features": (SpectralRidge(FEATURES), VALUES),
    "operator ridge": (OperatorRidge(n_components=20), TWO),
    "classifier": (OperatorRidgeClassifier(n_components=20), LABELS),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def fitted(kind, X, y):
    return clone(KINDS[kind][0]).set_params(random_state=0).fit(X, y)


def answer(model, X):
    said = model.transform(X) if hasattr(model, "transform") else model.predict(X)
    return said.compute() if isinstance(said, da.Array) else said


def assert_equal(found, expected):
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    else:
        np.testing.assert_array_equal(found, expected)


def cluster():
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs="CRITICAL"
    )


def slowly(block):
    """What storage is: slower than the sums, so that a worker dies while it reads."""
    time.sleep(0.05)
    return block


def on_cluster(y, n_partitions=40):
    size = N // n_partitions
    rows = da.from_array(X, chunks=(size, 20)).map_blocks(slowly, meta=np.empty((0, 0)))
    return rows, da.from_array(y, chunks=(N // 7, *y.shape[1:]))


@pytest.fixture(scope="module")
def client():
    with cluster() as two, distributed.Client(two) as client:
        yield client


@every_kind
def test_the_model_is_that_of_arrays_and_only_statistics_travel(kind, client, monkeypatch):
    from dask.sizeof import sizeof

    came, gather = [], client.gather

    def watched(*arguments, **keywords):
        results = gather(*arguments, **keywords)
        came.append(sizeof(results))
        return results

    y = KINDS[kind][1]
    rows, column = on_cluster(y)
    expected = answer(fitted(kind, X, y), X)
    with monkeypatch.context() as patch:
        patch.setattr(client, "gather", watched)
        model = fitted(kind, rows, column)
        score = model.score(rows, column) if hasattr(model, "score") else None
    assert came
    assert sum(came) < 0.2 * X.nbytes
    assert_equal(answer(model, rows), expected)
    if score is not None:
        assert score == pytest.approx(fitted(kind, X, y).score(X, y), abs=1e-12)


@every_kind
def test_a_worker_killed_during_a_fit_changes_nothing(kind):
    y = KINDS[kind][1]
    expected = answer(fitted(kind, X, y), X)
    with cluster() as two, distributed.Client(two) as client:
        before = set(client.run(os.getpid).values())
        rows, column = on_cluster(y)
        threading.Timer(0.6, os.kill, (min(before), signal.SIGKILL)).start()
        model = fitted(kind, rows, column)
        assert set(client.run(os.getpid).values()) != before, "nobody was killed during the fit"
    assert_equal(answer(model, X), expected)
