"""Calculus on a fitted field: f(x) = Σ_j c_j cos(ω_j·x) + s_j sin(ω_j·x) + constant, so every derivative is exact."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .._compute import is_dask, row_map, working_dtype
from ..measures import FourierMeasure
from .statistics import block_features


def evaluate(source: Any, X: Any, coefficients: np.ndarray, intercept: Any = 0.0) -> Any:
    """features(X) @ coefficients + intercept, block by block; the n x 2D features are never held.

    ``source`` is a measure or a transformer.
    """
    if is_dask(X):
        whole = source.features if hasattr(source, "features") else source.transform
        return whole(X) @ coefficients + intercept
    dtype = working_dtype(X)
    block = partial(_evaluate_block, block_features(source), coefficients.astype(dtype, copy=False), intercept)
    out = np.empty((X.shape[0], coefficients.shape[1]), dtype)
    return row_map(block, X, out, row_bytes=16 * len(coefficients))


def _evaluate_block(features, coefficients, intercept, X, out):
    out[...] = features(X) @ coefficients + intercept


def quarter_turned(coefficients: np.ndarray) -> np.ndarray:
    """Coefficients of the derivative of each wave by its own phase: (c cos + s sin)' = s cos − c sin."""
    cosines, sines = np.split(coefficients, 2)
    return np.concatenate([sines, -cosines])


def jacobian_coefficients(measure: FourierMeasure, coefficients: np.ndarray) -> np.ndarray:
    """Coefficients of ∂f_a/∂x_b, (2 n_atoms, n_outputs · n_features): each wave's derivative times its frequency."""
    frequencies = np.concatenate([measure.frequencies, measure.frequencies])
    turned = quarter_turned(coefficients)
    return (turned[:, :, None] * frequencies[:, None, :]).reshape(len(turned), -1)


def divergence_coefficients(measure: FourierMeasure, coefficients: np.ndarray, space: np.ndarray) -> np.ndarray:
    """Coefficients of Σ_a ∂f_a/∂x_a, (2 n_atoms, 1)."""
    waves = measure.frequencies[:, space]
    return np.sum(quarter_turned(coefficients) * np.concatenate([waves, waves]), axis=1, keepdims=True)


def along_coefficients(measure: FourierMeasure, coefficients: np.ndarray, space: np.ndarray) -> np.ndarray:
    """The curl-free part: each wave's amplitude projected on its frequency."""
    waves = np.concatenate([measure.frequencies[:, space]] * 2)
    return _amplitudes_along(waves, coefficients) * waves


def potential_coefficients(measure: FourierMeasure, coefficients: np.ndarray, space: np.ndarray) -> np.ndarray:
    """Coefficients (2 n_atoms, 1) of the scalar whose gradient is the curl-free part."""
    waves = np.concatenate([measure.frequencies[:, space]] * 2)
    return -quarter_turned(_amplitudes_along(waves, coefficients))


def _amplitudes_along(waves, coefficients):
    """ω·c / ‖ω‖²; kernels of vector fields give no amplitude to ω = 0."""
    squares = np.sum(waves**2, axis=1, keepdims=True)
    return np.sum(waves * coefficients, axis=1, keepdims=True) / np.where(squares == 0, 1, squares)


def curl_of(jacobian: np.ndarray) -> np.ndarray:
    """∂f_2/∂x_1 − ∂f_1/∂x_2 in the plane (n,), the curl vector in space (n, 3), else the antisymmetric J − Jᵀ (n, p, p)."""
    twist = jacobian - jacobian.transpose(0, 2, 1)
    if twist.shape[1] == 2:
        return twist[:, 1, 0]
    if twist.shape[1] == 3:
        return np.stack([twist[:, 2, 1], twist[:, 0, 2], twist[:, 1, 0]], axis=1)
    return twist
