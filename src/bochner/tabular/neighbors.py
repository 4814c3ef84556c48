"""Training rows that a fitted tabular model keeps, and distances from them by a learned kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..priors import SpectralPrior
from .preparation import PreparedData

# Most training rows that a model keeps.
_MOST_ROWS = 2000
# Smaller kernels count as this number, whose logarithm is finite.
_LEAST_KERNEL = 1e-300


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Training rows Z in random order, and the learned prior that compares new rows with them.

    The distance of two rows is −log k(x, z) / k(x, x). For product kernels it is the sum of −log
    factor over the columns of the table.

    Parameters
    ----------
    Z : array (n_neighbors, n_columns)
        Prepared columns.
    prior : SpectralPrior
        The learned prior.
    sources : array (n_columns,)
        The column of the table of each prepared column.
    """

    Z: np.ndarray
    prior: SpectralPrior
    sources: np.ndarray

    @classmethod
    def drawn(
        cls,
        data: PreparedData,
        prior: SpectralPrior,
        sources: np.ndarray,
        rng: np.random.Generator,
    ) -> Self:
        """Draw at most 2000 observations; a row that stands for several may be drawn repeatedly."""
        rows = np.arange(len(data.Z))
        if data.observations is not None:
            rows = np.repeat(rows, np.maximum(np.rint(data.observations), 1).astype(np.intp))
        drawn = rng.permutation(rows)[:_MOST_ROWS]
        return cls(data.Z[drawn].astype(np.float64), prior, sources)

    def __len__(self) -> int:
        return len(self.Z)

    @cached_property
    def own_distances(self) -> np.ndarray:
        """The distance of each kept row from the nearest other one, sorted."""
        none = np.zeros((len(self), self.sources.max() + 1), dtype=bool)
        distances = self.distances(self.Z, none)
        np.fill_diagonal(distances, np.inf)
        return np.sort(distances.min(axis=1))

    def distances(
        self, Z: np.ndarray, left_out: np.ndarray, unknown: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the distances of rows Z from the kept rows, (n_samples, n_neighbors).

        Parameters
        ----------
        Z : array (n_samples, n_columns)
            Prepared columns.
        left_out : array of bool (n_samples, n_features_in)
            True for cells of the table that do not count.
        unknown : array of bool (n_samples, n_features_in), default None
            True for cells whose level differs from those of all kept rows.
        """
        if unknown is None:
            unknown = np.zeros_like(left_out)
        if not self.prior.has_column_factors:
            return self._distances_by_pattern(Z, left_out, unknown)
        used = np.unique(self.sources)
        is_plain = ~np.any((left_out | unknown)[:, used], axis=0)
        total = self._of_columns(used[is_plain], Z, self.Z)
        for j in used[~is_plain].tolist():
            counted, is_unknown = ~left_out[:, j], (unknown & ~left_out)[:, j]
            distances = self._of_columns(np.array([j]), Z, self.Z)
            if is_unknown.any():
                farthest = self._largest_difference(j)
                distances[is_unknown] = np.maximum(distances[is_unknown], farthest)
            total[counted] += distances[counted]
        return total

    def _of_columns(self, columns, Z, others):
        """Return −log of the factor of some columns of the table for all pairs of rows."""
        if not len(columns):
            return np.zeros((len(Z), len(others)))
        own = np.isin(self.sources, columns)
        factor: Any = self.prior.compiled(len(own))
        sides = (np.ascontiguousarray(rows[:, own], np.float64) for rows in (Z, others))
        kernel = factor.of_columns(own).gram(*sides)
        if len(columns) == 1 or kernel.min(initial=1.0) > _LEAST_KERNEL:
            return _minus_log(kernel)
        # The product of many factors is too small for a float: sum the logarithms of two halves.
        halves = np.array_split(columns, 2)
        return sum(self._of_columns(half, Z, others) for half in halves)

    def _largest_difference(self, j):
        """Return the largest distance of two kept rows in one column of the table."""
        own = self.Z[:, self.sources == j]
        different = self.Z[np.unique(own, axis=0, return_index=True)[1]]
        return self._of_columns(np.array([j]), different, different).max()

    def _distances_by_pattern(self, Z, left_out, unknown):
        """Return the distances by a kernel without factors, for each pattern of cells in turn."""
        # Prepared columns of categories are zero or positive: no kept row has the negative value.
        Z = np.where(unknown[:, self.sources], -self.Z.max(axis=0), Z)
        total = np.empty((len(Z), len(self)))
        patterns, places = np.unique(left_out[:, self.sources], axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            # The kernel depends on differences: equal values leave a column out.
            rows = np.flatnonzero(places == k)
            sides = (np.where(pattern, 0.0, own) for own in (Z[rows], self.Z))
            total[rows] = _minus_log(self.prior.kernel(*sides) / self.prior._mass())
        return total


def _minus_log(kernel):
    return -np.log(np.clip(kernel, _LEAST_KERNEL, 1.0))
