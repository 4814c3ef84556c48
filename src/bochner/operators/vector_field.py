"""Kernels whose functions are vector fields: gradients, rotations, or a mixture of both.

All of them split a frequency's operator along and across the frequency:
A(ω) = c ωωᵀ + (1 − c) (‖ω‖² I − ωωᵀ).  c = 1 is curl-free, c = 0 divergence-free.
"""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq

from .._checks import MissingMethod
from .base import OperatorKernel


@dataclass(eq=False, repr=False)
class VectorFieldKernel(OperatorKernel):
    """Base class of kernels for vector fields, which have one output for each direction of space.

    Subclasses define ``share``, the share c of the curl-free part.

    Parameters
    ----------
    prior : a scalar prior or FourierMeasure, default ``Gaussian(gamma='scale')``
        Law of the frequencies.
    coordinates : list of int, default None
        The columns of X that span the space of the field; None is all of them. The field also
        depends on other columns, such as time, but has no output for them.

    Examples
    --------
    >>> from bochner import CurlFree, Helmholtz
    >>> CurlFree().share(), Helmholtz(curl_share=0.3).share()
    (1.0, 0.3)
    """

    prior: Any = None
    _: KW_ONLY
    coordinates: Any = None
    vector_field: ClassVar[bool] = True
    _is_second_derivative: ClassVar[bool] = True
    _advice: ClassVar[str] = (
        "A vector field has one output per direction: give coordinates=[...] with one column of X "
        "for each column of y, or write Decomposable."
    )

    @abstractmethod
    def share(self) -> float:
        """Return the share c of the curl-free part."""

    def space(self, n_features: int) -> np.ndarray:
        """Return the indices of the columns that span the space of the field."""
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
                f"{len(columns)}: on a line only constants have divergence zero. Write CurlFree "
                "or Decomposable."
            )
        return columns

    def n_outputs(self, n_features: int) -> int:
        """Return the number of directions of space."""
        return len(self.space(n_features))

    def factors(self, frequencies: np.ndarray) -> np.ndarray:
        """Return B(ω) = [√c ω, √(1−c) ‖ω‖ E(ω)], E an orthonormal basis orthogonal to ω.

        The rank is 1 (curl-free), p − 1 (divergence-free) or p: the smallest for this A(ω).
        """
        waves = frequencies[:, self.space(frequencies.shape[1])]
        share = self.share()
        along = np.sqrt(share) * waves[:, :, None]
        if share == 1:
            return along
        across = np.sqrt(1 - share) * across_basis(waves)
        return across if share == 0 else np.concatenate([along, across], axis=2)

    def mix(self, curl_free: np.ndarray) -> np.ndarray:
        """Return c M + (1 − c) (tr(M) I − M) for the curl-free kernel M = E cos(ω·δ) ωωᵀ."""
        share = self.share()
        if share == 1:
            return curl_free
        trace = np.trace(curl_free, axis1=-2, axis2=-1)[..., None, None]
        return share * curl_free + (1 - share) * (trace * np.eye(curl_free.shape[-1]) - curl_free)

    def _gram(self, prior, X, Z):
        return self.mix(prior.hessian(X, Z, self.space(X.shape[1])))

    def _onnx(self, prior, X, points, coefficients):
        """Return Σ_j (2s − 1) M c + (1 − s) tr(M) c at δ = x − x_j, s the curl-free share.

        M = −4 k″(q) u uᵀ − 2 k′(q) diag(1/ℓ²) with u = δ/ℓ² and q = ‖δ/ℓ‖².
        """
        if not hasattr(prior, "_lengths"):
            raise MissingMethod(
                f"Vector fields of {prior!r} cannot be exported to ONNX: the prior needs the "
                "methods `_lengths` and `onnx_slopes`. Use a Gaussian prior."
            )
        lengths, share = prior._lengths(points.shape[1]), self.share()
        space = self.space(points.shape[1])
        slope, bend = prior.onnx_slopes(X.squared_distances(points, 1 / lengths))
        inverse = 1 / lengths[space] ** 2
        u = [(X.columns([j]) - points[:, j][None]) * rate for j, rate in zip(space, inverse)]
        products = [part * coefficients[:, a][None] for a, part in enumerate(u)]
        along = sum(products[1:], products[0])  # u·c
        squares = [part * part for part in u]
        trace = -4.0 * bend * sum(squares[1:], squares[0]) - 2.0 * float(inverse.sum()) * slope
        outputs = []
        for a, part in enumerate(u):
            own = coefficients[:, a : a + 1]
            turned = (-4 * (2 * share - 1) * bend * along * part).row_sums()
            diagonal = slope @ (-2 * (2 * share - 1) * inverse[a] * own)
            outputs.append(turned + diagonal + trace @ ((1 - share) * own))
        return X.graph.concat(outputs)

    def second_moment(self, differences):
        """Return E[cos(ω·t) A(ω)²] for a Gaussian spectrum N(0, Λ).

        A² = ‖ω‖² (c² ωωᵀ + (1−c)² (‖ω‖² I − ωωᵀ)), and the fourth derivatives of exp(−½ tᵀΛt) give
        E[cos(ω·t) ‖ω‖² ωωᵀ] = e^{…} [tr(Λ)Λ + 2Λ² − ‖u‖²Λ − tr(Λ) uuᵀ − 2(Λuuᵀ + uuᵀΛ) + ‖u‖² uuᵀ],
        u = Λt.
        """
        t, space = differences, self.space(differences.shape[1])
        variances = self._gaussian_variances(t.shape[1])
        decay = np.exp(-0.5 * t**2 @ variances)[:, None, None]
        inside = variances[space]
        u = inside * t[:, space]
        outer = u[:, :, None] * u[:, None, :]
        square = np.sum(u**2, axis=1)[:, None, None]
        diagonal = np.diag(inside.sum() * inside + 2 * inside**2) - square * np.diag(inside)
        mixed = -(inside.sum() + 2 * (inside[:, None] + inside)) * outer + square * outer
        curl_free = decay * (diagonal + mixed)
        share = self.share()
        trace = np.trace(curl_free, axis1=1, axis2=2)[:, None, None]
        return share**2 * curl_free + (1 - share) ** 2 * (trace * np.eye(len(space)) - curl_free)

    def spectral_constants(self, n_features):
        spectrum = self._gaussian_variances(n_features)
        inside = spectrum[self.space(n_features)]
        outside = spectrum.sum() - inside.sum()
        norm = max(self.share(), 1 - self.share())  # ‖A(ω)‖ = norm · ‖ω_space‖²
        first, second, third = inside.sum(), (inside**2).sum(), (inside**3).sum()
        fourth_moment = first**2 + 2 * second  # E‖ω_space‖⁴
        sixth_moment = first**3 + 6 * first * second + 8 * third
        slope = norm * np.sqrt(sixth_moment + outside * fourth_moment)
        return slope, norm * _chi_square_orlicz(inside)

    def _gaussian_variances(self, n_features):
        prior = self.checked_prior()
        try:
            return prior.gaussian_variances(n_features)
        except MissingMethod as error:
            raise ValueError(
                f"{error} Theorem 10 and exact variances of vector fields need the Gaussian prior. "
                "Measure the error instead: largest_error(kernel, kernel.sample(...), differences)."
            ) from None


class CurlFree(VectorFieldKernel):
    """K = −∇∇ᵀ k: every function it spans is the gradient of a potential.

    B(ω) = ω (Brault et al. 2016, Example 2). For the Gaussian kernel k of length σ,
    K(δ) = (I/σ² − δδᵀ/σ⁴) k(δ).

    Parameters
    ----------
    prior : a scalar prior or FourierMeasure, default ``Gaussian(gamma='scale')``
        The kernel k.
    coordinates : list of int, default None
        The columns that are coordinates of space, unlike others such as time; None is all.

    Examples
    --------
    >>> from bochner import Gaussian
    >>> CurlFree(Gaussian(gamma=0.5)).kernel([[0.0, 0.0]])[0, 0].diagonal()
    array([1., 1.])
    """

    def share(self) -> float:
        """Return 1: gradients only."""
        return 1.0


class DivergenceFree(VectorFieldKernel):
    """K = (∇∇ᵀ − Δ I) k: every function it spans has divergence zero.

    An example is the flow of an incompressible fluid. A(ω) = ‖ω‖² I − ωωᵀ (an equation of the
    paper's Example 3 has (I − ωωᵀ) ‖ω‖², which is not positive). For the Gaussian kernel k of
    length σ in d dimensions, K(δ) = (δδᵀ/σ⁴ + ((d−1)/σ² − ‖δ‖²/σ⁴) I) k(δ).

    Parameters
    ----------
    prior : a scalar prior or FourierMeasure, default ``Gaussian(gamma='scale')``
        The kernel k.
    coordinates : list of int, default None
        The columns that are coordinates of space, unlike others such as time; None is all.

    Examples
    --------
    >>> from bochner import Gaussian
    >>> DivergenceFree(Gaussian(gamma=0.5)).kernel([[0.0, 0.0, 0.0]])[0, 0].diagonal()
    array([2., 2., 2.])
    """

    def share(self) -> float:
        """Return 0: rotations only."""
        return 0.0


@dataclass(eq=False, repr=False)
class Helmholtz(VectorFieldKernel):
    """Mixture of the curl-free and the divergence-free kernel: any smooth field.

    A function fitted with it splits into a gradient and a divergence-free rest (the Helmholtz
    decomposition), see ``OperatorRidge.curl_free_part``.

    Parameters
    ----------
    prior : a scalar prior or FourierMeasure, default ``Gaussian(gamma='scale')``
        The kernel k of both parts.
    curl_share : float, default 0.5
        Share of the curl-free part, from 0 to 1.
    coordinates : list of int, default None
        The columns that are coordinates of space, unlike others such as time; None is all.

    Examples
    --------
    >>> from bochner import Gaussian
    >>> Helmholtz(Gaussian(gamma=0.5), curl_share=0.5).kernel([[0.0, 0.0]])[0, 0].diagonal()
    array([1., 1.])
    """

    curl_share: float = 0.5

    def share(self) -> float:
        """Return the share of the curl-free part after a check."""
        share = self.curl_share
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 <= share <= 1:
            raise ValueError(
                f"curl_share must be a number between 0 and 1, got {share!r}. Write e.g. "
                "curl_share=0.5."
            )
        return float(share)


def across_basis(waves: np.ndarray) -> np.ndarray:
    """Return ‖ω‖ E(ω), (n_atoms, p, p − 1), the columns of E orthonormal and orthogonal to ω.

    These are columns 2…p of the Householder reflection of the first axis to ∓ω/‖ω‖; zero for ω = 0.
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


def _chi_square_orlicz(variances: np.ndarray) -> float:
    """Return the ψ₁ norm of Σ_i v_i z_i², 1/t where Π (1 − 2 t v_i)^{−½} reaches 2.

    For equal variances it is 2v / (1 − 4^{−1/d}).
    """
    edge = 1 / (2 * variances.max())

    def excess(t):
        return -0.5 * np.sum(np.log1p(-2 * t * variances)) - np.log(2)

    return float(1 / brentq(excess, 0.0, edge * (1 - 1e-15), xtol=1e-15 * edge))
