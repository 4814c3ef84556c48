"""Base of solvers: parameter objects whose ``init`` returns a factorization that solves ridges."""

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
    """Return the features of a FourierMeasure or a transformer as a function of rows."""
    return source.block() if isinstance(source, FourierMeasure) else source.transform


@dataclass(frozen=True, eq=False)
class CenteredRows:
    """Features and targets around the means of the training rows, if there is an intercept.

    ``source`` is a FourierMeasure or a fitted transformer; ``share`` is the part of the intercept
    in a leverage: 1 / Σ weights, or 0.
    """

    source: Any
    feature_mean: np.ndarray
    target_mean: np.ndarray
    share: float

    @classmethod
    def of(cls, source: Any, statistics: RidgeStatistics, fit_intercept: bool) -> CenteredRows:
        """Return rows around the means of these sums."""
        features, targets = statistics.feature_mean, statistics.target_mean
        if fit_intercept:
            return cls(source, features, targets, 1 / statistics.weight)
        return cls(source, np.zeros_like(features), np.zeros_like(targets), 0.0)

    def __call__(self, X: Any) -> np.ndarray:
        features = as_dense(feature_block(self.source)(X)).astype(np.float64, copy=False)
        return features - self.feature_mean

    def targets(self, Y: Any) -> np.ndarray:
        """Return the targets around their mean."""
        return np.asarray(Y, dtype=np.float64) - self.target_mean


@dataclass(frozen=True, eq=False)
class RidgeProblem:
    """min Σ_i h_i ‖f(x_i) − y_i‖² + α ‖f‖²: sums over the rows, and the structure of the outputs.

    ``sums`` are around the means if there is an intercept; ``spectrum`` is the eigensystem of their
    Gram matrix and ΦᵀY, or None.
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
    """Coefficients of the scalar features, (n_columns, n_outputs), and the number of steps."""

    coefficients: np.ndarray
    n_iter: int = 1


class Factorization(ABC):
    """A problem prepared by a solver, to be solved for one ridge after the other."""

    @abstractmethod
    def solve(self, alpha: float) -> Solution:
        """Return the minimizer for one ridge."""

    def mean_leverage(self, alpha: float) -> float:
        """Return the mean leverage of the rows; zero if no matrix was factorized."""
        return 0.0


class Solver(BaseEstimator, ABC):
    """Base of solvers of ridge problems; a parameter object, never fitted."""

    # True if it needs a matrix of all pairs of unknowns, or all rows and not only their sums.
    needs_matrix: ClassVar[bool] = False
    needs_rows: ClassVar[bool] = False

    @abstractmethod
    def init(
        self, problem: RidgeProblem, data: TrainingData | None = None, rng: Seed = None
    ) -> Factorization:
        """Return the factorization; ``data`` are the rows of the sums, None if they are gone."""

    def check_parameters(self) -> None:
        """Raise an error for parameters that cannot be used."""
