"""Gram matrices of kernels with one factor for each column of codes, and their slopes."""

from dataclasses import dataclass

import numpy as np

from .grams import GAUSSIAN, ProductKernel, RadialKernel, _filled, _on_blocks
from .lazy import grams as kernels


@dataclass(frozen=True)
class CategoryKernel:
    """k(x, z) = k'(x', z') Π_j ρ_j^[x_j ≠ z_j] over the columns j of codes.

    ``kernel`` is a product over all columns. k' is the product over those that do not hold codes,
    and ρ_j is the factor of column j at the distance ``gap``.
    """

    kernel: ProductKernel | RadialKernel
    columns: np.ndarray
    gap: float

    @property
    def rates(self):
        """Rates of all columns."""
        return self.kernel.rates

    @property
    def weights(self):
        """Weights of all columns, None for kernels without."""
        return self.kernel.weights

    @property
    def order(self):
        """Order of the kernel of other columns."""
        return self.kernel.order

    def of_columns(self, columns):
        """Return the kernel of some of the columns, a mask."""
        kernel, codes = self.kernel.of_columns(columns), np.flatnonzero(~self._is_other()[columns])
        return CategoryKernel(kernel, codes, self.gap) if len(codes) else kernel

    def shares(self):
        """Return ρ, the factors of different codes."""
        return np.exp(-self._own().falls(self.gap))

    def gram(self, X, Z=None, *, lower=False):
        """Return k(x, z), (n_samples, n_other_samples); symmetric without Z.

        With ``lower`` the upper half of a symmetric matrix is undefined.
        """
        symmetric = Z is None
        rest = self._others(X), None if symmetric else self._others(Z)
        out = self._rest().gram(*rest, lower=symmetric)
        codes = self._codes(X)
        others, shares = codes if symmetric else self._codes(Z), self.shares().astype(X.dtype)

        def fill(rows):
            kernels.category_rows(codes, others, shares, rows.start, rows.stop, symmetric, out)

        return _filled(out, fill, symmetric, lower)

    def slopes(self, X, gram, pull):
        """Return Σ_ik pull_ik ∂K_ik/∂ log r_j and ∂ log w_j, None without weights.

        ``gram`` is ``self.gram(X)``; of both symmetric matrices only the lower half is read, and
        ``pull`` is overwritten. As ∂ log ρ_j is common to all pairs with different codes, a slope
        is Σ_ik B_ik [x_ij ≠ x_kj] times it, B = pull ∘ K.
        """
        rest = self._rest().slopes(self._others(X), gram, pull)
        # ``pull`` is B now, or −B/2 of a Gaussian kernel.
        factor = -4 if self.order == GAUSSIAN else 2
        codes = self._codes(X)

        def add(rows):
            sums = np.zeros(len(codes))
            kernels.category_sums(codes, pull, rows.start, rows.stop, sums)
            return sums

        pulls = factor * sum(_on_blocks(add, len(X), len(X)))
        own = self._own().fall_slopes(self.gap, pulls)
        return self._joined(rest[0], own[0]), self._joined(rest[1], own[1])

    def _joined(self, rest, own):
        """Return the slopes of all columns from those of the others and those of codes."""
        if own is None:
            return None
        slopes = np.empty(len(self.rates))
        slopes[self.columns] = own
        slopes[self._is_other()] = rest
        return slopes

    def _is_other(self):
        return ~np.isin(np.arange(len(self.rates)), self.columns)

    def _own(self):
        return self.kernel.of_columns(self.columns)

    def _rest(self):
        return self.kernel.of_columns(self._is_other())

    def _others(self, X):
        return np.ascontiguousarray(X[:, self._is_other()])

    def _codes(self, X):
        return np.ascontiguousarray(X[:, self.columns].T)
