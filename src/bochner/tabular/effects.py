"""Effects and importances of the columns of a table in a blend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.inputs import TableInputs
from ..expansions.kernels import KernelExpansion
from ..expansions.leaves import LeafExpansion
from ..priors import Anova, Laplace
from .blending import Blend


@dataclass(frozen=True, eq=False)
class TableEffects:
    """Exact effects f(x) = constant + Σ_j main[:, j] + Σ_p pairs[:, p] + rest.

    ``names[j]`` is the column of a main effect, ``pair_names[p]`` the two columns of a pair.
    ``rest`` has the effects of more columns at once, and the contributions of all other members.
    With several outputs or classes, arrays have a last axis of these.
    """

    constant: Any
    main: np.ndarray
    pairs: np.ndarray
    rest: np.ndarray
    names: tuple[str, ...]
    pair_names: tuple[tuple[str, str], ...]

    def total(self) -> np.ndarray:
        """Return the sum of all effects."""
        return self.constant + self.main.sum(axis=1) + self.pairs.sum(axis=1) + self.rest

    def first_output(self) -> TableEffects:
        """Return the effects on the first output, without an axis of outputs."""
        parts = {
            name: getattr(self, name)[..., 0] for name in ("constant", "main", "pairs", "rest")
        }
        return replace(self, **parts)

    def strongest(self, n: int = 10) -> list[tuple[str, float]]:
        """Return names and sizes of the ``n`` largest effects; a pair is "a × b".

        The size of an effect is its standard deviation over the rows.
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
    """Split center + unit · blend by the effects of its member with a product kernel."""
    products = [
        (weight, member)
        for kind in (Anova, Laplace)
        for weight, member in zip(blend.weights, blend.members)
        if isinstance(member, KernelExpansion | LeafExpansion)
        and issubclass(member.prior.family, kind)
    ]
    if not products:
        raise TypeError(
            "Effects are exact for products over columns, and no Anova or Laplace member has "
            "weight in this blend. Fit with priors=Anova()."
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
    pair_names = tuple((names[a], names[b]) for a, b in pair_place)
    return TableEffects(constant, main, pairs, rest, tuple(names[j] for j in used), pair_names)


def column_changes(
    blend: Blend, sources: np.ndarray, rows: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each column of a table, and squared changes of the scores if another row gives it.

    ``sources`` are the columns of the table from which the prepared columns of ``rows`` come.
    """
    others, before = np.roll(rows, len(rows) // 2, axis=0), blend.evaluate(rows)
    for j in np.unique(sources):
        yield j, (blend.evaluate(np.where(sources == j, others, rows)) - before) ** 2


def column_importances(blend: Blend, inputs: TableInputs, rows: np.ndarray) -> np.ndarray:
    """Return Jansen's total effects of the columns over prepared ``rows``, with sum one."""
    changes = np.zeros(inputs.n_features_in_)
    for j, squares in column_changes(blend, inputs.sources_, rows):
        changes[j] = np.sum(squares)
    total = changes.sum()
    return changes / total if total > 0 else changes
