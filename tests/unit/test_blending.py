"""Blends and links against brute force and by their invariants."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bochner.tabular import blending
from bochner.tabular.blending import ProbabilityLink, blend_weights


def problem(seed, n=80):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(n, 2))
    return rng, y, np.stack([y + rng.normal(size=y.shape) * size for size in (0.5, 0.7, 2.0)])


def test_weights_minimize_the_printed_objective(seed):
    rng, y, held = problem(seed)
    counts = rng.integers(0, 4, size=len(y)).astype(float)
    mean = np.average(y, axis=0, weights=counts)
    rho = 100 * min(np.average(np.mean((s - y) ** 2, axis=1), weights=counts) for s in held)

    def objective(w):
        left = y - mean - np.tensordot(w, held - mean, 1)
        return counts @ np.sum(left**2, axis=1) + rho * np.sum((w - 1 / 3) ** 2)

    best = minimize(objective, np.full(3, 1 / 3), bounds=[(0, None)] * 3, tol=1e-14).x
    found = blend_weights(held, y, counts)
    np.testing.assert_allclose(found, best / best.sum(), atol=1e-4)
    assert found.sum() == pytest.approx(1)
    assert found[0] > found[1] > found[2]
    repeated = np.repeat(np.arange(len(y)), counts.astype(int))
    np.testing.assert_allclose(found, blend_weights(held[:, repeated], y[repeated]), atol=1e-10)


def test_members_that_cannot_be_told_apart_get_equal_weights():
    _, y, held = problem(0)
    np.testing.assert_allclose(
        blend_weights(np.stack([held[0], held[0]]), y), [0.5, 0.5], atol=1e-8
    )
    np.testing.assert_allclose(blend_weights(held[:1], y), [1.0])
    np.testing.assert_allclose(blend_weights(np.zeros((2, 80, 2)), np.zeros((80, 2))), [0.5, 0.5])


def test_few_rows_keep_weights_nearer_to_equal():
    _, y, held = problem(1, n=2000)
    few = blend_weights(held[:2, :10], y[:10])
    many = blend_weights(held[:2], y)
    assert abs(few[0] - 0.5) < abs(many[0] - 0.5)


def doubted(codes, probabilities):
    """Log-loss where two of all rows are of any class."""
    doubt = 2 / (len(codes) + 2)
    logs = np.log(probabilities)
    return -np.mean((1 - doubt) * logs[np.arange(len(codes)), codes] + doubt * logs.mean(axis=1))


def test_rows_that_are_all_told_apart_are_no_proof_of_certainty():
    codes = np.arange(100) % 2
    link = ProbabilityLink.of(np.eye(2)[codes], codes)
    assert link.probabilities(np.array([[0.0, 1.0]]))[0, 0] == pytest.approx(1 / 102, rel=1e-3)


def test_link_has_the_smallest_log_loss_nearby(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=400)
    scores = 0.5 * np.eye(3)[codes] + 0.2 * rng.normal(size=(400, 3)) + [0.1, 0.2, 0.3]
    link = ProbabilityLink.of(scores, codes)
    best = doubted(codes, link.probabilities(scores)) + link.shifts @ link.shifts / 800
    for slope in (0.95, 1.05):
        other = ProbabilityLink(link.slope * slope, link.shifts, link.floor)
        assert doubted(codes, other.probabilities(scores)) + link.shifts @ link.shifts / 800 > best
    for k in range(3):
        moved = link.shifts + 0.1 * np.eye(3)[k]
        value = (
            doubted(codes, ProbabilityLink(link.slope, moved, link.floor).probabilities(scores))
            + moved @ moved / 800
        )
        assert value > best
    np.testing.assert_allclose(link.probabilities(scores).sum(axis=1), 1)


def test_link_counts_weights_like_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=100)
    scores = np.eye(2)[codes] * 0.4 + 0.3 * rng.random((100, 2))
    counts = rng.integers(0, 3, size=100)
    repeated = np.repeat(np.arange(100), counts)
    weighted = ProbabilityLink.of(scores, codes, counts.astype(float))
    longer = ProbabilityLink.of(scores[repeated], codes[repeated])
    assert weighted.slope == pytest.approx(longer.slope, rel=1e-4)
    np.testing.assert_allclose(weighted.shifts, longer.shifts, atol=1e-4)


def test_negative_scores_and_scores_above_one_give_probabilities():
    link = ProbabilityLink(1.0, np.zeros(2), 0.02)
    np.testing.assert_allclose(
        link.probabilities(np.array([[-0.5, 1.5]])), [[0.02 / 1.52, 1.5 / 1.52]]
    )


@pytest.mark.parametrize("noise", [0.02, 0.4])
def test_the_floor_is_the_one_of_least_log_loss(noise, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, size=300)
    scores = np.eye(3)[codes] + noise * rng.normal(size=(300, 3))
    link = ProbabilityLink.of(scores, codes)
    best = doubted(codes, link.probabilities(scores)) + link.shifts @ link.shifts / 600
    for floor in blending._FLOORS:
        monkeypatch.setattr(blending, "_FLOORS", (floor,))
        other = ProbabilityLink.of(scores, codes)
        assert (
            doubted(codes, other.probabilities(scores)) + other.shifts @ other.shifts / 600
            > best - 1e-4
        )
        monkeypatch.undo()
