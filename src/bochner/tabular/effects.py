"""What single columns of a table do to a blend: exact effects, and how much each matters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.inputs import TableInputs
from ..expansions.kernels import KernelExpansion
from ..priors import Anova, Laplace
from .members import Blend


@dataclass(frozen=True, eq=False)
class TableEffects:
    """f(x) = constant + Σ_j main[:, j] + Σ_p pairs[:, p] + rest, exactly, over columns of the
    table.

    ``names[j]`` is the column of a main effect, ``pair_names[p]`` the two of a pair. ``rest`` holds
    effects of more columns at once and all that the other members add. Where there are several
    outputs or classes, arrays have one more axis, the last one.
    """

    constant: Any
    main: np.ndarray
    pairs: np.ndarray
    rest: np.ndarray
    names: tuple[str, ...]
    pair_names: tuple[tuple[str, str], ...]

    def total(self) -> np.ndarray:
        """The sum of all effects."""
        return self.constant + self.main.sum(axis=1) + self.pairs.sum(axis=1) + self.rest

    def first_output(self) -> TableEffects:
        """The effects on the first output, without an axis of outputs."""
        parts = {
            name: getattr(self, name)[..., 0] for name in ("constant", "main", "pairs", "rest")
        }
        return replace(self, **parts)

    def strongest(self, n: int = 10) -> list[tuple[str, float]]:
        """The ``n`` effects of largest standard deviation over the rows, as (name, deviation); a
        pair is "a × b".
        """
        sizes = [
            (name, float(np.sqrt(np.mean(np.var(effect, axis=0)))))
            for names, effects in (
                (self.names, self.main),
                ([f"{a} × {b}" for a, b in self.pair_names], self.pairs),
            )
            for name, effect in zip(names, np.moveaxis(effects, 1, 0))
        ]
        return sorted(sizes, key=lambda size: -size[1])[:n]


def table_effects(
    blend: Blend, inputs: TableInputs, Z: np.ndarray, max_order: int, unit: Any, center: Any
) -> TableEffects:
    """Effects of the product-kernel member, over columns of the table, and all else as the rest; f
    = center + unit · blend.
    """
    kernels = [
        (w, m) for w, m in zip(blend.weights, blend.members) if isinstance(m, KernelExpansion)
    ]
    products = [
        (w, m) for kind in (Anova, Laplace) for w, m in kernels if isinstance(m.prior, kind)
    ]
    if not products:
        raise TypeError(
            "Effects are exact for products over columns, and no Anova or Laplace member has "
            "weight in this blend. "
            "Fit with priors=Anova(), and with max_exact_rows of at least the number of rows where "
            "there are too many for exact kernels."
        )
    weight, member = products[0]
    split = member.effects(Z, max_order, centered=True)
    sources = inputs.sources_
    used = np.unique(sources)
    place = {j: p for p, j in enumerate(used)}
    main = np.zeros((len(Z), len(used), split.main.shape[2]))
    for column, j in enumerate(sources):
        main[:, place[j]] += split.main[:, column]
    pair_place: dict[tuple[int, int], int] = {}
    if max_order == 2:
        both = [(a, b) for i, a in enumerate(used) for b in used[i + 1 :]]
        pair_place = {pair: p for p, pair in enumerate(both)}
    pairs = np.zeros((len(Z), len(pair_place), split.main.shape[2]))
    for p, (a, b) in enumerate(split.pair_columns):
        first, second = sorted((sources[a], sources[b]))
        if first == second:  # two levels of one column
            main[:, place[first]] += split.pairs[:, p]
        else:
            pairs[:, pair_place[first, second]] += split.pairs[:, p]
    main, pairs = weight * unit * main, weight * unit * pairs
    constant = center + weight * unit * split.constant
    rest = center + unit * blend.evaluate(Z) - constant - main.sum(axis=1) - pairs.sum(axis=1)
    names = inputs.names_
    return TableEffects(
        constant,
        main,
        pairs,
        rest,
        tuple(names[j] for j in used),
        tuple((names[a], names[b]) for a, b in pair_place),
    )


def column_changes(
    blend: Blend, sources: np.ndarray, rows: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each column of a table and the squared changes of the scores when it is taken from
    another row.

    ``sources`` are the columns of the table that the prepared columns of ``rows`` come from.
    """
    others, before = np.roll(rows, len(rows) // 2, axis=0), blend.evaluate(rows)
    for j in np.unique(sources):
        yield j, (blend.evaluate(np.where(sources == j, others, rows)) - before) ** 2


def column_importances(blend: Blend, inputs: TableInputs, rows: np.ndarray) -> np.ndarray:
    """Jansen's total effects of the columns of a table over prepared ``rows``, divided by their
    sum, (n_features_in,).
    """
    changes = np.zeros(inputs.n_features_in_)
    for j, squares in column_changes(blend, inputs.sources_, rows):
        changes[j] = np.sum(squares)
    total = changes.sum()
    return changes / total if total > 0 else changes
