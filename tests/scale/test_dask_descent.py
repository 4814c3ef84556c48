"""Fits that go over a cluster's rows again and again: by batches, and in a game against numbers that live with the partitions."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from bochner import AscentPeaks, FourierBoostingClassifier, JointEpochs, MarginGame, SpectralFeatures

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")


def _fits():
    """A fit by synchronous batches, and one whose dual weights live with the partitions."""
    booster = FourierBoostingClassifier(n_rounds=3, max_rows=1000, epochs=JointEpochs(2), random_state=0)
    game = SpectralFeatures(
        learner=MarginGame(3, peaks=AscentPeaks(search_rows=1000), certificate=False), n_components=10, random_state=0
    )
    return {
        "batches": lambda rows, y: booster.fit(rows, y).expansion_.frequencies,
        "game": lambda rows, y: game.fit(rows, y).measure_.frequencies,
    }


@pytest.mark.long
@pytest.mark.parametrize("kind", ["batches", "game"])
def test_a_fit_that_loses_a_worker_is_the_fit_in_memory(kind):
    """Shards and dual weights are pure functions of rows and history: what a worker held is made again by another one."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(6000, 6))
    y = np.cos(rows[:, 0] + rows[:, 1]) > 0.2
    fit = _fits()[kind]
    expected = fit(rows, y)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        on_cluster = da.from_array(rows, chunks=(1100, 6))
        np.testing.assert_allclose(fit(on_cluster, y), expected, rtol=0, atol=1e-10)
        victim = next(iter(client.run(os.getpid).values()))
        started = time.perf_counter()
        fit(on_cluster, y)
        threading.Timer(0.5 * (time.perf_counter() - started), os.kill, (victim, signal.SIGKILL)).start()
        np.testing.assert_allclose(fit(on_cluster, y), expected, rtol=0, atol=1e-10)
        assert victim not in client.run(os.getpid).values()
