"""Parts of exported graphs that change predictions: temperatures, bounds and target scales."""

import numpy as np
import pytest
from export_samples import assert_says_the_same
from sklearn.datasets import load_iris
from tabular_samples import QUICK

from bochner import FourierBoostingRegressor, Laplace, OperatorRidgeClassifier, SpectralRegressor
from bochner.export import to_onnx

pytest.importorskip("skl2onnx")


def test_probabilities_have_the_temperature_of_the_model():
    X, y = load_iris(return_X_y=True)
    model = OperatorRidgeClassifier(n_components=20, alpha=1.0, random_state=0).fit(X, y)
    assert abs(np.log(model.temperature_)) > 0.1
    assert_says_the_same(to_onnx(model, X=X, dtype=np.float64), model, X, np.float64)


def test_predictions_stay_within_the_bounds_of_the_target():
    X = np.linspace(-1, 1, 60)[:, None]
    model = FourierBoostingRegressor(n_rounds=5, random_state=0).fit(X, X[:, 0])
    model.target_bounds_ = np.array([-0.1, 0.1])
    assert np.ptp(model.predict(X)) == pytest.approx(0.2)
    assert_says_the_same(to_onnx(model, X=X, dtype=np.float64), model, X, np.float64)


def test_predictions_on_a_logarithmic_scale_are_means_over_residuals():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 1))
    y = np.exp(2 * X[:, 0] + 0.5 * rng.normal(size=80))
    model = SpectralRegressor(Laplace(), QUICK, random_state=0).fit(X, y)
    assert model.target_scale_.kind == "log"
    assert_says_the_same(to_onnx(model, X=X, dtype=np.float64), model, X, np.float64)
