"""scikit-learn's callbacks: one task a round and one an epoch; a callback may stop; without them
nothing changes.
"""

import importlib.util
import sys

import numpy as np
import pytest
from sklearn.datasets import make_moons

from bochner import EarlyStopping, FourierBoostingClassifier, JointEpochs

callback = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")


class StopAfter:
    """Stops the rounds after ``n_tasks`` and remembers what it saw."""

    def __init__(self, n_tasks):
        self.n_tasks = n_tasks
        self.scores, self.names, self.closed = [], [], False

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if context.parent is None:
            return False
        self.names.append(context.task_name)
        self.scores.append(fitted_estimator.score(X, y))
        return len(self.names) >= self.n_tasks

    def teardown(self, estimator, context):
        self.closed = True


def test_a_callback_sees_each_round_and_may_stop():
    X, y = make_moons(200, noise=0.2, random_state=0)
    watch = StopAfter(7)
    model = FourierBoostingClassifier(n_rounds=50, random_state=0).set_callbacks(watch).fit(X, y)
    assert model.n_rounds_ == 7
    assert watch.names == ["round"] * 7
    assert watch.closed
    assert watch.scores[-1] == pytest.approx(model.score(X, y))
    plain = FourierBoostingClassifier(n_rounds=7, random_state=0).fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), model.decision_function(X))


def test_a_callback_stops_rounds_and_epochs_with_early_stopping_too():
    X, y = make_moons(300, noise=0.2, random_state=0)
    watch = StopAfter(3)
    model = FourierBoostingClassifier(
        n_rounds=50, epochs=JointEpochs(2), stopping=EarlyStopping(), random_state=0
    )
    assert model.set_callbacks(watch).fit(X, y).n_rounds_ <= 3
    assert watch.names == ["round"] * 3


def test_callbacks_are_closed_and_the_old_model_stays_when_one_of_them_fails():
    class Fails(StopAfter):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("from a callback")

    X, y = make_moons(100, noise=0.2, random_state=0)
    model = FourierBoostingClassifier(n_rounds=5, random_state=0).fit(X, y)
    before, watch = model.decision_function(X), Fails(1)
    with pytest.raises(RuntimeError, match="from a callback"):
        model.set_callbacks(watch).set_params(n_rounds=9).fit(X, y)
    assert watch.closed
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_epochs_are_tasks_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    watch = StopAfter(100)
    FourierBoostingClassifier(n_rounds=4, epochs=JointEpochs(2), random_state=0).set_callbacks(
        watch
    ).fit(X, X[:, 0] > 0)
    assert watch.names == ["round"] * 4 + ["epoch"] * 2


def test_progress_bar_and_scoring_monitor_run():
    pytest.importorskip("rich")
    X, y = make_moons(100, noise=0.2, random_state=0)
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = FourierBoostingClassifier(n_rounds=5, random_state=0).set_callbacks(
        callback.ProgressBar(), monitor
    )
    assert model.fit(X, y).n_rounds_ == 5


def test_older_scikit_learn_runs_without_callbacks(monkeypatch):
    import bochner._estimator

    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    spec = importlib.util.spec_from_file_location(
        "bochner._estimator_without_callbacks", bochner._estimator.__file__
    )
    old = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(old)
    assert old.with_callbacks(len) is len
    assert not hasattr(old.CallbackSupportMixin(), "set_callbacks")
    assert old.FitTasks(object(), 3, None, None).finished("round", dict) is False
