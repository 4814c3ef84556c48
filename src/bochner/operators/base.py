"""An operator-valued kernel: a scalar prior, and a matrix factor B(ω) for each frequency."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._validation import check_count, check_gram_inputs
from ..measures import FourierMeasure
from ..priors import Gaussian, SpectralPrior
from .measure import OperatorMeasure


class OperatorKernel(BaseEstimator, ABC):
    """K(x, z) = E cos(ω·(x − z)) A(ω), A(ω) = B(ω) B(ω)ᵀ, ω from a scalar prior; a parameter object, never fitted.

    ``prior`` is a prior such as ``Gaussian(gamma=1.0)``, or a ``FourierMeasure`` (for instance a learned one), whose
    frequencies and weights are then used as they are.
    """

    prior: Any

    @abstractmethod
    def n_outputs(self, n_features: int) -> int:
        """Size p of K(x, z) for points of ``n_features``."""

    @abstractmethod
    def factors(self, frequencies: np.ndarray) -> np.ndarray:
        """B(ω), (n_atoms or 1, n_outputs, rank)."""

    @abstractmethod
    def _gram(self, prior: SpectralPrior, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """The closed form for points in float64."""

    def sample(self, n_atoms: int, n_features: int, rng: np.random.Generator, sampling: str = "iid") -> OperatorMeasure:
        """``n_atoms`` frequencies with their factors; the mean of their kernel over draws is ``kernel``.

        A ``FourierMeasure`` in place of a prior is resampled in proportion to its weights.
        """
        prior = self._checked_prior()
        if isinstance(prior, FourierMeasure):
            if prior.n_features != n_features:
                raise ValueError(f"The measure lives on {prior.n_features} features, got n_features={n_features}.")
            return self.lift(prior.resampled(n_atoms, rng))
        return self.lift(prior.sample(n_atoms, check_count(n_features, "n_features"), rng, sampling))

    def lift(self, scalar: FourierMeasure) -> OperatorMeasure:
        """The operator-valued measure on the frequencies and weights of ``scalar``, learned or not."""
        self._checked_prior()
        self.n_outputs(scalar.n_features)  # refuses dimensions that do not fit
        return OperatorMeasure(scalar, self.factors(np.asarray(scalar.frequencies, dtype=np.float64)))

    def kernel(self, X: Any, Z: Any = None) -> np.ndarray:
        """The closed-form K(x, z) for all pairs, (n_samples, n_other_samples, n_outputs, n_outputs)."""
        prior = self._checked_prior()
        X, Z = check_gram_inputs(X, Z)
        if isinstance(prior, FourierMeasure):
            return self.lift(prior).kernel(X, Z)
        self.n_outputs(X.shape[1])
        return self._gram(prior, X.astype(np.float64, copy=False), Z.astype(np.float64, copy=False))

    def resolved(self, X: Any) -> Self:
        """This kernel with a bandwidth ``"scale"`` or ``"median"`` replaced by the number that the data X gives."""
        prior = self._checked_prior()
        if isinstance(prior, FourierMeasure):
            return self
        return clone(self).set_params(prior=prior.resolved(X))

    def _checked_prior(self) -> SpectralPrior | FourierMeasure:
        prior = Gaussian(gamma="scale") if self.prior is None else self.prior
        if not isinstance(prior, SpectralPrior | FourierMeasure):
            raise TypeError(
                f"prior must be a prior such as Gaussian(gamma=1.0), or a FourierMeasure, got {self.prior!r}."
            )
        return prior
