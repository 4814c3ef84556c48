"""Priors learned by marginal likelihood: the objective against its definition, its slopes, and what
is learned.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from selection import long_except
from sklearn.base import clone

import bochner.learners.evidence as evidence_module
from bochner import (
    Anova,
    Cauchy,
    CurlFree,
    Evidence,
    Gaussian,
    LandmarkFeatures,
    Laplace,
    Matern,
    OperatorRidge,
    SpectralFeatures,
    SpectralRidge,
    TargetSimilarity,
)
from bochner.data.targets import Labels, Values
from bochner.learners.evidence import _NegativeEvidence, shrinkage
from bochner.priors.base import RadialPrior

FAMILIES = [
    Anova(),
    Anova(nu=0.5),
    Anova(nu=2.5),
    Laplace(),
    Gaussian(),
    Matern(nu=0.5),
    Matern(nu=1.5),
    Matern(nu=2.5),
]


def generator(seed=0):
    return np.random.default_rng(seed)


def problem(prior, n=40, d=3, n_outputs=2, weighted=False):
    rng = generator(1)
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(n, n_outputs))
    shares = 1 / rng.uniform(0.3, 3.0, n) if weighted else np.ones(n)
    objective = _NegativeEvidence(prior, X, Y, shares, (0.3, 0.6))
    start, _ = objective.start(labels=False)
    return objective, start + 0.3 * rng.normal(size=len(start))


def definition(objective, theta):
    """The objective of the class docstring, with explicit inverses and determinants."""
    X, Y = objective.X, objective.Y
    d = X.shape[1]
    n = np.sum(1 / objective.noise_shares)
    rates, linear, noise = np.exp(theta[:d]), np.exp(theta[-2]), np.exp(theta[-1])
    name = type(objective.prior).__name__
    parameters = {"Laplace": {"gamma": rates}, "Gaussian": {"gamma": rates**2 / 2}}.get(
        name, {"length_scale": 1 / rates}
    )
    if name == "Anova":
        parameters["weight"] = np.exp(theta[d : 2 * d])
    K = clone(objective.prior).set_params(**parameters).kernel(X) + linear / d * X @ X.T
    K += noise * np.diag(objective.noise_shares)
    # h rows at one place instead of one of noise λ / h
    log_determinant = (
        np.linalg.slogdet(K)[1] + (n - len(X)) * theta[-1] - np.sum(np.log(objective.noise_shares))
    )
    value = 0.5 * np.log(
        np.trace(Y.T @ np.linalg.inv(K) @ Y) / (n * Y.shape[1])
    ) + log_determinant / (2 * n)
    for logarithms, spread in zip(
        np.split(theta[:-2], len(theta[:-2]) // d), (0.3, 0.6), strict=False
    ):
        value += np.sum(np.log(1 + ((logarithms - logarithms.mean()) / spread) ** 2)) / n
    return value


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prior", FAMILIES, ids=repr)
def test_objective_is_its_definition_and_slopes_are_its_differences(prior, weighted):
    objective, theta = problem(prior, weighted=weighted)
    value, slopes = objective._in_precision(theta, np.float64)
    assert value == pytest.approx(definition(objective, theta), rel=1e-9)
    step = 1e-4
    for i, slope in enumerate(slopes):
        ahead = [
            definition(objective, theta + k * step * np.eye(len(theta))[i]) for k in (-2, -1, 1, 2)
        ]
        numeric = (ahead[0] - 8 * ahead[1] + 8 * ahead[2] - ahead[3]) / (12 * step)
        assert slope == pytest.approx(numeric, rel=1e-6, abs=1e-9)
    rough, rough_slopes = objective._in_precision(theta, np.float32)
    assert rough == pytest.approx(value, abs=1e-4)
    np.testing.assert_allclose(rough_slopes, slopes, atol=1e-4)


def test_shrinkage_has_the_common_value_free_and_forgives_single_columns():
    value, slope = shrinkage(np.array([1.0, 2.0, 4.0]), 0.5)
    shifted, same_slope = shrinkage(np.array([1.0, 2.0, 4.0]) + 7, 0.5)
    assert shifted == pytest.approx(value)
    np.testing.assert_allclose(slope, same_slope)
    assert slope.sum() == pytest.approx(0, abs=1e-14)
    assert shrinkage(np.zeros(3), 0.5)[0] == 0
    # Ten times further costs 2 log 10 for each column and no more, however far: a Gaussian would
    # ask for a hundredfold.
    far, further = (
        shrinkage(distance * np.array([0.0, 0.1, 1.0]), 0.3)[0] for distance in (1e4, 1e5)
    )
    assert further - far == pytest.approx(3 * 2 * np.log(10), rel=1e-3)


@pytest.mark.parametrize("prior", FAMILIES[:4:3] + FAMILIES[4:7:2], ids=repr)
def test_learning_never_raises_the_objective_and_stays_in_the_family(prior):
    rng = generator()
    X = rng.normal(size=(120, 4))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=120)
    before = Evidence(n_iterations=0).learn(prior, X, y, generator())
    after = Evidence().learn(prior, X, y, generator())
    assert after.objective < before.objective - 0.1
    assert 0 < after.n_iterations <= 25
    assert type(after.prior) is type(prior)
    assert after.prior.get_params().get("nu") == prior.get_params().get("nu")
    assert 1e-4 <= after.noise <= 0.1
    assert after.linear.shape == (4,)


@pytest.mark.parametrize("seed", long_except(range(4), 0))
@pytest.mark.parametrize("prior", [Anova(), Gaussian(), Laplace()], ids=repr)
def test_columns_that_do_not_matter_are_found(prior, seed):
    """A target of 3 out of 30 columns: what those have, the others have a small share of."""
    rng = generator(seed)
    X = rng.normal(size=(300, 30))
    relevant = rng.choice(30, 3, replace=False)
    y = (
        np.sin(2 * X[:, relevant[0]])
        + X[:, relevant[1]] * X[:, relevant[2]]
        + 0.1 * rng.normal(size=300)
    )
    learned = Evidence(n_iterations=40).learn_prior(prior, X, y, rng)
    strengths = {
        Anova: lambda p: p.weight / p.length_scale,
        Gaussian: lambda p: np.sqrt(p.gamma),
        Laplace: lambda p: p.gamma,
    }[type(prior)](learned)
    assert set(np.argsort(strengths)[-3:]) == set(relevant)
    assert np.median(np.delete(strengths, relevant)) < 0.1 * strengths[relevant].min()


def test_the_learned_prior_replaces_a_given_length_scale():
    X = generator().normal(size=(40, 2))
    given, plain = (
        Evidence(n_iterations=3).learn_prior(prior, X, np.sin(X[:, 0]), 0)
        for prior in (Gaussian(length_scale=7.0), Gaussian())
    )
    assert given.length_scale is None
    np.testing.assert_array_equal(given.gamma, plain.gamma)
    np.testing.assert_allclose(given.kernel(X), plain.kernel(X))


@pytest.mark.parametrize("prior", [Anova(), Matern()], ids=repr)
def test_scales_and_offsets_of_columns_do_not_matter(prior):
    rng = generator()
    X = rng.normal(size=(80, 3))
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=80)
    scales = np.array([1e-3, 1.0, 1e4])
    plain, scaled = (
        Evidence(n_iterations=5).learn(prior, rows, y, generator())
        for rows in (X, X * scales + 5 * scales)
    )
    np.testing.assert_allclose(
        scaled.prior.length_scale, plain.prior.length_scale * scales, rtol=1e-4
    )
    np.testing.assert_allclose(scaled.linear * scales**2, plain.linear, rtol=1e-4)
    assert scaled.noise == pytest.approx(plain.noise, rel=1e-4)
    as_they_are = Evidence(n_iterations=5, standardize=False).learn(
        prior, X / X.std(axis=0), y, generator()
    )
    np.testing.assert_allclose(
        as_they_are.prior.length_scale * X.std(axis=0), plain.prior.length_scale, rtol=1e-6
    )


def test_labels_of_two_classes_are_one_column_and_have_more_noise():
    rng = generator()
    X = rng.normal(size=(150, 3))
    y = np.where(X[:, 0] > 0, "yes", "no")
    learned = Evidence().learn(Laplace(), X, y, rng)
    assert learned.noise >= 0.1 - 1e-12
    assert np.argmax(learned.prior.gamma) == 0
    signs = Evidence().learn(Laplace(), X, np.where(X[:, 0] > 0, 5, 3), generator())
    assert signs.objective == pytest.approx(
        Evidence().learn(Laplace(), X, y, generator()).objective
    )


def test_whole_numbers_are_labels_unless_they_are_declared_values():
    rng = generator()
    X = rng.normal(size=(100, 2))
    counts = np.round(3 * X[:, 0])
    objectives = {
        name: Evidence(n_iterations=3).learn(Gaussian(), X, y, generator()).objective
        for name, y in (
            ("as they are", counts),
            ("labels", Labels.of(counts)),
            ("values", Values.of(counts)),
            ("fractions", counts + 1e-9 * X[:, 1]),
        )
    }
    assert objectives["as they are"] == objectives["labels"]
    assert objectives["values"] == pytest.approx(objectives["fractions"], abs=1e-4)
    assert abs(objectives["values"] - objectives["labels"]) > 0.01


def test_rows_of_weight_zero_are_absent():
    rng = generator()
    X = rng.normal(size=(90, 2))
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=90)
    weights = rng.uniform(0.5, 2.0, size=90)
    weights[60:] = 0
    spoiled, wrong = X.copy(), y.copy()
    spoiled[60:], wrong[60:] = 1e6, -1e6
    whole = Evidence(n_iterations=5).learn(Gaussian(), spoiled, wrong, generator(), weights)
    part = Evidence(n_iterations=5).learn(Gaussian(), X[:60], y[:60], generator(), weights[:60])
    np.testing.assert_allclose(whole.prior.gamma, part.prior.gamma, rtol=1e-6)
    assert whole.objective == pytest.approx(part.objective, rel=1e-9)
    fewer = Evidence(n_rows=30).learn_prior(Gaussian(), spoiled, wrong, generator(), weights)
    assert np.all(fewer.gamma > 1e-5)  # the outliers of weight zero were never drawn


@pytest.mark.parametrize("prior", FAMILIES[:2], ids=repr)
def test_weights_count_like_repeated_rows(prior):
    rng = generator()
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    weights = rng.integers(1, 4, size=40)
    evidence = Evidence(n_iterations=2, standardize=False)
    weighted = evidence.learn(prior, X, y, generator(), weights.astype(float))
    repeated = np.repeat(np.arange(40), weights)
    longer = evidence.learn(prior, X[repeated], y[repeated], generator())
    assert weighted.objective == pytest.approx(longer.objective, rel=1e-9)
    assert weighted.noise == pytest.approx(longer.noise, rel=1e-6)


def test_noisy_rows_of_small_weight_disturb_less():
    rng = generator()
    X = rng.normal(size=(200, 1))
    noisy = np.arange(200) % 2 == 0
    y = np.sin(2 * X[:, 0]) + np.where(noisy, 2.0, 0.05) * rng.normal(size=200)
    trusted = Evidence().learn(Gaussian(), X, y, generator(), np.where(noisy, 1e-3, 1.0))
    alone = Evidence().learn(Gaussian(), X[~noisy], y[~noisy], generator())
    blind = Evidence().learn(Gaussian(), X, y, generator())
    # Distance from what the precise rows say alone.
    far, near = (abs(np.log(m.prior.gamma[0] / alone.prior.gamma[0])) for m in (blind, trusted))
    assert near < 0.3
    assert trusted.noise < blind.noise
    assert near <= far + 0.1


def test_sparse_rows_constant_columns_and_several_outputs():
    rng = generator()
    X = rng.normal(size=(60, 3)) * (rng.random((60, 3)) < 0.5)
    X[:, 1] = 0
    Y = np.column_stack([X[:, 0], np.zeros(60)]) + 0.01 * rng.normal(size=(60, 2)) * [1, 0]
    dense = Evidence(n_iterations=4).learn(Anova(), X, Y, generator())
    sparse = Evidence(n_iterations=4).learn(Anova(), sp.csr_matrix(X), Y, generator())
    np.testing.assert_array_equal(dense.prior.weight, sparse.prior.weight)
    assert np.all(np.isfinite(dense.prior.length_scale))


@pytest.mark.parametrize("prior", [Anova(), Laplace(), Gaussian(), Matern(nu=2.5)], ids=repr)
def test_a_learned_prior_works_wherever_a_prior_does(prior):
    rng = generator()
    X = rng.normal(size=(150, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=150)
    learned = Evidence().learn_prior(prior, X, y, rng)
    features = SpectralFeatures(learned, n_components=200, random_state=0)
    ridge = SpectralRidge(features, alpha=[1e-2, 1e-1, 1.0]).fit(X, y)
    assert ridge.score(X, y) > 0.9
    landmarks = LandmarkFeatures(
        learned, n_landmarks=20, similarity="exact", random_state=0
    ).fit_transform(X)
    assert landmarks.shape == (150, 20)
    assert clone(learned).kernel(X[:4]).shape == (4, 4)
    if not isinstance(prior, Laplace):  # whose frequencies have no variance
        field = OperatorRidge(CurlFree(learned), n_components=50, alpha=1e-2, random_state=0).fit(
            X, X
        )
        assert field.predict(X).shape == (150, 3)
        assert CurlFree(learned).kernel(X[:3]).shape == (3, 3, 3, 3)


def test_same_generator_same_prior_and_few_rows_are_drawn():
    rng = generator()
    X = rng.normal(size=(400, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=400)
    one, two = (Evidence(n_rows=50).learn(Gaussian(), X, y, generator(3)) for _ in range(2))
    np.testing.assert_array_equal(one.prior.gamma, two.prior.gamma)
    assert Evidence(n_rows=50).learn(Gaussian(), X, y, generator(4)).objective != one.objective
    assert Evidence(n_rows=50).get_params()["n_rows"] == 50


def test_an_interruption_passes_through(monkeypatch):
    calls = []

    def interrupted(covariance):
        calls.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(evidence_module, "invert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Evidence().learn(
            Gaussian(), generator().normal(size=(20, 2)), np.arange(20) / 3, generator()
        )
    assert len(calls) == 1


def test_a_matrix_that_is_singular_in_float32_is_taken_in_float64(monkeypatch):
    objective, theta = problem(Gaussian(), weighted=False)
    theta[-1] = np.log(0.2)
    expected, _ = objective._in_precision(theta, np.float64)
    whole = evidence_module.invert
    monkeypatch.setattr(
        evidence_module,
        "invert",
        lambda matrix: None if matrix.dtype == np.float32 else whole(matrix),
    )
    assert objective(theta)[0] == expected
    monkeypatch.setattr(evidence_module, "invert", lambda matrix: None)
    with pytest.raises(np.linalg.LinAlgError, match="standardize=True"):
        objective(theta)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda X, y: Evidence().learn(Cauchy(), X, y, generator()),
            TypeError,
            "`with_rates`, which Cauchy does not define. Use a prior that Evidence can learn",
        ),
        (
            lambda X, y: Evidence().learn(Matern(nu=0.8), X, y, generator()),
            TypeError,
            "needs the method `_slopes`",
        ),
        (lambda X, y: Evidence().learn(None, X, y, generator()), TypeError, "got None"),
        (lambda X, y: Evidence().learn(Gaussian(), X, y, 0.5), TypeError, "Generator"),
        (
            lambda X, y: Evidence().learn(Gaussian(), X, 0 * y, generator()),
            ValueError,
            "target is constant",
        ),
        (
            lambda X, y: Evidence().learn(Gaussian(), X, y[:3], generator()),
            ValueError,
            "inconsistent numbers",
        ),
        (lambda X, y: Evidence().learn(Gaussian(), X * np.nan, y, generator()), ValueError, "NaN"),
        (
            lambda X, y: Evidence().learn(Gaussian(), X[:1], y[:1], generator()),
            ValueError,
            "at least 2 rows",
        ),
        (
            lambda X, y: Evidence().learn(Gaussian(), X, y, generator(), -y),
            ValueError,
            "Negative values",
        ),
        (
            lambda X, y: Evidence().learn(
                Gaussian(), X, TargetSimilarity.of_values(y), generator()
            ),
            TypeError,
            "labels or values",
        ),
        (
            lambda X, y: Evidence().learn(Gaussian(), X[:, 0], y, generator()),
            ValueError,
            "two-dimensional",
        ),
        (
            lambda X, y: Evidence(n_rows=1).learn(Gaussian(), X, y, generator()),
            ValueError,
            "n_rows must be at least 2",
        ),
        (
            lambda X, y: Evidence(rate_spread=0).learn(Gaussian(), X, y, generator()),
            ValueError,
            "rate_spread",
        ),
    ],
)
def test_refusals_say_what_is_needed(call, error, message):
    X = generator().normal(size=(10, 2))
    with pytest.raises(error, match=message):
        call(X, X[:, 0] + 0.123)


# --- more rows for a few steps --------------------------------------------------------------------


@pytest.mark.parametrize("labels", [False, True])
def test_refining_goes_on_from_what_fewer_rows_have_led_to(labels, monkeypatch):
    rng = generator()
    X = rng.normal(size=(300, 3))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=300)
    y = y > 0 if labels else y
    seen = []
    whole = evidence_module.minimize

    def watched(problem, start, **keywords):
        found = whole(problem, start, **keywords)
        seen.append((len(problem.X), start, found.x, keywords["options"]["maxiter"], found.nit))
        return found

    monkeypatch.setattr(evidence_module, "minimize", watched)
    learned = Evidence(n_rows=80, n_iterations=9, n_refining_rows=200, n_refinements=3).learn(
        Laplace(), X, y, rng
    )
    (
        (n_first, _, first_end, first_most, first_steps),
        (n_last, last_start, _, last_most, last_steps),
    ) = seen
    assert (n_first, first_most, n_last, last_most) == (80, 9, 200, 3)
    np.testing.assert_array_equal(last_start, first_end)
    assert learned.n_iterations == first_steps + last_steps
    seen.clear()
    Evidence(n_rows=300, n_refining_rows=200).learn(Laplace(), X, y, rng)  # nothing to refine with
    assert [n_rows for n_rows, *_ in seen] == [300]


def test_refining_skips_few_rows_that_are_constant():
    rng = generator()
    X, y = rng.normal(size=(200, 2)), np.zeros(200, dtype=int)
    y[:2] = 1
    learned = Evidence(n_rows=3, n_refining_rows=200, n_iterations=4).learn(
        Gaussian(), X, y, np.random.default_rng(5)
    )
    assert learned.n_iterations <= 4


@pytest.mark.parametrize("name", ["n_refining_rows", "n_refinements"])
def test_counts_of_refining_are_checked(name):
    with pytest.raises((ValueError, TypeError), match=name):
        Evidence(**{name: -1}).learn(
            Gaussian(), generator().normal(size=(20, 2)), np.arange(20) / 3, generator()
        )


class Ridged(RadialPrior):
    """exp(−r²/2) as a prior of the user."""

    def _profile(self, squared_distances):
        return np.exp(-squared_distances / 2)


class RidgedWithSlopes(Ridged):
    def _slopes(self, squared_distances):
        kernel = self._profile(squared_distances)
        return -kernel / 2, kernel / 4


@pytest.mark.parametrize("labels", [False, True])
def test_a_radial_prior_of_your_own_learns_what_the_same_prior_of_ours_learns(labels):
    rng = generator()
    X = 100 + rng.normal(size=(80, 3))
    y = np.sin(2 * X[:, 1]) + 0.1 * rng.normal(size=80)
    y = y > 0 if labels else y
    own = Evidence().learn(RidgedWithSlopes(), X, y, generator())
    ours = Evidence().learn(Gaussian(), X, y, generator())
    assert own.objective == pytest.approx(ours.objective, abs=1e-4)
    np.testing.assert_allclose(
        1 / own.prior.length_scale**2 / 2, ours.prior.gamma, rtol=0.1, atol=1e-3
    )


def test_missing_methods_are_named():
    X, y = generator().normal(size=(20, 2)), np.arange(20.0)
    with pytest.raises(TypeError, match="`with_rates`, which Cauchy does not define"):
        Evidence().learn(Cauchy(), X, y, generator())
    with pytest.raises(TypeError, match="`_slopes`, which Ridged does not define"):
        Evidence().learn(Ridged(), X, y, generator())
