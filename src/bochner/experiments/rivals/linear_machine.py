"""The linear SVM that two of the methods end with."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC


def fitted_machine(columns: np.ndarray, y: np.ndarray, C: float) -> SVC:
    """libsvm's linear machine, stopped after 10000 iterations without complaint."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return SVC(kernel="linear", C=C, max_iter=10_000).fit(columns, y)
