"""Functions of one block of rows: a matrix product, then a fused kernel on tiles in cache."""

import numpy as np
import scipy.sparse as sp

from .arrays import read_only, working_dtype
from .lazy import fused as kernels

# One tile is 1024 rows x 1024 atoms: large enough for BLAS to reach full speed, small enough (4 or
# 8 MB) that no method ever holds an n x N matrix.
TILE = 1024
# Columns of zeros are searched in rows of at least this many columns, and left out if at most this
# share of columns remains.
_NARROW = 64
_WORTHWHILE = 0.95


def tiles(n, size=None):
    """Return slices of at most ``size`` of n rows or atoms, by default ``TILE``."""
    size = size or TILE
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def atoms_at_once(n_features):
    """Return the number of frequencies of a tile, fewer if it would exceed 64 MB."""
    return min(TILE, max(1, 2**23 // max(n_features, 1)))


class Projector:
    """Products X[rows] @ frequencies[atoms]ᵀ / π in one reused buffer, for dense or sparse X."""

    def __init__(self, X, frequencies, at_once=None):
        self.dtype = working_dtype(X)
        self.X = X if X.dtype == self.dtype else X.astype(self.dtype)
        self.frequencies = frequencies
        self.at_once = at_once or atoms_at_once(X.shape[1])
        self.buffer = np.empty(
            min(TILE, X.shape[0]) * min(self.at_once, len(frequencies)), self.dtype
        )

    def tiles(self, kept=None, stored=False):
        """Yield (rows, atoms, half-turns); the last is valid only until the next iteration.

        With ``kept``, (n_rows, n_atoms), the half-turns are stored there; with ``stored`` they are
        there already.
        """
        if kept is not None:
            columns = None if stored else self._columns(slice(None))
            for rows in tiles(self.X.shape[0]):
                if not stored:
                    self._project(rows, columns, kept[rows])
                yield rows, slice(0, len(self.frequencies)), kept[rows]
            return
        for atoms in tiles(len(self.frequencies), self.at_once):
            # Dividing tile by tile costs 1/1024 of the product, and never copies all frequencies.
            columns = self._columns(atoms)
            if sp.issparse(self.X):
                columns = np.ascontiguousarray(columns)  # otherwise scipy copies it for every tile
            for rows in tiles(self.X.shape[0]):
                shape = rows.stop - rows.start, atoms.stop - atoms.start
                tile = self.buffer[: shape[0] * shape[1]].reshape(shape)
                self._project(rows, columns, tile)
                yield rows, atoms, tile

    def _columns(self, atoms):
        return (self.frequencies[atoms] * (1 / np.pi)).astype(self.dtype, copy=False).T

    def _project(self, rows, columns, out):
        if sp.issparse(self.X):
            out[...] = self.X[rows] @ columns
        else:
            np.matmul(self.X[rows], columns, out=out)


def features_block(frequencies, weights, X, out=None):
    """Return [√w_j cos(ω_j·x) ; √w_j sin(ω_j·x)] as (n_rows, 2 n_atoms), in ``out`` if given."""
    projector = Projector(X, frequencies)
    if out is None:
        out = np.empty((X.shape[0], 2 * len(frequencies)), projector.dtype)
    root_weights = np.sqrt(weights).astype(projector.dtype)
    target = out if out.dtype == projector.dtype and out.flags.c_contiguous else None
    for rows, atoms, tile in projector.tiles():
        if target is not None:
            kernels.paired_columns(tile, root_weights[atoms], target[rows], atoms.start)
        else:  # a strided or differently typed output: same kernel, one more copy
            pair = np.empty((tile.shape[0], 2 * tile.shape[1]), projector.dtype)
            kernels.paired_columns(tile, root_weights[atoms], pair, 0)
            out[rows, atoms] = pair[:, : tile.shape[1]]
            out[rows, len(frequencies) + atoms.start : len(frequencies) + atoms.stop] = pair[
                :, tile.shape[1] :
            ]
    return out


def fourier_sums_block(frequencies, X, signal, kept_projection=None):
    """Return Σ_i signal_i ⊗ (cos, sin)(ω_j·x_i), (n_signals, 2, n_atoms), in float64.

    ``kept_projection`` (n_rows, n_atoms), when given, is filled with the half-turns for
    ``potential_gradient_block``.
    """
    projector = Projector(X, frequencies)
    signal = np.ascontiguousarray(_columns(signal), dtype=projector.dtype)
    sums = np.zeros((signal.shape[1], 2, len(frequencies)))
    for rows, atoms, tile in projector.tiles(kept_projection):
        tile_sums = np.zeros((signal.shape[1], 2, tile.shape[1]), projector.dtype)
        kernels.add_fourier_sums(tile, signal[rows], tile_sums)
        sums[:, :, atoms] += tile_sums
    return sums


def narrow_sums_block(frequencies, X, signal):
    """Return ``fourier_sums_block`` without the columns that are zero in the whole block.

    Images have empty margins and one-hot tables absent levels; the projection, which takes most of
    the time, is shorter by their share.
    """
    if sp.issparse(X) or X.shape[1] < _NARROW:
        return fourier_sums_block(frequencies, X, signal)
    alive = np.flatnonzero(np.any(X, axis=0))
    if len(alive) > _WORTHWHILE * X.shape[1]:
        return fourier_sums_block(frequencies, X, signal)
    X = X[:, alive]
    # Tile by tile, so that the frequencies are never copied as a whole.
    parts = [
        fourier_sums_block(frequencies[atoms][:, alive], X, signal)
        for atoms in tiles(len(frequencies))
    ]
    return np.concatenate(parts, axis=2)


def class_sums_block(frequencies, n_classes, X, codes, weights=1):
    """Return the (weighted) Fourier sums of the rows of each class, (n_classes, 2, n_atoms)."""
    one_hot = np.zeros((len(codes), n_classes), working_dtype(X))
    one_hot[np.arange(len(codes)), codes] = weights
    return narrow_sums_block(frequencies, X, one_hot)


def potential_gradient_block(frequencies, signed_sums, X, signal, kept_projection=None):
    """Return Σ_i x_i Σ_k signal_ik (cos(ω_j·x_i) S_kj − sin(ω_j·x_i) C_kj) in float64.

    The shape is (n_atoms, n_features). ``signed_sums`` holds s_k (C_k, S_k), the Fourier sums over
    *all* rows; twice the result is the gradient of Σ_k s_k |û_k|². ``kept_projection`` (from
    ``fourier_sums_block``) spares the projection, and is overwritten.
    """
    projector = Projector(X, frequencies)
    X = projector.X
    signal = np.ascontiguousarray(_columns(signal), dtype=projector.dtype)
    signed_sums = signed_sums.astype(projector.dtype)
    gradient = np.zeros((len(frequencies), X.shape[1]))
    for rows, atoms, tile in projector.tiles(kept_projection, stored=True):
        kernels.potential_pull(tile, signal[rows], np.ascontiguousarray(signed_sums[:, :, atoms]))
        gradient[atoms] += (X[rows].T @ tile).T if sp.issparse(X) else tile.T @ X[rows]
    return gradient


def landmark_block(frequencies, phases, weights, X, out):
    """Return ψ_l(x) = Σ_m weights[v, l, m] cos(ω_lm·x − phases[l, m]).

    The shape is (n_rows, n_variants · n_landmarks). ``frequencies`` is (n_landmarks, D,
    n_features), ``phases`` in radians, ``weights`` one or more sets (n_variants, n_landmarks, D).
    One matrix product and one cosine per frequency and row, on tiles that hold whole landmarks;
    equal to, and much faster than, a loop over landmarks.
    """
    n_landmarks, n_atoms, n_features = frequencies.shape
    whole = max(1, atoms_at_once(n_features) // n_atoms) * n_atoms
    projector = Projector(X, frequencies.reshape(-1, n_features), whole)
    half_turns = (phases * (1 / np.pi)).astype(projector.dtype)
    for rows, atoms, tile in projector.tiles():
        some = slice(atoms.start // n_atoms, atoms.stop // n_atoms)
        own_weights = read_only(np.ascontiguousarray(weights[:, some], projector.dtype))
        part = np.empty((len(tile), len(weights), some.stop - some.start), projector.dtype)
        kernels.landmark_similarities(tile, half_turns[some], own_weights, part)
        for variant in range(len(weights)):
            out[rows, variant * n_landmarks + some.start : variant * n_landmarks + some.stop] = (
                part[:, variant]
            )


def _columns(values):
    return values[:, None] if values.ndim == 1 else values
