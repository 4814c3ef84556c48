"""Base class of operator-valued kernels: a scalar prior and a matrix factor per frequency."""

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from .._checks import Seed, as_generator, check_count, missing_method
from .._estimator import NestedDefaults
from .._loops.arrays import as_dense
from ..data.checks import check_gram_inputs
from ..measures.fourier import FourierMeasure
from ..priors import Gaussian, SpectralPrior
from .measure import OperatorMeasure


class OperatorKernel(NestedDefaults, ABC):
    """Base class of operator-valued kernels K(x, z) = E cos(ω·(x − z)) A(ω), A(ω) = B(ω) B(ω)ᵀ.

    A kernel is a parameter object and never fitted. Its ``prior`` is a prior such as
    ``Gaussian(gamma=1.0)``, or a ``FourierMeasure``, whose kernel is then a finite sum. Kernels can
    be added, and multiplied by numbers: see ``KernelSum``. Models accept an ``OperatorMeasure`` in
    place of a kernel.

    Subclasses define ``factors``, complex ones as in ``CustomKernel``, and ``_gram``, the closed
    form. Optional methods are ``onnx`` (export of exact models), ``second_moment`` (exact
    variances) and ``spectral_constants`` (approximation bounds).
    ``bochner.testing.check_operator_kernel`` compares the methods of a kernel with each other.

    Parameters
    ----------
    prior : a scalar prior or FourierMeasure, default ``Gaussian(gamma='scale')``
        The scalar kernel, and distribution of the frequencies.

    Examples
    --------
    >>> from bochner import CurlFree, Decomposable
    >>> issubclass(CurlFree, OperatorKernel), issubclass(Decomposable, OperatorKernel)
    (True, True)
    """

    # True if K(x, z) = k(x, z) A with one matrix A, ``matrix()``, so that outputs decouple.
    decomposable: ClassVar[bool] = False
    # True if outputs are directions of space.
    vector_field: ClassVar[bool] = False
    # True if the closed form consists of second derivatives of that of the prior.
    _is_second_derivative: ClassVar[bool] = False

    def __init__(self, prior: Any = None):
        self.prior = prior

    def n_outputs(self, n_features: int) -> int:
        """Return the size p of K(x, z) for points of ``n_features`` columns."""
        return self.factors(np.ones((1, n_features))).shape[1]

    @abstractmethod
    def factors(self, frequencies: np.ndarray) -> np.ndarray:
        """Return B(ω), (n_atoms or 1, n_outputs, rank), real or complex."""

    @abstractmethod
    def _gram(self, prior: SpectralPrior, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return the closed form for points in float64."""

    def sample(
        self, n_atoms: int, n_features: int, rng: Seed, sampling: str = "iid"
    ) -> OperatorMeasure:
        """Draw ``n_atoms`` frequencies and factors, whose mean kernel over draws is ``kernel``.

        ``rng`` is a Generator or a seed.
        """
        prior, rng = self.checked_prior(), as_generator(rng, "rng")
        n_features = check_count(n_features, "n_features")
        return self.lift(prior.sample(n_atoms, n_features, rng, sampling))

    def lift(self, scalar: FourierMeasure) -> OperatorMeasure:
        """Return the operator-valued measure on the frequencies and weights of ``scalar``."""
        self.checked_prior()
        frequencies = np.asarray(scalar.frequencies, dtype=np.float64)
        self.n_outputs(frequencies.shape[1])  # rejects dimensions that do not fit
        factors = self.factors(frequencies)
        if not self.decomposable:  # solvers treat a shared factor as decomposable
            factors = np.broadcast_to(factors, (len(frequencies), *factors.shape[1:]))
        return OperatorMeasure(scalar, factors)

    def kernel(self, X: Any, Z: Any = None) -> np.ndarray:
        """Return K(x, z) in closed form, (n_samples, n_other_samples, n_outputs, n_outputs)."""
        prior = self.checked_prior()
        X, Z = check_gram_inputs(X, Z)
        if isinstance(prior, FourierMeasure):
            return self.lift(prior).kernel(X, Z)
        self.n_outputs(X.shape[1])
        return self._gram(prior, X.astype(np.float64, copy=False), Z.astype(np.float64, copy=False))

    def resolved(self, X: Any, weights: Any = None) -> Self:
        """Return this kernel with ``"scale"`` or ``"median"`` replaced by its value for rows X."""
        return self.with_prior(self.checked_prior().resolved(X, weights))

    def with_prior(self, prior: Any) -> Self:
        """Return this kernel with another prior."""
        return clone(self).set_params(prior=prior)

    def __add__(self, other: Any) -> Any:
        from .sums import KernelSum

        return KernelSum(self, other) if isinstance(other, OperatorKernel) else NotImplemented

    def __mul__(self, factor: Any) -> Any:
        from .sums import KernelSum

        return KernelSum(self, scale=float(factor)) if isinstance(factor, Real) else NotImplemented

    __rmul__ = __mul__

    def space(self, n_features: int) -> np.ndarray:
        """Return the indices of the columns of X that the outputs are directions of."""
        return np.arange(n_features)

    def check_outputs(self, n_features: int, n_outputs: int) -> None:
        """Raise an error if y does not have one column for each output."""
        expected = self.n_outputs(n_features)
        if expected != n_outputs:
            raise ValueError(
                f"{type(self).__name__} has {expected} outputs on these points, but y has "
                f"{n_outputs} columns. {self._advice}"
            )

    _advice: ClassVar[str] = "Give y one column for each output."

    @property
    def learns_outputs(self) -> bool:
        """True if ``resolved_outputs`` needs the spectrum of the features."""
        return False

    def resolved_outputs(self, covariance: np.ndarray, spectrum: tuple | None = None) -> Self:
        """Return this kernel with the parameters that depend on the training outputs as numbers.

        ``covariance`` is that of the outputs; ``spectrum`` are the arguments of
        ``learned_output_matrix`` if features were factorized.
        """
        return self

    _defaults: ClassVar = {"prior": Gaussian(gamma="scale")}

    def checked_prior(self) -> SpectralPrior:
        """Return the prior, or the measure in its place, after a check of its type."""
        prior = self._component("prior", SpectralPrior)
        if self._is_second_derivative and not prior.has_finite_variance:
            raise ValueError(
                f"{type(self).__name__} needs a prior whose frequencies have a finite variance "
                f"(its kernel consists of second derivatives), but {prior!r} has none. Write "
                "Gaussian(gamma=1.0), or Matern(nu=1.5) with nu > 1."
            )
        return prior

    # --- optional methods -------------------------------------------------------------------------

    def onnx(self, X: Any, points: Any, coefficients: np.ndarray) -> Any:
        """Return Σ_j K(x, points_j) coefficients_j as a tensor of the ONNX graph of X."""
        prior, points = self.checked_prior(), as_dense(points)
        if isinstance(prior, FourierMeasure):
            return self.lift(prior).onnx(X, points, coefficients)
        return self._onnx(prior, X, points, coefficients)

    def _onnx(self, prior, X, points, coefficients):
        """Return ``onnx`` for a prior in closed form."""
        raise missing_method(self, "_onnx", "Export to ONNX")

    def second_moment(self, differences: np.ndarray) -> np.ndarray:
        """Return E[cos(ω·δ) A(ω)²] for differences δ, (n_differences, n_outputs, n_outputs)."""
        raise missing_method(self, "second_moment", "The exact variance")

    def spectral_constants(self, n_features: int) -> tuple[float, float]:
        """Return √E[‖ω‖² ‖A(ω)‖²] and the ψ₁ norm of ‖A(ω)‖, the constants of Theorem 10."""
        raise missing_method(self, "spectral_constants", "The approximation bound")


# A finite measure has the methods that models call, so it is accepted in place of a kernel.
OperatorKernel.register(OperatorMeasure)
