"""Checks of y: an array, a column of a frame or a Dask collection."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array

from .columns import is_missing
from .dask.inputs import gathered
from .rows import assert_unmasked

# Integers with more levels than this, and few rows per level, are rarely meant as classes.
MANY_LEVELS = 20


def given_target(y: Any, n_rows: int | None, owner: str) -> np.ndarray:
    """Return y as an array in memory with one row for each row of X."""
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    y = gathered(y)
    assert_unmasked(y, "y")
    y = np.asarray(y)
    if n_rows is not None and y.shape[:1] != (n_rows,):
        raise ValueError(inconsistent_rows(n_rows, y.shape[0] if y.ndim else "no"))
    return y


def coded(y, classes):
    """Return the places of labels among the classes, in one byte a row for few classes."""
    # Several times faster than return_inverse.
    return np.searchsorted(classes, y).astype(np.min_scalar_type(len(classes)))


def as_values(owner, y):
    check_no_objects(y, owner)
    return check_array(y, dtype=np.float64, input_name="y", ensure_2d=False, accept_sparse=False)


def targets_and_predictions(y: Any, prediction: Any, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """Validate y for a comparison with predictions: no value is missing, columns become vectors."""
    prediction = np.asarray(prediction)
    y = given_target(y, len(prediction), owner)
    if y.dtype.kind == "O":
        missing = any(is_missing(value) for value in y.ravel().tolist())
    else:
        missing = y.dtype.kind == "f" and not np.all(np.isfinite(y))
    if missing:
        raise ValueError("Input y contains NaN or infinity; bochner needs finite targets.")
    if prediction.ndim == 2 and prediction.shape[1] == 1:
        prediction = prediction[:, 0]
    if y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    return y, prediction


def inconsistent_rows(n_rows, n_targets):
    return (
        "Found input variables with inconsistent numbers of samples: "
        f"X has {n_rows} rows, y {n_targets}."
    )


def check_no_objects(y, owner):
    """Raise unless y holds numbers or texts of numbers."""
    if y.dtype.kind in "OU":
        values = y.ravel().tolist()
        if any(is_missing(value) for value in values):
            raise ValueError(
                "Input y contains NaN or other missing values; bochner needs finite targets."
            )
        texts = [value for value in values if isinstance(value, str)]
        try:
            np.array(texts).astype(np.float64)
        except ValueError as error:
            raise ValueError(
                f"{owner} needs numbers in y, but they include texts: {error}. Use a classifier "
                "for labels."
            ) from error


def check_labels(y, advice):
    """Call scikit-learn's checks of labels, and raise our own messages for mixed types and NaN."""
    if y.dtype.kind == "O":
        kinds = {type(value).__name__ for value in y}
        missing = any(is_missing(value) for value in y)
        if missing or len(kinds) > 1:
            raise ValueError(
                f"Unknown label type: y mixes {', '.join(sorted(kinds))}"
                f"{' with missing values' if missing else ''}. Give labels of one type, none of "
                "them missing."
            )
    elif y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ValueError("Input y contains NaN or infinity; bochner needs finite targets.")
    if advice and type_of_target(y, input_name="y").startswith("continuous"):
        raise ValueError(f"Unknown label type: y is continuous, but classes are needed. {advice}")
    check_classification_targets(y)
