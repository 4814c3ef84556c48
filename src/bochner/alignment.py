"""Fourier sums of a signal: the statistic that every learner shares."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ._compute import (
    fourier_sums_block,
    is_dask,
    potential_gradient_block,
    row_sum,
    working_dtype,
)
from .measures import FourierMeasure

# Up to this many bytes the projections are kept between the two passes of a gradient instead of being computed twice.
_KEPT_PROJECTION_BYTES = 2**27


def fourier_sums(measure: FourierMeasure, X: Any, signal: Any) -> np.ndarray:
    """Σ_i signal_ik (cos, sin)(ω_j·x_i) as (n_signals, 2, n_atoms), in float64, in blocks of rows."""
    return row_sum(partial(fourier_sums_block, measure.frequencies), X, signal)


def potential(measure: FourierMeasure, X: Any, signal: Any, signs: Any = None) -> np.ndarray:
    """v_j = Σ_k s_k |û_kj|², û the Fourier sums of the signal: how strongly each frequency is present in it."""
    return _signed_energy(fourier_sums(measure, X, signal), signs)


def potential_and_gradient(
    measure: FourierMeasure, X: Any, signal: Any, signs: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """The Fourier potential (n_atoms,) and its gradient in the frequencies (n_atoms, n_features).

    The gradient needs the sums over all rows first: two passes, two matrix products where the projection fits in
    memory between them, three where it does not.
    """
    kept = []
    if not is_dask(X) and X.shape[0] * len(measure) * X.dtype.itemsize <= _KEPT_PROJECTION_BYTES:
        kept = [np.empty((X.shape[0], len(measure)), working_dtype(X))]
    sums = row_sum(partial(fourier_sums_block, measure.frequencies), X, signal, *kept)
    pull = partial(potential_gradient_block, measure.frequencies, _signed(sums, signs))
    return _signed_energy(sums, signs), 2 * row_sum(pull, X, signal, *kept)


def _signed(sums, signs):
    return sums if signs is None else np.asarray(signs, dtype=np.float64)[:, None, None] * sums


def _signed_energy(sums, signs):
    return np.sum(_signed(sums, signs) * sums, axis=(0, 1))
