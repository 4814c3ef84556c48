"""The Gaussian pseudo-posterior: its loss, divergence and slopes against slow formulas, its optimum,
and the bounds that it certifies.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from bochner import (
    Evidence,
    Gaussian,
    HarmonicMeasure,
    KernelMachine,
    Laplace,
    PacBayes,
    SpectralFeatures,
    SpectralMixture,
    TargetSimilarity,
)
from bochner.data import as_rows
from bochner.data.targets import as_target
from bochner.learners import PacBayesGaussian, pac_bayes_gaussian
from bochner.learners.pac_bayes_gaussian import Pairs, gaussian_divergence, sign_information
from bochner.priors import WithMetric


def problem(d, seed, n=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0] + X[:, -1]) > 0, rng


def posterior(rng, d, covariance):
    """Return a mean and a factor of a covariance."""
    scales = rng.uniform(0.3, 1.5, size=d)
    if covariance == "diagonal":
        return rng.normal(size=d), scales
    return rng.normal(size=d), np.diag(scales) + np.tril(rng.normal(size=(d, d)), -1) / 2


def pairs_of(X, y, weights=None, sizes=1.0):
    rows = as_rows(X)
    return Pairs.of(rows, as_target(y, len(rows)), weights, sizes, np.random.default_rng(0))


def loss_pair_by_pair(X, similarity, mean, covariance):
    """The definition, pair by pair."""
    total, n = 0.0, len(X)
    for i in range(n):
        for j in range(n):
            if i != j:
                delta = X[i] - X[j]
                kernel = np.exp(-delta @ covariance @ delta / 2) * np.cos(mean @ delta)
                total += (1 - similarity[i, j] * kernel) / 2
    return total / (n * (n - 1))


TARGETS = {
    "two classes": lambda X: X[:, 0] > 0.2,
    "three classes": lambda X: np.digitize(X[:, 0], [-0.5, 0.5]),
    "values": lambda X: np.cos(X[:, 0]) + X[:, -1],
}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_the_loss_is_the_mean_over_pairs_in_any_blocks(covariance, kind, seed, monkeypatch):
    X, _, rng = problem(3, seed, n=25)
    y = TARGETS[kind](X)
    mean, factor = posterior(rng, 3, covariance)
    sizes = np.array([0.5, 1.0, 2.0])
    scaled = sizes[:, None] * (np.diag(factor) if factor.ndim == 1 else factor)
    similarity = as_target(y, len(X)).similarity().gram()
    expected = loss_pair_by_pair(X, similarity, mean * sizes, scaled @ scaled.T)
    for block_rows in (512, 7):
        monkeypatch.setattr(pac_bayes_gaussian, "_BLOCK_ROWS", block_rows)
        found = pairs_of(X + 100, y, sizes=sizes).loss_and_slopes(mean, factor)[0]
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("d", [1, 4])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_slopes_are_those_of_the_loss_and_weights_are_repetitions(covariance, d, seed):
    X, y, rng = problem(d, seed, n=30)
    mean, factor = posterior(rng, d, covariance)
    counts = rng.integers(3, size=len(X)).astype(float)
    repeated = np.repeat(np.arange(len(X)), counts.astype(int))
    plain, weighted = pairs_of(X[repeated], y[repeated]), pairs_of(X, y, counts)
    one, other = (pairs.loss_and_slopes(mean, factor) for pairs in (plain, weighted))
    for own, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(own, theirs, rtol=1e-8, atol=1e-10)
    step = 1e-5
    for k in range(d):
        shift = step * np.eye(d)[k]
        values = [plain.loss_and_slopes(mean + s * shift, factor, False)[0] for s in (1, -1)]
        assert one[1][k] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-7)
    for index in zip(*np.nonzero(factor), strict=True):
        shift = np.zeros(factor.shape)
        shift[index] = step
        values = [plain.loss_and_slopes(mean, factor + s * shift, False)[0] for s in (1, -1)]
        assert one[2][index] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-7)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_the_divergence_is_the_mean_of_the_log_ratio(covariance, seed):
    rng = np.random.default_rng(seed)
    mean, factor = posterior(rng, 3, covariance)
    matrix = np.diag(factor) if factor.ndim == 1 else factor
    drawn = mean + rng.normal(size=(50_000, 3)) @ matrix.T
    ratios = multivariate_normal(mean, matrix @ matrix.T).logpdf(drawn)
    ratios -= multivariate_normal(np.zeros(3), np.eye(3)).logpdf(drawn)
    z = (ratios.mean() - gaussian_divergence(mean, factor)) / (ratios.std() / np.sqrt(50_000))
    assert abs(z) < 5
    # ½ (1/4 + 1 + 9 − 2) − ln ½
    found = gaussian_divergence(np.array([3.0, 0.0]), np.array([0.5, 1.0]))
    assert found == pytest.approx(4.125 + np.log(2), rel=1e-12)


@pytest.mark.parametrize(("mean", "size"), [(0.3, 0.8), (1.0, 0.2), (2.0, 1.5)])
def test_the_even_distribution_is_closer_to_the_prior(mean, size):
    def density(x):
        return (norm.pdf(x, mean, size) + norm.pdf(x, -mean, size)) / 2

    def term(x):
        return density(x) * (np.log(density(x)) - norm.logpdf(x)) if density(x) > 0 else 0.0

    expected = quad(term, -12, 12, points=[-mean, mean], limit=500)[0]
    plain = gaussian_divergence(np.array([mean]), np.array([size]))
    assert plain - sign_information(mean / size) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("beta", [2.0, "bound"])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("centered", [False, True])
def test_no_other_gaussian_nearby_has_a_smaller_objective(covariance, centered, beta, seed):
    X, y, rng = problem(2, seed, n=100)
    prior = Gaussian(gamma=[0.5, 0.2])
    learner = PacBayesGaussian(beta, prior, covariance=covariance, centered=centered)
    report = learner.learn(prior.sample(5, 2, rng), X, y, rng).report
    sizes = np.sqrt(prior.gaussian_variances(2))
    pairs = pairs_of(X, y, sizes=sizes)

    def objective(mean, factor):
        divergence, n = gaussian_divergence(mean, factor), len(X)
        loss = pairs.loss_and_slopes(mean, factor)[0]
        if beta == 2.0:
            return loss + divergence / (2.0 * np.sqrt(n))
        return loss + np.sqrt((divergence + np.log(2 * np.sqrt(n / 2) / 0.05)) / n)

    if covariance == "full":
        scaled = report.covariance / np.outer(sizes, sizes)
        factor = np.linalg.cholesky(scaled)
    else:
        factor = np.sqrt(report.covariance) / sizes
    mean = report.mean / sizes
    least = objective(mean, factor)
    assert least < objective(np.zeros(2), np.ones(2)) - 1e-4  # the prior
    for _ in range(20):
        moved = mean + 0.05 * rng.normal(size=2) * (not centered)
        changed = factor * np.exp(0.05 * rng.normal(size=factor.shape))
        if covariance == "full":
            changed[1, 0] += 0.05 * rng.normal()
        assert objective(moved, changed) > least - 1e-6
    assert not (centered and np.any(report.mean))


def test_the_mean_finds_the_wave_behind_the_labels(seed):
    X, y, rng = problem(3, seed, n=400)
    report = (
        PacBayesGaussian(prior=Gaussian(0.5)).learn(Gaussian().sample(5, 3, rng), X, y, rng).report
    )
    direction = report.mean / np.linalg.norm(report.mean)
    assert abs(direction @ np.array([2.0, 0.0, 1.0])) / np.sqrt(5) > 0.97


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("centered", [False, True])
def test_the_learned_prior_has_the_kernel_and_the_draws_of_q(covariance, centered, seed):
    X, y, _ = problem(3, seed, n=80)
    learner = PacBayesGaussian(covariance=covariance, centered=centered)
    features = SpectralFeatures(Gaussian(0.5), learner, n_components=5000, random_state=seed)
    report = features.fit(X, y).report_
    S = report.covariance if covariance == "full" else np.diag(report.covariance)
    delta = X[:20] - X[20:40]
    expected = np.exp(-np.sum(delta @ S * delta, axis=1) / 2) * np.cos(delta @ report.mean)
    np.testing.assert_allclose(np.diag(report.prior.kernel(X[:20], X[20:40])), expected, atol=1e-10)
    drawn = np.cos(features.measure_.frequencies @ delta.T)
    z = (drawn.mean(axis=0) - expected) / (drawn.std(axis=0) / np.sqrt(5000) + 1e-12)
    assert np.abs(z).max() < 5
    kinds = {
        ("full", False): WithMetric,
        ("full", True): WithMetric,
        ("diagonal", False): SpectralMixture,
        ("diagonal", True): Gaussian,
    }
    assert type(report.prior) is kinds[covariance, centered]
    similarity = np.where(y[:, None] == y, 1.0, -1.0)
    assert report.loss == pytest.approx(loss_pair_by_pair(X, similarity, report.mean, S), rel=1e-9)


def test_a_learned_prior_works_in_estimators_and_makes_bounds_invalid():
    X, y, _ = problem(2, 0, n=150)
    prior = PacBayesGaussian(centered=True).learn_prior(Gaussian("scale"), X, y, 0)
    assert KernelMachine(prior).fit(X, y * 1.0).predict(X).shape == (150,)
    bound = SpectralFeatures(prior, PacBayes(), random_state=0).fit(X, y).alignment_bound()
    assert not bound.valid
    assert "learned" in bound.reason


# --- bounds ---------------------------------------------------------------------------------------


def fitted(learner=None, prior=None, n_components=100, **settings):
    X, y, _ = problem(2, 0, n=100)
    target, weights = settings.pop("y", y), settings.pop("weights", None)
    learner = PacBayesGaussian(n_iterations=20) if learner is None else learner
    prior = Gaussian(0.5) if prior is None else prior
    features = SpectralFeatures(
        prior, learner, n_components=n_components, random_state=0, **settings
    )
    return features.fit(X, target, weights)


def test_bounds_are_their_formulas():
    features = fitted(PacBayesGaussian(2.0))
    report = features.report_
    loss, divergence = report.loss, report.divergence
    learned = features.alignment_bound(0.1, of="learned")
    # (KL + t²/(8⌊n/2⌋) + ln(1/δ))/t at t = 2 √100
    assert learned.value == pytest.approx(loss + (divergence + 400 / 400 + np.log(10)) / 20)
    drawn = features.alignment_bound(0.1)
    # δ/2 each for the theorem and for 100 draws
    expected = loss + (divergence + 1 + np.log(20)) / 20 + np.sqrt(np.log(20) / 200)
    assert drawn.value == pytest.approx(expected)
    assert drawn.value == pytest.approx(drawn.empirical + drawn.complexity)
    assert (drawn.confidence, drawn.valid) == (0.9, True)
    kl = features.alignment_bound(0.1, of="learned", form="kl").value
    budget = (divergence + np.log(2 * np.sqrt(50) / 0.1)) / 50
    found = loss * np.log(loss / kl) + (1 - loss) * np.log((1 - loss) / (1 - kl))
    assert found == pytest.approx(budget)
    chosen = fitted().alignment_bound(of="learned")
    report = fitted().report_
    values = [
        report.loss + (report.divergence + t**2 / 400 + np.log(25 / 0.05)) / t
        for t in 10 * np.logspace(-3, 3, 25)
    ]
    assert chosen.value == pytest.approx(min(values))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"prior": Gaussian("scale")}, "takes the bandwidth from the data"),
        (
            {"learner": PacBayesGaussian(prior=Gaussian("scale"))},
            "takes the bandwidth from the data",
        ),
        ({"weights": np.ones(100)}, "weighted rows"),
        ({"y": np.cos(np.arange(100.0))}, "centered and scaled"),
        ({"y": TargetSimilarity(np.full((100, 1), 2.0))}, "similarities up to 4"),
    ],
)
def test_conditions_that_fail_are_reported(changes, reason):
    for of in ("learned", "selected"):
        bound = fitted(**changes).alignment_bound(of=of)
        assert not bound.valid
        assert reason in bound.reason


def test_selected_draws_have_no_bound_and_a_prior_of_the_learner_counts():
    features = fitted(n_candidates=200)
    assert features.alignment_bound(of="learned").valid
    assert "n_candidates=None" in features.alignment_bound().reason
    X, y, _ = problem(2, 0, n=100)
    learned = Evidence(n_rows=100).learn_prior(Gaussian(), X, y, 0)
    assert not fitted(prior=learned).alignment_bound().valid
    assert fitted(PacBayesGaussian(prior=Gaussian(0.5)), learned).alignment_bound().valid


def test_with_too_many_rows_the_bound_is_that_of_a_sample(monkeypatch):
    monkeypatch.setattr(pac_bayes_gaussian, "_BOUND_ROWS", 40)
    report = fitted().report_
    assert report.n_samples == 40
    assert fitted(PacBayesGaussian(n_rows=30)).report_.n_samples == 40


def test_the_bound_holds_in_simulation(seed):
    """The true loss of k_q on a distribution of a few points is a finite sum."""
    rng = np.random.default_rng(seed)
    points, labels = rng.normal(size=(12, 2)), rng.integers(2, size=12)
    chances = rng.dirichlet(np.ones(12))
    similarity = np.where(labels[:, None] == labels, 1.0, -1.0)
    n, runs, delta, violated, wrong = 20, 40, 0.2, 0, 0
    learner = PacBayesGaussian(prior=Gaussian(1.0), n_iterations=20)
    start = Gaussian().sample(5, 2, rng)
    for _ in range(runs):
        rows = rng.choice(12, size=n, p=chances)
        learned = learner.learn(start, points[rows], labels[rows], rng)
        losses = [
            chances @ (1 - similarity * one.kernel(points)) @ chances / 2
            for one in (learned.report.prior, learned.measure)
        ]
        for n_drawn, form, loss in zip((None, 5), ("kl", "safe"), losses, strict=True):
            bound = learner.bound(learned.report, n_drawn, delta=delta, form=form)
            violated += loss > bound.value
        wrong += losses[0] > learned.report.loss
    assert violated <= 2 * (runs * delta + 5 * np.sqrt(runs * delta * (1 - delta)))
    assert wrong > runs / 4  # the empirical loss itself is no bound


# --- inputs ---------------------------------------------------------------------------------------


def test_sparse_rows_give_the_result_of_dense_ones():
    X, y, _ = problem(3, 1)
    X[X < 0] = 0
    learner, start = PacBayesGaussian(prior=Gaussian(0.5)), Gaussian().sample(5, 3, 0)
    one, other = (learner.learn(start, rows, y, 0).measure for rows in (X, sp.csr_array(X)))
    np.testing.assert_allclose(one.frequencies, other.frequencies, atol=1e-6)


def test_inputs_that_cannot_be_used_are_refused():
    X, y, _ = problem(2, 0)
    start = Gaussian().sample(5, 2, 0)
    with pytest.raises(TypeError, match="independent normal frequencies"):
        PacBayesGaussian(prior=Laplace()).learn(start, X, y, 0)
    harmonic = HarmonicMeasure(np.array([[0, 0]]), np.ones(1))
    with pytest.raises(TypeError, match="needs a FourierMeasure"):
        PacBayesGaussian(prior=Gaussian()).learn(harmonic, X, y, 0)
    with pytest.raises(ValueError, match="needs a prior and none was given"):
        PacBayesGaussian().learn(start, X, y, 0)
    with pytest.raises(ValueError, match="covariance='diagonal'"):
        PacBayesGaussian().learn_prior(Gaussian(), np.ones((4, 1001)), [0, 1, 0, 1], 0)
    for wrong in (
        {"beta": 0.0},
        {"beta": "best"},
        {"covariance": "spherical"},
        {"n_rows": 1},
        {"n_iterations": 0},
        {"centered": "yes"},
    ):
        with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
            PacBayesGaussian(prior=Gaussian(), **wrong).learn(start, X, y, 0)
