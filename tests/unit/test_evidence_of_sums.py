"""Evidence for sums and products of priors, and learning without a linear part."""

import warnings

import numpy as np
import pytest

from bochner import (
    Anova,
    CurlFree,
    Evidence,
    Gaussian,
    KernelMachine,
    Laplace,
    Matern,
    OperatorKernelRidge,
    Sinc,
    SpectralFeatures,
    SpectralRegressor,
)
from bochner.features.caveats import learned_caveat
from bochner.learners.evidence import _NegativeEvidence
from bochner.priors import OnColumns, Periodic, WithCategories

PERIOD = 1.7
COMPOSITE = Gaussian() + Periodic(period=PERIOD) * Laplace()


def definition(objective, theta):
    """The objective of ``COMPOSITE`` with explicit kernels, inverses and determinants."""
    X, Y, (n, d) = objective.X, objective.Y, objective.X.shape
    smooth, shape, rough = np.exp(theta[: 3 * d]).reshape(3, d)
    factor, linear, noise = np.exp(theta[3 * d :])
    apart = X[:, None] - X[None]
    K = np.exp(-np.sum((smooth * apart) ** 2, axis=2) / 2)
    season = np.exp(-np.sum(shape**2 * (1 - np.cos(2 * np.pi * apart / PERIOD)), axis=2))
    K += factor * season * np.exp(-np.sum(rough * np.abs(apart), axis=2))
    K += linear / d * X @ X.T + noise * np.diag(objective.noise_shares)
    value = 0.5 * np.log(np.trace(Y.T @ np.linalg.inv(K) @ Y) / (n * Y.shape[1]))
    value += (np.linalg.slogdet(K)[1] - np.sum(np.log(objective.noise_shares))) / (2 * n)
    for logarithms in theta[: 3 * d].reshape(3, d):
        value += np.sum(np.log(1 + ((logarithms - logarithms.mean()) / 0.3) ** 2)) / n
    return value


def test_objective_of_a_composite_is_its_definition_and_slopes_are_its_differences():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    objective = _NegativeEvidence(COMPOSITE, X, Y, np.ones(40), (0.3, 0.6))
    theta = objective.start(labels=False)[0] + 0.3 * rng.normal(size=9)
    value, slopes = objective._in_precision(theta, np.float64)
    assert value == pytest.approx(definition(objective, theta), rel=1e-9)
    step = 1e-4 * np.eye(9)
    for slope, unit in zip(slopes, step):
        ahead = [definition(objective, theta + k * unit) for k in (-2, -1, 1, 2)]
        numeric = (ahead[0] - 8 * ahead[1] + 8 * ahead[2] - ahead[3]) / 1.2e-3
        assert slope == pytest.approx(numeric, rel=1e-6, abs=1e-9)
    rough, rough_slopes = objective._in_precision(theta, np.float32)
    assert rough == pytest.approx(value, abs=1e-4)
    np.testing.assert_allclose(rough_slopes, slopes, atol=1e-4)


@pytest.mark.parametrize(
    "prior",
    [
        Anova() + Matern(nu=0.5) + 3 * Gaussian(),
        (Gaussian() + Anova()) * OnColumns(Laplace(), [1]),
        OnColumns(2 * (Anova() + Periodic(period=2.0)), [2, 0]),
        WithCategories(Laplace(), [1]) + OnColumns(Gaussian(), [0]),
    ],
    ids=repr,
)
def test_slopes_of_nested_priors_are_differences(prior):
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(25, 3)), rng.normal(size=(25, 1))
    X[:, 1] = rng.integers(3, size=25)
    objective = _NegativeEvidence(prior, X, Y, np.ones(25), (0.3, 0.6))
    theta, bounds = objective.start(labels=False)
    assert len(theta) == len(bounds)
    theta = theta + 0.2 * rng.normal(size=len(theta))
    slopes = objective._in_precision(theta, np.float64)[1]
    for slope, unit in zip(slopes, 1e-5 * np.eye(len(theta))):
        above, below = (objective._in_precision(theta + s * unit, np.float64)[0] for s in (1, -1))
        assert slope == pytest.approx((above - below) / 2e-5, rel=1e-4, abs=1e-7)


def test_two_lengths_of_one_family_are_found(seed):
    rng = np.random.default_rng(seed)
    X = np.linspace(0, 20, 250)[:, None]
    K = 4 * Gaussian(length_scale=4.0).kernel(X) + Gaussian(length_scale=0.5).kernel(X)
    y = np.linalg.cholesky(K + 0.01 * np.eye(250)) @ rng.normal(size=250)
    learned = Evidence().learn(Gaussian() + Gaussian(), X, y, 0, linear=False)
    one = Evidence().learn(Gaussian(), X, y, 0, linear=False)
    assert learned.objective < one.objective - 1e-3
    parts = learned.prior.left, learned.prior.right.prior
    lengths = np.sort([float(1 / np.sqrt(2 * part.gamma[0])) for part in parts])
    assert 0.35 < lengths[0] < 0.65
    assert lengths[1] > 1.5


def seasons(n=150, years=12):
    rng = np.random.default_rng(0)
    t = np.linspace(0, years, n)
    y = 0.3 * t + np.sin(2 * np.pi * t) + 0.4 * np.cos(4 * np.pi * t)
    return t[:, None], y + 0.05 * rng.normal(size=n)


def test_seasons_are_continued_where_one_kernel_forgets():
    X, y = seasons()
    past = X[:, 0] < 8
    errors = {}
    for prior in (Gaussian() + Periodic(period=1.0) * Gaussian(), Gaussian()):
        learned = Evidence().learn(prior, X[past], y[past], 0)
        model = KernelMachine(learned.prior, alpha=learned.noise, linear=learned.linear)
        predicted = model.fit(X[past], y[past]).predict(X[~past])
        errors[repr(prior)] = np.sqrt(np.mean((predicted - y[~past]) ** 2))
    composite, single = errors.values()
    assert composite < 0.15 < 0.4 < single


def test_the_period_has_the_unit_of_the_columns():
    X, y = seasons(50)
    one = Evidence(n_iterations=4).learn(COMPOSITE, X, y, 0)
    other = COMPOSITE.left + Periodic(period=30 * PERIOD) * Laplace()
    same = Evidence(n_iterations=4).learn(other, 30 * X, y, 0)
    np.testing.assert_allclose(same.theta, one.theta, rtol=1e-6)
    assert same.prior.right.prior.left.period == 30 * PERIOD
    np.testing.assert_allclose(same.prior.kernel(30 * X), one.prior.kernel(X), atol=1e-8)


def test_learning_goes_on_and_starts_from_other_families():
    X, y = seasons(50)
    first = Evidence(n_iterations=5).learn(COMPOSITE, X, y, 0)
    same = Evidence(n_iterations=0).learn(first.prior, X, y, 0, start=first)
    np.testing.assert_array_equal(same.theta, first.theta)
    assert repr(same.prior) == repr(first.prior)
    single = Evidence(n_iterations=5).learn(Gaussian(), X, y, 0)
    for start, prior in ((single, COMPOSITE), (first, Laplace()), (single, Anova() + Laplace())):
        learned = Evidence(n_iterations=3).learn(prior, X, y, 0, start=start)
        assert np.isfinite(learned.objective)


def test_bounds_know_that_parts_were_learned():
    X, y = seasons(60)
    prior = Evidence(n_iterations=2).learn_prior(COMPOSITE, X, np.sign(y), 0, linear=False)
    for part in (prior, prior.left, prior.right.prior.right, Gaussian() + prior.left, 2 * prior):
        assert "learned by Evidence" in learned_caveat(SpectralFeatures(part))
    assert not learned_caveat(SpectralFeatures(COMPOSITE))


def test_parts_that_cannot_be_learned_are_named():
    X, y = seasons(30)
    with pytest.raises(NotImplementedError, match=r"with_rates.*Sinc"):
        Evidence().learn(Gaussian() + OnColumns(Sinc(), [0]), X, y, 0)


def test_tabular_models_learn_composites():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    model = SpectralRegressor(
        priors=(Laplace(), Gaussian() + Laplace()), evidence=Evidence(60, 3), random_state=0
    )
    assert model.fit(X, y).score(X, y) > 0.8
    assert "PriorSum of 2 columns" in model._repr_html_()


# --- without a linear part ------------------------------------------------------------------------


def line_and_wave(n=150):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.stack([X[:, 1], np.sin(3 * X[:, 0])], axis=1) + 0.02 * rng.normal(size=(n, 2))


def test_without_a_linear_part_the_evidence_has_none():
    X, Y = line_and_wave(30)
    objective = _NegativeEvidence(Gaussian(), X, Y, np.ones(30), (0.3, 0.6), has_linear=False)
    theta = objective.start(labels=False)[0]
    value, slopes = objective._in_precision(theta, np.float64)
    other = _NegativeEvidence(Gaussian(), X, Y, np.ones(30), (0.3, 0.6))
    almost_none = theta + np.array([0, 0, -40.0, 0])
    assert value == pytest.approx(other._in_precision(almost_none, np.float64)[0], abs=1e-12)
    assert slopes[2] == 0
    learned = Evidence(n_iterations=5).learn(Gaussian(), X, Y, 0, linear=False)
    np.testing.assert_array_equal(learned.linear, 0)
    with pytest.raises(TypeError, match="linear must be True or False"):
        Evidence().learn(Gaussian(), X, Y, 0, linear="no")


def test_share_of_the_linear_part_is_that_of_the_posterior_mean():
    X, Y = line_and_wave(60)
    weights = np.random.default_rng(1).integers(1, 4, size=60).astype(float)
    evidence = Evidence(n_iterations=3, standardize=False)
    learned = evidence.learn(Gaussian(), X, Y, 0, weights)
    weights /= weights.mean()
    X = X - np.average(X, axis=0, weights=weights)
    Y = Y - np.average(Y, axis=0, weights=weights)
    linear = X @ np.diag(learned.linear) @ X.T / 2
    K = learned.prior.kernel(X) + linear + learned.noise * np.diag(1 / weights)
    part = linear @ np.linalg.solve(K, Y)
    shares = weights @ part**2 / (weights @ Y**2)
    np.testing.assert_allclose(learned.linear_shares, shares, rtol=1e-6)


def test_a_warning_names_the_output_that_loses_its_linear_part():
    X, Y = line_and_wave()
    with pytest.warns(UserWarning, match=r"of the variance of output 0, .* linear=False"):
        dropped = Evidence().learn_prior(Gaussian(), X, Y, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = Evidence().learn_prior(Gaussian(), X, Y, 0, linear=False)
        Evidence().learn_prior(Gaussian(), X, Y[:, 1], 0)
        Evidence().learn(Gaussian(), X, Y, 0)
    assert kept.gamma[1] > 10 * dropped.gamma[1]


def test_fields_keep_the_output_that_is_linear():
    """The gradient of sin(3 a) / 3 + b² / 2: its second component is linear in b."""
    X, _ = line_and_wave()
    Y = np.stack([np.cos(3 * X[:, 0]), X[:, 1]], axis=1)
    prior = Evidence().learn_prior(Gaussian(), X, Y, 0, linear=False)
    field = OperatorKernelRidge(CurlFree(prior), alpha=1e-4).fit(X, Y)
    residuals = np.sum((field.predict(X) - Y) ** 2, axis=0) / np.sum(
        (Y - Y.mean(axis=0)) ** 2, axis=0
    )
    assert residuals.max() < 0.02
