"""FourierBoostingClassifier: boosted waves with logistic, exponential or multinomial loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .._validation import check_choice, check_rows
from .booster import PARAMETERS, FourierBooster, in_memory
from .callbacks import with_callbacks
from .losses import Exponential, Logistic, Loss, Multinomial
from .predicting import ExpansionClassifier


class FourierBoostingClassifier(ExpansionClassifier, FourierBooster):
    __doc__ = f"""Boosted waves for classification: smooth weak learners a cos(ω·x) + b sin(ω·x), amplitudes in closed form.

    Several frequencies are scored in one matrix product each round, the best one is refined, and on large data all waves then
    move together in a few epochs over all rows (float32, streaming: arrays, memory maps, sparse, Dask).

    Parameters
    ----------
    loss : "auto", "logistic", "exponential" or "multinomial"
        "auto" is logistic for two classes and multinomial (one frequency a round, one amplitude per class) for more.{PARAMETERS}
    class_weight : None, "balanced" or dict

    Attributes
    ----------
    expansion_ : FourierExpansion, one atom per round
    feature_relevance_ : mean squared derivative of the score in each standardised column
    train_loss_, validation_loss_ : mean loss after each round (and, for the second, each epoch)
    classes_, n_rounds_, n_features_in_

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> FourierBoostingClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        loss: str = "auto",
        *,
        n_rounds: int = 100,
        learning_rate: float = 0.3,
        gamma: Any = "auto",
        n_candidates: int = 8,
        n_refinements: int = 2,
        amplitude_penalty: float = 3.0,
        frequency_penalty: float = 0.01,
        linear: bool = True,
        line_search: bool = True,
        subsample: float = 1.0,
        n_pilots: Any = "auto",
        max_rows: int = 5000,
        n_epochs: Any = "auto",
        epoch_learning_rate: float = 0.01,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
    ):
        super().__init__(
            loss, n_rounds=n_rounds, learning_rate=learning_rate, gamma=gamma, n_candidates=n_candidates,
            n_refinements=n_refinements, amplitude_penalty=amplitude_penalty, frequency_penalty=frequency_penalty,
            linear=linear, line_search=line_search, subsample=subsample, n_pilots=n_pilots, max_rows=max_rows,
            n_epochs=n_epochs, epoch_learning_rate=epoch_learning_rate, early_stopping=early_stopping,
            validation_fraction=validation_fraction, n_iter_no_change=n_iter_no_change, warm_start=warm_start,
            random_state=random_state,
        )  # fmt: skip
        self.class_weight = class_weight

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FourierBoostingClassifier:
        """Fit to rows X with labels y of any type."""
        self._check_parameters()
        check_choice(self.loss, "loss", ("auto", "logistic", "exponential", "multinomial"))
        continued = self.warm_start and hasattr(self, "_state")
        X = check_rows(self, X, reset=not continued).source
        y = column_or_1d(in_memory(y), warn=True)
        if len(y) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} samples but y has {len(y)}; give one label per row.")
        check_classification_targets(y)
        classes = np.unique(y)
        # Several times faster than return_inverse, and for few classes one byte a row.
        codes = np.searchsorted(classes, y).astype(np.min_scalar_type(len(classes)))
        if len(classes) < 2:
            raise ValueError(
                f"FourierBoostingClassifier needs at least two classes, got one class: {classes.tolist()[0]!r}."
            )
        if continued and not np.array_equal(classes, self.classes_):
            raise ValueError(f"warm_start goes on with classes {self.classes_}, but y holds {classes}.")
        self.classes_ = classes
        loss = self._loss(len(classes))
        weights = self._checked_weights(sample_weight, X)
        if self.class_weight is not None:
            by_class = compute_sample_weight(self.class_weight, y)
            weights = by_class if weights is None else weights * by_class
        if weights is not None and len(np.unique(codes[weights > 0])) < 2:
            raise ValueError("All rows with a positive weight have one class; at least two classes are needed.")
        if isinstance(loss, Multinomial):
            targets = np.zeros((len(y), len(classes)), dtype=np.float32)
            targets[np.arange(len(y)), codes] = 1
        else:
            targets = np.where(codes == 1, np.float32(1), np.float32(-1))[:, None]
        return self._fit(X, y, targets, weights, loss, strata=codes)

    def _loss(self, n_classes: int) -> Loss:
        if self.loss == "multinomial" or (self.loss == "auto" and n_classes > 2):
            return Multinomial()
        if n_classes > 2:
            raise ValueError(
                f"loss={self.loss!r} is for two classes, y has {n_classes}. Write loss='multinomial' or 'auto'."
            )
        return Exponential() if self.loss == "exponential" else Logistic()

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, (n_samples, n_classes)."""
        return self._probabilities(in_memory(self._scores(X)))

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Class probabilities after each round."""
        for scores in self._staged_scores(X):
            yield self._probabilities(scores)

    def _probabilities(self, scores):
        if scores.shape[1] > 1:
            return softmax(scores, axis=1)
        positive = expit(2 * scores if self.loss == "exponential" else scores)
        return np.concatenate([1 - positive, positive], axis=1)

    def decision_function(self, X: Any) -> Any:
        """Scores: (n_samples,) for two classes, (n_samples, n_classes) for more."""
        scores = self._scores(X)
        if len(self.classes_) == 2 and scores.shape[1] == 2:
            return scores[:, 1] - scores[:, 0]
        return scores[:, 0] if scores.shape[1] == 1 else scores
