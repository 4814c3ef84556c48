"""Sums and multiples of operator-valued kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone

from .._checks import check_positive
from ..measures.fourier import FourierMeasure
from ..priors import PriorSum, SpectralPrior
from .base import OperatorKernel
from .custom import log_spectrum, matrix_roots


@dataclass(eq=False, repr=False)
class KernelSum(OperatorKernel):
    """K(x, z) = scale · (K₁(x, z) + K₂(x, z)), made by ``K1 + K2``, or by ``2.0 * K1`` without K₂.

    Kernels with equal priors share their frequencies: A(ω) = A₁(ω) + A₂(ω). Otherwise the prior is
    the mean of both priors, p = (p₁ + p₂) / 2, and A(ω) = (p₁ A₁ + p₂ A₂) / p with the densities
    (times the masses) of the priors. So each frequency serves both kernels, and learners may
    reweight or move all of them. Priors without a density, such as measures, need to be equal.

    An output matrix None in a sum is the identity. "covariance" is that of the first batch of
    ``partial_fit``, and "learned" raises an error, because a matrix is learned for one kernel.

    Parameters
    ----------
    first : OperatorKernel
        The kernel K₁, which may be a sum.
    second : OperatorKernel, default None
        The kernel K₂ with as many outputs; None leaves it out.
    scale : float, default 1.0
        A positive factor.

    Examples
    --------
    >>> from bochner import CurlFree, DivergenceFree, Gaussian
    >>> kernel = CurlFree(Gaussian(gamma=0.5)) + 2.0 * DivergenceFree(Gaussian(gamma=2.0))
    >>> kernel.kernel([[0.0, 0.0]])[0, 0].diagonal()
    array([9., 9.])
    >>> kernel.set_params(second__first__prior__gamma=0.5).sample(10, 2, 0).rank
    2
    """

    first: OperatorKernel
    second: OperatorKernel | None = None
    _: KW_ONLY
    scale: float = 1.0

    _defaults: ClassVar = {}
    _advice: ClassVar[str] = "Give each kernel one output for each column of y."

    @property
    def parts(self) -> tuple[OperatorKernel, ...]:
        """The kernels of the sum."""
        kernels = (self.first,) if self.second is None else (self.first, self.second)
        for kernel in kernels:
            if not isinstance(kernel, OperatorKernel):
                raise TypeError(
                    f"A sum needs operator-valued kernels, got {kernel!r}. Write e.g. CurlFree(), "
                    "or Decomposable(prior) for a scalar kernel."
                )
        return kernels

    @property
    def prior(self) -> SpectralPrior | None:
        """Distribution of the frequencies; None if no kernel has been given one."""
        return None if all(part.prior is None for part in self.parts) else self.checked_prior()

    def checked_prior(self) -> SpectralPrior:
        """Return the prior of both kernels if theirs are equal, and else their mean."""
        check_positive(self.scale, "scale")
        priors = [part.checked_prior() for part in self.parts]
        if not self._has_two_priors:
            return priors[0]
        if any(isinstance(prior, FourierMeasure) for prior in priors):
            raise TypeError(
                "Kernels of a sum need one measure or priors with densities, got "
                f"{priors[0]!r} and {priors[1]!r}. Give the same measure to both."
            )
        # The mean of two priors that become equal by ``resolved`` is one of them.
        return PriorSum(*priors) * 0.5

    def with_prior(self, prior: Any) -> KernelSum:
        priors = prior.prior._parts() if self._has_two_priors else (prior, prior)
        return self._with_parts(k.with_prior(p) for k, p in zip(self.parts, priors, strict=False))

    def _with_parts(self, parts):
        return clone(self).set_params(**dict(zip(("first", "second"), parts, strict=False)))

    @property
    def _has_two_priors(self) -> bool:
        return len(self.parts) > 1 and not same_prior(*(k.checked_prior() for k in self.parts))

    @property
    def decomposable(self) -> bool:  # type: ignore[override]
        """True if all kernels are, with one prior."""
        return all(part.decomposable for part in self.parts) and not self._has_two_priors

    @property
    def vector_field(self) -> bool:  # type: ignore[override]
        """True if all kernels are."""
        return all(part.vector_field for part in self.parts)

    def matrix(self) -> np.ndarray:
        """Return A of a decomposable sum."""
        self.n_outputs(1)
        return self.scale * sum(part.matrix() for part in self.parts)

    def n_outputs(self, n_features: int) -> int:
        """Return the number of outputs of each kernel."""
        sizes = {part.n_outputs(n_features) for part in self.parts}
        if len(sizes) > 1:
            raise ValueError(
                f"Kernels of a sum need as many outputs, got {sorted(sizes)}. Give each of them "
                "an output matrix or coordinates of the same size."
            )
        return sizes.pop()

    def factors(self, frequencies: np.ndarray) -> np.ndarray:
        """Return a root of A(ω) with rank(A) columns."""
        self.n_outputs(frequencies.shape[1])
        shares = np.full((len(self.parts), 1), self.scale)
        if self._has_two_priors:
            logs = [log_spectrum(part.checked_prior(), frequencies) for part in self.parts]
            shares = 2 * self.scale * softmax(logs, axis=0)
        factors = [
            np.sqrt(share)[:, None, None] * part.factors(frequencies)
            for part, share in zip(self.parts, shares, strict=True)
        ]
        if len(factors) == 1:
            return factors[0]
        operators = sum(factor @ factor.conj().transpose(0, 2, 1) for factor in factors)
        return matrix_roots(operators, "the sum")

    def _gram(self, prior, X, Z):
        return self.scale * sum(part.kernel(X, Z) for part in self.parts)

    def space(self, n_features: int) -> np.ndarray:
        """Return the space of the first vector field, or all columns."""
        return max(self.parts, key=lambda part: part.vector_field).space(n_features)

    def check_outputs(self, n_features: int, n_outputs: int) -> None:
        """Check the outputs of each kernel."""
        for part in self.parts:
            part.check_outputs(n_features, n_outputs)
            if part.learns_outputs and len(self.parts) > 1:
                raise ValueError(
                    "output_matrix='learned' cannot be used in a sum of kernels. Write a matrix, "
                    "or 'covariance'."
                )

    @property
    def learns_outputs(self) -> bool:
        return any(part.learns_outputs for part in self.parts)

    def resolved_outputs(self, covariance, spectrum=None):
        return self._with_parts(k.resolved_outputs(covariance, spectrum) for k in self.parts)

    def onnx(self, X, points, coefficients):
        first, *others = (part.onnx(X, points, coefficients) for part in self.parts)
        return self.scale * sum(others, first)


def same_prior(left: Any, right: Any) -> bool:
    """Return True for priors with equal parameters, and for measures with equal atoms."""
    mine, theirs = (
        {"": p, **(vars(p) if isinstance(p, FourierMeasure) else p.get_params())}
        for p in (left, right)
    )
    return mine.keys() == theirs.keys() and all(
        np.array_equal(value, theirs[name])
        if not isinstance(value, BaseEstimator | FourierMeasure)
        else type(value) is type(theirs[name])
        for name, value in mine.items()
    )
