"""Blends and links against brute force and by their invariants."""

from dataclasses import replace

import numpy as np
import pytest
from export_samples import assert_close, both_dtypes, graph_of, run
from scipy.optimize import minimize
from scipy.special import softmax

from bochner import Gaussian, KernelExpansion
from bochner.export.tables import mixed
from bochner.tabular import blending
from bochner.tabular.blending import (
    Mixture,
    ProbabilityLink,
    blend_weights,
    class_scores,
    mixture_weights,
    used_members,
)


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


# --- mixtures of probabilities --------------------------------------------------------------------


def log_probabilities(seed=0, n=60, n_members=3):
    """Log-probabilities of the true classes for members of different quality, and weights."""
    rng = np.random.default_rng(seed)
    quality = np.arange(n_members)[:, None] / 3
    logs = np.log(rng.beta(3 - quality, 1 + quality, size=(n_members, n)))
    return logs, rng.integers(0, 4, size=n).astype(float)


def mixture_loss(w, logs, counts):
    """The objective in the docstring of ``mixture_weights``."""
    n_members = len(logs)
    best = np.min(-logs @ counts) / counts.sum()
    penalty = 50 * best * n_members / 2 * np.sum((w - 1 / n_members) ** 2)
    return -counts @ np.log(w @ np.exp(logs)) + penalty


@pytest.mark.parametrize("n_members", [2, 3])
def test_mixture_weights_are_the_best_of_a_grid(n_members, seed):
    logs, counts = log_probabilities(seed, n_members=n_members)
    found = mixture_weights(logs, counts)
    steps = np.linspace(0, 1, 101)
    grid = np.stack(np.meshgrid(*[steps] * (n_members - 1)), axis=-1).reshape(-1, n_members - 1)
    grid = np.column_stack([grid, 1 - grid.sum(axis=1)])
    grid = grid[grid[:, -1] >= -1e-12]
    losses = [mixture_loss(w, logs, counts) for w in np.maximum(grid, 0)]
    np.testing.assert_allclose(found, grid[np.argmin(losses)], atol=0.011)
    assert mixture_loss(found, logs, counts) < min(losses) + 1e-6


def test_mixture_weights_are_those_without_constraints(seed):
    """Of weights softmax(θ)."""
    logs, counts = log_probabilities(seed, n_members=4)
    best = minimize(lambda theta: mixture_loss(softmax(theta), logs, counts), np.zeros(4), tol=1e-9)
    found = mixture_weights(logs, counts)
    np.testing.assert_allclose(found, softmax(best.x), atol=2e-3)
    assert mixture_loss(found, logs, counts) < best.fun + 1e-6


def test_mixture_weights_count_weights_as_repeated_rows(seed):
    logs, counts = log_probabilities(seed)
    repeated = np.repeat(np.arange(60), counts.astype(int))
    expected = mixture_weights(logs[:, repeated], np.ones(len(repeated)))
    np.testing.assert_allclose(mixture_weights(logs, counts), expected, atol=1e-5)


def test_the_penalty_of_a_mixture_is_that_of_fifty_rows_of_its_best_member():
    """n rows of weight one: n (p₁ − p₂) / (¾ p₁ + ¼ p₂) = 4 · 50 log 1.25 (¾ − ½)."""
    logs = np.log([[0.8] * 20, [0.4] * 20])
    counts = np.full(20, 87.5 * np.log(1.25) / 20)
    np.testing.assert_allclose(mixture_weights(logs, counts), [0.75, 0.25], atol=1e-4)


def test_a_useless_member_has_no_weight_and_equal_members_have_equal_weights():
    logs, counts = log_probabilities(n=400)
    useless = np.full((1, 400), np.log(1e-3))
    weights = used_members(mixture_weights(np.vstack([logs, useless]), counts))
    assert weights[-1] == 0
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(mixture_weights(logs[[0, 0, 0]], counts), np.full(3, 1 / 3))
    np.testing.assert_array_equal(mixture_weights(logs[:1], counts), [1.0])


def test_members_that_are_certain_and_wrong_do_not_break_the_weights():
    logs = np.full((2, 300), -0.1)
    logs[0, :3] = -2000.0  # zero as a number
    logs[:, 3] = -2000.0
    weights = mixture_weights(logs, np.ones(300))
    assert weights[1] > weights[0] > 0


def test_used_members_have_weights_of_a_thousandth_at_least():
    np.testing.assert_allclose(used_members(np.array([0.5, 9e-4, 0.4991])), [0.50045, 0, 0.49955],
                               atol=1e-5)  # fmt: skip
    np.testing.assert_array_equal(used_members(np.array([0.998, 2e-3, 0])), [0.998, 2e-3, 0])


def sums_of_kernels(n_outputs, seed):
    rng = np.random.default_rng(seed)
    slopes, intercept = np.zeros((3, n_outputs)), np.full(n_outputs, 0.4)
    return KernelExpansion(
        Gaussian(0.3), rng.normal(size=(20, 3)), 0.1 * rng.normal(size=(20, n_outputs)), slopes,
        intercept,
    )  # fmt: skip


def mixture(n_classes, n_members=3):
    rng = np.random.default_rng(n_classes)
    n_outputs = 1 if n_classes == 2 else n_classes
    links = [
        ProbabilityLink(float(slope), rng.normal(size=n_classes), 0.02)
        for slope in rng.uniform(1, 3, size=n_members)
    ]
    members = [sums_of_kernels(n_outputs, seed) for seed in range(n_members)]
    return Mixture(tuple(members), (0.5, 0.3, 0.2), tuple(links))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_mixture_is_the_weighted_sum_of_linked_probabilities(n_classes):
    blend, Z = mixture(n_classes), np.random.default_rng(0).normal(size=(8, 3))
    expected, scores = np.zeros((8, n_classes)), np.zeros((8, n_classes))
    for weight, member, link in zip(blend.weights, blend.members, blend.links):
        own = member.evaluate(Z)
        own = np.column_stack([1 - own[:, 0], own[:, 0]]) if n_classes == 2 else own
        powers = np.maximum(own, 0.02) ** link.slope * np.exp(link.shifts)
        expected += weight * powers / powers.sum(axis=1, keepdims=True)
        scores += weight * own
    np.testing.assert_allclose(blend.probabilities(Z), expected, rtol=1e-12)
    np.testing.assert_allclose(blend.log_probabilities(Z), np.log(expected), atol=1e-12)
    np.testing.assert_allclose(class_scores(blend.evaluate(Z)), scores, atol=1e-12)


def test_logarithms_of_a_mixture_are_finite_if_probabilities_round_to_zero():
    steep = [ProbabilityLink(400.0, np.zeros(2), 1e-3)] * 3
    blend = replace(mixture(2), links=tuple(steep))
    blend = replace(blend, members=tuple(replace(m, intercept=[2.0]) for m in blend.members))
    Z = np.zeros((2, 3))
    logs = blend.log_probabilities(Z)
    assert blend.probabilities(Z)[0, 0] == 0
    assert np.all(np.isfinite(logs))
    np.testing.assert_allclose(logs[0, 0], -400 * np.log(blend.members[0].evaluate(Z)[0, 0] / 1e-3),
                               rtol=0.1)  # fmt: skip


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_derivatives_of_a_mixture_are_differences(n_classes):
    blend, Z = mixture(n_classes), np.random.default_rng(1).normal(size=(8, 3))
    slopes, step = blend.probability_jacobian(Z), 1e-6
    assert slopes.shape == (8, n_classes, 3)
    np.testing.assert_allclose(slopes.sum(axis=1), 0, atol=1e-12)
    for j, e in enumerate(step * np.eye(3)):
        ends = blend.probabilities(Z + e), blend.probabilities(Z - e)
        np.testing.assert_allclose(slopes[:, :, j], (ends[0] - ends[1]) / (2 * step), atol=1e-8)


@both_dtypes
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_graph_of_a_mixture_has_its_probabilities(n_classes, dtype):
    blend, Z = mixture(n_classes), np.random.default_rng(2).normal(size=(8, 3)).astype(dtype)
    (found,) = run(graph_of(lambda rows: mixed(blend, rows), 3, dtype), Z, dtype).values()
    assert_close(found, blend.probabilities(Z.astype(np.float64)), dtype)


def test_logarithms_and_derivatives_of_a_link_are_those_of_its_probabilities():
    link = ProbabilityLink(1.7, np.array([0.1, -0.3, 0.2]), 0.05)
    scores = np.array([[0.2, 0.7, 0.1], [0.01, 0.5, 0.6], [-0.2, 0.3, 0.9]])
    np.testing.assert_allclose(link.log_probabilities(scores), np.log(link.probabilities(scores)))
    for k, e in enumerate(1e-6 * np.eye(3)):
        ends = link.probabilities(scores + e), link.probabilities(scores - e)
        numeric = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(link.jacobian(scores)[:, :, k], numeric, atol=1e-8)
    steep = ProbabilityLink(500.0, np.zeros(2), 1e-3)
    np.testing.assert_allclose(
        steep.log_probabilities(np.array([[0.0, 1.0]])), [[500 * np.log(1e-3), 0.0]]
    )
