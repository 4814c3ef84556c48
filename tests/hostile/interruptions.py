"""Interruptions at random moments: a fit that is struck ends at once, and leaves the old model, or
none, and the threads as they were.
"""

import signal
import time
import warnings
from collections import Counter
from contextlib import contextmanager

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info

from bochner import (
    ConjugateGradient,
    Evidence,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF1Classifier,
    GBRFF2Classifier,
    JointDescent,
    JointEpochs,
    KernelMachine,
    LandmarkFeatures,
    MarginGame,
    OperatorRidge,
    OptimalAlignment,
    PacBayes,
    SpectralClassifier,
    SpectralFeatures,
    SpectralRegressor,
    SpectralRidge,
    StochasticGradient,
)
from bochner._loops.threads import thread_count

from .verdicts import answers

_QUICK = Evidence(n_rows=60, n_iterations=2)

ITERATIVE = {
    "SpectralClassifier": SpectralClassifier(evidence=_QUICK, random_state=0),
    "SpectralRegressor": SpectralRegressor(evidence=_QUICK, random_state=0),
    "KernelMachine": KernelMachine(solver="cg", alpha=[0.1, 1.0], random_state=0),
    "SpectralRidge": SpectralRidge(
        SpectralFeatures(learner=PacBayes(), n_components=50), alpha=[0.1, 1.0], random_state=0
    ),
    "OperatorRidge, ConjugateGradient": OperatorRidge(
        n_components=50, solver=ConjugateGradient(), random_state=0
    ),
    "OperatorRidge, StochasticGradient": OperatorRidge(
        n_components=50, solver=StochasticGradient(n_epochs=10), random_state=0
    ),
    "FourierBoostingClassifier": FourierBoostingClassifier(
        n_rounds=20, epochs=JointEpochs(3), random_state=0
    ),
    "FourierBoostingRegressor": FourierBoostingRegressor(
        n_rounds=20, epochs=JointEpochs(3), random_state=0
    ),
    "GBRFF1Classifier": GBRFF1Classifier(n_rounds=10, random_state=0),
    "GBRFF2Classifier": GBRFF2Classifier(n_rounds=10, random_state=0),
    "SpectralFeatures, MarginGame": SpectralFeatures(
        learner=MarginGame(n_rounds=5), n_components=10, random_state=0
    ),
    "SpectralFeatures, JointDescent": SpectralFeatures(
        learner=JointDescent(n_epochs=10), n_components=20, random_state=0
    ),
    "LandmarkFeatures": LandmarkFeatures(
        learner=OptimalAlignment(), n_landmarks=20, random_state=0
    ),
}


def data_for(estimator, n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    signal_of = np.sin(2 * X[:, 0]) + X[:, 1]
    return X, signal_of if is_regressor(estimator) else (signal_of > 0).astype(int)


@contextmanager
def struck_in(seconds):
    """Ctrl-C after so many seconds, while this context lasts."""

    def strike(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, strike)
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
    """What ``n_times`` interruptions came to: "stopped" or "finished before", and anything else is
    a defect.
    """
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
                _struck(model, X, y, rng.uniform(0, 1.1 * duration), expected, fitted=not k % 2)
            ] += 1
            if threads() != held:
                outcomes["changed thread limits"] += 1
                held = threads()
    return outcomes


def _struck(model, X, y, seconds, expected, fitted):
    begun, stopped = time.perf_counter(), False
    try:
        with struck_in(seconds):
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
