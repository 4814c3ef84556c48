"""What the learners share that keep the frequencies and change their weights by the alignment losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..alignment import AlignmentSums, alignment_sums
from ..bounds import Bound
from ..measures import FourierMeasure


@dataclass(frozen=True, eq=False)
class AlignmentReport:
    """What reweighting found: the losses, the weights before and after, and the parameter that was used.

    ``tradeoff`` is the beta or the radius behind the weights; ``n_tried`` how many were compared on the same data.
    """

    losses: np.ndarray
    prior_weights: np.ndarray
    weights: np.ndarray
    n_samples: int
    tradeoff: float
    n_tried: int = 1

    def empirical(self, weights: np.ndarray) -> float:
        """Σ_m Q_m L̂(ω_m), the empirical alignment loss of the kernel with these weights."""
        return float(weights @ self.losses / weights.sum())


class AlignmentLearner(BaseEstimator, ABC):
    """Reweight atoms by their alignment losses; all it asks of the data is additive (``alignment_sums``)."""

    def learn(self, measure: FourierMeasure, X: Any, y: Any, rng: np.random.Generator | None = None) -> FourierMeasure:
        """The measure with learned weights, of the same mass; nothing is random here, ``rng`` is not used."""
        return self.learn_with_report(measure, X, y, rng)[0]

    def learn_with_report(
        self, measure: FourierMeasure, X: Any, y: Any, rng: np.random.Generator | None = None
    ) -> tuple[FourierMeasure, AlignmentReport]:
        """The measure and the ``AlignmentReport``."""
        self.check_parameters()
        return self.learn_from_sums(measure, alignment_sums(measure, X, y))

    def learn_from_sums(self, measure: FourierMeasure, sums: AlignmentSums) -> tuple[FourierMeasure, AlignmentReport]:
        """The same from sums collected before: O(n_atoms), the data is not needed any more."""
        self.check_parameters()
        report = self.weigh(measure.weights, sums.losses(), sums.n_samples)
        return measure.reweighted(report.weights), report

    @abstractmethod
    def check_parameters(self) -> None:
        """Complain about parameters before any work."""

    @abstractmethod
    def weigh(self, prior_weights: np.ndarray, losses: np.ndarray, n_samples: float) -> AlignmentReport:
        """New weights, of the same mass, from the losses of the atoms: all that a subclass decides."""

    @abstractmethod
    def bound(
        self, report: AlignmentReport, weights: np.ndarray | None = None, *, delta: float = 0.05, form: str = "safe"
    ) -> Bound:
        """A guarantee on the alignment loss of the kernel with ``weights`` (by default the learned ones)."""
