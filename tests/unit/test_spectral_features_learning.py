"""Learning inside SpectralFeatures: candidates, selection, streaming, merging, bounds."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bochner import (
    Anova,
    CertifiedClassifier,
    Evidence,
    Gaussian,
    LandmarkFeatures,
    Laplace,
    MarginGame,
    Matern,
    OptimalAlignment,
    PacBayes,
    SpectralFeatures,
    TargetSimilarity,
    alignment_losses,
)
from bochner.learners import Learned, Learner


@pytest.fixture
def problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-0.5, 0.5])


def features(seed, **changes):
    settings = {"n_candidates": 200, "n_components": 12, "random_state": seed} | changes
    return SpectralFeatures(Gaussian(0.5), PacBayes(3.0), **settings)


def test_drawn_components_are_candidates_of_equal_weight(problem, seed):
    fitted = features(seed).fit(*problem)
    assert len(fitted.measure_) == 12
    np.testing.assert_allclose(fitted.measure_.weights, 1 / 12)
    np.testing.assert_array_equal(
        fitted.measure_.frequencies, fitted.candidates_.frequencies[fitted.selected_]
    )
    expected = np.exp(-3 * np.sqrt(300) * alignment_losses(fitted.candidates_, *problem))
    np.testing.assert_allclose(fitted.learned_.weights, expected / expected.sum(), rtol=1e-9)


def test_draws_follow_the_learned_weights(problem, seed):
    for selection in ("multinomial", "systematic"):
        fitted = features(seed, n_components=20_000, selection=selection).fit(*problem)
        shares = np.bincount(fitted.selected_, minlength=200) / 20_000
        weights = fitted.learned_.weights
        error = np.sqrt(weights * (1 - weights) / 20_000)
        assert np.max(np.abs(shares - weights) / np.maximum(error, 1e-4)) < 5
        if selection == "systematic":
            assert np.max(np.abs(shares - weights)) <= 1 / 20_000 + 1e-12


def test_top_keeps_the_largest_and_all_keeps_everything(problem, seed):
    top = features(seed, selection="top").fit(*problem)
    largest = np.sort(top.learned_.weights)[-12:]
    assert top.measure_.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(np.sort(top.measure_.weights), largest / largest.sum())
    everything = features(seed, selection="all").fit(*problem)
    X = problem[0][:20]
    np.testing.assert_allclose(everything.measure_.kernel(X), everything.learned_.kernel(X))
    assert everything.transform(X).shape == (20, 400)


def test_beta_zero_is_plain_random_features(problem, seed):
    X, y = problem
    fitted = SpectralFeatures(Gaussian(0.5), PacBayes(0.0), n_components=30, random_state=seed).fit(
        X, y
    )
    plain = SpectralFeatures(Gaussian(0.5), n_components=30, random_state=seed).fit(X)
    np.testing.assert_allclose(fitted.transform(X), plain.transform(X), atol=1e-12)


@pytest.mark.parametrize(
    "learner", [PacBayes(3.0), PacBayes("bound"), OptimalAlignment(radius=0.5)]
)
@pytest.mark.parametrize("kind", ["labels", "values"])
def test_streaming_over_random_batches_equals_one_fit(problem, seed, learner, kind):
    X, y = problem
    y = y if kind == "labels" else X[:, 1] + 50
    rng = np.random.default_rng(seed)
    whole = features(seed).set_params(learner=learner).fit(X, y)
    streamed = features(seed).set_params(learner=learner)
    cuts = np.sort(rng.choice(np.arange(1, 300), size=9, replace=False))
    for rows in np.split(np.arange(300), cuts):
        streamed.partial_fit(X[rows], y[rows], classes=[0, 1, 2] if kind == "labels" else None)
    np.testing.assert_allclose(
        streamed.learned_.weights, whole.learned_.weights, rtol=0, atol=1e-10
    )
    np.testing.assert_array_equal(streamed.selected_, whole.selected_)
    np.testing.assert_allclose(streamed.transform(X), whole.transform(X), atol=1e-12)


def test_rows_one_by_one_and_classes_as_they_come(problem, seed):
    X, y = problem
    X, y = X[:40], np.array(["low", "middle", "high"])[y[:40]]
    streamed = features(seed)
    for i in range(40):
        streamed.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(
        streamed.learned_.weights, features(seed).fit(X, y).learned_.weights, rtol=0, atol=1e-10
    )


def test_two_halves_merge_to_the_whole_even_through_a_pickle(problem, seed):
    X, y = problem
    order = np.argsort(y, kind="stable")  # no half sees all classes
    X, y = X[order], y[order]
    left, right = features(seed).fit(X[:150], y[:150]), features(seed).fit(X[150:], y[150:])
    merged = left.merge(pickle.loads(pickle.dumps(right)))
    whole = features(seed).fit(X, y)
    np.testing.assert_allclose(merged.learned_.weights, whole.learned_.weights, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(merged.selected_, whole.selected_)
    with pytest.raises(ValueError, match="different candidates"):
        left.merge(features(seed + 100).fit(X, y))


def test_undeclared_labels_and_several_outputs_cannot_be_streamed(problem, seed):
    X, y = problem
    with pytest.raises(ValueError, match="declared"):
        features(seed).partial_fit(X, y, classes=[0, 1])
    several = features(seed).partial_fit(X[:9], X[:9, :2])
    with pytest.raises(ValueError, match="Several real outputs"):
        several.partial_fit(X[9:], X[9:, :2])


def test_fit_forgets_and_partial_fit_after_fit_continues(problem, seed):
    X, y = problem
    twice = features(seed).fit(X[:100], y[:100]).fit(X, y)
    continued = features(seed).fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    np.testing.assert_allclose(twice.learned_.weights, continued.learned_.weights, atol=1e-10)


def test_a_learner_that_cannot_stream_has_no_partial_fit(problem):
    class Keeps(Learner):
        def _learn(self, measure, rows, target, rng, weights):
            return Learned(measure, None)

    estimator = SpectralFeatures(learner=Keeps())
    assert not hasattr(estimator, "partial_fit")
    assert not hasattr(estimator.fit(*problem), "sums_")


def test_relearning_equals_fitting_with_the_other_parameters(problem, seed):
    X, y = problem
    fitted = features(seed).fit(X, y)
    again = fitted.relearned(OptimalAlignment(radius=0.2), n_components=5)
    fresh = (
        features(seed, n_components=5).set_params(learner=OptimalAlignment(radius=0.2)).fit(X, y)
    )
    np.testing.assert_allclose(again.transform(X), fresh.transform(X), atol=1e-12)
    assert fitted.n_components == 12
    assert len(fitted.measure_) == 12
    clone(again)
    with pytest.raises(TypeError, match="AlignmentLearner"):
        fitted.relearned(MarginGame())


def test_alignment_bound_speaks_of_the_kernel_in_use(problem, seed):
    X, y = problem
    fitted = features(seed).fit(X, y)
    selected, learned = fitted.alignment_bound(), fitted.alignment_bound(of="learned")
    assert selected.valid
    gram = fitted.measure_.kernel(X)
    target = np.where(y[:, None] == y[None], 1, -1)
    off_diagonal = ~np.eye(300, dtype=bool)
    assert selected.empirical == pytest.approx(np.mean((1 - target * gram)[off_diagonal] / 2))
    assert learned.empirical != selected.empirical
    assert selected.complexity > learned.complexity
    looser = fitted.alignment_bound(delta=0.001)
    assert looser.value > selected.value
    ball = fitted.relearned(OptimalAlignment(radius=0.5, mu=3))
    assert ball.alignment_bound().valid
    assert not ball.alignment_bound(form="paper").valid


def test_a_prior_read_off_the_data_is_no_prior(problem, seed):
    X, y = problem
    for prior in (None, Gaussian("median")):
        bound = SpectralFeatures(prior, PacBayes(), random_state=seed).fit(X, y).alignment_bound()
        assert not bound.valid
        assert "data" in bound.reason
    with pytest.raises(TypeError, match="learner by alignment"):
        SpectralFeatures().fit(X).alignment_bound()


def learned_on_few_rows(family):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=60) > 0
    return Evidence(n_iterations=2).learn(family, X, y, rng).prior, X, y


@pytest.mark.parametrize("family", [Anova(), Gaussian(), Laplace(), Matern()], ids=repr)
def test_a_prior_learned_by_evidence_is_no_prior_for_the_same_rows(family):
    learned, X, y = learned_on_few_rows(family)
    plain = type(learned)(**learned.get_params())  # states that the numbers come from other rows
    for features in (
        SpectralFeatures(learned, PacBayes(), n_components=10, random_state=0),
        LandmarkFeatures(
            learned, n_components=10, n_landmarks=5, landmarks="random", random_state=0
        ),
    ):
        bound = clone(features).fit(X, y).alignment_bound()
        assert not bound.valid
        assert "learned by Evidence" in bound.reason
        assert features.set_params(prior=plain).fit(X, y).alignment_bound().valid
    for copy in (
        learned,
        clone(learned),
        pickle.loads(pickle.dumps(learned)),
        deepcopy(learned),
        learned.resolved(X),
    ):
        assert copy._learned
    assert not plain._learned
    assert not family._learned


def test_a_certified_classifier_needs_a_prior_that_has_not_seen_all_rows():
    """A bandwidth "scale" is computed on the first part of the rows; a learned prior may have seen
    all rows.
    """
    learned, X, y = learned_on_few_rows(Gaussian())
    features = SpectralFeatures(learned, n_components=4)
    for made in (features, make_pipeline(StandardScaler(), features)):
        model = CertifiedClassifier(made, random_state=0).fit(X, y)
        for bound in (model.gibbs_bound_, model.bound_):
            assert not bound.valid
            assert "learned by Evidence" in bound.reason
    for prior in (Gaussian("scale"), Gaussian(gamma=learned.gamma)):
        model = CertifiedClassifier(SpectralFeatures(prior, n_components=4), random_state=0).fit(
            X, y
        )
        assert model.gibbs_bound_.valid
        assert model.bound_.valid


def test_float32_rows_get_float32_candidates(problem, seed):
    X, y = problem
    single = features(seed).fit(X.astype(np.float32), y)
    assert single.candidates_.frequencies.dtype == np.float32
    np.testing.assert_allclose(
        single.learned_.weights, features(seed).fit(X, y).learned_.weights, rtol=1e-4
    )
    assert single.transform(X.astype(np.float32)).dtype == np.float32


def test_targets_that_no_theorem_covers_are_named(problem, seed):
    X, _ = problem
    real = features(seed).fit(X, X[:, 0]).alignment_bound()
    assert not real.valid
    assert "centered" in real.reason
    small = features(seed).fit(X, TargetSimilarity(np.sign(X[:, :1]))).alignment_bound()
    assert small.valid
    large = features(seed).fit(X, TargetSimilarity(3 * np.sign(X[:, :1]))).alignment_bound()
    assert not large.valid
    assert "up to 9" in large.reason


def test_weighted_batches_are_one_weighted_fit_without_a_theorem(seed):
    rng = np.random.default_rng(seed)
    X, weights = rng.normal(size=(90, 3)), rng.uniform(0, 3, size=90)
    y = (X[:, 0] > 0).astype(int)
    features = SpectralFeatures(
        Gaussian(0.5), PacBayes(), n_components=6, n_candidates=40, random_state=seed
    )
    whole = clone(features).fit(X, y, weights)
    parts, left, right = clone(features), clone(features), clone(features)
    for some in (slice(0, 40), slice(40, 90)):
        parts.partial_fit(X[some], y[some], classes=[0, 1], sample_weight=weights[some])
    left.fit(X[:40], y[:40])
    right.fit(X[40:], y[40:], weights[40:])
    np.testing.assert_allclose(parts.transform(X), whole.transform(X), rtol=1e-9)
    for weighted in (whole, parts, right, left.merge(right)):
        assert "weighted rows" in weighted.alignment_bound().reason
    assert clone(features).fit(X, y).alignment_bound().valid


@pytest.mark.parametrize("rule", ["scale", "median"])
def test_a_bandwidth_from_weighted_rows_is_that_of_repeated_ones(rule, seed):
    rng = np.random.default_rng(seed)
    X, counts = rng.normal(size=(40, 2)), rng.integers(0, 4, size=40)
    found, expected = (
        Gaussian(rule).resolved(X, counts.astype(float)),
        Gaussian(rule).resolved(np.repeat(X, counts, axis=0)),
    )
    assert found.gamma == pytest.approx(expected.gamma, rel=1e-12)
    assert found.gamma != pytest.approx(Gaussian(rule).resolved(X).gamma, rel=1e-6)
