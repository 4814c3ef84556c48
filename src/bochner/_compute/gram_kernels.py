"""Fused kernels of closed-form Gram matrices: products over columns without an exponential for each pair of rows.

With u = exp(t) and v = exp(−t) of scaled, centered columns t, exp(−|t_i − t_k|) = min(u_i v_k, v_i u_k): n exponentials a column
instead of n².  A column whose range is too wide for these products to be finite (``wide``) takes the exponential of each
difference.  Columns are stored as (columns, rows), so that the innermost loops run along memory.

Every factor is a_j + b_j κ(|t_i − t_k|), where κ(t) = e⁻ᵗ, e⁻ᵗ (1 + t) or e⁻ᵗ (1 + t + t²/3) for ``order`` 0, 1, 2: the Matérn kernels of
ν = 1/2, 3/2, 5/2 when t has been scaled by √(2ν) / length.  See ``kernels.py`` for the rules that such kernels follow.
"""

import numpy as np

from .boosting_kernels import _LOWEST, _LOWEST32, _exp
from .compiling import compiled

# What is read of the columns for one tile stays in the second-level cache for all its rows.
_TILE = 1024


@compiled(part=True)
def _multiply_four(r0, r1, r2, r3, t0, t1, t2, t3, u0, u1, u2, u3, v0, v1, v2, v3, times, ups, downs, a, order):
    """Four rows r of the Gram matrix times the factor of one column: what is read of the column serves all of them.

    u and v of the four rows carry the factor b.
    """
    third = r0.dtype.type(1 / 3)
    if order == 0:
        for k in range(r0.shape[0]):
            u, v = ups[k], downs[k]
            r0[k] *= a + min(u0 * v, v0 * u)
            r1[k] *= a + min(u1 * v, v1 * u)
            r2[k] *= a + min(u2 * v, v2 * u)
            r3[k] *= a + min(u3 * v, v3 * u)
    elif order == 1:
        for k in range(r0.shape[0]):
            t, u, v = times[k], ups[k], downs[k]
            e0, e1, e2, e3 = min(u0 * v, v0 * u), min(u1 * v, v1 * u), min(u2 * v, v2 * u), min(u3 * v, v3 * u)
            r0[k] *= (a + e0) + e0 * abs(t0 - t)
            r1[k] *= (a + e1) + e1 * abs(t1 - t)
            r2[k] *= (a + e2) + e2 * abs(t2 - t)
            r3[k] *= (a + e3) + e3 * abs(t3 - t)
    else:
        for k in range(r0.shape[0]):
            t, u, v = times[k], ups[k], downs[k]
            e0, e1, e2, e3 = min(u0 * v, v0 * u), min(u1 * v, v1 * u), min(u2 * v, v2 * u), min(u3 * v, v3 * u)
            s0, s1, s2, s3 = abs(t0 - t), abs(t1 - t), abs(t2 - t), abs(t3 - t)
            r0[k] *= (a + e0) + e0 * (s0 + third * s0 * s0)
            r1[k] *= (a + e1) + e1 * (s1 + third * s1 * s1)
            r2[k] *= (a + e2) + e2 * (s2 + third * s2 * s2)
            r3[k] *= (a + e3) + e3 * (s3 + third * s3 * s3)


@compiled(part=True)
def _multiply_wide(row, time, times, decays, a, order):
    """One row times the factor of a wide column, whose decays b exp(−t) are given."""
    zero, one, third = row.dtype.type(0), row.dtype.type(1), row.dtype.type(1 / 3)
    for k in range(row.shape[0]):
        t = abs(time - times[k])
        growth = zero if order == 0 else t if order == 1 else t + third * t * t
        row[k] *= a + decays[k] * (one + growth)


@compiled(part=True)
def _decays(time, times, b, lowest, out):
    """out = b exp(−|time − times|), by an exponential each; below exp(``lowest``) nothing is left to tell from zero."""
    for k in range(times.shape[0]):
        out[k] = b * _exp(max(-abs(time - times[k]), lowest))


@compiled
def product_rows(
    times, ups, downs, other_times, other_ups, other_downs, wide, a, b, order, first, last, symmetric, fresh, out
):
    """out[i, k] = Π_j (a_j + b_j κ(|t_ij − t_kj|)) for first <= i < last; equal to, and much faster than, a loop over columns j.

    Unless ``fresh``, what is in ``out`` is multiplied by it.
    ``symmetric``: only k <= i is wanted; of what lies right of the diagonal at most three columns are filled, none beyond k = last − 1.
    """
    n_columns = times.shape[0]
    n_others = other_times.shape[1]
    one = out.dtype.type(1)
    lowest = out.dtype.type(_LOWEST32 if out.itemsize == 4 else _LOWEST)
    spare = np.empty((4, _TILE), out.dtype)
    decays = np.empty(_TILE, out.dtype)
    for start in range(0, n_others, _TILE):
        for i in range(first, last, 4):
            stop = min(start + _TILE, n_others)
            if symmetric:
                stop = min(stop, i + 4, last)
            if stop <= start:
                continue
            # The last rows of a block may be fewer than four: copies of its last one are thrown away.
            i1, i2, i3 = min(i + 1, last - 1), min(i + 2, last - 1), min(i + 3, last - 1)
            r0 = out[i, start:stop]
            r1 = out[i1, start:stop] if i1 == i + 1 else spare[1, : stop - start]
            r2 = out[i2, start:stop] if i2 == i + 2 else spare[2, : stop - start]
            r3 = out[i3, start:stop] if i3 == i + 3 else spare[3, : stop - start]
            if fresh:
                r0[:] = one
                r1[:] = one
                r2[:] = one
                r3[:] = one
            for j in range(n_columns):
                t, u, v, others = times[j], ups[j], downs[j], other_times[j, start:stop]
                if wide[j]:
                    for row, time in ((r0, t[i]), (r1, t[i1]), (r2, t[i2]), (r3, t[i3])):
                        _decays(time, others, b[j], lowest, decays)
                        _multiply_wide(row, time, others, decays, a[j], order)
                    continue
                c = b[j]
                _multiply_four(
                    *(r0, r1, r2, r3, t[i], t[i1], t[i2], t[i3]),
                    *(c * u[i], c * u[i1], c * u[i2], c * u[i3], c * v[i], c * v[i1], c * v[i2], c * v[i3]),
                    *(others, other_ups[j, start:stop], other_downs[j, start:stop], a[j], order),
                )


@compiled(sums=True, part=True)
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


@compiled(sums=True, part=True)
def _distance_sum(pull, t0, times):
    total = pull.dtype.type(0)
    for k in range(pull.shape[0]):
        total += pull[k] * abs(t0 - times[k])
    return total


@compiled(sums=True, part=True)
def _multiplied_sum(row, factors):
    """Σ row · factors, with the products left in ``row``."""
    total = row.dtype.type(0)
    for k in range(row.shape[0]):
        row[k] *= factors[k]
        total += row[k]
    return total


@compiled
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


@compiled(part=True)
def _add_squares(left, right, t0, t1, times):
    for k in range(left.shape[0]):
        t = times[k]
        left[k] += (t0 - t) * (t0 - t)
        right[k] += (t1 - t) * (t1 - t)


@compiled
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


@compiled(part=True)
def _profile_row(squares, order, lowest):
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


@compiled(part=True)
def _slope_row(squares, order, lowest, pull):
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


@compiled
def profile_rows(out, order, first, last, symmetric):
    """``_profile_row`` for first <= i < last, up to the diagonal where the matrix is ``symmetric``."""
    lowest = out.dtype.type(_LOWEST32 if out.itemsize == 4 else _LOWEST)
    for i in range(first, last):
        _profile_row(out[i, : i + 1] if symmetric else out[i], order, lowest)


@compiled
def slope_rows(squares, order, first, last, pull):
    """``_slope_row`` left of the diagonal for first <= i < last, in the place of ``pull``; the diagonal is set to zero."""
    lowest = pull.dtype.type(_LOWEST32 if pull.itemsize == 4 else _LOWEST)
    for i in range(first, last):
        _slope_row(squares[i, :i], order, lowest, pull[i, :i])
        pull[i, i] = 0


@compiled(sums=True)
def skinny_rows(matrix, columns, start, stop, out):
    """out[:, start:stop] = columns @ matrix[start:stop, :n].T for few columns (n_columns, n).

    BLAS copies the matrix for such products; here it is read once, and what is read of four rows and four columns serves sixteen sums.
    Where fewer are left, the last one is taken again: it is written the same number twice.
    """
    n_columns, n = columns.shape
    zero = matrix.dtype.type(0)
    for i in range(start, stop, 4):
        i1, i2, i3 = min(i + 1, stop - 1), min(i + 2, stop - 1), min(i + 3, stop - 1)
        r0, r1, r2, r3 = matrix[i, :n], matrix[i1, :n], matrix[i2, :n], matrix[i3, :n]
        for j in range(0, n_columns, 4):
            j1, j2, j3 = min(j + 1, n_columns - 1), min(j + 2, n_columns - 1), min(j + 3, n_columns - 1)
            c0, c1, c2, c3 = columns[j], columns[j1], columns[j2], columns[j3]
            s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = zero
            s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = zero
            for k in range(n):
                a, b, c, d = c0[k], c1[k], c2[k], c3[k]
                s00 += r0[k] * a
                s01 += r0[k] * b
                s02 += r0[k] * c
                s03 += r0[k] * d
                s10 += r1[k] * a
                s11 += r1[k] * b
                s12 += r1[k] * c
                s13 += r1[k] * d
                s20 += r2[k] * a
                s21 += r2[k] * b
                s22 += r2[k] * c
                s23 += r2[k] * d
                s30 += r3[k] * a
                s31 += r3[k] * b
                s32 += r3[k] * c
                s33 += r3[k] * d
            out[j, i], out[j1, i], out[j2, i], out[j3, i] = s00, s01, s02, s03
            out[j, i1], out[j1, i1], out[j2, i1], out[j3, i1] = s10, s11, s12, s13
            out[j, i2], out[j1, i2], out[j2, i2], out[j3, i2] = s20, s21, s22, s23
            out[j, i3], out[j1, i3], out[j2, i3], out[j3, i3] = s30, s31, s32, s33


@compiled
def add_lower(lower, share, other):
    """S ← S + share T for the lower halves of two symmetric matrices; what stands above, which may be anything, is left alone."""
    for i in range(lower.shape[0]):
        row, others = lower[i], other[i]
        for k in range(i + 1):
            row[k] += share * others[k]


@compiled(sums=True)
def lower_inner_product(lower, other):
    """Σ_ij S_ij T_ij of two symmetric matrices from their lower halves; rows are added in float64."""
    total = 0.0
    for i in range(lower.shape[0]):
        row, others = lower[i], other[i]
        part = lower.dtype.type(0)
        for k in range(i):
            part += row[k] * others[k]
        total += 2.0 * part + row[i] * others[i]
    return total
