"""Where in a fitted model the part is that a plot draws: pipelines, columns, targets and searches around it are looked into by type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from .._columns import is_frame
from ..certificates import CertifiedClassifier
from ..ridge import SpectralRidge

Rows = Callable[[Any], Any]


class Found(NamedTuple):
    """A part of a model; ``rows`` prepares rows of the model's own X as the part is given them, ``alone`` says that it leaves all as it is."""

    part: Any
    rows: Rows
    alone: bool


def find_part(model: Any, kinds: type | tuple[type, ...], drawn: str) -> Found:
    """The one part of these kinds in a fitted model: itself, or a step of what is around it.  ``drawn`` names the plot in messages."""
    check_is_fitted(model)
    found = list(_search(model, kinds, _as_they_are, True))
    names = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
    if not found:
        raise TypeError(f"{drawn} draws a fitted {names}, and found none in {type(model).__name__}: {shortly(model)}.")
    if len(found) > 1:
        raise ValueError(
            f"{drawn} draws one {names}, and found {len(found)} in {type(model).__name__}. Give the one to draw, "
            "e.g. model.named_steps[...]."
        )
    check_is_fitted(found[0].part)
    return found[0]


def shortly(model: Any) -> str:
    """A model on one line that can be read."""
    text = " ".join(repr(model).split())
    return text if len(text) <= 100 else f"{text[:97]}..."


def _search(model, kinds, rows, alone) -> Iterator[Found]:
    if isinstance(model, kinds):
        yield Found(model, rows, alone)
        return
    for inside, prepare, same in _inside(model):
        yield from _search(inside, kinds, _one_after_the_other(rows, prepare), alone and same)


def _inside(model: Any) -> Iterator[tuple[Any, Rows, bool]]:
    """What a model is made of, what becomes of rows on the way there, and whether nothing does, to rows or to predictions."""
    if isinstance(model, Pipeline):
        for k, step in enumerate(model):
            if step is not None and not isinstance(step, str):
                yield step, model[:k].transform if k else _as_they_are, len(model) == 1
    elif isinstance(model, FeatureUnion):
        for _, part in model.transformer_list:
            if not isinstance(part, str):
                yield part, _as_they_are, False
    elif isinstance(model, ColumnTransformer):
        for _, part, columns in model.transformers_:
            if not isinstance(part, str):
                yield part, _columns(columns), False
    elif isinstance(model, TransformedTargetRegressor):
        yield model.regressor_, _as_they_are, False
    elif isinstance(model, BaseSearchCV) and model.refit:
        yield model.best_estimator_, _as_they_are, True
    elif isinstance(model, FrozenEstimator):
        yield model.estimator, _as_they_are, True
    elif isinstance(model, (SpectralRidge, CertifiedClassifier)):
        yield model.features_, _as_they_are, False


def _as_they_are(X):
    return X


def _one_after_the_other(first, second):
    return lambda X: second(first(X))


def _columns(chosen):
    return lambda X: _safe_indexing(X, chosen, axis=1)


def like_given(X: Any, points: np.ndarray) -> Any:
    """Points as a frame with the columns of X where X is one: models that were fitted on a frame ask for its names."""
    if not is_frame(X):
        return points
    return type(X)({name: points[:, j] for j, name in enumerate(X.columns)})


def two_class_scores(model: Any, points: Any, drawn: str) -> np.ndarray:
    """The score of the second of two classes, zero where both are as likely."""
    # Whether a model has the one or the other may depend on its parameters: scikit-learn itself asks like this.
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(points))
    elif hasattr(model, "predict_proba"):
        scores = model.predict_proba(points)
        scores = scores[:, 1] - 0.5 if scores.shape[1] == 2 else scores
    else:
        raise TypeError(f"{drawn} draws scores of a classifier, and {shortly(model)} has none.")
    if scores.ndim != 1:
        raise ValueError(f"{drawn} draws two classes, and {type(model).__name__} has {scores.shape[1]}.")
    return scores
