"""Anyone's operator-valued kernel, from a function: of the frequencies, or of differences of points."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from ..priors import SpectralPrior
from .base import OperatorKernel
from .signatures import spectral_operators

# Eigenvalues below this share of the largest are zero; more negative ones than the second share are no rounding.
_ZERO, _NEGATIVE = 1e-10, 1e-5
_EVEN = 1e-6


@dataclass(eq=False, repr=False)
class CustomKernel(OperatorKernel):
    r"""K(x, z) = E cos(ω·(x − z)) A(ω) for a function of one's own (Brault et al. 2016, Algorithm 1), without a class of one's own.

    One of three functions says what the kernel is: ``factor`` B(ω) with A = B Bᵀ, ``operator`` A(ω), or ``signature`` K₀(δ) alone, from
    which A(ω) = C(ω) / p(ω) is computed: C is the inverse Fourier transform of K₀, by sums over a grid in up to three dimensions, and p
    the density of the prior.  The prior is then only the law that frequencies are drawn from; the kernel is K₀ whatever it is, as long as
    its tails are not much longer than those of the spectrum of K₀ (where p is large and C nothing, rounding is all there is) and not
    shorter (where few draws would have to stand for much).

    A ``signature`` beside one of the others is the closed form of the kernel, for ``kernel`` and for exact comparisons; that the two agree is
    for the caller to know, ``kernel.sample(100_000, d, rng).kernel(X)`` shows it.  A is checked to be even and positive.

    Functions that are to be stored with the kernel must live in a module; files of skops refuse them.

    Parameters
    ----------
    prior : a scalar prior or FourierMeasure, default ``Gaussian(gamma='scale')``
        The law of the frequencies.
    factor : function, default None
        Of frequencies (n_atoms, n_features), gives B(ω) as (n_atoms, n_outputs, rank), or (1, n_outputs, rank) where it is always the same.
    operator : function, default None
        Of frequencies (n_atoms, n_features), gives A(ω) as (n_atoms, n_outputs, n_outputs), symmetric and positive semi-definite.
    signature : function, default None
        Of differences (n_pairs, n_features), gives K₀(δ) as (n_pairs, n_outputs, n_outputs).

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import CurlFree, Gaussian
    >>> gradients = CustomKernel(Gaussian(gamma=0.5), factor=lambda frequencies: frequencies[:, :, None])
    >>> mine, ours = (k.sample(50, 2, np.random.default_rng(0)) for k in (gradients, CurlFree(Gaussian(gamma=0.5))))
    >>> X = np.random.default_rng(1).normal(size=(5, 2))
    >>> bool(np.all(mine.kernel(X) == ours.kernel(X)))
    True
    """

    prior: Any = None
    _: KW_ONLY
    factor: Callable | None = None
    operator: Callable | None = None
    signature: Callable | None = None

    _advice: ClassVar[str] = "Its functions must give one row for each column of y."

    def n_outputs(self, n_features: int) -> int:
        """Size of what the function gives, for one frequency or one difference."""
        probe = np.ones((1, n_features))
        if self._spectrum() == "factor":
            return self._called("factor", probe).shape[1]
        return self._called("signature" if self.operator is None else "operator", probe).shape[1]

    def factors(self, frequencies: np.ndarray) -> np.ndarray:
        """B(ω): given, or a root of A(ω) with as many columns as A has ranks."""
        kind = self._spectrum()
        if kind == "factor":
            given = self._called("factor", frequencies)
            factors = np.broadcast_to(given, (len(frequencies), *given.shape[1:]))
            mirrored = np.broadcast_to(self._called("factor", -frequencies), factors.shape)
            _check_even(factors @ factors.transpose(0, 2, 1), mirrored @ mirrored.transpose(0, 2, 1), "factor")
            return factors
        if kind == "operator":
            operators = self._called("operator", frequencies)
            _check_even(operators, self._called("operator", -frequencies), "operator")
            return matrix_roots(operators, "operator")
        prior = self.checked_prior()
        if not isinstance(prior, SpectralPrior):
            raise TypeError(
                f"A signature needs a prior with a density, such as Gaussian(gamma=1.0), got a {type(prior).__name__}. Give factor=... or "
                "operator=..., a function of the frequencies."
            )
        operators = spectral_operators(lambda differences: self._called("signature", differences), prior, frequencies)
        return matrix_roots(operators, "signature")

    def _gram(self, prior, X, Z):
        if self.signature is None:
            raise NotImplementedError(
                "This CustomKernel has no closed form: give signature=..., a function of differences, or use kernel.sample(n_atoms, "
                "n_features, rng).kernel(X), which needs none."
            )
        differences = (X[:, None] - Z[None]).reshape(-1, X.shape[1])
        size = self.n_outputs(X.shape[1])
        return self._called("signature", differences).reshape(len(X), len(Z), size, size)

    def _spectrum(self):
        """The name of the function that says what the spectrum is."""
        for name in ("factor", "operator", "signature"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise TypeError(f"{name} must be a function, got {given!r}.")
        if self.factor is not None and self.operator is not None:
            raise ValueError("Got both factor and operator; A(ω) is B(ω) B(ω)ᵀ, so one of them says it all. Drop one.")
        known = [name for name in ("factor", "operator", "signature") if getattr(self, name) is not None]
        if not known:
            raise ValueError(
                "CustomKernel needs a function: factor=... (B of the frequencies), operator=... (A of the frequencies) or signature=... "
                "(K₀ of differences of points)."
            )
        return known[0]

    def _called(self, name, rows):
        """What a function gives for these rows, of the shape that it must have."""
        values = np.asarray(getattr(self, name)(rows), dtype=np.float64)
        lengths = (1, len(rows)) if name == "factor" else (len(rows),)
        square = name == "factor" or values.shape[1:2] == values.shape[2:]
        if values.ndim != 3 or len(values) not in lengths or not square:
            need = "n_outputs, rank" if name == "factor" else "n_outputs, n_outputs"
            raise ValueError(
                f"{name} must give ({len(rows)}, {need}) for {rows.shape} numbers, got shape {values.shape}."
            )
        if not np.all(np.isfinite(values)):
            raise ValueError(f"{name} must give finite numbers, got NaN or infinity.")
        return values


def matrix_roots(operators: np.ndarray, name: str) -> np.ndarray:
    """B with B Bᵀ = A for each of several matrices, (n_atoms, p, rank), rank the largest of them."""
    largest = np.abs(operators).max()
    if np.abs(operators - operators.transpose(0, 2, 1)).max() > _NEGATIVE * largest:
        raise ValueError(f"{name} must give symmetric matrices. Write e.g. (A + A.transpose(0, 2, 1)) / 2.")
    values, vectors = np.linalg.eigh((operators + operators.transpose(0, 2, 1)) / 2)
    if values.min() < -_NEGATIVE * largest:
        what = (
            "K₀ is no kernel, or the prior's tails are longer than its spectrum"
            if name == "signature"
            else "no kernel has such a spectrum"
        )
        raise ValueError(
            f"A(ω) of {name} has an eigenvalue of {values.min():.3g} beside entries of {largest:.3g}: {what}."
        )
    values = np.where(values > _ZERO * largest, values, 0.0)[:, ::-1]
    rank = max(1, int(np.count_nonzero(values, axis=1).max()))
    return (vectors[:, :, ::-1] * np.sqrt(values)[:, None])[:, :, :rank]


def _check_even(operators, mirrored, name):
    gap = np.abs(operators - mirrored).max(initial=0.0)
    if gap > _EVEN * np.abs(operators).max(initial=0.0):
        raise ValueError(
            f"A(ω) must be even, A(−ω) = A(ω), else K is no real kernel; that of {name} differs by {gap:.3g}. Write e.g. the mean of both."
        )
