"""Explanations of the rows of a table: the prediction, and the contribution of each column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .facts import Facts
from .fitting import TableModel


@dataclass(frozen=True, eq=False)
class Contributions:
    """base + Σ_j values[:, j] + rest is the explained output of each row.

    Parameters
    ----------
    columns : list of str
        Columns of the table.
    values : array (n_rows, n_columns)
    base, rest : array (n_rows,)
    """

    columns: list[str]
    values: np.ndarray
    base: np.ndarray
    rest: np.ndarray

    def strongest(self, n: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return places and values of the ``n`` largest of each row, and the sum of the others."""
        order = np.argsort(-np.abs(self.values), axis=1, kind="stable")[:, :n]
        values = np.take_along_axis(self.values, order, axis=1)
        others = self.values.copy()
        np.put_along_axis(others, order, 0.0, axis=1)
        return order, values, others.sum(axis=1)


def contributions(model: TableModel, frame: Any, outputs: np.ndarray) -> Contributions:
    """Return the Shapley values of rows that the first step has read.

    Those of columns that were made from one column of the table are added. Of several outputs, row
    i has those of ``outputs[i]``.
    """
    shapley, reader = model[-1].shapley(frame), model[0]
    values = np.asarray(shapley.values, np.float64)
    n_rows = len(values)
    base = np.broadcast_to(shapley.base_values, (n_rows, *values.shape[2:]))
    rest = np.broadcast_to(shapley.rest, base.shape)
    if values.ndim == 3:
        rows = np.arange(n_rows)
        values, base, rest = values[rows, :, outputs], base[rows, outputs], rest[rows, outputs]
    columns = list(reader.roles_)
    totals = np.zeros((n_rows, len(columns)))
    for name, own in zip(shapley.names, values.T, strict=True):
        totals[:, columns.index(reader.sources_[name])] += own
    return Contributions(columns, totals, base, rest)


@dataclass(frozen=True, eq=False)
class Explanation:
    """Predictions of rows with the contributions to them."""

    labels: np.ndarray
    parts: Contributions

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(cls, model: TableModel, facts: Facts, frame: Any) -> Explanation:
        """Explain rows that the first step has read; of several classes the predicted one."""
        labels = np.asarray(model[-1].predict(frame))
        outputs = np.zeros(len(labels), np.intp)
        if facts.classify:
            outputs = np.searchsorted(model.classes_, labels)
        return cls(labels, contributions(model, frame, outputs))

    def columns(self, target: str, strongest: int | None) -> dict[str, Any]:
        """Return named columns: all contributions, or the strongest ones with their columns."""
        parts = self.parts
        named: dict[str, Any] = {f"predicted {target}": self.labels, "base value": parts.base}
        if strongest is None:
            names = [f"contribution of {name}" for name in parts.columns]
            return named | dict(zip(names, parts.values.T)) | {"rest": parts.rest}
        order, values, others = parts.strongest(strongest)
        for k, (places, own) in enumerate(zip(order.T, values.T), 1):
            named |= {f"column {k}": [parts.columns[j] for j in places], f"contribution {k}": own}
        return named | {"other columns": others, "rest": parts.rest}

    def rows(self, strongest: int | None) -> list[dict[str, Any]]:
        """Return a JSON object for each row, with the largest contribution first."""
        parts = self.parts
        order, values, others = parts.strongest(strongest)
        return [
            {
                "prediction": label,
                "base_value": float(parts.base[i]),
                "contributions": {parts.columns[j]: float(v) for j, v in zip(order[i], values[i])},
                "other_columns": float(others[i]),
                "rest": float(parts.rest[i]),
            }
            for i, label in enumerate(self.labels.tolist())
        ]
