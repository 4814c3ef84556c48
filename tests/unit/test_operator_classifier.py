"""OperatorRidgeClassifier: simplex coding, its equivalences, and probabilities."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.metrics import log_loss

from bochner import (
    CurlFree,
    Decomposable,
    Gaussian,
    JointDescent,
    MarginGame,
    OperatorRidge,
    OperatorRidgeClassifier,
    PacBayes,
    SpectralFeatures,
    simplex_code,
)
from bochner.learners.base import Learned, Learner


def test_it_is_a_ridge_on_codes():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    model = OperatorRidgeClassifier(alpha=0.1, random_state=0).fit(X, labels)
    ridge = OperatorRidge(alpha=0.1, random_state=0).fit(X, simplex_code(3).T[y])
    np.testing.assert_allclose(
        model.decision_function(X), ridge.predict(X) @ simplex_code(3), atol=1e-12
    )
    assert set(model.predict(X)) <= {"a", "b", "c"}
    assert model.score(X, labels) > 0.95


def test_putting_the_code_into_the_kernel_scales_the_ridge():
    """One-hot targets with A = CᵀC give the scores of codes with the ridge multiplied by (L − 1) /
    L.
    """
    X, y = load_iris(return_X_y=True)
    code = simplex_code(3)
    in_kernel = OperatorRidge(
        Decomposable(Gaussian(0.2), code.T @ code), alpha=0.3, random_state=0
    ).fit(X, np.eye(3)[y])
    on_codes = OperatorRidgeClassifier(
        Decomposable(Gaussian(0.2)), alpha=0.3 * 2 / 3, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(
        in_kernel.predict(X) * 3 / 2, on_codes.decision_function(X), atol=1e-9
    )


class SeesLabels(Learner):
    """A learner that needs labels, and keeps the measure."""

    def _learn(self, measure, rows, target, rng, weights):
        return Learned(measure, target.classes[target.codes])


@pytest.mark.parametrize(
    "learner",
    [SeesLabels(), PacBayes(), MarginGame(n_rounds=10), JointDescent(n_epochs=3)],
    ids=repr,
)
def test_learners_see_labels_not_codes(learner):
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    features = SpectralFeatures(learner=learner, n_components=30)
    model = OperatorRidgeClassifier(features=features, alpha=0.1, random_state=0).fit(X, labels)
    assert model.score(X, labels) > 0.9
    if isinstance(learner, SeesLabels):
        np.testing.assert_array_equal(model.ridge_.features_.report_, labels)


def test_two_classes_have_one_score():
    X, y = make_moons(200, noise=0.1, random_state=0)
    model = OperatorRidgeClassifier(alpha=0.1, random_state=0).fit(X, y)
    assert model.decision_function(X).shape == (200,)
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.score(X, y) > 0.97


def test_probabilities_are_near_the_best_single_temperature_on_new_data():
    X, y = load_digits(return_X_y=True)
    model = OperatorRidgeClassifier(
        n_components=300, alpha=np.logspace(-4, 1, 6), random_state=0
    ).fit(X[:900], y[:900])
    scores = model.decision_function(X[900:])

    def loss(temperature):
        chances = np.exp(scores / temperature - (scores / temperature).max(axis=1, keepdims=True))
        return log_loss(y[900:], chances / chances.sum(axis=1, keepdims=True))

    best = min(loss(t) for t in np.logspace(-2.5, 0.5, 60))
    assert log_loss(y[900:], model.predict_proba(X[900:])) < 1.1 * best
    assert loss(model.temperature_ / 4) > 1.1 * best  # the temperature matters here


def test_bad_input_is_named():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="at least 2 classes"):
        OperatorRidgeClassifier().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="4 outputs on these points, but y has 2"):
        OperatorRidgeClassifier(CurlFree(Gaussian())).fit(X, y)
    with pytest.raises(ValueError, match="alpha must be positive"):
        OperatorRidgeClassifier(alpha=-1.0).fit(X, y)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_temperature_minimizes_the_log_loss_of_rows_left_out(weighted):
    """Against a search on a fine grid of temperatures, each row's log-loss written out."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    y = np.searchsorted([-0.5, 0.5], X[:, 0] + rng.normal(size=300))
    weights = rng.uniform(0.2, 3, size=300) if weighted else np.ones(300)
    model = OperatorRidgeClassifier(n_components=20, random_state=0).fit(
        X, y, sample_weight=weights
    )
    corners = model.code_.T @ model.code_
    fitted = model.expansion_.evaluate(X)
    # The mean leverage is that of a unit of weight; a row is left out with all its weight.
    leverage = model.ridge_.mean_leverage() * np.average(weights, weights=weights)
    left_out = corners[y] - (corners[y] - fitted) / (1 - leverage)

    def log_loss(temperature):
        chances = np.exp(left_out / temperature) / np.exp(left_out / temperature).sum(
            axis=1, keepdims=True
        )
        return -np.average(np.log(chances[np.arange(300), y]), weights=weights)

    grid = model.temperature_ * np.linspace(0.99, 1.01, 2001)
    assert grid[np.argmin([log_loss(t) for t in grid])] == pytest.approx(
        model.temperature_, rel=1.1e-5
    )


def in_parts(model, X, y, sizes, weights=None, **keywords):
    for stop, size in zip(np.cumsum(sizes), sizes, strict=True):
        rows = slice(stop - size, stop)
        model.partial_fit(
            X[rows], y[rows], sample_weight=None if weights is None else weights[rows], **keywords
        )
        keywords = {}
    return model


@pytest.mark.parametrize("sizes", [(150,), (60, 90), (3, 1, 146)])
@pytest.mark.parametrize("class_weight", [None, {0: 3.0, 2: 0.5}])
def test_rows_in_parts_give_the_scores_of_all_rows(sizes, class_weight):
    X, y = load_iris(return_X_y=True)  # sorted: the first parts have one class
    weights = np.random.default_rng(0).uniform(0.1, 2, size=len(X))
    model = OperatorRidgeClassifier(
        Decomposable(Gaussian(0.3)),
        n_components=20,
        alpha=0.1,
        class_weight=class_weight,
        random_state=0,
    )
    whole = clone(model).fit(X, y, weights)
    parts = in_parts(clone(model), X, y, sizes, weights, classes=[0, 1, 2])
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    halves = [
        in_parts(clone(model), X[r], y[r], (75,), weights[r], classes=[0, 1, 2])
        for r in (slice(75), slice(75, 150))
    ]
    before = halves[1].decision_function(X)
    np.testing.assert_allclose(
        halves[0].merge(halves[1]).decision_function(X), whole.decision_function(X), atol=1e-9
    )
    np.testing.assert_array_equal(halves[1].decision_function(X), before)


def test_parts_that_do_not_fit_are_refused():
    X, y = load_iris(return_X_y=True)
    model = OperatorRidgeClassifier(
        Decomposable(Gaussian(0.3)), n_components=5, alpha=1.0, random_state=0
    )
    with pytest.raises(ValueError, match=r"only 1 class: 0. List all that may occur by classes="):
        clone(model).partial_fit(X[:9], y[:9])
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows"):
        clone(model).set_params(class_weight="balanced").partial_fit(X, y)
    first = clone(model).partial_fit(X[:100], y[:100])
    with pytest.raises(ValueError, match=r"y holds the labels \[2\]"):
        first.partial_fit(X[100:], y[100:])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        first.partial_fit(X[:9], y[:9], classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"different classes, \[0, 1\] and \[0, 1, 2\]"):
        first.merge(clone(model).fit(X, y))
    with pytest.raises(TypeError, match="merges with another one"):
        first.merge(3)


def test_a_part_that_is_struck_changes_nothing(monkeypatch):
    X, y = load_iris(return_X_y=True)
    model = OperatorRidgeClassifier(n_components=5, alpha=1.0, random_state=0).fit(X[::2], y[::2])
    before = model.decision_function(X)

    def struck(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr("bochner.models.ridge.model.RidgeStatistics.of", struck)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[1::2], y[1::2])
    np.testing.assert_array_equal(model.decision_function(X), before)
