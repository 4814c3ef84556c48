"""Estimators of pipelines, rows for them, and scores of two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..data.columns import is_frame


def last_step(model: Any, drawn: str, *kinds: type) -> Any:
    """Return the fitted model, or the last step of a pipeline, if it is one of these kinds.

    ``drawn`` names the plot in messages.
    """
    step = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(step, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(
            f"{drawn} draws a fitted {names}, or a pipeline that ends with one, "
            f"got {shortly(model)}: give that step alone, e.g. {drawn}(grid.best_estimator_[-1])."
        )
    check_is_fitted(step)
    return step


def prepared(model: Any, X: Any) -> Any:
    """Return rows as the last step of a pipeline reads them; X itself for other models."""
    return model[:-1].transform(X) if isinstance(model, Pipeline) and len(model) > 1 else X


def shortly(model: Any) -> str:
    """Return a model as one line of text."""
    text = " ".join(repr(model).split())
    return text if len(text) <= 100 else f"{text[:97]}..."


def like_given(X: Any, points: np.ndarray) -> Any:
    """Return points as a frame with the columns of X, if X is a frame."""
    if not is_frame(X):
        return points
    return type(X)({name: points[:, j] for j, name in enumerate(X.columns)})


def two_class_scores(model: Any, points: Any, drawn: str) -> np.ndarray:
    """Return the score of the second of two classes, zero if both are equally likely."""
    # The methods of a model may depend on its parameters.
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(points))
    elif hasattr(model, "predict_proba"):
        scores = model.predict_proba(points)
        scores = scores[:, 1] - 0.5 if scores.shape[1] == 2 else scores
    else:
        raise TypeError(f"{drawn} draws scores of a classifier, and {shortly(model)} has none.")
    if scores.ndim != 1:
        raise ValueError(
            f"{drawn} draws two classes, and {type(model).__name__} has {scores.shape[1]}."
        )
    return scores
