"""Sums over rows that ridge regression needs, and the rows for solvers that read them again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from .._loops.arrays import as_dense
from .._loops.blocks import tiles
from ..data import Block, array_api_version_of
from ..data.training import TrainingData

# Rows whose features are in memory at once. A block of rows sums several of these tiles into one
# Gram matrix, because adding Gram matrices of small blocks takes as long as computing them.
TILE_ROWS = 1024


@dataclass(frozen=True, eq=False)
class RidgeStatistics:
    """Sums over rows, weighted by h_i, that a ridge needs; they add up over batches.

    ``gram`` Σ h φφᵀ (or its diagonal, a vector, if the matrix would be too large), ``cross``
    Σ h φ(y − shift)ᵀ, ``target_gram`` Σ h (y − shift)(y − shift)ᵀ, and the plain sums. The shift
    keeps sums of outputs with a large offset precise. ``tiled`` is True if some of ``gram`` was
    summed in float32 tiles, which is enough for well-conditioned systems only (``precision.py``).
    """

    gram: np.ndarray
    cross: np.ndarray
    target_gram: np.ndarray
    feature_sum: np.ndarray
    target_sum: np.ndarray
    weight: float
    shift: np.ndarray
    tiled: bool = False

    @classmethod
    def of(
        cls,
        features: Callable,
        data: TrainingData,
        shift: np.ndarray,
        *,
        whole_gram: bool = True,
        tiled: bool = False,
    ) -> RidgeStatistics:
        """Sum over the rows in one pass; ``features`` maps a block of rows to its features.

        ``tiled`` multiplies float32 features in float32, 1024 rows at a time, and adds these
        products in float64, which halves the time.
        """
        block = Block(_sums_block, features, shift, whole_gram, tiled, row_bytes=8 * len(shift))
        sums = dict(zip(_SUMMED, data.rows.sum(block, *data.signals), strict=True))
        sums["weight"] = float(sums["weight"])
        return cls(**sums, shift=shift, tiled=tiled and whole_gram)

    def __add__(self, other: RidgeStatistics) -> RidgeStatistics:
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMMED}
        return replace(self, **sums, tiled=self.tiled or other.tiled)

    def times(self, factor: float) -> RidgeStatistics:
        """Return the sums of ``factor`` times the rows."""
        return replace(self, **{name: factor * getattr(self, name) for name in _SUMMED})

    def around(self, shift: np.ndarray) -> RidgeStatistics:
        """Return the same sums with another shift of the outputs."""
        moved = self.shift - shift
        crossed = np.outer(self.target_sum, moved)
        squares = self.weight * np.outer(moved, moved)
        return replace(
            self,
            cross=self.cross + np.outer(self.feature_sum, moved),
            target_gram=self.target_gram + crossed + crossed.T + squares,
            target_sum=self.target_sum + self.weight * moved,
            shift=shift,
        )

    @property
    def feature_mean(self) -> np.ndarray:
        """Mean feature vector."""
        return self.feature_sum / self.weight

    @property
    def target_mean(self) -> np.ndarray:
        """Mean output, without the shift."""
        return self.target_sum / self.weight + self.shift

    @property
    def target_covariance(self) -> np.ndarray:
        """Covariance of the outputs."""
        removed = np.outer(self.target_sum, self.target_sum) / self.weight
        return (self.target_gram - removed) / self.weight

    def centered(self) -> RidgeStatistics:
        """Return the sums of features and outputs around their means, for an intercept."""
        removed = np.outer(self.feature_sum, self.feature_mean)
        return replace(
            self,
            gram=self.gram - (removed if self.gram.ndim == 2 else np.diag(removed)),
            cross=self.cross - np.outer(self.feature_mean, self.target_sum),
            target_gram=self.target_covariance * self.weight,
        )


_SUMMED = [field.name for field in fields(RidgeStatistics) if field.name not in ("shift", "tiled")]


def _sums_block(features, shift, whole_gram, tiled, X, Y, weights=None):
    Y = np.asarray(Y, dtype=np.float64) - shift
    weights = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    gram = product = None
    cross, feature_sum = 0.0, 0.0
    for rows in tiles(X.shape[0], TILE_ROWS):
        given = as_dense(features(X[rows]))
        # Vectors are summed in float64 even for float32 features: this takes little time.
        tile = np.asarray(given, dtype=np.float64, order="C")
        feature_sum = feature_sum + weights[rows] @ tile
        cross = cross + tile.T @ (weights[rows, None] * Y[rows])
        if not whole_gram:
            gram = (0.0 if gram is None else gram) + weights[rows] @ tile**2
            continue
        scaled = given if tiled and given.dtype == np.float32 else tile
        if not np.all(weights[rows] == 1):
            scaled = scaled * np.sqrt(weights[rows]).astype(scaled.dtype)[:, None]
        if product is None:
            shape = (tile.shape[1],) * 2
            gram, product = np.zeros(shape), np.empty(shape, scaled.dtype)
        # NumPy's product releases the lock of Python; SciPy's SYRK, which adds in place, does not.
        gram += np.matmul(scaled.T, scaled, out=product)
    weighted = weights[:, None] * Y
    return gram, cross, Y.T @ weighted, feature_sum, weighted.sum(axis=0), weights.sum()


@array_api_version_of(_sums_block)
def _tensor_sums(xp, features, shift, whole_gram, tiled, X, Y, weights=None):
    given, Y = features(X), xp.astype(Y, xp.float64) - xp.astype(shift, xp.float64)
    tile = xp.astype(given, xp.float64)
    weights = (
        xp.ones(X.shape[0], dtype=xp.float64, device=X.device)
        if weights is None
        else xp.astype(weights, xp.float64)
    )
    weighted = weights[:, None] * Y
    scaled = weights[:, None] * tile
    if whole_gram and tiled:
        heavy = xp.astype(scaled, given.dtype)
        products = (heavy[rows, :].T @ given[rows, :] for rows in tiles(X.shape[0], TILE_ROWS))
        gram = sum(xp.astype(product, xp.float64) for product in products)
    else:
        gram = scaled.T @ tile if whole_gram else xp.sum(scaled * tile, axis=0)
    sums = xp.sum(scaled, axis=0), xp.sum(weighted, axis=0), xp.sum(weights)
    return gram, tile.T @ weighted, Y.T @ weighted, *sums
