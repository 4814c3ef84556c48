"""Input checks and their messages: what we got, what we need, what to write instead."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from ._compute import assert_finite, is_dask


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Validate X for a public estimator: dense, CSR, memory map or Dask array; float32 kept.

    scikit-learn checks everything but finiteness, which is checked here block by block so that a memory map
    is never pulled into memory.
    """
    if is_dask(X):
        return _check_dask(estimator, X, reset=reset)
    X = validate_data(
        estimator,
        X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        reset=reset,
    )
    assert_finite(X)
    return X


def _check_dask(estimator, X, *, reset):
    if not hasattr(X, "chunks") or X.ndim != 2:
        raise ValueError(
            "Got a Dask collection that is not a two-dimensional array. bochner needs rows and columns: "
            "write e.g. ddf.to_dask_array(lengths=True)."
        )
    if X.dtype.kind not in "fiub":
        raise ValueError(f"Got a Dask array of dtype {X.dtype}; bochner needs real numbers.")
    if reset:
        estimator.n_features_in_ = X.shape[1]
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def check_gram_inputs(X: Any, Z: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Two sets of points for a kernel matrix, dense and two-dimensional; Z = X when it is not given."""
    X = _points(X, "X")
    Z = X if Z is None else _points(Z, "Z")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features but Z has {Z.shape[1]}; a kernel compares points of one space.")
    return X, Z


def _points(X, name):
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"{name} must be two-dimensional (points, features), got {X.ndim} dimension(s).")
    return X if X.dtype == np.float32 else X.astype(np.float64, copy=False)


def check_count(value: Any, name: str, *, minimum: int = 1) -> int:
    """A whole number of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}. Write e.g. {name}={max(minimum, 100)}.")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}. Write e.g. {name}={max(minimum, 100)}.")
    return int(value)


def check_positive(value: Any, name: str, *, allow_zero: bool = False) -> float:
    """A positive finite number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}. Write e.g. {name}=1.0.")
    if not np.isfinite(float(value)) or value < 0 or (value == 0 and not allow_zero):
        need = "non-negative" if allow_zero else "positive"
        raise ValueError(f"{name} must be {need} and finite, got {value!r}. Write e.g. {name}=1.0.")
    return float(value)


def check_positive_vector(value: Any, name: str, n_features: int) -> np.ndarray:
    """One positive number for all columns, or one per column (ARD), as a vector of ``n_features``."""
    if isinstance(value, str):
        raise ValueError(
            f"{name}={value!r} is taken from the data and none was given. Use the prior inside SpectralFeatures, or call "
            f"prior.resolved(X) first, or write a number, e.g. {name}=1.0."
        )
    try:
        vector = np.asarray([] if value is None else value, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.size == 0:
        raise TypeError(f"{name} must be a number or one number per feature, got {value!r}.")
    if vector.ndim > 1 or (vector.ndim == 1 and len(vector) != n_features):
        raise ValueError(
            f"{name} has shape {vector.shape}, but the data has {n_features} features. "
            "Give one number, or one number per feature."
        )
    if not np.all(np.isfinite(vector)) or np.any(vector <= 0):
        raise ValueError(f"{name} must be positive and finite, got {value!r}. Write e.g. {name}=1.0.")
    return np.broadcast_to(vector, (n_features,))


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
    return value
