"""Fused kernels of closed-form Gram matrices: products over columns without an exponential for each pair of rows.

With u = exp(t) and v = exp(−t) of scaled, centered columns t, exp(−|t_i − t_k|) = min(u_i v_k, v_i u_k): n exponentials a column
instead of n².  A column whose range is too wide for these products to be finite (``wide``) takes the exponential of each
difference.  Columns are stored as (columns, rows), so that the innermost loops run along memory.

Every factor is a_j + b_j κ(|t_i − t_k|), where κ(t) = e⁻ᵗ, e⁻ᵗ (1 + t) or e⁻ᵗ (1 + t + t²/3) for ``order`` 0, 1, 2: the Matérn kernels of
ν = 1/2, 3/2, 5/2 when t has been scaled by √(2ν) / length.  See ``kernels.py`` for the rules that such kernels follow.
"""

import numpy as np
from numba import njit

from .boosting_kernels import _LOWEST, _LOWEST32, _exp
from .kernels import _FLAGS, _REDUCING

# What is read of the columns for one tile stays in the second-level cache for all its rows.
_TILE = 1024


@njit(**_FLAGS)
def _multiply_two(left, right, t0, t1, u0, u1, v0, v1, times, ups, downs, a, order):
    """Two rows of the Gram matrix times the factor of one column: what is read of the column serves both.

    u and v of the two rows carry the factor b.
    """
    third = left.dtype.type(1 / 3)
    if order == 0:
        for k in range(left.shape[0]):
            u, v = ups[k], downs[k]
            left[k] *= a + min(u0 * v, v0 * u)
            right[k] *= a + min(u1 * v, v1 * u)
    elif order == 1:
        for k in range(left.shape[0]):
            t, u, v = times[k], ups[k], downs[k]
            e0, e1 = min(u0 * v, v0 * u), min(u1 * v, v1 * u)
            left[k] *= (a + e0) + e0 * abs(t0 - t)
            right[k] *= (a + e1) + e1 * abs(t1 - t)
    else:
        for k in range(left.shape[0]):
            t, u, v = times[k], ups[k], downs[k]
            e0, e1 = min(u0 * v, v0 * u), min(u1 * v, v1 * u)
            s0, s1 = abs(t0 - t), abs(t1 - t)
            left[k] *= (a + e0) + e0 * (s0 + third * s0 * s0)
            right[k] *= (a + e1) + e1 * (s1 + third * s1 * s1)


@njit(**_FLAGS)
def _decays(time, times, b, lowest, out):
    """out = b exp(−|time − times|), by an exponential each; below exp(``lowest``) nothing is left to tell from zero."""
    for k in range(times.shape[0]):
        out[k] = b * _exp(max(-abs(time - times[k]), lowest))


@njit(**_FLAGS)
def product_rows(
    times, ups, downs, other_times, other_ups, other_downs, wide, a, b, order, first, last, symmetric, out
):
    """out[i, k] = Π_j (a_j + b_j κ(|t_ij − t_kj|)) for first <= i < last; equal to, and much faster than, a loop over columns j.

    ``symmetric``: only k <= i is wanted; of what lies right of the diagonal at most one column is filled.
    """
    n_columns = times.shape[0]
    n_others = other_times.shape[1]
    one = out.dtype.type(1)
    lowest = out.dtype.type(_LOWEST32 if out.itemsize == 4 else _LOWEST)
    spare = np.empty(_TILE, out.dtype)
    waste = np.ones(_TILE, out.dtype)
    decays = np.empty(_TILE, out.dtype)
    for start in range(0, n_others, _TILE):
        for i in range(first, last, 2):
            both = i + 1 < last
            stop = min(start + _TILE, n_others)
            if symmetric:
                stop = min(stop, i + 2)
            if stop <= start:
                continue
            left = out[i, start:stop]
            right = out[i + 1, start:stop] if both else spare[: stop - start]
            left[:] = one
            right[:] = one
            h = i + 1 if both else i
            for j in range(n_columns):
                others = other_times[j, start:stop]
                if wide[j]:
                    # With u = v = 1 the loop for two rows takes the decays as they are; its second row is thrown away.
                    for row, time in ((left, times[j, i]), (right, times[j, h])):
                        _decays(time, others, b[j], lowest, decays)
                        own = decays[: stop - start]
                        _multiply_two(
                            row, waste[: stop - start], time, time, one, one, one, one, others, own, own, a[j], order
                        )
                else:
                    _multiply_two(
                        left,
                        right,
                        times[j, i],
                        times[j, h],
                        b[j] * ups[j, i],
                        b[j] * ups[j, h],
                        b[j] * downs[j, i],
                        b[j] * downs[j, h],
                        others,
                        other_ups[j, start:stop],
                        other_downs[j, start:stop],
                        a[j],
                        order,
                    )


@njit(**_REDUCING)
def _slopes_of_row(pull, t0, u0, v0, times, ups, downs, a, order):
    """(−Σ_k q_k ∂(b κ)/∂ log t, Σ_k q_k b κ) with q = pull / (a + b κ), for one row and one column; u0 and v0 carry the factor b."""
    one, third = pull.dtype.type(1), pull.dtype.type(1 / 3)
    rate_sum, weight_sum = pull.dtype.type(0), pull.dtype.type(0)
    if order == 0:
        for k in range(pull.shape[0]):
            e = min(u0 * downs[k], v0 * ups[k])
            q = pull[k] * e / (a + e)
            rate_sum += q * abs(t0 - times[k])
            weight_sum += q
    elif order == 1:
        for k in range(pull.shape[0]):
            e = min(u0 * downs[k], v0 * ups[k])
            t = abs(t0 - times[k])
            value = e + e * t
            q = pull[k] / (a + value)
            rate_sum += q * e * (t * t)
            weight_sum += q * value
    else:
        for k in range(pull.shape[0]):
            e = min(u0 * downs[k], v0 * ups[k])
            t = abs(t0 - times[k])
            value = e * (one + t + third * t * t)
            q = pull[k] / (a + value)
            rate_sum += q * e * (third * t * t * (one + t))
            weight_sum += q * value
    return rate_sum, weight_sum


@njit(**_REDUCING)
def _distance_sum(pull, t0, times):
    total = pull.dtype.type(0)
    for k in range(pull.shape[0]):
        total += pull[k] * abs(t0 - times[k])
    return total


@njit(**_REDUCING)
def _multiplied_sum(row, factors):
    """Σ row · factors, with the products left in ``row``."""
    total = row.dtype.type(0)
    for k in range(row.shape[0]):
        row[k] *= factors[k]
        total += row[k]
    return total


@njit(**_FLAGS)
def product_slopes(times, ups, downs, wide, a, b, order, plain, gram, pull, first, last, rate_sums, weight_sums):
    """Σ_{k < i} pull_ik ∂K_ik/∂ log r_j and ∂ log w_j for first <= i < last, added to the sums; ``pull`` becomes pull ∘ K.

    ``plain``: a = 0, b = 1 and order 0, the kernel exp(−Σ_j t_j), whose slope −K t_j has nothing to divide by.
    """
    n_columns = times.shape[0]
    one = pull.dtype.type(1)
    lowest = pull.dtype.type(_LOWEST32 if pull.itemsize == 4 else _LOWEST)
    decays = np.empty(_TILE, pull.dtype)
    for start in range(0, last, _TILE):
        for i in range(max(first, start), last):
            end = min(start + _TILE, i)
            if end <= start:
                continue
            row = pull[i, start:end]
            total = _multiplied_sum(row, gram[i, start:end])
            for j in range(n_columns):
                t0, others = times[j, i], times[j, start:end]
                if plain:
                    rate_sums[j] -= _distance_sum(row, t0, others)
                    continue
                if wide[j]:
                    _decays(t0, others, b[j], lowest, decays)
                    own = decays[: end - start]
                    sums = _slopes_of_row(row, t0, one, one, others, own, own, a[j], order)
                else:
                    u0, v0 = b[j] * ups[j, i], b[j] * downs[j, i]
                    sums = _slopes_of_row(row, t0, u0, v0, others, ups[j, start:end], downs[j, start:end], a[j], order)
                rate_sums[j] -= sums[0]
                weight_sums[j] += sums[1] - b[j] * total


@njit(**_FLAGS)
def _add_squares(left, right, t0, t1, times):
    for k in range(left.shape[0]):
        t = times[k]
        left[k] += (t0 - t) * (t0 - t)
        right[k] += (t1 - t) * (t1 - t)


@njit(**_FLAGS)
def squared_distance_rows(times, other_times, first, last, symmetric, out):
    """out[i, k] = Σ_j (t_ij − t_kj)² for the entries that ``product_rows`` fills; nothing cancels, whatever the offset."""
    n_columns = times.shape[0]
    n_others = other_times.shape[1]
    spare = np.empty(_TILE, out.dtype)
    for start in range(0, n_others, _TILE):
        for i in range(first, last, 2):
            both = i + 1 < last
            stop = min(start + _TILE, n_others)
            if symmetric:
                stop = min(stop, i + 2)
            if stop <= start:
                continue
            left = out[i, start:stop]
            right = out[i + 1, start:stop] if both else spare[: stop - start]
            left[:] = 0
            right[:] = 0
            h = i + 1 if both else i
            for j in range(n_columns):
                _add_squares(left, right, times[j, i], times[j, h], other_times[j, start:stop])


@njit(**_FLAGS)
def profile_row(squares, order, lowest):
    """In place, the kernel of squared distances s: exp(−s/2) for ``order`` −1, else the Matérn kernel at t = √s."""
    one, half, third = squares.dtype.type(1), squares.dtype.type(0.5), squares.dtype.type(1 / 3)
    if order < 0:
        for k in range(squares.shape[0]):
            squares[k] = _exp(max(-half * squares[k], lowest))
    elif order == 0:
        for k in range(squares.shape[0]):
            squares[k] = _exp(max(-np.sqrt(squares[k]), lowest))
    elif order == 1:
        for k in range(squares.shape[0]):
            t = np.sqrt(squares[k])
            squares[k] = (one + t) * _exp(max(-t, lowest))
    else:
        for k in range(squares.shape[0]):
            t = np.sqrt(squares[k])
            squares[k] = (one + t + third * squares[k]) * _exp(max(-t, lowest))


@njit(**_FLAGS)
def slope_row(squares, order, lowest, pull):
    """In place, pull · ∂k/∂s; for order 0 infinite at s = 0, where it meets differences of zero: zero is put."""
    one, half, sixth = squares.dtype.type(1), squares.dtype.type(0.5), squares.dtype.type(1 / 6)
    tiny = squares.dtype.type(1e-30)
    if order < 0:
        for k in range(squares.shape[0]):
            pull[k] *= -half * _exp(max(-half * squares[k], lowest))
    elif order == 0:
        for k in range(squares.shape[0]):
            t = np.sqrt(max(squares[k], tiny))
            value = pull[k] * (-half * _exp(max(-t, lowest)) / t)
            pull[k] = value if squares[k] > tiny else squares.dtype.type(0)
    elif order == 1:
        for k in range(squares.shape[0]):
            pull[k] *= -half * _exp(max(-np.sqrt(squares[k]), lowest))
    else:
        for k in range(squares.shape[0]):
            t = np.sqrt(squares[k])
            pull[k] *= -sixth * (one + t) * _exp(max(-t, lowest))


@njit(**_FLAGS)
def profile_rows(out, order, first, last, symmetric):
    """``profile_row`` for first <= i < last, up to the diagonal where the matrix is ``symmetric``."""
    lowest = out.dtype.type(_LOWEST32 if out.itemsize == 4 else _LOWEST)
    for i in range(first, last):
        profile_row(out[i, : i + 1] if symmetric else out[i], order, lowest)


@njit(**_FLAGS)
def slope_rows(squares, order, first, last, pull):
    """``slope_row`` left of the diagonal for first <= i < last, in the place of ``pull``; the diagonal is set to zero."""
    lowest = pull.dtype.type(_LOWEST32 if pull.itemsize == 4 else _LOWEST)
    for i in range(first, last):
        slope_row(squares[i, :i], order, lowest, pull[i, :i])
        pull[i, i] = 0
