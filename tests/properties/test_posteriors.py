"""Invariants of learned weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bochner import Gaussian, alignment_losses, divergence_ball_weights, gibbs_weights
from bochner.bounds import kl_divergence, power_divergence

losses_and_prior = st.integers(2, 12).flatmap(
    lambda m: st.tuples(
        arrays(float, m, elements=st.floats(0, 1, width=32)),
        arrays(float, m, elements=st.floats(0.0078125, 1, width=32)),
    )
)
betas = st.floats(0, 1e3)


@given(losses_and_prior, betas, st.integers(1, 10**6))
@settings(max_examples=100, deadline=None)
def test_posterior_never_raises_expected_loss(pair, beta, n_samples):
    losses, prior = pair
    weights = gibbs_weights(prior, losses, beta, n_samples)
    assert weights.sum() == pytest.approx(prior.sum())
    assert weights @ losses <= prior @ losses * (1 + 1e-12) + 1e-12


@given(losses_and_prior, betas, st.floats(-5, 5))
@settings(max_examples=50, deadline=None)
def test_posterior_ignores_a_constant_added_to_the_losses(pair, beta, constant):
    losses, prior = pair
    plain = gibbs_weights(prior, losses, beta, 100)
    np.testing.assert_allclose(
        gibbs_weights(prior, losses + constant, beta, 100), plain, rtol=1e-6, atol=1e-9
    )


@given(losses_and_prior, st.floats(0.01, 10), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_posterior_minimises_the_bound_among_distributions(pair, beta, seed):
    losses, prior = pair
    prior = prior / prior.sum()

    def objective(q):
        return q @ losses + kl_divergence(q, prior) / (beta * np.sqrt(50))

    others = np.random.default_rng(seed).dirichlet(np.ones(len(prior)), size=20)
    smallest = objective(gibbs_weights(prior, losses, beta, 50))
    assert all(smallest <= objective(other) + 1e-12 for other in others)


@given(losses_and_prior)
@settings(max_examples=50, deadline=None)
def test_posterior_limits_are_the_prior_and_the_best_atoms(pair):
    losses, prior = pair
    np.testing.assert_allclose(gibbs_weights(prior, losses, 0.0, 10), prior)
    best = np.where(losses == losses.min(), prior, 0)
    np.testing.assert_allclose(
        gibbs_weights(prior, losses, np.inf, 10), best * prior.sum() / best.sum()
    )


@given(losses_and_prior, st.floats(0, 50), st.floats(1.05, 6))
@settings(max_examples=100, deadline=None)
def test_ball_weights_are_feasible_and_no_worse_than_the_prior(pair, radius, mu):
    losses, prior = pair
    weights = divergence_ball_weights(prior, -losses, radius, mu)
    assert power_divergence(weights, prior, mu) <= radius * (1 + 1e-8) + 1e-9
    assert weights @ losses <= prior @ losses + 1e-9


@given(st.integers(0, 2**32 - 1), st.floats(-100, 100), st.integers(2, 5))
@settings(max_examples=25, deadline=None)
def test_losses_lie_in_the_unit_interval_and_ignore_translation_order_and_label_names(
    seed, shift, n_classes
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 2))
    y = rng.integers(n_classes, size=25)
    measure = Gaussian(0.5).sample(8, 2, rng)
    losses = alignment_losses(measure, X, y)
    assert losses.min() >= -1e-12
    assert losses.max() <= 1 + 1e-12
    np.testing.assert_allclose(alignment_losses(measure, X + shift, y), losses, atol=1e-9)
    order = rng.permutation(25)
    np.testing.assert_allclose(alignment_losses(measure, X[order], y[order]), losses, atol=1e-12)
    renamed = rng.permutation(n_classes)[y]
    np.testing.assert_allclose(alignment_losses(measure, X, renamed), losses, atol=1e-12)
    at_zero = alignment_losses(type(measure)(np.zeros((1, 2)), np.ones(1)), X, y)
    disagreeing = np.mean([y[i] != y[j] for i in range(25) for j in range(25) if i != j])
    assert at_zero[0] == pytest.approx(disagreeing)
