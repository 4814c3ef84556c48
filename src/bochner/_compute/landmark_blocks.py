"""The landmark map on one block of rows: similarities to landmarks that each have frequencies of their own."""

import numpy as np
import scipy.sparse as sp

from .blocks import TILE, atoms_at_once, working_dtype


def landmark_block(frequencies, phases, weights, X, out=None):
    """ψ_l(x) = Σ_m weights[v, l, m] cos(ω_lm·x − phases[l, m]) as (n_rows, n_variants · n_landmarks).

    ``frequencies`` is (n_landmarks, D, n_features), ``phases`` in radians, ``weights`` one or more sets (n_variants,
    n_landmarks, D).  One matrix product and one cosine per frequency and row, on tiles that hold whole landmarks; equal
    to, and much faster than, a loop over landmarks.
    """
    from . import landmark_kernels

    n_landmarks, n_atoms, n_features = frequencies.shape
    dtype = working_dtype(X)
    X = X if X.dtype == dtype else X.astype(dtype)
    n_variants = len(weights)
    if out is None:
        out = np.empty((X.shape[0], n_variants * n_landmarks), dtype)
    per_tile = min(max(1, atoms_at_once(n_features) // n_atoms), n_landmarks)
    tile_rows = min(TILE, X.shape[0])
    buffer = np.empty(tile_rows * per_tile * n_atoms, dtype)
    for first in range(0, n_landmarks, per_tile):
        some = slice(first, min(first + per_tile, n_landmarks))
        columns = (frequencies[some].reshape(-1, n_features) * (1 / np.pi)).astype(dtype, copy=False).T
        if sp.issparse(X):
            columns = np.ascontiguousarray(columns)
        half_turns = (phases[some] * (1 / np.pi)).astype(dtype)
        own_weights = np.ascontiguousarray(weights[:, some], dtype=dtype)
        similarities = np.empty((tile_rows, n_variants, some.stop - some.start), dtype)
        for start in range(0, X.shape[0], TILE):
            rows = slice(start, min(start + TILE, X.shape[0]))
            shape = rows.stop - rows.start, columns.shape[1]
            tile = buffer[: shape[0] * shape[1]].reshape(shape)
            if sp.issparse(X):
                tile[...] = X[rows] @ columns
            else:
                np.matmul(X[rows], columns, out=tile)
            part = similarities[: shape[0]]
            landmark_kernels.landmark_similarities(tile, half_turns, own_weights, part)
            for variant in range(n_variants):
                out[rows, variant * n_landmarks + some.start : variant * n_landmarks + some.stop] = part[:, variant]
    return out
