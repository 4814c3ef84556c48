"""Importances of boosted waves: shares of the columns by exact derivatives, whatever the units of
columns and outputs.
"""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bochner import (
    Anova,
    Evidence,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF1Classifier,
    GBRFF2Classifier,
    SpectralRegressor,
)

BOOSTERS = [
    FourierBoostingClassifier(n_rounds=20, random_state=0),
    FourierBoostingClassifier(loss="exponential", n_rounds=20, n_pilots=1, random_state=0),
    FourierBoostingRegressor(n_rounds=20, random_state=0),
    GBRFF1Classifier(n_rounds=10, random_state=0),
    GBRFF2Classifier(n_rounds=20, random_state=0),
]
NAMES = ["FourierBoostingClassifier", "exponential", "FourierBoostingRegressor", "GBRFF1", "GBRFF2"]


def some_table(n_rows=300):
    """The second column decides, the third helps, the others are noise and a constant."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_rows, 5)) * [1.0, 2.0, 1.0, 0.5, 0.0] + [0.0, 1.0, -1.0, 0.0, 3.0]
    return X, np.sin(X[:, 1]) + 0.3 * X[:, 2]


def by_definition(slopes, X, weights=None):
    """Row by row and output by output: weighted mean of (∂f_k/∂x_b · deviation_b)², as shares."""
    weights = np.ones(len(X)) if weights is None else weights
    slopes = slopes.reshape(len(X), -1, X.shape[1])
    importances = np.zeros(X.shape[1])
    for b in range(X.shape[1]):
        mean = sum(h * x for h, x in zip(weights, X[:, b])) / weights.sum()
        variance = sum(h * (x - mean) ** 2 for h, x in zip(weights, X[:, b])) / weights.sum()
        for i in range(len(X)):
            importances[b] += weights[i] * variance * sum(slope**2 for slope in slopes[i, :, b])
    return importances / importances.sum()


def fitted(model, X, y, **keywords):
    return model.fit(X, y if isinstance(model, FourierBoostingRegressor) else y > 0, **keywords)


@pytest.mark.parametrize("model", BOOSTERS, ids=NAMES)
def test_importances_are_mean_squared_derivatives_per_deviation(model):
    X, y = some_table()
    model = fitted(model, X, y)
    importances = model.feature_importances_
    assert importances.shape == (5,)
    assert np.all(importances >= 0)
    assert importances.sum() == pytest.approx(1)
    np.testing.assert_allclose(
        importances, by_definition(model.jacobian(X), X), rtol=1e-6, atol=1e-12
    )
    assert importances.argmax() == 1
    assert importances[4] == 0


@pytest.mark.parametrize("model", BOOSTERS, ids=NAMES)
def test_importances_count_rows_by_their_weights(model):
    X, y = some_table(120)
    weights = np.arange(120) % 4.0
    model = fitted(model, X, y, sample_weight=weights)
    expected = by_definition(model.jacobian(X), X, weights)
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-6, atol=1e-12)
    assert not np.allclose(expected, by_definition(model.jacobian(X), X), rtol=1e-3)
    repeated = fitted(
        model, np.repeat(X, weights.astype(int), axis=0), np.repeat(y, weights.astype(int))
    )
    np.testing.assert_allclose(repeated.feature_importances_, expected, rtol=1e-6, atol=1e-12)


def test_importances_of_several_classes_leave_out_what_all_scores_share():
    X, y = load_iris(return_X_y=True)
    model = FourierBoostingClassifier(n_rounds=20, random_state=0).fit(X, y)
    slopes = model.jacobian(X)
    centered = slopes - slopes.mean(axis=1, keepdims=True)
    X, counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    rows = [np.flatnonzero((load_iris().data == row[:4]).all(axis=1))[0] for row in X]
    expected = (
        np.einsum("i,ikb->b", counts, centered[rows] ** 2)
        * np.cov(X[:, :4].T, fweights=counts).diagonal()
    )
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum(), rtol=1e-6)


@pytest.mark.parametrize("model", BOOSTERS[:3], ids=NAMES[:3])
def test_the_unit_of_a_column_changes_nothing(model):
    X, y = some_table()
    importances = fitted(model, X, y).feature_importances_
    scaled = fitted(model, X * [2.0**20, 1, 2.0**-20, 1, 4], y).feature_importances_
    np.testing.assert_allclose(scaled, importances, rtol=1e-6, atol=1e-12)


def test_the_units_of_outputs_change_nothing_and_the_order_of_columns_is_theirs():
    X, y = some_table()
    Y = np.column_stack([y, X[:, 0] * 3])
    model = FourierBoostingRegressor(n_rounds=20, n_pilots=0, random_state=0)
    importances = model.fit(X, Y).feature_importances_
    np.testing.assert_allclose(
        model.fit(X, Y * [1.0, 1024.0]).feature_importances_, importances, rtol=1e-6, atol=1e-12
    )
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, [3, 1, 0]], columns=["noise", "wave", "slope"])
    model.fit(frame, X[:, 1])
    assert dict(zip(model.feature_names_in_, model.feature_importances_))["wave"] > 0.9


def test_nothing_learned_is_zeros():
    X, y = some_table(40)
    assert (
        not FourierBoostingRegressor(n_rounds=0, linear=False).fit(X, y).feature_importances_.any()
    )
    assert not GBRFF2Classifier(n_rounds=0).fit(X, y > 0).feature_importances_.any()


@pytest.mark.parametrize("model", BOOSTERS, ids=NAMES)
def test_scikit_learn_selects_columns_and_permutes_them(model):
    X, y = some_table()
    y = y if isinstance(model, FourierBoostingRegressor) else (y > 0).astype(int)
    selecting = make_pipeline(
        StandardScaler(), SelectFromModel(model, max_features=2, threshold=-np.inf), model
    )
    support = selecting.fit(X, y)[1].get_support()
    assert support.sum() == 2
    assert support[1]
    assert (
        permutation_importance(
            selecting, X, y, n_repeats=2, random_state=0
        ).importances_mean.argmax()
        == 1
    )


def test_the_front_door_selects_columns_too():
    X, y = some_table(80)
    model = SpectralRegressor(
        Anova(), Evidence(n_rows=80, n_iterations=3, standardize=False), random_state=0
    )
    selection = SelectFromModel(model, max_features=2, threshold=-np.inf).fit(X, y)
    assert selection.estimator_.feature_importances_.sum() == pytest.approx(1)
    assert selection.get_support()[[1, 2]].all()
