"""Evidence that starts from a learned prior of the same family or of another one."""

import numpy as np
import pytest

import bochner.learners.evidence as evidence_module
from bochner import Anova, Evidence, Gaussian, Laplace, Matern
from bochner.data.targets import Labels
from bochner.learners.evidence import LearnedPrior

LATER = [
    Laplace(),
    *(pytest.param(prior, marks=pytest.mark.long) for prior in (Gaussian(), Anova())),
]
FAMILIES = [Laplace(), Gaussian(), Matern(nu=0.5), Matern(nu=2.5), Anova(nu=1.5)]


def problem(n=90, d=3, seed=0):
    """The second column varies ten times as much as the others, the third one does not count."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.array([1.0, 10.0, 1.0])
    return X, np.sin(2 * X[:, 0]) + 0.05 * X[:, 1] + 0.1 * rng.normal(size=n)


def evidence(n_iterations, **settings):
    return Evidence(n_iterations=n_iterations, **settings)


def falls(prior, scales):
    """1 − k(0, s_j e_j) for every column."""
    return 1 - prior.kernel(np.diag(scales), np.zeros((1, len(scales))))[:, 0]


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("prior", [Anova(), *FAMILIES], ids=repr)
def test_no_iteration_from_the_same_family_returns_the_same_prior(prior, standardize):
    X, y = problem()
    first = evidence(5, standardize=standardize).learn(prior, X, y, 0)
    same = evidence(0, standardize=standardize).learn(prior, X, y, 0, start=first)
    np.testing.assert_array_equal(same.theta, first.theta)
    assert repr(same.prior) == repr(first.prior)
    assert same.noise == first.noise
    np.testing.assert_array_equal(same.linear, first.linear)
    assert same.objective == pytest.approx(first.objective, abs=1e-9)
    assert same.n_iterations == 0
    further = evidence(3, standardize=standardize).learn(prior, X, y, 0, start=first)
    assert further.objective < first.objective
    assert further.n_iterations == 3


def test_theta_holds_the_logarithms_of_the_result():
    X, y = problem()
    learned = evidence(5, standardize=False).learn(Anova(), X, y, 0)
    np.testing.assert_allclose(np.exp(-learned.theta[:3]), learned.prior.length_scale)
    np.testing.assert_allclose(np.exp(learned.theta[3:6]), learned.prior.weight)
    np.testing.assert_allclose(np.exp(learned.theta[6]), learned.linear)
    assert np.exp(learned.theta[7]) == pytest.approx(learned.noise)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("prior", FAMILIES[:4], ids=repr)
def test_kernels_of_another_family_fall_as_much_over_a_distance_of_one(
    prior, standardize, monkeypatch
):
    monkeypatch.setattr(evidence_module, "_COMMON_FACTORS", (0.0,))
    X, y = problem()
    start = evidence(5, standardize=standardize).learn(Anova(), X, y, 0)
    other = evidence(0, standardize=standardize).learn(prior, X, y, 0, start=start)
    scales = X.std(axis=0) if standardize else np.ones(3)
    expected = falls(start.prior, scales)
    reachable = expected > 1e-4  # a rate has bounds
    assert reachable[0]
    np.testing.assert_allclose(
        falls(other.prior, scales)[reachable], expected[reachable], rtol=0.01
    )
    assert other.noise == pytest.approx(start.noise)
    np.testing.assert_allclose(other.linear, start.linear)


def test_the_common_factor_of_another_family_is_the_best_of_four(monkeypatch):
    X, y = problem()
    start, objectives = evidence(5).learn(Anova(), X, y, 0), []
    best = evidence(0).learn(Gaussian(), X, y, 0, start=start)
    factors = evidence_module._COMMON_FACTORS
    assert factors == (0.0, -1.5, -0.75, 0.75)
    for factor in factors:
        monkeypatch.setattr(evidence_module, "_COMMON_FACTORS", (factor,))
        one = evidence(0).learn(Gaussian(), X, y, 0, start=start)
        objectives.append(one.objective)
        if factor == 0.0:
            plain = one
        else:
            np.testing.assert_allclose(one.theta[:3] - plain.theta[:3], factor, atol=1e-9)
            np.testing.assert_array_equal(one.theta[3:], plain.theta[3:])
    assert best.objective == min(objectives) < max(objectives)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("prior", LATER, ids=repr)
def test_many_iterations_end_where_plain_learning_ends(prior, labels):
    X, y = problem()
    y = Labels.of(y > 0) if labels else y
    plain = evidence(150, tol=0.0).learn(prior, X, y, 0)
    for other in (Anova(), Laplace()):
        start = evidence(8).learn(other, X, y, 0)
        warm = evidence(150, tol=0.0).learn(prior, X, y, 0, start=start)
        assert warm.objective == pytest.approx(plain.objective, abs=5e-3)
        few, cold = (evidence(4).learn(prior, X, y, 0, start=one) for one in (start, None))
        assert few.objective < cold.objective


@pytest.mark.parametrize("prior", [Laplace(), Gaussian()], ids=repr)
def test_a_start_stays_within_the_bounds(prior):
    """Labels have more noise than values."""
    X, y = problem()
    values = evidence(15).learn(Laplace(), X, X[:, 0], 0)
    assert values.noise < 0.05
    labels = evidence(0).learn(prior, X, Labels.of(y > 0), 0, start=values)
    assert labels.noise == pytest.approx(0.1)


def test_many_rows_choose_the_start_from_some_of_them_and_refine():
    X, y = problem(300)
    settings = {"n_rows": 60, "n_refining_rows": 300, "n_refinements": 2}
    start = evidence(5, **settings).learn(Anova(), X, y, 0)
    warm = evidence(3, **settings).learn(Gaussian(), X, y, 0, start=start)
    assert 3 <= warm.n_iterations <= 5
    none = evidence(0, **settings | {"n_refinements": 0}).learn(Anova(), X, y, 0, start=start)
    np.testing.assert_array_equal(none.theta, start.theta)


@pytest.mark.parametrize(
    "start", [Anova(), {"rate": 1.0}, LearnedPrior(Anova(), 1.0, np.ones(3), 0.0, 0)], ids=repr
)
def test_a_start_that_was_not_learned_is_refused(start):
    X, y = problem()
    with pytest.raises(TypeError, match=r"start must be a result of Evidence\.learn.*Write e\.g\."):
        Evidence().learn(Anova(), X, y, 0, start=start)


def test_a_start_of_other_columns_is_refused():
    X, y = problem()
    start = evidence(1).learn(Anova(), X[:, :2], y, 0)
    for prior in (Anova(), Laplace()):
        with pytest.raises(ValueError, match="start was learned on 2 columns, and X has 3"):
            Evidence().learn(prior, X, y, 0, start=start)
