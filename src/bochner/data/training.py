"""TrainingData: rows, target and weights, read once by ``fit`` and handed on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .checks import check_weights
from .repetitions import EqualRows, equal_rows
from .rows import LocalRows, Rows
from .targets import Labels, Target, Values


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows with their target and weights.

    Rows may be on Dask or in a memory map; target and weights are always in memory.

    Parameters
    ----------
    rows : Rows
    target : Target or None
        None if there is no y.
    weights : array (n_rows,) or None
        None if every row counts once.
    counts : array (n_rows,) or None
        The weights without those of the classes; None if these are ``weights``.
    units : array (n_rows,) or None
        The weight that leave-one-out leaves out with each row; None if this is all its weight.
    groups : array (n_rows,) or None
        Rows with the same number are left out together; None if each row is left out alone.
    """

    rows: Rows
    target: Any = None
    weights: np.ndarray | None = None
    counts: np.ndarray | None = None
    units: np.ndarray | None = None
    groups: np.ndarray | None = None

    @classmethod
    def of_labels(
        cls, rows: Rows, y: Any, sample_weight: Any, class_weight: Any = None, *, owner: str
    ) -> Self:
        """Read the labels of a classifier; weights are multiplied with those of the classes."""
        labels, weights = Labels.weighted(y, len(rows), sample_weight, class_weight, owner=owner)
        counts = None if class_weight is None else check_weights(sample_weight, len(rows))
        return cls(rows, labels, weights, counts)

    @classmethod
    def of_values(cls, rows: Rows, y: Any, sample_weight: Any, *, owner: str) -> Self:
        """Read the values of a regressor."""
        values = Values.of(y, len(rows), owner=owner)
        return cls(rows, values, check_weights(sample_weight, len(rows)))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def row_weights(self) -> np.ndarray:
        """The weights, ones if every row counts once."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def take(self, numbers: np.ndarray) -> Self:
        """Return the rows of these sorted numbers, in memory."""
        rows = LocalRows(self.rows.take(numbers), self.rows.block_size)
        target = None if self.target is None else self.target.take(numbers)
        columns = {
            name: None if (column := getattr(self, name)) is None else column[numbers]
            for name in ("weights", "counts", "units", "groups")
        }
        return replace(self, rows=rows, target=target, **columns)

    def equal_rows(self) -> EqualRows | None:
        """Return groups of equal rows with equal targets, or None if all rows are different."""
        target: Target = self.target
        return equal_rows(self.rows, target, self.weights if self.counts is None else self.counts)

    def with_copies(self) -> Self:
        """Find equal rows, so that leave-one-out leaves out copies together; see ``EqualRows``."""
        equal = self.equal_rows()
        if equal is None:
            return self
        if not equal.are_ties:
            return replace(self, groups=equal.groups)
        units = equal.left_out_weights()
        if self.counts is not None:
            # A row is left out with the whole weight of its class.
            units = units * self.weights / np.maximum(self.counts, np.finfo(float).tiny)
        return replace(self, units=units)

    @property
    def signals(self) -> list[np.ndarray]:
        """Values and, if there are any, weights: the columns of a sum over rows."""
        values = self.target.rows
        return [values] if self.weights is None else [values, self.weights]

    def left_out_weights(self) -> np.ndarray | None:
        """Return the weight that is left out with each row; None if it is that of the row."""
        if self.groups is None:
            return self.units
        units = self.weights if self.units is None else self.units
        return np.bincount(self.groups, units)[self.groups].astype(np.float64)

    def mean_left_out_weight(self) -> float:
        """Return the weighted mean of the weight that is left out with each row."""
        left_out = self.left_out_weights()
        left_out = self.weights if left_out is None else left_out
        return 1.0 if left_out is None else float(np.average(left_out, weights=self.weights))
