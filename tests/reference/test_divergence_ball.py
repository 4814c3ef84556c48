"""The divergence-ball problem against a general-purpose optimizer, and its closed forms and limits."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bochner import divergence_ball_weights, gibbs_weights
from bochner.bounds import kl_divergence, power_divergence


def by_slsqp(prior, scores, radius, mu):
    """Maximise Q·a over the simplex within the ball, without knowing the solution's form; only for
    tests.
    """
    best = None
    for start in (prior, 0.5 * prior + 0.5 * gibbs_weights(prior, -scores, 1.0, 1)):
        result = minimize(
            lambda q: -q @ scores,
            start,
            jac=lambda q: -scores,
            bounds=[(0, 1)] * len(prior),
            constraints=[
                {"type": "eq", "fun": lambda q: q.sum() - 1, "jac": lambda q: np.ones(len(q))},
                {
                    "type": "ineq",
                    "fun": lambda q: (
                        radius - (np.sum(prior * (np.maximum(q, 0) / prior) ** mu) - 1)
                    ),
                    "jac": lambda q: -mu * (np.maximum(q, 0) / prior) ** (mu - 1),
                },
            ],
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        if best is None or result.fun < best.fun:
            best = result
    return best.x


@pytest.mark.parametrize("mu", [1.2, 1.5, 2.0, 3.0, 5.0])
@pytest.mark.parametrize("radius", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("uniform", [True, False])
def test_weights_are_those_of_slsqp(mu, radius, uniform, seed):
    rng = np.random.default_rng(seed)
    prior = np.full(6, 1 / 6) if uniform else rng.dirichlet(np.full(6, 3.0))
    scores = rng.normal(size=6)
    weights = divergence_ball_weights(prior, scores, radius, mu)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert power_divergence(weights, prior, mu) <= radius * (1 + 1e-9)
    reference = by_slsqp(prior, scores, radius, mu)
    assert weights @ scores >= reference @ scores - 1e-7
    np.testing.assert_allclose(weights, reference, atol=2e-4)


def test_chi_square_ball_without_clipping_is_linear_in_the_scores(seed):
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.full(50, 2.0))
    scores = rng.uniform(size=50)
    mean = prior @ scores
    deviation = np.sqrt(prior @ (scores - mean) ** 2)
    radius = 0.01
    expected = prior * (1 + np.sqrt(radius) * (scores - mean) / deviation)
    np.testing.assert_allclose(divergence_ball_weights(prior, scores, radius), expected, atol=1e-10)


def test_mu_towards_one_gives_the_pseudo_posterior_of_the_same_kl(seed):
    rng = np.random.default_rng(seed)
    prior = np.full(30, 1 / 30)
    losses = rng.uniform(size=30)
    tilted = gibbs_weights(prior, losses, beta=1.0, n_samples=9)
    kl = kl_divergence(tilted, prior)
    errors = []
    for excess in (1e-2, 1e-3, 1e-4):
        ball = divergence_ball_weights(prior, -losses, excess * kl, 1 + excess)
        errors.append(np.abs(ball - tilted).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-4


@pytest.mark.parametrize("mu", [1.5, 2.0, 3.0])
def test_just_below_the_largest_radius_the_best_atom_is_not_yet_alone(mu):
    prior, scores = np.full(4, 0.25), np.array([0.0, 1.0, 2.0, 3.0])
    largest = 4 ** (mu - 1) - 1
    for share in (0.4, 0.98):
        weights = divergence_ball_weights(prior, scores, share * largest, mu)
        assert power_divergence(weights, prior, mu) == pytest.approx(share * largest)
        assert weights[2] > 0
    np.testing.assert_array_equal(divergence_ball_weights(prior, scores, largest, mu), [0, 0, 0, 1])


def test_edges(seed):
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(8))
    scores = rng.normal(size=8)
    np.testing.assert_allclose(divergence_ball_weights(prior, scores, 0.0), prior)
    np.testing.assert_allclose(divergence_ball_weights(prior, np.full(8, 3.3), 5.0), prior)
    best = np.zeros(8)
    best[np.argmax(scores)] = 1
    np.testing.assert_allclose(divergence_ball_weights(prior, scores, 1e9), best)
    scores[[2, 5]] = scores.max() + 1
    tied = np.where(np.isin(np.arange(8), [2, 5]), prior, 0)
    np.testing.assert_allclose(divergence_ball_weights(prior, scores, 1e9, 3.0), tied / tied.sum())
    prior[0] = 0
    assert divergence_ball_weights(prior, scores, 0.5)[0] == 0


@pytest.mark.parametrize("mu", [1.0001, 1.3, 2, 7, 60])
@pytest.mark.parametrize("radius", [1e-9, 1e-3, 1.0, 1e4])
def test_twenty_thousand_candidates_stay_on_the_sphere_and_do_not_overflow(mu, radius):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000) ** 3
    prior = np.full(20_000, 1 / 20_000)
    weights = divergence_ball_weights(prior, scores, radius, mu)
    assert np.all(np.isfinite(weights))
    assert weights.sum() == pytest.approx(1)
    largest = 20_000.0 ** (mu - 1) - 1
    reached = power_divergence(weights, prior, mu)
    assert reached <= min(radius, largest) * (1 + 1e-5)
    # An atom enters as (τ − g)^{1/(μ−1)}: at μ = 60 the last digit of τ already moves its weight by
    # half.
    assert reached >= min(radius, largest) * (1 - (1e-5 if mu < 10 else 1e-2))


def test_score_scale_and_offset_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    prior, scores = rng.dirichlet(np.ones(20)), rng.normal(size=20)
    plain = divergence_ball_weights(prior, scores, 0.7, 1.6)
    np.testing.assert_allclose(
        divergence_ball_weights(prior, 1e4 * scores - 3, 0.7, 1.6), plain, atol=1e-9
    )
    np.testing.assert_allclose(
        divergence_ball_weights(5 * prior, scores, 0.7, 1.6), 5 * plain, atol=1e-9
    )
