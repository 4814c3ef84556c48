"""The alignment bounds: what they say of themselves, and simulations where the true loss is known
(numbers: ``bounds/``).
"""

import numpy as np
import pytest
from selection import long_except

from bochner import (
    FourierMeasure,
    Gaussian,
    LandmarkFeatures,
    OptimalAlignment,
    PacBayes,
    SpectralFeatures,
    alignment_losses,
    gibbs_weights,
)
from bochner.bounds import (
    chi_square,
    corollary_2,
    f_divergence,
    first_order,
    kl_divergence,
    landmark,
    power_divergence,
    second_order,
)
from bochner.bounds.risk import inverse_binary_kls, pac_bayes_budget

ALL = {
    "first_order": first_order,
    "corollary_2": corollary_2,
    "second_order": second_order,
    "f_divergence": f_divergence,
    "chi_square": chi_square,
}


@pytest.mark.parametrize("form", ["safe", "paper"])
def test_theorem_4_is_continuous_at_two_where_it_is_corollary_5(form):
    middle = chi_square(0.2, 1.5, 300, form=form).value
    for mu in (2 - 1e-9, 2.0, 2 + 1e-9):
        assert f_divergence(0.2, 1.5, 300, mu=mu, form=form).value == pytest.approx(
            middle, rel=1e-6
        )


@pytest.mark.parametrize("name", ALL)
def test_bounds_say_what_they_are_and_shrink_with_more_rows(name):
    small, large = ALL[name](0.25, 1.0, 100), ALL[name](0.25, 1.0, 10_000)
    assert small.value == pytest.approx(small.empirical + small.complexity)
    assert small.value > large.value > 0.25
    assert (small.confidence, small.form, small.valid) == (0.95, "safe", True)
    assert ALL[name](0.25, 1.0, 100, delta=0.01).value > small.value
    assert ALL[name](0.25, 2.0, 100).value > small.value


def test_conditions_that_fail_are_reported():
    assert not f_divergence(0.2, 1.0, 100, mu=3, form="paper").valid
    assert "false" in f_divergence(0.2, 1.0, 100, mu=3, form="paper").reason
    assert f_divergence(0.2, 1.0, 100, mu=3).valid
    assert not landmark(0.2, 1.0, 100, 5, independent=False).valid
    for theorem in (corollary_2, f_divergence, chi_square):
        with pytest.raises(ValueError, match="form"):
            theorem(0.2, 1.0, 100, form="kl")
    with pytest.raises(ValueError, match="no parameter t"):
        second_order(0.2, 1.0, 100, t=3.0, form="kl")
    distant = landmark(0.2, 1.0, 100, 5, independent=False, form="kl")
    assert (distant.form, distant.valid) == ("kl", False)
    for wrong in ({"delta": 0.0}, {"delta": 1.0}, {"form": "tight"}, {"t": -1.0}):
        with pytest.raises(ValueError):
            second_order(0.2, 1.0, 100, **wrong)
    with pytest.raises(ValueError, match="mu must be above 1"):
        f_divergence(0.2, 1.0, 100, mu=1.0)


def test_divergences_of_a_distribution_from_itself_vanish_and_match_their_sums(seed):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(7), size=2)
    assert kl_divergence(p, p) == 0
    assert power_divergence(p, 3 * p, 1.7) == pytest.approx(0, abs=1e-12)
    assert kl_divergence(q, p) == pytest.approx(np.sum(q * np.log(q / p)))
    assert power_divergence(q, p, 3.0) == pytest.approx(np.sum(p * (q / p) ** 3) - 1)
    assert power_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf


def finite_world(rng, n_points=12, n_atoms=30):
    """A distribution on a few labeled points, so that the true alignment loss is a finite double
    sum.
    """
    points, labels = rng.normal(size=(n_points, 2)), rng.integers(2, size=n_points)
    chances = rng.dirichlet(np.ones(n_points))
    measure = Gaussian(1.0).sample(n_atoms, 2, rng)
    cosines = np.cos((points[:, None] - points[None]) @ measure.frequencies.T)
    similarity = np.where(labels[:, None] == labels[None], 1.0, -1.0)
    true = np.einsum("i,j,ijm->m", chances, chances, (1 - similarity[:, :, None] * cosines) / 2)
    return points, labels, chances, measure, true


def test_bounds_hold_in_simulation_at_their_confidence(seed):
    rng = np.random.default_rng(seed)
    points, labels, chances, measure, true = finite_world(rng)
    n, runs, delta = 120, 400, 0.1
    names = ["corollary_2", "second_order", "kl", "chi_square", "f 1.5", "f 3"]
    violations = dict.fromkeys(names, 0)
    for _ in range(runs):
        rows = rng.choice(len(points), size=n, p=chances)
        losses = alignment_losses(measure, points[rows], labels[rows])
        weights = gibbs_weights(measure.weights, losses, 3.0, n)
        kl = kl_divergence(weights, measure.weights)
        empirical, risk = weights @ losses, weights @ true
        values = {
            "corollary_2": corollary_2(empirical, kl, n, delta=delta).value,
            "second_order": second_order(empirical, kl, n, delta=delta).value,
            "kl": second_order(empirical, kl, n, delta=delta, form="kl").value,
            "chi_square": chi_square(
                empirical, power_divergence(weights, measure.weights), n, delta=delta
            ).value,
            "f 1.5": f_divergence(
                empirical, power_divergence(weights, measure.weights, 1.5), n, mu=1.5, delta=delta
            ).value,
            "f 3": f_divergence(
                empirical, power_divergence(weights, measure.weights, 3), n, mu=3, delta=delta
            ).value,
        }
        for name, value in values.items():
            violations[name] += risk > value
    # At most a share delta of the samples may violate; five standard errors above that would be a
    # broken bound.
    allowed = runs * delta + 5 * np.sqrt(runs * delta * (1 - delta))
    assert all(count <= allowed for count in violations.values()), violations


def single_hypothesis_excess(n, runs, rng):
    """True loss minus empirical loss at ω = 0 with two fair labels: the share of unequal pairs,
    true value 1/2.
    """
    ones = rng.binomial(n, 0.5, size=runs)
    return 0.5 - 2 * ones * (n - ones) / (n * (n - 1))


def test_the_printed_theorem_4_is_violated_for_large_mu_and_the_safe_form_is_not(seed):
    n, runs, delta = 1000, 4000, 0.1
    measure = FourierMeasure(np.zeros((1, 1)), np.ones(1))
    rng = np.random.default_rng(seed)
    # Labels with an unfair coin, where the share of unequal pairs fluctuates at order 1/√n.
    chance = 0.15
    true = 2 * chance * (1 - chance)
    ones = rng.binomial(n, chance, size=runs)
    empirical = 2 * ones * (n - ones) / (n * (n - 1))
    y = np.repeat([1, 0], [ones[0], n - ones[0]])
    assert alignment_losses(measure, np.zeros((n, 1)), y)[0] == pytest.approx(empirical[0])
    for mu in (4.0, 10.0):
        printed = f_divergence(0.0, 0.0, n, mu=mu, delta=delta, form="paper").complexity
        safe = f_divergence(0.0, 0.0, n, mu=mu, delta=delta).complexity
        violated = np.mean(true > empirical + printed)
        assert violated > delta + 5 * np.sqrt(delta / runs), (
            f"mu={mu}: printed bound violated in {violated:.1%} only"
        )
        assert np.mean(true > empirical + safe) < delta


def test_the_kl_form_counts_half_of_the_rows_and_is_violated_if_it_counts_pairs(seed):
    """One hypothesis, rare labels: the share of unequal pairs varies as that of n/2 pairs does."""
    n, runs, delta, chance = 200, 3000, 0.1, 0.05
    ones = np.random.default_rng(seed).binomial(n, chance, size=runs)
    empirical, true = 2 * ones * (n - ones) / (n * (n - 1)), 2 * chance * (1 - chance)
    values = np.arange(n + 1)
    losses = 2 * values * (n - values) / (n * (n - 1))
    proved = np.array([second_order(one, 0.0, n, delta=delta, form="kl").value for one in losses])
    n_pairs = n * (n - 1) // 2
    wrong = inverse_binary_kls(losses, pac_bayes_budget(0.0, n_pairs, delta))
    assert np.mean(true > proved[ones]) < delta
    assert np.mean(true > wrong[ones]) > delta + 5 * np.sqrt(delta / runs)
    # Variance of n/2 independent pairs, up to the factor (1 − 2 chance)² and terms of order 1/n.
    assert empirical.var() / (true * (1 - true) / (n / 2)) == pytest.approx(0.9, abs=0.1)


@pytest.mark.parametrize(
    "learner", [PacBayes(3.0), PacBayes("bound"), OptimalAlignment(radius=2.0)]
)
def test_features_bound_every_learner_by_the_kl_form_without_a_price_for_t(learner, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2))
    features = SpectralFeatures(Gaussian(1.0), learner, n_components=30, random_state=seed)
    report = features.fit(X, X[:, 0] > 0).report_
    bound = features.alignment_bound(form="kl")
    divergence = kl_divergence(report.weights, report.prior_weights)
    expected = second_order(report.empirical(report.weights), divergence, 120, form="kl")
    assert bound == expected
    assert bound.valid
    marks = LandmarkFeatures(
        Gaussian(1.0),
        learner,
        n_landmarks=3,
        landmarks="random",
        per_label=False,
        random_state=seed,
    ).fit(X, X[:, 0] > 0)
    report = marks.report_
    divergences = [kl_divergence(q, report.prior_weights) for q in report.weights]
    losses = report.empirical(report.weights)
    expected = [landmark(*pair, 120, 3, form="kl").value for pair in zip(losses, divergences)]
    assert marks.alignment_bound(form="kl").value == pytest.approx(np.mean(expected))


def test_landmarks_drawn_apart_have_bounds_that_hold_in_simulation(seed):
    rng = np.random.default_rng(seed)
    points, labels, chances, _, _ = finite_world(rng)
    n, runs, delta, violated, closer = 40, 100, 0.2, 0, 0
    for run in range(runs):
        marks, rows = (rng.choice(len(points), size=size, p=chances) for size in (5, n))
        if set(labels[marks]) > set(labels[rows]):
            continue
        fitted = LandmarkFeatures(
            Gaussian(1.0),
            PacBayes("bound"),
            landmarks=(points[marks], labels[marks]),
            n_components=10,
            share_frequencies=True,
            random_state=run,
        ).fit(points[rows], labels[rows])
        similarity = np.where(labels[:, None] == fitted.landmark_labels_, 1.0, -1.0)
        true = chances @ ((1 - similarity * fitted.transform(points)) / 2)
        for form in ("safe", "kl"):
            settings = {"form": form, "independent": True}
            bounds = [fitted.alignment_bound(delta, landmark=k, **settings) for k in range(5)]
            assert all(bound.valid for bound in bounds)
            violated += any(risk > bound.value for risk, bound in zip(true, bounds))
        closer += bounds[0].empirical < true[0]
    assert violated <= 2 * (runs * delta + 5 * np.sqrt(runs * delta * (1 - delta)))
    assert closer > runs / 4  # the empirical loss itself is no bound


def test_independent_landmarks_use_all_rows_and_need_labels_and_a_fixed_prior():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(100, 2)), rng.normal(size=(4, 2))
    y, settings = X[:, 0] > 0, {"n_components": 8, "random_state": 0}
    own = LandmarkFeatures(Gaussian(1.0), PacBayes(2.0), landmarks=(Z, Z[:, 0] > 0), **settings)
    own.fit(X, y)
    assert not own.alignment_bound().valid
    assert "independent=True" in own.alignment_bound().reason
    bound = own.alignment_bound(0.1, landmark=1, independent=True)
    report, t = own.report_, 20.0
    divergence = kl_divergence(report.weights[1], report.prior_weights)
    # (KL + t²/(8 n) + ln(4/δ))/t
    expected = (divergence + t**2 / 800 + np.log(40)) / t
    assert bound.complexity == pytest.approx(expected)
    assert (bound.valid, bound.reason) == (True, "")
    for weights, prior in ((np.ones(100), Gaussian(1.0)), (None, Gaussian("scale"))):
        other = LandmarkFeatures(prior, landmarks=(Z, Z[:, 0] > 0), **settings).fit(X, y, weights)
        assert not other.alignment_bound(independent=True).valid
    for landmarks in ("kmeans", "random", Z):
        other = LandmarkFeatures(Gaussian(1.0), landmarks=landmarks, **settings).fit(X, y)
        with pytest.raises(ValueError, match=r"landmarks=\(points, labels\)"):
            other.alignment_bound(independent=True)


def test_the_printed_variance_bound_is_not_true():
    rng = np.random.default_rng(0)
    # Two rows, labels by a fair coin, ω = 0: the loss is 0 or 1 with equal chances, so n Var = 1/2
    # where 1/4 is printed.
    losses = single_hypothesis_excess(2, 100_000, rng)
    assert 2 * losses.var() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("per_label", long_except([False, True], True))
def test_bounds_of_all_landmarks_hold_at_once_in_simulation(per_label, seed):
    rng = np.random.default_rng(seed)
    points, labels, chances, _, _ = finite_world(rng)
    n, runs, delta = 80, 150, 0.2
    violated = 0
    for run in range(runs):
        rows = rng.choice(len(points), size=n, p=chances)
        fitted = LandmarkFeatures(
            Gaussian(1.0),
            n_landmarks=6,
            landmarks="random",
            n_components=10,
            learner=PacBayes(3.0),
            per_label=per_label,
            share_frequencies=True,
            random_state=run,
        ).fit(points[rows], labels[rows])
        similarity = np.where(labels[:, None] == fitted.landmark_labels_, 1.0, -1.0)
        true = chances @ ((1 - similarity * fitted.transform(points)) / 2)
        bounds = [fitted.alignment_bound(delta, landmark=k) for k in range(len(true))]
        assert all(bound.valid for bound in bounds)
        violated += any(risk > bound.value for risk, bound in zip(true, bounds))
    assert violated <= runs * delta + 5 * np.sqrt(runs * delta * (1 - delta))
