"""Which columns a fitted expansion depends on, in numbers that compare."""

from typing import Any

import numpy as np

from .._loops.arrays import as_dense
from ..expansions.waves import Expansion

# Rows that a mean over derivatives is taken over: a few digits are all that importances need.
IMPORTANCE_ROWS = 2000


def derivative_importances(expansion: Expansion, X: Any, weights: np.ndarray) -> np.ndarray:
    """v_b · mean_i Σ_k (∂f_k/∂x_b)², v_b the variance of column b, divided by the sum over the
    columns: (n_features,).

    Derivatives count per standard deviation of a column, so its unit does not matter. ``X`` is an
    array of some rows in memory, a row of weight h counts as h rows. A function that depends on no
    column has zeros.
    """
    points = as_dense(X)
    weights = (
        weights if weights.any() else np.ones_like(weights)
    )  # of many rows, a part may have no weight
    center = np.average(points, axis=0, weights=weights)
    deviation = np.sqrt(
        np.average(np.square(points - center, dtype=np.float64), axis=0, weights=weights)
    )
    # The function of columns in units of their deviations, rather than small derivatives times
    # large variances.
    scale = np.where(deviation > 0, deviation, 1.0)
    scaled = expansion.after_scaling(np.zeros(len(scale)), scale)
    relevance = np.where(
        deviation > 0, scaled.relevance(points / scale.astype(points.dtype), weights), 0.0
    )
    total = relevance.sum()
    return relevance / total if 0 < total < np.inf else np.zeros(len(relevance))
