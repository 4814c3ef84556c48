"""Methods and checks of both families of boosters: predictions, stages, importances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import missing_method
from .._loops.arrays import as_dense
from ..data import Block, Rows, of_predictions
from ..data.checks import check_rows
from ..expansions.waves import Expansion
from ..losses import Loss, class_probabilities, has_method

# Rows over which squared derivatives are averaged: importances need a few digits only.
IMPORTANCE_ROWS = 2000


def continues(model: Any) -> bool:
    """Return True if the next fit is a warm start."""
    return model.warm_start and hasattr(model, "expansion_")


def check_warm_start(model: Any, classes: np.ndarray | None = None) -> None:
    """Raise an error if a warm start would remove rounds, or has other classes."""
    if model.n_rounds < model.n_rounds_:
        raise ValueError(
            f"warm_start goes on from {model.n_rounds_} rounds, but n_rounds={model.n_rounds}. "
            f"Write {model.n_rounds_ + 1} or more."
        )
    if classes is not None and not np.array_equal(classes, model.classes_):
        raise ValueError(
            f"warm_start goes on with classes {model.classes_}, but y holds {classes}."
        )


def derivative_importances(expansion: Expansion, X: Any, weights: np.ndarray) -> np.ndarray:
    """Return v_b · mean_i Σ_k (∂f_k/∂x_b)², divided by its sum over the columns: (n_features,).

    v_b is the variance of column b, so the unit of a column does not matter. ``X`` is an array of
    some rows in memory. A function that depends on no column has zeros.
    """
    points = as_dense(X)
    # A sample of many rows may consist of rows without weight.
    weights = weights if weights.any() else np.ones_like(weights)
    center = np.average(points, axis=0, weights=weights)
    squares = np.square(points - center, dtype=np.float64)
    deviation = np.sqrt(np.average(squares, axis=0, weights=weights))
    # Columns in units of their deviations, rather than small derivatives times large variances.
    scale = np.where(deviation > 0, deviation, 1.0)
    scaled = expansion.after_scaling(np.zeros(len(scale)), scale)
    relevance = scaled.relevance(points / scale.astype(points.dtype), weights)
    relevance = np.where(deviation > 0, relevance, 0.0)
    total = relevance.sum()
    return relevance / total if 0 < total < np.inf else np.zeros(len(relevance))


# --- methods: both families assign these functions in the bodies of their classes ----------------


def read_rows(self: Any, X: Any) -> Rows:
    """Validate rows for a fitted model."""
    check_is_fitted(self, "expansion_")
    return check_rows(self, X, reset=False)


def map_scores(self: Any, X: Any, function: Callable, n_columns: int | None, dtype: Any) -> Any:
    """Return ``function(scores)`` of all rows, block by block; rows on Dask stay lazy."""
    rows = read_rows(self, X)
    scores = self.expansion_.block()
    block = Block(_function_of_scores, function, scores, row_bytes=scores.row_bytes)
    return rows.map(block, n_columns, dtype=dtype)


def staged_scores(self: Any, X: Any) -> Iterator[Any]:
    """Return the scores after each round, (n_samples, n_outputs)."""
    rows = read_rows(self, X)
    return self.expansion_.staged(rows, self._atoms_per_round)


def jacobian(self: Any, X: Any) -> Any:
    """Return the exact derivatives ∂(score)/∂x at each row.

    The shape is (n_samples, n_features) for one score, (n_samples, n_outputs, n_features) for more.
    """
    rows = read_rows(self, X)
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


def _function_of_scores(function, scores, X, out):
    out[...] = function(scores(X))


def _probabilities(loss: Loss, slope: float, scores: np.ndarray) -> np.ndarray:
    return class_probabilities(loss, slope * scores)


def _decision(n_classes, scores):
    if scores.shape[1] == 2 == n_classes:
        return scores[:, 1] - scores[:, 0]
    return scores[:, 0] if scores.shape[1] == 1 else scores
