"""Methods, checks and documentation that boosters share: predictions, stages, parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from .._checks import missing_method
from ..data import of_predictions
from ..losses import Loss, class_probabilities, has_method

# Rows over which squared derivatives are averaged: importances need a few digits only.
IMPORTANCE_ROWS = 2000


def check_warm_start(model: Any, classes: np.ndarray | None = None) -> None:
    """Raise an error if a warm start would remove rounds, or has other classes."""
    if model.n_rounds < model.n_rounds_:
        raise ValueError(
            f"warm_start continues {model.n_rounds_} rounds, but n_rounds={model.n_rounds}. Write "
            f"n_rounds={model.n_rounds_ + 1} or more."
        )
    if classes is not None and not np.array_equal(classes, model.classes_):
        raise ValueError(
            f"warm_start continues a fit with the classes {model.classes_}, but y has {classes}. "
            "Write warm_start=False for a new fit."
        )


# --- methods: both families assign these functions in the bodies of their classes ----------------


def is_fitted(self: Any) -> bool:
    """Return True after a fit; during the first one, other attributes are set already."""
    return hasattr(self, "expansion_")


def score_block(self: Any) -> Callable:
    """Return the function from a block of rows to its scores."""
    return self.expansion_.block()


def staged_scores(self: Any, X: Any) -> Iterator[Any]:
    """Return the scores after each round, (n_samples, n_outputs)."""
    rows = self._read_rows(X)
    return self.expansion_.staged(rows, self._atoms_per_round)


def jacobian(self: Any, X: Any) -> Any:
    """Return the exact derivatives ∂(score)/∂x at each row.

    The shape is (n_samples, n_features) for one score, (n_samples, n_outputs, n_features) for more.
    """
    rows = self._read_rows(X)
    slopes = self.expansion_.jacobian(rows)
    return slopes[:, 0] if self.expansion_.n_outputs == 1 else slopes


def probabilities(self: Any) -> Callable:
    """Function from scores to probabilities of the classes, without the estimator."""
    if not has_method(self.loss_, "link"):
        raise missing_method(self.loss_, "link", "predict_proba")
    return partial(_probabilities, self.loss_, self.slope_)


def staged_decision_function(self: Any, X: Any) -> Iterator[Any]:
    """Return the scores of the classes after each round, see ``decision_function``."""
    return map(partial(_decision, len(self.classes_)), staged_scores(self, X))


def staged_predict(self: Any, X: Any) -> Iterator[Any]:
    """Return the predicted classes after each round."""
    stages, dtype = staged_scores(self, X), self.classes_.dtype
    return (of_predictions(self._labels, scores, dtype) for scores in stages)


def staged_predict_proba(self: Any, X: Any) -> Iterator[Any]:
    """Return the probabilities of the classes after each round."""
    return (
        of_predictions(self._probabilities, scores, scores.dtype, len(self.classes_))
        for scores in staged_scores(self, X)
    )


def _probabilities(loss: Loss, slope: float, scores: np.ndarray) -> np.ndarray:
    return class_probabilities(loss, slope * scores)


def _decision(n_classes, scores):
    if scores.shape[1] == 2 == n_classes:
        return scores[:, 1] - scores[:, 0]
    return scores[:, 0] if scores.shape[1] == 1 else scores


# Documentation of the parameters and attributes of both second-order boosters.
BOOSTER_DOCUMENTATION = """
    learning_rate : float in (0, 1], default 0.3
        Factor of each optimal step.
    prior : a prior of ``bochner.priors``, or a FourierMeasure, default None
        Distribution of candidate frequencies, for standardized inputs. So learn a measure on the
        output of ``StandardScaler``. None is four Gaussian scales, N(0, 2γ I) with γ = (1, 4, 20,
        80)/d.
    search : WaveSearch, default ``WaveSearch()``
        Search for the wave of a round, and the penalties on it.
    epochs : JointEpochs, default ``JointEpochs()``
        Epochs of joint descent on all waves over all rows.
    stopping : EarlyStopping, default None
        None is ``EarlyStopping()`` above 4000 rows, and if there are validation rows. Otherwise,
        and with ``EarlyStopping(fraction=0)``, no rows are held out and all rounds and epochs run.
    linear : bool, default True
        Begin with a linear part. Scores then grow linearly far from the data. Without it they are
        bounded.
    n_pilots : "auto" or int, default "auto"
        Short boosts before the first round, which scale the columns by their relevance. "auto" is
        2, but 0 for a classifier with up to 4000 rows.
    max_rows : int, default 5000
        Most rows that are used in the rounds; the joint epochs use all rows.
    warm_start : bool, default False
        Continue the previous fit up to ``n_rounds``.
    random_state : None, int, RandomState or Generator, default None
        Seed of sampled rows, candidates and batches.

    Attributes
    ----------
    expansion_ : Expansion, one atom per round
    loss_ : the loss, whose link maps scores to predictions or probabilities
    feature_importances_ : (n_features,), of sum one: mean squared derivative of the scores per
        standard deviation of each column
    train_loss_, validation_loss_ : mean loss after each round (``validation_loss_``: and each
        epoch), for a regressor in units of the standardized target
    n_rounds_, n_features_in_; for a classifier classes_, for a regressor target_bounds_
"""
