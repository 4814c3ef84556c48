"""Shapley values of the columns of a table in a blend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.inputs import TableInputs
from ..expansions.kernels import KernelExpansion
from ..expansions.leaves import LeafExpansion
from ..expansions.shapley import shapley_contributions
from ..expansions.waves import Expansion
from ..losses import Squared
from .blending import Blend
from .replacing import column_groups
from .waves import WaveMember

# Background rows, unless the caller gives a number.
_BACKGROUND_ROWS = 64
# A leaf with fewer background rows has some of its own training rows as background.
_FEWEST_ROWS = 16


@dataclass(frozen=True, eq=False, repr=False)
class ShapleyValues:
    """Exact Shapley values: explained output = base + Σ_j values[:, j] + rest, row by row.

    Attributes
    ----------
    values : array (n_rows, n_columns) or (n_rows, n_columns, n_outputs)
        The Shapley values of the columns.
    base_values : array (n_rows,) or (n_rows, n_outputs)
        The mean of the explained output over the background of each row.
    data : frame or array
        The rows, as given.
    names : tuple of str
        The names of the columns.
    rest : array (n_rows,) or (n_rows, n_outputs)
        The contribution of members that are not sums of products, minus its mean over the
        background. It is not split by columns, and zero if all members are sums of products.
    output : str
        The explained output.
    output_names : tuple of str
        Names of the outputs; empty if there is no axis of outputs.
    """

    values: np.ndarray
    base_values: np.ndarray
    data: Any
    names: tuple[str, ...]
    rest: np.ndarray
    output: str
    output_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        sizes = f"{len(self)} rows, {len(self.names)} columns, {self.output}"
        return f"{type(self).__name__}({sizes}, rest {self.share_of_rest():.0%})"

    def total(self) -> np.ndarray:
        """Return the explained output, the sum of all parts."""
        return self.base_values + self.values.sum(axis=1) + self.rest

    def share_of_rest(self) -> float:
        """Return the mean absolute rest as a share of that of all contributions."""
        rest, columns = np.abs(self.rest).sum(), np.abs(self.values).sum()
        return float(rest / (rest + columns)) if rest > 0 else 0.0

    def strongest(self, n: int = 10) -> list[tuple[str, float]]:
        """Return names and mean absolute values of the ``n`` strongest columns."""
        sizes = np.abs(self.values).reshape(len(self), len(self.names), -1).mean(axis=(0, 2))
        order = np.argsort(-sizes, kind="stable")[:n]
        return [(self.names[j], float(sizes[j])) for j in order]

    def to_frame(self) -> Any:
        """Return the values as a pandas frame, with the index of the rows if they have one.

        Columns are the columns of the table. With several outputs they have two levels: outputs,
        and columns of the table.
        """
        import pandas

        columns: Any = list(self.names)
        if self.output_names:
            columns = pandas.MultiIndex.from_product([self.output_names, self.names])
        values = self.values if self.values.ndim == 2 else np.swapaxes(self.values, 1, 2)
        index = self.data.index if isinstance(self.data, pandas.DataFrame) else None
        return pandas.DataFrame(values.reshape(len(self), -1), index=index, columns=columns)

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation``, for the plots of shap.

        A rest that is not zero is one more column, "(rest)".
        """
        try:
            import shap
        except ImportError as error:
            raise ImportError(
                "to_shap needs the package shap, which is not installed. Run `pip install shap`, "
                "or use to_frame()."
            ) from error
        values, names, cells = self.values, list(self.names), np.asarray(self.data)
        if np.any(self.rest):
            values, names = np.concatenate([values, self.rest[:, None]], axis=1), [*names, "(rest)"]
            cells = np.column_stack([cells, np.full(len(cells), np.nan)])
        return shap.Explanation(
            values,
            base_values=self.base_values,
            data=cells,
            feature_names=names,
            output_names=list(self.output_names) or None,
        )


def blend_shapley(
    blend: Blend, inputs: TableInputs, Z: np.ndarray, rows: np.ndarray, n_background: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, base values and rest of the scores of a blend at prepared rows Z.

    The background are at most ``n_background`` evenly spread ``rows``. Values are (n_rows,
    n_columns, n_outputs), base values and rest (n_rows, n_outputs).
    """
    n_background = _BACKGROUND_ROWS if n_background is None else n_background
    used, groups = column_groups(inputs)
    n_outputs = blend.evaluate(rows[:1]).shape[1]
    values = np.zeros((len(Z), inputs.n_features_in_, n_outputs))
    base, rest = np.zeros((2, len(Z), n_outputs))
    for inside, members, background in _leaves(blend, Z, rows, n_background):
        own = Z[inside]
        for weight, member in zip(blend.weights, members):
            of_background = np.asarray(member.evaluate(background), np.float64).mean(axis=0)
            base[inside] += weight * of_background
            f = _sum_of_products(member)
            if f is None:
                rest[inside] += weight * (member.evaluate(own) - of_background)
                continue
            parts = shapley_contributions(f, own, background, groups)
            values[np.ix_(inside, used)] += weight * parts
    return values, base, rest


def _leaves(blend, Z, rows, n_background) -> Iterator[tuple[np.ndarray, list, np.ndarray]]:
    """Yield the rows of Z in each leaf, the members in this leaf, and their background.

    Inside a leaf the function of a ``LeafExpansion`` is one sum of kernels. If a row exchanges
    cells with a background row of its leaf, both stay in the leaf.
    """
    trees = [member.tree for member in blend.members if isinstance(member, LeafExpansion)]
    if not trees:
        yield np.arange(len(Z)), list(blend.members), _spread(rows, n_background)
        return
    leaves, of_rows = trees[0].leaves(Z), trees[0].leaves(rows)
    for leaf in np.unique(leaves).tolist():
        members = [m.expansions[leaf] if isinstance(m, LeafExpansion) else m for m in blend.members]
        background = rows[of_rows == leaf]
        if len(background) < min(_FEWEST_ROWS, n_background):
            background = next(m for m in members if isinstance(m, KernelExpansion)).points
        yield np.flatnonzero(leaves == leaf), members, _spread(background, n_background)


def _spread(rows, n_most):
    """Return at most ``n_most`` rows, evenly spread."""
    places = np.linspace(0, len(rows) - 1, min(n_most, len(rows)))
    return np.asarray(rows[np.round(places).astype(np.intp)], np.float64)


def _sum_of_products(member) -> KernelExpansion | Expansion | None:
    """Return the member as a sum of products over columns, or None if it is no such sum."""
    if isinstance(member, WaveMember) and isinstance(member.loss, Squared):
        return member.expansion
    if isinstance(member, KernelExpansion) and member.prior.has_column_factors:
        return member
    return None
