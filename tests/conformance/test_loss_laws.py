"""Losses: derivatives against finite differences, starts against brute force, links, finite at
extremes.
"""

import numpy as np
import pytest
from cases import LOSSES
from scipy.optimize import minimize_scalar

from bochner.boosting.rounds import exact_step
from bochner.losses import (
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Multinomial,
    Poisson,
    Quantile,
    Squared,
    class_probabilities,
    weighted_quantile,
)


def targets_for(loss, rng, n=12):
    if isinstance(loss, Multinomial):
        return np.eye(3)[rng.integers(3, size=n)]
    if isinstance(loss, Logistic | Exponential | Hinge):
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
        if not isinstance(loss, Huber | Quantile | Hinge):
            numeric = (
                loss.gradient(targets, scores + step) - loss.gradient(targets, scores - step)
            )[:, k] / 2e-6
            np.testing.assert_allclose(curvature[:, k], numeric, atol=1e-5)
    assert np.all(curvature > 0)


# A start is that of the loss itself, whatever is rounded of it; Huber's is the median.
STARTING = [
    loss for loss in LOSSES if not isinstance(loss, Huber) and not getattr(loss, "width", 0)
]


@pytest.mark.parametrize("loss", STARTING, ids=repr)
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

        assert (
            mean_loss(start)
            <= minimize_scalar(along, bracket=(start[k] - 1, start[k] + 1)).fun + 1e-9
        )


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
    direction = -(gradient / (curvature + 0.1)) * rng.uniform(0.1, 3) + 0.1 * rng.normal(
        size=scores.shape
    )
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
    values = Huber(np.array([0.7])).values(
        np.zeros((4, 1)), np.array([[0.5], [-0.7], [2.0], [-2.0]])
    )
    np.testing.assert_allclose(values, [0.125, 0.245, 1.155, 1.155])  # ½ r², then 0.7 (|r| − 0.35)


def test_huber_starts_at_the_median():
    targets = np.array([[1.0], [2.0], [30.0]])
    assert Huber(np.array([0.7])).start(targets, np.ones(3)) == 2.0


@pytest.mark.parametrize(
    "loss", [loss for loss in STARTING if not isinstance(loss, Hinge)], ids=repr
)
def test_the_link_of_the_best_constant_predicts_the_mean_of_the_target(loss, seed):
    """Of classes their shares, of counts their mean, of a quantile itself: what the constant was
    fitted to.
    """
    rng = np.random.default_rng(seed)
    targets, weights = targets_for(loss, rng, 60), rng.uniform(0.5, 2, size=60)
    predicted = loss.link(loss.start(targets, weights)[None])[0]
    expected = np.average(targets, axis=0, weights=weights)
    if isinstance(loss, Logistic | Exponential):
        expected = (1 + expected) / 2
    if isinstance(loss, Quantile):
        expected = weighted_quantile(targets, weights, 0.3)
    np.testing.assert_allclose(predicted, expected, rtol=1e-9)


@pytest.mark.parametrize("loss", [Logistic(), Exponential(), Multinomial()], ids=repr)
def test_class_probabilities_sum_to_one(loss):
    scores = np.random.default_rng(0).normal(size=(7, 3 if isinstance(loss, Multinomial) else 1))
    probabilities = class_probabilities(loss, scores)
    assert probabilities.shape == (7, max(scores.shape[1], 2))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    if scores.shape[1] == 1:
        assert np.all((probabilities[:, 1] > 0.5) == (scores[:, 0] > 0))


@pytest.mark.parametrize(
    ("loss", "target", "value", "slope", "curvature", "predicted"),
    [
        (
            Logistic(),
            [1.0],
            0.3132616875182228,
            -0.2689414213699951,
            0.19661193324148185,
            [0.7310585786300049],
        ),
        (
            Exponential(),
            [-1.0],
            2.718281828459045,
            2.718281828459045,
            2.718281828459045,
            [0.8807970779778823],
        ),
        (Squared(), [3.0], 2.0, -2.0, 1.0, [1.0]),
        (Huber(np.array([0.5])), [3.0], 0.875, -0.5, 1.0, [1.0]),
        (Quantile(0.3), [3.0], 0.6, -0.3, 1.0, [1.0]),
        (
            Quantile(0.3, 4.0),
            [3.0],
            0.85,
            -0.05,
            1.0,
            [1.0],
        ),  # r = 2: 4/16 − 0.2 · 2 + 1, −(2/8 − 0.2)
        (Hinge(), [-1.0], 2.0, 1.0, 1.0, [1.0]),
        (Hinge(0.5), [-1.0], 1.75, 1.0, 1.0, [1.0]),
        (Hinge(4.0), [-1.0], 0.5, 0.5, 1.0, [1.0]),  # 2²/8, 2/4
        (
            Poisson(),
            [3.0],
            -0.2817181715409549,
            -0.2817181715409549,
            2.718281828459045,
            [2.718281828459045],
        ),
    ],
    ids=lambda value: repr(value) if hasattr(value, "values") else "",
)
def test_losses_at_a_score_of_one_in_literal_numbers(
    loss, target, value, slope, curvature, predicted
):
    targets, scores = np.array([target]), np.array([[1.0]])
    gradient, second = loss.derivatives(targets, scores)
    assert loss.values(targets, scores)[0] == pytest.approx(value, rel=1e-12)
    assert gradient[0, 0] == pytest.approx(slope, rel=1e-12)
    assert second[0, 0] == pytest.approx(curvature, rel=1e-5)
    np.testing.assert_allclose(loss.link(scores)[0], predicted, rtol=1e-12)


def test_the_multinomial_loss_in_literal_numbers():
    """Scores (0, ln 2, ln 5) have shares 1/8, 2/8, 5/8."""
    loss, targets, scores = Multinomial(), np.array([[0.0, 1.0, 0.0]]), np.log([[1.0, 2.0, 5.0]])
    gradient, curvature = loss.derivatives(targets, scores)
    assert loss.values(targets, scores)[0] == pytest.approx(np.log(4))
    np.testing.assert_allclose(gradient[0], [1 / 8, -6 / 8, 5 / 8])
    np.testing.assert_allclose(curvature[0], [7 / 64, 12 / 64, 15 / 64])
    np.testing.assert_allclose(loss.link(scores)[0], [1 / 8, 2 / 8, 5 / 8])


def test_starts_in_literal_numbers():
    """Three of four rows positive: odds of 3, ln 3 for the logistic loss and half of it for the
    exponential one.
    """
    signs, ones = np.array([[1.0], [1.0], [1.0], [-1.0]]), np.ones(4)
    assert Logistic().start(signs, ones)[0] == pytest.approx(1.0986122886681098)
    assert Exponential().start(signs, ones)[0] == pytest.approx(0.5493061443340549)
    values = np.array([[1.0], [2.0], [3.0], [10.0]])
    starts = [
        loss.start(values, ones)[0]
        for loss in (Squared(), Huber(np.ones(1)), Quantile(0.75), Poisson())
    ]
    assert starts == pytest.approx([4.0, 2.0, 3.0, np.log(4)])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_bends_are_the_second_derivative_of_the_values(loss, seed):
    rng = np.random.default_rng(seed)
    targets = targets_for(loss, rng)
    scores, direction = rng.normal(size=targets.shape), rng.normal(size=targets.shape)
    step = 1e-6 * direction
    numeric = (loss.gradient(targets, scores + step) - loss.gradient(targets, scores - step)) / 2e-6
    np.testing.assert_allclose(loss.bend(targets, scores, direction), numeric, atol=1e-5)
    if not loss.couples_outputs and targets.shape[1] > 1:
        np.testing.assert_allclose(
            loss.bend(targets, scores, np.eye(targets.shape[1])[:1]) != 0, numeric != 0
        )


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_value_is_below_the_least(loss, seed):
    rng = np.random.default_rng(seed)
    targets = targets_for(loss, rng, 200)
    gaps = loss.values(targets, 2 * rng.normal(size=targets.shape)) - loss.least(targets)
    assert np.all(gaps >= -1e-12)


@pytest.mark.parametrize("loss", [Hinge(), Quantile(0.3)], ids=repr)
def test_rounded_corners_come_near_the_corner(loss, seed):
    rng = np.random.default_rng(seed)
    targets, scores = targets_for(loss, rng, 50), rng.normal(size=(50, 1))
    gap = np.abs(loss.rounded(1e-3).values(targets, scores) - loss.values(targets, scores))
    assert gap.max() <= 5.001e-4
    assert Squared().rounded(0.1) == Squared()
