"""Laws that every estimator in ``registry.py`` keeps; the quick tests check one of each kind."""

import copy
import functools
import pickle

import joblib
import numpy as np
import pytest
from export_samples import assert_says_the_same, both_dtypes
from laws import (
    N_ROWS,
    NEEDS_MERGED_ROWS,
    SEPARATE_COSTS,
    Failure,
    answers,
    assert_same,
    data_for,
    failing_after,
    follows_rounding,
    on_cluster,
    parts_of,
    seeded,
    stored,
)
from registry import DEFAULTS, ESTIMATORS, KINDS, REFUSED_ON_DASK, REGISTRY
from selection import long_except
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import has_fit_parameter

import bochner
from bochner import (
    FourierBoostingRegressor,
    GBRFF1Classifier,
    GBRFF2Classifier,
    OperatorClassifier,
    SpectralClassifier,
    SpectralFeatures,
    SpectralLogistic,
    SpectralRegressor,
    SpectralRidge,
)
from bochner.data import repetitions
from bochner.export import to_onnx


def each(estimators, quick=KINDS):
    """Run a test for each estimator; those that are not in ``quick`` run in `make test-all`."""
    names = [str(estimator).replace("\n", "").replace(" ", "")[:90] for estimator in estimators]
    cases = long_except(estimators, *(one for one in estimators if one in quick))
    return pytest.mark.parametrize("estimator", cases, ids=names)


every_estimator = each(ESTIMATORS)
# GBRFF2Classifier, SpectralLogistic and SpectralRegressor share code with these and are faster.
SLOWER = (GBRFF1Classifier, OperatorClassifier, SpectralClassifier)
FASTER = [one for one in KINDS if not isinstance(one, SLOWER)]
FEW = (SpectralFeatures, SpectralRidge, SpectralLogistic, SpectralRegressor)
every_default = each(DEFAULTS, [one for one in DEFAULTS if isinstance(one, FEW)])
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def fitted(estimator, X, y, **keywords):
    return seeded(clone(estimator)).fit(X, y, **keywords)


@functools.cache
def reference(estimator):
    """Return the estimator fitted to its data, and its answers; several laws compare with them."""
    X, y = data_for(estimator)
    model = fitted(estimator, X, y)
    return model, answers(model, X)


@every_estimator
def test_attributes_that_do_not_exist_are_no_error_for_notebooks(estimator):
    """scikit-learn's view reads all attributes, and only expects an AttributeError."""
    model, _ = reference(estimator)
    assert type(model).__name__ in model._repr_html_()
    assert "fit" in dir(model)


@each(ESTIMATORS, FASTER)
@pytest.mark.parametrize("storage", ["blocks", "map", "sparse", "dask"])
def test_where_rows_live_changes_nothing(estimator, storage, tmp_path):
    X, y = data_for(estimator)
    model, expected = reference(estimator)
    rows = stored(X, storage, tmp_path)
    if storage == "blocks":
        if "block_size" not in estimator.get_params():
            return
        rows, other = X, seeded(clone(estimator)).set_params(block_size=7)
    else:
        assert_same(answers(model, rows), expected)
        other = seeded(clone(estimator))
    if follows_rounding(estimator, storage):
        return
    if storage == "dask" and type(estimator).__name__ in REFUSED_ON_DASK:
        with pytest.raises(TypeError, match="Dask"):
            other.fit(rows, y)
        return
    other.fit(rows, y)
    assert_same(answers(other, X), expected, rtol=1e-6, atol=1e-7)


@each(ESTIMATORS, [one for one in KINDS if isinstance(one, SpectralRidge)])
def test_rows_of_files_change_nothing(estimator, tmp_path):
    """``open_rows`` returns a memory map, whose rows the law above has for every estimator."""
    test_where_rows_live_changes_nothing(estimator, "parquet", tmp_path)


@each([one for one in ESTIMATORS if REGISTRY[type(one).__name__].exact_on_dask])
def test_on_a_cluster_the_model_is_that_of_arrays(estimator):
    """Targets have other partitions than the rows; predictions are lazy and scores are sums."""
    da = pytest.importorskip("dask.array")
    X, y = data_for(estimator)
    rows, targets = on_cluster(X, y)
    (expected, said), found = reference(estimator), fitted(estimator, rows, targets)
    assert_same(answers(found, rows), said, rtol=1e-10, atol=1e-10)
    lazy = found.predict(rows) if hasattr(found, "predict") else found.transform(rows)
    assert isinstance(lazy, da.Array)
    if hasattr(found, "score"):
        assert found.score(rows, targets) == pytest.approx(expected.score(X, y), abs=1e-12)


@each(
    ESTIMATORS, [one for one in KINDS if not isinstance(one, GBRFF2Classifier)]
)  # its loops would be compiled again
def test_float32_stays(estimator):
    X, y = data_for(estimator)
    single = fitted(estimator, X.astype(np.float32), y)
    for name, value in answers(single, X.astype(np.float32)).items():
        if np.asarray(value).dtype.kind == "f":
            assert value.dtype == np.float32 or name == "predict_proba", name


@every_estimator
@pytest.mark.parametrize("way", ["pickle", "joblib", "bochner"])
def test_a_model_survives_being_stored(estimator, way, tmp_path):
    X, _ = data_for(estimator)
    model, expected = reference(estimator)
    path = tmp_path / "model"
    if way == "pickle":
        again = pickle.loads(pickle.dumps(model))
    elif way == "joblib":
        joblib.dump(model, path)
        again = joblib.load(path)
    else:
        pytest.importorskip("skops.io")
        bochner.save(model, path)
        again = bochner.load(path)
        assert repr(again) == repr(model)
    for name, value in answers(again, X).items():
        np.testing.assert_array_equal(value, expected[name])


@each(ESTIMATORS, FASTER)
@pytest.mark.parametrize(
    "error",
    [pytest.param(Failure("outside"), marks=pytest.mark.long), KeyboardInterrupt()],
    ids=["error", "interruption"],
)
def test_a_fit_that_fails_leaves_the_old_model(estimator, error, monkeypatch):
    X, _ = data_for(estimator)
    other_X, other_y = data_for(estimator, n_rows=70, n_features=4, seed=1)
    model, expected = copy.deepcopy(reference(estimator))
    with failing_after(0, monkeypatch, None) as reads:
        fitted(estimator, other_X, other_y)
    assert reads
    for n_calls in sorted({0, len(reads) // 2, len(reads) - 1}):
        fresh = seeded(clone(estimator))
        for failing in (model, fresh):
            with failing_after(n_calls, monkeypatch, error), pytest.raises(type(error)):
                failing.fit(other_X, other_y)
        assert_same(answers(model, X), expected, rtol=0, atol=0)
        with pytest.raises(NotFittedError):
            answers(fresh, X)


def test_every_fit_takes_weights_and_every_classifier_class_weights():
    for estimator in DEFAULTS:
        assert has_fit_parameter(estimator, "sample_weight"), estimator
        assert not is_classifier(estimator) or estimator.class_weight is None, estimator


@every_estimator
def test_weights_count_like_repeated_rows(estimator):
    X, y = data_for(estimator, n_rows=60)
    weights = np.random.default_rng(3).integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = fitted(estimator, X, y, sample_weight=weights.astype(float))
    longer = fitted(estimator, X[repeated], y[repeated])
    assert_same(answers(weighted, X), answers(longer, X), rtol=1e-5, atol=1e-6)


@each(
    [e for e in ESTIMATORS if not any(isinstance(part, NEEDS_MERGED_ROWS) for part in parts_of(e))]
)
def test_sums_of_weights_are_those_of_repeated_rows(estimator, monkeypatch):
    """Weights are repetitions without merged rows, which hide wrong formulas."""
    monkeypatch.setattr(repetitions, "FEW_ROWS", 0)
    if isinstance(estimator, FourierBoostingRegressor):
        estimator = clone(estimator).set_params(
            n_pilots=0
        )  # pilots draw rows: merged ones are the same for both
    if isinstance(estimator, GBRFF1Classifier | GBRFF2Classifier):
        estimator = clone(estimator).set_params(calibrated=False)  # held-out rows are drawn too
    test_weights_count_like_repeated_rows(estimator)


BAD_WEIGHTS = {
    "zero": (np.zeros(N_ROWS), "zero for every row"),
    "negative": (
        np.append(-1.0, np.ones(N_ROWS - 1)),
        "Negative values in sample_weight, such as -1 in row 0",
    ),
    "missing": (np.append(np.ones(N_ROWS - 1), np.nan), "NaN or infinity: nan in row 89"),
    "infinite": (np.append(np.ones(N_ROWS - 1), np.inf), "NaN or infinity: inf in row 89"),
    "too few": (np.ones(N_ROWS - 1), r"shape \(89,\), but needs one number for each row"),
    "two columns": (np.ones((N_ROWS, 2)), r"shape \(90, 2\), but needs one number for each row"),
    "texts": (np.full(N_ROWS, "1"), "must hold numbers"),
    "mixed": ([1.0, "a"] * (N_ROWS // 2), "must hold numbers"),
    "nothing": ([None] * N_ROWS, "must hold numbers"),
    "complex": (np.full(N_ROWS, 1j), "must hold numbers"),
}


@each(DEFAULTS, [one for one in DEFAULTS if isinstance(one, SpectralRidge)])
@pytest.mark.parametrize("bad", BAD_WEIGHTS)
def test_bad_weights_are_refused(estimator, bad):
    X, y = data_for(estimator)
    weights, message = BAD_WEIGHTS[bad]
    with pytest.raises(ValueError, match=message):
        fitted(estimator, X, y, sample_weight=weights)


@every_default
def test_one_number_is_the_weight_of_every_row(estimator):
    X, y = data_for(estimator, n_rows=40)
    assert_same(
        answers(fitted(estimator, X, y, sample_weight=2), X),
        answers(fitted(estimator, X, y, sample_weight=np.full(40, 2.0)), X),
    )


CLASSIFIERS = [estimator for estimator in ESTIMATORS if is_classifier(estimator)]


@each(CLASSIFIERS, FASTER)
def test_class_weights_are_weights_of_rows(estimator):
    X, y = data_for(estimator)
    counts = np.random.default_rng(5).integers(1, 3, size=len(X)).astype(float)
    totals = {label: counts[y == label].sum() for label in np.unique(y)}
    balanced = np.array([counts.sum() / (len(totals) * totals[label]) for label in y])
    chosen = {"low": 3.0, "middle": 0.5}
    by_label = np.array([chosen.get(label, 1.0) for label in y])
    for class_weight, costs in (("balanced", balanced), (chosen, by_label)):
        with_classes = clone(estimator).set_params(class_weight=class_weight)
        found = fitted(with_classes, X, y, sample_weight=counts)
        if isinstance(estimator, SEPARATE_COSTS):
            plain = fitted(
                clone(estimator).set_params(class_weight=None), X, y, sample_weight=counts
            )
            gap = (
                np.abs(found.decision_function(X) - plain.decision_function(X))
                if hasattr(found, "coef_")
                else 1.0
            )
            assert np.max(gap) > 1e-3
            continue
        expected = fitted(
            clone(estimator).set_params(class_weight=None), X, y, sample_weight=counts * costs
        )
        assert_same(answers(found, X), answers(expected, X), rtol=1e-7, atol=1e-8)


@each(CLASSIFIERS, [one for one in KINDS if isinstance(one, SpectralLogistic)])
@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ("even", ValueError, "class_weight must be one of 'balanced'"),
        ([1.0, 2.0], TypeError, "class_weight must be None, 'balanced' or a dictionary"),
        ({"lwo": 2.0}, ValueError, r"class_weight names \['lwo'\]"),
        ({"low": -1.0}, ValueError, r"class_weight\['low'\] must be non-negative"),
        ({"low": np.nan}, ValueError, r"class_weight\['low'\] must be non-negative and finite"),
        ({"low": "much"}, TypeError, r"class_weight\['low'\] must be a number"),
    ],
    ids=str,
)
def test_bad_class_weights_are_refused(estimator, bad, error, message):
    X, y = data_for(estimator)
    with pytest.raises(error, match=message):
        fitted(clone(estimator).set_params(class_weight=bad), X, y)


@every_default
def test_weights_are_routed_where_they_are_requested(estimator):
    X, y = data_for(estimator, n_rows=40)
    weights = np.random.default_rng(3).uniform(0.5, 3, size=len(X))
    with config_context(enable_metadata_routing=True):
        asking = seeded(clone(estimator)).set_fit_request(sample_weight=True)
        routed = make_pipeline(FunctionTransformer(), asking).fit(X, y, sample_weight=weights)
        unasked = make_pipeline(FunctionTransformer(), seeded(clone(estimator)))
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            unasked.fit(X, y, sample_weight=weights)
    direct = fitted(estimator, X, y, sample_weight=weights)
    assert_same(answers(routed[-1], X), answers(direct, X), rtol=0, atol=0)


@every_estimator
@both_dtypes
def test_the_onnx_graph_says_what_the_model_says(estimator, dtype):
    """In onnxruntime, to 1e-5 of the size of the output in float32 and 1e-10 in float64, rows
    between those of the fit included.
    """
    pytest.importorskip("skl2onnx")
    X, _ = data_for(estimator)
    model, _ = reference(estimator)
    rows = np.vstack([X, np.random.default_rng(5).normal(size=X.shape)])
    assert_says_the_same(to_onnx(model, X=rows, dtype=dtype), model, rows, dtype)
