"""Callbacks, interruption and threads of the tabular models."""

from threading import Barrier

import numpy as np
import pytest
from selection import long_except
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tabular_samples import QUICK, few_waves, regression, short_choice_of_ranks  # noqa: F401
from threadpoolctl import threadpool_info

from bochner import SpectralClassifier, SpectralRegressor
from bochner._loops.threads import at_most_threads, thread_count
from bochner.tabular import fitting, regressor
from bochner.tabular.learning import timed_results

pytestmark = pytest.mark.usefixtures("few_waves", "short_choice_of_ranks")
callback = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
FAMILIES = ("anova", "laplace", "gaussian")


class Watch:
    """Remembers the tasks; ``answer(name of a finished task)`` says whether to stop, or raises."""

    def __init__(self, answer=lambda name: False):
        self.answer = answer
        self.begun, self.ended, self.fitted, self.closed = [], [], [], 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.ended.append(context.task_name)
        if fitted_estimator is not None:
            self.fitted.append(fitted_estimator.predict(X))
        return self.answer(context.task_name)

    def teardown(self, estimator, context):
        self.closed += 1


def stages(*names, families=FAMILIES):
    return [f"{name}: {family}" for name in names for family in families]


@pytest.mark.parametrize("labels", [False, True])
def test_callbacks_see_every_stage_and_change_nothing(labels):
    X, y = regression(60)
    y, kind = (y > 0, SpectralClassifier) if labels else (y, SpectralRegressor)
    watch = Watch()
    model = kind(evidence=QUICK, random_state=0).set_callbacks(watch).fit(X, y)
    prepared = "preparing: columns" if labels else "preparing: columns and target"
    assert watch.ended == [prepared, *stages("learning", "solving"), "blending", "fit"]
    assert watch.begun == ["fit", *watch.ended[:-1]]
    assert watch.closed == 1
    np.testing.assert_array_equal(watch.fitted, [model.predict(X)] * 2)
    np.testing.assert_array_equal(
        model.predict(X), clone(model).set_callbacks().fit(X, y).predict(X)
    )


def test_many_rows_and_trees_are_stages_too():
    X, y = regression(400)
    watch = Watch()
    model = SpectralRegressor(
        evidence=QUICK, max_leaf_rows=150, trees=True, n_jobs=1, random_state=0
    )
    model.set_callbacks(watch).fit(X, y)
    leaves = [f"solving: {name}, leaf {k} of 4" for name in FAMILIES for k in range(1, 5)]
    assert watch.ended == [
        "preparing: columns and target",
        *stages("learning"),
        *leaves,
        "descending: waves",
        "growing: trees",
        "blending",
        "fit",
    ]
    assert watch.begun == ["fit", *watch.ended[:-1]]


@pytest.mark.parametrize(
    ("task", "members"),
    [
        ("learning: anova", ["anova", "waves"]),
        ("learning: laplace", ["anova", "laplace", "waves"]),
        ("solving: anova, leaf 1 of 4", ["anova", "waves"]),
        ("solving: laplace, leaf 3 of 4", ["anova", "waves"]),
        ("solving: laplace, leaf 4 of 4", ["anova", "laplace", "waves"]),
        ("descending: waves", [*FAMILIES, "waves"]),
    ],
)
def test_a_callback_may_stop_with_the_families_so_far(task, members):
    """All leaves of a family are solved, or none; the first family is always solved."""
    X, y = regression(400)
    watch = Watch(lambda name: name == task)
    model = (
        SpectralRegressor(evidence=QUICK, max_leaf_rows=150, random_state=0)
        .set_callbacks(watch)
        .fit(X, y)
    )
    assert [member.name for member in model.members_] == members
    assert model.score(X, y) > 0.5
    assert watch.closed == 1


@pytest.mark.parametrize("error", long_except([KeyboardInterrupt, RuntimeError], KeyboardInterrupt))
@pytest.mark.parametrize(
    "task",
    long_except(
        ["preparing: columns", "learning: anova", "solving: gaussian", "blending", "fit"],
        "learning: anova",
        "fit",
    ),
)
def test_a_failing_callback_leaves_the_old_model_or_none(task, error):
    def fail(name):
        if name.startswith(task):
            raise error("struck")

    X, y = regression(60)
    for model, target in (
        (SpectralRegressor(evidence=QUICK), y),
        (SpectralClassifier(evidence=QUICK), y > 0),
    ):
        watch = Watch(fail)
        model.set_params(random_state=0).set_callbacks(watch)
        with pytest.raises(error, match="struck"):
            model.fit(X, target)
        assert watch.closed == 1
        with pytest.raises(NotFittedError):
            model.predict(X)
        before = model.set_callbacks().fit(X, target).predict(X)
        with pytest.raises(error, match="struck"):
            model.set_callbacks(Watch(fail)).fit(X[:, :2], target)
        np.testing.assert_array_equal(model.predict(X), before)


def test_a_callback_that_fails_while_closing_leaves_no_half_of_a_model():
    class Stuck(Watch):
        def teardown(self, estimator, context):
            raise RuntimeError("stuck")

    X, y = regression(60)
    model = SpectralRegressor(evidence=QUICK, random_state=0).set_callbacks(Stuck())
    with pytest.raises(RuntimeError, match="stuck"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_scikit_learns_callbacks_run_alone_in_a_pipeline_and_in_a_search():
    pytest.importorskip("rich")
    X, y = regression(60)
    model = SpectralRegressor(evidence=QUICK, n_jobs=1, random_state=0)
    monitor = callback.ScoringMonitor(scoring="r2")
    alone = clone(model).set_callbacks(callback.ProgressBar(), monitor).fit(X, y)
    assert monitor.get_logs().data[-1]["r2"] == pytest.approx(alone.score(X, y))
    piped = (
        make_pipeline(StandardScaler(), clone(model))
        .set_callbacks(callback.ProgressBar())
        .fit(X, y)
    )
    assert piped.score(X, y) > 0.5
    grid = GridSearchCV(clone(model), {"trees": [False, True]}, cv=2).set_callbacks(
        callback.ProgressBar(None)
    )
    assert grid.fit(X, y).best_score_ > 0.1
    inner = Watch()
    make_pipeline(StandardScaler(), clone(model).set_callbacks(inner)).fit(X, y)
    assert inner.ended[-2:] == ["blending", "fit"]


# --- threads --------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", long_except([False, True], False))
def test_the_number_of_threads_changes_numbers_by_rounding_only(labels):
    X, y = regression(150)
    y, kind, answer = (
        (y > 0, SpectralClassifier, "predict_proba")
        if labels
        else (y, SpectralRegressor, "predict")
    )
    one, two = (kind(evidence=QUICK, n_jobs=n, random_state=0).fit(X, y) for n in (1, 2))
    np.testing.assert_allclose(
        getattr(two, answer)(X), getattr(one, answer)(X), rtol=1e-5, atol=1e-6
    )


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.mark.parametrize("n_jobs", [1, 2, -1, None])
def test_fits_and_predictions_use_the_threads_they_may(n_jobs, monkeypatch):
    before, cores = blas_threads(), _core_count()
    expected = {1: 1, 2: min(2, cores), -1: cores, None: thread_count()}[n_jobs]
    seen = []
    for module, name in ((fitting, "timed_results"), (regressor, "blend_weights")):
        original = getattr(module, name)

        def watched(*arguments, _original=original, **keywords):
            seen.append(thread_count())
            return _original(*arguments, **keywords)

        monkeypatch.setattr(module, name, watched)
    X, y = regression(60)
    model = SpectralRegressor(evidence=QUICK, n_jobs=n_jobs, random_state=0).fit(X, y)
    assert set(seen) == {expected}
    assert blas_threads() == before
    predicting = []
    monkeypatch.setattr(
        type(model.blend_),
        "evaluate",
        lambda self, Z: predicting.append(thread_count()) or np.zeros((len(Z), 1)),
    )
    model.predict(X)
    assert set(predicting) == {expected}
    assert blas_threads() == before


def _core_count():
    with at_most_threads(-1):
        return thread_count()


def test_limits_of_several_fits_at_once_are_taken_back_in_any_order():
    before = blas_threads()
    first, second = at_most_threads(2), at_most_threads(1)
    first.__enter__()
    second.__enter__()
    assert blas_threads() == {1}
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, True, "all"])
def test_a_number_of_threads_that_is_none_is_refused(n_jobs):
    X, y = regression(20)
    with pytest.raises(
        ValueError, match=r"n_jobs must be a number of threads.*Write e.g. n_jobs=2"
    ):
        SpectralRegressor(n_jobs=n_jobs).fit(X, y)


@pytest.mark.skipif(_core_count() < 2, reason="needs two cores")
def test_families_are_worked_on_side_by_side_in_their_order():
    meeting = Barrier(2, timeout=20)

    def work(k):
        if k < 2:
            meeting.wait()  # passes only where two are there at once
        return k**2

    with at_most_threads(2):
        outcomes = timed_results(work, range(3), range(3))
    assert [one.result for one in outcomes] == [0, 1, 4]
    assert min(one.seconds for one in outcomes) >= 0


@pytest.mark.parametrize("together", [True, False])
def test_families_that_a_callback_stops_are_left_out(together):
    outcomes = timed_results(lambda k: k, range(3), range(1), together)
    assert [one.result for one in outcomes] == [0]
    enough = timed_results(lambda k: k, range(3), range(1), together, fewest=2)
    assert [one.result for one in enough] == [0, 1]
