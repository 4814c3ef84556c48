"""Laws of a Bochner pair, for every listed prior, in several dimensions, for every sampling it
supports.
"""

import itertools

import numpy as np
import pytest
from cases import PRIORS
from scipy.special import gammaincinv
from selection import long_except
from sklearn.base import clone

from bochner import Gaussian, Matern, RadialPrior
from bochner.measures.fourier import FourierMeasure
from bochner.testing import check_prior
from bochner.testing.kernels import kernel_z_scores

DIMENSIONS = long_except([1, 3, 6], 3)


SAMPLINGS = ["iid", "orthogonal", "qmc"]
# Each prior has its own quantiles; how they are turned into frequencies is the same for all.
DRAWS = long_except(
    list(itertools.product(PRIORS, SAMPLINGS)),
    *itertools.product(PRIORS, ["iid"]),
    *itertools.product(["Gaussian ARD", "SpectralMixture"], SAMPLINGS),
)


@pytest.mark.parametrize("n_features", DIMENSIONS)
@pytest.mark.parametrize("draw", DRAWS, ids=" ".join)
def test_sampled_spectrum_is_the_kernels_fourier_transform(draw, n_features, seed):
    name, sampling = draw
    prior = PRIORS[name](n_features)
    if sampling not in prior._samplings:
        with pytest.raises(ValueError, match="cannot be sampled"):
            prior.sample(5, n_features, np.random.default_rng(seed), sampling)
        return
    rng = np.random.default_rng([seed, n_features])
    assert np.abs(kernel_z_scores(prior, n_features, rng, sampling)).max() < 5


@pytest.mark.parametrize("name", PRIORS)
def test_the_public_check_accepts_the_prior(name, seed):
    check_prior(PRIORS[name](2), 2, rng=seed)


class WrongMatern(Matern):
    """Independent Student-t coordinates: the mistake this suite must catch."""

    _samplings = ("iid",)

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        spread = np.sqrt(self.nu / gammaincinv(self.nu, rng.random((n_atoms, n_features))))
        return rng.standard_normal((n_atoms, n_features)) * spread


def test_independent_student_coordinates_are_rejected_as_matern(seed):
    check_prior(WrongMatern(nu=1.5), 1, rng=seed)  # right in one dimension, as its authors saw
    with pytest.raises(AssertionError, match=r"mean kernel of draws .* in 3 dimension"):
        check_prior(WrongMatern(nu=1.5), 3, rng=seed)


class WrongConstant(Gaussian):
    """A closed form that decays too fast by 10 %."""

    def _profile(self, squared_distances):
        return np.exp(-0.55 * squared_distances)


class WrongDensity(Gaussian):
    def log_density(self, frequencies):
        values, slopes = super().log_density(frequencies)
        return values + 0.1, slopes


class WrongSlopes(Gaussian):
    def _slopes(self, squared_distances):
        slope, bend = super()._slopes(squared_distances)
        return slope, 1.1 * bend


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (WrongConstant(0.5), "mean kernel of draws"),
        (WrongDensity(0.5), "`log_density` differs"),
        (WrongSlopes(0.5), "`hessian` differs"),
    ],
)
def test_wrong_formulas_are_found(prior, message, seed):
    with pytest.raises(AssertionError, match=message):
        check_prior(prior, 2, rng=seed)


@pytest.mark.parametrize("n_features", DIMENSIONS)
@pytest.mark.parametrize("name", PRIORS)
def test_closed_form_is_a_kernel(name, n_features):
    prior = PRIORS[name](n_features)
    X = np.random.default_rng(0).normal(size=(30, n_features))
    gram = prior.kernel(X)
    np.testing.assert_allclose(gram, gram.T, atol=1e-14)
    np.testing.assert_allclose(np.diag(gram), prior._mass(), rtol=1e-12)
    assert np.linalg.eigvalsh(gram).min() > -1e-10
    np.testing.assert_allclose(prior.kernel(X + 5.0), gram, atol=1e-9)  # shift invariance


@pytest.mark.parametrize("name", PRIORS)
def test_same_seed_same_measure_and_clone_keeps_the_prior(name):
    prior = PRIORS[name](4)
    one = prior.sample(16, 4, np.random.default_rng(7))
    two = clone(prior).sample(16, 4, np.random.default_rng(7))
    assert isinstance(one, FourierMeasure)
    np.testing.assert_array_equal(one.frequencies, two.frequencies)
    assert one.mass == pytest.approx(prior._mass())


@pytest.mark.parametrize("n_features", [2, 8])
@pytest.mark.parametrize(
    "name", [name for name in PRIORS if isinstance(PRIORS[name](2), RadialPrior)]
)
def test_orthogonal_draws_are_orthogonal(name, n_features):
    prior = PRIORS[name](n_features)
    frequencies = prior.sample(
        2 * n_features + 1, n_features, np.random.default_rng(0), "orthogonal"
    ).frequencies
    whitened = frequencies * prior._lengths(n_features)
    for block in (whitened[:n_features], whitened[n_features : 2 * n_features]):
        cosines = (
            block @ block.T / np.outer(np.linalg.norm(block, axis=1), np.linalg.norm(block, axis=1))
        )
        np.testing.assert_allclose(cosines, np.eye(n_features), atol=1e-12)


@pytest.mark.parametrize(("sampling", "ratio"), [("orthogonal", 0.7), ("qmc", 0.75)])
def test_better_sampling_has_a_smaller_kernel_error(sampling, ratio, seed):
    """Mean squared error over many draws at d = 8, 64 frequencies, at the default bandwidth (far
    apart nothing helps).
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 8))
    prior = Gaussian(gamma="scale").resolved(X)
    exact = prior.kernel(X)

    def mean_squared_error(sampling):
        errors = [
            ((prior.sample(64, 8, child, sampling).kernel(X) - exact) ** 2).mean()
            for child in rng.spawn(400)
        ]
        return np.mean(errors)

    assert mean_squared_error(sampling) < ratio * mean_squared_error("iid")


def test_orthogonal_draws_in_very_high_dimension():
    frequencies = (
        PRIORS["Gaussian"](1).sample(20, 54877, np.random.default_rng(0), "orthogonal").frequencies
    )
    inner = frequencies @ frequencies.T
    off_diagonal = inner - np.diag(np.diag(inner))
    assert np.abs(off_diagonal).max() < 1e-10 * np.diag(inner).max()
