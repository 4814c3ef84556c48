"""Values of fitted functions for rows in which some columns are replaced by other values.

Product kernels and waves are products over columns. So the values for all pairs of a row and a
replacement are a product of two matrices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from .kernels import KernelExpansion
from .leaves import LeafExpansion
from .waves import Expansion

# Smaller factors of a kernel count as this number, which is zero for sums but can be divided by.
LEAST_FACTOR = 1e-130
# Rows at which a function without factors is evaluated at once.
_ROWS_AT_ONCE = 50_000


class Replacements(ABC):
    """f at rows Z in which the columns of some groups come from other rows.

    Parameters
    ----------
    Z : array (n_rows, n_columns)
        The rows.
    groups : sequence of arrays
        The columns of each group. Each column belongs to one group.
    """

    def __init__(self, Z: np.ndarray, groups: Sequence[np.ndarray]):
        self.Z, self.groups = np.asarray(Z, np.float64), list(groups)

    @abstractmethod
    def scores(self, chosen: Sequence[int], values: np.ndarray) -> np.ndarray:
        """Return f, (n_values, n_rows, n_outputs), with the columns of the groups ``chosen``.

        ``values`` (n_values, n_columns) are rows of which only these columns are used.
        """

    def columns_of(self, chosen: Sequence[int]) -> np.ndarray:
        """Return the columns of some groups."""
        return np.concatenate([self.groups[g] for g in chosen]).astype(np.intp)


def replacements(f: Any, Z: np.ndarray, groups: Sequence[np.ndarray]) -> Replacements:
    """Return the replacements of a function: kernels, leaves, waves, or anything that evaluates."""
    if isinstance(f, LeafExpansion):
        return _OfLeaves(f, Z, groups)
    if is_product(f):
        return ProductReplacements(f, Z, groups)
    return _Evaluated(f, Z, groups)


def is_product(f: Any) -> bool:
    """Return True for sums of waves, and of kernels that are products over columns."""
    if isinstance(f, KernelExpansion):
        return f.prior.has_column_factors
    return isinstance(f, Expansion)


class ProductReplacements(Replacements):
    """Replacements of f(z) = intercept + z·slopes + Re Σ_i coefficients_i Π_g factor_g(z_g, i).

    The terms are the kernels of a ``KernelExpansion`` with a product kernel, or the waves of an
    ``Expansion``. The factors of waves are exp(i ω_g·z_g).

    Attributes
    ----------
    factors : array (n_groups, n_rows, n_terms)
        The factors of the rows.
    product : array (n_rows, n_terms)
        Their product.
    coefficients : array (n_terms, n_outputs)
    slopes : array (n_columns, n_outputs)
    intercept : array (n_outputs,)
    """

    def __init__(self, f: KernelExpansion | Expansion, Z: np.ndarray, groups: Sequence[np.ndarray]):
        super().__init__(Z, groups)
        self.f = f
        if isinstance(f, KernelExpansion):
            self.coefficients: np.ndarray = f.coefficients.astype(np.float64)
            self._kernel: Any = f.prior.compiled(f.points.shape[1])
            # In the precision of the coefficients, as in ``evaluate``: equal codes stay equal.
            self._points = f.points.astype(f.coefficients.dtype).astype(np.float64)
        else:
            self.coefficients = f.cosine - 1j * f.sine
            self._points = f.frequencies.astype(np.float64)
        n_columns = self._points.shape[1]
        slopes = np.zeros((n_columns, f.n_outputs)) if f.slopes is None else f.slopes
        self.slopes, self.intercept = slopes.astype(np.float64), f.intercept.astype(np.float64)
        self.factors = np.stack([self.factor(g, self.Z) for g in range(len(self.groups))])
        self.product = np.prod(self.factors, axis=0)

    def factor(self, group: int, X: np.ndarray) -> np.ndarray:
        """Return the factor of one group at rows X, (n_samples, n_terms)."""
        columns = self.groups[group]
        if isinstance(self.f, Expansion):
            return np.exp(1j * (X[:, columns] @ self._points[:, columns].T))
        mask = np.zeros(self._points.shape[1], dtype=bool)
        mask[columns] = True
        rows = X.astype(self.f.coefficients.dtype).astype(np.float64)
        kernel = self._kernel.of_columns(mask)
        gram = kernel.gram(
            np.ascontiguousarray(rows[:, mask]), np.ascontiguousarray(self._points[:, mask])
        )
        return np.maximum(gram, LEAST_FACTOR)

    def rest(self, chosen: Sequence[int]) -> np.ndarray:
        """Return the product of the factors of all other groups, (n_rows, n_terms)."""
        rest = self.product
        for g in chosen:
            rest = rest / self.factors[g]
        return rest

    def own(self, chosen: Sequence[int], values: np.ndarray) -> np.ndarray:
        """Return the product of the factors of the groups ``chosen``, (n_values, n_terms)."""
        own = self.factor(chosen[0], values)
        for g in chosen[1:]:
            own = own * self.factor(g, values)
        return own

    def linear(self, chosen: Sequence[int], values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the linear parts of the values, and of the rows with the intercept."""
        columns = self.columns_of(chosen)
        others = np.setdiff1d(np.arange(len(self.slopes)), columns)
        own = values[:, columns] @ self.slopes[columns]
        return own, self.Z[:, others] @ self.slopes[others] + self.intercept

    def scores(self, chosen: Sequence[int], values: np.ndarray) -> np.ndarray:
        own, rest = self.own(chosen, values), self.rest(chosen)
        of_values, of_rows = self.linear(chosen, values)
        scores = of_values[:, None] + of_rows
        for k in range(scores.shape[2]):
            scores[:, :, k] += ((own * self.coefficients[:, k]) @ rest.T).real
        return scores


class _OfLeaves(Replacements):
    """Replacements of one function for each leaf; they may move a row to another leaf."""

    def __init__(self, f: LeafExpansion, Z: np.ndarray, groups: Sequence[np.ndarray]):
        super().__init__(Z, groups)
        self.f = f
        self._own = f.tree.leaves(self.Z)
        split = f.tree.columns[f.tree.columns >= 0]
        self._splits = [bool(np.isin(columns, split).any()) for columns in self.groups]
        # Replacements in the leaf of each row, which most columns do not change.
        self._inside = {
            leaf: replacements(f.expansions[leaf], self.Z[self._own == leaf], self.groups)
            for leaf in np.unique(self._own).tolist()
        }

    def scores(self, chosen: Sequence[int], values: np.ndarray) -> np.ndarray:
        n_outputs = self.f.expansions[0].n_outputs
        scores = np.empty((len(values), len(self.Z), n_outputs))
        if not any(self._splits[g] for g in chosen):
            for leaf, inside in self._inside.items():
                scores[:, self._own == leaf] = inside.scores(chosen, values)
            return scores
        leaves = self._leaves(chosen, values)
        for leaf in np.unique(leaves).tolist():
            is_inside = leaves == leaf
            some = np.flatnonzero(is_inside.any(axis=1))
            rows = np.flatnonzero(is_inside.any(axis=0))
            parts = [self.columns_of(chosen)]
            parts.append(np.setdiff1d(np.arange(self.Z.shape[1]), parts[0]))
            two = replacements(self.f.expansions[leaf], self.Z[rows], [p for p in parts if len(p)])
            inside = is_inside[np.ix_(some, rows)]
            block = scores[np.ix_(some, rows)]
            block[inside] = two.scores([0], values[some])[inside]
            scores[np.ix_(some, rows)] = block
        return scores

    def _leaves(self, chosen, values):
        """Return the leaf of each row with each value, (n_values, n_rows)."""
        columns, Z = self.columns_of(chosen), self.Z.copy()
        leaves = np.empty((len(values), len(Z)), dtype=np.intp)
        for v, value in enumerate(values):
            Z[:, columns] = value[columns]
            leaves[v] = self.f.tree.leaves(Z)
        return leaves


class _Evaluated(Replacements):
    """Replacements of any function with ``evaluate``, row by row."""

    def __init__(self, f: Any, Z: np.ndarray, groups: Sequence[np.ndarray]):
        super().__init__(Z, groups)
        self.f = f

    def scores(self, chosen: Sequence[int], values: np.ndarray) -> np.ndarray:
        columns, n_rows, parts = self.columns_of(chosen), len(self.Z), []
        at_once = max(1, _ROWS_AT_ONCE // max(n_rows, 1))
        for start in range(0, len(values), at_once):
            some = values[start : start + at_once]
            Z = np.tile(self.Z, (len(some), 1))
            Z[:, columns] = np.repeat(some[:, columns], n_rows, axis=0)
            scores = np.asarray(self.f.evaluate(Z), np.float64)
            parts.append(scores.reshape(len(some), n_rows, -1))
        return np.concatenate(parts)
