"""Checks of ``partial_fit`` and ``merge``: can rows be added to a fitted ridge?"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ...data.targets import Target, Values
from ...measures.fourier import FourierMeasure
from ...solvers.partial import PartialStatistics


def check_complete(model: Any, target: Target | None = None) -> None:
    """Raise an error if outputs of a fitted model, or of ``target``, are missing."""
    statistics = vars(model).get("_statistics")
    if isinstance(statistics, PartialStatistics) or (target is not None and target.is_partial):
        raise ValueError(
            f"partial_fit and merge of {type(model).__name__} need every output of every row, but "
            "y contains NaN. Call fit with all rows."
        )


def check_continuation(model: Any, y: Any, target: Values) -> None:
    """Raise an error if ``partial_fit`` of a fitted model cannot add rows with these targets."""
    gram, n_outputs = model._statistics.gram, len(model._statistics.shift)
    if target.one_dimensional != model._one_dimensional or target.rows.shape[1] != n_outputs:
        before = "one dimension" if model._one_dimensional else f"{n_outputs} columns"
        raise ValueError(f"y has shape {np.shape(y)}, but in earlier calls it had {before}.")
    if gram.ndim == 1:
        raise ValueError(
            f"The Gram matrix of {len(gram)} features was too large to be stored, so no rows "
            "can be added. Lower n_components, or give those rows to partial_fit of a new model "
            "first."
        )


def check_mergeable(model: Any, other: Any) -> None:
    """Raise an error if the rows of another fit cannot be added to those of a fitted model."""
    if type(other) is not type(model):
        raise TypeError(f"{type(model).__name__} merges with another one, got {other!r}.")
    check_is_fitted(other)
    check_complete(model)
    check_complete(other)
    if not (
        _same_measure(model._source, other._source) and _same_kernel(model._kernel, other._kernel)
    ):
        raise ValueError(
            "The two fits have different features. Give both the same kernel or prior with a "
            "number for its bandwidth (not 'scale' or 'median', which depend on the rows) and the "
            "same integer random_state."
        )
    mine, theirs = model._statistics, other._statistics
    if (len(mine.shift), model._one_dimensional) != (len(theirs.shift), other._one_dimensional):
        raise ValueError(
            f"The two fits have targets of different shapes: {len(mine.shift)} and "
            f"{len(theirs.shift)} columns."
        )
    if mine.gram.ndim == 1 or theirs.gram.ndim == 1:
        raise ValueError(
            f"The Gram matrix of {len(theirs.gram)} features was too large to be stored, so "
            "the fits cannot be merged. Lower n_components."
        )


def _same_measure(left, right):
    """Return True for equal waves; False for third-party transformers, which are not compared."""
    if not (isinstance(left, FourierMeasure) and isinstance(right, FourierMeasure)):
        return left is right
    return np.array_equal(left.frequencies, right.frequencies) and np.array_equal(
        left.weights, right.weights
    )


def _same_kernel(left, right):
    """Return True for equal parameters. Priors are not compared: the waves are equal already."""
    mine, theirs = left.get_params(), right.get_params()
    if type(left) is not type(right) or mine.keys() != theirs.keys():
        return False
    plain = [name for name in mine if not isinstance(mine[name], BaseEstimator | FourierMeasure)]
    return all(np.array_equal(mine[name], theirs[name]) for name in plain)
