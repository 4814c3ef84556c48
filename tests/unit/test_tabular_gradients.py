"""Derivatives of predictions in the columns of the table against differences."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from tabular_samples import QUICK, regression, table

from bochner import Anova, Laplace, Matern, SpectralClassifier, SpectralRegressor
from bochner.tabular.blending import ProbabilityLink
from bochner.tabular.scales import TargetScale

pd = pytest.importorskip("pandas")


def differences(answer, X, column, step):
    """Central differences of a model's answer in one column."""
    ends = []
    for move in (step, -step):
        moved = X.copy()
        if isinstance(X, np.ndarray):
            moved[:, column] += move
        else:
            moved[column] = moved[column] + move
        ends.append(np.asarray(answer(moved)))
    return (ends[0] - ends[1]) / (2 * step)


def assert_gradient(model, answer, X, columns, units):
    gradient = model.input_gradient(X)
    assert gradient.shape == (*np.asarray(answer(X)).shape, X.shape[1])
    for (place, column), unit in zip(columns, units):
        numeric = differences(answer, X, column, 1e-5 * unit)
        largest = np.abs(numeric).max()
        assert largest > 0
        np.testing.assert_allclose(gradient[..., place], numeric, rtol=1e-5, atol=1e-5 * largest)


UNITS = np.array([1.0, 100.0, 0.01, 1.0])


@pytest.mark.parametrize("target", ["plain", "several", "log", "uneven log", "asinh"])
def test_gradients_of_values_are_differences(target):
    X, y = regression(200)
    rng = np.random.default_rng(1)
    if target == "several":
        y = np.column_stack([y, 3 * y**2])
    elif target == "log":
        y = np.exp(2 * y)
    elif target == "uneven log":
        y = np.exp(2 * y + np.where(X[:, 3] > 0, 1.0, 0.1) * rng.normal(size=200))
    elif target == "asinh":
        y = np.sinh(3 * y)
    X = X * UNITS
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X[:150], y[:150])
    kinds = {"log": "log", "uneven log": "log", "asinh": "asinh"}
    assert model.target_scale_.kind == kinds.get(target, "identity")
    assert (model.spread_.log_size is not None) or target != "uneven log"
    assert_gradient(model, model.predict, X[150:], [(j, j) for j in range(4)], UNITS)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradients_of_probabilities_are_differences(n_classes):
    X, y = regression(200, noise=0.5)
    labels = np.digitize(y, [0.0, 0.8][: n_classes - 1])
    X = X * UNITS
    model = SpectralClassifier(evidence=QUICK, random_state=0).fit(X[:150], labels[:150])
    assert_gradient(model, model.predict_proba, X[150:], [(j, j) for j in range(4)], UNITS)
    np.testing.assert_allclose(model.input_gradient(X[150:]).sum(axis=1), 0, atol=1e-6)


@pytest.mark.parametrize("ranks", [0.0, 0.5])
@pytest.mark.parametrize("priors", [Laplace(), Anova(nu=0.5), Matern(nu=0.5)], ids=repr)
@pytest.mark.parametrize("classify", [False, True])
def test_gradients_on_a_grid_are_central_differences(classify, priors, ranks, monkeypatch):
    """Every row lies on kinks, those of kernels and of ranks alike."""
    monkeypatch.setattr("bochner.tabular.learning._prefers_ranks", lambda *_: ranks > 0)
    rng = np.random.default_rng(0)
    X = rng.poisson(2.0, size=(150, 2)).astype(float)
    y = np.abs(X[:, 0] - 2.0) + 0.3 * X[:, 1] + 0.3 * rng.normal(size=150)
    estimator, y = (SpectralClassifier, y > 1.5) if classify else (SpectralRegressor, y)
    model = estimator(priors=priors, evidence=QUICK, random_state=0).fit(X, y)
    answer = model.predict_proba if classify else model.predict
    grid = np.unique(X, axis=0)
    gradient = model.input_gradient(grid)
    for j in range(2):
        numeric = differences(answer, grid, j, 1e-6)
        np.testing.assert_allclose(gradient[..., j], numeric, atol=1e-4 * np.abs(numeric).max())


def test_gradients_of_frames_are_in_units_of_their_columns_and_categories_have_none():
    X, y = table()
    X = X.assign(size=1000 * X["size"], always=7.0)
    unseen, _ = table(40, seed=1)
    unseen = unseen.assign(size=1000 * unseen["size"], always=7.0)
    for model, answer, target in (
        (SpectralRegressor(evidence=QUICK, random_state=0), "predict", y),
        (
            SpectralClassifier(evidence=QUICK, random_state=0),
            "predict_proba",
            np.digitize(y, [0.0, 1.5]),
        ),
    ):
        model.fit(X, target)
        known = unseen[unseen["size"].notna()]
        numbers = known.assign(flag=0.3)  # a truth value that can be moved by a step
        assert_gradient(
            model, getattr(model, answer), numbers, [(0, "size"), (2, "flag")], [1000.0, 1.0]
        )
        gradient = model.input_gradient(unseen)
        np.testing.assert_array_equal(
            np.isnan(gradient[..., 0].reshape(40, -1)[:, 0]), unseen["size"].isna()
        )
        assert np.all(np.isnan(gradient[..., 1]))
        assert np.all(gradient[..., 4] == 0)
        assert np.all(np.isfinite(gradient[..., 2:]))


def test_gradients_of_dates_are_per_day():
    rng = np.random.default_rng(0)
    days = rng.integers(0, 3000, size=120)
    X = pd.DataFrame({"day": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D")})
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X[:80], np.sin(days[:80] / 500))
    found = model.input_gradient(X[80:])[:, 0]
    step = pd.Timedelta(minutes=10)
    up, down = (model.predict(X[80:] + move) for move in (step, -step))
    np.testing.assert_allclose(
        found, (up - down) / (20 / 1440), rtol=1e-4, atol=1e-5 * np.abs(found).max()
    )


def test_a_model_that_is_not_fitted_has_no_gradient():
    with pytest.raises(NotFittedError):
        SpectralRegressor().input_gradient(np.ones((3, 2)))
    with pytest.raises(NotFittedError):
        SpectralClassifier().input_gradient(np.ones((3, 2)))


@pytest.mark.parametrize("kind", ["identity", "log", "asinh"])
def test_slopes_of_a_scale_are_differences_and_zero_outside(kind, seed):
    Y = np.random.default_rng(seed).lognormal(size=(50, 1))
    scale = TargetScale.of(Y, np.ones(50), kind, 0.3, 2.0)
    z = np.linspace(-4, 6, 41)[:, None] + 0.01
    numeric = (
        scale.backward(scale.within(z + 1e-6)) - scale.backward(scale.within(z - 1e-6))
    ) / 2e-6
    np.testing.assert_allclose(scale.slope_within(z), numeric, rtol=1e-6, atol=1e-8)


def test_the_jacobian_of_a_link_is_its_differences(seed):
    rng = np.random.default_rng(seed)
    link, scores = ProbabilityLink(1.7, rng.normal(size=3), 0.05), rng.uniform(-0.1, 1, size=(9, 3))
    jacobian = link.jacobian(scores)
    for k in range(3):
        step = 1e-6 * np.eye(3)[k]
        numeric = (link.probabilities(scores + step) - link.probabilities(scores - step)) / 2e-6
        np.testing.assert_allclose(jacobian[:, :, k], numeric, atol=1e-8)
