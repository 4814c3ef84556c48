"""Fits that go over the rows of a cluster again and again lose a worker and give the result of
arrays.
"""

import os
import signal
import threading

import numpy as np
import pytest

from bochner import (
    Anova,
    AscentPeaks,
    Evidence,
    FourierBoostingClassifier,
    JointEpochs,
    MarginGame,
    SpectralClassifier,
    SpectralFeatures,
)
from bochner.data.dask import rows as dask_rows

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")


def _fits():
    """A fit by batches, a game, and a tabular model, whose rows are prepared on the cluster."""
    booster = FourierBoostingClassifier(
        n_rounds=3, max_rows=1000, epochs=JointEpochs(2), random_state=0
    )
    game = SpectralFeatures(
        learner=MarginGame(n_rounds=3, peaks=AscentPeaks(search_rows=1000), certificate=False),
        n_components=10,
        random_state=0,
    )
    door = SpectralClassifier(
        Anova(), Evidence(n_rows=150, n_iterations=6), max_leaf_rows=150, random_state=0
    )
    return {
        "front door": lambda rows, y: door.fit(rows[:2000], y[:2000]).predict_proba(np.eye(6)),
        "batches": lambda rows, y: booster.fit(rows, y).expansion_.frequencies,
        "game": lambda rows, y: game.fit(rows, y).measure_.frequencies,
    }


@pytest.mark.long
@pytest.mark.parametrize("kind", ["batches", "game", "front door"])
def test_a_fit_that_loses_a_worker_is_the_fit_in_memory(kind, monkeypatch):
    """Shards and dual weights are pure functions of rows and history: what a worker held is made
    again by another one.
    """
    if kind == "batches":  # as of many rows, which are not brought here
        monkeypatch.setattr(dask_rows, "FEW_BYTES", 0)
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(6000, 6))
    y = np.cos(rows[:, 0] + rows[:, 1]) > 0.2
    fit = _fits()[kind]
    # The front door's kernels are sums in float32.
    expected, atol = fit(rows, y), 1e-6 if kind == "front door" else 1e-10
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs="CRITICAL",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        on_cluster = da.from_array(rows, chunks=(1100, 6))
        np.testing.assert_allclose(fit(on_cluster, y), expected, rtol=0, atol=atol)
        process_id = next(iter(client.run(os.getpid).values()))
        orders = counted_orders(monkeypatch)
        fit(on_cluster, y)
        assert len(orders) > (1 if kind == "front door" else 4)  # a table comes to the client
        counted_orders(monkeypatch, len(orders) // 2, lambda: os.kill(process_id, signal.SIGKILL))
        np.testing.assert_allclose(fit(on_cluster, y), expected, rtol=0, atol=atol)
        assert process_id not in client.run(os.getpid).values()


def counted_orders(monkeypatch, which=None, act=None):
    """A list that grows with everything the client orders from the cluster; while the given one is
    at work, something happens.
    """
    orders = []

    def counting(name, given):
        def order(*args, **keywords):
            orders.append(name)
            if len(orders) == which:
                threading.Timer(0.01, act).start()
            return given(*args, **keywords)

        return order

    for name in ("get", "compute", "persist"):
        monkeypatch.setattr(
            distributed.Client, name, counting(name, getattr(distributed.Client, name))
        )
    return orders
