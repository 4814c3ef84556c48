"""Every public estimator on a Dask cluster of two processes gives the model of arrays.

Predictions are lazy, and a killed worker changes nothing.
"""

import os
import signal
import threading
import time

import numpy as np
import pytest
from laws import answers, assert_same, seeded
from registry import FITTED_ON_DASK, REFUSED_ON_DASK, REGISTRY
from selection import long_except
from sklearn.base import BaseEstimator, clone, is_classifier

import bochner
from bochner import Learner, SpectralLogistic, SpectralRidge, certify

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*Sending large graph", "ignore:X does not have valid feature names"
)

N = 4100  # more than the rows that are compared in pairs in memory
_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(N, 4))
VALUES = np.sin(X[:, 0]) + X[:, 1] / 2
TWO = VALUES > 0.2
TARGETS = {
    "values": VALUES,
    "two": TWO,
    "labels": np.array(["low", "middle", "upper"])[np.searchsorted([-0.5, 0.5], VALUES)],
    "outputs": np.column_stack([VALUES, np.cos(X[:, 0])]),
}
KINDS = {
    f"{name}, {kind}": (estimator, TARGETS[target])
    for name, kinds in FITTED_ON_DASK.items()
    for kind, (estimator, target) in kinds.items()
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_estimator = pytest.mark.parametrize("name", FITTED_ON_DASK)


def public(kind):
    """Public classes of a kind that can be used as they are."""
    found = (getattr(bochner, name) for name in (*bochner.__all__, *bochner._HOMES))
    return {one for one in found if isinstance(one, type) and issubclass(one, kind)}


def test_every_public_estimator_and_learner_is_registered():
    estimators = {one.__name__ for one in public(BaseEstimator) if hasattr(one, "fit")}
    assert estimators == set(REGISTRY)
    for name, entry in REGISTRY.items():
        fits = [one for one, _ in FITTED_ON_DASK.get(name, {}).values()]
        listed = [*entry.kinds, *entry.settings, *entry.small.values(), *entry.iterative.values()]
        assert {type(one).__name__ for one in [*fits, *listed]} <= {name}
        assert fits or name in REFUSED_ON_DASK or not entry.target
    learners = {type(estimator.get_params().get("learner")) for estimator, _ in KINDS.values()}
    abstract = {one for one in public(Learner) if one.__abstractmethods__}
    assert public(Learner) - abstract <= learners


def there(values, size=300):
    """In partitions of their own lengths, columns cut too, one partition without rows."""
    columns = [3] if values.shape[1:] == (4,) else values.shape[1:]
    parts = da.from_array(values, chunks=(size, *columns))
    return da.concatenate([parts[:500], parts[:0], parts[500:]])


def tolerance(model):
    return 1e-6 if type(model).__name__ in ("SpectralClassifier", "SpectralRegressor") else 1e-10


def fitted(kind, rows, y):
    return seeded(clone(KINDS[kind][0])).fit(rows, y)


@pytest.fixture(scope="module")
def client():
    with cluster() as two, distributed.Client(two) as client:
        yield client


def cluster():
    return distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs="CRITICAL",
    )


@pytest.mark.long
@every_kind
@pytest.mark.usefixtures("client")
def test_the_model_of_a_cluster_is_that_of_arrays(kind):
    y = KINDS[kind][1]
    here, model = fitted(kind, X, y), fitted(kind, there(X), there(y, 230))
    bound = tolerance(model)
    assert_same(answers(model, X), answers(here, X), bound, bound)
    said = {name: getattr(model, name)(there(X)) for name in answers(here, X)}
    assert all(isinstance(answer, da.Array) for answer in said.values())
    assert_same(
        {name: answer.compute() for name, answer in said.items()}, answers(here, X), 1e-5, 1e-5
    )
    if hasattr(model, "score"):
        assert model.score(there(X), there(y, 230)) == pytest.approx(here.score(X, y), abs=1e-6)


@pytest.mark.long
@pytest.mark.usefixtures("client")
def test_a_certificate_on_a_cluster_is_that_of_arrays():
    model = SpectralLogistic().fit(X, TWO)
    expected = certify(model, X, TWO)
    assert certify(model, there(X), there(TWO, 230)).value == pytest.approx(
        expected.value, rel=1e-12
    )
    ridge = SpectralRidge().fit(X, VALUES)
    expected = certify(ridge, X, VALUES, largest_loss=1.0)
    assert certify(ridge, there(X), there(VALUES, 230), largest_loss=1.0).value == pytest.approx(
        expected.value, rel=1e-9
    )


def slowly(block):
    """What storage is: slower than the sums, so that a worker dies while others wait for what it
    reads.
    """
    time.sleep(0.05)
    return block


@pytest.mark.long
@every_kind
def test_a_worker_killed_during_a_fit_changes_nothing(kind):
    y = KINDS[kind][1]
    expected = answers(fitted(kind, X, y), X)
    with cluster() as two, distributed.Client(two) as client:
        before = set(client.run(os.getpid).values())
        rows = da.from_array(X, chunks=(N // 40, 4)).map_blocks(slowly, meta=np.empty((0, 0)))
        threading.Timer(0.6, os.kill, (min(before), signal.SIGKILL)).start()
        model = fitted(kind, rows, there(y, 230))
        assert set(client.run(os.getpid).values()) != before, "nobody was killed during the fit"
    bound = tolerance(model)
    assert_same(answers(model, X), expected, bound, bound)


# --- what is fitted in memory ---------------------------------------------------------------------


PREDICTORS = [name for name in REFUSED_ON_DASK if hasattr(getattr(bochner, name), "predict")]


@pytest.mark.parametrize("name", PREDICTORS)
def test_estimators_fitted_in_memory_predict_on_dask(name):
    estimator, y = getattr(bochner, name)(), TARGETS[REGISTRY[name].target]
    model = seeded(clone(estimator))
    with pytest.raises(TypeError, match=REFUSED_ON_DASK[name]):
        model.fit(there(X), there(y))
    model.fit(X[:200], y[:200])
    said = {method: getattr(model, method)(there(X)) for method in answers(model, X)}
    assert all(isinstance(answer, da.Array) for answer in said.values())
    assert_same({method: answer.compute() for method, answer in said.items()}, answers(model, X))
    assert model.score(there(X), there(y)) == pytest.approx(model.score(X, y), abs=1e-12)


@pytest.mark.parametrize("name", [name for name in REFUSED_ON_DASK if name not in PREDICTORS])
def test_preparations_are_of_rows_in_memory(name):
    estimator, sentence = getattr(bochner, name)(), REFUSED_ON_DASK[name]
    with pytest.raises(TypeError, match=sentence):
        clone(estimator).fit(there(X))
    with pytest.raises(TypeError, match=sentence):
        clone(estimator).fit(X).transform(there(X))


# --- bad and odd inputs ---------------------------------------------------------------------------


def last_case(name):
    estimator, target = next(reversed(FITTED_ON_DASK[name].values()))
    return seeded(clone(estimator)), TARGETS[target]


def sentence_of(fit):
    with pytest.raises(Exception, match=r"\w+") as raised:
        fit()
    return type(raised.value), str(raised.value)


@pytest.fixture
def in_this_thread():
    """Run the tasks of Dask one after another."""
    with dask.config.set(scheduler="synchronous"):
        yield


# One estimator of each way of reading targets and rows; all the others among the long tests.
READERS = (
    "SpectralLogistic",
    "OperatorRidge",
    "FourierBoostingClassifier",
    "SpectralRegressor",
    "SpectralFeatures",
)


@pytest.mark.usefixtures("in_this_thread")
@pytest.mark.parametrize("name", long_except(FITTED_ON_DASK, *READERS))
def test_bad_inputs_of_a_cluster_are_refused_as_those_of_arrays(name):
    """The same kind of error, and the same words up to where the bad number is."""
    estimator, y = last_case(name)
    spoilt = X.copy()
    spoilt[900, 2] = np.inf if name in ("SpectralClassifier", "SpectralRegressor") else np.nan
    bad = [(spoilt, y), (X, y[:-1]), (X[:, 0], y)]
    if y.dtype.kind == "f" and name not in (
        "OperatorRidge",
        "OperatorRegressor",
    ):  # missing outputs
        bad.append((X, np.where(np.arange(N).reshape(-1, *[1] * (y.ndim - 1)) == 700, np.nan, y)))
    if is_classifier(estimator):
        bad += [(X, np.full(N, "one")), (X, VALUES)]
    for rows, target in bad:
        here = sentence_of(lambda: clone(estimator).fit(rows, target))  # noqa: B023
        found = sentence_of(lambda: clone(estimator).fit(there(rows), there(target, 230)))  # noqa: B023
        assert found[0] == here[0], (found, here)
        assert found[1].split()[:3] == here[1].split()[:3]


# Those whose fits are sums or batches of labels; all the others among the long tests.
QUICK = ("SpectralLogistic", "OperatorRidgeClassifier", "FourierBoostingClassifier")


@pytest.mark.usefixtures("in_this_thread")
@pytest.mark.parametrize("name", long_except(FITTED_ON_DASK, *QUICK))
def test_labels_that_some_partitions_never_see(name):
    """Rows in the order of their labels: most partitions know one of them."""
    estimator, y = last_case(name)
    order = np.argsort(y if y.ndim == 1 else y[:, 0], kind="stable")
    expected = answers(clone(estimator).fit(X[order], y[order]), X)
    model = clone(estimator).fit(there(X[order]), there(y[order], 200))
    bound = tolerance(model)
    assert_same(answers(model, X), expected, bound, bound)


def frames(rows, y):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    table = dd.from_pandas(pd.DataFrame(rows, columns=list("abcd")), npartitions=5)
    return table, dd.from_pandas((pd.Series if y.ndim == 1 else pd.DataFrame)(y), npartitions=3)


def of_unknown_lengths(rows, y):
    kept = da.from_array(np.ones(N, bool), chunks=170)
    return tuple(da.from_array(part, chunks=(170, *part.shape[1:]))[kept] for part in (rows, y))


def arrays_of_zarr(rows, y):
    zarr = pytest.importorskip("zarr")
    stored = zarr.create_array(store={}, shape=rows.shape, chunks=(170, 4), dtype=rows.dtype)
    stored[:] = rows
    return stored, y


def tables_of_arrow(rows, y):
    pa = pytest.importorskip("pyarrow")
    return pa.table({name: rows[:, k] for k, name in enumerate("abcd")}), y


FORMS = {
    "frames": frames,
    "lengths": of_unknown_lengths,
    "zarr": arrays_of_zarr,
    "arrow": tables_of_arrow,
}


@pytest.mark.long
@every_estimator
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore")
def test_every_form_of_rows_gives_the_model_of_arrays(name, form):
    estimator, y = last_case(name)
    expected = answers(clone(estimator).fit(X, y), X)
    rows, target = FORMS[form](X, y)
    model = clone(estimator).fit(rows, target)
    named = hasattr(model, "feature_names_in_") and name in (
        "SpectralClassifier",
        "SpectralRegressor",
    )
    asked = pytest.importorskip("pandas").DataFrame(X, columns=list("abcd")) if named else X
    # Rows of frames are predicted in other blocks, by sums in float32.
    bound = tolerance(model) * (10 if named else 1)
    assert_same(answers(model, asked), expected, bound, bound)
