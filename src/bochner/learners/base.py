"""A learner is a type: a stateless rule ``measure, rows, target -> measure``, with a report of what it found."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._compute import Rows, as_rows
from .._random import as_generator
from .._validation import check_weights
from ..targets import Labels, Target, as_target


@dataclass(frozen=True, eq=False)
class Learned:
    """What a learner returns: the learned ``measure``, and a ``report`` of what it found on the way."""

    measure: Any
    report: Any


class Learner(BaseEstimator, ABC):
    """A rule that reweights, moves or finds atoms; a parameter object, never fitted."""

    def learn(self, measure: Any, X: Any, y: Any, rng: Any = None, weights: Any = None) -> Learned:
        """The learned measure and a report.

        ``X`` and ``y`` are rows and targets of any kind, or the ``Rows`` and ``Target`` that an estimator has made of them.
        ``weights`` of the rows count like repetitions; a learner that cannot honour them refuses them.  An interruption is
        not caught.  ``rng`` is a Generator, or what makes one.
        """
        self.check_parameters()
        rows, target, counts = as_data(X, y, weights)
        return self._learn(measure, rows, target, as_generator(rng), counts)

    def check_parameters(self) -> None:
        """Complain about parameters before any work."""

    @abstractmethod
    def _learn(
        self, measure: Any, rows: Rows, target: Target, rng: np.random.Generator, weights: np.ndarray | None
    ) -> Learned: ...


def check_learner(learner: Any, kind: Any = Learner) -> None:
    """Complain unless ``learner`` is a learner of this kind, and about its parameters."""
    if isinstance(learner, type):
        raise TypeError(
            f"learner must be an object, got the class {learner.__name__}. Write learner={learner.__name__}()."
        )
    if not isinstance(learner, kind):
        raise TypeError(f"learner must be of type {kind.__name__}, such as PacBayes(), got {learner!r}.")
    learner.check_parameters()


def as_data(X: Any, y: Any, weights: Any = None) -> tuple[Rows, Target, np.ndarray | None]:
    """What a learner works on.  Classes of weight zero are left out, as repeated rows would not show them."""
    rows = as_rows(X)
    target, weights = as_target(y, len(rows)), check_weights(weights, len(rows))
    return rows, target.present(weights) if isinstance(target, Labels) else target, weights
