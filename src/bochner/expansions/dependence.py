"""Partial dependence: mean values over rows in which some columns are set to given values.

Terms of kernels and waves are products over columns. So the mean over the rows is computed first,
once for each term, and no grid of rows is evaluated. A leaf is a product of conditions on columns,
which are further factors zero or one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from .leaves import LeafExpansion
from .replacements import LEAST_FACTOR, ProductReplacements, is_product, replacements

# Memory for the factors of some terms, and for their products with all pairs of groups.
_BLOCK_BYTES = 2**25
# Two replaced groups are computed for a table of all pairs of their distinct values, if that is at
# most so many times larger than the rows: matrix products are faster than products of single
# numbers.
_LARGEST_TABLE = 8
# Values of one group, and rows with values of two, that are computed at once.
_VALUES_AT_ONCE, _ROWS_AT_ONCE = 2048, 256
# Pairs of a value and a row that are evaluated at once.
_PAIRS_AT_ONCE = 50_000

Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class GroupValues:
    """Values of groups of columns: the distinct ones, and their numbers for each row.

    Parameters
    ----------
    values : array (n_values, n_columns)
    groups : sequence of arrays
        The columns of each group.
    firsts : list of arrays
        The rows of ``values`` that have the distinct values of each group.
    codes : list of arrays (n_values,)
        The number of the distinct value of each row.
    """

    values: np.ndarray
    groups: Sequence[np.ndarray]
    firsts: list[np.ndarray]
    codes: list[np.ndarray]

    @classmethod
    def of(cls, values: np.ndarray, groups: Sequence[np.ndarray]) -> GroupValues:
        """Find the distinct values of each group of columns."""
        firsts, codes = zip(*(distinct(values[:, columns]) for columns in groups))
        return cls(values, groups, list(firsts), list(codes))

    def __getitem__(self, group: int) -> np.ndarray:
        """Return rows with the distinct values of a group."""
        return self.values[self.firsts[group]]

    def blocks(self) -> list[tuple[slice, GroupValues]]:
        """Return blocks of rows with their values."""
        spans = gen_batches(len(self.values), _ROWS_AT_ONCE)
        return [(span, GroupValues.of(self.values[span], self.groups)) for span in spans]


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the distinct rows, and for each row its place among these.

    Equal rows have the number of the first of them.
    """
    _, first, codes = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, codes.reshape(-1)


def partial_dependence(
    f: Any, Z: np.ndarray, own: GroupValues, pairs: Pairs
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of f over rows Z with one or two groups of columns from other rows.

    Parameters
    ----------
    f : KernelExpansion, LeafExpansion, Expansion, or an object with ``evaluate``
    Z : array (n_rows, n_columns)
        The rows over which means are taken.
    own : GroupValues
        The values that replace those of Z.
    pairs : sequence of (int, int)
        The pairs of groups.

    Returns
    -------
    singles : array (n_groups, n_values, n_outputs)
    doubles : array (n_pairs, n_values, n_outputs)
    """
    if is_product(f):
        return _product_means(f, Z, own, pairs, _everywhere)
    if isinstance(f, LeafExpansion) and all(map(is_product, f.expansions)):
        parts = [
            _product_means(one, Z, own, pairs, _box(f, leaf, own.groups))
            for leaf, one in enumerate(f.expansions)
        ]
        return sum(singles for singles, _ in parts), sum(doubles for _, doubles in parts)
    whole = replacements(f, Z, own.groups)
    return averages(whole.scores, len(Z), own, pairs)


def averages(
    scores: Callable, n_rows: int, own: GroupValues, pairs: Pairs
) -> tuple[np.ndarray, np.ndarray]:
    """Return singles and doubles from ``scores(groups, values)``, (n_values, n_rows, n_outputs)."""
    at_once = max(1, _PAIRS_AT_ONCE // n_rows)

    def mean(chosen):
        columns = np.concatenate([own.groups[g] for g in chosen])
        first, codes = distinct(own.values[:, columns])
        blocks = [first[start : start + at_once] for start in range(0, len(first), at_once)]
        means = [scores(chosen, own.values[rows]).mean(axis=1) for rows in blocks]
        return np.concatenate(means)[codes]

    singles = np.stack([mean([g]) for g in range(len(own.groups))])
    doubles = [mean([g, h]) for g, h in pairs]
    return singles, np.reshape(doubles, (len(pairs), *singles.shape[1:]))


def _everywhere(rows):
    return None


def _box(f, leaf, groups):
    """Return a function of rows: True for each group inside a leaf, (n_groups, n_rows)."""
    conditions = f.tree.conditions(leaf)

    def inside(rows):
        mask = np.ones((len(groups), len(rows)), dtype=bool)
        for g, columns in enumerate(groups):
            for column, threshold, is_right in conditions:
                if column in columns:
                    mask[g] &= (rows[:, column].astype(np.float32) > threshold) == is_right
        return mask

    return inside


def _product_means(f, Z, own, pairs, box):
    """Return singles and doubles of a sum of products, which is zero outside a box."""
    n_rows, groups, inside = len(Z), own.groups, box(Z)
    outside = np.zeros((len(groups), n_rows), dtype=bool) if inside is None else ~inside
    # A row adds nothing if more groups put it outside than are replaced at once.
    near = outside.sum(axis=0) <= 1 + (len(pairs) > 0)
    Z, outside = Z[near], outside[:, near]
    singles, doubles = _linear_means(f, Z, outside, own, pairs, n_rows)
    blocks = own.blocks() if len(pairs) else []
    n_terms = max(1, _BLOCK_BYTES // (8 * len(groups) * max(len(Z), len(groups), _ROWS_AT_ONCE)))
    for terms in gen_batches(len(f), n_terms):
        sums = _TermSums(f.take(terms), Z, outside, groups, n_rows)
        sums.add_singles(singles, own)
        if blocks:
            sums.add_doubles(doubles, blocks, pairs)
    singles = np.stack([one[codes] for one, codes in zip(singles, own.codes)])
    if inside is not None:
        valid = box(own.values)[:, :, None]
        singles *= valid
        for p, (g, h) in enumerate(pairs):
            doubles[p] *= valid[g] & valid[h]
    return singles, doubles


def _linear_means(f, Z, outside, own, pairs, n_rows):
    """Return singles (of distinct values) and doubles of the intercept and the linear part."""
    n_columns = Z.shape[1]
    slopes = np.zeros((n_columns, f.n_outputs)) if f.slopes is None else f.slopes.astype(float)
    parts = np.stack([Z[:, columns] @ slopes[columns] for columns in own.groups])
    whole = parts.sum(axis=0) + f.intercept
    n_outside = outside.sum(axis=0)
    values = [own[g][:, columns] @ slopes[columns] for g, columns in enumerate(own.groups)]

    def mean(chosen, of_values):
        valid = n_outside == outside[chosen].sum(axis=0)
        of_rows = valid @ (whole - parts[chosen].sum(axis=0))
        return (of_rows + valid.sum() * of_values) / n_rows

    singles = [mean([g], own_part) for g, own_part in enumerate(values)]
    doubles = np.empty((len(pairs), len(own.values), f.n_outputs))
    for p, (g, h) in enumerate(pairs):
        doubles[p] = mean([g, h], values[g][own.codes[g]] + values[h][own.codes[h]])
    return singles, doubles


class _TermSums:
    """Sums over rows of the products of some kernels or waves, without one or two factors."""

    def __init__(self, part, Z, outside, groups, n_rows):
        # Factors of rows have the axes (terms, groups, rows), which batched products need.
        self.terms = ProductReplacements(part, Z[:0], groups)
        self.coefficients = self.terms.coefficients / n_rows
        factors = [self.terms.factor(g, Z).T for g in range(len(groups))]
        self.inverse = np.stack(factors, axis=1)
        self.inverse[:, outside] = LEAST_FACTOR
        product = np.prod(self.inverse, axis=1)
        np.reciprocal(self.inverse, out=self.inverse)
        self.rest = product[:, None] * self.inverse

    def add_singles(self, singles, own):
        """Add the means with one replaced group, for distinct values."""
        rest = self.rest.sum(axis=2)
        for g, means in enumerate(singles):
            values, weights = own[g], rest[:, [g]] * self.coefficients
            for some in gen_batches(len(values), _VALUES_AT_ONCE):
                means[some] += (self.terms.factor(g, values[some]) @ weights).real

    def joint(self, some):
        """Return sums of Π_j factor_j / (factor_g factor_h), (n_some, n_some, n_terms)."""
        is_whole = len(some) == self.rest.shape[1]
        rest = self.rest if is_whole else self.rest[:, some]
        inverse = self.inverse if is_whole else self.inverse[:, some]
        return np.moveaxis(rest @ inverse.transpose(0, 2, 1), 0, 2).copy()

    def add_doubles(self, doubles, blocks, pairs):
        """Add the means with two replaced groups, for the rows of each block."""
        some = sorted({g for pair in pairs for g in pair})
        place, joint = {g: k for k, g in enumerate(some)}, self.joint(some)
        for rows, own in blocks:
            values = {g: self.terms.factor(g, own[g]) for g in some}
            of_rows = {g: values[g][own.codes[g]] for g in some}
            for p, (g, h) in enumerate(pairs):
                weights = joint[place[g], place[h]][:, None] * self.coefficients
                a, b = values[g], values[h]
                if len(a) * len(b) <= _LARGEST_TABLE * len(own.values):
                    for k, column in enumerate(weights.T):
                        table = ((a * column) @ b.T).real
                        doubles[p, rows, k] += table[own.codes[g], own.codes[h]]
                else:
                    doubles[p, rows] += ((of_rows[g] * of_rows[h]) @ weights).real
