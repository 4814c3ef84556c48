"""How far observations lie from predictions: residuals of rows that were left out, and how their
size depends on the row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..expansions.kernels import KernelExpansion
from ..learners.evidence import LearnedPrior
from ..losses import lower_quantiles
from .solving import Problem, solve_leaving_out

# Rows that the size of residuals is learned from, and the fewest that say something about it.
_MOST_ROWS, _FEWEST_ROWS = 1000, 100
# log |residual| of normal noise has variance π²/8 around its mean; its dependence on the row is a
# fraction of that.
_NOISE_OF_LOGS = 10.0
# Residuals are not taken for smaller than this share of their root mean square.
_LEAST_RESIDUAL = 1e-2
# A size for each row must describe held-out residuals better than one for all, by so many nats a
# row.
_WORTHWHILE = 0.03
# So many residuals, evenly spread over all in order, stand for them where functions are averaged
# over them.
_N_QUANTILES = 101


@dataclass(frozen=True, eq=False)
class Spread:
    """Held-out residuals divided by their size at their row: ``scores`` (n_samples, n_outputs) with
    ``weights``.

    The size is exp(``log_size``(z)), or one where that does not describe them better.
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
        """From residuals of rows Z that were left out, and a learned prior for the size of them."""
        plain = cls(residuals, counts, None)
        typical = np.sqrt(np.average(residuals**2, axis=0, weights=counts))
        if learned is None or len(Z) < _FEWEST_ROWS or not np.all(typical > 0):
            return plain
        rows = np.sort(rng.choice(len(Z), min(_MOST_ROWS, len(Z)), replace=False))
        logs = np.log(np.maximum(np.abs(residuals), _LEAST_RESIDUAL * typical))
        noisy = LearnedPrior(
            learned.prior, _NOISE_OF_LOGS, learned.linear, learned.objective, learned.n_iterations
        )
        solved = solve_leaving_out(
            Problem(Z[rows], logs[rows], counts[rows], np.ones(len(rows))), noisy, 6
        )
        log_sizes = np.asarray(solved.expansion.evaluate(Z), np.float64)
        log_sizes[rows] = solved.held_out  # what the others say of them
        scores = residuals * np.exp(-log_sizes)
        # −log-likelihood of normal residuals, a common factor maximized out.
        gain = 0.5 * np.log(np.average(residuals**2, axis=0, weights=counts))
        gain -= np.average(log_sizes, axis=0, weights=counts)
        gain -= 0.5 * np.log(np.average(scores**2, axis=0, weights=counts))
        return cls(scores, counts, solved.expansion) if gain.mean() > _WORTHWHILE else plain

    def sizes(self, Z: np.ndarray) -> np.ndarray:
        """The size of residuals at rows Z, (n_samples, n_outputs)."""
        if self.log_size is None:
            return np.ones((len(Z), self.scores.shape[1]))
        return np.exp(np.asarray(self.log_size.evaluate(Z), np.float64))

    def root_mean_square(self) -> np.ndarray:
        """Of the scores, (n_outputs,)."""
        return np.sqrt(np.average(self.scores**2, axis=0, weights=self.weights))

    def reach(self, level: float) -> np.ndarray:
        """The size of score that a new row exceeds with probability 1 − level: the ⌈(n + 1)
        level⌉-th smallest of n, (n_outputs,).
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
        """(101, n_outputs) scores that stand for all of them."""
        shares = (np.arange(_N_QUANTILES) + 0.5) / _N_QUANTILES
        return np.column_stack(
            [lower_quantiles(scores, self.weights, shares) for scores in self.scores.T]
        )
