"""Callbacks of every iterative estimator: each step is told, none changes the result, and a wish to
stop is granted.
"""

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bochner import (
    LBFGS,
    ConjugateGradient,
    GBRFF1Classifier,
    GBRFF2Classifier,
    JointDescent,
    KernelMachine,
    LandmarkFeatures,
    MarginGame,
    OperatorRidge,
    OperatorRidgeClassifier,
    SpectralFeatures,
    SpectralLogistic,
    SpectralRidge,
    StochasticGradient,
)

callback = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")

# (estimator, what its steps are called, how many there are; None where that depends on the data)
CASES = {
    "game": (SpectralFeatures(learner=MarginGame(n_rounds=4), n_components=5), "margin game", 4),
    "descent": (
        SpectralFeatures(learner=JointDescent(n_epochs=6), n_components=5),
        "joint descent",
        6,
    ),
    "descent in a ridge": (
        SpectralRidge(SpectralFeatures(learner=JointDescent(n_epochs=5), n_components=5)),
        "joint descent",
        5,
    ),
    "stochastic": (
        OperatorRidge(n_components=5, solver=StochasticGradient(n_epochs=7)),
        "stochastic ridge",
        7,
    ),
    "gradients": (
        OperatorRidge(n_components=30, solver=ConjugateGradient()),
        "conjugate gradients",
        None,
    ),
    "L-BFGS": (OperatorRidgeClassifier(n_components=30, solver=LBFGS()), "L-BFGS", None),
    "logistic": (SpectralLogistic(C=100.0), "logistic regression", None),
    "machine": (KernelMachine(solver="cg", alpha=1e-3), "conjugate gradients", None),
    "GBRFF1": (GBRFF1Classifier(n_rounds=3), "GBRFF1Classifier", 3),
    "GBRFF2": (GBRFF2Classifier(n_rounds=5), "GBRFF2Classifier", 5),
}
every_case = pytest.mark.parametrize("name", CASES)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class Watch:
    """Remembers finished tasks, and asks to stop after the ``limit``-th step."""

    def __init__(self, limit=None):
        self.limit, self.steps, self.closed = limit, [], 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name != "fit":
            self.steps.append(context.task_name)
        return self.limit is not None and len(self.steps) >= self.limit

    def teardown(self, estimator, context):
        self.closed += 1


def data_for(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    signal = np.sin(2 * X[:, 0]) + X[:, 1]
    return X, signal if is_regressor(estimator) else (signal > 0).astype(int)


def answer(model, X):
    return model.predict(X) if hasattr(model, "predict") else model.transform(X)


@every_case
def test_every_step_is_told_and_changes_nothing(name):
    estimator, called, n_steps = CASES[name]
    X, y = data_for(estimator)
    watch = Watch()
    watched = clone(estimator).set_params(random_state=0).set_callbacks(watch).fit(X, y)
    assert set(watch.steps) == {called}
    assert len(watch.steps) == n_steps if n_steps else len(watch.steps) > 3
    assert watch.closed == 1
    plain = clone(estimator).set_params(random_state=0).fit(X, y)
    np.testing.assert_array_equal(answer(watched, X), answer(plain, X))


@every_case
def test_a_callback_may_stop_and_leaves_a_model(name):
    estimator, _, _ = CASES[name]
    X, y = data_for(estimator)
    watch = Watch(limit=2)
    stopped = clone(estimator).set_params(random_state=0).set_callbacks(watch).fit(X, y)
    assert len(watch.steps) == 2
    assert np.isfinite(answer(stopped, X)).all()
    plain = clone(estimator).set_params(random_state=0).fit(X, y)
    if not name.startswith("GBRFF"):  # labels may agree
        assert not np.array_equal(answer(stopped, X), answer(plain, X))


def test_rounds_that_were_run_are_counted():
    X, y = data_for(GBRFF2Classifier())
    model = GBRFF2Classifier(n_rounds=6, random_state=0).set_callbacks(Watch(limit=2)).fit(X, y)
    assert model.n_rounds_ == len(model.train_loss_) == 2
    whole = GBRFF2Classifier(n_rounds=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


def test_estimators_without_steps_tell_of_their_fit():
    X, y = data_for(LandmarkFeatures())
    watch = Watch()
    LandmarkFeatures(n_landmarks=5, random_state=0).set_callbacks(watch).fit(X, y)
    assert watch.closed == 1


def test_callbacks_in_a_pipeline_hear_their_own_step():
    X, y = data_for(GBRFF2Classifier())
    watch = Watch()
    make_pipeline(StandardScaler(), GBRFF2Classifier(n_rounds=3).set_callbacks(watch)).fit(X, y)
    assert len(watch.steps) == 3
