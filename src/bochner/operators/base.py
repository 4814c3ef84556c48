"""An operator-valued kernel: a scalar prior, and a matrix factor B(ω) for each frequency."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from .._checks import Seed, as_generator, check_count
from .._estimator import NestedDefaults
from ..data.checks import check_gram_inputs
from ..measures.fourier import FourierMeasure
from ..priors import Gaussian, SpectralPrior
from .measure import OperatorMeasure


class OperatorKernel(NestedDefaults, ABC):
    """Base class of operator-valued kernels K(x, z) = E cos(ω·(x − z)) A(ω), A(ω) = B(ω) B(ω)ᵀ.

    A kernel is a parameter object and never fitted. Its ``prior`` is a prior such as
    ``Gaussian(gamma=1.0)``, or a ``FourierMeasure``, whose frequencies and weights are then used as
    they are. Subclasses define ``n_outputs``, ``factors`` and the closed form.

    Examples
    --------
    >>> from bochner import CurlFree, Decomposable
    >>> issubclass(CurlFree, OperatorKernel), issubclass(Decomposable, OperatorKernel)
    (True, True)
    """

    prior: Any
    # Whether K(x, z) = k(x, z) A with one matrix A, ``matrix()``, so that outputs decouple; and
    # whether outputs are directions.
    decomposable: ClassVar[bool] = False
    vector_field: ClassVar[bool] = False

    @abstractmethod
    def n_outputs(self, n_features: int) -> int:
        """Size p of K(x, z) for points of ``n_features``."""

    @abstractmethod
    def factors(self, frequencies: np.ndarray) -> np.ndarray:
        """B(ω), (n_atoms or 1, n_outputs, rank)."""

    @abstractmethod
    def _gram(self, prior: SpectralPrior, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """The closed form for points in float64."""

    def sample(
        self, n_atoms: int, n_features: int, rng: Seed, sampling: str = "iid"
    ) -> OperatorMeasure:
        """Draw ``n_atoms`` frequencies with their factors; the mean of their kernel over draws is
        ``kernel``.

        ``rng`` is a Generator or a seed.  A ``FourierMeasure`` in place of a prior is resampled in
        proportion to its weights.
        """
        prior, rng = self.checked_prior(), as_generator(rng, "rng")
        if isinstance(prior, FourierMeasure):
            if prior.n_features != n_features:
                raise ValueError(
                    f"The measure lives on {prior.n_features} features, got "
                    f"n_features={n_features}."
                )
            return self.lift(prior.resampled(n_atoms, rng))
        return self.lift(
            prior.sample(n_atoms, check_count(n_features, "n_features"), rng, sampling)
        )

    def lift(self, scalar: FourierMeasure) -> OperatorMeasure:
        """The operator-valued measure on the frequencies and weights of ``scalar``, learned or not."""
        self.checked_prior()
        self.n_outputs(scalar.n_features)  # refuses dimensions that do not fit
        return OperatorMeasure(
            scalar, self.factors(np.asarray(scalar.frequencies, dtype=np.float64))
        )

    def kernel(self, X: Any, Z: Any = None) -> np.ndarray:
        """The closed-form K(x, z) for all pairs, (n_samples, n_other_samples, n_outputs,
        n_outputs).
        """
        prior = self.checked_prior()
        X, Z = check_gram_inputs(X, Z)
        if isinstance(prior, FourierMeasure):
            return self.lift(prior).kernel(X, Z)
        self.n_outputs(X.shape[1])
        return self._gram(prior, X.astype(np.float64, copy=False), Z.astype(np.float64, copy=False))

    def resolved(self, X: Any, weights: Any = None) -> Self:
        """This kernel with a bandwidth ``"scale"`` or ``"median"`` replaced by the number that the
        (weighted) rows X give.
        """
        prior = self.checked_prior()
        if isinstance(prior, FourierMeasure):
            return self
        return clone(self).set_params(prior=prior.resolved(X, weights))

    def space(self, n_features: int) -> np.ndarray:
        """The columns of X that the outputs are directions of, as indices."""
        return np.arange(n_features)

    def check_outputs(self, n_features: int, n_outputs: int) -> None:
        """Refuse a y whose columns are not the outputs of this kernel."""
        expected = self.n_outputs(n_features)
        if expected != n_outputs:
            raise ValueError(
                f"{type(self).__name__} has {expected} outputs on these points, but y has "
                f"{n_outputs} columns. {self._advice}"
            )

    _advice: ClassVar[str] = "Give y one column for each output."

    @property
    def learns_outputs(self) -> bool:
        """Whether ``resolved_outputs`` needs the spectrum of the features."""
        return False

    def resolved_outputs(self, covariance: np.ndarray, spectrum: tuple | None = None) -> Self:
        """This kernel with what it takes from the training outputs as numbers.

        ``covariance`` is theirs; ``spectrum``, where features were factorized, holds the arguments
        of ``learned_output_matrix``.
        """
        return self

    _defaults: ClassVar = {"prior": Gaussian(gamma="scale")}

    def checked_prior(self) -> SpectralPrior | FourierMeasure:
        """The prior, or the measure that stands in its place."""
        prior = self._component("prior")
        if not isinstance(prior, SpectralPrior | FourierMeasure):
            raise TypeError(
                "prior must be a prior such as Gaussian(gamma=1.0), or a FourierMeasure, got "
                f"{self.prior!r}."
            )
        return prior
