"""Row sums on a cluster of two workers equal NumPy's."""

import os
import signal
import threading
import time
import warnings
from functools import partial

import numpy as np
import pytest

from bochner import CertifiedClassifier, Gaussian, SpectralFeatures, SpectralLogistic
from bochner.data import Block, as_rows
from bochner.data.dask import rows as dask_rows
from bochner.learners.alignment import fourier_sums, potential_and_gradient

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 6))
SIGNAL = RNG.normal(size=(3000, 2))
MODEL = SpectralFeatures(n_components=40, random_state=0).fit(X)
CHUNKS = (700, 4)  # neither an even share of the rows nor all columns at once


@pytest.fixture(
    scope="module", params=["threads", pytest.param("processes", marks=pytest.mark.long)]
)
def client(request):
    """Two workers: threads of this process in the quick tests, and processes of their own in `make
    test-all`.
    """
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=request.param == "processes",
            dashboard_address=":0",
            silence_logs="CRITICAL",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.usefixtures("client")
class TestOnACluster:
    def test_fourier_sums(self):
        expected = fourier_sums(MODEL.measure_, X, SIGNAL)
        on_cluster = da.from_array(X, chunks=CHUNKS)
        for signal_rows in (SIGNAL, da.from_array(SIGNAL, chunks=(1000, 1))):
            np.testing.assert_allclose(
                fourier_sums(MODEL.measure_, on_cluster, signal_rows), expected, atol=1e-10
            )

    def test_potential_and_gradient(self):
        expected = potential_and_gradient(MODEL.measure_, X, SIGNAL)
        got = potential_and_gradient(MODEL.measure_, da.from_array(X, chunks=CHUNKS), SIGNAL)
        np.testing.assert_allclose(got[0], expected[0], rtol=1e-10)
        np.testing.assert_allclose(got[1], expected[1], atol=1e-10 * np.abs(expected[1]).max())

    def test_empty_partitions_add_nothing(self):
        with_gap = da.concatenate(
            [
                da.from_array(X[:700], chunks=700),
                da.zeros((0, 6)),
                da.from_array(X[700:], chunks=700),
            ]
        )
        expected = fourier_sums(MODEL.measure_, X, SIGNAL)
        np.testing.assert_allclose(
            fourier_sums(MODEL.measure_, with_gap, SIGNAL), expected, atol=1e-10
        )

    def test_the_work_happens_on_the_workers(self):
        here, rows_seen = as_rows(da.from_array(X, chunks=(500, 6))).sum(
            Block(_ran_here, (os.getpid(), threading.get_ident()))
        )
        assert rows_seen == len(X)
        assert here == 0, "a block ran in the calling thread"

    @pytest.mark.parametrize("persisted", [True, False])
    def test_without_room_only_storage_is_read_again(self, persisted, monkeypatch):
        monkeypatch.setattr(dask_rows, "has_room", lambda n_bytes: False)
        source = da.from_array(X, chunks=(500, 6))
        rows = as_rows(source.persist() if persisted else source, persist=True)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            sums = [rows.sum(partial(np.sum, axis=0)) for _ in range(2)]
        np.testing.assert_array_equal(*sums)
        assert any("computed again" in str(one.message) for one in told) != persisted

    def test_features_stay_on_the_cluster(self):
        on_cluster = da.from_array(X, chunks=CHUNKS)
        features = MODEL.transform(on_cluster)
        assert isinstance(features, da.Array)
        np.testing.assert_allclose(features.compute(), MODEL.transform(X), atol=1e-12)

    def test_fit_resolves_the_bandwidth_on_the_cluster(self):
        on_cluster = da.from_array(X, chunks=CHUNKS)
        fitted = SpectralFeatures(n_components=40, random_state=0).fit(on_cluster)
        assert fitted.prior_.gamma == pytest.approx(MODEL.prior_.gamma, rel=1e-10)

    def test_non_finite_partitions_are_refused(self):
        broken = X.copy()
        broken[2900, 3] = np.nan
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            fourier_sums(MODEL.measure_, da.from_array(broken, chunks=CHUNKS), SIGNAL)

    @pytest.mark.long
    def test_logistic_regression_and_its_certificate(self):
        y = np.where(np.sin(X[:, 0]) > X[:, 1] / 2, "in", "out")
        there, labels = da.from_array(X, chunks=CHUNKS), da.from_array(y, chunks=1000)
        features = SpectralFeatures(Gaussian(0.1), n_components=20, random_state=0)
        model = SpectralLogistic(features, C=10.0)
        expected = model.fit(X, y).coef_
        np.testing.assert_allclose(model.fit(there, labels).coef_, expected, atol=1e-10)
        assert isinstance(model.predict_proba(there), da.Array)
        certified = CertifiedClassifier(features, random_state=0)
        bound = certified.fit(X, y).gibbs_bound_.value
        assert certified.fit(there, labels).gibbs_bound_.value == pytest.approx(bound, rel=1e-9)


def _ran_here(caller, block):
    return np.array([float((os.getpid(), threading.get_ident()) == caller), len(block)])


def _slow_sum(block):
    time.sleep(0.3)
    return block.sum(axis=0)


@pytest.mark.long
def test_a_worker_killed_half_way_loses_nothing(client):
    """The cluster starts another worker, so the other tests can use it as before."""
    process_ids = list(client.run(os.getpid).values())
    if os.getpid() in process_ids:
        pytest.skip("needs workers that are processes")
    threading.Timer(0.5, os.kill, (process_ids[0], signal.SIGKILL)).start()
    total = as_rows(da.from_array(X, chunks=(300, 6))).sum(_slow_sum)
    np.testing.assert_allclose(total, X.sum(axis=0), atol=1e-10)
    assert process_ids[0] not in client.run(os.getpid).values()


def test_lengths_that_nobody_knows_are_found_out():
    kept = X[:, 0] > 0
    unknown = da.from_array(X, chunks=CHUNKS)[da.from_array(kept, chunks=700)]
    expected = fourier_sums(MODEL.measure_, X[kept], SIGNAL[kept])
    np.testing.assert_allclose(
        fourier_sums(MODEL.measure_, unknown, SIGNAL[kept]), expected, atol=1e-10
    )
    assert np.isnan(unknown.shape[0]), "the caller's array was changed"
    with pytest.raises(ValueError, match=f"X has {kept.sum()} rows, y 3000"):
        fourier_sums(MODEL.measure_, unknown, SIGNAL)


def test_other_dask_collections_are_refused():
    with pytest.raises(ValueError, match="two-dimensional"):
        MODEL.transform(da.from_array(X[:, 0], chunks=100))
    with pytest.raises(ValueError, match="expecting 6 features"):
        MODEL.transform(da.from_array(X[:, :3], chunks=100))
    with pytest.raises(ValueError, match="real numbers"):
        MODEL.transform(da.from_array(X + 1j, chunks=100))
