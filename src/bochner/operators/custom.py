"""Operator-valued kernels defined by a function of the frequencies or of differences."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from ..priors import SpectralPrior
from .base import OperatorKernel

# Eigenvalues below the first share of the largest count as zero; negative ones beyond the second
# share raise an error.
_ZERO, _NEGATIVE = 1e-10, 1e-5
# The symmetries of A(ω) and K₀(δ) hold up to this share of their largest entry.
_SYMMETRIC = 1e-6
# A signature is checked at this many random differences of each length, in units of a typical one.
_CHECKED_DIFFERENCES, _CHECKED_LENGTHS = 16, (0.1, 0.3, 1.0, 3.0, 10.0)
# A grid in more dimensions has too many points.
_MOST_FEATURES = 3
_MOST_POINTS = 2**22
# Numbers in memory at once while frequencies are summed over the grid.
_BLOCK_NUMBERS = 2**22
# K₀ below this share of K₀(0) counts as zero; results of two grids agree up to this share.
_NEGLIGIBLE, _AGREEMENT = 1e-9, 1e-6
_MOST_DOUBLINGS = 14


@dataclass(eq=False, repr=False)
class CustomKernel(OperatorKernel):
    r"""K(x, z) = E exp(iω·(x − z)) A(ω), defined by a function (Brault et al. 2016, Algorithm 1).

    One of three functions defines the kernel: ``factor`` B(ω) with A = B Bᴴ, ``operator`` A(ω), or
    ``signature`` K₀(δ).

    For a signature, A(ω) is C(ω) / p(ω). C is the inverse Fourier transform of K₀, computed by sums
    over a grid in up to three dimensions. p is the density of the prior, from which frequencies are
    drawn. Its tails should be about as long as those of the spectrum of K₀. With longer tails,
    rounding dominates at frequencies where C vanishes. With shorter tails, few draws have most of
    the weight.

    If ``signature`` is given with one of the others, it is the closed form of the kernel, for
    ``kernel`` and for exact models. Their agreement is not checked: compare
    ``kernel.sample(100_000, d, rng).kernel(X)``.

    A(ω) = R + iS may be complex: then outputs lag each other, or a field rotates. The kernel is
    real, K₀(δ) = E[cos(ω·δ) R − sin(ω·δ) S]. A(ω) must be Hermitian and positive semi-definite, and
    A(−ω) its conjugate; this is checked at the drawn frequencies. K₀(−δ) = K₀(δ)ᵀ is checked at
    random differences of several lengths. A real A(ω) is even and symmetric, and so is its K₀.

    To pickle a kernel, define its functions in a module. skops files reject functions.

    Parameters
    ----------
    prior : a scalar prior or FourierMeasure, default ``Gaussian(gamma='scale')``
        The distribution of the frequencies.
    factor : function, default None
        Maps frequencies (n_atoms, n_features) to B(ω), (n_atoms, n_outputs, rank), or
        (1, n_outputs, rank) if B is constant; real or complex.
    operator : function, default None
        Maps frequencies (n_atoms, n_features) to A(ω), (n_atoms, n_outputs, n_outputs): Hermitian
        and positive semi-definite, real or complex.
    signature : function, default None
        Maps differences (n_pairs, n_features) to K₀(δ), (n_pairs, n_outputs, n_outputs): real, with
        K₀(−δ) = K₀(δ)ᵀ.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import CurlFree, Gaussian
    >>> prior = Gaussian(gamma=0.5)
    >>> gradients = CustomKernel(prior, factor=lambda frequencies: frequencies[:, :, None])
    >>> mine, ours = (kernel.sample(50, 2, 0) for kernel in (gradients, CurlFree(prior)))
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
        """Return the size of the matrices that the function returns."""
        probe = np.ones((1, n_features))
        if self._spectrum() == "factor":
            return self._called("factor", probe).shape[1]
        return self._called("signature" if self.operator is None else "operator", probe).shape[1]

    def factors(self, frequencies: np.ndarray) -> np.ndarray:
        """Return B(ω): the values of ``factor``, or a root of A(ω) with rank(A) columns."""
        kind = self._spectrum()
        if kind == "factor":
            given = self._called("factor", frequencies)
            factors = np.broadcast_to(given, (len(frequencies), *given.shape[1:]))
            mirrored = np.broadcast_to(self._called("factor", -frequencies), factors.shape)
            squares = (part @ part.conj().transpose(0, 2, 1) for part in (factors, mirrored))
            _check_spectrum(kind, *squares)
            return factors
        if kind == "operator":
            operators = self._called("operator", frequencies)
            opposite = self._called("operator", -frequencies)
            _check_spectrum(kind, operators, opposite)
            return matrix_roots(operators, kind)
        prior = self.checked_prior()
        self._check_signature(1 / _typical_size(frequencies), frequencies.shape[1])
        operators = spectral_operators(
            lambda differences: self._called("signature", differences), prior, frequencies
        )
        return matrix_roots(operators, "signature")

    def _gram(self, prior, X, Z):
        if self.signature is None:
            raise NotImplementedError(
                "This CustomKernel has no closed form: give signature=..., a function of "
                "differences, or use kernel.sample(n_atoms, n_features, rng).kernel(X)."
            )
        differences = (X[:, None] - Z[None]).reshape(-1, X.shape[1])
        self._check_signature(
            _typical_size(differences[:: 1 + len(differences) // 1000]), X.shape[1]
        )
        size = self.n_outputs(X.shape[1])
        return self._called("signature", differences).reshape(len(X), len(Z), size, size)

    def _spectrum(self):
        """Return the name of the function that defines the spectrum."""
        names = ("factor", "operator", "signature")
        given = [name for name in names if getattr(self, name) is not None]
        for name in given:
            if not callable(getattr(self, name)):
                raise TypeError(f"{name} must be a function, got {getattr(self, name)!r}.")
        if given[:2] == ["factor", "operator"]:
            raise ValueError(
                "Got both factor and operator; A(ω) is B(ω) B(ω)ᵀ, so one of them is enough. Drop "
                "one."
            )
        if not given:
            raise ValueError(
                "CustomKernel needs a function: factor=... (B of the frequencies), operator=... (A "
                "of the frequencies) or signature=... (K₀ of differences of points)."
            )
        return given[0]

    def _called(self, name, rows):
        """Call one of the functions, and validate the type and shape of its values."""
        values = np.asarray(getattr(self, name)(rows))
        is_complex = np.iscomplexobj(values)
        if is_complex and name == "signature":
            raise ValueError(
                f"signature must return real numbers, got {values.dtype}: only A(ω) may be "
                "complex. If the imaginary parts are only rounding, return values.real."
            )
        values = values.astype(np.complex128 if is_complex else np.float64, copy=False)
        lengths = (1, len(rows)) if name == "factor" else (len(rows),)
        square = name == "factor" or values.shape[1:2] == values.shape[2:]
        if values.ndim != 3 or len(values) not in lengths or not square:
            need = "n_outputs, rank" if name == "factor" else "n_outputs, n_outputs"
            raise ValueError(
                f"{name} must return ({len(rows)}, {need}) for {rows.shape} numbers, got shape "
                f"{values.shape}."
            )
        if not np.all(np.isfinite(values)):
            raise ValueError(f"{name} must return finite numbers, got NaN or infinity.")
        return values

    def _check_signature(self, length, n_features):
        """Check K₀(−δ) = K₀(δ)ᵀ at random differences of 0.1 to 10 times ``length``."""
        rng = np.random.default_rng(0)  # the result of the check does not depend on a seed
        directions = rng.standard_normal((_CHECKED_DIFFERENCES, n_features))
        differences = np.concatenate([factor * length * directions for factor in _CHECKED_LENGTHS])
        values, opposite = (self._called("signature", sign * differences) for sign in (1, -1))
        _check_equal(opposite, values.transpose(0, 2, 1), "K₀(−δ) = K₀(δ)ᵀ", "signature")


def matrix_roots(operators: np.ndarray, name: str) -> np.ndarray:
    """Return B with B Bᴴ = A for each matrix, (n_atoms, p, rank), with the largest rank of all."""
    largest = np.abs(operators).max()
    values, vectors = np.linalg.eigh((operators + operators.conj().transpose(0, 2, 1)) / 2)
    if values.min() < -_NEGATIVE * largest:
        reason = "no kernel has such a spectrum"
        if name == "signature":
            reason = "K₀ is not a kernel, or the prior's tails are longer than its spectrum"
        raise ValueError(
            f"A(ω) of {name} has an eigenvalue of {values.min():.3g}, with entries of "
            f"{largest:.3g}: {reason}."
        )
    values = np.where(values > _ZERO * largest, values, 0.0)[:, ::-1]
    rank = max(1, int(np.count_nonzero(values, axis=1).max()))
    return (vectors[:, :, ::-1] * np.sqrt(values)[:, None])[:, :, :rank]


def log_spectrum(prior: SpectralPrior, frequencies: np.ndarray) -> np.ndarray:
    """Return ln(c (p(ω) + p(−ω)) / 2), c the prior's mass: a frequency stands for ±ω."""
    densities = [prior.log_density(sign * frequencies)[0] for sign in (1, -1)]
    return np.logaddexp(*densities) + np.log(prior._mass() / 2)


def spectral_operators(
    signature: Callable, prior: SpectralPrior, frequencies: np.ndarray
) -> np.ndarray:
    r"""Return A(ω) = C(ω) / p(ω), (n_atoms, n_outputs, n_outputs), p as in ``log_spectrum``.

    C is the inverse Fourier transform of K₀ (Eq. 5),

    .. math:: C(\omega) = (2\pi)^{-d} \int e^{-i \omega \cdot \delta} K_0(\delta)\, d\delta

    (the paper omits (2π)^{−d}), real if K₀ is even. It is a sum over a grid, which is refined until
    two results agree: for smooth K₀ that decay fast they converge exponentially. Up to three
    dimensions.
    """
    n_features = frequencies.shape[1]
    if n_features > _MOST_FEATURES:
        raise ValueError(
            f"Spectra of signatures are computed on grids of up to {_MOST_FEATURES} dimensions, "
            f"got {n_features} features. Give factor=... or operator=..., a function of the "
            "frequencies."
        )
    reach = signature_reach(
        signature, 1 / max(float(np.median(np.abs(frequencies))), 1e-300), n_features
    )
    density = np.exp(log_spectrum(prior, frequencies))[:, None, None]
    n_points = int(np.ceil(2 * reach * np.abs(frequencies).max() / np.pi)) + 16
    before = None
    while n_points**n_features <= _MOST_POINTS:
        now = transform(signature, frequencies, reach, n_points) / density
        if before is not None and np.abs(now - before).max() <= _AGREEMENT * np.abs(now).max():
            return now
        before, n_points = now, 2 * n_points
    raise ValueError(
        f"The spectrum of this signature does not converge on grids of up to {_MOST_POINTS} "
        "points: K₀ is not smooth, or its prior has frequencies (up to "
        f"{np.abs(frequencies).max():.3g}) where the spectrum of K₀ is negligible. Give factor=... "
        "or operator=..., a function of the frequencies, or a prior with shorter tails."
    )


def signature_reach(signature: Callable, start: float, n_features: int) -> float:
    """Return a radius beyond which K₀ is negligible along axes and diagonals, by doubling."""
    directions = np.concatenate(
        [np.eye(n_features), np.ones((1, n_features)) / np.sqrt(n_features)]
    )
    steps = np.array([1.0, 1.2, 1.5, 1.9])[:, None, None]
    largest = np.abs(signature(np.zeros((1, n_features)))).max()
    reach = start
    for _ in range(_MOST_DOUBLINGS):
        values = np.abs(signature((reach * steps * directions).reshape(-1, n_features)))
        if values.max() <= _NEGLIGIBLE * largest:
            return reach
        reach *= 2
    raise ValueError(
        f"The signature is still {values.max() / largest:.1e} of K₀(0) at a distance of "
        f"{reach:.3g}: it decays too slowly for a grid. Give factor=... or operator=..., a "
        "function of the frequencies."
    )


def transform(
    signature: Callable, frequencies: np.ndarray, reach: float, n_points: int
) -> np.ndarray:
    """Return C(ω) by the trapezoidal rule on [−reach, reach]^d; K₀ vanishes at the ends."""
    n_features = frequencies.shape[1]
    line = np.linspace(-reach, reach, n_points)
    grid = np.stack(np.meshgrid(*[line] * n_features, indexing="ij"), axis=-1).reshape(
        -1, n_features
    )
    values = np.asarray(signature(grid), dtype=np.float64)
    size = values.shape[1]
    values = values.reshape(*[n_points] * n_features, size * size)
    cell = ((line[1] - line[0]) / (2 * np.pi)) ** n_features
    at_once = max(1, _BLOCK_NUMBERS // (n_points ** (n_features - 1) * size * size))
    sums = [
        _contracted(values, np.exp(1j * frequencies[first : first + at_once, :, None] * line))
        for first in range(0, len(frequencies), at_once)
    ]
    spectrum = cell * np.concatenate(sums).conj().reshape(-1, size, size)
    is_real = np.abs(spectrum.imag).max() <= _SYMMETRIC * np.abs(spectrum.real).max()
    return spectrum.real if is_real else spectrum


def _contracted(values, waves):
    """Sum values · Π_k waves[:, k] over the grid, axis by axis, (n_atoms, n_entries)."""
    sums = np.tensordot(waves[:, 0], values, axes=1)
    for k in range(1, waves.shape[1]):
        sums = np.einsum("mx,mx...->m...", waves[:, k], sums)
    return sums


def _typical_size(numbers):
    """Return the median absolute value of all entries but zeros; 1 if there are none."""
    sizes = np.abs(numbers[numbers != 0])
    return float(np.median(sizes)) if len(sizes) else 1.0


def _check_spectrum(name, operators, opposite):
    """Reject A(ω) that are not Hermitian, or not the conjugates of A(−ω)."""
    _check_equal(operators, operators.conj().transpose(0, 2, 1), "A(ω) = A(ω)ᴴ", name)
    _check_equal(opposite, operators.conj(), "A(−ω) = conj A(ω)", name)


def _check_equal(left, right, equation, name):
    """Raise an error if an equation between matrices does not hold."""
    gap = np.abs(left - right).max(initial=0.0)
    if gap > _SYMMETRIC * np.abs(right).max(initial=0.0):
        raise ValueError(
            f"{name} must satisfy {equation}, as every real kernel does, but both sides differ by "
            f"{gap:.3g}. If the gap is an error, return the mean of both sides."
        )
