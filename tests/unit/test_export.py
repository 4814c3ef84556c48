"""ONNX graphs compute what the fitted estimators compute."""

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bochner import (
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    LandmarkFeatures,
    Matern,
    SpectralFeatures,
    SpectralRidge,
)
from bochner.export import to_onnx

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")

X, Y = load_iris(return_X_y=True)


def run(model, X):
    return reference.ReferenceEvaluator(model).run(None, {"X": X})[0]


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_features(dtype, tolerance):
    fitted = SpectralFeatures(Matern(), n_components=7, random_state=0).fit(X)
    np.testing.assert_allclose(run(to_onnx(fitted, dtype=dtype), X.astype(dtype)), fitted.transform(X), atol=tolerance)


@pytest.mark.parametrize("classes", [2, 3])
def test_classifier_scores(classes):
    rows = classes > Y
    names = np.array(["setosa", "versicolor", "virginica"])[Y[rows]]
    model = make_pipeline(StandardScaler(), SpectralFeatures(n_components=20, random_state=0), LogisticRegression())
    model.fit(X[rows], names)
    exported = to_onnx(model, dtype=np.float64)
    scores = run(exported, X[rows])
    np.testing.assert_allclose(np.squeeze(scores), model.decision_function(X[rows]), atol=1e-10)
    assert {prop.key: prop.value for prop in exported.metadata_props}["classes"].split("\n") == list(model.classes_)


def test_regression_written_to_a_file(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = make_pipeline(SpectralFeatures(n_components=20, random_state=0), Ridge()).fit(X, y)
    to_onnx(model, tmp_path / "model.onnx", dtype=np.float64)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    loaded = onnx.load(tmp_path / "model.onnx")
    np.testing.assert_allclose(run(loaded, X)[:, 0], model.predict(X), rtol=1e-8)


def test_what_cannot_be_exported_is_named():
    with pytest.raises(TypeError, match="PCA cannot be exported"):
        to_onnx(make_pipeline(PCA(2), SpectralFeatures()).fit(X))
    with pytest.raises(NotFittedError):
        to_onnx(SpectralFeatures())
    with pytest.raises(ValueError, match="float32 or float64"):
        to_onnx(SpectralFeatures().fit(X), dtype=np.int32)


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_links_and_linear_parts_are_exported(loss):
    X, y = load_diabetes(return_X_y=True)
    model = FourierBoostingRegressor(loss, n_rounds=5, random_state=0).fit(X, y)
    np.testing.assert_allclose(run(to_onnx(model, dtype=np.float64), X)[:, 0], model.predict(X), rtol=1e-8)


def test_two_classes_by_two_scores_are_exported_as_their_difference():
    rows = Y < 2
    model = FourierBoostingClassifier("multinomial", n_rounds=5, random_state=0).fit(X[rows], Y[rows])
    scores = run(to_onnx(model, dtype=np.float64), X[rows])
    np.testing.assert_allclose(scores[:, 0], model.decision_function(X[rows]), atol=1e-10)


@pytest.mark.parametrize(
    "last", [PoissonRegressor(), GammaRegressor(), PLSRegression(), SVC(kernel="linear"), KernelRidge()], ids=str
)
def test_models_whose_coefficients_are_not_the_whole_story_are_refused(last):
    """All of them have ``coef_`` or the like, and other predictions than coef_ · x + intercept_."""
    model = make_pipeline(SpectralFeatures(n_components=5, random_state=0), last).fit(X, Y + 1)
    with pytest.raises(TypeError, match="cannot be exported"):
        to_onnx(model)


def test_ridges_on_other_features_are_refused():
    model = SpectralRidge(LandmarkFeatures(n_landmarks=5, random_state=0)).fit(X, Y)
    with pytest.raises(TypeError, match="sum of waves"):
        to_onnx(model)
