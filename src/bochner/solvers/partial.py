"""Ridge problems with partly observed outputs: sums over the observed entries of y.

Each output has sums over its own rows, so that outputs share no Gram matrix and do not decouple.
The normal matrix Σ_i h_i Ψ(x_i)ᵀ diag(observed_i) Ψ(x_i) follows from one Gram matrix of the scalar
features for each output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._loops.blocks import tiles
from ..data import Block
from ..data.training import TrainingData
from ..operators.measure import paired
from .problem import TILE_ROWS, CoupledOutputs, RidgeStatistics, lifted_gram


@dataclass(frozen=True, eq=False)
class PartialStatistics(RidgeStatistics):
    """Sums over the observed entries.

    ``gram`` (n_outputs, n_columns, n_columns) and ``feature_sum`` (n_outputs, n_columns) are sums
    over the rows that observe an output, ``observed`` (n_outputs,) the weight of these rows, and
    ``weight`` its mean. Only the diagonal of ``target_gram`` is used.
    """

    observed: Any = None

    @classmethod
    def of_observed(
        cls, features: Callable, data: TrainingData, shift: np.ndarray
    ) -> PartialStatistics:
        """Sum over the rows in one pass; ``features`` maps a block of rows to its features."""
        row_bytes = 24 * len(shift)
        block = Block(_observed_sums_block, features, shift, row_bytes=row_bytes)
        names = ("gram", "cross", "target_gram", "feature_sum", "target_sum", "observed")
        sums = dict(zip(names, data.rows.sum(block, *data.signals), strict=True))
        return cls(**sums, weight=float(sums["observed"].mean()), shift=shift)

    @property
    def gram_diagonal(self):
        return np.einsum("aii->ai", self.gram)

    @property
    def output_weights(self):
        return self.observed

    @property
    def feature_mean(self):
        return self.feature_sum / self.observed[:, None]

    @property
    def target_mean(self):
        return self.target_sum / self.observed + self.shift

    def centered(self) -> PartialStatistics:
        """Return the sums of each output around its means, for an intercept."""
        means = self.feature_mean
        return replace(
            self,
            gram=self.gram - self.feature_sum[:, :, None] * means[:, None, :],
            cross=self.cross - means.T * self.target_sum,
            target_gram=self.target_gram - np.diag(self.target_sum**2 / self.observed),
        )


@dataclass(frozen=True, eq=False)
class PartialOutputs(CoupledOutputs):
    """Partly observed outputs of any operator-valued measure.

    Features of rows have one copy for each output, (n_samples, n_outputs, n_columns), because they
    are centered for each output.
    """

    def matrix(self, gram):
        """Return M, whose entry ((a,j,r), (b,k,s)) is Σ_p gram[p]_{aj,bk} B_jpr B_kps."""
        each = zip(gram, self._factors().transpose(1, 0, 2), strict=True)
        return sum(lifted_gram(waves, rows, rows) for waves, rows in each)

    def diagonal(self, gram_diagonal):
        pairs = gram_diagonal.reshape(self.n_outputs, 2, -1)
        squared = np.abs(self._factors()) ** 2
        return np.einsum("paj,jpr->ajr", pairs, squared).reshape(-1, 1)

    def equations(self, features, targets):
        return self._spread(features).reshape(targets.size, -1), targets.reshape(-1, 1)

    def design(self, features, vectors):
        return self._spread(features) @ vectors

    def _factors(self):
        factors = self.measure.factors
        return np.broadcast_to(factors, (len(self.measure), *factors.shape[1:]))

    def _spread(self, features):
        waves = features.reshape(*features.shape[:2], 2, len(self.measure), 1)
        if self.measure.is_complex:
            spread = np.einsum("npaj,acjpr->npcjr", waves[..., 0], paired(self._factors()))
        else:
            spread = waves * self._factors().transpose(1, 0, 2)[:, None]
        return spread.reshape(*features.shape[:2], self.n_unknowns)


def _observed_sums_block(features, shift, X, Y, weights=None):
    """Return the fields of ``PartialStatistics`` before ``weight``, and ``observed``."""
    Y = np.asarray(Y, dtype=np.float64) - shift
    counted = 1.0 * ~np.isnan(Y)
    if weights is not None:
        counted *= np.asarray(weights, dtype=np.float64)[:, None]
    Y = np.nan_to_num(Y)
    weighted = counted * Y
    gram, cross, feature_sum = [0.0] * len(shift), 0.0, 0.0
    for rows in tiles(X.shape[0], TILE_ROWS):
        tile = np.asarray(features(X[rows]), dtype=np.float64, order="C")
        feature_sum = feature_sum + counted[rows].T @ tile
        cross = cross + tile.T @ weighted[rows]
        for output, h in enumerate(np.sqrt(counted[rows]).T):
            scaled = tile[h > 0] * h[h > 0, None]
            gram[output] = gram[output] + scaled.T @ scaled
    sums = Y.T @ weighted, feature_sum, weighted.sum(axis=0)
    return np.array(gram), cross, *sums, counted.sum(axis=0)
