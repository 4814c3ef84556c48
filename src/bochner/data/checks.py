"""Checks of X, y and sample_weight, with messages that state what to write instead."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_array,
    validate_data,
)

from .._loops.arrays import as_dense
from .columns import is_missing
from .rows import LocalRows, Rows, as_rows, is_remote

# Squares and sums of larger weights could overflow.
_MOST_WEIGHT = 1e100
# Integers with more levels than this, and few rows per level, are rarely meant as classes.
MANY_LEVELS = 20


def check_rows(estimator: Any, X: Any, *, reset: bool, block_size: int | str = "auto") -> Rows:
    """Validate X for a public estimator and return its rows; float32 is kept.

    X is a dense array, CSR matrix, memory map, zarr array, Dask array or frame. scikit-learn checks
    everything but finiteness, which is checked block by block so that a memory map is never read
    into memory as a whole. ``Rows`` that one estimator passes to another are returned unchanged.
    """
    if isinstance(X, Rows) or is_remote(X):
        frame = _remote_frame(X)
        if frame is not None:
            _check_feature_names(estimator, frame, reset=reset)
        elif reset:
            vars(estimator).pop("feature_names_in_", None)  # of an earlier fit on a table
        rows = as_rows(X, block_size, names=vars(estimator).get("feature_names_in_"), persist=reset)
        if not len(rows):
            raise ValueError(
                f"Found array with 0 sample(s) (shape={rows.shape}) while a minimum of 1 is "
                f"required by {type(estimator).__name__}."
            )
        _check_n_features(estimator, rows, reset=reset)
        return rows
    numbers = check_numbers(estimator, X, accept_sparse="csr", ensure_all_finite=False, reset=reset)
    return as_rows(numbers, block_size, names=vars(estimator).get("feature_names_in_"))


def _remote_frame(X):
    """Return a pandas frame with the columns of a Dask frame; None for other input."""
    if not is_remote(X):
        return None
    from .dask.inputs import remote_frame

    return remote_frame(X)


def check_numbers(
    estimator: Any,
    X: Any,
    *,
    dtype: Any = (np.float64, np.float32),
    ensure_all_finite: bool | str = True,
    **keywords: Any,
) -> Any:
    """Call scikit-learn's ``validate_data``, with our own messages for what NumPy refuses."""
    if is_remote(X):
        raise TypeError(
            f"{type(estimator).__name__} works on rows in memory, not on a Dask collection or an "
            "array of zarr. Give X.compute() or X[:]."
        )
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise TypeError(
            f"X holds dates or durations ({X.dtype}), which need a unit to become numbers. "
            "Write e.g. (X - start) / np.timedelta64(1, 'D') for days."
        )
    assert_unmasked(X, "X")
    if (
        isinstance(X, (list, tuple))
        and len({len(row) for row in X if isinstance(row, (list, tuple))}) > 1
    ):
        raise ValueError(
            "X is a list of rows of different lengths; each row needs one number for each column."
        )
    with config_context(array_api_dispatch=False):  # arrays of torch become arrays of NumPy
        numbers = validate_data(
            estimator,
            X,
            dtype=None if dtype is None else list(dtype),
            ensure_all_finite=False,
            **keywords,
        )
    if ensure_all_finite:
        names = vars(estimator).get("feature_names_in_")
        rows = LocalRows(numbers)
        rows.assert_finite(names=names, allow_nan=ensure_all_finite == "allow-nan")
    return numbers


def assert_unmasked(values: Any, name: str) -> None:
    """Raise for masked arrays, whose hidden numbers would be used."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"Input {name} contains masked values, which bochner would have to guess. Fill them "
            f"first, e.g. {name}.filled(0), or leave their rows out."
        )


def check_weights(sample_weight: Any, n_rows: int) -> np.ndarray | None:
    """Return non-negative weights in float64, not all zero; None stays None.

    A single number is the weight of every row.
    """
    if sample_weight is None:
        return None
    given = np.asarray(gathered(sample_weight))
    if given.dtype.kind == "O" and all(isinstance(value, Real) for value in given.ravel()):
        given = given.astype(np.float64)
    if given.dtype.kind not in "fiub":
        raise ValueError(
            f"sample_weight must hold numbers, one for each row, got {_shortly(given)}."
        )
    if given.ndim and given.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {given.shape}, but needs one number for each row, shape "
            f"({n_rows},)."
        )
    weights = np.broadcast_to(given.astype(np.float64), (n_rows,))
    if not np.all(np.isfinite(weights)):
        row = int(np.argmin(np.isfinite(weights)))
        raise ValueError(
            f"sample_weight must be finite, but contains NaN or infinity: {weights[row]} in row "
            f"{row}."
        )
    if np.any(weights < 0):
        row = int(np.argmin(weights))
        raise ValueError(
            f"Negative values in sample_weight, such as {weights[row]:.3g} in row {row}; weights "
            "count rows."
        )
    if not np.any(weights):
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from.")
    if weights.max() > _MOST_WEIGHT:
        raise ValueError(
            "A row of weight h counts as h rows, and the largest sample_weight is "
            f"{weights.max():.1e}, more than {_MOST_WEIGHT:.0e}. "
            "Write sample_weight / sample_weight.mean()."
        )
    return np.array(weights)


def _shortly(values):
    return f"{values.ravel()[0]!r}" if values.size else "nothing"


def check_gram_inputs(X: Any, Z: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return two sets of points for a kernel matrix, dense and two-dimensional; Z defaults to X."""
    X = _points(X, "X")
    Z = X if Z is None else _points(Z, "Z")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features but Z has {Z.shape[1]}; a kernel compares points of one "
            "space."
        )
    return X, Z


def _points(X, name):
    X = as_dense(X)
    if X.ndim != 2:
        raise ValueError(
            f"{name} must be two-dimensional (points, features), got {X.ndim} dimension(s)."
        )
    return X if X.dtype == np.float32 else X.astype(np.float64, copy=False)


# --- y and predictions ----------------------------------------------------------------------------


def gathered(values: Any) -> Any:
    """Return values as NumPy arrays in memory; they may be on Dask."""
    if type(values).__module__.startswith("zarr"):  # one column, read without Dask
        return np.asarray(values)
    if is_remote(values):
        from .dask.clusters import computed

        return computed(values)[0]
    return values


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


def as_values(owner, y, partial=False):
    """Return y as finite numbers in float64; ``partial`` accepts NaN if y has columns."""
    check_no_objects(y, owner)
    if not partial and y.ndim == 2 and y.dtype.kind == "f" and np.isnan(y).any():
        raise ValueError(
            f"Input y contains NaN, but {owner} needs every output of every row. OperatorRidge, "
            "OperatorRegressor and OperatorKernelRidge accept missing outputs."
        )
    finite = "allow-nan" if partial and y.ndim == 2 else True
    return check_array(
        y,
        dtype=np.float64,
        input_name="y",
        ensure_2d=False,
        accept_sparse=False,
        ensure_all_finite=finite,
    )


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


def of_predictions(
    function: Callable, values: Any, dtype: Any, n_columns: int | None = None
) -> Any:
    """Apply a function to predictions; those on Dask stay lazy.

    The result is one-dimensional, or has ``n_columns``.
    """
    if not is_remote(values):
        return function(values)
    shape: dict[str, Any] = {"drop_axis": 1} if n_columns is None and values.ndim == 2 else {}
    if n_columns is not None:
        shape = {"chunks": (values.chunks[0], (n_columns,))}
    meta = np.empty((0,) * (1 if n_columns is None else 2), dtype)
    return values.map_blocks(function, dtype=dtype, meta=meta, **shape)
