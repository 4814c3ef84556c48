"""Losses: derivatives against finite differences, starts against brute force, finite at extremes."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from bochner.boosting.losses import (
    Exponential,
    Huber,
    Logistic,
    Multinomial,
    Poisson,
    Quantile,
    Squared,
    weighted_quantile,
)
from bochner.boosting.rounds import exact_step

LOSSES = [Logistic(), Exponential(), Multinomial(), Squared(), Huber(np.array([0.7])), Quantile(0.3), Poisson()]


def targets_for(loss, rng, n=12):
    if isinstance(loss, Multinomial):
        return np.eye(3)[rng.integers(3, size=n)]
    if isinstance(loss, Logistic | Exponential):
        return rng.choice([-1.0, 1.0], size=(n, 1))
    return rng.poisson(2.0, size=(n, 1)).astype(float)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gradient_is_the_derivative_of_the_values(loss, seed):
    rng = np.random.default_rng(seed)
    targets = targets_for(loss, rng)
    scores = rng.normal(size=targets.shape)
    gradient, curvature = loss.derivatives(targets, scores)
    np.testing.assert_allclose(loss.gradient(targets, scores), gradient)
    for k in range(targets.shape[1]):
        step = np.zeros_like(scores)
        step[:, k] = 1e-6
        numeric = (loss.values(targets, scores + step) - loss.values(targets, scores - step)) / 2e-6
        np.testing.assert_allclose(gradient[:, k], numeric, atol=1e-6)
        if not isinstance(loss, Huber | Quantile):
            numeric = (loss.gradient(targets, scores + step) - loss.gradient(targets, scores - step))[:, k] / 2e-6
            np.testing.assert_allclose(curvature[:, k], numeric, atol=1e-5)
    assert np.all(curvature > 0)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if not isinstance(loss, Huber)], ids=repr)
def test_start_is_the_best_constant(loss, seed):
    rng = np.random.default_rng(seed)
    targets, weights = targets_for(loss, rng, 40), rng.uniform(0.5, 2, size=40)
    start = loss.start(targets, weights)

    def mean_loss(constant):
        return weights @ loss.values(targets, np.tile(constant, (40, 1)))

    for k in range(len(start)):

        def along(value, k=k):
            moved = start.copy()
            moved[k] = value
            return mean_loss(moved)

        assert mean_loss(start) <= minimize_scalar(along, bracket=(start[k] - 1, start[k] + 1)).fun + 1e-9


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("size", [50.0, 1e4])
def test_extreme_scores_stay_finite(loss, size, seed):
    targets = targets_for(loss, np.random.default_rng(seed))
    for scores in (np.full(targets.shape, size), np.full(targets.shape, -size)):
        for values in (loss.values(targets, scores), *loss.derivatives(targets, scores)):
            assert np.all(np.isfinite(values))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_exact_step_is_on_the_near_side_of_the_minimum(loss, seed):
    rng = np.random.default_rng(seed)
    targets, weights = targets_for(loss, rng, 40), rng.uniform(0.5, 2, size=40)
    scores = np.tile(loss.start(targets, weights), (40, 1))
    gradient, curvature = loss.derivatives(targets, scores)
    direction = -(gradient / (curvature + 0.1)) * rng.uniform(0.1, 3) + 0.1 * rng.normal(size=scores.shape)
    if np.vdot(weights[:, None] * gradient, direction) > 0:
        direction = -direction
    step = exact_step(loss, targets, scores, weights, direction)
    at = [weights @ loss.values(targets, scores + s * direction) for s in (0.0, 0.3 * step, step)]
    assert at[2] <= at[1] <= at[0]
    assert exact_step(loss, targets, scores, weights, -direction) == 0.0


def test_weighted_quantile_is_the_quantile_of_repeated_rows():
    rng = np.random.default_rng(0)
    values, counts = rng.normal(size=(30, 2)), rng.integers(1, 4, size=30)
    for level in (0.1, 0.5, 0.9):
        repeated = np.quantile(values.repeat(counts, axis=0), level, axis=0, method="inverted_cdf")
        np.testing.assert_array_equal(weighted_quantile(values, counts, level), repeated)


def test_huber_is_half_a_square_and_then_its_tangent():
    values = Huber(np.array([0.7])).values(np.zeros((4, 1)), np.array([[0.5], [-0.7], [2.0], [-2.0]]))
    np.testing.assert_allclose(values, [0.125, 0.245, 1.155, 1.155])  # ½ r², then 0.7 (|r| − 0.35)


def test_huber_starts_at_the_median():
    targets = np.array([[1.0], [2.0], [30.0]])
    assert Huber(np.array([0.7])).start(targets, np.ones(3)) == 2.0
