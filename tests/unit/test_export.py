"""ONNX graphs say what the fitted estimators say, or are refused by name."""

import builtins
import subprocess
import sys

import numpy as np
import pytest
from export_samples import assert_says_the_same, both_dtypes, run, session
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

import bochner
from bochner import (
    CertifiedClassifier,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    FourierMeasure,
    Gaussian,
    GBRFF1Classifier,
    HarmonicMeasure,
    KernelMachine,
    LandmarkFeatures,
    Matern,
    SpectralFeatures,
    SpectralRidge,
    TableInputs,
)
from bochner.export import register_converters, to_onnx
from bochner.export.estimators import _spectral_features, onnx_outputs
from bochner.export.registration import exported_types

onnx = pytest.importorskip("onnx")
skl2onnx = pytest.importorskip("skl2onnx")

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
DIABETES = load_diabetes(return_X_y=True)


def features(**settings):
    return SpectralFeatures(n_components=20, random_state=0, **settings)


# --- what comes out -------------------------------------------------------------------------------


@both_dtypes
@pytest.mark.parametrize(
    "labels", [NAMES, NAMES.astype(object), Y, Y == 1, Y * 2.0, Y.astype(np.uint8)], ids=repr
)
def test_labels_are_texts_or_whole_numbers_as_the_classes_are(labels, dtype):
    model = FourierBoostingClassifier(n_rounds=5, random_state=0).fit(X, labels)
    exported = to_onnx(model, X=X, dtype=dtype)
    assert_says_the_same(exported, model, X, dtype)
    told = {prop.key: prop.value for prop in exported.metadata_props}["classes"].split("\n")
    assert told == [str(label) for label in model.classes_]


@pytest.mark.parametrize("loss", ["logistic", "exponential", "multinomial"])
def test_two_classes_whatever_the_loss(loss):
    rows = Y < 2
    model = FourierBoostingClassifier(loss=loss, n_rounds=5, random_state=0).fit(
        X[rows], NAMES[rows]
    )
    assert_says_the_same(to_onnx(model, X=X[rows], dtype=np.float64), model, X[rows], np.float64)


@both_dtypes
@pytest.mark.parametrize("loss", ["squared", "huber", "quantile", "poisson"])
def test_values_whatever_the_loss_one_output_or_two(loss, dtype):
    rows, y = DIABETES
    for targets in (y, np.column_stack([y, y[::-1]])):
        model = FourierBoostingRegressor(loss=loss, n_rounds=5, random_state=0).fit(rows, targets)
        exported = to_onnx(model, X=rows, dtype=dtype)
        assert_says_the_same(exported, model, rows, dtype)
        # Far away the linear part ends at the bounds of the targets.
        far = np.sign(rows) * 1e3
        answers = model.predict(far).reshape(len(far), -1)
        assert np.mean(np.any(answers == model.target_bounds_[:, None], axis=0)) > 0.3
        at_bound = np.all(answers == model.target_bounds_[1], axis=1)
        assert_says_the_same(exported, model, far[at_bound], dtype)


def test_a_score_of_exactly_zero_counts_as_it_does_in_the_model():
    """A booster without rounds, on as many rows of either class: every score is the same."""
    model = GBRFF1Classifier(n_rounds=0).fit(X[:100], Y[:100])
    assert np.all(model.decision_function(X) == 0)
    assert_says_the_same(to_onnx(model, X=X), model, X, np.float32)


def test_no_rows_are_no_answers():
    model = LandmarkFeatures(n_landmarks=5, n_components=8, random_state=0).fit(X, Y)
    assert run(to_onnx(model, X=X), np.empty((0, 4)), np.float32)["features"].shape == (0, 5)


def test_regression_written_to_a_file(tmp_path):
    rows, y = DIABETES
    model = make_pipeline(features(), Ridge()).fit(rows, y)
    to_onnx(model, tmp_path / "model.onnx", X=rows, dtype=np.float64)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    assert_says_the_same(onnx.load(tmp_path / "model.onnx"), model, rows, np.float64)


def test_float32_graphs_of_ridges_and_kernels_do_not_lose_digits_to_cancellation():
    """Coefficients of hundreds that cancel, predictions of one: float32 sums would be off by more
    than 1e-5.
    """
    rows = np.linspace(0, 1, 200)[:, None]
    y = np.sin(12 * rows[:, 0])
    ridge = SpectralRidge(features(), alpha=1e-12).fit(rows, y)
    assert np.abs(ridge.coef_).max() > 500
    for model in (ridge, KernelMachine(Gaussian(20.0), alpha=1e-9).fit(rows, y)):
        assert_says_the_same(to_onnx(model, X=rows), model, rows, np.float32)


@pytest.mark.parametrize(
    "last", [features(), SpectralRidge(random_state=0), KernelMachine()], ids=str
)
def test_one_scaled_column_keeps_all_digits(last):
    """onnxruntime joins a scaling with a product of matrices after it, in float32."""
    rows, y = DIABETES[0][:, 2:3] * 7.7, DIABETES[1]
    model = make_pipeline(StandardScaler(), last).fit(rows, y)
    assert_says_the_same(to_onnx(model, X=rows, dtype=np.float64), model, rows, np.float64)


# --- features inside of predictors ----------------------------------------------------------------


@both_dtypes
@pytest.mark.parametrize(
    "inner",
    [
        LandmarkFeatures(n_landmarks=5, random_state=0),
        make_pipeline(StandardScaler(), PCA(2)),
        PCA(2),
    ],
    ids=lambda inner: type(inner).__name__,
)
def test_predictors_on_features_of_any_kind(inner, dtype):
    rows, y = DIABETES
    for model in (
        SpectralRidge(inner).fit(rows, y),
        CertifiedClassifier(inner, random_state=0).fit(rows, y > 150),
    ):
        assert_says_the_same(to_onnx(model, X=rows, dtype=dtype), model, rows, dtype)


def test_harmonic_measures():
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    fitted = features().fit(rows)
    fitted.measure_ = HarmonicMeasure(
        np.array([[0, 0], [1, 2], [2, 1], [2, 4], [5, 3], [5, 30]]), np.arange(1, 7) / 6
    )
    assert_says_the_same(to_onnx(fitted, X=rows, dtype=np.float64), fitted, rows, np.float64)


# --- what is refused ------------------------------------------------------------------------------


class Doubled(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return 2 * X


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (make_pipeline(features(), KernelRidge()), "KernelRidge cannot be exported"),
        (make_pipeline(Doubled(), features(), Ridge()), "Doubled cannot be exported"),
        (make_pipeline(features(), KMeans(2)), "KMeans. cannot be exported"),
        (SpectralRidge(SplineTransformer()), "SplineTransformer"),
        (
            LandmarkFeatures(Matern(nu=2.2), n_landmarks=5, similarity="exact"),
            r"Matern\(nu=2.2\) is a Bessel",
        ),
        (KernelMachine(Matern(nu=0.7)), r"Matern\(nu=0.7\) is a Bessel"),
    ],
    ids=lambda case: str(case)[:40],
)
def test_what_has_no_graph_is_refused_by_name(model, message):
    with pytest.raises(TypeError, match=message):
        to_onnx(model.fit(X, Y), X=X)


def test_unknown_measures_are_refused_by_name():
    class OtherMeasure(bochner.measures.fourier.AtomicMeasure):
        weights = np.ones(3)

    fitted = features().fit(X)
    fitted.measure_ = OtherMeasure()
    with pytest.raises(TypeError, match="`onnx_features`, which OtherMeasure does not define"):
        to_onnx(fitted, X=X)


def test_wrong_arguments():
    with pytest.raises(NotFittedError):
        to_onnx(SpectralFeatures())
    with pytest.raises(ValueError, match="float32 or float64"):
        to_onnx(features().fit(X), dtype=np.int32)
    with pytest.raises(ValueError, match="tolerance"):
        to_onnx(features().fit(X), tolerance=-1.0)


def test_labels_that_onnx_has_no_type_for():
    model = FourierBoostingClassifier(n_rounds=2, random_state=0).fit(X, Y)
    model.classes_ = np.array([0.5, 1.5, 2.5])
    with pytest.raises(TypeError, match="texts or whole numbers"):
        to_onnx(model, X=X)


# --- the trial ------------------------------------------------------------------------------------


def planted(estimator, graph):
    """A wrong formula: the features of a measure of other weights."""
    wrong = FourierMeasure(estimator.measure_.frequencies, 1.001 * estimator.measure_.weights)
    changed = SpectralFeatures()
    changed.measure_, changed.n_features_in_ = wrong, estimator.n_features_in_
    return _spectral_features(changed, graph)


@pytest.fixture
def a_wrong_formula():
    onnx_outputs.register(SpectralFeatures, planted)
    yield
    onnx_outputs.register(SpectralFeatures, _spectral_features)


@pytest.mark.usefixtures("a_wrong_formula")
def test_a_graph_with_other_results_is_refused(tmp_path):
    fitted = features().fit(X)
    with pytest.raises(ValueError, match=r"SpectralFeatures does not agree.*differ by 5.0e-04"):
        to_onnx(fitted, tmp_path / "model.onnx", X=X)
    assert not list(tmp_path.iterdir())
    to_onnx(fitted, X=X, tolerance=1e-3)


def test_labels_are_compared(monkeypatch):
    model = FourierBoostingClassifier(n_rounds=5, random_state=0).fit(X, Y)
    monkeypatch.setattr(
        "bochner.export.estimators.first_largest",
        lambda scores: scores.graph.node("ArgMin", scores, axis=1, keepdims=0),
    )
    with pytest.raises(ValueError, match="100 of 100 labels differ"):
        to_onnx(model, X=X)


def test_angles_that_are_too_large_for_float32_are_refused_with_a_way_out():
    rows = X + 1e5
    fitted = features().fit(rows)
    with pytest.raises(ValueError, match=r"Write dtype=np\.float64"):
        to_onnx(fitted, X=rows)
    to_onnx(fitted, X=rows, dtype=np.float64)


@pytest.mark.parametrize("first", [StandardScaler(), TableInputs(), PCA(2)], ids=str)
def test_without_rows_one_warning_says_that_the_graph_was_not_tried(first):
    fitted = make_pipeline(first, features()).fit(X)
    with pytest.warns(UserWarning, match=r"was not tried. Write to_onnx\(..., X=rows\)") as warned:
        exported = to_onnx(fitted, dtype=np.float64)
    (warning,) = warned
    assert warning.filename == __file__
    assert exported == to_onnx(fitted, X=X, dtype=np.float64)


def test_without_onnxruntime_the_graph_comes_with_a_warning(monkeypatch):
    without(monkeypatch, "onnxruntime")
    with pytest.warns(UserWarning, match="not tried: pip install 'bochner\\[onnx\\]'"):
        to_onnx(features().fit(X), X=X)


@pytest.mark.parametrize("library", ["onnx", "skl2onnx"])
def test_a_missing_library_is_named(monkeypatch, library):
    fitted = features().fit(X)
    without(monkeypatch, library)
    with pytest.raises(ImportError, match=f"needs {library}, .*pip install 'bochner\\[onnx\\]'"):
        to_onnx(fitted)
    if library == "skl2onnx":
        with pytest.raises(ImportError, match="needs skl2onnx"):
            register_converters()


def without(monkeypatch, library):
    """As if a library were not installed."""
    original = builtins.__import__

    def importing(name, *arguments, **keywords):
        if name.split(".")[0] == library:
            raise ImportError(name)
        return original(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", importing)


# --- skl2onnx -------------------------------------------------------------------------------------


def test_every_public_transformer_and_predictor_is_registered():
    register_converters()
    estimators = [
        value
        for value in vars(bochner).values()
        if isinstance(value, type) and issubclass(value, BaseEstimator)
    ]
    expected = {
        value for value in estimators if hasattr(value, "predict") or hasattr(value, "transform")
    }
    assert set(exported_types()) == expected - {bochner.TableModel}
    from skl2onnx._supported_operators import sklearn_operator_name_map

    assert expected - {bochner.TableModel} <= set(sklearn_operator_name_map)


@pytest.mark.parametrize("opset", [13, 17, 22])
def test_skl2onnx_converts_pipelines_by_itself(opset):
    if opset > skl2onnx.__max_supported_opset__:
        pytest.skip("an older skl2onnx does not know this opset")
    register_converters()
    model = make_pipeline(StandardScaler(), features(), LogisticRegression()).fit(X, NAMES)
    exported = skl2onnx.to_onnx(
        model, X[:1].astype(np.float32), options={"zipmap": False}, target_opset=opset
    )
    assert_says_the_same(exported, model, X, np.float32)


def test_skl2onnx_gives_probabilities_by_name_where_it_is_not_told_otherwise():
    register_converters()
    model = make_pipeline(
        StandardScaler(), FourierBoostingClassifier(n_rounds=5, random_state=0)
    ).fit(X, NAMES)
    said = session(skl2onnx.to_onnx(model, X[:1].astype(np.float32))).run(
        None, {"X": X.astype(np.float32)}
    )
    assert list(said[0]) == list(model.predict(X))
    first = model.predict_proba(X)[0]
    assert said[1][0] == pytest.approx(dict(zip(model.classes_, first)), abs=1e-5)


def test_export_needs_no_other_optional_subpackage():
    code = (
        "import sys, numpy as np, bochner.export\n"
        "model = bochner.SpectralRidge(random_state=0).fit(np.eye(4), np.arange(4.0))\n"
        "bochner.export.to_onnx(model, X=np.eye(4))\n"
        "print('bochner.plots' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
