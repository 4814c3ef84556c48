"""Probabilities of the published boosters: a slope from held-out rows, classes as they were."""

import numpy as np
import pytest
from selection import long_except
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from bochner import GBRFF1Classifier, GBRFF2Classifier
from bochner.boosting.gbrff_base import held_out_rows, margin_slope
from bochner.losses import Exponential, class_probabilities


def noisy(n_classes):
    return make_classification(
        600,
        12,
        n_informative=4,
        n_classes=n_classes,
        n_clusters_per_class=1,
        flip_y=0.2,
        class_sep=0.8,
        random_state=0,
    )


@pytest.mark.parametrize(
    "case",
    long_except(
        [(cls, n_classes) for cls in (GBRFF1Classifier, GBRFF2Classifier) for n_classes in (2, 3)],
        (GBRFF2Classifier, 3),
    ),
    ids=lambda case: f"{case[0].__name__} of {case[1]} classes",
)
def test_the_slope_changes_no_class_and_lowers_the_log_loss_of_overfitted_margins(case):
    cls, n_classes = case
    X, y = noisy(n_classes)
    model = cls(n_rounds=60, random_state=0).fit(X[:200], y[:200])
    plain = clone(model).set_params(calibrated=False).fit(X[:200], y[:200])
    assert plain.slope_ == 1.0
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)]
    )
    losses = [log_loss(y[200:], fitted.predict_proba(X[200:])) for fitted in (model, plain)]
    assert losses[0] < losses[1] * (0.8 if cls is GBRFF2Classifier else 1.01)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_slope_is_the_best_of_a_fine_grid(n_classes):
    rng = np.random.default_rng(n_classes)
    scores = 2 * rng.normal(size=(80, 1 if n_classes == 2 else n_classes))
    codes, counts = rng.integers(n_classes, size=80), rng.integers(1, 4, 80).astype(float)
    scores += 2 * codes[:, None] - 1 if n_classes == 2 else np.eye(n_classes)[codes]
    total, losses, slopes = counts.sum(), [], np.exp(np.linspace(-5, 1, 601))
    is_own = codes[:, None] == np.arange(n_classes)
    shares = np.where(is_own, (total + 1) / (total + 2), 1 / (total + 2) / (n_classes - 1))
    for slope in slopes:
        chances = class_probabilities(Exponential(), slope * scores)
        losses.append(-np.sum(counts[:, None] * shares * np.log(chances)))
    assert margin_slope(Exponential(), scores, codes, counts) == pytest.approx(
        slopes[np.argmin(losses)], rel=0.02
    )


def test_separated_rows_ask_for_a_finite_slope():
    codes = np.arange(40) % 2
    slope = margin_slope(Exponential(), 30.0 * (2.0 * codes[:, None] - 1), codes, np.ones(40))
    # 2 slope · 30 are the odds of 41 rows to one.
    assert slope == pytest.approx(np.log(41) / 60, rel=1e-3)


def test_a_quarter_of_every_class_is_held_out():
    codes = np.repeat([0, 1, 2], [40, 2, 9])
    counts = np.ones(51)
    held = held_out_rows(codes, 3, counts, np.random.default_rng(0))
    assert np.all(np.diff(held) > 0)
    assert np.bincount(codes[held]).tolist() == [10, 1, 2]
    counts[41] = 0
    assert held_out_rows(codes, 3, counts, np.random.default_rng(0)) is None


def test_at_most_ten_thousand_rows_are_held_out_each_class_by_its_share():
    codes, counts = np.repeat([0, 1, 2], [400_000, 99_998, 2]), np.ones(500_000)
    counts[:100_000] = 0
    held = held_out_rows(codes, 3, counts, np.random.default_rng(0))
    assert held.min() >= 100_000
    assert np.all(np.diff(held) > 0)
    assert np.bincount(codes[held]).tolist() == [7500, 2499, 1]


def test_a_class_of_one_row_keeps_the_odds_of_the_loss():
    X, y = noisy(2)
    one = np.append(np.flatnonzero(y == 0)[:30], np.flatnonzero(y == 1)[0])
    assert GBRFF2Classifier(n_rounds=5, random_state=0).fit(X[one], y[one]).slope_ == 1.0


def test_warm_start_and_zero_weights_end_in_the_same_slope():
    X, y = noisy(2)
    X, y = X[:120], y[:120]
    whole = GBRFF2Classifier(n_rounds=12, random_state=0).fit(X, y)
    grown = GBRFF2Classifier(n_rounds=5, random_state=0, warm_start=True).fit(X, y)
    assert grown.set_params(n_rounds=12).fit(X, y).slope_ == pytest.approx(whole.slope_)
    weights = (np.arange(120) < 100).astype(float)
    absent = GBRFF2Classifier(n_rounds=12, random_state=0).fit(X, y, weights)
    assert absent.slope_ == pytest.approx(
        GBRFF2Classifier(n_rounds=12, random_state=0).fit(X[:100], y[:100]).slope_
    )


def test_bad_flag_is_named():
    with pytest.raises(TypeError, match="calibrated"):
        GBRFF2Classifier(calibrated="yes").fit(*noisy(2))
