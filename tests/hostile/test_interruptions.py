"""Interruptions of iterative estimators at random moments, two hundred each in `make test-all`.

An interrupted fit ends at once and leaves the previous model, or none, and the number of threads.
"""

import signal
import time
import warnings
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info

from bochner._loops.threads import thread_count
from tests.conformance.registry import ITERATIVE
from tests.hostile.verdicts import answers

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="needs timers that send signals"
)


def data_for(estimator, n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    signal_of = np.sin(2 * X[:, 0]) + X[:, 1]
    return X, signal_of if is_regressor(estimator) else (signal_of > 0).astype(int)


@contextmanager
def interrupted_after(seconds):
    """Raise KeyboardInterrupt after so many seconds, within this context."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def threads():
    return thread_count(), sorted(
        (pool["filepath"], pool["num_threads"]) for pool in threadpool_info()
    )


def interruptions(estimator, n_times, seed=0):
    """Count the outcomes of ``n_times`` interruptions; only two of them are not defects."""
    X, y = data_for(estimator)
    rng, outcomes = np.random.default_rng(seed), Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(estimator).fit(X, y)
        begun = time.perf_counter()
        expected = answers(clone(estimator).fit(X, y), X)
        duration = time.perf_counter() - begun
        held = threads()
        for k in range(n_times):
            if k % 2 and model is not None:  # every other time there is no old model
                model = clone(estimator)
            elif not hasattr(model, "n_features_in_"):
                model = clone(estimator).fit(X, y)
            outcomes[
                interrupted_fit(
                    model, X, y, rng.uniform(0, 1.1 * duration), expected, fitted=not k % 2
                )
            ] += 1
            if threads() != held:
                outcomes["changed thread limits"] += 1
                held = threads()
    return outcomes


def interrupted_fit(model, X, y, seconds, expected, fitted):
    begun, stopped = time.perf_counter(), False
    try:
        with interrupted_after(seconds):
            model.fit(X, y)
    except KeyboardInterrupt:
        stopped = True
    if time.perf_counter() - begun > 20:
        return "took long to stop"
    if not stopped:
        return "finished before"
    try:
        found = answers(model, X)
    except NotFittedError:
        return "lost the old model" if fitted else "stopped"
    except Exception as error:
        return f"half a model: {type(error).__name__}: {error}"
    same = all(
        np.allclose(found[name], expected[name], rtol=1e-3, atol=1e-3)
        for name in expected
        if found[name].dtype.kind == "f"
    )
    return "stopped" if same else "half a model that answers"


def assert_stopped(estimator, n_times):
    outcomes = interruptions(estimator, n_times)
    assert set(outcomes) <= {"stopped", "finished before"}
    assert outcomes["stopped"] >= max(1, n_times / 20)


# One estimator of each kind of iteration; all of them are among the long tests.
QUICK = (
    "SpectralRegressor",
    "KernelMachine",
    "OperatorRidge, StochasticGradient",
    "FourierBoostingClassifier",
    "GBRFF2Classifier",
    "SpectralFeatures, MarginGame",
)


@pytest.mark.parametrize("name", QUICK)
def test_some_interruptions(name):
    assert_stopped(ITERATIVE[name], 4)


@pytest.mark.long
@pytest.mark.parametrize("name", ITERATIVE)
def test_many_interruptions(name):
    assert_stopped(ITERATIVE[name], 200)
