"""Checks that the ridges share: targets, ridges, row weights, and bandwidths of weighted rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, check_array, check_consistent_length

from .._compute import is_dask, row_sum
from .._validation import check_positive
from ..priors import SpectralPrior


def check_alphas(alpha: Any) -> tuple[np.ndarray, bool]:
    """Positive ridges as a vector, and whether there is a choice to make between several."""
    if isinstance(alpha, Iterable) and not isinstance(alpha, str):
        alphas = [check_positive(value, "alpha") for value in alpha]
        if not alphas:
            raise ValueError("alpha is an empty list; give a number, e.g. alpha=1.0, or several to choose from.")
        return np.array(alphas), len(alphas) > 1
    return np.array([check_positive(alpha, "alpha")]), False


def refuse_choice(several: bool) -> None:
    """Rows in parts allow no choice between ridges: it needs a second look at each row."""
    if several:
        raise ValueError("partial_fit cannot choose between several alphas: rows are gone after each call. Give one.")


def check_targets(estimator: Any, X: Any, y: Any, *, need_columns: bool) -> Any:
    """Finite real outputs with as many rows as X; Dask arrays are left where they are."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    if is_dask(y):
        targets = y
    else:
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", accept_sparse=False)
    if targets.ndim != 2 and (need_columns or targets.ndim != 1):
        raise ValueError(
            f"y must have one column per output, (n_samples, n_outputs), got shape {tuple(targets.shape)}. Reshape your data "
            "using y[:, None] for a single output, or use SpectralRidge, which takes one-dimensional targets."
        )
    if targets.shape[0] != X.shape[0]:
        check_consistent_length(np.empty(X.shape[0]), np.empty(targets.shape[0]))
    return targets


def check_weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    """Non-negative row weights in float64, or None."""
    if sample_weight is None:
        return None
    rows = np.empty((X.shape[0], 0)) if is_dask(X) else X
    weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
    if not weights.sum() > 0:
        raise ValueError("All sample weights are zero: there is nothing to fit.")
    return weights


def resolved_for_weights(prior: SpectralPrior, X: Any, weights: np.ndarray | None) -> SpectralPrior:
    """The prior with its bandwidth from weighted rows: a row of weight 2 counts as two rows, one of weight 0 as none.

    ``"median"`` only leaves rows of weight zero out.
    """
    if weights is None:
        return prior.resolved(X)
    word = getattr(prior, getattr(prior, "_bandwidth", ""), None)
    if not (isinstance(word, str) and word == "scale"):
        return prior.resolved(X if is_dask(X) else X[weights > 0])
    sums = row_sum(_entry_moments, X, weights, row_bytes=8 * X.shape[1])
    first, second = sums / (weights.sum() * X.shape[1])
    spread = np.sqrt(max(second - first**2, 0.0))
    # Two rows whose entries have that variance stand for the data.
    return prior.resolved(np.array([[spread], [-spread]]) * np.ones(X.shape[1]))


def _entry_moments(X, weights):
    dense = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
    return np.array([weights @ dense.sum(axis=1), weights @ (dense**2).sum(axis=1)])
