"""Checks of ``bochner.testing``: our own objects pass, and wrong ones are found."""

import numpy as np
import pytest
from cases import LEARNERS, PRIORS, SEARCHING
from selection import long_except

from bochner import FourierMeasure, Gaussian, JointDescent, LandmarkFeatures, SpectralFeatures
from bochner.learners import Learned, Learner
from bochner.testing import check_learner

ALL_LEARNERS = LEARNERS | SEARCHING | {"JointDescent": JointDescent(n_epochs=1)}


class ByCovariance(Learner):
    """A learner of the user: weights in proportion to the squared covariance of wave and target."""

    def __init__(self, power=1.0):
        self.power = power

    def _learn(self, measure, rows, target, rng, weights):
        signs = target.signs()
        if weights is not None:
            signs = signs * weights[:, None]

        def block(X, signs):
            waves = X @ measure.frequencies.T
            return np.cos(waves).T @ signs, np.sin(waves).T @ signs

        cosines, sines = rows.sum(block, signs)
        heights = (np.sum(cosines**2 + sines**2, axis=1) + 1e-9) ** self.power
        learned = FourierMeasure(measure.frequencies, heights / heights.sum())
        return Learned(learned, report=None)


class IgnoresWeights(ByCovariance):
    def _learn(self, measure, rows, target, rng, weights):
        return super()._learn(measure, rows, target, rng, None)


class Unseeded(ByCovariance):
    def _learn(self, measure, rows, target, rng, weights):
        noise = np.random.default_rng().uniform(size=measure.frequencies.shape)
        return Learned(FourierMeasure(measure.frequencies + noise, measure.weights), None)


class DependsOnBlocks(ByCovariance):
    def _learn(self, measure, rows, target, rng, weights):
        n_blocks = float(rows.sum(lambda X: np.array(1.0)))
        return Learned(FourierMeasure(measure.frequencies * n_blocks, measure.weights), None)


class ChangesItsRows(ByCovariance):
    def _learn(self, measure, rows, target, rng, weights):
        rows.source[0] = 0.0
        return super()._learn(measure, rows, target, rng, weights)


class ChangesItself(ByCovariance):
    def _learn(self, measure, rows, target, rng, weights):
        self.power = 2 * self.power
        return super()._learn(measure, rows, target, rng, weights)


class LearnsZero(ByCovariance):
    def _learn(self, measure, rows, target, rng, weights):
        return Learned(FourierMeasure(measure.frequencies, 0 * measure.weights), None)


class ReturnsAMeasure(ByCovariance):
    def _learn(self, measure, rows, target, rng, weights):
        return measure


@pytest.mark.parametrize("name", ALL_LEARNERS)
def test_our_learners_pass(name):
    check_learner(ALL_LEARNERS[name])


@pytest.mark.parametrize("prior", long_except(list(PRIORS), "Gaussian", "Laplace", "Anova 3/2"))
def test_a_learner_of_your_own_works_with_every_prior(prior):
    check_learner(ByCovariance(power=0.5), PRIORS[prior](3))


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (IgnoresWeights(), "weights instead of repetitions"),
        (Unseeded(), "same seed"),
        (DependsOnBlocks(), "short blocks"),
        (ChangesItsRows(), "changes its arguments"),
        (ChangesItself(), "changes the learner"),
        (LearnsZero(), "weights are zero"),
        (ReturnsAMeasure(), "not Learned"),
        (Gaussian(), "not a subclass of Learner"),
    ],
)
def test_wrong_learners_are_found(wrong, fault):
    with pytest.raises(AssertionError, match=fault):
        check_learner(wrong)


def test_what_a_learner_cannot_do_is_refused_by_the_missing_method():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = X[:, 0] > 0
    features = SpectralFeatures(learner=ByCovariance(), n_components=5, random_state=0)
    with pytest.raises(AttributeError) as refused:
        features.partial_fit(X, y)
    assert "no method learn_from_sums" in str(refused.value.__cause__)
    with pytest.raises(TypeError, match="methods learn_from_sums and bound"):
        features.fit(X, y).alignment_bound()
    with pytest.raises(TypeError, match="no method weigh"):
        LandmarkFeatures(learner=ByCovariance()).fit(X, y)
