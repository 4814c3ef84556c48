"""Chain: several learners, one after the other."""

from __future__ import annotations

from typing import Any, Self

from .base import Learned, Learner, check_learner


class Chain(Learner):
    """Apply learners one after the other: the measure of one is the start of the next.

    The report is the list of their reports. Theorems about a learner need a start that does not
    depend on the rows. So no bound is known for the measure of a chain.

    Parameters
    ----------
    learners : sequence of Learner
        The learners in their order. Learner k has the name ``str(k)``, so that its parameters are
        set by e.g. ``set_params(**{"0__beta": 2.0})``.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian, JointDescent, PacBayes
    >>> X = np.random.default_rng(0).normal(size=(50, 1))
    >>> chain = Chain([PacBayes(beta=5.0), JointDescent(n_epochs=2)])
    >>> learned = chain.learn(Gaussian().sample(5, 1, rng=0), X, X[:, 0] > 0, rng=0)
    >>> [type(report).__name__ for report in learned.report]
    ['AlignmentReport', 'DescentReport']
    """

    def __init__(self, learners: Any):
        self.learners = learners

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with ``deep`` also each learner and its parameters."""
        parameters = super().get_params(deep=False)
        if deep:
            for name, learner in self._named().items():
                parameters[name] = learner
                own = learner.get_params().items()
                parameters.update({f"{name}__{key}": value for key, value in own})
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Set ``learners``, single ones by their number, or parameters of them."""
        if "learners" in parameters:
            super().set_params(learners=parameters.pop("learners"))
        replaced = {name: parameters.pop(name, one) for name, one in self._named().items()}
        if any(one is not replaced[name] for name, one in self._named().items()):
            self.learners = list(replaced.values())
        return super().set_params(**parameters)

    def for_prior(self, prior: Any) -> Self:
        """Return the chain of the learners for this prior."""
        return type(self)([learner.for_prior(prior) for learner in self.learners])

    def check_parameters(self) -> None:
        if not isinstance(self.learners, list | tuple) or not self.learners:
            raise TypeError(
                f"learners must be a list of learners, got {self.learners!r}. Write e.g. "
                "Chain([PacBayes(), JointDescent()])."
            )
        for learner in self.learners:
            check_learner(learner)

    def check_kind(self, X: Any) -> None:
        for learner in self.learners:
            learner.check_kind(X)

    def _named(self):
        """Return the learners by name; none if ``learners`` is not a sequence."""
        is_sequence = isinstance(self.learners, list | tuple)
        return {str(k): one for k, one in enumerate(self.learners)} if is_sequence else {}

    def _learn(self, measure, rows, target, rng, weights):
        reports = []
        for learner in self.learners:
            learned = learner._learn(measure, rows, target, rng, weights)
            measure = learned.measure
            reports.append(learned.report)
        return Learned(measure, reports)
