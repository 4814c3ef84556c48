"""Block functions of ``_loops`` for arrays of the array API standard.

Each is a few matrix products and one sine and cosine per frequency, by tiles of frequencies. Sums
are added in float64.
"""

from .._loops.blocks import features_block, fourier_sums_block, landmark_block, tiles
from .._loops.wave_kernels import expansion_block
from .tensor_rows import array_api_version_of

# Frequencies of one tile.
_ATOMS = 2**12


def _like(xp, X, *arrays):
    """Return parameters in the precision of the rows."""
    return [None if array is None else xp.astype(array, X.dtype) for array in arrays]


def _columns(xp, X, values):
    return xp.astype(values[:, None] if values.ndim == 1 else values, X.dtype)


@array_api_version_of(features_block)
def features(xp, frequencies, weights, X):
    frequencies, roots = _like(xp, X, frequencies, xp.sqrt(weights))
    angles = X @ frequencies.T
    return xp.concat([roots * xp.cos(angles), roots * xp.sin(angles)], axis=1)


@array_api_version_of(fourier_sums_block)
def fourier_sums(xp, frequencies, X, signal):
    (frequencies,) = _like(xp, X, frequencies)
    signal = _columns(xp, X, signal)
    parts = []
    for atoms in tiles(frequencies.shape[0], _ATOMS):
        angles = X @ frequencies[atoms, :].T
        parts.append(xp.stack([signal.T @ xp.cos(angles), signal.T @ xp.sin(angles)], axis=1))
    return xp.concat(parts, axis=2)


@array_api_version_of(landmark_block)
def landmarks(xp, frequencies, phases, weights, X):
    """Evaluate tiles of whole landmarks: single ones would be small products."""
    frequencies, phases, weights = _like(xp, X, frequencies, phases, weights)
    n_landmarks, n_atoms, n_features = frequencies.shape
    parts = []
    for some in tiles(n_landmarks, max(1, _ATOMS // n_atoms)):
        flat = xp.reshape(frequencies[some, :, :], (-1, n_features))
        waves = xp.cos(X @ flat.T - xp.reshape(phases[some, :], (1, -1)))
        waves = xp.reshape(waves, (X.shape[0], 1, -1, n_atoms))
        parts.append(xp.sum(waves * weights[None, :, some, :], axis=3))
    return xp.reshape(xp.concat(parts, axis=2), (X.shape[0], -1))


@array_api_version_of(expansion_block)
def expansion(xp, frequencies, phases, amplitudes, slopes, intercept, X):
    cosines, sines = amplitudes * xp.cos(phases), amplitudes * xp.sin(phases)
    frequencies, cosines, sines, slopes, intercept = _like(
        xp, X, frequencies, cosines, sines, slopes, intercept
    )
    result = xp.zeros((X.shape[0], intercept.shape[0]), dtype=X.dtype, device=X.device) + intercept
    if slopes is not None:
        result = result + X @ slopes
    for atoms in tiles(frequencies.shape[0], _ATOMS):
        angles = X @ frequencies[atoms, :].T
        result = result + xp.cos(angles) @ cosines[atoms, :] + xp.sin(angles) @ sines[atoms, :]
    return result
