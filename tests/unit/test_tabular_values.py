"""Targets and intervals of SpectralRegressor."""

import os

import numpy as np
import pytest
from selection import long_except
from sklearn.base import clone
from tabular_samples import QUICK, regression

from bochner import Evidence, SpectralRegressor
from bochner.tabular.scales import TargetScale, other_scales

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize("heteroscedastic", long_except([False, True], True))
def test_intervals_cover_as_often_as_they_say(heteroscedastic):
    covered, n = 0, 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, size=(600, 2))
        deviation = 0.05 + 0.4 * (X[:, 1] > 0) if heteroscedastic else 0.3
        y = np.sin(2 * X[:, 0]) + deviation * rng.normal(size=600)
        model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X[:200], y[:200])
        low, high = model.predict_interval(X[200:], level=0.8).T
        inside = (low <= y[200:]) & (y[200:] <= high)
        covered, n = covered + inside.sum(), n + len(inside)
        if heteroscedastic:
            wide = X[200:, 1] > 0
            assert np.median((high - low)[wide]) > 2 * np.median((high - low)[~wide])
            _, std = model.predict(X[200:], return_std=True)
            assert np.median(std[wide]) > 2 * np.median(std[~wide])
    # The level is set by the residuals of 200 training rows: a deviation of 0.4 √(1/200 + 1/400),
    # half as much over four seeds.
    assert abs(covered / n - 0.8) < 3 * 0.0173


def test_an_interval_of_too_few_rows_is_infinite():
    X, y = regression(9)
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X, y)
    assert np.all(np.isinf(model.predict_interval(X, level=0.99)))
    assert np.all(np.isfinite(model.predict_interval(X, level=0.5)))
    for level in (90, "90%"):
        with pytest.raises(ValueError, match="level must lie"):
            model.predict_interval(X, level=level)


def test_a_lognormal_target_is_fitted_by_its_logarithm_and_predicted_by_its_mean(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1200, 2))
    y = np.exp(1.5 * np.sin(2 * X[:, 0]) + X[:, 1] + 0.7 * rng.normal(size=1200))
    truth = np.exp(1.5 * np.sin(2 * X[:, 0]) + X[:, 1] + 0.7**2 / 2)
    model = SpectralRegressor(random_state=0).fit(X[:400], y[:400])
    assert model.target_scale_.kind == "log"
    predicted = model.predict(X[400:])
    assert np.mean(predicted) == pytest.approx(np.mean(truth[400:]), rel=0.15)
    # On a logarithmic scale, a median would lie 0.245 below the mean.
    assert abs(np.median(np.log(predicted / truth[400:]))) < 0.12
    low, high = model.predict_interval(X[400:], level=0.9).T
    assert np.all(low > 0)
    assert 0.84 < np.mean((low <= y[400:]) & (y[400:] <= high)) < 0.96
    assert np.all(model.predict(X[400:], return_std=True)[1] > 0)
    effects = model.effects(X[:5], output="scale")
    np.testing.assert_allclose(
        effects.total(),
        model.blend_.evaluate(model.inputs_.transform(X[:5]))[:, 0] * model.target_scale_.unit
        + model.target_scale_.center,
        atol=1e-8,
    )


def test_a_normal_target_is_left_as_it_is():
    X, y = regression()
    assert (
        SpectralRegressor(evidence=QUICK, random_state=0).fit(X, np.exp(0.1 * y)).target_scale_.kind
        == "identity"
    )


@pytest.mark.parametrize("kind", ["identity", "log", "asinh"])
def test_scales_are_inverted_and_their_slope_is_a_difference(kind, seed):
    Y = np.random.default_rng(seed).lognormal(size=(50, 1))
    scale = TargetScale.of(Y, np.ones(50), kind, 0.3, 2.0)
    z = scale.forward(Y)
    np.testing.assert_allclose(scale.backward(z), Y)
    assert z.mean() == pytest.approx(0, abs=1e-12)
    assert z.std() == pytest.approx(1)
    numeric = np.log((scale.forward(Y + 1e-6) - scale.forward(Y - 1e-6)) / 2e-6).mean()
    assert scale.mean_log_slope(Y, np.ones(50)) == pytest.approx(numeric, abs=1e-6)


def test_other_scales_are_for_long_tails_only(seed):
    rng = np.random.default_rng(seed)

    def kinds(Y):
        return [scale.kind for scale in other_scales(Y, np.ones(len(Y)), (Y.min(), Y.max()))]

    assert kinds(rng.normal(size=(300, 1))) == []
    assert kinds(rng.lognormal(size=(300, 2))) == []
    assert kinds(rng.lognormal(size=(300, 1))) == ["log"]
    assert kinds(rng.standard_cauchy(size=(300, 1))) == ["asinh"]
    assert kinds(np.full((300, 1), 7.0)) == []


@pytest.mark.parametrize("size", long_except([1e-250, 1e-9, 1e9, 1e250], 1e-250, 1e9))
def test_units_of_columns_and_targets_do_not_matter(size):
    X, y = regression(60)
    model = SpectralRegressor(evidence=QUICK, random_state=0)
    plain = clone(model).fit(X, y).predict(X)
    np.testing.assert_allclose(
        clone(model).fit(size * X, size * y).predict(size * X) / size, plain, rtol=1e-4, atol=1e-4
    )


def test_several_outputs_are_fitted_at_once():
    X, y = regression()
    Y = np.column_stack([y, 100 - 3 * y, np.full(len(y), 5.0)])
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X, Y)
    predicted, std = model.predict(X, return_std=True)
    assert predicted.shape == std.shape == Y.shape
    np.testing.assert_allclose(predicted[:, 1], 100 - 3 * predicted[:, 0], atol=1e-6)
    np.testing.assert_allclose(predicted[:, 2], 5.0, atol=1e-6)
    assert model.predict_interval(X[:3]).shape == (3, 3, 2)
    assert model.effects(X[:3]).main.shape == (3, 4, 3)


def test_a_zero_outside_the_learning_rows_does_not_spoil_a_logarithm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.exp(2 * X[:, 0] + 0.3 * rng.normal(size=400))
    y[7] = 0.0
    model = SpectralRegressor(evidence=Evidence(100, 5, standardize=False), random_state=0).fit(
        X, y
    )
    assert np.all(np.isfinite(model.predict(X)))


@pytest.mark.long
@pytest.mark.skipif("BOCHNER_TABLES" not in os.environ, reason="needs a folder of tables")
def test_intervals_cover_as_often_as_they_say_on_real_tables():
    """Split 0 of all regression tables below 3000 rows, level 0.9.

    The coverage of one table has the variance p (1 − p) (1 / n_test + 1 / n_train): that of test
    rows, and that of the level which the residuals of the training rows set. Each table must lie
    within five such deviations, their mean within four of its own (about 0.865 to 0.935 for 11
    tables).
    """
    from benchmarks.arena import load_table, split_rows, tables

    level, covered, variances = 0.9, [], []
    for name, known in tables().items():
        if known["task"] != "regression" or known["n"] >= 3000:
            continue
        X, y, task = load_table(name)
        train, test = split_rows(y, task, 0)
        model = SpectralRegressor(random_state=0).fit(X.iloc[train], y[train])
        low, high = model.predict_interval(X.iloc[test], level).T
        covered.append(np.mean((low <= y[test]) & (y[test] <= high)))
        variances.append(level * (1 - level) * (1 / len(test) + 1 / len(train)))
        assert abs(covered[-1] - level) < 5 * np.sqrt(variances[-1]), name
    assert abs(np.mean(covered) - level) < 4 * np.sqrt(np.sum(variances)) / len(variances)
