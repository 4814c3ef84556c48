"""Scores and weights of the rows between two rounds of the published boosters, and the step along a
weak learner.
"""

from __future__ import annotations

import numpy as np

# A weight is at most e^30: by then its row has decided the round anyway.
LARGEST_LOG_WEIGHT = 30.0


def bound_minimizer(agreement: np.ndarray, weights: np.ndarray) -> float:
    """α = ½ ln(S₊/S₋), S± = Σ (1 ± y h) w with ``agreement`` = y h in [−1, 1]; minimises the bound
    √(S₊S₋) on the loss.

    As in Algorithms 2 and 3; the text above them has numerator and denominator exchanged, which
    raises the loss. A perfect weak learner has S₋ = 0: 10⁻¹⁰ of the total weight is added to both,
    so |α| stays below 12.
    """
    total, edge = weights.sum(), weights @ agreement
    guard = 1e-10 * total
    return 0.5 * float(np.log((total + edge + guard) / (total - edge + guard)))


class Margins:
    """Scores H and weights e^(−yH) of the rows in each problem, one class against the rest,
    (n_problems, n_rows).

    A row of ``counts`` h counts as h rows, ``n_samples`` in all.
    """

    def __init__(self, signs: np.ndarray, counts: np.ndarray, scores: np.ndarray):
        self.signs, self.counts, self.scores = signs, counts, scores
        self.n_samples = counts.sum()
        self.weights = np.exp(np.minimum(-signs * scores, LARGEST_LOG_WEIGHT))
        self._shares = counts / self.n_samples

    def signal(self, k: int) -> np.ndarray:
        """ỹ = y e^(−yH).  Not normalised: it stands inside an exponential, so that its scale is
        part of the objective.
        """
        return self.signs[k] * self.weights[k]

    def step(self, k: int, prediction: np.ndarray, learning_rate: float) -> float:
        """Take a share of the best step along the predictions of a weak learner, and return its
        length.
        """
        signs, scores, weights = self.signs[k], self.scores[k], self.weights[k]
        step = learning_rate * bound_minimizer(signs * prediction, self.counts * weights)
        scores += step * prediction
        np.multiply(-signs, scores, out=weights)
        np.exp(np.minimum(weights, LARGEST_LOG_WEIGHT, out=weights), out=weights)
        return step

    def losses(self) -> np.ndarray:
        """Mean weight of the rows in each problem, which is their exponential loss."""
        return self.weights @ self._shares
