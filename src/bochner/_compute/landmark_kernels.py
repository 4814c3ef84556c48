"""Fused kernel of the landmark map; see ``kernels.py`` for the rules that such kernels follow."""

import numpy as np
from numba import njit

from .kernels import _FLAGS, _sincos

# A sum may be taken in any order, which lets LLVM vectorise it; the range reduction above it may not be touched.
_SUM_FLAGS = _FLAGS | {"fastmath": {"contract", "nnan", "ninf", "nsz", "arcp", "reassoc"}, "inline": "always"}


@njit(**_SUM_FLAGS)
def _sum(values):
    total = values[0]
    for j in range(1, values.shape[0]):
        total += values[j]
    return total


@njit(**_FLAGS)
def landmark_similarities(projection, phases, weights, out):
    """out[i, l] = Σ_m weights[l, m] cos(π (P[i, l D + m] − phases[l, m])) for a tile of whole landmarks."""
    n_rows = projection.shape[0]
    n_landmarks, n_atoms = weights.shape
    terms = np.empty(n_atoms, projection.dtype)
    for i in range(n_rows):
        turns = projection[i]
        similarities = out[i]
        for k in range(n_landmarks):
            own_turns = turns[k * n_atoms : (k + 1) * n_atoms]
            own_phases = phases[k]
            own_weights = weights[k]
            for m in range(n_atoms):
                _, cosine = _sincos(own_turns[m] - own_phases[m])
                terms[m] = own_weights[m] * cosine
            similarities[k] = _sum(terms)
