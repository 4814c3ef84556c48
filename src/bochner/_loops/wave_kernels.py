"""Fused kernels of sums of waves: evaluation, one boosting round, gradients of descents.

Phases and projections are in half-turns, as in ``kernels.py``. Each kernel does all that its rows
need without returning to Python, so that threads run side by side. What several outputs share is
left to matrix products.
"""

import numpy as np
import scipy.sparse as sp

from .arrays import read_only, working_dtype
from .blocks import TILE, fourier_sums_block, tiles
from .boosting_kernels import _exp
from .compiling import compiled
from .kernels import _sincos, add_fourier_sums, sincos

# Half-turns of one tile, which fit into the second-level cache.
_TILE_BYTES = 2**18


@compiled
def trigonometry(turns, sines, cosines):
    """Compute (sines, cosines) of π turns for 2-D arrays of equal shape, row by row."""
    for i in range(turns.shape[0]):
        sincos(turns[i], sines[i], cosines[i])


# --- one round of boosting ------------------------------------------------------------------------


@compiled(sums=True)
def wave_sums(turns, gradient, curvature, cosines, sines, sums):
    """Compute Σ_i g cos, g sin, h cos², h cos sin of π turns for each wave (row of ``turns``).

    The cosines and sines are stored too.
    """
    for j in range(turns.shape[0]):
        t, c_row, s_row = turns[j], cosines[j], sines[j]
        zero = 0 * t[0]
        g_cos, g_sin, h_cos, h_mixed = zero, zero, zero, zero
        for i in range(turns.shape[1]):
            s, c = _sincos(t[i])
            c_row[i] = c
            s_row[i] = s
            g_cos += gradient[i] * c
            g_sin += gradient[i] * s
            h_cos += curvature[i] * c * c
            h_mixed += curvature[i] * c * s
        sums[0, j], sums[1, j], sums[2, j], sums[3, j] = g_cos, g_sin, h_cos, h_mixed


@compiled
def wave_slopes(cosines, sines, gradient, curvature, cosine, sine, pull, stiffness):
    """Compute pull = (g + h f) f' and stiffness = h f'² row by row.

    f = A cos + B sin, and f' is its derivative in the angle.
    """
    for i in range(cosines.shape[0]):
        value = cosine * cosines[i] + sine * sines[i]
        slope = sine * cosines[i] - cosine * sines[i]
        pull[i] = (gradient[i] + curvature[i] * value) * slope
        stiffness[i] = curvature[i] * slope * slope


# --- joint descent --------------------------------------------------------------------------------


@compiled
def standardized_rows(X, picked, shift, scale, out):
    """Compute out = (X[picked] − shift) · scale: gather, center and convert in one pass."""
    for i in range(picked.shape[0]):
        row, target = X[picked[i]], out[i]
        for k in range(row.shape[0]):
            target[k] = (row[k] - shift[k]) * scale[k]


@compiled(sums=True, part=True)
def _joint_forward(rows, frequencies, cosines, sines, slopes, intercept, turns, scores):
    """Compute scores_i = b + x_i·v + Σ_j A_j cos(ω_j·x_i) + B_j sin(ω_j·x_i) for one output.

    ω_j·x_i / π is stored in ``turns``.
    """
    np.dot(rows, frequencies.T, turns)
    np.dot(rows, slopes, scores)
    per_half_turn = turns.dtype.type(1 / np.pi)
    for i in range(turns.shape[0]):
        t = turns[i]
        total = scores[i] + intercept
        for j in range(turns.shape[1]):
            t[j] *= per_half_turn
            s, c = _sincos(t[j])
            total += cosines[j] * c + sines[j] * s
        scores[i] = total


@compiled
def gathered_forward(
    X, picked, shift, scale, frequencies, cosines, sines, slopes, intercept, rows, turns, scores
):
    """Call ``standardized_rows``, then ``_joint_forward``."""
    standardized_rows(X, picked, shift, scale, rows)
    _joint_forward(rows, frequencies, cosines, sines, slopes, intercept, turns, scores)


@compiled
def joint_backward(
    rows,
    turns,
    pull,
    cosines,
    sines,
    frequency_gradient,
    cosine_gradient,
    sine_gradient,
    slope_gradient,
):
    """Compute the gradients of Σ_i pull_i f(x_i) in ω, A, B and v, f of ``_joint_forward``.

    Overwrites the turns with pull_i (B_j cos − A_j sin). Sines are computed again: cheaper than
    storing them.
    """
    n_waves = turns.shape[1]
    cosine_gradient[:] = 0
    sine_gradient[:] = 0
    for i in range(turns.shape[0]):
        t = turns[i]
        g = pull[i]
        for j in range(n_waves):
            s, c = _sincos(t[j])
            cosine_gradient[j] += g * c
            sine_gradient[j] += g * s
            t[j] = g * (sines[j] * c - cosines[j] * s)
    np.dot(turns.T, rows, frequency_gradient)
    np.dot(pull, rows, slope_gradient)


@compiled(part=True)
def _logistic_pull(targets, scores, weights, pull):
    """Compute pull = −w y / (1 + exp(yf)), the weighted gradient of ln(1 + exp(−yf)), y = ±1."""
    lowest, highest = scores.dtype.type(-60), scores.dtype.type(60)
    for i in range(targets.shape[0]):
        margin = min(max(targets[i] * scores[i], lowest), highest)
        pull[i] = -weights[i] * targets[i] / (1 + _exp(margin))


@compiled
def logistic_gradient(
    X, picked, shift, scale, targets, weights, frequencies, cosines, sines, slopes, intercept,
    rows, turns, scores, pull, frequency_gradient, cosine_gradient, sine_gradient, slope_gradient,
):  # fmt: skip
    """Compute the gradients of the weighted logistic loss; scores and pull are stored."""
    gathered_forward(
        X, picked, shift, scale, frequencies, cosines, sines, slopes, intercept, rows, turns, scores
    )
    _logistic_pull(targets, scores, weights, pull)
    joint_backward(
        rows,
        turns,
        pull,
        cosines,
        sines,
        frequency_gradient,
        cosine_gradient,
        sine_gradient,
        slope_gradient,
    )


@compiled
def adam_step(
    vector, gradient, first, second, rates, decays, penalties,
    remaining, mean_scale, root_scale, first_decay, second_decay,
):  # fmt: skip
    """Update θ ← (1 − remaining · decays) θ − remaining · rates · m̂ / (√v̂ + ε) in place.

    The gradient is g + penalties θ. m̂ = mean_scale · m and √v̂ = root_scale · √v are the running
    means of g and g² with Adam's bias corrections.
    """
    one = vector.dtype.type(1)
    tiny = vector.dtype.type(1e-8)
    for k in range(vector.shape[0]):
        g = gradient[k] + penalties[k] * vector[k]
        first[k] = first_decay * first[k] + (one - first_decay) * g
        second[k] = second_decay * second[k] + (one - second_decay) * g * g
        direction = mean_scale * first[k] / (root_scale * np.sqrt(second[k]) + tiny)
        vector[k] = (one - remaining * decays[k]) * vector[k] - remaining * rates[k] * direction


# --- sums -----------------------------------------------------------------------------------------


@compiled(sums=True)
def _tiled_sums(rows, directions, signal, sums):
    """Compute Σ_i signal_ik (cos, sin)(π x_i·d_j) in float64, by tiles of rows.

    The shape is (n_signals, 2, n_atoms), that of directions (n_features, n_atoms).
    """
    n_rows, n_waves = rows.shape[0], directions.shape[1]
    at_once = max(64, _TILE_BYTES // (n_waves * rows.itemsize))
    tile = np.empty((min(at_once, n_rows), n_waves), rows.dtype)
    part = np.empty(sums.shape, rows.dtype)
    for start in range(0, n_rows, at_once):
        stop = min(start + at_once, n_rows)
        turns = tile[: stop - start]
        np.dot(rows[start:stop], directions, turns)
        part[:] = 0
        add_fourier_sums(turns, signal[start:stop], part)
        for k in range(sums.shape[0]):
            for j in range(n_waves):
                sums[k, 0, j] += part[k, 0, j]
                sums[k, 1, j] += part[k, 1, j]


def few_fourier_sums(frequencies, X, signal):
    """Compute ``fourier_sums_block`` in one call, for few frequencies, where threads would wait."""
    if sp.issparse(X) or len(frequencies) > TILE:
        return fourier_sums_block(frequencies, X, signal)
    dtype = working_dtype(X)
    rows = np.ascontiguousarray(X, dtype=dtype)
    sums = np.zeros((signal.shape[1], 2, len(frequencies)))
    directions = np.ascontiguousarray((frequencies / np.pi).astype(dtype).T)
    _tiled_sums(read_only(rows), directions, np.ascontiguousarray(signal, dtype=dtype), sums)
    return sums


# --- evaluation -----------------------------------------------------------------------------------


@compiled(sums=True)
def wave_scores(rows, directions, shifts, amplitudes, slopes, intercept, scores):
    """Compute scores_i = b + x_i·v + Σ_j a_j cos(π (x_i·d_j − shift_j)) for one output.

    Directions are (n_features, n_waves); rows are processed by tiles.
    """
    n_rows, n_waves = rows.shape[0], directions.shape[1]
    at_once = max(64, _TILE_BYTES // (n_waves * rows.itemsize))
    tile = np.empty((min(at_once, n_rows), n_waves), rows.dtype)
    for start in range(0, n_rows, at_once):
        stop = min(start + at_once, n_rows)
        turns, part = tile[: stop - start], scores[start:stop]
        np.dot(rows[start:stop], directions, turns)
        np.dot(rows[start:stop], slopes, part)
        for i in range(stop - start):
            t = turns[i]
            total = part[i] + intercept
            for j in range(n_waves):
                _, c = _sincos(t[j] - shifts[j])
                total += amplitudes[j] * c
            part[i] = total


def expansion_block(frequencies, phases, amplitudes, slopes, intercept, X, out=None):
    """Return intercept + x·slopes + Σ_j amplitudes_jk cos(ω_j·x − phases_jk), by tiles.

    The shape is (n_rows, n_outputs).
    """
    dtype = working_dtype(X)
    rows = X if sp.issparse(X) else np.ascontiguousarray(X)
    rows = rows.astype(dtype, copy=False)
    result = np.empty((rows.shape[0], len(intercept)), dtype) if out is None else out
    directions = np.ascontiguousarray((frequencies / np.pi).astype(dtype).T)
    if len(intercept) == 1 and len(frequencies) and not sp.issparse(X):
        # One compiled call: threads would wait for each other in Python between several calls.
        shifts, signed = (phases[:, 0] / np.pi).astype(dtype), amplitudes[:, 0].astype(dtype)
        linear = np.zeros(rows.shape[1], dtype) if slopes is None else slopes[:, 0].astype(dtype)
        bias, scores = dtype(intercept[0]), result[:, 0]
        wave_scores(read_only(rows), directions, shifts, signed, linear, bias, scores)
        return result
    result[...] = intercept
    if slopes is not None:
        result += rows @ slopes.astype(dtype)
    if not len(frequencies):
        return result
    coefficients = np.concatenate(
        [amplitudes * np.cos(phases), amplitudes * np.sin(phases)]
    ).astype(dtype)
    at_once = max(64, min(_TILE_BYTES // len(frequencies), 4 * TILE))
    for tile in tiles(rows.shape[0], at_once):
        turns = np.asarray(rows[tile] @ directions)
        pair = np.empty((turns.shape[0], 2 * turns.shape[1]), dtype)
        trigonometry(turns, pair[:, turns.shape[1] :], pair[:, : turns.shape[1]])
        result[tile] += pair @ coefficients
    return result
