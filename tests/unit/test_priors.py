"""Priors: bandwidths from the data, closed forms at known values, and what they refuse."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from bochner import (
    Anova,
    Cauchy,
    Gaussian,
    Laplace,
    Matern,
    RationalQuadratic,
    Sinc,
    SpectralFeatures,
    SpectralMixture,
)
from bochner.priors.anova import sparse_student_quantile
from bochner.priors.base import typical_length

RNG = np.random.default_rng(0)
X = RNG.normal(3.0, 2.0, size=(200, 3))


def test_closed_forms_agree_with_scikit_learn():
    np.testing.assert_allclose(Gaussian(gamma=0.3).kernel(X), rbf_kernel(X, gamma=0.3), atol=1e-12)
    np.testing.assert_allclose(
        Laplace(gamma=0.3).kernel(X), laplacian_kernel(X, gamma=0.3), atol=1e-12
    )
    for nu in (0.5, 0.8, 1.5, 2.5, 3.7, 40.0, 60.0):
        ours, theirs = Matern(nu=nu, length_scale=1.7), gp.Matern(nu=nu, length_scale=1.7)
        np.testing.assert_allclose(ours.kernel(X), theirs(X), atol=1e-9)
    ours, theirs = (
        RationalQuadratic(alpha=0.6, length_scale=1.7),
        gp.RationalQuadratic(alpha=0.6, length_scale=1.7),
    )
    np.testing.assert_allclose(ours.kernel(X), theirs(X), atol=1e-12)


def test_matern_tends_to_the_gaussian_and_is_one_at_zero():
    exact = Gaussian(gamma=0.5).kernel(X)
    errors = [np.abs(Matern(nu=nu).kernel(X) - exact).max() for nu in (1e2, 1e3, 1e4)]
    np.testing.assert_allclose(
        np.divide(errors[:-1], errors[1:]), 10, rtol=0.1
    )  # the difference is of order 1/nu
    assert np.all(Matern(nu=0.9).kernel(X[:1], X[:1] + 1e-300) == 1)


def test_ard_is_a_rescaling_of_the_columns():
    lengths = np.array([0.5, 1.0, 3.0])
    np.testing.assert_allclose(
        Matern(length_scale=lengths).kernel(X), Matern().kernel(X / lengths), atol=1e-12
    )
    np.testing.assert_allclose(
        Gaussian(gamma=lengths).kernel(X), Gaussian().kernel(X * np.sqrt(lengths)), atol=1e-12
    )
    np.testing.assert_allclose(
        Cauchy(scale=lengths).kernel(X), Cauchy().kernel(X / lengths), atol=1e-12
    )


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_scale_is_scikit_learns_gamma_scale(storage):
    resolved = Gaussian(gamma="scale").resolved(storage(X))
    assert resolved.gamma == pytest.approx(1 / (3 * X.var()), rel=1e-5)


def test_scale_survives_a_large_offset():
    assert typical_length(X + 1e8, "scale") == pytest.approx(typical_length(X, "scale"), rel=1e-6)


@pytest.mark.parametrize("rule", ["scale", "median"])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**1000])
def test_lengths_of_tiny_and_huge_numbers_neither_underflow_nor_overflow(rule, metric, unit):
    assert typical_length(X * unit, rule, metric) == unit * typical_length(X, rule, metric)
    assert typical_length(1e-310 * X, rule, metric) == pytest.approx(
        1e-310 * typical_length(X, rule, metric), rel=1e-5
    )


@pytest.mark.parametrize("unit", [1e-310, 1e-160, 1e200])
def test_a_bandwidth_beyond_float64_is_refused(unit):
    assert Matern(length_scale="scale").resolved(unit * X).length_scale > 0
    with pytest.raises(ValueError, match=r"gamma='scale' would be .* apart\. Scale the columns"):
        Gaussian(gamma="scale").resolved(unit * X)


def test_median_is_the_median_distance():
    assert Matern(length_scale="median").resolved(X).length_scale == pytest.approx(
        np.median(pdist(X))
    )
    assert Gaussian(gamma="median").resolved(X).gamma == pytest.approx(
        0.5 / np.median(pdist(X)) ** 2
    )
    assert Laplace(gamma="median").resolved(X).gamma == pytest.approx(
        1 / np.median(pdist(X, "cityblock"))
    )


@pytest.mark.parametrize("rule", ["scale", "median"])
@pytest.mark.parametrize("prior", [Gaussian, Cauchy, Sinc, Matern, RationalQuadratic])
def test_bandwidth_rules_give_kernels_of_equal_curvature(prior, rule):
    """1 − k(δ) is ‖δ‖² / (2 length²) to second order, whatever the prior (Matérn 3/2 bends 3 times
    as much).
    """
    resolved = prior(**{prior._bandwidth: rule}).resolved(X)
    step = 1e-3 * np.eye(1, 3)
    curvature = 2 * (1 - resolved.kernel(np.zeros((1, 3)), step)[0, 0]) / 1e-6
    expected = 1 / typical_length(X, rule) ** 2
    assert curvature == pytest.approx(expected * (3 if prior is Matern else 1), rel=2e-2)


LENGTHS = [2.0, np.array([0.5, 1.0, 3.0])]


@pytest.mark.parametrize("length", LENGTHS, ids=["one length", "one per column"])
def test_gaussian_by_length_scale_is_gaussian_by_gamma(length):
    by_length, by_gamma = Gaussian(length_scale=length), Gaussian(gamma=1 / (2 * np.square(length)))
    np.testing.assert_allclose(by_length.kernel(X), by_gamma.kernel(X), atol=1e-14)
    one, two = (
        prior.sample(9, 3, np.random.default_rng(0)).frequencies for prior in (by_length, by_gamma)
    )
    np.testing.assert_allclose(one, two, rtol=1e-12)
    np.testing.assert_allclose(by_length.compiled(3).gram(X), by_gamma.kernel(X), atol=1e-12)


def test_gaussian_at_one_length_is_exp_minus_one_half():
    assert Gaussian(length_scale=3.0).kernel([[0.0]], [[3.0]])[0, 0] == pytest.approx(
        0.6065306597126334, rel=1e-14
    )


@pytest.mark.parametrize("rule", ["scale", "median"])
def test_gaussian_length_scale_takes_the_rules_of_gamma(rule):
    by_length, by_gamma = Gaussian(length_scale=rule).resolved(X), Gaussian(gamma=rule).resolved(X)
    assert by_length.length_scale == pytest.approx(typical_length(X, rule))
    np.testing.assert_allclose(by_length.kernel(X), by_gamma.kernel(X), atol=1e-12)


def test_gaussian_takes_gamma_or_length_scale_but_not_both():
    for prior in (Gaussian(gamma=0.5, length_scale=1.0), Gaussian("scale", length_scale=1.0)):
        for call in (lambda p: p.kernel(X), lambda p: p.sample(3, 3, RNG), lambda p: p.resolved(X)):
            with pytest.raises(
                ValueError, match=r"got both gamma=.* and length_scale=1.0; give one of them"
            ):
                call(prior)
    assert Gaussian(gamma=None, length_scale=1.0).kernel(X).shape == (200, 200)


def test_setting_one_parameter_of_gaussian_replaces_the_other():
    prior = clone(Gaussian(gamma="scale")).set_params(length_scale=2.0)
    assert repr(prior) == "Gaussian(length_scale=2.0)"
    assert (
        repr(clone(prior))
        == repr(prior)
        == repr(prior.set_params(gamma=1.0).set_params(length_scale=2.0))
    )
    assert repr(prior.set_params(gamma=0.3)) == "Gaussian(gamma=0.3)"
    assert prior.set_params(length_scale=None).gamma == 0.3


def test_a_grid_may_search_over_length_scales():
    rows, y = X[:40], X[:40, 0] > 3
    model = make_pipeline(SpectralFeatures(n_components=5, random_state=0), LogisticRegression())
    grid = {"spectralfeatures__prior__length_scale": [0.5, 5.0]}
    found = GridSearchCV(model, grid, cv=2).fit(rows, y)
    prior = found.best_estimator_[0].prior_
    assert prior.length_scale == found.best_params_["spectralfeatures__prior__length_scale"]
    assert len(set(found.cv_results_["mean_test_score"])) == 2


def test_resolving_numbers_changes_nothing():
    prior = Gaussian(gamma=0.3)
    assert prior.resolved(X) is prior
    mixture = SpectralMixture([1.0], [[0.0, 0, 0]], [1.0])
    assert mixture.resolved(X) is mixture


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Gaussian(gamma=-1).kernel(X), "gamma must be positive and finite"),
        (lambda: Gaussian(gamma=np.inf).kernel(X), "gamma must be positive and finite"),
        (lambda: Gaussian(gamma=[1, 2]).kernel(X), "the data has 3 features"),
        (lambda: Gaussian(gamma="scale").kernel(X), "computed from data"),
        (lambda: Gaussian(gamma="auto").resolved(X), "must be one of 'scale', 'median'"),
        (lambda: Gaussian(gamma="scale").resolved(np.ones((5, 3))), "points that differ"),
        (lambda: Gaussian(gamma="median").resolved(np.ones((5, 3))), "points that differ"),
        (lambda: Matern(nu=0).kernel(X), "nu must be positive"),
        (lambda: RationalQuadratic(alpha=-2).kernel(X), "alpha must be positive"),
        (lambda: Anova(nu=2.0).kernel(X), "nu = 0.5, 1.5 and 2.5"),
        (lambda: Anova(weight=-1.0).kernel(X), "weight must be positive and finite"),
        (lambda: Anova(weight="scale").kernel(X), "weight must be a number"),
        (lambda: Anova(weight=[1.0, 0.0]).kernel(X), "the data has 3 features"),
        (lambda: Anova().sample(3, 3, RNG, "orthogonal"), "Anova cannot be sampled"),
        (lambda: Sinc(bandwidth=0).kernel(X), "bandwidth must be positive"),
        (lambda: SpectralMixture([-1.0], [[0.0, 0, 0]], [1.0]).kernel(X), "non-negative numbers"),
        (lambda: SpectralMixture([1.0], [[0.0, 0]], [1.0]).kernel(X), r"need \(1, 3\)"),
        (
            lambda: SpectralMixture([1.0], [[0.0, 0, 0]], [-1.0]).kernel(X),
            "scales must be non-negative",
        ),
        (lambda: Gaussian().kernel(X[0]), "two-dimensional"),
        (lambda: Gaussian().sample(0, 3, RNG), "n_atoms must be at least 1"),
        (lambda: Gaussian().sample(3, 3, RNG, "sobol"), "sampling must be one of"),
        (lambda: Laplace().sample(3, 3, RNG, "orthogonal"), "Laplace cannot be sampled"),
        (lambda: Laplace().sample(3, 30_000, RNG, "qmc"), "only 21201"),
    ],
)
def test_bad_parameters_say_what_is_needed(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_wrong_types_say_what_is_needed():
    with pytest.raises(TypeError, match="Generator"):
        Gaussian().sample(3, 3, 0.5)
    with pytest.raises(TypeError, match="number"):
        Gaussian(gamma=None).kernel(X)
    with pytest.raises(TypeError, match="integer"):
        Gaussian().sample(3.5, 3, RNG)


def test_anova_is_a_sum_over_sets_of_columns():
    """Π (1 + w_j κ_j) / (1 + w_j) is Σ over sets of columns of Π w_j κ_j, with total weight Π (1 +
    w_j).
    """
    weights, points = np.array([0.5, 2.0, 0.1]), X[:20]
    total = np.zeros((20, 20))
    for mask in range(8):
        columns = [j for j in range(3) if mask >> j & 1]
        parts = [weights[j] * Matern(nu=1.5).kernel(points[:, [j]]) for j in columns]
        total += np.prod([np.ones((20, 20)), *parts], axis=0)
    np.testing.assert_allclose(
        Anova(weight=weights).kernel(points), total / np.prod(1 + weights), rtol=1e-12
    )


def test_anova_frequencies_turn_the_share_of_columns_that_the_weights_say(seed):
    weights = np.array([0.0, 0.05, 1.0, 20.0])
    frequencies = Anova(weight=weights).sample(20_000, 4, np.random.default_rng(seed)).frequencies
    shares = weights / (1 + weights)
    error = np.sqrt(shares * (1 - shares) / 20_000)
    assert np.all(np.abs((frequencies != 0).mean(axis=0) - shares) <= 5 * error)


def test_anova_quantile_is_the_inverse_of_the_distribution_function():
    shares, uniform = (
        np.array([[0.3, 1.0, 1e-9]]),
        np.linspace(0.0005, 0.9995, 1999)[:, None] * np.ones(3),
    )
    for degrees in (1, 3, 5):
        values = sparse_student_quantile(uniform, shares, degrees)
        assert np.all(np.diff(values, axis=0) >= 0)
        np.testing.assert_allclose(values, -values[::-1], atol=1e-9)
        below = shares * student.cdf(values, degrees) + (1 - shares) * (values > 0)
        moved = values != 0
        np.testing.assert_allclose(below[moved], uniform[moved], rtol=1e-9)
        assert np.mean(values[:, 0] == 0) == pytest.approx(0.7, abs=1e-3)


@pytest.mark.parametrize("rule", ["scale", "median"])
@pytest.mark.parametrize("weight", [0.3, [0.1, 1.0, 4.0]])
def test_anova_bandwidth_rules_keep_the_mean_curvature(rule, weight):
    resolved = Anova(nu=2.5, length_scale=rule, weight=weight).resolved(X)
    assert isinstance(resolved.length_scale, float)
    steps = 1e-3 * np.eye(3)
    curvature = 2 * (1 - resolved.kernel(np.zeros((1, 3)), steps)[0]).mean() / 1e-6
    # The factor is that of Matérn 5/2 in one column, 5/3: it bends more than the Gaussian of its
    # length.
    assert curvature == pytest.approx(5 / 3 / typical_length(X, rule) ** 2, rel=1e-2)
    assert Anova(length_scale="scale", weight=0.0).resolved(X).length_scale == pytest.approx(
        typical_length(X, "scale")
    )


def test_the_gram_matrix_of_a_mixture_needs_memory_for_pairs_of_rows_only():
    rows = np.random.default_rng(0).normal(size=(300, 200))
    prior = SpectralMixture(weights=[1.0, 1.0], means=np.zeros((2, 200)), scales=[0.1, 0.2])
    tracemalloc.start()
    prior.kernel(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * 8 * 300**2  # differences of all pairs would need 200 matrices
