"""Every law of an estimator against every listed one: a newcomer in ``cases.py`` is held to all of them."""

import pickle

import joblib
import numpy as np
import pytest
from cases import ESTIMATORS
from export_samples import assert_says_the_same, both_dtypes
from laws import (
    NEEDS_ROWS_HERE,
    STORAGES,
    Struck,
    answers,
    assert_same,
    data_for,
    follows_rounding,
    seeded,
    stored,
    struck_after,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import has_fit_parameter

from bochner.export import to_onnx

NAMES = [str(estimator).replace("\n", "").replace(" ", "")[:90] for estimator in ESTIMATORS]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def fitted(estimator, X, y, **keywords):
    return seeded(clone(estimator)).fit(X, y, **keywords)


@every_estimator
@pytest.mark.parametrize("storage", STORAGES[1:])
def test_where_rows_live_changes_nothing(estimator, storage, tmp_path):
    X, y = data_for(estimator)
    model = fitted(estimator, X, y)
    expected = answers(model, X)
    elsewhere = stored(X, storage, tmp_path)
    if storage == "blocks":
        if "block_size" not in estimator.get_params():
            return
        elsewhere, other = X, seeded(clone(estimator)).set_params(block_size=7)
    else:
        assert_same(answers(model, elsewhere), expected)
        other = seeded(clone(estimator))
    if follows_rounding(estimator, storage):
        return
    if storage == "dask" and isinstance(estimator, NEEDS_ROWS_HERE):
        with pytest.raises(TypeError, match="Dask"):
            other.fit(elsewhere, y)
        return
    other.fit(elsewhere, y)
    assert_same(answers(other, X), expected, rtol=1e-6, atol=1e-7)


@every_estimator
def test_float32_stays(estimator):
    X, y = data_for(estimator)
    single = fitted(estimator, X.astype(np.float32), y)
    for name, value in answers(single, X.astype(np.float32)).items():
        if np.asarray(value).dtype.kind == "f":
            assert value.dtype == np.float32 or name == "predict_proba", name


@every_estimator
@pytest.mark.parametrize("way", ["pickle", "joblib", "skops"])
def test_a_model_survives_being_stored(estimator, way, tmp_path):
    X, y = data_for(estimator)
    model = fitted(estimator, X, y)
    expected = answers(model, X)
    path = tmp_path / "model"
    if way == "pickle":
        again = pickle.loads(pickle.dumps(model))
    elif way == "joblib":
        joblib.dump(model, path)
        again = joblib.load(path)
    else:
        skops = pytest.importorskip("skops.io")
        from bochner.storage import trusted_types

        skops.dump(model, path)
        again = skops.load(path, trusted=trusted_types(path))
    for name, value in answers(again, X).items():
        np.testing.assert_array_equal(value, expected[name])


@every_estimator
@pytest.mark.parametrize("error", [Struck("outside"), KeyboardInterrupt()], ids=["error", "interruption"])
def test_a_fit_that_is_struck_leaves_the_old_model(estimator, error, monkeypatch):
    X, y = data_for(estimator)
    other_X, other_y = data_for(estimator, n_rows=70, n_features=4, seed=1)
    model = fitted(estimator, X, y)
    expected = answers(model, X)
    with struck_after(0, monkeypatch, None) as looks:
        fitted(estimator, other_X, other_y)
    assert looks
    for n_calls in sorted({0, len(looks) // 2, len(looks) - 1}):
        fresh = seeded(clone(estimator))
        for struck in (model, fresh):
            with struck_after(n_calls, monkeypatch, error), pytest.raises(type(error)):
                struck.fit(other_X, other_y)
        assert_same(answers(model, X), expected, rtol=0, atol=0)
        with pytest.raises(NotFittedError):
            answers(fresh, X)


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if has_fit_parameter(e, "sample_weight")], ids=str)
def test_weights_count_like_repeated_rows(estimator):
    X, y = data_for(estimator, n_rows=60)
    weights = np.random.default_rng(3).integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = fitted(estimator, X, y, sample_weight=weights.astype(float))
    longer = fitted(estimator, X[repeated], y[repeated])
    assert_same(answers(weighted, X), answers(longer, X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if has_fit_parameter(e, "sample_weight")], ids=str)
@pytest.mark.parametrize(
    ("weights", "message"),
    [(0.0, "nothing to learn|at least one non-zero"), (-1.0, "[Nn]egative"), (np.nan, "NaN")],
    ids=str,
)
def test_bad_weights_are_refused(estimator, weights, message):
    X, y = data_for(estimator)
    with pytest.raises(ValueError, match=message):
        fitted(estimator, X, y, sample_weight=np.full(len(X), weights))


@every_estimator
@both_dtypes
def test_the_onnx_graph_says_what_the_model_says(estimator, dtype):
    """In onnxruntime, to 1e-5 of the size of the output in float32 and 1e-10 in float64, rows between those of the fit included."""
    pytest.importorskip("skl2onnx")
    X, y = data_for(estimator)
    model = fitted(estimator, X, y)
    rows = np.vstack([X, np.random.default_rng(5).normal(size=X.shape)])
    assert_says_the_same(to_onnx(model, dtype=dtype), model, rows, dtype)
