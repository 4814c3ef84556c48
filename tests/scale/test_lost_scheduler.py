"""A scheduler that dies in the middle of a fit: one sentence, and the model that was there before."""

import contextlib
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from bochner import JointDescent, PacBayes, SpectralFeatures, SpectralRidge
from bochner.data.dask import clusters

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2000, 4))
VALUES = np.sin(X[:, 0])
SENTENCE = r"scheduler at tcp://.* was lost.*as it was before this call. Start a scheduler.*or give X.compute\(\)"

FITS = {
    "sums": SpectralRidge(SpectralFeatures(n_components=5, random_state=0)),
    "epochs": SpectralFeatures(
        learner=JointDescent(n_epochs=100_000), n_components=5, random_state=0
    ),
    "alignment": SpectralFeatures(learner=PacBayes(), n_components=5, random_state=0),
}


@contextlib.contextmanager
def process(module, *arguments):
    started = subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.{module}", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield started
    finally:
        started.kill()
        started.wait()


@contextlib.contextmanager
def scheduler_process(folder):
    """A scheduler and a worker in processes of their own, and a client connected to them."""
    file, quiet = str(folder / "scheduler.json"), ("--no-dashboard",)
    with (
        process(
            "dask_scheduler", "--scheduler-file", file, "--host", "127.0.0.1", "--port", "0", *quiet
        ) as scheduler,
        process("dask_worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny", *quiet),
        distributed.Client(scheduler_file=file, timeout=60) as client,
    ):
        client.wait_for_workers(1, timeout=60)
        yield scheduler


def slowly(block):
    time.sleep(0.3)
    return block


@pytest.mark.long
@pytest.mark.parametrize("kind", [*FITS, "score", "what is lazy"])
def test_a_scheduler_killed_during_the_work(kind, tmp_path):
    model = clone(FITS.get(kind, FITS["sums"]))
    if kind == "epochs":
        model.set_params(learner__n_epochs=1)
    model.fit(X, VALUES)
    before = dict(vars(model))
    with scheduler_process(tmp_path) as scheduler:
        parts = da.from_array(X, chunks=(100, 4))
        # Storage that takes its time, so that the scheduler dies meanwhile; epochs are many enough
        # by themselves.
        rows = parts if kind == "epochs" else parts.map_blocks(slowly, meta=np.empty((0, 0)))
        threading.Timer(1.5, scheduler.kill).start()
        if kind == "what is lazy":  # computed by Dask, which says it in its own words
            with pytest.raises(CancelledError, match="lost the connection to the scheduler"):
                model.predict(rows).compute()
        else:
            if kind == "epochs":
                model.set_params(learner__n_epochs=100_000)
            work = model.score if kind == "score" else model.fit
            with pytest.raises(ConnectionError, match=SENTENCE):
                work(rows, VALUES)
    after = dict(vars(model))
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before if name.endswith("_"))
    model.predict(X) if hasattr(model, "predict") else model.transform(X)


@pytest.mark.parametrize("status", ["connecting", "closed", "running"])
@pytest.mark.parametrize("error", [CancelledError("sum"), OSError("stream is closed")])
def test_only_a_lost_scheduler_is_called_one(status, error, monkeypatch):
    """What is cancelled by somebody, and errors of files, stay what they are."""
    client = SimpleNamespace(
        status=status, scheduler=SimpleNamespace(address="tcp://10.0.0.1:8786")
    )
    monkeypatch.setattr(clusters, "_client", lambda: client)
    expected, match = (type(error), None) if status == "running" else (ConnectionError, SENTENCE)
    with pytest.raises(expected, match=match) as raised, clusters.with_the_scheduler():
        raise error
    assert (raised.value is error) == (status == "running")
