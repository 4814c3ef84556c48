"""A solver is a parameter object: it says what it needs, and ``init`` gives a factorization that
solves for ridges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from .._checks import Seed
from .._loops.arrays import as_dense
from ..data.training import TrainingData
from ..measures.fourier import FourierMeasure
from .outputs import Outputs
from .statistics import RidgeStatistics
from .systems import Eigensystem


def feature_block(source: Any) -> Callable:
    """The features of a FourierMeasure or a fitted transformer, as a function of a block of rows."""
    return source.block() if isinstance(source, FourierMeasure) else source.transform


@dataclass(frozen=True, eq=False)
class CenteredRows:
    """Features and targets of rows around the means of the training rows; without an intercept, as
    they are.

    ``source`` is a FourierMeasure or a fitted transformer; ``share`` is what the intercept adds to
    a leverage: 1 / Σ weights, or 0.
    """

    source: Any
    feature_mean: np.ndarray
    target_mean: np.ndarray
    share: float

    @classmethod
    def of(cls, source: Any, statistics: RidgeStatistics, fit_intercept: bool) -> CenteredRows:
        """Around the means of these sums."""
        if fit_intercept:
            return cls(
                source, statistics.feature_mean, statistics.target_mean, 1 / statistics.weight
            )
        return cls(
            source, np.zeros_like(statistics.feature_sum), np.zeros_like(statistics.target_sum), 0.0
        )

    def __call__(self, X: Any) -> np.ndarray:
        return (
            as_dense(feature_block(self.source)(X)).astype(np.float64, copy=False)
            - self.feature_mean
        )

    def targets(self, Y: Any) -> np.ndarray:
        """Targets around their mean."""
        return np.asarray(Y, dtype=np.float64) - self.target_mean


@dataclass(frozen=True, eq=False)
class RidgeProblem:
    """min Σ_i h_i ‖f(x_i) − y_i‖² + α ‖f‖²: the sums over the rows, and how outputs go together.

    ``sums`` are around the means where there is an intercept; ``spectrum`` is the eigensystem of
    their Gram matrix and ΦᵀY where it is known already.
    """

    sums: RidgeStatistics
    rows: CenteredRows
    outputs: Outputs
    spectrum: Eigensystem | None = None

    @property
    def matrix(self) -> np.ndarray:
        """M of (M + penalty I) z = b."""
        return self.outputs.matrix(self.sums.gram)

    @property
    def right_side(self) -> np.ndarray:
        """b of (M + penalty I) z = b."""
        return self.outputs.right_side(self.sums.cross)


class Solution(NamedTuple):
    """Coefficients of the scalar features, (n_columns, n_outputs), and the number of steps it took."""

    coefficients: np.ndarray
    n_iter: int = 1


class Factorization(ABC):
    """What a solver makes of a problem: it solves for ridges, one after the other."""

    @abstractmethod
    def solve(self, alpha: float) -> Solution:
        """The minimizer for one ridge."""

    def mean_leverage(self, alpha: float) -> float:
        """Share of the outputs' degrees of freedom that the fit spends; zero where no matrix was
        factorized.
        """
        return 0.0


class Solver(BaseEstimator, ABC):
    """How a ridge is solved; a parameter object, never fitted."""

    # What it needs: a matrix of all pairs of unknowns; the rows again, so that sums of earlier rows
    # are not enough.
    needs_matrix: ClassVar[bool] = False
    needs_rows: ClassVar[bool] = False

    @abstractmethod
    def init(
        self, problem: RidgeProblem, data: TrainingData | None = None, rng: Seed = None
    ) -> Factorization:
        """The factorization; ``data`` are the rows behind the sums where they are still at hand."""

    def check_parameters(self) -> None:
        """Complain about parameters before any work."""
