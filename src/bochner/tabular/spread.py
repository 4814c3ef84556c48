"""Spread: held-out residuals, and their size as a function of the row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..data import LocalRows
from ..data.targets import Values
from ..expansions.kernels import KernelExpansion
from ..learners.evidence import LearnedPrior
from ..losses import lower_quantiles
from .preparation import PreparedData
from .solving import solve_leaving_out

# The largest and the smallest number of rows from which the size of residuals is learned.
_MOST_ROWS, _FEWEST_ROWS = 1000, 100
# log |residual| of normal noise has variance π²/8 around its mean; its dependence on the row is a
# fraction of that.
_NOISE_OF_LOGS = 10.0
# Smaller residuals count as this share of their root mean square.
_LEAST_RESIDUAL = 1e-2
# Gain in nats per row that a size for each row needs over one size for all rows.
_WORTHWHILE = 0.03
# Quantiles of the residuals over which functions are averaged.
_N_QUANTILES = 101


@dataclass(frozen=True, eq=False)
class Spread:
    """Held-out residuals divided by their size: ``scores`` (n_samples, n_outputs) with ``weights``.

    The size is exp(``log_size``(z)), or one if ``log_size`` is None.
    """

    scores: np.ndarray
    weights: np.ndarray
    log_size: KernelExpansion | None

    @classmethod
    def of(
        cls,
        Z: np.ndarray,
        residuals: np.ndarray,
        counts: np.ndarray,
        learned: LearnedPrior | None,
        rng: np.random.Generator,
    ) -> Spread:
        """Learn the size of held-out residuals of rows Z with a learned prior."""
        plain = cls(residuals, counts, None)
        typical = np.sqrt(np.average(residuals**2, axis=0, weights=counts))
        if learned is None or len(Z) < _FEWEST_ROWS or not np.all(typical > 0):
            return plain
        rows = np.sort(rng.choice(len(Z), min(_MOST_ROWS, len(Z)), replace=False))
        logs = np.log(np.maximum(np.abs(residuals), _LEAST_RESIDUAL * typical))
        data = PreparedData(LocalRows(Z[rows]), Values(logs[rows]), counts[rows])
        solved = solve_leaving_out(data, replace(learned, noise=_NOISE_OF_LOGS), 6)
        log_sizes = np.asarray(solved.expansion.evaluate(Z), np.float64)
        log_sizes[rows] = solved.held_out
        scores = residuals * np.exp(-log_sizes)
        # −log-likelihood of normal residuals, a common factor maximized out.
        gain = 0.5 * np.log(np.average(residuals**2, axis=0, weights=counts))
        gain -= np.average(log_sizes, axis=0, weights=counts)
        gain -= 0.5 * np.log(np.average(scores**2, axis=0, weights=counts))
        return cls(scores, counts, solved.expansion) if gain.mean() > _WORTHWHILE else plain

    def sizes(self, Z: np.ndarray) -> np.ndarray:
        """Return the size of residuals at rows Z, (n_samples, n_outputs)."""
        if self.log_size is None:
            return np.ones((len(Z), self.scores.shape[1]))
        return np.exp(np.asarray(self.log_size.evaluate(Z), np.float64))

    def root_mean_square(self) -> np.ndarray:
        """Return the root mean square of the scores, (n_outputs,)."""
        return np.sqrt(np.average(self.scores**2, axis=0, weights=self.weights))

    def reach(self, level: float) -> np.ndarray:
        """Return the absolute score that a new row exceeds with probability 1 − level.

        This is the ⌈(n + 1) level⌉-th smallest of n for each output, (n_outputs,).
        """
        reaches = np.empty(self.scores.shape[1])
        for k, scores in enumerate(np.abs(self.scores).T):
            order = np.argsort(scores)
            below = np.cumsum(self.weights[order])
            # The new row counts as one row of unknown score, above all others.
            at = np.searchsorted(below, level * (below[-1] + 1) - 1e-9)
            reaches[k] = scores[order[at]] if at < len(order) else np.inf
        return reaches

    def quantiles(self) -> np.ndarray:
        """Return 101 quantiles of the scores of each output, (101, n_outputs)."""
        shares = (np.arange(_N_QUANTILES) + 0.5) / _N_QUANTILES
        return np.column_stack(
            [lower_quantiles(scores, self.weights, shares) for scores in self.scores.T]
        )
