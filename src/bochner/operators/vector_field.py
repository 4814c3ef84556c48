"""Kernels whose functions are vector fields: gradients, rotations, or a mixture of both.

All of them split a frequency's operator along and across the frequency:
A(ω) = c ωωᵀ + (1 − c) (‖ω‖² I − ωωᵀ).  c = 1 is curl-free, c = 0 divergence-free.
"""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from ..measures.fourier import FourierMeasure
from ..priors import Anova, Laplace, Matern
from .base import OperatorKernel
from .hessian import negative_hessian


@dataclass(eq=False, repr=False)
class VectorFieldKernel(OperatorKernel):
    """Base class of kernels for vector fields, which have one output for each direction of space.

    Subclasses define ``share``, the share c of the curl-free part.

    Parameters
    ----------
    prior : a scalar prior or FourierMeasure, default ``Gaussian(gamma='scale')``
        Law of the frequencies.
    coordinates : list of int, default None
        The columns of X that span the space of the field; None is all of them. Other columns, such
        as time or a condition, only modulate it.

    Examples
    --------
    >>> from bochner import CurlFree, Helmholtz
    >>> issubclass(CurlFree, VectorFieldKernel), CurlFree().share(), Helmholtz(curl_share=0.3).share()
    (True, 1.0, 0.3)
    """

    prior: Any = None
    _: KW_ONLY
    coordinates: Any = None
    vector_field: ClassVar[bool] = True
    _advice: ClassVar[str] = (
        "A vector field has one output per direction: give coordinates=[...] with one column of X "
        "for each column of y, or write "
        "Decomposable."
    )

    @abstractmethod
    def share(self) -> float:
        """The share c of the curl-free part."""

    def space(self, n_features: int) -> np.ndarray:
        """The columns that span the space of the field, as indices."""
        if self.coordinates is None:
            columns = np.arange(n_features)
        else:
            columns = np.asarray(self.coordinates)
            if columns.ndim != 1 or len(columns) == 0 or columns.dtype.kind not in "iu":
                raise TypeError(
                    "coordinates must list columns of X, e.g. coordinates=[0, 1]; got "
                    f"{self.coordinates!r}."
                )
            if (
                columns.min() < 0
                or columns.max() >= n_features
                or len(np.unique(columns)) < len(columns)
            ):
                raise ValueError(
                    f"coordinates must be different columns between 0 and {n_features - 1}, got "
                    f"{self.coordinates!r}."
                )
        if len(columns) < 2 and self.share() < 1:
            raise ValueError(
                f"{type(self).__name__} needs a space of at least 2 dimensions, got "
                f"{len(columns)}: on a line only constants "
                "have divergence zero. Write CurlFree or Decomposable."
            )
        return columns

    def n_outputs(self, n_features: int) -> int:
        """One output per direction of space."""
        return len(self.space(n_features))

    def factors(self, frequencies: np.ndarray) -> np.ndarray:
        """B(ω) = [√c ω, √(1−c) ‖ω‖ E(ω)], the columns of E an orthonormal basis of the directions
        across ω.

        The rank is 1 (curl-free), p − 1 (divergence-free) or p, the smallest that A(ω) = B(ω) B(ω)ᵀ
        allows.
        """
        waves = frequencies[:, self.space(frequencies.shape[1])]
        share = self.share()
        along = np.sqrt(share) * waves[:, :, None]
        if share == 1:
            return along
        across = np.sqrt(1 - share) * across_basis(waves)
        return across if share == 0 else np.concatenate([along, across], axis=2)

    def mix(self, curl_free: np.ndarray) -> np.ndarray:
        """c M + (1 − c) (tr(M) I − M) for M = E cos(ω·δ) ωωᵀ: the curl-free kernel gives all
        others.
        """
        share = self.share()
        if share == 1:
            return curl_free
        trace = np.trace(curl_free, axis1=-2, axis2=-1)[..., None, None]
        return share * curl_free + (1 - share) * (trace * np.eye(curl_free.shape[-1]) - curl_free)

    def _gram(self, prior, X, Z):
        return self.mix(negative_hessian(prior, X, Z, self.space(X.shape[1])))

    def checked_prior(self):
        prior = super().checked_prior()
        if isinstance(prior, FourierMeasure):
            return prior
        if isinstance(prior, Laplace) or (isinstance(prior, Matern | Anova) and not prior.nu > 1):
            raise ValueError(
                f"{type(self).__name__} needs a prior whose frequencies have a finite variance "
                "(its kernel is made of second "
                f"derivatives), but {prior!r} has none. Write Gaussian(gamma=1.0), or "
                "Matern(nu=1.5) with nu > 1."
            )
        return prior


def across_basis(waves: np.ndarray) -> np.ndarray:
    """‖ω‖ E(ω), (n_atoms, p, p − 1): the columns of E are orthonormal and orthogonal to ω; zero
    where ω = 0.

    Columns 2…p of the Householder reflection that takes the first axis to ∓ω/‖ω‖.
    """
    norms = np.linalg.norm(waves, axis=1)
    units = waves / np.where(norms == 0, 1, norms)[:, None]
    mirror = units.copy()
    # The sign that adds up instead of cancelling.
    mirror[:, 0] += np.where(units[:, 0] < 0, -1.0, 1.0)
    squares = np.sum(mirror**2, axis=1)
    reflection = (
        np.eye(waves.shape[1])
        - (2 / squares)[:, None, None] * mirror[:, :, None] * mirror[:, None, :]
    )
    return norms[:, None, None] * reflection[:, :, 1:]
