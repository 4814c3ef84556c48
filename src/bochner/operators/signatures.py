"""Operators A(ω) of the spectrum of a signature K₀(δ), by quadrature.

See Brault et al. 2016, Algorithm 1, steps 1 and 2.
"""

from collections.abc import Callable

import numpy as np

from ..priors import SpectralPrior

# A grid in more dimensions has too many points.
MOST_FEATURES = 3
_MOST_POINTS = 2**22
# Numbers in memory at once while frequencies are summed over the grid.
_BLOCK_NUMBERS = 2**22
# K₀ below this share of K₀(0) counts as zero; results of two grids agree up to this share.
_NEGLIGIBLE, _AGREEMENT = 1e-9, 1e-6
_MOST_DOUBLINGS = 14


def spectral_operators(
    signature: Callable, prior: SpectralPrior, frequencies: np.ndarray
) -> np.ndarray:
    r"""Return A(ω) = C(ω) / p(ω), (n_atoms, n_outputs, n_outputs), p the prior's density.

    C is the inverse Fourier transform of K₀ (Eq. 5),

    .. math:: C(\omega) = (2\pi)^{-d} \int \cos(\omega \cdot \delta)\, K_0(\delta)\, d\delta

    (the paper omits (2π)^{−d}). It is a sum over a grid, which is refined until two results agree:
    for smooth K₀ that decay fast they converge exponentially. Up to three dimensions.
    """
    n_features = frequencies.shape[1]
    if n_features > MOST_FEATURES:
        raise ValueError(
            f"Spectra of signatures are computed on grids of up to {MOST_FEATURES} dimensions, "
            f"got {n_features} features. Give factor=... or operator=..., a function of the "
            "frequencies."
        )
    reach = signature_reach(
        signature, 1 / max(float(np.median(np.abs(frequencies))), 1e-300), n_features
    )
    density = np.exp(prior.log_density(frequencies)[0])[:, None, None]
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
    return cell * np.concatenate(sums).real.reshape(-1, size, size)


def _contracted(values, waves):
    """Sum values · Π_k waves[:, k] over the grid, axis by axis, (n_atoms, n_entries)."""
    sums = np.tensordot(waves[:, 0], values, axes=1)
    for k in range(1, waves.shape[1]):
        sums = np.einsum("mx,mx...->m...", waves[:, k], sums)
    return sums
