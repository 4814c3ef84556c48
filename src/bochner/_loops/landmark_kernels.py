"""Fused kernel of the landmark map; see ``kernels.py`` for the rules of such kernels."""

import numpy as np

from .compiling import compiled
from .kernels import _sincos


@compiled(sums=True, part=True)
def _dot(left, right):
    total = left[0] * right[0]
    for j in range(1, left.shape[0]):
        total += left[j] * right[j]
    return total


@compiled
def landmark_similarities(projection, phases, weights, out):
    """Compute out[i, v, l] = Σ_m weights[v, l, m] cos(π (P[i, l D + m] − phases[l, m])).

    The arrays are those of a tile of whole landmarks. Several sets v of weights on the same
    frequencies cost one cosine all together.
    """
    n_rows = projection.shape[0]
    n_variants, n_landmarks, n_atoms = weights.shape
    cosines = np.empty(n_atoms, projection.dtype)
    for i in range(n_rows):
        turns = projection[i]
        for k in range(n_landmarks):
            own_turns = turns[k * n_atoms : (k + 1) * n_atoms]
            own_phases = phases[k]
            for m in range(n_atoms):
                _, cosines[m] = _sincos(own_turns[m] - own_phases[m])
            for v in range(n_variants):
                out[i, v, k] = _dot(weights[v, k], cosines)
