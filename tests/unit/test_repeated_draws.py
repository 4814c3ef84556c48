"""Concentrated weights: the effective number of atoms, and a warning if draws repeat."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from bochner import (
    AlignmentReport,
    FourierMeasure,
    Gaussian,
    PacBayes,
    SpectralFeatures,
    tune_on_validation,
)
from bochner.learners import Learned, Learner

DIGITS, CLASSES = load_digits(return_X_y=True)
DIGITS = scale(DIGITS)
X = np.random.default_rng(0).normal(size=(200, 2))
Y = X[:, 0] > 0


def report(weights):
    weights = np.asarray(weights)
    return AlignmentReport(np.zeros_like(weights), np.full(3, 1 / 3), weights, 50, tradeoff=2.0)


def warnings_of(call, *arguments):
    """The messages of a call's warnings, and its result."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call(*arguments)
    return [str(warning.message) for warning in caught], result


def test_effective_atoms_of_three_weights_by_hand():
    assert report([0.5, 0.3, 0.2]).effective_atoms == pytest.approx(1 / 0.38)
    assert report([1.0, 0.6, 0.4]).effective_atoms == pytest.approx(1 / 0.38)  # of mass two
    assert report([0.0, 1.0, 0.0]).effective_atoms == pytest.approx(1.0)
    np.testing.assert_allclose(
        report([[1, 1, 1.0], [0.5, 0.3, 0.2]]).effective_atoms, [3.0, 1 / 0.38]
    )


def test_the_report_prints_the_effective_number_of_atoms():
    expected = "AlignmentReport(3 atoms, 2.6 effective, n_samples=50, tradeoff=2.0, n_tried=1)"
    assert repr(report([0.5, 0.3, 0.2])) == expected
    assert "1.0 to 3.0 effective" in repr(report([[1, 1, 1.0], [1, 0, 0]]))


def digits_features(**changes):
    settings = {
        "learner": PacBayes(beta="bound"),
        "n_candidates": 2000,
        "n_components": 20,
        "random_state": 0,
    }
    return SpectralFeatures(**settings | changes)


def test_weights_that_collapse_on_digits_are_reported_in_one_warning():
    messages, fitted = warnings_of(digits_features().fit, DIGITS, CLASSES)
    n_distinct, effective = len(np.unique(fitted.selected_)), fitted.report_.effective_atoms
    assert n_distinct <= 14
    assert 5 < effective < 40
    assert messages == [
        f"Only {n_distinct} of the 20 frequencies drawn are distinct: the learned weights amount "
        f"to {effective:.1f} "
        'effective atoms of 2000. Write selection="top", use a smaller beta (PacBayes) or radius '
        "(OptimalAlignment), "
        "or more n_candidates."
    ]
    assert not warnings_of(fitted.relearned, PacBayes(beta=0.5))[0]
    assert not warnings_of(fitted.set_params(selection="top").relearned)[0]


@pytest.mark.parametrize(
    "settings",
    [
        {"learner": None, "n_candidates": None},
        {"learner": PacBayes(beta=0.0)},
        {"selection": "top"},
        {"selection": "all"},
        {"n_candidates": None},
    ],
    ids=str,
)
def test_plain_draws_and_kept_weights_do_not_warn(settings):
    settings = {"n_candidates": 2000, "learner": PacBayes(beta=1e3)} | settings
    assert not warnings_of(
        SpectralFeatures(Gaussian(), n_components=20, random_state=0, **settings).fit, X, Y
    )[0]


def test_few_draws_that_repeat_by_chance_do_not_warn():
    settings = {"n_candidates": 40, "n_components": 6, "learner": PacBayes(beta=0.0)}
    for seed in range(20):
        features = SpectralFeatures(Gaussian(), random_state=seed, **settings)
        messages, _ = warnings_of(features.fit, X, Y)
        assert not messages
        if len(set(features.selected_)) < 5:
            return
    pytest.fail("no seed repeats a draw: this test tests nothing")


class OneAtom(Learner):
    """Puts almost all the weight on the first atom."""

    def _learn(self, measure, rows, target, rng, weights):
        new_weights = np.append(1.0, np.full(len(measure) - 1, 1e-12))
        return Learned(FourierMeasure(measure.frequencies, new_weights), None)


def collapsing(learner):
    return SpectralFeatures(Gaussian(), learner, n_candidates=50, n_components=10, random_state=0)


def test_draws_from_any_learner_are_compared():
    messages, _ = warnings_of(collapsing(OneAtom()).fit, X, Y)
    assert len(messages) == 1
    assert messages[0].startswith("Only 1 of the 10 frequencies drawn are distinct")


def test_batches_warn_once_and_each_fit_again():
    features = collapsing(PacBayes(beta=1e3))

    def two_batches():
        return features.partial_fit(X[:100], Y[:100]).partial_fit(X[100:], Y[100:])

    assert len(warnings_of(two_batches)[0]) == 1
    assert len(warnings_of(features.fit, X, Y)[0]) == 1
    assert len(warnings_of(features.relearned, PacBayes(beta=1e4))[0]) == 1


@pytest.mark.parametrize("betas", [(1e3, 1e4), (1e3, 0.0)], ids=str)
def test_tuning_warns_of_the_chosen_learner_only(betas):
    fitted = collapsing(PacBayes(beta=0.0)).fit(X, Y)
    grid = {"learner": [PacBayes(beta=beta) for beta in betas]}
    parts = X[::2], Y[::2], X[1::2], Y[1::2]
    messages, tuned = warnings_of(tune_on_validation, fitted, LogisticRegression(), grid, *parts)
    assert len(messages) == (tuned.parameters["learner"].beta > 0)
