"""GBRFF1 and GBRFF2 on rows of Dask: the model of arrays, from sums that the workers compute."""

import numpy as np
import pytest
from selection import long_except
from sklearn.base import clone

from bochner import GBRFF1Classifier, GBRFF2Classifier, OptimalAlignment
from bochner.boosting import gbrff2, gbrff_base
from bochner.data import repetitions

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

N = 700
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
SIGNAL = np.sin(2 * X[:, 0]) + X[:, 1] / 2 + 0.3 * RNG.normal(size=N)
TWO = SIGNAL > 0.2
THREE = np.array(["low", "middle", "upper"])[np.searchsorted([-0.5, 0.5], SIGNAL)]
WEIGHTS = RNG.uniform(0.5, 2, size=N) * (RNG.random(N) > 0.2)
# A few iterations of L-BFGS: each multiplies what rounding has left of two sums in another order.
MODELS = {
    "learned landmarks": GBRFF1Classifier(
        n_rounds=2, n_components=4, max_iterations=3, random_state=0
    ),
    "random landmarks": GBRFF1Classifier(
        n_rounds=2, n_components=4, landmark="random", class_weight="balanced", random_state=0
    ),
    "one coordinate": GBRFF1Classifier(
        n_rounds=2, n_components=1, landmark=1, calibrated=False, random_state=0
    ),
    "one coordinate of several": GBRFF1Classifier(
        n_rounds=2, n_components=4, landmark=2, max_iterations=3, random_state=0
    ),
    "another learner": GBRFF1Classifier(
        n_rounds=2, n_components=4, learner=OptimalAlignment(), max_iterations=0, random_state=0
    ),
    "frequencies": GBRFF2Classifier(n_rounds=2, learning_rate=0.5, random_state=0),
    "phases again": GBRFF2Classifier(
        n_rounds=2, rephase=True, penalty=0.02, class_weight="balanced", random_state=0
    ),
    "subsamples": GBRFF1Classifier(
        n_rounds=2, n_components=4, landmark="random", subsample=0.5, random_state=0
    ),
    "drawn frequencies": GBRFF2Classifier(
        n_rounds=2, max_iterations=0, calibrated=False, random_state=0
    ),
}
# One of each way through the rounds is among the quick tests; siblings take their time.
QUICK = ("learned landmarks", "frequencies")
every_model = pytest.mark.parametrize("name", long_except(MODELS, *QUICK))


@pytest.fixture(autouse=True)
def few_rows_stay_there(monkeypatch):
    """Treat few rows like many: searches, held-out rows and partitions."""
    monkeypatch.setattr(repetitions, "FEW_ROWS", 0)
    monkeypatch.setattr(gbrff2, "_FEW_TURNS", 35)
    with dask.config.set(scheduler="synchronous"):
        yield


def there(values, size):
    parts = da.from_array(values, chunks=(size, *values.shape[1:]))
    return da.concatenate([parts[:300], parts[:0], parts[300:]])


def of_unknown_lengths(values, size):
    return da.from_array(values, chunks=(size, *values.shape[1:]))[
        da.from_array(np.ones(N, bool), chunks=size)
    ]


def assert_same(found, expected):
    for model in (found, expected):
        assert np.all(np.diff(model.train_loss_, axis=0) <= 1e-12)
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), **close)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), **close)
    np.testing.assert_allclose(found.train_loss_, expected.train_loss_, **close)
    np.testing.assert_allclose(found.feature_importances_, expected.feature_importances_, **close)
    if hasattr(expected, "landmarks_"):
        np.testing.assert_allclose(found.landmarks_, expected.landmarks_, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "case",
    long_except(
        [(name, target) for name in MODELS for target in ("two", "three and weights")],
        ("learned landmarks", "two"),
        ("random landmarks", "two"),
        ("drawn frequencies", "three and weights"),
    ),
    ids=" ".join,
)
def test_the_model_of_dask_rows_is_that_of_arrays(case):
    name, target = case
    y, weights = (TWO, None) if target == "two" else (THREE, WEIGHTS)
    expected = clone(MODELS[name]).fit(X, y, weights)
    weights = None if weights is None else there(weights, 300)
    assert_same(clone(MODELS[name]).fit(there(X, 250), there(y, 200), weights), expected)


@pytest.mark.parametrize(
    "name",
    long_except(["random landmarks", "frequencies", "drawn frequencies"], "drawn frequencies"),
)
def test_partitions_of_unknown_length_and_targets_in_memory(name):
    expected = clone(MODELS[name]).fit(X, THREE, WEIGHTS)
    assert_same(
        clone(MODELS[name]).fit(
            of_unknown_lengths(X, 250), of_unknown_lengths(THREE, 200), WEIGHTS
        ),
        expected,
    )
    assert_same(clone(MODELS[name]).fit(there(X, 250), THREE, there(WEIGHTS, 150)), expected)


@pytest.mark.parametrize(
    "name",
    long_except(
        ["one coordinate of several", "frequencies", "drawn frequencies"], "drawn frequencies"
    ),
)
def test_a_warm_start_continues_on_dask(name):
    whole = clone(MODELS[name]).fit(X, THREE, WEIGHTS)
    parts = clone(MODELS[name]).set_params(n_rounds=1, warm_start=True)
    parts.fit(there(X, 250), there(THREE, 200), there(WEIGHTS, 300)).set_params(n_rounds=2)
    assert_same(parts.fit(there(X, 150), there(THREE, 270), there(WEIGHTS, 300)), whole)


@every_model
def test_rows_held_out_of_many_are_the_same_on_dask(name, monkeypatch):
    monkeypatch.setattr(gbrff_base, "_MOST_HELD_OUT", 40)
    model = clone(MODELS[name]).set_params(calibrated=True, n_rounds=2)
    expected = clone(model).fit(X, TWO, WEIGHTS)
    found = model.fit(there(X, 250), there(TWO, 200), there(WEIGHTS, 300))
    assert found.slope_ == pytest.approx(expected.slope_, rel=1e-12)
    assert found.slope_ != 1.0


def test_partitions_are_read_once_and_no_round_is_longer_than_the_one_before():
    reads, tasks = [], []

    def read(block):
        reads.append(len(block))
        return block

    def counting(graph, keys, **keywords):
        graph = dict(graph.__dask_graph__() if hasattr(graph, "__dask_graph__") else graph)
        tasks[-1] += len(graph)
        return dask.get(graph, keys)

    with dask.config.set(scheduler=counting):
        for n_rounds in (1, 2, 3):
            reads.clear()
            tasks.append(0)
            rows = there(X, 250).map_blocks(read, meta=np.empty((0, 0)))
            # Without L-BFGS, whose number of looks varies.
            GBRFF2Classifier(n_rounds=n_rounds, max_iterations=0, random_state=0).fit(
                rows, there(TWO, 200)
            )
            assert sum(reads) == N
    assert tasks[2] - tasks[1] == tasks[1] - tasks[0] > 0


def test_nan_on_dask_is_refused_even_without_a_round():
    spoilt = np.where(np.arange(3 * N).reshape(N, 3) == 700, np.nan, X)
    for n_rounds in (0, 2):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            GBRFF2Classifier(n_rounds=n_rounds).fit(there(spoilt, 250), there(TWO, 200))
