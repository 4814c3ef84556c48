"""Small estimators of the registry that can be fitted thousands of times, and data for them."""

import numpy as np
from sklearn.base import is_regressor

from tests.conformance.registry import SMALL as VICTIMS

__all__ = ["VICTIMS", "data_for"]

N_ROWS, N_FEATURES = 60, 3


def data_for(estimator, seed=0):
    """Rows on a grid of quarters, which every precision holds exactly, and a target that the
    estimator takes.
    """
    rng = np.random.default_rng(seed)
    X = np.round(4 * rng.normal(size=(N_ROWS, N_FEATURES))) / 4
    signal = np.sin(X[:, 0]) + X[:, 1] / 2
    if is_regressor(estimator):
        return X, signal
    return X, np.where(signal > 0, "above", "below")
