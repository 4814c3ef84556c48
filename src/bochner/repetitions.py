"""Equal rows of equal target as one row that counts more: weights and repetitions then give one and the same model."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._compute import LocalRows, Rows, as_dense, gathered
from .targets import Labels, Target, Values

# Rows that are compared with each other: so many, of so many numbers in all.
FEW_ROWS = 4000
_MOST_COMPARED = 2**24


@dataclass(frozen=True, eq=False)
class DifferentRows:
    """Rows that differ, their targets and summed weights (None where all count once).

    ``numbers`` says which of the rows given each is, ``places`` where each of the rows given is found among these, −1 where it has no weight;
    both are None for rows that are as they were given.
    """

    rows: Rows
    target: Any
    weights: np.ndarray | None
    numbers: np.ndarray | None = None
    places: np.ndarray | None = None

    def given_numbers(self, numbers: np.ndarray) -> np.ndarray:
        """Which of the rows given some of the different rows are."""
        return numbers if self.numbers is None else self.numbers[numbers]

    def of_given(self, values: np.ndarray) -> np.ndarray:
        """What is known of the different rows, for the rows given; zero for those without weight."""
        if self.places is None:
            return values
        return np.concatenate([values, np.zeros_like(values[:1])])[self.places]


def without_repetitions(
    rows: Rows, target: Target | None, weights: np.ndarray | None, *, in_order: bool = False
) -> DifferentRows:
    """One row for each different one, with its summed weight.

    Algorithms that draw rows, or amplify rounding over many rounds, would otherwise end elsewhere for weights than for repeated rows.
    Rows stand in the order of their values; where nothing is repeated and all weights are one they stay as they are, unless
    ``in_order`` asks for that order all the same.  So do rows that are many.
    """
    n_rows = len(rows)
    if n_rows > FEW_ROWS or n_rows * rows.n_features > _MOST_COMPARED:
        return DifferentRows(rows, target, weights)
    points, target = rows.take(np.arange(n_rows)), None if target is None else target.here()
    first, places = different(np.column_stack([as_dense(points), *target_columns(target)]))
    totals = np.bincount(places, gathered(weights)).astype(np.float64)
    if not in_order and len(first) == n_rows and np.all(totals == 1):
        # Few rows of a cluster are here by now.
        return DifferentRows(rows if rows.is_local else LocalRows(points), target, None)
    present = totals > 0
    kept, places = first[present], np.where(present, np.cumsum(present) - 1, -1)[places]
    taken = None if target is None else target.take(kept)
    return DifferentRows(LocalRows(points[kept]), taken, totals[present], kept, places)


def different(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(number of the first of each different row of numbers, place of each row among these), in the order of their values."""
    bits = np.ascontiguousarray(table + 0.0, dtype=np.float64).view(np.int64)  # without negative zeros
    # As whole numbers without sign, the highest byte first, numbers in order have their bytes in order.
    bits = np.where(bits < 0, ~bits, bits ^ np.int64(np.iinfo(np.int64).min)).view(np.uint64).astype(">u8")
    as_bytes = np.ascontiguousarray(bits).view(f"V{8 * table.shape[1]}").ravel()
    _, first, places = np.unique(as_bytes, return_index=True, return_inverse=True)
    return first, places.ravel()


def target_columns(target: Target | None) -> list[np.ndarray]:
    """The numbers of a target, which tell equal rows of different target apart."""
    if target is None:
        return []
    if isinstance(target, Labels):
        return [target.codes]
    return [target.rows if isinstance(target, Values) else target.similarity().factors]
