"""Closed-form Gram matrices, and their slopes in one rate and one weight per column.

A ``ProductKernel`` is a product over columns, a ``RadialKernel`` a function of one weighted
distance. Both return matrices in the precision of the rows, float32 or float64. Blocks of rows are
shared by threads.
"""

from contextlib import closing
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .lazy import grams as kernels
from .matrices import mirror_rows, symmetric_product
from .threads import ordered_map

# Beyond this t, exp(t_i) exp(−t_k) is no longer finite (or its inverse no longer a normal number).
_WIDEST = {np.dtype(np.float32): 43.0, np.dtype(np.float64): 340.0}
# Rows of one task; up to _ALONE entries one thread computes all.
_ROWS, _ALONE = 64, 2**16
# From this many columns on, distances by matrix products are faster than by differences.
_MANY_COLUMNS = 48
# Up to so many columns our product is faster than that of BLAS.
_SKINNY = 48
# From this many binary columns on, their product is computed as the exponential of one distance.
_TWO_VALUED = 3
# Entries of Z whose scaled copies are in memory at a time.
_LONG = 2**22

GAUSSIAN = -1  # the order of exp(−s/2) among the Matérn orders 0, 1, 2


@dataclass(frozen=True)
class ProductKernel:
    """Product kernel: k(x, z) = Π_j (1 + w_j κ(r_j |x_j − z_j|)) / (1 + w_j).

    Without ``weights`` it is exp(−Σ_j r_j |x_j − z_j|) (order 0). κ is the Matérn kernel of
    ``order`` 0, 1 or 2: e⁻ᵗ, e⁻ᵗ (1 + t), e⁻ᵗ (1 + t + t²/3); r ``rates``. The factor of a binary
    column is one or some ρ_j. The product over all of these is exp(−Σ_j (−log ρ_j) [x_j ≠ z_j]).
    This is a Gaussian kernel, which matrix products compute for many columns in the time of a few.
    """

    rates: np.ndarray
    weights: np.ndarray | None
    order: int

    def gram(self, X, Z=None, *, lower=False):
        """Return k(x, z), (n_samples, n_other_samples); symmetric without Z.

        With ``lower`` the upper half of a symmetric matrix holds arbitrary finite numbers.
        """
        symmetric = Z is None
        if X.shape[0] == 0 or (not symmetric and Z.shape[0] == 0):
            return _matrix(X, Z)
        if _is_long(Z):
            return _by_parts(self, X, Z)
        two_valued, gaps = _two_valued(X, X if symmetric else Z)
        if two_valued is None:
            return self._multiply(_matrix(X, Z), X, Z, lower, fresh=True)
        rest = ~two_valued
        near = self._near(two_valued, gaps)
        out = near.gram(
            X[:, two_valued], None if symmetric else Z[:, two_valued], lower=lower or rest.any()
        )
        if not rest.any():
            return out
        return self.of_columns(rest)._multiply(
            out, X[:, rest], None if symmetric else Z[:, rest], lower, fresh=False
        )

    def _multiply(self, out, X, Z, lower, fresh):
        """Multiply ``out`` by the kernel in place; with ``fresh``, set it to the kernel."""
        symmetric = Z is None
        columns, others, wide = self._columns(X, X if symmetric else Z)
        shares, spare = self._shares(X.dtype), np.empty((3, out.shape[1]), X.dtype)
        narrow = ~wide if wide.any() else slice(None)
        near = [part[narrow] for part in (*columns, *others, *shares)]
        far = [part[wide] for part in (columns[0], others[0], *shares)]
        third = self._third(X.dtype)

        def fill(rows):
            span = rows.start, rows.stop
            kernels.product_rows(*near, self.order, third, *span, symmetric, fresh, spare, out)
            if wide.any():
                kernels.wide_rows(*far, self.order, *span, symmetric, out)

        return _filled(out, fill, symmetric, lower)

    def slopes(self, X, gram, pull):
        """Return Σ_ik pull_ik ∂K_ik/∂ log r_j and ∂ log w_j, None without weights.

        ``gram`` is ``self.gram(X)``; of both symmetric matrices only the lower half is read, and
        ``pull`` is overwritten by their product.
        """
        two_valued, gaps = _two_valued(X, X)
        if two_valued is not None:
            return self._slopes_apart(X, gram, pull, two_valued, gaps)
        columns, _, wide = self._columns(X, X)
        shares, plain = self._shares(X.dtype), self.weights is None
        wide &= not plain  # no exponential is needed
        narrow = ~wide if wide.any() else slice(None)
        near = [part[narrow] for part in (*columns, *shares)]
        far = [part[wide] for part in (columns[0], *shares)]
        third = self._third(X.dtype)

        def add(rows):
            span, sums = (rows.start, rows.stop), np.empty((2, len(wide)))
            near_sums, far_sums = np.zeros((2, len(near[0]))), np.zeros((2, len(far[0])))
            kernels.product_slopes(*near, self.order, third, plain, gram, pull, *span, *near_sums)
            if wide.any():
                kernels.wide_slopes(*far, self.order, pull, *span, *far_sums)
            sums[:, narrow], sums[:, wide] = near_sums, far_sums
            return sums

        rate_slopes, weight_slopes = 2 * sum(_on_blocks(add, len(X), len(X)))
        return rate_slopes, None if self.weights is None else weight_slopes

    def _slopes_apart(self, X, gram, pull, two_valued, gaps):
        """Return the ``slopes``, with a closed form for binary columns.

        It is Σ_ik B_ik [x_ij ≠ x_kj] = 2 Σ_i (b_i x_ij − x_ij (Bx)_ij) for x_ij = 0 or 1, b = B1.
        """
        rate_slopes, weight_slopes = np.zeros(len(self.rates)), np.zeros(len(self.rates))
        if two_valued.all():
            with np.errstate(all="ignore"):
                pull *= gram
        else:
            rest = self.of_columns(~two_valued).slopes(
                np.ascontiguousarray(X[:, ~two_valued]), gram, pull
            )
            rate_slopes[~two_valued] = rest[0]
            weight_slopes[~two_valued] = 0 if rest[1] is None else rest[1]
        own = X[:, two_valued]
        own = (own != own.min(axis=0)).astype(X.dtype)
        products = symmetric_product(pull, np.column_stack([own, np.ones(len(X), X.dtype)])).astype(
            np.float64
        )
        apart = 2 * (products[:, -1] @ own - np.sum(own * products[:, :-1], axis=0))
        own_slopes = self.of_columns(two_valued).fall_slopes(gaps, apart)
        rate_slopes[two_valued] = own_slopes[0]
        if own_slopes[1] is None:
            return rate_slopes, None
        weight_slopes[two_valued] = own_slopes[1]
        return rate_slopes, weight_slopes

    def _near(self, two_valued, gaps):
        """Return the product of binary columns as a Gaussian kernel: r_j² gap_j² / 2 = −log ρ_j."""
        falls = self.of_columns(two_valued).falls(gaps)
        return RadialKernel(np.sqrt(2 * np.maximum(falls, 0.0)) / gaps, GAUSSIAN)

    def of_columns(self, columns):
        """Return the product over some of the columns."""
        weights = None if self.weights is None else self.weights[columns]
        return replace(self, rates=self.rates[columns], weights=weights)

    def falls(self, gaps):
        """Return −log ρ_j, ρ_j the factor of column j at the distance ``gaps``."""
        times = self.rates * gaps
        if self.weights is None:
            return times
        shares = self.weights / (1 + self.weights)
        return -np.log1p(shares * (_matern(times, self.order)[0] - 1))

    def fall_slopes(self, gaps, pulls):
        """Return ``pulls`` times ∂ log ρ_j/∂ log r_j and ∂ log w_j, None without weights."""
        times = self.rates * gaps
        if self.weights is None:
            return -pulls * times, None
        kappa, slope = _matern(times, self.order)
        weights = self.weights
        rate_slopes = pulls * weights * slope / (1 + weights * kappa)
        return rate_slopes, pulls * (
            weights * kappa / (1 + weights * kappa) - weights / (1 + weights)
        )

    def _shares(self, dtype):
        if self.weights is None:
            return np.zeros(len(self.rates), dtype), np.ones(len(self.rates), dtype)
        return (1 / (1 + self.weights)).astype(dtype), (self.weights / (1 + self.weights)).astype(
            dtype
        )

    def _third(self, dtype):
        return dtype.type(1 / 3) if self.order == 2 else None

    def _columns(self, X, Z):
        """Return (t, eᵗ, e⁻ᵗ) of both sides, t = r (x − center), and a mask of wide columns.

        Arrays are (columns, rows). For wide columns eᵗ would overflow.
        """
        lowest, highest = _range(X, Z)
        center = lowest / 2 + highest / 2
        limit = _WIDEST[X.dtype]
        wide = self.rates * (highest - center) > limit
        columns = _powers(X, center, self.rates, limit)
        return columns, columns if Z is X else _powers(Z, center, self.rates, limit), wide


@dataclass(frozen=True)
class RadialKernel:
    """Radial kernel: k(x, z) = f(s), s = Σ_j r_j² (x_j − z_j)².

    f(s) is exp(−s/2) for ``order`` GAUSSIAN, else the Matérn kernel κ(√s) of order 0, 1 or 2.
    """

    rates: np.ndarray
    order: int
    weights: ClassVar[None] = None

    def gram(self, X, Z=None, *, lower=False):
        """Return k(x, z), (n_samples, n_other_samples); symmetric without Z.

        With ``lower`` the upper half of a symmetric matrix is undefined.
        """
        symmetric = Z is None
        if _is_long(Z):
            return _by_parts(self, X, Z)
        out = _matrix(X, Z)
        if out.size == 0:
            return out
        squares = self._squares(X, Z)

        def fill(rows):
            squares(rows, out)
            order = None if self.order == GAUSSIAN else self.order
            kernels.profile_rows(out, order, rows.start, rows.stop, symmetric)

        return _filled(out, fill, symmetric, lower)

    def slopes(self, X, gram, pull):
        """Return Σ_ik pull_ik ∂K_ik/∂ log r_j, and None: there are no weights.

        ``gram`` is ``self.gram(X)``; of both symmetric matrices only the lower half is read, and
        ``pull`` is overwritten.

        With B = pull ∘ f'(s) and b its row sums, the sum is 4 (Σ_i b_i t_ij² − Σ_i t_ij (Bt)_ij), t
        = r (x − mean).
        """
        _on_blocks(
            self._halve(gram, pull) if self.order == GAUSSIAN else self._weigh(X, pull),
            len(X),
            len(X),
        )
        scaled = self._scaled(X, X.mean(axis=0, dtype=np.float64))
        products = symmetric_product(
            pull, np.column_stack([scaled, np.ones(len(X), X.dtype)])
        ).astype(np.float64)
        scaled = scaled.astype(np.float64)
        return 4 * (products[:, -1] @ scaled**2 - np.sum(scaled * products[:, :-1], axis=0)), None

    def of_columns(self, columns):
        """Return the kernel of some of the columns."""
        return replace(self, rates=self.rates[columns])

    def falls(self, gaps):
        """Return ``ProductKernel.falls`` of the Gaussian kernel."""
        return (self.rates * gaps) ** 2 / 2

    def fall_slopes(self, gaps, pulls):
        """Return ``ProductKernel.fall_slopes`` of the Gaussian kernel."""
        return -pulls * (self.rates * gaps) ** 2, None

    def _halve(self, gram, pull):
        """Return a function that multiplies rows of ``pull`` by f'(s) = −f(s) / 2.

        It stops at the diagonal, which is set to zero.
        """

        def halve(rows):
            own = pull[rows, : rows.stop]
            with np.errstate(all="ignore"):  # entries above the diagonal are arbitrary
                own *= gram[rows, : rows.stop]
                own *= -0.5
            np.fill_diagonal(own[:, rows], 0)

        return halve

    def _weigh(self, X, pull):
        """Return the same function for the Matérn kernels, from distances."""
        squares, distances = _matrix(X, None), self._squares(X)

        def weigh(rows):
            distances(rows, squares)
            kernels.matern_slope_rows(squares, self.order, rows.start, rows.stop, pull)

        return weigh

    def _scaled(self, X, center):
        return ((X - center) * self.rates).astype(X.dtype)

    def _squares(self, X, Z=None):
        """Return a function that adds squared distances of X and Z to rows of a matrix of zeros.

        Without Z, distances of the rows of X up to the diagonal.
        """
        symmetric = Z is None
        center = X.mean(axis=0, dtype=np.float64)  # products of centered rows cancel less
        left = self._scaled(X, center)
        right = left if symmetric else self._scaled(Z, center)
        if X.shape[1] < _MANY_COLUMNS:
            columns = np.ascontiguousarray(left.T)
            others = columns if symmetric else np.ascontiguousarray(right.T)
            spare = np.empty((1, len(right)), X.dtype)
            return lambda rows, out: kernels.squared_distance_rows(
                columns, others, rows.start, rows.stop, symmetric, spare, out
            )
        # |l − r|² = |l|² + |r|² − 2 l·r as one product: a pass over the matrix takes about as long.
        norms, ones = [np.einsum("ij,ij->i", side, side) for side in (left, right)], np.ones
        left = np.column_stack([-2 * left, norms[0], ones(len(left), X.dtype)])
        right = np.column_stack([right, ones(len(right), X.dtype), norms[1]])

        def by_products(rows, out):
            stop = rows.stop if symmetric else len(right)
            block = out[rows, :stop]
            np.matmul(left[rows], right[:stop].T, out=block)
            np.maximum(block, 0, out=block)
            if symmetric:  # remove rounding errors
                np.fill_diagonal(block[:, rows], 0)

        return by_products


def _is_long(Z):
    """True if the scaled copies of Z, up to six, would take more than 200 MB."""
    return Z is not None and len(Z) > 1 and Z.size > _LONG


def _by_parts(kernel, X, Z):
    """Compute the matrix by columns, for a few rows of Z at a time."""
    n_rows = max(1, _LONG // Z.shape[1])
    return np.concatenate(
        [kernel.gram(X, Z[first : first + n_rows]) for first in range(0, len(Z), n_rows)], axis=1
    )


def _matern(times, order):
    """Return κ(t) and t κ'(t) of the Matérn kernel of an order."""
    decay = np.exp(-times)
    polynomial = (1.0, 1 + times, 1 + times + times**2 / 3)[order]
    return polynomial * decay, -decay * (times, times**2, times**2 * (1 + times) / 3)[order]


def _two_valued(X, Z):
    """Return a mask of the columns with the same two values in X and Z, and their distances.

    (None, None) if there are too few such columns.
    """
    lowest = np.minimum(X.min(axis=0, initial=np.inf), Z.min(axis=0, initial=np.inf))
    highest = np.maximum(X.max(axis=0, initial=-np.inf), Z.max(axis=0, initial=-np.inf))
    two_valued = np.all((lowest == X) | (highest == X), axis=0)
    if Z is not X:
        two_valued &= np.all((lowest == Z) | (highest == Z), axis=0)
    if np.count_nonzero(two_valued) < _TWO_VALUED:
        return None, None
    gaps = highest[two_valued].astype(np.float64) - lowest[two_valued]
    return two_valued, np.where(gaps > 0, gaps, 1.0)


def skinny_product(matrix, vectors):
    """Multiply the upper left of a symmetric, C-ordered ``matrix`` by a few row vectors."""
    size = vectors.shape[1]
    if len(vectors) > _SKINNY:
        return vectors @ matrix[:size, :size]
    out, vectors = np.empty_like(vectors, order="C"), np.ascontiguousarray(vectors)

    def fill(rows):
        kernels.skinny_rows(matrix, vectors, rows.start, rows.stop, out)

    _on_blocks(fill, size, size)
    return out


def _matrix(X, Z):
    """Return a matrix of zeros, so that entries that are never filled are finite."""
    return np.zeros((X.shape[0], X.shape[0] if Z is None else Z.shape[0]), X.dtype)


def _range(X, Z):
    """Return the smallest and largest entry of each column of both, in float64."""
    lowest = np.minimum(X.min(axis=0, initial=np.inf), Z.min(axis=0, initial=np.inf))
    highest = np.maximum(X.max(axis=0, initial=-np.inf), Z.max(axis=0, initial=-np.inf))
    return lowest.astype(np.float64), highest.astype(np.float64)


def _powers(X, center, rates, limit):
    times = np.ascontiguousarray(((X - center) * rates).T, dtype=np.float64)
    # In float64 also for float32 rows: the exponential would magnify the rounding of t.
    bounded = np.clip(times, -limit, limit)
    dtype = X.dtype
    return (
        times.astype(dtype, copy=False),
        np.exp(bounded).astype(dtype),
        np.exp(-bounded).astype(dtype),
    )


def _filled(out, fill, symmetric, lower):
    """Call ``fill`` on blocks of rows, and mirror the lower half of a symmetric matrix."""

    def fill_and_copy(rows):
        fill(rows)
        if symmetric and not lower:
            mirror_rows(out, rows)

    _on_blocks(fill_and_copy, *out.shape)
    return out


def _on_blocks(work, n_rows, n_others):
    """Return the results of ``work`` on blocks of rows, in order; large ones on several threads."""
    blocks = [slice(start, min(start + _ROWS, n_rows)) for start in range(0, n_rows, _ROWS)]
    if n_rows * n_others <= _ALONE:
        return [work(rows) for rows in blocks]
    # Closed explicitly: a traceback could keep the generator, and its threads, alive.
    with closing(ordered_map(work, blocks)) as results:
        return list(results)
