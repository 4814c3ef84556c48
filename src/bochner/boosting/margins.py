"""Where the rows stand between two rounds of the published boosters: scores, weights, and the step along a weak learner."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compute import Rows, fold

# A weight is at most e^30: by then its row has decided the round anyway.
LARGEST_LOG_WEIGHT = 30.0


def bound_minimizer(agreement: Any, weights: Any) -> float:
    """α = ½ ln(S₊/S₋), S± = Σ (1 ± y h) w with ``agreement`` = y h in [−1, 1]; minimises the bound √(S₊S₋) on the loss.

    As in Algorithms 2 and 3; the text above them has numerator and denominator exchanged, which raises the loss.
    A perfect weak learner has S₋ = 0: 10⁻¹⁰ of the total weight is added to both, so |α| stays below 12.
    """
    total, edge = fold(_total_and_edge, np.add, agreement, weights)
    guard = 1e-10 * total
    return 0.5 * float(np.log((total + edge + guard) / (total - edge + guard)))


def _total_and_edge(agreement, weights):
    return np.array([weights.sum(), weights @ agreement])


def one_a_column(rows: Rows, table: Any) -> Any:
    """The columns of a table with a line for each of the rows, each in one piece: an array, or a list of columns held on a cluster."""
    if rows.is_local:
        return np.ascontiguousarray(table.T, dtype=np.float64)
    table = rows.held(table.astype(np.float64))
    return [rows.held(table[:, k]) for k in range(table.shape[1])]


class Margins:
    """Scores H and weights e^(−yH) of the rows in each problem, one class against the rest; what is on a cluster stays there.

    ``signs`` y and the scores are ``one_a_column``; a row of ``counts`` h counts as h rows, ``n_samples`` in all.
    """

    def __init__(self, rows: Rows, signs: Any, counts: Any, scores: Any):
        self.rows, self.signs, self.counts, self.scores = rows, signs, counts, scores
        self.n_samples = fold(np.sum, np.add, counts)
        if rows.is_local:
            self.weights = np.exp(np.minimum(-signs * scores, LARGEST_LOG_WEIGHT))
            self._shares = counts / self.n_samples
        else:
            self.weights = [self._held_weights(k) for k in range(len(signs))]

    def signal(self, k: int) -> Any:
        """ỹ = y e^(−yH).  Not normalised: it stands inside an exponential, so that its scale is part of the objective."""
        return self.rows.held(self.signs[k] * self.weights[k])

    def step(self, k: int, prediction: Any, learning_rate: float) -> float:
        """Take a share of the best step along the predictions of a weak learner, and say how long it was."""
        signs, scores, weights, counts = self.signs[k], self.scores[k], self.weights[k], self.counts
        step = learning_rate * bound_minimizer(signs * prediction, counts * weights)
        if self.rows.is_local:
            scores += step * prediction
            np.multiply(-signs, scores, out=weights)
            np.exp(np.minimum(weights, LARGEST_LOG_WEIGHT, out=weights), out=weights)
        else:  # nothing but the new numbers is kept there, so that no round is longer than the one before
            self.scores[k] = self.rows.held(scores + step * prediction)
            self.weights[k] = self._held_weights(k)
        return step

    def losses(self) -> np.ndarray:
        """Mean weight of the rows in each problem, which is their exponential loss."""
        if self.rows.is_local:
            return self.weights @ self._shares
        return fold(_weighted_sums, np.add, self.counts, *self.weights) / self.n_samples

    def _held_weights(self, k):
        return self.rows.held(np.exp(np.minimum(-self.signs[k] * self.scores[k], LARGEST_LOG_WEIGHT)))


def _weighted_sums(counts, *columns):
    return np.array([column @ counts for column in columns])
