"""Predictions that are monotone in chosen columns of a table, by rearrangement.

The rearrangement of a function along a column sorts its values over a grid of that column, with all
other cells fixed (Chernozhukov, Fernández-Val and Galichon 2009). If the truth is monotone, the
sorted values are never further from it than the values before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.special import expit, log_expit

from ..data.columns import categorical_places, column_names, is_frame
from ..data.inputs import TableInputs
from ..data.targets import Labels, Values
from ..expansions.leaves import LeafExpansion
from ..expansions.replacements import replacements
from ..losses import lower_quantiles
from .blending import Blend, Mixture
from .replacing import BlendReplacements

# Values of each column at which predictions are sorted, for one, two and three columns.
_MOST_NODES = (129, 25, 11)
# Memory for the predictions at all nodes, and for factors of kernels, of a block of rows.
_BLOCK_BYTES = 2**27


def directions(
    monotonic_cst: Any, X: Any, categorical_features: Any, target: Labels | Values
) -> dict[int, int]:
    """Validate ``monotonic_cst`` for a table X, and return 1 or −1 for each constrained column."""
    names = column_names(X)
    signs = _signs(monotonic_cst, names, is_frame(X))
    if not signs:
        return {}
    if len(signs) > len(_MOST_NODES):
        raise ValueError(
            f"monotonic_cst has {len(signs)} columns with a direction, but at most "
            f"{len(_MOST_NODES)} are possible. Leave the others out."
        )
    categories = [names[j] for j in sorted(categorical_places(categorical_features, X) & set(signs))]
    if categories:
        raise ValueError(
            f"monotonic_cst has a direction for {categories[0]!r}, which is a category without an "
            "order. Leave it out, or give the column as numbers."
        )
    if isinstance(target, Values) and target.rows.shape[1] > 1:
        raise ValueError(
            f"monotonic_cst needs one output, but y has {target.rows.shape[1]}. Fit one model for "
            "each output."
        )
    if isinstance(target, Labels) and len(target.classes) > 2:
        raise ValueError(
            f"monotonic_cst needs two classes, but y has {len(target.classes)}. Fit one model for "
            "each class against all others."
        )
    return signs


def _signs(monotonic_cst, names, has_names):
    """Return the columns with a direction other than zero."""
    if monotonic_cst is None:
        return {}
    if isinstance(monotonic_cst, Mapping):
        if not has_names:
            raise ValueError(
                "monotonic_cst names columns, but X is an array without names. Write a list with "
                "one of -1, 0 and 1 for each column, or give X as a frame."
            )
        unknown = [name for name in monotonic_cst if name not in names]
        if unknown:
            raise ValueError(
                f"monotonic_cst names the column {unknown[0]!r}, which X does not have. The columns "
                f"are {', '.join(map(repr, names))}."
            )
        signs = {names.index(name): sign for name, sign in monotonic_cst.items()}
    else:
        given = [monotonic_cst] if isinstance(monotonic_cst, str) else np.ravel(monotonic_cst)
        if len(given) != len(names):
            raise ValueError(
                f"monotonic_cst has {len(given)} entries, but X has {len(names)} columns. Write one "
                "of -1, 0 and 1 for each column, or a dict of column names."
            )
        signs = dict(enumerate(given))
    for j, sign in signs.items():
        is_number = isinstance(sign, Integral | np.floating | float) and not isinstance(sign, bool)
        if not is_number or sign not in (-1, 0, 1):
            raise ValueError(
                f"monotonic_cst must be -1, 0 or 1 for each column, got {sign!r} for {names[j]!r}. "
                "Write 1 for predictions that rise with the column, -1 for those that fall."
            )
    return {j: int(sign) for j, sign in signs.items() if sign}


def refuse_monotone(model: Any, what: str, error: type[Exception] = TypeError) -> None:
    """Raise an error if a model has constraints, which its expansions do not know."""
    if model._rearrangement is not None:
        raise error(
            f"{what} would describe the model before monotonic_cst is applied. Fit a model without "
            "monotonic_cst for them."
        )


@dataclass(frozen=True, eq=False)
class Rearrangement:
    """Sorting of a function of prepared rows along some columns.

    Parameters
    ----------
    columns : array (n_constrained,)
        The prepared columns.
    signs : array (n_constrained,)
        1 where the function shall rise with the column, −1 where it shall fall.
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
        columns, indicators, nodes = [], [], []
        constrained = [j for j in signs if j in numbers]
        for j in constrained:
            place = np.flatnonzero(inputs.indicators_ == j)
            columns.append(numbers.index(j))
            indicators.append(n_others + int(place[0]) if len(place) else -1)
            present = weights > 0
            if len(place):
                present &= Z[:, indicators[-1]] == 0
            most = _MOST_NODES[len(constrained) - 1]
            z = Z[present, columns[-1]].astype(np.float64)
            nodes.append(column_nodes(z, weights[present], most))
        kept = [int(signs[j]) for j in constrained]
        arrays = np.array(columns), np.array(kept), np.array(indicators)
        return cls(*arrays, tuple(nodes)) if columns else None

    def apply(
        self,
        Z: np.ndarray,
        function: Callable[[np.ndarray], np.ndarray],
        replaced: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
        blend: Blend,
        pair_bytes: int = 64,
    ) -> np.ndarray:
        """Return ``function(Z)``, (n_rows, ...), after the rearrangement.

        A row with a missing cell is not rearranged along that column. ``replaced(Z, columns,
        values)`` returns the function, (n_values, n_rows, ...), for all pairs of a row and of values
        (n_values, n_columns) that replace its ``columns``. It needs ``pair_bytes`` for each pair,
        and the factors of the kernels of ``blend``.
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
        # Rows that differ in these columns only have one function, equal to the last digit.
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
            at = places.ravel()[rows] - start
            parts.append(interpolated(surface, nodes, Z[rows][:, columns], at))
        values = np.concatenate(parts)
        values[order] = values.copy()
        return values


def column_nodes(z: np.ndarray, weights: np.ndarray, most: int) -> np.ndarray:
    """Return all values if there are at most ``most``, otherwise quantiles of them.

    Half of the quantiles are at equal shares of the rows, the others are near values at equal
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
        share = np.clip((z[:, k] - own[left]) / width, 0.0, 1.0)
        # The last axes are those of the rows and of their outputs.
        n_before = len(nodes) - 1 - k
        tail = (1,) * (surface.ndim - n_before - 2)
        index, share = left.reshape(1, *(1,) * n_before, -1, *tail), share.reshape(-1, *tail)
        step = (right - left).reshape(index.shape)
        low = np.take_along_axis(surface, index, axis=0)[0]
        high = np.take_along_axis(surface, index + step, axis=0)[0]
        with np.errstate(invalid="ignore"):  # bounds may be infinite on both sides
            between = low + share * (high - low)
        # Without rounding beyond the ends, so that the next interval is not below.
        between = np.clip(between, np.minimum(low, high), np.maximum(low, high))
        surface = np.where(low == high, low, between)
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
