"""PacBayes and OptimalAlignment as parameter objects."""

import numpy as np
import pytest
from sklearn.base import clone

from bochner import (
    Gaussian,
    OptimalAlignment,
    PacBayes,
    alignment_losses,
    divergence_ball_weights,
    gibbs_weights,
)
from bochner.data import as_rows
from bochner.data.targets import as_target
from bochner.learners.alignment import alignment_sums
from bochner.learners.pac_bayes import BETA_GRID


@pytest.fixture
def problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3))
    return Gaussian(0.5).sample(200, 3, rng), X, X[:, 0] > 0.2


def test_pac_bayes_is_equation_19(problem):
    measure, X, y = problem
    learned = PacBayes(beta=2.0).learn(measure, X, y).measure
    losses = alignment_losses(measure, X, y)
    expected = np.exp(-2.0 * np.sqrt(150) * losses)
    np.testing.assert_allclose(learned.weights, expected / expected.sum(), rtol=1e-10)
    assert np.shares_memory(learned.frequencies, measure.frequencies)


def test_optimal_alignment_is_the_ball_of_its_losses(problem):
    measure, X, y = problem
    learned = OptimalAlignment(radius=0.5, mu=1.7).learn(measure, X, y)
    expected = divergence_ball_weights(measure.weights, -alignment_losses(measure, X, y), 0.5, 1.7)
    np.testing.assert_allclose(learned.measure.weights, expected, atol=1e-12)
    assert learned.report.n_samples == 150


def test_any_prior_weights_are_the_starting_point(problem):
    measure, X, y = problem
    rng = np.random.default_rng(0)
    weighted = type(measure)(measure.frequencies, 3 * rng.dirichlet(np.ones(len(measure))))
    losses = alignment_losses(measure, X, y)
    np.testing.assert_allclose(
        PacBayes(1.0).learn(weighted, X, y).measure.weights,
        gibbs_weights(weighted.weights, losses, 1.0, 150),
    )
    assert PacBayes(1.0).learn(weighted, X, y).measure.mass == pytest.approx(3)


@pytest.mark.parametrize(
    "learner", [PacBayes(3.0), PacBayes("bound"), OptimalAlignment(radius=0.3)]
)
def test_learning_from_sums_is_learning_from_data(learner, problem):
    measure, X, y = problem
    sums = alignment_sums(measure, as_rows(X), as_target(y, len(X)))
    from_sums = learner.learn_from_sums(measure, sums).measure
    np.testing.assert_array_equal(learner.learn(measure, X, y).measure.weights, from_sums.weights)


def test_beta_by_bound_is_the_best_of_the_grid_and_pays_for_it(problem):
    measure, X, y = problem
    learner = PacBayes("bound")
    report = learner.learn(measure, X, y).report
    assert report.n_tried == len(BETA_GRID)
    chosen = learner.bound(report).value
    for beta in BETA_GRID:
        fixed = PacBayes(beta)
        alone = fixed.bound(fixed.learn(measure, X, y).report)
        price = np.log(len(BETA_GRID)) / (beta * np.sqrt(150))
        assert chosen <= alone.value + price + 1e-12


@pytest.mark.parametrize(("beta", "n_tried"), [(2.0, 1), ("bound", 25)])
def test_the_bound_of_pac_bayes_is_theorem_3_at_its_own_t(beta, n_tried, problem):
    """Q·L̂ + (KL + t²/(8⌊n/2⌋) + ln(T/δ))/t with t = β √n and T values of β tried."""
    measure, X, y = problem
    learned = PacBayes(beta).learn(measure, X, y)
    report = learned.report
    q, p, losses = learned.measure.weights, measure.weights, alignment_losses(measure, X, y)
    t = report.tradeoff * np.sqrt(150)
    complexity = (np.sum(q * np.log(q / p)) + t**2 / (8 * 75) + np.log(n_tried / 0.05)) / t
    assert PacBayes(beta).bound(report).value == pytest.approx(q @ losses + complexity)


def test_the_bound_of_optimal_alignment_is_theorem_4_at_its_radius(problem):
    """The divergence of the weights is the radius: (ρ + 1)^{1/μ} (1/(2nδ))^{1−1/μ}."""
    measure, X, y = problem
    learner = OptimalAlignment(radius=0.5, mu=1.7)
    learned = learner.learn(measure, X, y)
    complexity = 1.5 ** (1 / 1.7) * (1 / (2 * 150 * 0.05)) ** (1 - 1 / 1.7)
    losses = alignment_losses(measure, X, y)
    assert learner.bound(learned.report).value == pytest.approx(
        learned.measure.weights @ losses + complexity
    )


def test_the_learned_kernel_is_certified_better_than_the_prior_on_enough_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2))
    y = np.sin(3 * X[:, 0]) > 0
    measure = Gaussian(2.0).sample(500, 2, rng)
    learner = PacBayes("bound")
    report = learner.learn(measure, X, y).report
    assert learner.bound(report).value < report.losses.mean()


@pytest.mark.parametrize(
    "learner",
    [
        PacBayes(-1.0),
        PacBayes("auto"),
        PacBayes(np.nan),
        OptimalAlignment(radius=-1),
        OptimalAlignment(radius=1, mu=1),
    ],
)
def test_wrong_parameters_are_refused_before_any_work(learner, problem):
    measure, X, y = problem
    with pytest.raises(ValueError, match="must be"):
        learner.learn(measure, X, y)


def test_targets_that_cannot_be_compared_are_refused(problem):
    measure, X, y = problem
    with pytest.raises(ValueError, match="requires y"):
        PacBayes().learn(measure, X, None)
    with pytest.raises(ValueError, match="inconsistent"):
        PacBayes().learn(measure, X, y[:-1])
    with pytest.raises(ValueError, match="at least 2"):
        PacBayes().learn(measure, X[:1], y[:1])
    with pytest.raises(ValueError, match="NaN"):
        PacBayes().learn(measure, X, np.full(150, np.nan))


def test_learners_are_parameter_objects():
    assert clone(OptimalAlignment(radius=2.0, mu=3.0)).get_params() == {"radius": 2.0, "mu": 3.0}
    assert repr(PacBayes(beta=0.5)) == "PacBayes(beta=0.5)"


def test_other_weights_share_the_atoms_and_are_checked(problem):
    measure, _, _ = problem
    other = measure.reweighted(np.arange(200.0))
    assert other.frequencies is measure.frequencies
    assert other.weights[7] == 7
    assert measure.weights[7] == pytest.approx(1 / 200)
    for wrong in (np.ones(3), -np.ones(200), np.full(200, np.nan)):
        with pytest.raises(ValueError):
            measure.reweighted(wrong)
