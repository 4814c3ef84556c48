"""Draws from the pseudo-posterior on R^d against numerical quadrature, by z-score over several
seeds.
"""

import numpy as np
import pytest

from bochner import (
    Anova,
    FourierMeasure,
    Gaussian,
    Laplace,
    Matern,
    PacBayes,
    PacBayesLangevin,
    Sinc,
    SpectralFeatures,
    alignment_losses,
)
from bochner.data import as_rows
from bochner.data.targets import as_target
from bochner.learners.pac_bayes_langevin import Places, PseudoPosterior, langevin_gain


def log_density(prior, frequencies):
    return prior.log_density(frequencies)


def problem(d, seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.cos(2.0 * X[:, 0]) + 0.2 * rng.normal(size=n) > 0, rng


def statistics(frequencies, losses):
    """Functions of ω that are even, like the law: the kernel at two differences, the size of ω, the
    loss.
    """
    d = frequencies.shape[1]
    columns = [np.cos(frequencies @ np.full(d, delta)) for delta in (0.7, 1.9)]
    return np.column_stack(
        [
            *columns,
            np.minimum(np.abs(frequencies[:, 0]), 3),
            np.abs(frequencies[:, 0]) > 1.5,
            losses,
        ]
    )


def by_quadrature(prior, beta, X, y, largest, n_points):
    """Means of the statistics under p exp(−β √n L̂) on a grid of R^d, d = 1 or 2."""
    line = np.linspace(-largest, largest, n_points)
    grid = np.stack(np.meshgrid(*[line] * X.shape[1], indexing="ij"), axis=-1).reshape(
        -1, X.shape[1]
    )
    losses = alignment_losses(FourierMeasure(grid, np.ones(len(grid))), X, y)
    chances = np.exp(log_density(prior, grid)[0] - beta * np.sqrt(len(X)) * losses)
    return chances @ statistics(grid, losses) / chances.sum()


@pytest.mark.parametrize("jump_every", [0, 5])
@pytest.mark.parametrize(
    ("d", "prior", "beta", "largest", "n_points"),
    [
        (1, Gaussian(1.0), 3.0, 12, 4001),
        (2, Gaussian(0.6), 4.0, 8, 501),
        (1, Sinc(4.0), 3.0, 4, 4001),
    ],
    ids=["line", "plane", "cube"],
)
def test_draws_have_the_means_of_the_posterior(d, prior, beta, largest, n_points, jump_every, seed):
    X, y, rng = problem(d, seed)
    # Without jumps chains stay on the hill that they start from: it takes a flat law, and more
    # steps, to be there by chance.
    beta, n_steps = (beta, 60) if jump_every else (1.0, 150)
    expected = by_quadrature(prior, beta, X, y, largest, n_points)
    start, m = prior.sample(3000, d, rng), 3000
    learned = PacBayesLangevin(beta, prior, n_steps=n_steps, jump_every=jump_every).learn(
        start, X, y, rng
    )
    found = statistics(learned.measure.frequencies, learned.report.losses)
    z = (found.mean(axis=0) - expected) / (found.std(axis=0) / np.sqrt(m))
    assert np.abs(z).max() < 5
    before = statistics(start.frequencies, learned.report.prior_losses)
    assert (
        np.abs((before.mean(axis=0) - expected) / (before.std(axis=0) / np.sqrt(m))).max() > 5
    )  # the prior itself is told apart
    np.testing.assert_allclose(
        learned.report.losses, alignment_losses(learned.measure, X, y), atol=1e-12
    )
    assert 0.3 < learned.report.acceptance < 0.95
    assert learned.measure.mass == pytest.approx(1)


def test_beta_zero_draws_from_the_prior(seed):
    X, y, rng = problem(2, seed)
    prior = Laplace(0.8)
    learned = PacBayesLangevin(0.0, prior, n_steps=40).learn(prior.sample(3000, 2, rng), X, y, rng)
    kernel, found = (
        prior.kernel(np.zeros((1, 2)), X[:5])[0],
        np.cos(learned.measure.frequencies @ X[:5].T),
    )
    assert np.abs((found.mean(axis=0) - kernel) / (found.std(axis=0) / np.sqrt(3000))).max() < 5


@pytest.mark.parametrize("kind", ["labels", "values"])
def test_the_slope_is_that_of_the_logarithm_and_weights_are_repetitions(kind, seed):
    X, y, rng = problem(3, seed)
    y = y if kind == "labels" else np.sin(X[:, 0])
    counts, prior = rng.integers(3, size=len(X)).astype(float), Matern(nu=1.5)
    weighted = PseudoPosterior.of(prior, 2.0, as_rows(X), as_target(y, len(X)), counts)
    repeated = np.repeat(np.arange(len(X)), counts.astype(int))
    plain = PseudoPosterior.of(
        prior, 2.0, as_rows(X[repeated]), as_target(y[repeated], len(repeated)), None
    )
    places = rng.normal(size=(4, 3))
    one, other = weighted.at(places), plain.at(places)
    np.testing.assert_allclose(one.values, other.values, rtol=1e-10)
    np.testing.assert_allclose(one.slopes, other.slopes, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(
        other.losses, alignment_losses(FourierMeasure(places, np.ones(4)), X[repeated], y[repeated])
    )
    for k in range(3):
        shift = 1e-5 * np.eye(3)[k]
        numeric = (plain.at(places + shift).values - plain.at(places - shift).values) / 2e-5
        np.testing.assert_allclose(other.slopes[:, k], numeric, rtol=1e-5, atol=1e-5)


def test_the_gain_of_a_step_by_hand():
    """U = −ω²/2 from 0 to 1, h S = 1/2: g(0 → 1) has mean 0, g(1 → 0) mean 3/4, variance 1/2."""
    here = Places(np.zeros((1, 1)), np.zeros(1), np.zeros(1), np.zeros((1, 1)))
    there = Places(np.ones((1, 1)), np.zeros(1), np.array([-0.5]), -np.ones((1, 1)))
    assert langevin_gain(here, there, np.array([0.5]))[0] == pytest.approx(-0.5 + 1.0 - 0.5625)
    outside = Places(np.ones((1, 1)), np.zeros(1), np.array([-np.inf]), np.zeros((1, 1)))
    assert langevin_gain(here, outside, np.array([0.5]))[0] == -np.inf


def test_in_features_it_takes_their_prior_and_beats_as_many_weighted_draws():
    X, y, _ = problem(2, 0, n=300)
    settings = {"n_components": 30, "random_state": 0}
    drawn = SpectralFeatures(Gaussian("scale"), PacBayesLangevin(30.0), **settings).fit(X, y)
    weighted = SpectralFeatures(Gaussian("scale"), PacBayes(30.0), **settings).fit(X, y)
    assert drawn.learner.prior is None  # parameters stay as they were given
    losses = alignment_losses(drawn.measure_, X, y)
    assert losses.mean() < weighted.report_.losses.mean()
    assert drawn.transform(X).shape == (300, 60)


def test_what_it_cannot_do_is_refused():
    X, y, rng = problem(2, 0)
    start = Gaussian().sample(5, 2, rng)
    with pytest.raises(ValueError, match="needs a prior and none was given"):
        PacBayesLangevin().learn(start, X, y, rng)
    with pytest.raises(NotImplementedError, match="Anova has no density"):
        SpectralFeatures(Anova(), PacBayesLangevin()).fit(X, y)
    with pytest.raises(TypeError, match="prior must be a prior"):
        PacBayesLangevin(prior=0.5).learn(start, X, y, rng)
    with pytest.raises(TypeError, match="needs the method `log_density`"):
        PacBayesLangevin(prior=start).learn(start, X, y, rng)
    with pytest.raises(ValueError, match="beta"):
        PacBayesLangevin(-1.0, Gaussian()).learn(start, X, y, rng)
