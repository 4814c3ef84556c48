"""Fused kernels of closed-form Gram matrices, without one exponential per pair of rows.

With u = exp(t) and v = exp(−t) of scaled, centered columns t, exp(−|t_i − t_k|) = min(u_i v_k, v_i
u_k): n exponentials a column instead of n². For a column with a wide range these products would
overflow. Other kernels (``wide_``) compute the exponential of each difference then, which few fits
need. Columns are stored as (columns, rows), so that the innermost loops run along memory.

Every factor is a_j + b_j κ(|t_i − t_k|), where κ(t) = e⁻ᵗ, e⁻ᵗ (1 + t) or e⁻ᵗ (1 + t + t²/3) for
``order`` 0, 1, 2: the Matérn kernels of ν = 1/2, 3/2, 5/2 when t has been scaled by √(2ν) / length.
Where one loop serves several orders, κ(t) = e⁻ᵗ (1 + c t + q t²), and −t κ'(t) = e⁻ᵗ t (1 − c + (c
− 2q) t + q t²).

A first fit compiles these kernels, in a time proportional to the number of statements. So loops are
in one function: LLVM would optimize a function once for itself, and again in its callers. Loops run
over ``range``s of unsigned numbers, which compile faster than slices. LLVM could not vectorize
loops over numbers that may be negative. See ``kernels.py`` for the other rules of such kernels.
"""

import numpy as np

from .boosting_kernels import _LOWEST, _LOWEST32, _exp
from .compiling import compiled
from .intrinsics import larger, smaller

# The columns of one tile stay in the second-level cache for all its rows.
_TILE = 1024


@compiled
def product_rows(
    times,
    ups,
    downs,
    other_times,
    other_ups,
    other_downs,
    a,
    b,
    order,
    third,
    first,
    last,
    symmetric,
    fresh,
    spare,
    out,
):
    """Compute out[i, k] = Π_j (a_j + b_j κ(|t_ij − t_kj|)) for first <= i < last.

    Equal to, and much faster than, a loop over columns j. Unless ``fresh``, ``out`` is multiplied
    by it. ``spare`` is a buffer of three rows. ``third`` is 1/3 for order 2, and None for
    the others: few fits need the loop of order 2, and without a number it is not compiled.
    ``symmetric``: only k <= i is needed; right of the diagonal at most three columns are filled,
    none beyond k = last − 1.
    """
    n_others = out.shape[1]
    one = out.dtype.type(1)
    for start in range(0, n_others, _TILE):
        for i in range(first, last, 4):
            stop = smaller(start + _TILE, n_others)
            if symmetric:
                stop = smaller(stop, smaller(i + 4, last))
            if stop <= start:
                continue
            # Four rows at a time share the columns that are read. If a block ends with fewer than
            # four rows, copies of the last one are discarded.
            i1, i2, i3 = (
                smaller(i + 1, last - 1),
                smaller(i + 2, last - 1),
                smaller(i + 3, last - 1),
            )
            r0 = out[i]
            r1 = out[i1] if i1 == i + 1 else spare[0]
            r2 = out[i2] if i2 == i + 2 else spare[1]
            r3 = out[i3] if i3 == i + 3 else spare[2]
            span = range(np.uint64(start), np.uint64(stop))
            if fresh:
                for k in span:
                    r0[k] = r1[k] = r2[k] = r3[k] = one
            for j in range(times.shape[0]):
                rest, share = a[j], b[j]
                t, u, v = times[j], ups[j], downs[j]
                t0, u0, v0 = t[i], share * u[i], share * v[i]
                t1, u1, v1 = t[i1], share * u[i1], share * v[i1]
                t2, u2, v2 = t[i2], share * u[i2], share * v[i2]
                t3, u3, v3 = t[i3], share * u[i3], share * v[i3]
                t, u, v = other_times[j], other_ups[j], other_downs[j]
                if order == 0:
                    for k in span:
                        up, down = u[k], v[k]
                        r0[k] *= rest + smaller(u0 * down, v0 * up)
                        r1[k] *= rest + smaller(u1 * down, v1 * up)
                        r2[k] *= rest + smaller(u2 * down, v2 * up)
                        r3[k] *= rest + smaller(u3 * down, v3 * up)
                elif third is None:
                    for k in span:
                        time, up, down = t[k], u[k], v[k]
                        e0, e1 = smaller(u0 * down, v0 * up), smaller(u1 * down, v1 * up)
                        e2, e3 = smaller(u2 * down, v2 * up), smaller(u3 * down, v3 * up)
                        r0[k] *= (rest + e0) + e0 * abs(t0 - time)
                        r1[k] *= (rest + e1) + e1 * abs(t1 - time)
                        r2[k] *= (rest + e2) + e2 * abs(t2 - time)
                        r3[k] *= (rest + e3) + e3 * abs(t3 - time)
                else:
                    for k in span:
                        time, up, down = t[k], u[k], v[k]
                        e0, e1 = smaller(u0 * down, v0 * up), smaller(u1 * down, v1 * up)
                        e2, e3 = smaller(u2 * down, v2 * up), smaller(u3 * down, v3 * up)
                        d0, d1 = abs(t0 - time), abs(t1 - time)
                        d2, d3 = abs(t2 - time), abs(t3 - time)
                        r0[k] *= (rest + e0) + e0 * (d0 + third * d0 * d0)
                        r1[k] *= (rest + e1) + e1 * (d1 + third * d1 * d1)
                        r2[k] *= (rest + e2) + e2 * (d2 + third * d2 * d2)
                        r3[k] *= (rest + e3) + e3 * (d3 + third * d3 * d3)


@compiled
def wide_rows(times, other_times, a, b, order, first, last, symmetric, out):
    """Multiply ``out`` by ``product_rows`` of wide columns."""
    lowest = out.dtype.type(_LOWEST32 if out.itemsize == 4 else _LOWEST)
    one, c, q = (
        out.dtype.type(1),
        out.dtype.type(smaller(order, 1)),
        out.dtype.type(1 / 3 if order == 2 else 0),
    )
    for i in range(first, last):
        span = range(i + 1 if symmetric else out.shape[1])
        for j in range(times.shape[0]):
            time, rest, share = times[j, i], a[j], b[j]
            for k in span:
                t = abs(time - other_times[j, k])
                out[i, k] *= rest + share * _exp(larger(-t, lowest)) * (one + t * (c + q * t))


@compiled(sums=True)
def product_slopes(
    times, ups, downs, a, b, order, third, plain, gram, pull, first, last, rate_sums, weight_sums
):
    """Add Σ_{k < i} pull_ik ∂K_ik/∂ log r_j and ∂ log w_j for first <= i < last to the sums.

    ``pull`` becomes pull ∘ K. ``plain``: a = 0, b = 1 and order 0, the kernel exp(−Σ_j t_j), whose
    slope −K t_j has nothing to divide by. ``third`` as in ``product_rows``.
    """
    zero, one, c = pull.dtype.type(0), pull.dtype.type(1), pull.dtype.type(smaller(order, 1))
    for start in range(0, last, _TILE):
        for i in range(larger(first, start), last):
            span = range(np.uint64(start), np.uint64(smaller(start + _TILE, i)))
            total = zero
            for k in span:
                pull[i, k] *= gram[i, k]
                total += pull[i, k]
            for j in range(times.shape[0]):
                t0, rate_sum, weight_sum = times[j, i], zero, zero
                if plain:
                    for k in span:
                        rate_sum += pull[i, k] * abs(t0 - times[j, k])
                    rate_sums[j] -= rate_sum
                    continue
                rest, share = a[j], b[j]
                u0, v0 = share * ups[j, i], share * downs[j, i]
                if third is None:
                    for k in span:
                        e, t = smaller(u0 * downs[j, k], v0 * ups[j, k]), abs(t0 - times[j, k])
                        falling = e * t
                        value = e + c * falling
                        pulled = pull[i, k] / (rest + value)
                        rate_sum += pulled * falling * ((one - c) + c * t)
                        weight_sum += pulled * value
                else:
                    for k in span:
                        e, t = smaller(u0 * downs[j, k], v0 * ups[j, k]), abs(t0 - times[j, k])
                        value = e * (one + t + third * t * t)
                        pulled = pull[i, k] / (rest + value)
                        rate_sum += pulled * e * (third * t * t * (one + t))
                        weight_sum += pulled * value
                rate_sums[j] -= rate_sum
                weight_sums[j] += weight_sum - share * total


@compiled(part=True)
def _decays(time, times, b, lowest, out):
    """Compute out = b exp(−|time − times|) directly; zero below exp(``lowest``)."""
    for k in range(out.shape[0]):
        out[k] = b * _exp(larger(-abs(time - times[k]), lowest))


@compiled(sums=True, part=True)
def _wide_sums(row, decays, time, times, rest, share, c, q):
    """Return the sums of ``product_slopes`` for one row and one column with decays b exp(−t)."""
    rate_sum, weight_sum = row.dtype.type(0), row.dtype.type(0)
    one = row.dtype.type(1)
    for k in range(decays.shape[0]):
        t, e = abs(time - times[k]), decays[k]
        value = e + e * t * (c + q * t)
        pulled = row[k] / (rest + value)
        rate_sum += pulled * e * t * ((one - c) + t * ((c - (q + q)) + q * t))
        weight_sum += pulled * value - share * row[k]
    return rate_sum, weight_sum


@compiled
def wide_slopes(times, a, b, order, pull, first, last, rate_sums, weight_sums):
    """Add ``product_slopes`` of wide columns after it; ``pull`` is pull ∘ K already."""
    lowest = pull.dtype.type(_LOWEST32 if pull.itemsize == 4 else _LOWEST)
    c, q = pull.dtype.type(smaller(order, 1)), pull.dtype.type(1 / 3 if order == 2 else 0)
    decays = np.empty(last, pull.dtype)
    for i in range(first, last):
        for j in range(times.shape[0]):
            _decays(times[j, i], times[j], b[j], lowest, decays[:i])
            sums = _wide_sums(pull[i], decays[:i], times[j, i], times[j], a[j], b[j], c, q)
            rate_sums[j] -= sums[0]
            weight_sums[j] += sums[1]


@compiled
def squared_distance_rows(times, other_times, first, last, symmetric, spare, out):
    """Add Σ_j (t_ij − t_kj)² to the entries that ``product_rows`` fills, without cancellation."""
    n_others = out.shape[1]
    for start in range(0, n_others, _TILE):
        for i in range(first, last, 2):
            stop = smaller(start + _TILE, n_others)
            if symmetric:
                stop = smaller(stop, i + 2)
            if stop <= start:
                continue
            i1 = smaller(i + 1, last - 1)
            r0 = out[i]
            r1 = out[i1] if i1 == i + 1 else spare[0]
            span = range(np.uint64(start), np.uint64(stop))
            for j in range(times.shape[0]):
                t0, t1, others = times[j, i], times[j, i1], other_times[j]
                for k in span:
                    d0, d1 = t0 - others[k], t1 - others[k]
                    r0[k] += d0 * d0
                    r1[k] += d1 * d1


@compiled
def profile_rows(out, order, first, last, symmetric):
    """Replace squared distances s by the kernel for first <= i < last.

    It is exp(−s/2) for ``order`` None, else the Matérn kernel at t = √s. A ``symmetric`` matrix is
    filled up to the diagonal. As None has a type of its own, each loop is compiled when needed.
    """
    lowest = out.dtype.type(_LOWEST32 if out.itemsize == 4 else _LOWEST)
    for i in range(first, last):
        row, span = out[i], range(i + 1 if symmetric else out.shape[1])
        if order is None:
            half = out.dtype.type(0.5)
            for k in span:
                row[k] = _exp(larger(-half * row[k], lowest))
        else:
            one, c, q = (
                out.dtype.type(1),
                out.dtype.type(smaller(order, 1)),
                out.dtype.type(1 / 3 if order == 2 else 0),
            )
            for k in span:
                t = np.sqrt(row[k])
                row[k] = (one + t * (c + q * t)) * _exp(larger(-t, lowest))


@compiled
def matern_slope_rows(squares, order, first, last, pull):
    """Multiply pull by ∂k/∂s of the Matérn kernels left of the diagonal for first <= i < last.

    The diagonal is set to zero. For order 0 the slope is infinite at s = 0, where it is
    multiplied by zero: it is set to zero.
    """
    lowest, tiny = (
        pull.dtype.type(_LOWEST32 if pull.itemsize == 4 else _LOWEST),
        pull.dtype.type(1e-30),
    )
    zero, half = pull.dtype.type(0), pull.dtype.type(0.5)
    # −κ'(t) / 2t = e⁻ᵗ (p + r t) / 2 for orders 1 and 2.
    p, r = pull.dtype.type(1 / 3 if order == 2 else 1), pull.dtype.type(1 / 3 if order == 2 else 0)
    for i in range(first, last):
        row, own = squares[i], pull[i]
        if order == 0:
            for k in range(i):
                t = np.sqrt(larger(row[k], tiny))
                value = own[k] * (-half * _exp(larger(-t, lowest)) / t)
                own[k] = value if row[k] > tiny else zero
        else:
            for k in range(i):
                t = np.sqrt(row[k])
                own[k] *= -half * (p + r * t) * _exp(larger(-t, lowest))
        own[i] = zero


@compiled
def category_rows(codes, other_codes, shares, first, last, symmetric, out):
    """Multiply out[i, k] by Π_j (1 if c_ij = c_kj, else shares_j) for first <= i < last.

    A ``symmetric`` matrix is filled up to the diagonal.
    """
    one = out.dtype.type(1)
    for i in range(first, last):
        row, span = out[i], range(np.uint64(0), np.uint64(i + 1 if symmetric else out.shape[1]))
        for j in range(codes.shape[0]):
            code, share, others = codes[j, i], shares[j], other_codes[j]
            for k in span:
                row[k] *= one if others[k] == code else share


@compiled(sums=True)
def category_sums(codes, pull, first, last, sums):
    """Add Σ_{k < i} pull_ik [c_ij ≠ c_kj] for first <= i < last to the sums."""
    zero = pull.dtype.type(0)
    for i in range(first, last):
        row, span = pull[i], range(np.uint64(0), np.uint64(i))
        for j in range(codes.shape[0]):
            code, others, total = codes[j, i], codes[j], zero
            for k in span:
                total += zero if others[k] == code else row[k]
            sums[j] += total


@compiled(sums=True)
def skinny_rows(matrix, columns, start, stop, out):
    """Compute out[:, start:stop] = columns @ matrix[start:stop, :n].T for few columns.

    BLAS copies the matrix for such products. This loop reads it once, four rows and four columns
    for sixteen sums. If fewer are left, the last one is repeated.
    """
    n_columns, n = columns.shape
    zero = matrix.dtype.type(0)
    for i in range(start, stop, 4):
        i1, i2, i3 = smaller(i + 1, stop - 1), smaller(i + 2, stop - 1), smaller(i + 3, stop - 1)
        r0, r1, r2, r3 = matrix[i, :n], matrix[i1, :n], matrix[i2, :n], matrix[i3, :n]
        for j in range(0, n_columns, 4):
            j1, j2, j3 = (
                smaller(j + 1, n_columns - 1),
                smaller(j + 2, n_columns - 1),
                smaller(j + 3, n_columns - 1),
            )
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
