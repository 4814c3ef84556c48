"""Repeated rows of a table: copies of one observation stay together in every split, ties are split
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data import column_keys, release_scratches
from ...data.observations import series_keys
from ...data.repetitions import equal_keys
from ...data.targets import Labels, Values
from .target import counted_labels

# Rows that are searched for a repeated value before all rows are.
_FIRST_LOOK = 10_000


@dataclass(frozen=True, eq=False)
class Observations:
    """The observation that each row belongs to: ``numbers`` (n_rows,), the same for copies of one
    row.

    ``n_repeated`` rows agree with an earlier row in their inputs and the target. They are
    ``are_ties`` if the same inputs also occur with other outcomes, so that equal rows are
    independent observations.
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

        ``is_identifier`` is asked for columns in which no value occurs twice: identifiers are not
        compared.
        """
        alone = cls(np.arange(len(y)))
        if not classify and not _has_repeats(y):
            return alone
        inputs = _input_keys(frame, columns, is_identifier)
        if inputs is None:
            return alone
        target = Labels(*counted_labels(y)[:2]) if classify else Values(y[:, None])
        equal = equal_keys(inputs, target)
        if equal is None:
            return alone
        return cls(equal.split_groups(), len(y) - len(equal.first), equal.are_ties)

    @property
    def has_copies(self) -> bool:
        """True if several rows are one observation."""
        return self.n_repeated > 0 and len(self.first()) < len(self.numbers)

    def first(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the first row of each observation, in the order of the table or of ``rows``."""
        if rows is None:
            rows = np.arange(len(self.numbers))
        return (
            rows
            if self.n_repeated == 0
            else rows[np.sort(np.unique(self.numbers[rows], return_index=True)[1])]
        )

    def with_copies(self, rows: np.ndarray) -> np.ndarray:
        """Return these rows and all their copies; rows that have none stay in their order."""
        if not self.has_copies:
            return rows
        return np.flatnonzero(np.isin(self.numbers, self.numbers[rows]))

    def take(self, rows: np.ndarray) -> Observations:
        """Return the observations of some rows."""
        return replace(self, numbers=self.numbers[rows])

    def folds(self, splitter: Any, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (rows that are kept, rows that are left out) of a splitter of scikit-learn, copies
        together.
        """
        first = self.first()
        for kept, left_out in splitter.split(first, y[first]):
            yield self.with_copies(first[kept]), self.with_copies(first[left_out])


def seen_inputs(frame: Any, columns: list[str], train: np.ndarray, test: np.ndarray) -> int:
    """Return how many rows of ``test`` agree in all these columns with a row of ``train``."""
    keys = _input_keys(frame, columns)
    return 0 if keys is None else int(np.isin(keys[test], keys[train]).sum())


def _input_keys(frame, columns, is_identifier=None):
    """Return one key per row, or None if there is nothing to compare or a column has no value
    twice.
    """
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
    some = values[:_FIRST_LOOK]
    return len(np.unique(some)) < len(some) or len(np.unique(values)) < len(values)
