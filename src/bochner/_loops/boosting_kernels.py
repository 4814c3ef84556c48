"""Fused kernels of the published boosters: value and gradient in one pass over the rows.

Phases and projections are in half-turns, as in ``kernels.py``. The exponential is a polynomial of
our own for the same reason as the sine: a call to libm inside the loop keeps LLVM from vectorising
it (7x slower).
"""

import numpy as np
import scipy.sparse as sp
from numba import types
from numba.extending import overload

from .arrays import working_dtype
from .blocks import TILE, tiles
from .compiling import PART, compiled
from .intrinsics import same_bits
from .kernels import _sincos

# exp(x) = 2^k exp(r), |r| <= ln 2 / 2.  Adding 1.5 · 2^52 (2^23) rounds to the nearest integer and
# leaves it in the low bits, from where a shift makes it the exponent.  Never compile this with
# reassociation: it would undo the rounding.
_LOG2E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
_ROUND64 = 6755399441055744.0
_E64 = tuple(1.0 / float(np.prod(np.arange(1.0, k + 1))) for k in range(13))
_LOG2E32 = np.float32(_LOG2E)
_LN2_HIGH32, _LN2_LOW32 = np.float32(0.693359375), np.float32(-2.12194440e-4)
_ROUND32 = np.float32(12582912.0)
_E32 = tuple(np.float32(c) for c in _E64[:8])

# Beyond this argument the exponential is continued by its tangent: convex, with a continuous
# gradient, and finite for all weights.  (The published objective overflows at a weight of 709.)
TANGENT_FROM = 60.0
# Rows of one tile, which stay in the second-level cache between two products.
_PASS_BYTES, _FEWEST_PASS_ROWS, _MOST_PASS_ROWS = 2**18, 256, 2048
# For longer rows our loops are up to twice as fast as BLAS.
_LONG_ROW_BYTES = 128
_TANGENT32 = np.float32(TANGENT_FROM)
_LOWEST, _LOWEST32 = -700.0, np.float32(-80.0)


def _exp(x):
    """Return exp(x) for |x| < 80 (float32) or 700 (float64); compiled only."""
    raise RuntimeError("_exp only runs inside compiled kernels")


@overload(_exp, jit_options=PART)
def _exp_overload(x):
    if x == types.float32:

        def exp32(x):
            shifted = x * _LOG2E32 + _ROUND32
            k = shifted - _ROUND32
            r = (x - k * _LN2_HIGH32) - k * _LN2_LOW32
            e0, e1, e2, e3, e4, e5, e6, e7 = _E32  # named once: each use builds the whole tuple
            p = ((e7 * r + e6) * r + e5) * r + e4
            p = (((p * r + e3) * r + e2) * r + e1) * r + e0
            return p * same_bits(np.int32((same_bits(shifted) + np.int32(127)) << np.int32(23)))

        return exp32

    def exp64(x):
        shifted = x * _LOG2E + _ROUND64
        k = shifted - _ROUND64
        r = (x - k * _LN2_HIGH) - k * _LN2_LOW
        e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12 = _E64
        p = ((e12 * r + e11) * r + e10) * r + e9
        p = (((p * r + e8) * r + e7) * r + e6) * r + e5
        p = ((((p * r + e4) * r + e3) * r + e2) * r + e1) * r + e0
        return p * same_bits((same_bits(shifted) + 1023) << 52)

    return exp64


def _bounds(x):
    raise RuntimeError("_bounds only runs inside compiled kernels")


@overload(_bounds, jit_options=PART)
def _bounds_overload(x):
    """Return the lowest argument and the start of the tangent, in the dtype of x."""
    if x == types.float32:
        return lambda x: (_LOWEST32, _TANGENT32)
    return lambda x: (_LOWEST, TANGENT_FROM)


@compiled
def exponential(x, out):
    """Compute out = exp(x), elementwise on 1-D arrays, with x clipped to avoid overflow."""
    for i in range(x.shape[0]):
        lowest, highest = _bounds(x[i])
        out[i] = _exp(min(max(x[i], lowest), highest))


@compiled
def exponential_pull(turns, signal, counts, phase, losses):
    """Compute losses = h e(−ỹ cos θ) and turns = h ỹ sin θ e'(−ỹ cos θ), θ = π (turns − phase).

    e is exp, continued by its tangent. h ``counts``; ones give the same bits as no counts.
    """
    for i in range(turns.shape[0]):
        lowest, highest = _bounds(turns[i])
        s, c = _sincos(turns[i] - phase)
        z = max(-signal[i] * c, lowest)
        value = counts[i] * _exp(min(z, highest))
        losses[i] = value * (1 + max(z - highest, 0 * z))
        turns[i] = signal[i] * s * value


@compiled(sums=True, part=True)
def _sum(values):
    total = 0 * values[0]
    for i in range(values.shape[0]):
        total += values[i]
    return total


@compiled(sums=True, part=True)
def _row_products(rows, direction, out):
    """Compute out = rows @ direction."""
    for i in range(rows.shape[0]):
        row, total = rows[i], 0 * direction[0]
        for k in range(row.shape[0]):
            total += row[k] * direction[k]
        out[i] = total


@compiled(sums=True, part=True)
def _weighted_rows(weights, rows, out):
    """Compute out = weights @ rows, four rows at a time: sums stay in registers longer."""
    out[:] = 0
    whole = rows.shape[0] - rows.shape[0] % 4
    for i in range(0, whole, 4):
        a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for k in range(rows.shape[1]):
            out[k] += (
                weights[i] * a[k]
                + weights[i + 1] * b[k]
                + weights[i + 2] * c[k]
                + weights[i + 3] * d[k]
            )
    for i in range(whole, rows.shape[0]):
        row = rows[i]
        for k in range(rows.shape[1]):
            out[k] += weights[i] * row[k]


@compiled
def exponential_pass(rows, signal, counts, direction, phase, gradient):
    """Return Σ_i h_i e(−ỹ_i cos(π (x_i·direction − phase))) and add its gradient in ω.

    Each tile of rows is read once.
    """
    n_rows, row_bytes = rows.shape[0], rows.shape[1] * rows.itemsize
    at_once = max(_FEWEST_PASS_ROWS, min(_MOST_PASS_ROWS, _PASS_BYTES // max(row_bytes, 1)))
    turns, losses = np.empty(at_once, rows.dtype), np.empty(at_once, rows.dtype)
    part = np.empty(rows.shape[1], rows.dtype)
    value = 0.0
    for start in range(0, n_rows, at_once):
        stop = min(start + at_once, n_rows)
        tile, pull = rows[start:stop], turns[: stop - start]
        if row_bytes < _LONG_ROW_BYTES:
            np.dot(tile, direction, pull)
        else:
            _row_products(tile, direction, pull)
        exponential_pull(
            pull, signal[start:stop], counts[start:stop], phase, losses[: stop - start]
        )
        if row_bytes < _LONG_ROW_BYTES:
            np.dot(pull, tile, part)
        else:
            _weighted_rows(pull, tile, part)
        for k in range(part.shape[0]):
            gradient[k] += part[k]
        value += _sum(losses[: stop - start])
    return value


@compiled
def phase_losses(turns, signal, counts, phases, sums):
    """Add Σ_i h_i (e, e', e'') of e(−ỹ_i cos(π (turns_i − phases_k))) to sums[:, k].

    The derivatives are in the phase angle, for all phases at once. The loop runs over phases, side
    by side in the registers: cos(a − b) from cos a, sin a needs no further sine.
    """
    n_phases = phases.shape[0]
    cosines = np.empty(n_phases, turns.dtype)
    sines = np.empty(n_phases, turns.dtype)
    for k in range(n_phases):
        sines[k], cosines[k] = _sincos(phases[k])
    values, slopes, curvatures = sums[0], sums[1], sums[2]
    for i in range(turns.shape[0]):
        s, c = _sincos(turns[i])
        a = signal[i] * c
        b = signal[i] * s
        lowest, highest = _bounds(a)
        for k in range(n_phases):
            u = a * cosines[k] + b * sines[k]
            v = b * cosines[k] - a * sines[k]
            z = max(-u, lowest)
            value = counts[i] * _exp(min(z, highest))
            values[k] += value * (1 + max(z - highest, 0 * z))
            slopes[k] -= v * value
            # On the tangent e'' loses its v² term; the bound keeps a Newton step from it harmless.
            curvatures[k] += (v * v + u) * value


@compiled
def searched_phase(turns, signal, counts, grid, around, incoming, margin):
    """Return the phase of least loss: by a grid, two finer ones, and a checked Newton step.

    Equal to sums by ``phase_losses`` in the steps of ``boosting.gbrff2._search_in_blocks``, without
    the calls from Python between them: for a thousand rows these take half of the time.
    """
    coarse, center, radius, slope, curvature = 0.0, 0.0, np.pi, 0.0, 0.0
    phases = grid
    for level in range(3):
        sums = _phase_sums(turns, signal, counts, phases)
        best = 0
        for k in range(1, phases.shape[0]):
            if sums[0, k] < sums[0, best]:
                best = k
        center, slope, curvature = phases[best], sums[1, best], sums[2, best]
        coarse = center if level == 0 else coarse
        radius = 2 * radius / (phases.shape[0] - (level > 0))
        phases = center + radius * around
    step = min(max(slope / curvature, -radius), radius) if curvature > 0 else 0.0
    phases = np.array([center - step, center, coarse, incoming])
    values = _phase_sums(turns, signal, counts, phases)[0]
    best = 0
    for k in range(1, 4):
        if values[k] < values[best] * (1 - margin):
            best = k
    return phases[best]


@compiled(part=True)
def _phase_sums(turns, signal, counts, phases):
    """Return ``phase_losses`` of phases in radians, in the dtype of the turns."""
    shifts = np.empty(phases.shape[0], turns.dtype)
    for k in range(phases.shape[0]):
        shifts[k] = phases[k] / np.pi
    sums = np.zeros((3, phases.shape[0]), turns.dtype)
    phase_losses(turns, signal, counts, shifts, sums)
    return sums


@compiled
def cosine_values(turns, phase, out):
    """Compute out = cos(π (turns − phase)) on 1-D arrays."""
    for i in range(turns.shape[0]):
        _, c = _sincos(turns[i] - phase)
        out[i] = c


# --- functions of one block of rows, for row_sum and row_map --------------------------------------


def half_turns_block(frequency, X, out):
    """Write ω·x / π for one frequency to ``out``, (n_rows,) in the dtype of X.

    BLAS rounds differently for rows in Fortran order, so dense rows are put into C order first.
    """
    dtype = working_dtype(X)
    rows = X if sp.issparse(X) else np.ascontiguousarray(X, dtype=dtype)
    out[...] = rows @ (frequency / np.pi).astype(dtype)


def exponential_block(frequency, phase, X, signal, counts):
    """Return Σ_i h_i e(−ỹ_i cos(ω·x_i − b)) and its gradient in ω, in one pass over X."""
    dtype = working_dtype(X)
    direction = (frequency / np.pi).astype(dtype)
    shift = dtype(phase / np.pi)
    gradient = np.zeros(len(frequency))
    signal, counts = (np.ascontiguousarray(part, dtype=dtype) for part in (signal, counts))
    if not sp.issparse(X):
        rows = np.ascontiguousarray(X, dtype=dtype)
        return np.float64(
            exponential_pass(rows, signal, counts, direction, shift, gradient)
        ), gradient
    turns, losses = X @ direction, np.empty(X.shape[0], dtype)
    exponential_pull(turns, signal, counts, shift, losses)
    return losses.sum(dtype=np.float64), (X.T @ turns).astype(np.float64)


def phase_losses_block(phases, turns, signal, counts):
    """Return Σ_i h_i e(−ỹ_i cos(πt_i − b)) and its first two derivatives in b, (3, n_phases).

    The sums are in float64.
    """
    sums = np.zeros((3, len(phases)))
    shifts = (phases / np.pi).astype(turns.dtype)
    signal, counts = (np.ascontiguousarray(part, dtype=turns.dtype) for part in (signal, counts))
    for rows in tiles(len(turns), 4 * TILE):
        tile_sums = np.zeros(sums.shape, turns.dtype)
        phase_losses(turns[rows], signal[rows], counts[rows], shifts, tile_sums)
        sums += tile_sums
    return sums
