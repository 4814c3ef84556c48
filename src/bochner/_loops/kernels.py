"""Fused numeric kernels: everything that happens between two matrix products.

All kernels take a *projection in half-turns*, P = X Wᵀ / π, so that range reduction is ``t -
rint(t)``: exact, branch-free, and vectorised by LLVM. They run on one thread and release the
interpreter lock; ``data/rows.py`` shares row blocks between threads, so that BLAS and the
kernels do not compete for cores.

Non-finite numbers must be rejected before (``assert_finite``).
"""

import numpy as np
from numba import types
from numba.extending import overload

from .compiling import PART, compiled

# sin(πr) = r · S(r²) and cos(πr) = C(r²) on |r| <= 1/2: polynomials through the Chebyshev nodes of
# r² in [0, 1/4], computed with 60 digits.  Truncation error: 7e-9 and 3e-10 (float32), 4e-19 and
# 4e-18 (float64).
_S32 = tuple(
    np.float32(c)
    for c in (
        3.1415926400772034,
        -5.167710076668315,
        2.550077386528912,
        -0.5982904112834275,
        0.07765591227601387,
    )
)
_C32 = tuple(
    np.float32(c)
    for c in (
        0.999999999779154,
        -4.934802136928946,
        4.058709154763134,
        -1.3352119493905503,
        0.2349370685950865,
        -0.024395932097550446,
    )
)
_S64 = (
    3.141592653589793,
    -5.167712780049969,
    2.5501640398773007,
    -0.5992645293189447,
    0.0821458865731029,
    -0.007370430505916944,
    0.0004662998161898394,
    -2.1903497074626018e-05,
    7.697826768224191e-07,
)
_C64 = (
    1.0,
    -4.934802200544676,
    4.058712126416497,
    -1.335262768843447,
    0.23533063012953284,
    -0.025806888737002202,
    0.0019295562724817132,
    -0.00010456655338748738,
    4.149564353942586e-06,
)
_HALF32, _ONE32, _FOUR32 = np.float32(0.5), np.float32(1), np.float32(4)


def _sincos(half_turns):
    """Return (sin, cos) of π · half_turns; compiled only, one implementation per dtype."""
    raise RuntimeError("_sincos only runs inside compiled kernels")


@overload(_sincos, jit_options=PART)
def _sincos_overload(half_turns):
    if half_turns == types.float32:

        def sincos32(half_turns):
            nearest = np.rint(half_turns)
            r = half_turns - nearest
            halved = _HALF32 * nearest
            sign = _ONE32 - _FOUR32 * abs(halved - np.rint(halved))  # (-1)^nearest without integers
            u = r * r
            s0, s1, s2, s3, s4 = _S32  # named once: each use builds the tuple
            c0, c1, c2, c3, c4, c5 = _C32
            s = (((s4 * u + s3) * u + s2) * u + s1) * u + s0
            c = ((((c5 * u + c4) * u + c3) * u + c2) * u + c1) * u + c0
            return sign * (s * r), sign * c

        return sincos32

    def sincos64(half_turns):
        nearest = np.rint(half_turns)
        r = half_turns - nearest
        halved = 0.5 * nearest
        sign = 1.0 - 4.0 * abs(halved - np.rint(halved))
        u = r * r
        s0, s1, s2, s3, s4, s5, s6, s7, s8 = _S64
        c0, c1, c2, c3, c4, c5, c6, c7, c8 = _C64
        s = (((s8 * u + s7) * u + s6) * u + s5) * u + s4
        s = (((s * u + s3) * u + s2) * u + s1) * u + s0
        c = (((c8 * u + c7) * u + c6) * u + c5) * u + c4
        c = (((c * u + c3) * u + c2) * u + c1) * u + c0
        return sign * (s * r), sign * c

    return sincos64


@compiled
def sincos(half_turns, sines, cosines):
    """Compute sines, cosines = sin(π t), cos(π t), elementwise on 1-D arrays."""
    for i in range(half_turns.shape[0]):
        s, c = _sincos(half_turns[i])
        sines[i] = s
        cosines[i] = c


# The loops below run over 1-D views of a row: with two-dimensional indices LLVM cannot rule out
# wrap-around and gives up vectorising (8x slower).


@compiled
def paired_columns(projection, root_weights, out, first_atom):
    """Write cos(πP) ∘ √w, and sin(πP) ∘ √w half the width further, for a tile of m atoms."""
    n_rows, n_tile_atoms = projection.shape
    n_atoms = out.shape[1] // 2
    for i in range(n_rows):
        turns = projection[i]
        cosines = out[i, first_atom : first_atom + n_tile_atoms]
        sines = out[i, n_atoms + first_atom : n_atoms + first_atom + n_tile_atoms]
        for j in range(n_tile_atoms):
            s, c = _sincos(turns[j])
            cosines[j] = root_weights[j] * c
            sines[j] = root_weights[j] * s


@compiled
def add_fourier_sums(projection, signal, sums):
    """Add signal[:, k]ᵀ cos(πP) to sums[k, 0] and signal[:, k]ᵀ sin(πP) to sums[k, 1].

    Zeros of the signal are skipped, so one-hot labels cost as much as one signal.
    """
    n_rows, n_atoms = projection.shape
    cosines = np.empty(n_atoms, projection.dtype)
    sines = np.empty(n_atoms, projection.dtype)
    for i in range(n_rows):
        sincos(projection[i], sines, cosines)
        for k in range(signal.shape[1]):
            a = signal[i, k]
            if a != 0:
                cosine_sums = sums[k, 0]
                sine_sums = sums[k, 1]
                for j in range(n_atoms):
                    cosine_sums[j] += a * cosines[j]
                    sine_sums[j] += a * sines[j]


@compiled
def potential_pull(projection, signal, sums):
    """Set P[i, j] to Σ_k signal[i, k] (cos(πP) sums[k, 1, j] − sin(πP) sums[k, 0, j]).

    With ``sums`` the (signed) Fourier sums of the signal, 2 Pᵀ X is the gradient of the Fourier
    potential.
    """
    n_rows, n_atoms = projection.shape
    cosines = np.empty(n_atoms, projection.dtype)
    sines = np.empty(n_atoms, projection.dtype)
    for i in range(n_rows):
        pull = projection[i]
        sincos(pull, sines, cosines)
        for j in range(n_atoms):
            pull[j] = 0
        for k in range(signal.shape[1]):
            a = signal[i, k]
            if a != 0:
                cosine_sums = sums[k, 0]
                sine_sums = sums[k, 1]
                for j in range(n_atoms):
                    pull[j] += a * (cosines[j] * sine_sums[j] - sines[j] * cosine_sums[j])


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
    frequencies need the cosines only once.
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
