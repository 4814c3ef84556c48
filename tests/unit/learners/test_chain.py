"""Chains of learners."""

import numpy as np
import pytest
from sklearn.base import clone

from bochner import (
    Gaussian,
    JointDescent,
    OptimalAlignment,
    PacBayes,
    PacBayesLangevin,
    SpectralFeatures,
)
from bochner.learners import Chain


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, X[:, 0] * X[:, 1] > 0, Gaussian().sample(8, 2, rng)


def test_the_measure_of_one_is_the_start_of_the_next():
    X, y, start = data()
    first, second, third = PacBayes(5.0), JointDescent(n_epochs=2), OptimalAlignment(radius=0.3)
    chain = Chain(Chain(first, second), third)
    learned = chain.learn(start, X, y, 3)
    rng, measure, reports = np.random.default_rng(3), start, []
    for learner in (first, second, third):
        one = learner.learn(measure, X, y, rng)
        measure, reports = one.measure, [*reports, one.report]
    np.testing.assert_array_equal(learned.measure.frequencies, measure.frequencies)
    np.testing.assert_array_equal(learned.measure.weights, measure.weights)
    assert [type(one) for one in learned.report] == [type(one) for one in reports]


def test_parameters_are_nested_and_priors_are_handed_on():
    chain = Chain(PacBayes(5.0), PacBayesLangevin(3.0, n_steps=2))
    copy = clone(chain).set_params(first__beta=2.0, second__n_steps=3)
    assert (copy.first.beta, chain.first.beta) == (2.0, 5.0)
    assert copy.second.n_steps == 3
    X, y, _ = data()
    features = SpectralFeatures(Gaussian(), chain, n_components=6, random_state=0).fit(X, y)
    assert len(features.report_) == 2
    with pytest.raises(TypeError, match="bound"):
        features.alignment_bound()


def test_other_objects_are_refused_before_any_work():
    X, y, start = data()
    with pytest.raises(TypeError, match="learner must be of type Learner"):
        Chain(PacBayes(), "JointDescent").learn(start, X, y, 0)
    with pytest.raises(ValueError, match="beta"):
        Chain(PacBayes(), PacBayes(beta=-1.0)).learn(start, X, y, 0)
