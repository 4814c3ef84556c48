"""Bounds hold as often as they say, from 5 to 2000 rows, no and only errors included: by exact sums
where the sample is a count, else in a thousand simulated samples, up to three standard errors.
"""

import itertools

import numpy as np
import pytest
from scipy.stats import binom
from selection import long_except
from sklearn.dummy import DummyClassifier, DummyRegressor

from bochner import Decomposable, Gaussian, certify, gibbs_weights
from bochner.bounds import (
    binomial_tail,
    chi_square,
    corollary_2,
    empirical_bernstein,
    f_divergence,
    first_order,
    kl_divergence,
    landmark,
    margin,
    operator_uniform,
    pac_bayes_kl,
    potential_deviation,
    power_divergence,
    second_order,
)
from bochner.operators import approximation_constants

SIZES = [5, 20, 100, 500, 2000]
EXACT_SIZES = long_except(SIZES, 5, 20, 100)  # sums over all counts
SIMULATED_SIZES = long_except(SIZES, 20)
SAMPLES = long_except(
    list(itertools.product(["some errors", "no errors", "nearly all errors"], SIZES)),
    ("some errors", 20),
)
RATES = [0.0, 1e-3, 0.02, 0.3, 0.5, 0.9, 0.999, 1.0]
RUNS, DELTA = 1000, 0.1
MOST = RUNS * DELTA + 3 * np.sqrt(RUNS * DELTA * (1 - DELTA))


def chance_of_a_miss(values, rate, truth=None):
    """P(values[K] < truth) for K binomial: the exact probability that a bound which depends on a
    count fails.
    """
    counts = np.arange(len(values))
    return float(
        np.sum(
            binom.pmf(counts, len(values) - 1, rate)[values < (rate if truth is None else truth)]
        )
    )


def values_of(bound, n):
    return np.array([bound(k).value for k in range(n + 1)])


@pytest.mark.parametrize("n", EXACT_SIZES)
@pytest.mark.parametrize("delta", [0.01, 0.05, 0.3])
def test_the_binomial_tail_misses_at_most_delta_and_exactly_delta_where_it_is_hardest(n, delta):
    values = values_of(lambda k: binomial_tail(k, n, delta=delta), n)
    for rate in RATES:
        assert chance_of_a_miss(values, rate) <= delta * (1 + 1e-9)
    # Just above a value the bound fails for so few errors, which happens with probability delta:
    # there is no slack.
    hardest = values[: n // 2 + 1 : max(1, n // 20)] + 1e-13
    misses = [chance_of_a_miss(values, rate) for rate in hardest]
    np.testing.assert_allclose(misses, delta, rtol=1e-6)


@pytest.mark.parametrize("n", EXACT_SIZES)
def test_certified_classifiers_miss_at_most_delta(n):
    X = np.zeros((n, 1))
    model = DummyClassifier().fit(X, np.zeros(n))
    values = values_of(lambda k: certify(model, X, np.arange(n) < k, delta=DELTA), n)
    assert max(
        chance_of_a_miss(values, rate) for rate in [*RATES, *(values[: n // 2] + 1e-13)]
    ) <= DELTA * (1 + 1e-6)
    assert values[n] == 1


@pytest.mark.parametrize("n", EXACT_SIZES)
def test_certified_losses_miss_at_most_delta(n):
    """Losses of 0 or 4 = ``largest_loss``, and of 9, which is cut off there."""
    X = np.arange(n)[:, None]  # rows that differ, which count each
    model = DummyRegressor(strategy="constant", constant=0.0).fit(X, np.zeros(n))
    for size in (2.0, 3.0):
        values = values_of(
            lambda k: certify(model, X, size * (np.arange(n) < k), DELTA, largest_loss=4.0),  # noqa: B023
            n,
        )
        for rate in RATES:
            assert chance_of_a_miss(values, rate, 4 * rate) <= DELTA


@pytest.mark.parametrize("n", EXACT_SIZES)
def test_the_empirical_bernstein_bound_misses_at_most_delta(n):
    for delta in (0.05, 0.3):
        values = values_of(lambda k: empirical_bernstein(np.arange(n) < k, delta=delta), n)  # noqa: B023
        rates = [*RATES, *(values[values < 1] + 1e-13)]
        assert max(chance_of_a_miss(values, rate) for rate in rates) <= delta
    rng = np.random.default_rng(n)
    for a, b in ((0.05, 0.5), (0.3, 2.0), (2.0, 0.1)):
        losses = rng.beta(a, b, size=(RUNS, n))
        assert (
            sum(empirical_bernstein(row, delta=DELTA).value < a / (a + b) for row in losses) <= MOST
        )


@pytest.mark.parametrize("n", EXACT_SIZES)
def test_the_pac_bayes_bound_of_one_predictor_misses_at_most_delta(n):
    values = values_of(lambda k: pac_bayes_kl(k / n, 0.0, n, delta=DELTA), n)
    for rate in [*RATES, *(values[values < 1] + 1e-13)]:
        assert chance_of_a_miss(values, rate) <= DELTA


POSTERIORS = [(0.5, 3.0), (0.05, 30.0), (0.0, 1.0), (1.0, 1.0)]  # error rate and beta


@pytest.mark.long
@pytest.mark.parametrize("n", SIMULATED_SIZES)
@pytest.mark.parametrize("rate_and_beta", long_except(POSTERIORS, (0.5, 3.0)), ids=str)
def test_the_pac_bayes_bound_of_learned_posteriors_holds(rate_and_beta, n):
    """Twenty predictors that err independently, equally often: the posterior that follows the
    errors flatters itself.
    """
    rng, prior, (rate, beta) = np.random.default_rng(n), np.full(20, 1 / 20), rate_and_beta
    errors = rng.binomial(n, rate, size=(RUNS, 20)) / n
    posteriors = gibbs_weights(prior, errors, beta, n)
    missed = 0
    for q, risk in zip(posteriors, errors, strict=True):
        # The best of two priors: twenty equal ones, and one that believes in the first half.
        half = np.repeat([0.1, 1e-12], 10)
        divergence = min(kl_divergence(q, prior), kl_divergence(q, half))
        missed += (
            pac_bayes_kl(min(q @ risk, 1.0), divergence, n, delta=DELTA, n_tried=2).value
            < rate - 1e-12
        )
    assert missed <= MOST


def world(kind):
    """Points with labels and chances, and the pairwise losses (1 − λ cos ω·(x − z)) / 2 of some
    frequencies.
    """
    rng = np.random.default_rng(len(kind))
    n_points = 60 if kind == "nearly all errors" else 12
    points = rng.normal(size=(n_points, 2))
    frequencies = rng.normal(size=(30, 2)) * np.sqrt(2)
    labels = rng.integers(2, size=n_points)
    chances = rng.dirichlet(np.ones(n_points))
    if kind == "no errors":
        labels[:], frequencies = 0, np.zeros((1, 2))
    if kind == "nearly all errors":
        labels, chances, frequencies = (
            np.arange(n_points),
            np.full(n_points, 1 / n_points),
            np.zeros((1, 2)),
        )
    cosines = np.cos((points[:, None] - points[None]) @ frequencies.T)
    losses = (1 - np.where(labels[:, None] == labels, 1.0, -1.0)[:, :, None] * cosines) / 2
    return chances, losses


@pytest.mark.parametrize("case", SAMPLES, ids=str)
def test_alignment_bounds_hold(case):
    kind, n = case
    chances, losses = world(kind)
    rng, n_atoms = np.random.default_rng(n), losses.shape[2]
    true = np.einsum("i,j,ijm->m", chances, chances, losses)
    prior = np.full(n_atoms, 1 / n_atoms)
    counts = rng.multinomial(n, chances, size=RUNS).astype(float)
    pairs = np.einsum("ri,ijm,rj->rm", counts, losses, counts, optimize=True) - counts @ np.einsum(
        "iim->im", losses
    )
    empirical = pairs / (n * (n - 1))
    for beta in (1.0, 10.0):
        posteriors = gibbs_weights(prior, empirical, beta, n)
        missed = dict.fromkeys(["corollary 2", "second order", "chi square", "f 1.5", "f 3"], 0)
        for q, mine in zip(posteriors, empirical, strict=True):
            at, kl = q @ mine, kl_divergence(q, prior)
            values = (
                corollary_2(at, kl, n, delta=DELTA).value,
                second_order(at, kl, n, delta=DELTA).value,
                chi_square(at, power_divergence(q, prior), n, delta=DELTA).value,
                f_divergence(at, power_divergence(q, prior, 1.5), n, mu=1.5, delta=DELTA).value,
                f_divergence(at, power_divergence(q, prior, 3.0), n, mu=3.0, delta=DELTA).value,
            )
            for name, value in zip(missed, values, strict=True):
                missed[name] += value < q @ true - 1e-12
        assert max(missed.values()) <= MOST, missed


@pytest.mark.long  # unit/test_alignment_bounds.py has a smaller simulation
@pytest.mark.parametrize("case", SAMPLES, ids=str)
def test_first_order_bounds_hold_for_points_and_for_all_landmarks_at_once(case):
    kind, n = case
    chances, losses = world(kind)
    rng, n_atoms = np.random.default_rng(n), losses.shape[2]
    prior = np.full(n_atoms, 1 / n_atoms)
    truths = np.einsum("j,ljm->lm", chances, losses)
    missed = dict.fromkeys(["outside", "inside", "four landmarks"], 0)
    for _ in range(RUNS):
        rows = rng.choice(len(chances), size=n, p=chances)
        failed = {}
        for name, own, in_sample in (
            ("outside", [0], False),
            ("inside", rows[:1], True),
            ("four landmarks", rows[:4], True),
        ):
            failed[name] = False
            for place, point in enumerate(own):
                others = np.delete(rows, place) if in_sample else rows
                empirical = losses[point][others].mean(axis=0)
                q = gibbs_weights(prior, empirical, 3.0, n)
                bound = landmark if len(own) > 1 else first_order
                number = (len(own),) if len(own) > 1 else ()
                value = bound(
                    q @ empirical,
                    kl_divergence(q, prior),
                    n,
                    *number,
                    delta=DELTA,
                    in_sample=in_sample,
                ).value
                failed[name] |= bool(value < q @ truths[point] - 1e-12)
        for name, wrong in failed.items():
            missed[name] += wrong
    assert max(missed.values()) <= MOST, missed


@pytest.mark.parametrize("n", SIMULATED_SIZES)
def test_the_margin_bound_holds_for_the_best_of_many_machines(n):
    """f = ± cos ωx with ‖w‖ = 1, picked after seeing the rows, for labels of which a share is
    noise.
    """
    rng = np.random.default_rng(n)
    points, frequencies = np.linspace(-1, 1, 9), np.linspace(0, 3, 13)
    scores = np.cos(np.outer(frequencies, points))
    scores = np.concatenate([scores, -scores])
    for noise in (0.0, 0.2, 0.5):
        labels = np.where(np.cos(2 * points) > 0, 1.0, -1.0)
        right, wrong = (
            rng.multinomial(n, np.r_[np.full(9, (1 - noise) / 9), np.full(9, noise / 9)], size=RUNS)
            .reshape(RUNS, 2, 9)
            .transpose(1, 0, 2)
        )
        missed = 0
        for k in range(RUNS):
            best = np.argmax((right[k] - wrong[k]) * labels @ scores.T)
            margins = np.repeat(
                np.r_[labels * scores[best], -labels * scores[best]], np.r_[right[k], wrong[k]]
            )
            error = np.mean(np.where(labels * scores[best] <= 0, 1 - noise, noise))
            missed += margin(margins, [0.1, 0.5, 0.9], 3.0, 1.0, delta=DELTA).value < error
        assert missed <= MOST


@pytest.mark.parametrize("n", SIZES)
def test_the_potential_stays_within_its_deviation(n):
    rng, grid, points = np.random.default_rng(n), np.linspace(-3, 3, 121), np.linspace(-1, 1, 8)
    waves = np.exp(1j * np.outer(grid, points))
    for positive in (np.full(8, 0.5), np.linspace(0, 1, 8), np.ones(8)):
        chances = np.r_[positive, 1 - positive] / 8
        ideal = np.abs(waves @ (2 * positive - 1) / 8) ** 2
        counts = rng.multinomial(n, chances, size=RUNS)
        signal = counts[:, :8] - counts[:, 8:]
        found = np.abs(signal @ waves.T) ** 2 / n**2
        worst = np.abs(found - ideal).max(axis=1)
        assert np.sum(worst > potential_deviation(n, 1, 3.0, 1.0, delta=DELTA).value) <= MOST


@pytest.mark.parametrize("n_components", EXACT_SIZES)
def test_features_stay_within_the_uniform_bound_of_their_kernel(n_components):
    kernel = Decomposable(Gaussian(gamma=0.5))
    bound = operator_uniform(
        approximation_constants(kernel, 1), n_components, 2.0, confidence=1 - DELTA
    ).value
    rng, differences = np.random.default_rng(n_components), np.linspace(0, 2, 15)
    exact, missed = np.exp(-(differences**2) / 2), 0
    for _ in range(RUNS):
        sampled = np.cos(np.outer(differences, rng.normal(size=n_components))).mean(axis=1)
        missed += np.abs(sampled - exact).max() > bound
    assert missed <= MOST
