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
    """

    rows: Rows
    target: Any = None
    weights: np.ndarray | None = None
    counts: np.ndarray | None = None

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
        weights, counts = (
            None if column is None else column[numbers] for column in (self.weights, self.counts)
        )
        return replace(self, rows=rows, target=target, weights=weights, counts=counts)

    def equal_rows(self) -> EqualRows | None:
        """Return groups of equal rows with equal targets, or None if all rows are different."""
        target: Target = self.target
        return equal_rows(self.rows, target, self.weights if self.counts is None else self.counts)
