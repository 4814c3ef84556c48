"""Effects of the columns of a table: centered partial dependence; importances of the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from ..data.inputs import TableInputs
from ..expansions.dependence import GroupValues, Pairs, averages, partial_dependence
from .bands import Bands, KernelSystem
from .blending import Blend
from .replacing import column_groups
from .waves import WaveMember

# Memory for the factors of the kernels of some background rows.
_FACTOR_BYTES = 2**28


@dataclass(frozen=True, eq=False, repr=False)
class TableEffects:
    """Effects f(x) = constant + Σ_j main[:, j] + Σ_p pairs[:, p] + rest of columns.

    Effects are centered partial dependence. PD_S(x) is the mean of f over the background rows with
    the columns S of x, and the constant is the mean of f over these rows. So main_j = PD_j −
    constant, and pair_jk = PD_jk − PD_j − PD_k + constant. The rest has the effects of three and
    more columns.

    With several outputs or classes, arrays have one more axis for them, the last one.

    Attributes
    ----------
    constant : float or array (n_outputs,)
    main : array (n_samples, n_columns)
    pairs : array (n_samples, n_pairs)
    rest : array (n_samples,)
    names : tuple of str
        The column of each main effect.
    pair_names : tuple of (str, str)
        The two columns of each pair.
    output : str
        The explained quantity, e.g. "prediction" or "log-odds".
    output_names : tuple
        Numbers or classes of several outputs; empty for one.
    bands : Bands or None
        ``bands.main`` and ``bands.pairs`` are the half-widths of confidence bands.
    """

    constant: Any
    main: np.ndarray
    pairs: np.ndarray
    rest: np.ndarray
    names: tuple[str, ...]
    pair_names: tuple[tuple[str, str], ...]
    output: str = "prediction"
    output_names: tuple = ()
    bands: Bands | None = None

    def __repr__(self) -> str:
        sizes = f"{len(self.names)} columns, {len(self.pair_names)} pairs"
        return f"TableEffects({self.output}: {sizes}, rest {self.rest_share:.1%} of the variance)"

    @property
    def rest_share(self) -> float:
        """Variance of the rest divided by that of the explained quantity, over the rows."""
        whole = np.sum(np.var(self.total(), axis=0))
        return float(np.sum(np.var(self.rest, axis=0)) / whole) if whole > 0 else 0.0

    def total(self) -> np.ndarray:
        """Return the sum of all effects."""
        return self.constant + self.main.sum(axis=1) + self.pairs.sum(axis=1) + self.rest

    def first_output(self) -> TableEffects:
        """Return the effects on the first output, without an axis of outputs."""
        parts = {
            name: getattr(self, name)[..., 0] for name in ("constant", "main", "pairs", "rest")
        }
        bands = None if self.bands is None else self.bands.first_output()
        return replace(self, **parts, bands=bands, output_names=())

    def strongest(self, n: int = 10) -> list[tuple[str, float]]:
        """Return names and sizes of the ``n`` largest effects; a pair is "a × b".

        The size of an effect is its standard deviation over the rows.
        """
        effects = np.concatenate([self.main, self.pairs], axis=1)
        squares = np.var(effects, axis=0).reshape(effects.shape[1], -1)
        sizes = zip(self._labels(), np.sqrt(squares.mean(axis=1)).tolist())
        return sorted(sizes, key=lambda size: -size[1])[:n]

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each sample and a column for each effect.

        The columns are the constant, main effects, pairs "a × b" and the rest. With several outputs
        they have a second level, the output.
        """
        import pandas as pd

        constant = np.broadcast_to(self.constant, self.rest.shape)
        parts = [constant[:, None], self.main, self.pairs, self.rest[:, None]]
        values, labels = np.concatenate(parts, axis=1), ["constant", *self._labels(), "rest"]
        columns: Any = labels
        if self.output_names:
            columns = pd.MultiIndex.from_product([labels, self.output_names])
        return pd.DataFrame(values.reshape(len(values), -1), columns=columns)

    def _labels(self):
        return [*self.names, *(f"{a} × {b}" for a, b in self.pair_names)]


@dataclass(frozen=True, eq=False)
class LinearQuantity:
    """center + unit · blend(z), whose partial dependence needs no grid of evaluations.

    ``systems`` are those of the members, empty if some of them have no bands.
    """

    name: str
    output_names: tuple
    blend: Blend
    unit: np.ndarray
    center: np.ndarray
    systems: tuple[KernelSystem, ...]

    def evaluate(self, Z: np.ndarray) -> np.ndarray:
        """Return the quantity, (n_samples, n_outputs)."""
        return self.center + self.unit * self.blend.evaluate(Z)

    def dependence(
        self, background: np.ndarray, own: GroupValues, pairs: Pairs
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return means over the background, see ``partial_dependence``."""
        parts = [
            partial_dependence(
                m.expansion if isinstance(m, WaveMember) else m, background, own, pairs
            )
            for m in self.blend.members
        ]
        singles, doubles = (
            sum(weight * part[order] for weight, part in zip(self.blend.weights, parts))
            for order in (0, 1)
        )
        return self.center + self.unit * singles, self.center + self.unit * doubles


@dataclass(frozen=True, eq=False)
class LinkedQuantity:
    """A function of the members of a blend that is not linear.

    ``evaluate(Z)`` returns the quantity at rows Z. ``replaced(Z, groups)`` returns a function
    ``(chosen, values)``: the quantity, (n_values, n_rows, n_outputs), for all pairs of a value of
    the chosen groups and a row of Z.
    """

    name: str
    output_names: tuple
    evaluate: Callable
    replaced: Callable
    blend: Blend

    def dependence(
        self, background: np.ndarray, own: GroupValues, pairs: Pairs
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return means over the background, in blocks of its rows."""
        size = max(1, _FACTOR_BYTES // (8 * len(own.groups) * sum(map(len, self.blend.members))))
        singles: Any = 0.0
        doubles: Any = 0.0
        for start in range(0, len(background), size):
            some = background[start : start + size]
            parts = averages(self.replaced(some, own.groups), len(some), own, pairs)
            share = len(some) / len(background)
            singles, doubles = singles + share * parts[0], doubles + share * parts[1]
        return singles, doubles


def has_bands(quantity: LinearQuantity | LinkedQuantity) -> bool:
    """Return True if there are confidence bands of the effects on a quantity."""
    return isinstance(quantity, LinearQuantity) and len(quantity.systems) > 0


def require_bands(quantity: LinearQuantity | LinkedQuantity) -> LinearQuantity:
    """Return the quantity, or raise an error if it has no bands."""
    if isinstance(quantity, LinearQuantity) and quantity.systems:
        return quantity
    raise ValueError(
        "Confidence bands need a regressor on a linear scale whose members are product kernels, "
        "without leaves, waves or trees. Write level=None; if only target_scale_ is not linear, "
        'write output="scale".'
    )


def check_pairs(
    pairs: Sequence[tuple[str, str]] | None, max_order: int, inputs: TableInputs
) -> list[tuple[int, int]]:
    """Validate ``pairs``, and return pairs of numbers of groups; all of them for None."""
    if max_order not in (1, 2):
        raise ValueError(f"max_order must be 1 (main effects) or 2 (and pairs), got {max_order!r}.")
    used, _ = column_groups(inputs)
    if pairs is None:
        return list(combinations(range(len(used)), 2)) if max_order == 2 else []
    if max_order == 1:
        raise ValueError("max_order=1 leaves out pairs, but pairs were given. Write max_order=2.")
    place = {inputs.names_[j]: k for k, j in enumerate(used)}
    for pair in pairs:
        if not (
            isinstance(pair, (tuple, list)) and len(set(pair)) == 2 and set(pair) <= set(place)
        ):
            raise ValueError(
                "pairs must be tuples of two different columns that the model uses, got "
                f"{pair!r}. Write e.g. pairs=[{tuple(list(place)[:2])}]."
            )
    return [(place[a], place[b]) for a, b in pairs]


def table_effects(
    quantity: LinearQuantity | LinkedQuantity,
    inputs: TableInputs,
    background: np.ndarray,
    own: GroupValues,
    pairs: Pairs,
) -> TableEffects:
    """Split a quantity at prepared rows, the values of ``own``."""
    constant = np.asarray(quantity.evaluate(background), np.float64).mean(axis=0)
    singles, both = quantity.dependence(background, own, pairs)
    main, doubles = singles - constant, np.empty(both.shape)
    for p, (g, h) in enumerate(pairs):
        doubles[p] = both[p] - singles[g] - singles[h] + constant
    rest = quantity.evaluate(own.values) - constant - main.sum(axis=0) - doubles.sum(axis=0)
    names = [inputs.names_[j] for j in column_groups(inputs)[0]]
    pair_names = tuple((names[g], names[h]) for g, h in pairs)
    return TableEffects(
        constant, main.swapaxes(0, 1), doubles.swapaxes(0, 1), rest, tuple(names), pair_names,
        quantity.name, quantity.output_names,
    )  # fmt: skip


def column_changes(
    blend: Blend, sources: np.ndarray, rows: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each column of a table, and the squared changes of the scores without it.

    The cells of the column are replaced by those of another row. ``sources`` are the columns of the
    table from which the prepared columns of ``rows`` come.
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
