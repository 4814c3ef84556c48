"""Predictions that are monotone in chosen columns of a table, by rearrangement.

The rearrangement of a function along a column sorts its values over a grid of that column, while
all other cells stay fixed (Chernozhukov, Fernández-Val and Galichon 2009). The sorted values are
never farther from a monotone truth than the values before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Self

import numpy as np
from scipy.special import expit, log_expit

from ..data.inputs import TableInputs
from ..expansions.leaves import LeafExpansion
from ..expansions.replacements import replacements
from ..losses import lower_quantiles
from .blending import Blend, Mixture
from .replacing import BlendReplacements

# Nodes at which the predictions for a row are sorted, for one, two and three columns together.
_MOST_NODES = (129, 33**2, 13**3)
# Memory for a block of rows: their predictions at all nodes, and the factors of kernels.
_BLOCK_BYTES = 2**27


@dataclass(frozen=True, eq=False)
class Rearrangement:
    """Sorting of a function of prepared rows along some columns.

    Parameters
    ----------
    columns : array (n_constrained,)
        The prepared columns.
    signs : array (n_constrained,)
        1 if the function has to rise with the column, −1 if it has to fall.
    indicators : array (n_constrained,)
        The prepared columns that are not zero if a cell is missing; −1 if there is none.
    nodes : tuple of arrays
        Increasing values of each column. In between the sorted function is linear, beyond the first
        and the last it is constant.
    """

    columns: np.ndarray
    signs: np.ndarray
    indicators: np.ndarray
    nodes: tuple[np.ndarray, ...]

    @classmethod
    def of(
        cls, signs: Mapping[int, int], inputs: TableInputs, Z: np.ndarray, weights: np.ndarray
    ) -> Self | None:
        """Choose the nodes from prepared training rows; None if no column has a direction.

        A column that was constant in training needs no nodes: nothing depends on it.
        """
        numbers, n_others = inputs.numbers_.tolist(), len(inputs.numbers_) + len(inputs.ordered_)
        constrained = [j for j in signs if j in numbers]
        if not constrained:
            return None
        columns = np.array([numbers.index(j) for j in constrained])
        indicators, seen = np.full(len(columns), -1), []
        for k, j in enumerate(constrained):
            present = weights > 0
            if j in inputs.indicators_:
                indicators[k] = n_others + inputs.indicators_.tolist().index(j)
                present &= Z[:, indicators[k]] == 0
            seen.append((Z[present, columns[k]].astype(np.float64), weights[present]))
        most, nodes = float(_MOST_NODES[len(columns) - 1]), {}
        # Columns with few values need few nodes, and leave more for the others.
        order = sorted(range(len(columns)), key=lambda k: len(np.unique(seen[k][0])))
        for n_left, k in zip(range(len(order), 0, -1), order):
            nodes[k] = column_nodes(*seen[k], max(3, int(most ** (1 / n_left) + 1e-9)))
            most /= len(nodes[k])
        kept = np.array([int(signs[j]) for j in constrained])
        return cls(columns, kept, indicators, tuple(nodes[k] for k in range(len(columns))))

    def apply(
        self,
        Z: np.ndarray,
        function: Callable[[np.ndarray], np.ndarray],
        replaced: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
        blend: Blend,
        pair_bytes: int = 64,
    ) -> np.ndarray:
        """Return ``function(Z)``, (n_rows, ...), after the rearrangement.

        A row with a missing cell is not rearranged along that column.

        ``replaced(Z, columns, values)`` returns the function for all pairs of a row and a value,
        (n_values, n_rows, ...). The ``columns`` of the row are replaced by those of ``values``
        (n_values, n_columns). This needs ``pair_bytes`` of memory for each pair, and the factors of
        the kernels of ``blend``.
        """
        n_factor_bytes = 16 * (len(self.columns) + 3) * most_terms(blend)
        has_indicator = self.indicators >= 0
        missing = np.zeros((len(Z), len(self.columns)), dtype=bool)
        missing[:, has_indicator] = Z[:, self.indicators[has_indicator]] != 0
        parts = []
        patterns, groups = np.unique(missing, axis=0, return_inverse=True)
        order = np.argsort(groups.ravel(), kind="stable")
        for k, pattern in enumerate(patterns):
            rows, axes = np.flatnonzero(groups.ravel() == k), np.flatnonzero(~pattern)
            if len(axes):
                n_pairs = prod(len(self.nodes[axis]) for axis in axes)
                n_at_once = max(1, _BLOCK_BYTES // (n_factor_bytes + pair_bytes * n_pairs))
                parts.append(self._sorted(Z[rows], axes, replaced, n_at_once))
            else:
                parts.append(function(Z[rows]))
        values = np.concatenate(parts)
        values[order] = values.copy()
        return values

    def _sorted(self, Z, axes, replaced, n_at_once):
        """Return the rearranged function of rows whose cells are known along some axes."""
        columns, nodes = self.columns[axes], [self.nodes[axis] for axis in axes]
        values = np.zeros((prod(map(len, nodes)), Z.shape[1]))
        values[:, columns] = list(product(*nodes))
        # Rows that differ only in these columns have the same function, which is computed once.
        others = Z.copy()
        others[:, columns] = values[0, columns]
        others, places = np.unique(others, axis=0, return_inverse=True)
        order = np.argsort(places.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(places.ravel(), minlength=len(others)))
        parts = []
        for start in range(0, len(others), n_at_once):
            stop = min(start + n_at_once, len(others))
            surface = replaced(others[start:stop], columns, values)
            surface = surface.reshape(*map(len, nodes), *surface.shape[1:])
            for axis, sign in enumerate(self.signs[axes]):
                surface = np.sort(surface, axis=axis)
                surface = surface if sign > 0 else np.flip(surface, axis)
            rows = order[ends[start - 1] if start else 0 : ends[stop - 1]]
            for some in np.split(rows, range(n_at_once, len(rows), n_at_once)):
                at = places.ravel()[some] - start
                parts.append(interpolated(surface, nodes, Z[some][:, columns], at))
        values = np.concatenate(parts)
        values[order] = values.copy()
        return values


def column_nodes(z: np.ndarray, weights: np.ndarray, most: int) -> np.ndarray:
    """Return all values if there are at most ``most``, otherwise quantiles of them.

    Half of the quantiles are at equal shares of the rows. The others are near values at equal
    distances, so that the nodes also cover the tails.
    """
    distinct = np.unique(z)
    if len(distinct) <= most:
        return distinct
    half = most // 2
    of_rows = lower_quantiles(z, weights, np.linspace(0, 1, half + most % 2))
    steps = np.linspace(distinct[0], distinct[-1], half + 2)[1:-1]
    of_steps = distinct[np.searchsorted(distinct, steps)]
    return np.union1d(of_rows, of_steps)


def interpolated(
    surface: np.ndarray, nodes: list[np.ndarray], z: np.ndarray, at: np.ndarray
) -> np.ndarray:
    """Return the multilinear interpolation of ``surface`` (n_1, ..., n_k, n_curves, ...).

    Row i of z (n_rows, k) is read off on the curve ``at[i]``; beyond the nodes it is constant.
    """
    surface = np.take(surface, at, axis=len(nodes))
    for k, own in enumerate(nodes):
        left = np.clip(np.searchsorted(own, z[:, k], "right") - 1, 0, max(len(own) - 2, 0))
        right = np.minimum(left + 1, len(own) - 1)
        width = np.where(right > left, own[right] - own[left], 1.0)
        share = (z[:, k] - own[left]) / width
        # The last axes are those of the rows and of their outputs.
        n_before = len(nodes) - 1 - k
        tail = (1,) * (surface.ndim - n_before - 2)
        index, share = left.reshape(1, *(1,) * n_before, -1, *tail), share.reshape(-1, *tail)
        step = (right - left).reshape(index.shape)
        low = np.take_along_axis(surface, index, axis=0)[0]
        high = np.take_along_axis(surface, index + step, axis=0)[0]
        with np.errstate(invalid="ignore"):  # bounds may be infinite on both sides
            between = low + share * (high - low)
        # Constant beyond the nodes, and without rounding beyond the ends of an interval.
        between = np.clip(between, np.minimum(low, high), np.maximum(low, high))
        surface = np.where((low == high) | (share == 1), high, between)
    return surface


# --- functions at replaced rows -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MonotoneMixture(Mixture):
    """A mixture for two classes whose log-odds are rearranged."""

    rearrangement: Rearrangement

    def log_odds(self, Z: np.ndarray) -> np.ndarray:
        """Return the rearranged log p₁ − log p₀, (n_samples, 1)."""

        def replaced(Z, columns, values):
            both = BlendReplacements(self, Z, _groups(columns, Z.shape[1]))
            return np.diff(both.log_probabilities(range(len(columns)), values))

        def plain(Z):
            return np.diff(super(MonotoneMixture, self).log_probabilities(Z))

        return self.rearrangement.apply(Z, plain, replaced, self)

    def probabilities(self, Z: np.ndarray) -> np.ndarray:
        """Return the probabilities, (n_samples, 2)."""
        return expit(self.log_odds(Z) * [-1, 1])

    def log_probabilities(self, Z: np.ndarray) -> np.ndarray:
        """Return the logarithms of ``probabilities``."""
        return log_expit(self.log_odds(Z) * [-1, 1])


def monotone_mixture(blend: Mixture, rearrangement: Rearrangement | None) -> Mixture:
    """Return the mixture with a rearrangement of its log-odds, if there is one."""
    if rearrangement is None:
        return blend
    return MonotoneMixture(blend.members, blend.weights, blend.links, rearrangement)


def blend_at(blend: Blend, Z: np.ndarray, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the blend, (n_values, n_rows, n_outputs), for rows whose ``columns`` are replaced."""
    groups = _groups(columns, Z.shape[1])
    return BlendReplacements(blend, Z, groups).scores(range(len(columns)), values)


def member_at(member: Any, Z: np.ndarray, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a function of rows, (n_values, n_rows, n_outputs), whose ``columns`` are replaced."""
    both = replacements(member, Z, _groups(columns, Z.shape[1]))
    return both.scores(range(len(columns)), values)


def most_terms(blend: Blend) -> int:
    """Return the largest number of kernels or waves in one sum of a blend."""
    sums = [
        max(map(len, member.expansions)) if isinstance(member, LeafExpansion) else len(member)
        for member in blend.members
    ]
    return max(sums)


def _groups(columns, n_columns):
    others = np.setdiff1d(np.arange(n_columns), columns)
    return [np.array([column]) for column in columns] + ([others] if len(others) else [])
