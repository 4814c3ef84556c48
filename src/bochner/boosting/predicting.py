"""How a fitted expansion predicts: scores, classes, stages and derivatives, shared by all boosters."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._estimator import ClassifierScore
from ..data import Block, Rows, of_predictions
from ..data.checks import check_rows
from ..data.targets import Labels
from ..expansions.waves import ExpansionModel
from ..losses import Loss, class_probabilities, predicted_codes


class ExpansionPredictor(ExpansionModel):
    """Scores of ``expansion_`` on checked rows, whole or round by round; ``loss_`` says what they
    predict.
    """

    loss_: Loss
    train_loss_: Any

    @property
    def _atoms_per_round(self) -> int:
        return 1

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self, "expansion_")
        return check_rows(self, X, reset=False)

    def _scores(self, X: Any) -> Any:
        rows = self._rows(X)
        return self.expansion_.evaluate(rows)

    def _of_scores(self, X: Any, function: Callable, n_columns: int | None, dtype: Any) -> Any:
        """``function(scores)`` block by block: rows on a cluster stay there, and no scores of all
        rows are held.
        """
        rows = self._rows(X)
        return rows.map(
            Block(_of_scores_block, function, self.expansion_.block()), n_columns, dtype=dtype
        )

    def _staged_scores(self, X: Any) -> Iterator[np.ndarray]:
        rows = self._rows(X)
        return self.expansion_.staged(rows, self._atoms_per_round)

    def jacobian(self, X: Any) -> Any:
        """∂(score)/∂x at each row, (n_samples, n_outputs, n_features), or (n_samples, n_features)
        for one score; exact.
        """
        rows = self._rows(X)
        slopes = self.expansion_.jacobian(rows)
        return slopes[:, 0] if self.expansion_.n_outputs == 1 else slopes


class ExpansionClassifier(ClassifierScore, ExpansionPredictor):
    """Binary: the sign of one score; several classes: the largest of one score per class."""

    classes_: np.ndarray
    slope_: float = 1.0  # of the scores, for probabilities

    def _check_same_classes(self, labels: Labels) -> None:
        if not np.array_equal(labels.classes, self.classes_):
            raise ValueError(
                f"warm_start goes on with classes {self.classes_}, but y holds {labels.classes}."
            )

    def decision_function(self, X: Any) -> Any:
        """Scores: (n_samples,) for two classes, (n_samples, n_classes) for more."""
        return self._columns(self._scores(X))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Scores after each round."""
        return map(self._columns, self._staged_scores(X))

    def predict(self, X: Any) -> Any:
        """The class of the largest score; of two classes, the second if its score is positive."""
        check_is_fitted(self, "expansion_")
        return self._of_scores(X, partial(_likeliest, self.classes_), None, self.classes_.dtype)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predicted classes after each round."""
        said = partial(_likeliest, self.classes_)
        return (
            of_predictions(said, scores, self.classes_.dtype) for scores in self._staged_scores(X)
        )

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities, (n_samples, n_classes)."""
        check_is_fitted(self, "expansion_")
        return self._of_scores(
            X, partial(_chances, self.loss_, self.slope_), len(self.classes_), None
        )

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Class probabilities after each round."""
        chances, n_classes = partial(_chances, self.loss_, self.slope_), len(self.classes_)
        return (
            of_predictions(chances, scores, scores.dtype, n_classes)
            for scores in self._staged_scores(X)
        )

    def _columns(self, scores):
        if scores.shape[1] == 2 == len(self.classes_):
            return scores[:, 1] - scores[:, 0]
        return scores[:, 0] if scores.shape[1] == 1 else scores


def _of_scores_block(function, scores, X, out):
    out[...] = function(scores(X))


def _chances(loss, slope, scores):
    return class_probabilities(loss, slope * scores)


def _likeliest(classes, scores):
    return classes[predicted_codes(scores)]
