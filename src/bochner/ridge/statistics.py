"""What ridge regression asks of the rows: one set of sums, after which the number of rows no longer matters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from .._compute import features_block, is_dask, row_sum
from ..measures import FourierMeasure

# Rows whose features are held at once; a block of rows sums several of these tiles into one Gram matrix, because adding
# up Gram matrices block by block costs as much as computing them when blocks are small.
TILE_ROWS = 1024


@dataclass(frozen=True)
class RidgeStatistics:
    """Sums over rows, weighted by h_i: all that a ridge needs.  They add up, so streams and partitions are exact.

    ``gram`` Σ h φφᵀ (or its diagonal alone, a vector, where the matrix would be too large), ``cross`` Σ h φ(y − shift)ᵀ,
    ``target_gram`` Σ h (y − shift)(y − shift)ᵀ, and the plain sums.  The shift of the outputs keeps a large offset from eating
    the digits.
    """

    gram: np.ndarray
    cross: np.ndarray
    target_gram: np.ndarray
    feature_sum: np.ndarray
    target_sum: np.ndarray
    weight: float
    shift: np.ndarray

    @classmethod
    def of(
        cls, features: Callable, X: Any, Y: Any, sample_weight: Any, shift: np.ndarray, *, whole_gram: bool = True
    ) -> RidgeStatistics:
        """One pass over the rows; ``features`` maps a block of rows to its features."""
        signals = [Y] if sample_weight is None else [Y, sample_weight]
        block = partial(_sums_block, features, shift, whole_gram)
        gram, cross, target_gram, feature_sum, target_sum, weight = row_sum(
            block, X, *signals, row_bytes=8 * len(shift)
        )
        if whole_gram:
            gram = gram + np.triu(gram, 1).T
        return cls(gram, cross, target_gram, feature_sum, target_sum, float(weight), shift)

    def __add__(self, other: RidgeStatistics) -> RidgeStatistics:
        return RidgeStatistics(
            self.gram + other.gram,
            self.cross + other.cross,
            self.target_gram + other.target_gram,
            self.feature_sum + other.feature_sum,
            self.target_sum + other.target_sum,
            self.weight + other.weight,
            self.shift,
        )

    @property
    def feature_mean(self) -> np.ndarray:
        """Mean feature vector."""
        return self.feature_sum / self.weight

    @property
    def target_mean(self) -> np.ndarray:
        """Mean output, the shift taken back."""
        return self.target_sum / self.weight + self.shift

    def centered(self) -> RidgeStatistics:
        """The same sums for features and outputs around their means, as an unpenalized intercept asks for."""
        removed = np.outer(self.feature_sum, self.feature_mean)
        return replace(
            self,
            gram=self.gram - (removed if self.gram.ndim == 2 else np.diag(removed)),
            cross=self.cross - np.outer(self.feature_mean, self.target_sum),
            target_gram=self.target_gram - np.outer(self.target_sum, self.target_sum) / self.weight,
        )


def block_features(source: Any) -> Callable:
    """The feature map of a measure (or transformer) as a function of a block of rows that travels to threads and workers."""
    if isinstance(source, FourierMeasure):
        return partial(features_block, source.frequencies, source.weights)
    return source.features if hasattr(source, "features") else source.transform


def target_shift(targets: Any, sample_weight: Any, fit_intercept: bool) -> np.ndarray:
    """The mean of the outputs, around which they are summed; zero without an intercept, which could not take it back."""
    if not fit_intercept:
        return np.zeros(targets.shape[1])
    if is_dask(targets):
        return np.asarray(targets.mean(axis=0).compute())
    return np.average(targets, axis=0, weights=sample_weight)


def tiles(n_rows: int) -> list[slice]:
    """Slices of at most ``TILE_ROWS`` rows."""
    return [slice(start, min(start + TILE_ROWS, n_rows)) for start in range(0, n_rows, TILE_ROWS)]


def _sums_block(features, shift, whole_gram, X, Y, sample_weight=None):
    Y = np.asarray(Y, dtype=np.float64).reshape(X.shape[0], len(shift)) - shift
    weights = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    gram, cross, feature_sum = None, 0.0, 0.0
    for rows in tiles(X.shape[0]):
        # float64 even for float32 features: a float32 Gram matrix is too coarse for small ridges.
        tile = np.asarray(features(X[rows]), dtype=np.float64, order="C")
        feature_sum = feature_sum + weights[rows] @ tile
        cross = cross + tile.T @ (weights[rows, None] * Y[rows])
        if not whole_gram:
            gram = (0.0 if gram is None else gram) + weights[rows] @ tile**2
            continue
        if sample_weight is not None:
            tile *= np.sqrt(weights[rows])[:, None]
        if gram is None:
            gram = np.zeros((tile.shape[1], tile.shape[1]), order="F")
        # A C-ordered tile is its transpose in Fortran's order: BLAS adds tileᵀ tile in place, upper triangle only.
        gram = dsyrk(1.0, tile.T, beta=1.0, c=gram, overwrite_c=1, lower=0)
    weighted = weights[:, None] * Y
    return gram, cross, Y.T @ weighted, feature_sum, weighted.sum(axis=0), weights.sum()
