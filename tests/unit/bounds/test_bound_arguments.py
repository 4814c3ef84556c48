"""Arguments that no bound can be computed from are rejected by every bound, with the name of the
argument.
"""

import numpy as np
import pytest

from bochner import Gaussian, PacBayes, bounds
from bochner.bounds.risk import inverse_binary_kl
from bochner.data.targets import TargetSimilarity

# Each bound on a mean loss and a divergence, as a function of both.
OF_A_RISK = {
    "pac_bayes_kl": lambda empirical, divergence: bounds.pac_bayes_kl(empirical, divergence, 100),
    "first_order": lambda empirical, divergence: bounds.first_order(empirical, divergence, 100),
    "landmark": lambda empirical, divergence: bounds.landmark(empirical, divergence, 100, 5),
    "corollary_2": lambda empirical, divergence: bounds.corollary_2(empirical, divergence, 100),
    "second_order": lambda empirical, divergence: bounds.second_order(empirical, divergence, 100),
    "f_divergence": lambda empirical, divergence: bounds.f_divergence(
        empirical, divergence, 100, mu=3.0
    ),
    "chi_square": lambda empirical, divergence: bounds.chi_square(empirical, divergence, 100),
    "inverse_binary_kl": inverse_binary_kl,
}


@pytest.mark.parametrize("name", OF_A_RISK)
def test_rates_and_divergences_outside_their_range_are_rejected(name):
    bound = OF_A_RISK[name]
    for empirical in (np.nan, -0.1, 1.1, np.inf):
        with pytest.raises(ValueError, match="empirical"):
            bound(empirical, 1.0)
    for divergence in (np.nan, -50.0, -np.inf):
        with pytest.raises(ValueError, match=r"divergence|budget"):
            bound(0.2, divergence)
    for wrong in ("0.2", None, True, np.array([0.2, 0.3])):
        with pytest.raises(TypeError, match="empirical must be a number"):
            bound(wrong, 1.0)


@pytest.mark.parametrize("name", OF_A_RISK)
def test_rounding_and_infinite_divergences_are_accepted(name):
    bound = OF_A_RISK[name]
    assert bound(-1e-15, -1e-15) == bound(0.0, 0.0)
    assert bound(1 + 1e-15, 1.0) == bound(1.0, 1.0)
    vacuous = bound(0.2, np.inf)  # the posterior has atoms that the prior has not
    assert (vacuous if isinstance(vacuous, float) else vacuous.value) >= 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.empirical_bernstein([0.1, np.nan, 0.3]), "losses must be finite"),
        (lambda: bounds.empirical_bernstein(np.full((10, 1), 0.1)), "losses must be a vector"),
        (lambda: bounds.kl_divergence([0.5, np.nan], [0.5, 0.5]), "posterior must be finite"),
        (lambda: bounds.kl_divergence([0.5, 0.5], [1.5, -0.5]), "prior must be at least 0"),
        (lambda: bounds.power_divergence([0.0, 0.0], [0.5, 0.5]), "positive weight"),
        (lambda: bounds.power_divergence([0.5, 0.5], [0.5, 0.5], np.nan), "mu"),
        (lambda: bounds.ApproximationConstants(2, 1, np.nan, 1.4, 1.4, 1.0), "variance"),
        (lambda: bounds.ApproximationConstants(2, 1, 0.5, -1.4, 1.4, 1.0), "slope"),
        (lambda: bounds.log_failure_probability(_constants(), 100, np.nan, 2.0), "error"),
        (lambda: bounds.log_failure_probability(_constants(), 100, 0.1, -2.0), "diameter"),
        (lambda: bounds.operator_uniform(_constants(), 100, np.nan), "diameter"),
        (lambda: bounds.promised_components(_constants(), 0.1, 2.0, confidence=1.0), "confidence"),
        (lambda: bounds.promised_components(_constants(), np.nan, 2.0), "error"),
        (lambda: bounds.potential_deviation(100, 2, np.nan, 1.0), "frequency_radius"),
    ],
)
def test_other_arguments_that_are_not_numbers_in_range_are_rejected(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def _constants():
    return bounds.ApproximationConstants(2, 1, variance=0.5, slope=1.4, orlicz=1.4, sup_norm=1.0)


def test_a_learner_has_no_valid_bound_on_losses_outside_the_unit_interval():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    learned = PacBayes().learn(
        Gaussian(0.5).sample(20, 2, rng), X, TargetSimilarity(3 * np.sign(X[:, :1]))
    )
    bound = PacBayes().bound(learned.report)
    assert bound.empirical < 0
    assert not bound.valid
    assert "between 0 and 1" in bound.reason
    assert bound.value == pytest.approx(bound.empirical + bound.complexity)
