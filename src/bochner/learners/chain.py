"""Chain: one learner after the other."""

from __future__ import annotations

from typing import Any, Self

from .base import Learned, Learner, check_learner


class Chain(Learner):
    """Apply two learners one after the other: the measure of one is the start of the next.

    The report is the list of the reports of all learners. For more than two learners, nest chains.
    Theorems about a learner need a start that does not depend on the rows. So no bound is known for
    the measure of a chain.

    Parameters
    ----------
    first : Learner
        The first learner.
    second : Learner
        The second learner.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian, JointDescent, PacBayes
    >>> X = np.random.default_rng(0).normal(size=(50, 1))
    >>> chain = Chain(PacBayes(beta=5.0), JointDescent(n_epochs=2))
    >>> learned = chain.learn(Gaussian().sample(5, 1, rng=0), X, X[:, 0] > 0, rng=0)
    >>> [type(report).__name__ for report in learned.report]
    ['AlignmentReport', 'DescentReport']
    """

    def __init__(self, first: Learner, second: Learner):
        self.first = first
        self.second = second

    def for_prior(self, prior: Any) -> Self:
        """Return the chain of the learners for this prior."""
        return type(self)(self.first.for_prior(prior), self.second.for_prior(prior))

    def check_parameters(self) -> None:
        check_learner(self.first)
        check_learner(self.second)

    def _learn(self, measure, rows, target, rng, weights):
        reports: list[Any] = []
        for learner in (self.first, self.second):
            learned = learner._learn(measure, rows, target, rng, weights)
            measure = learned.measure
            reports += learned.report if isinstance(learner, Chain) else [learned.report]
        return Learned(measure, reports)
