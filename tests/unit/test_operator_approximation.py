"""Variances, constants and Theorem 10: against sampling, against published special cases, and its
own laws.
"""

from dataclasses import replace

import numpy as np
import pytest

from bochner import CurlFree, Decomposable, DivergenceFree, Gaussian, Helmholtz, Matern
from bochner.bounds import log_failure_probability, operator_uniform, promised_components
from bochner.operators import (
    approximation_constants,
    estimator_variance,
    largest_error,
    suggest_n_components,
    variance_bound,
)

MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])
KERNELS = {
    "decomposable": Decomposable(Matern(nu=1.5), MATRIX),
    "curl-free": CurlFree(Gaussian(gamma=0.5)),
    "curl-free ARD": CurlFree(Gaussian(gamma=np.array([0.3, 0.5, 0.8]))),
    "divergence-free": DivergenceFree(Gaussian(gamma=0.5)),
    "Helmholtz": Helmholtz(Gaussian(gamma=0.7), curl_share=0.3),
    "in time": Helmholtz(Gaussian(gamma=0.5), 0.8, coordinates=[0, 2]),
}


@pytest.mark.parametrize("name", KERNELS)
def test_variance_is_that_of_single_frequencies(name, seed):
    kernel = KERNELS[name]
    rng = np.random.default_rng(seed)
    differences = rng.normal(size=(3, 3))
    exact = estimator_variance(kernel, differences)
    measure = kernel.sample(60_000, 3, rng)
    for delta, variance in zip(differences, exact, strict=True):
        waves = np.cos(measure.scalar.frequencies @ delta)[:, None, None] * measure.operators()
        gap = waves - kernel.kernel(delta[None], np.zeros((1, 3)))[0, 0]
        draws = gap @ gap
        error = draws.std(axis=0) / np.sqrt(len(draws))
        assert np.abs((draws.mean(axis=0) - variance) / error).max() < 5


@pytest.mark.parametrize("name", KERNELS)
def test_variance_bounds_are_bounds(name):
    kernel = KERNELS[name]
    differences = np.random.default_rng(0).normal(size=(200, 3)) * np.linspace(0, 2, 200)[:, None]
    exact = np.linalg.norm(estimator_variance(kernel, differences), 2, axis=(1, 2))
    assert np.all(exact <= variance_bound(kernel, differences) * (1 + 1e-12))
    assert np.all(exact <= variance_bound(kernel, differences, form="paper") * (1 + 1e-9))


@pytest.mark.parametrize("d", [2, 3, 5])
def test_constants_of_the_gaussian_fields(d):
    sigma = 1.3
    gamma = 1 / (2 * sigma**2)
    curl, divergence = (
        approximation_constants(kernel(Gaussian(gamma)), d) for kernel in (CurlFree, DivergenceFree)
    )
    assert curl.variance == pytest.approx((d + 2) / sigma**4)
    assert divergence.variance == pytest.approx((d - 1) * (d + 2) / sigma**4)
    for constants in (curl, divergence):
        assert constants.orlicz == pytest.approx(2 / (sigma**2 * (1 - 4 ** (-1 / d))))
        assert constants.slope**2 == pytest.approx(d * (d + 2) * (d + 4) / sigma**6)
    assert (curl.sup_norm, divergence.sup_norm) == (
        pytest.approx(1 / sigma**2),
        pytest.approx((d - 1) / sigma**2),
    )
    # V[A] at zero: (d + 1) / σ⁴ for curl-free; 3 (d − 1) / σ⁴ for divergence-free, where d (4d − 3)
    # is printed.
    at_zero = np.zeros((1, d))
    for kernel, factor in ((CurlFree, d + 1), (DivergenceFree, 3 * (d - 1))):
        variance = estimator_variance(kernel(Gaussian(gamma)), at_zero)[0]
        np.testing.assert_allclose(variance, factor / sigma**4 * np.eye(d), atol=1e-12)


def test_constants_of_the_decomposable_kernel():
    constants = approximation_constants(Decomposable(Gaussian(gamma=0.5), MATRIX), 4)
    norm = np.linalg.norm(MATRIX, 2)
    assert constants.variance == pytest.approx(norm**2)
    assert constants.slope == pytest.approx(np.sqrt(4) * norm)
    assert constants.orlicz == pytest.approx(norm / np.log(2))


@pytest.mark.parametrize("name", ["curl-free ARD", "in time"])
def test_slope_and_orlicz_norm_by_sampling(name):
    kernel = KERNELS[name]
    constants = approximation_constants(kernel, 3)
    measure = kernel.sample(200_000, 3, np.random.default_rng(0))
    norms = np.linalg.norm(measure.operators(), 2, axis=(1, 2))
    squares = np.sum(measure.scalar.frequencies**2, axis=1) * norms**2
    assert abs(squares.mean() - constants.slope**2) < 5 * squares.std() / np.sqrt(len(squares))
    # At C a bit above the norm, E exp(‖A‖ / C) is below 2; the variance at C itself may be
    # infinite.
    growth = np.exp(norms / (2 * constants.orlicz))
    assert growth.mean() < np.sqrt(2) + 5 * growth.std() / np.sqrt(len(growth))
    assert growth.mean() > 1


def test_theorem_10_holds_with_room_to_spare(seed):
    kernel = CurlFree(Gaussian(gamma=0.5))
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, size=(300, 2))
    differences = points[:150] - points[150:]
    bound = operator_uniform(approximation_constants(kernel, 2), 20_000, diameter=np.sqrt(8))
    assert bound.value > largest_error(kernel, kernel.sample(20_000, 2, rng), differences)
    assert (bound.valid, bound.confidence, bound.form) == (True, 0.95, "safe")


def test_failure_probability_at_the_bound_is_what_was_asked_for():
    constants = approximation_constants(KERNELS["curl-free"], 3)
    for form in ("safe", "paper"):
        for confidence in (0.5, 0.99):
            for n_components in (10, 10**4, 10**8):
                bound = operator_uniform(
                    constants, n_components, 2.0, confidence=confidence, form=form
                )
                log_chance = log_failure_probability(
                    constants, n_components, bound.value, 2.0, form=form
                )
                # The tail has a step where it changes branch; the root is on its safe side.
                assert log_chance <= np.log1p(-confidence) + 1e-6
    needed = promised_components(constants, 0.1, 2.0)
    assert operator_uniform(constants, needed, 2.0).value <= 0.1 * (1 + 1e-9)
    assert operator_uniform(constants, needed - 1, 2.0).value > 0.1 * (1 - 1e-9)


def test_the_safe_form_does_not_depend_on_units_and_the_printed_one_does():
    constants = approximation_constants(KERNELS["curl-free"], 3)
    c = 7.0
    scaled = replace(
        constants,
        variance=c**2 * constants.variance,
        slope=c * constants.slope,
        orlicz=c * constants.orlicz,
        sup_norm=c * constants.sup_norm,
    )
    for form in ("safe", "paper"):
        here = operator_uniform(constants, 10**5, 2.0, form=form).value
        there = operator_uniform(scaled, 10**5, 2.0, form=form).value
        assert (there == pytest.approx(c * here, rel=1e-8)) == (form == "safe")


def test_suggestions_are_honest_about_their_looseness():
    kernel = CurlFree(Gaussian(gamma=0.5))
    suggestion = suggest_n_components(kernel, 0.2, 2, diameter=2.0)
    assert suggestion.promised > 10 * suggestion.measured
    rng = np.random.default_rng(1)
    differences = rng.uniform(-1, 1, size=(500, 2))
    errors = [
        largest_error(kernel, kernel.sample(suggestion.measured, 2, child), differences)
        for child in rng.spawn(20)
    ]
    assert np.mean(np.array(errors) < 0.2 * 1.25) > 0.8
    assert np.mean(errors) > 0.2 / 4  # not wildly too many either


def test_refusals():
    with pytest.raises(ValueError, match="Gaussian prior"):
        approximation_constants(CurlFree(Matern(nu=2.5)), 2)
    with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
        operator_uniform(approximation_constants(KERNELS["curl-free"], 3), 100, 1.0, confidence=1.0)
    measure = KERNELS["curl-free"].sample(5, 3, np.random.default_rng(0)).scalar
    with pytest.raises(ValueError, match=r"`gaussian_variances`.* need the Gaussian prior"):
        approximation_constants(CurlFree(measure), 3)
