"""Choice of learner parameters on validation rows, from one pass over the training rows."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from .._checks import refuse_class
from .._terminal.progress import track


@dataclass(frozen=True, eq=False)
class Tuned:
    """Best entry of a grid.

    ``model`` is a fitted pipeline of the features and the predictor, ``table`` lists all trials.
    """

    model: Pipeline
    parameters: dict[str, Any]
    score: float
    table: list[dict[str, Any]]


def tune_on_validation(
    features: Any,
    predictors: Any,
    grid: Mapping[str, Sequence[Any]],
    X: Any,
    y: Any,
    X_validation: Any,
    y_validation: Any,
) -> Tuned:
    """Try a grid of learner parameters and predictors on validation rows.

    The alignment losses of the training rows are computed once. Among equal scores, the first in
    the order of the grid is chosen.

    Parameters
    ----------
    features : SpectralFeatures with a learner by alignment, or LandmarkFeatures
        Fitted on (X, y) unless it is fitted already.
    predictors : an estimator or a list of estimators
        Predictors that are fitted to the features.
    grid : dict of lists
        Arguments of ``features.relearned``: ``{"learner": [PacBayes(b) for b in …],
        "n_components": […]}``.
    X : array (n_samples, n_features)
        Training rows.
    y : array (n_samples,)
        Their targets.
    X_validation : array (n_others, n_features)
        Validation rows.
    y_validation : array (n_others,)
        Their targets.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from bochner import PacBayes, SpectralFeatures
    >>> X, y = load_iris(return_X_y=True)
    >>> features = SpectralFeatures(learner=PacBayes(), n_candidates=500, random_state=0)
    >>> grid = {"learner": [PacBayes(0.1), PacBayes(1.0), PacBayes(10.0)], "n_components": [8, 32]}
    >>> rows = X[::2], y[::2], X[1::2], y[1::2]
    >>> tuned = tune_on_validation(features, LogisticRegression(C=30), grid, *rows)
    >>> len(tuned.table), bool(tuned.score > 0.9)
    (6, True)
    """
    predictors = list(predictors) if isinstance(predictors, (list, tuple)) else [predictors]
    refuse_class(features, "features")
    for predictor in predictors:
        refuse_class(predictor, "predictors")
    if not grid or any(len(values) == 0 for values in grid.values()):
        raise ValueError(
            f"The grid must name parameters with at least one value each, got {dict(grid)!r}."
        )
    if not hasattr(features, "prior_"):
        features = clone(features).fit(X, y)
    table: list[dict[str, Any]] = []
    best_score = -float("inf")
    combinations = list(product(*grid.values()))
    for values in track(combinations, "validation", len(combinations)):
        parameters = dict(zip(grid, values, strict=True))
        with warnings.catch_warnings(record=True) as caught:  # only those of the best are shown
            warnings.simplefilter("always")
            candidate = features.relearned(**parameters)
        train, validation = candidate.transform(X), candidate.transform(X_validation)
        for predictor in predictors:
            fitted = clone(predictor).fit(train, y)
            score = float(fitted.score(validation, y_validation))
            table.append({**parameters, "predictor": predictor, "score": score})
            if score > best_score:
                best_score, best_row, best_caught = score, table[-1], caught
                model = Pipeline([("features", candidate), ("predictor", fitted)])
    chosen = {name: value for name, value in best_row.items() if name != "score"}
    for warning in best_caught:
        warnings.warn(warning.message, stacklevel=2)
    return Tuned(model, chosen, best_score, table)
