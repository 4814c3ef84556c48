"""A learner is a type: a stateless rule ``measure, rows, target -> measure``, with a report of what it found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._compute import Rows, as_rows
from .._validation import check_weights
from ..targets import Target, as_target


@dataclass(frozen=True, eq=False)
class Learned:
    """What a learner returns: the learned ``measure``, and a ``report`` of what it found on the way."""

    measure: Any
    report: Any


class Learner(BaseEstimator, ABC):
    """A rule that reweights, moves or finds atoms; a parameter object, never fitted."""

    def learn(
        self, measure: Any, X: Any, y: Any, rng: np.random.Generator | None = None, weights: Any = None
    ) -> Learned:
        """The learned measure and a report.

        ``X`` and ``y`` are rows and targets of any kind, or the ``Rows`` and ``Target`` that an estimator has made of them.
        ``weights`` of the rows count like repetitions; a learner that cannot honour them refuses them.  An interruption is
        not caught.
        """
        self.check_parameters()
        rows = as_rows(X)
        return self._learn(measure, rows, as_target(y, len(rows)), rng, check_weights(weights, len(rows)))

    def check_parameters(self) -> None:
        """Complain about parameters before any work."""

    @abstractmethod
    def _learn(
        self, measure: Any, rows: Rows, target: Target, rng: np.random.Generator | None, weights: np.ndarray | None
    ) -> Learned: ...
