"""Landmark map of one block of rows: similarities to landmarks with their own frequencies."""

import numpy as np

from .arrays import read_only
from .blocks import Projector, atoms_at_once


def landmark_block(frequencies, phases, weights, X, out):
    """Return ψ_l(x) = Σ_m weights[v, l, m] cos(ω_lm·x − phases[l, m]).

    The shape is (n_rows, n_variants · n_landmarks). ``frequencies`` is (n_landmarks, D,
    n_features), ``phases`` in radians, ``weights`` one or more sets (n_variants, n_landmarks, D).
    One matrix product and one cosine per frequency and row, on tiles that hold whole landmarks;
    equal to, and much faster than, a loop over landmarks.
    """
    from . import landmark_kernels

    n_landmarks, n_atoms, n_features = frequencies.shape
    whole = max(1, atoms_at_once(n_features) // n_atoms) * n_atoms
    projector = Projector(X, frequencies.reshape(-1, n_features), whole)
    half_turns = (phases * (1 / np.pi)).astype(projector.dtype)
    for rows, atoms, tile in projector.tiles():
        some = slice(atoms.start // n_atoms, atoms.stop // n_atoms)
        own_weights = read_only(np.ascontiguousarray(weights[:, some], projector.dtype))
        part = np.empty((len(tile), len(weights), some.stop - some.start), projector.dtype)
        landmark_kernels.landmark_similarities(tile, half_turns[some], own_weights, part)
        for variant in range(len(weights)):
            out[rows, variant * n_landmarks + some.start : variant * n_landmarks + some.stop] = (
                part[:, variant]
            )
