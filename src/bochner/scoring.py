"""Scores of predictions that stay on a cluster: sums over its partitions, equal to scikit-learn's on arrays."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from ._compute import fold, is_remote, mean_rows
from ._given_targets import given_target
from ._validation import check_weights
from .targets import Values


class ClassifierScore(ClassifierMixin):
    """scikit-learn's ``score``, and for rows of a cluster the same number from sums."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows, or of their weight, whose label is predicted."""
        if not is_remote(X):
            return super().score(X, y, sample_weight)
        predicted = self.predict(X)
        labels = given_target(y, len(predicted), type(self).__name__, gather=False)
        weights = check_weights(sample_weight, len(predicted), gather=False)
        labels = labels[:, 0] if labels.ndim == 2 else labels
        columns = [predicted, labels] if weights is None else [predicted, labels, weights]
        hits, total = fold(_hits, np.add, *columns)
        return float(hits / total)


class RegressorScore(RegressorMixin):
    """scikit-learn's ``score``, and for rows of a cluster the same number from sums."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², the mean over outputs."""
        if not is_remote(X):
            return super().score(X, y, sample_weight)
        predicted = self.predict(X)
        values = Values.of(y, len(predicted), owner=type(self).__name__, gather=False).rows
        predicted = predicted[:, None] if predicted.ndim == 1 else predicted
        weights = check_weights(sample_weight, len(predicted), gather=False)
        counts = [] if weights is None else [weights]
        # Around the mean, so that an offset of the target does not eat the digits.
        missed, spread = fold(partial(_squares, mean_rows(values, weights)), np.add, predicted, values, *counts)
        constant = spread == 0  # where scikit-learn counts a perfect prediction as 1 and any other as 0
        return float(np.mean(np.where(constant, missed == 0, 1 - missed / np.where(constant, 1, spread))))


def _hits(predicted, labels, weights=None):
    counts = np.ones(len(labels)) if weights is None else weights
    return np.array([counts @ (predicted == labels), counts.sum()], dtype=np.float64)


def _squares(mean, predicted, values, weights=None):
    """(Σ (y − f)², Σ (y − mean)²) of each output."""
    counts = np.ones(len(values)) if weights is None else weights
    return np.stack([counts @ (values - predicted) ** 2, counts @ (values - mean) ** 2])
