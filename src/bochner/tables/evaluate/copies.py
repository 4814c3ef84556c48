"""Repeated rows of a table: copies of one observation stay together in every split."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data import column_keys, release_scratches
from ...data.repetitions import equal_keys, series_keys
from ...data.targets import Labels, Values
from .target import counted_labels

# Rows that are searched for a repeated value before all rows are.
_FIRST_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Observations:
    """Observation of each row: ``numbers`` (n_rows,) are equal for copies of one row.

    ``n_repeated`` rows agree with an earlier row in their inputs and the target. With ``are_ties``,
    equal inputs also have different outcomes, so equal rows are independent observations.
    """

    numbers: np.ndarray
    n_repeated: int = 0
    are_ties: bool = False

    @classmethod
    def of(
        cls,
        frame: Any,
        y: np.ndarray,
        classify: bool,
        columns: list[str],
        is_identifier: Callable[[str], bool] | None = None,
    ) -> Observations:
        """Find rows that agree in these columns and in y.

        Identifiers are not compared; ``is_identifier`` decides for columns of distinct values.
        """
        equal = None
        if classify or _has_repeats(y):
            inputs = _input_keys(frame, columns, is_identifier)
            target = Labels(*counted_labels(y)[:2]) if classify else Values(y[:, None])
            equal = None if inputs is None else equal_keys(inputs, target)
        if equal is None:
            return cls(np.arange(len(y)))
        return cls(equal.split_groups(), len(y) - len(equal.first), equal.are_ties)

    @property
    def has_copies(self) -> bool:
        """True if several rows are one observation."""
        return self.n_repeated > 0 and len(self.first()) < len(self.numbers)

    def first(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the first row of each observation, in the order of the table or of ``rows``."""
        if rows is None:
            rows = np.arange(len(self.numbers))
        if self.n_repeated == 0:
            return rows
        return rows[np.sort(np.unique(self.numbers[rows], return_index=True)[1])]

    def with_copies(self, rows: np.ndarray) -> np.ndarray:
        """Return these rows and all their copies; without copies, in the given order."""
        if not self.has_copies:
            return rows
        return np.flatnonzero(np.isin(self.numbers, self.numbers[rows]))

    def take(self, rows: np.ndarray) -> Observations:
        """Return the observations of some rows."""
        return replace(self, numbers=self.numbers[rows])

    def folds(self, splitter: Any, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the training and test rows of a scikit-learn splitter, with copies together."""
        first = self.first()
        for kept, left_out in splitter.split(first, y[first]):
            yield self.with_copies(first[kept]), self.with_copies(first[left_out])


def seen_inputs(frame: Any, columns: list[str], train: np.ndarray, test: np.ndarray) -> int:
    """Count rows of ``test`` that agree in all these columns with a row of ``train``."""
    keys = _input_keys(frame, columns)
    return 0 if keys is None else int(np.isin(keys[test], keys[train]).sum())


def _input_keys(frame, columns, is_identifier=None):
    """Return one key per row, or None if all rows differ or there is no column to compare."""
    keys = None
    for name in columns:
        values = series_keys(frame[name])
        if _has_repeats(values):
            keys = column_keys(values if keys is None else np.column_stack([keys, values]))
        elif is_identifier is None or not is_identifier(name):
            return None
        release_scratches()
    return keys


def _has_repeats(values):
    some = values[:_FIRST_ROWS]
    return len(np.unique(some)) < len(some) or len(np.unique(values)) < len(values)
