"""Bad input has its own message, and hard input a model."""

import numpy as np
import pytest
from front_door_samples import QUICK, regression, table
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bochner import Matern, Sinc, SpectralClassifier, SpectralRegressor

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def regressor():
    X, y = table()
    return SpectralRegressor(evidence=QUICK, random_state=0).fit(X, y)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_few_rows_are_enough(n):
    X, y = regression(n)
    assert np.all(np.isfinite(SpectralRegressor(random_state=0).fit(X, y).predict(X)))
    labels = np.arange(n) % 2
    assert np.all(np.isfinite(SpectralClassifier(random_state=0).fit(X, labels).predict_proba(X)))


def test_more_columns_than_rows_duplicates_constants_and_empty_columns():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 100)), rng.normal(size=20)
    model = SpectralRegressor(evidence=QUICK, random_state=0)
    assert np.all(np.isfinite(clone(model).fit(X, y).predict(X)))
    same = np.ones((20, 3))
    np.testing.assert_allclose(clone(model).fit(same, y).predict(same), y.mean(), atol=1e-6)
    np.testing.assert_allclose(clone(model).fit(X, np.full(20, 3.0)).predict(X), 3.0)
    holes = np.column_stack([X[:, 0], np.full(20, np.nan), np.ones(20)])
    np.testing.assert_allclose(
        clone(model).fit(holes, y).predict(holes), clone(model).fit(X[:, :1], y).predict(X[:, :1]), rtol=1e-6
    )
    labels = np.arange(20) % 3
    single = labels.copy()
    single[0] = 9  # a class of one row
    classes = SpectralClassifier(evidence=QUICK, random_state=0).fit(X, single)
    np.testing.assert_allclose(classes.predict_proba(X).sum(axis=1), 1)
    assert list(classes.classes_) == [0, 1, 2, 9]
    np.testing.assert_allclose(
        SpectralClassifier(evidence=QUICK, random_state=0).fit(same, labels).predict_proba(same)[0],
        np.bincount(labels) / 20,
        atol=0.05,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.array([0.0, np.nan] * 10)}, "NaN"),
        ({"y": np.array([0.0, np.inf] * 10)}, "infinity"),
        ({"y": np.zeros(7)}, "inconsistent"),
        ({"X": np.ones((1, 2)), "y": np.ones(1)}, "at least 2 rows"),
        ({"X": np.full((20, 2), np.inf)}, "infinity"),
        ({"y": None}, "None"),
    ],
    ids=lambda v: str(v)[:30],
)
def test_bad_data_is_refused_with_a_reason(change, message):
    data = {"X": np.random.default_rng(0).normal(size=(20, 2)), "y": np.arange(20.0)} | change
    for model in (SpectralRegressor(), SpectralClassifier()):
        with pytest.raises(ValueError, match=message):
            model.fit(**data)
        with pytest.raises(NotFittedError):
            model.predict(data["X"])


def test_one_class_and_values_are_refused_by_the_classifier():
    X, y = regression(20)
    with pytest.raises(ValueError, match="only 1 class: 'a'"):
        SpectralClassifier().fit(X, ["a"] * 20)
    with pytest.raises(ValueError, match="SpectralRegressor"):
        SpectralClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"priors": ()}, "priors is empty"),
        ({"priors": (1,)}, "priors must be priors"),
        ({"priors": Sinc()}, "Evidence learns"),
        ({"priors": Matern(nu=2.2)}, "Evidence learns"),
        ({"evidence": 5}, "evidence must be"),
        ({"categorical_features": "all"}, "from_dtype"),
        ({"max_exact_rows": 0}, "max_exact_rows"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = regression(20)
    with pytest.raises((TypeError, ValueError), match=message):
        SpectralRegressor(**parameters).fit(X, y)


def test_columns_that_changed_are_named(regressor):
    X, _ = table()
    with pytest.raises(ValueError, match="feature names"):
        regressor.predict(X.drop(columns="kind"))
    with pytest.raises(ValueError, match="feature names"):
        regressor.predict(X.assign(new=1.0))
    with pytest.raises(ValueError, match="'size' is taken as numbers, but holds values such as 'large'"):
        regressor.predict(X.assign(size="large"))
    with pytest.raises(ValueError, match="'kind' held categories such as 'a'"):
        regressor.predict(X.assign(kind=3.5))
    assert np.all(np.isfinite(regressor.predict(X.assign(kind="unseen"))))
