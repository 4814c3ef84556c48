"""Densities of priors: of the law that they draw from, with the slope that differences give."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime

from bochner import (
    Anova,
    Cauchy,
    Gaussian,
    Laplace,
    Matern,
    RationalQuadratic,
    Sinc,
    SpectralMixture,
)


def log_density(prior, frequencies):
    return prior.log_density(frequencies)


PRIORS = {
    "Gaussian": lambda d: Gaussian(np.linspace(0.3, 0.6, d)),
    "Matern": lambda d: Matern(nu=1.2, length_scale=np.linspace(0.7, 1.5, d)),
    "RationalQuadratic": lambda d: RationalQuadratic(
        alpha=1.8, length_scale=np.linspace(0.7, 1.5, d)
    ),
    "Laplace": lambda d: Laplace(np.linspace(0.5, 0.8, d)),
    "Cauchy": lambda d: Cauchy(np.linspace(0.8, 1.3, d)),
    "Sinc": lambda d: Sinc(np.linspace(0.9, 1.4, d)),
    "SpectralMixture": lambda d: SpectralMixture(
        [0.3, 0.9], [[0.5] * d, [-0.2] * d], [[0.6] * d, [1.1] * d]
    ),
}


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("d", [1, 3])
def test_the_density_is_that_of_the_draws(name, d, seed):
    """E g(ω) / p(ω) over draws is one for every density g; g is uniform on a small cube off the
    origin.
    """
    prior, rng = PRIORS[name](d), np.random.default_rng(seed)
    drawn = prior.sample(40_000, d, rng).frequencies
    center, size = np.linspace(0.2, 0.4, d), 0.3
    inside = np.all(np.abs(drawn - center) < size / 2, axis=1)
    ratios = np.where(inside, size**-d * np.exp(-log_density(prior, drawn)[0]), 0.0)
    assert abs(ratios.mean() - 1) < 5 * ratios.std() / np.sqrt(len(ratios))
    assert inside.sum() > 30


@pytest.mark.parametrize("name", PRIORS)
def test_the_density_has_mass_one(name):
    prior = PRIORS[name](1)
    ends = [(-np.inf, -1e-9), (1e-9, np.inf)] if name != "Sinc" else [(-0.9, 0.9)]
    mass = sum(
        quad(lambda w: np.exp(log_density(prior, np.array([[w]]))[0][0]), *end, limit=200)[0]
        for end in ends
    )
    assert mass == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("d", [1, 3])
def test_slopes_are_those_of_differences(name, d, seed):
    prior = PRIORS[name](d)
    places = np.random.default_rng(seed).uniform(0.1, 0.8, size=(5, d))
    values, slopes = log_density(prior, places)
    for place, slope in zip(places, slopes):
        numeric = approx_fprime(place, lambda w: log_density(prior, w[None])[0][0], 1e-6)
        np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-4)
    assert values.shape == (5,)


def test_numbers_by_hand():
    assert log_density(Gaussian(0.5), np.zeros((1, 2)))[0][0] == pytest.approx(
        -1.8378770664093453
    )  # −ln 2π
    assert log_density(Matern(nu=0.5), np.zeros((1, 1)))[0][0] == pytest.approx(
        -1.1447298858494002
    )  # −ln π
    assert log_density(Sinc(2.0), np.array([[3.0]]))[0][0] == -np.inf


def test_a_prior_without_a_density_says_so():
    with pytest.raises(NotImplementedError, match="Anova has no density"):
        log_density(Anova(), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="scale of zero"):
        log_density(SpectralMixture([1.0], [[0.0]], [[0.0]]), np.zeros((1, 1)))
