"""How a fitted expansion predicts: scores, classes, stages and gradients, shared by all boosters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._compute import is_dask
from .._validation import check_rows
from .expansion import FourierExpansion


class ExpansionPredictor:
    """Scores of ``expansion_`` on checked rows, whole or round by round."""

    expansion_: FourierExpansion

    @property
    def _atoms_per_round(self) -> int:
        return 1

    def _scores(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.expansion_.evaluate(check_rows(self, X, reset=False).source)

    def _staged_scores(self, X: Any) -> Iterator[np.ndarray]:
        check_is_fitted(self)
        yield from self.expansion_.staged(check_rows(self, X, reset=False).source, self._atoms_per_round)

    def input_gradient(self, X: Any) -> np.ndarray:
        """∂(score)/∂x at each row: (n_samples, n_features), or (n_samples, n_outputs, n_features) for several outputs."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False).source
        if is_dask(X):
            raise TypeError("input_gradient works on arrays in memory; give X.compute() or some rows of it.")
        gradient = self.expansion_.input_gradient(X)
        return gradient[:, 0] if self.expansion_.n_outputs == 1 else gradient


class ExpansionClassifier(ClassifierMixin, ExpansionPredictor):
    """Binary: the sign of one score; several classes: the largest of one score per class."""

    classes_: np.ndarray

    def decision_function(self, X: Any) -> Any:
        """Scores: (n_samples,) for two classes, (n_samples, n_classes) for more."""
        return _columns(self._scores(X))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Scores after each round."""
        for scores in self._staged_scores(X):
            yield _columns(scores).copy()

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row; a score of exactly zero counts as positive."""
        return self._labels(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predicted classes after each round."""
        for scores in self._staged_scores(X):
            yield self._labels(scores)

    def _labels(self, scores):
        if is_dask(scores):
            scores = scores.compute()
        codes = (scores[:, 0] >= 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[codes]


def _columns(scores):
    return scores[:, 0] if scores.shape[1] == 1 else scores
