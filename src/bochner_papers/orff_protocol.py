"""Protocol of Brault et al. 2016: λ by the paper's two folds, beside leave-one-out."""

from typing import Any

import numpy as np
import scipy.linalg

from bochner.operators import OperatorKernel

# Choices of λ: the paper's first.
TWO_FOLDS, LEAVE_ONE_OUT = "two folds", "leave-one-out"


def two_fold_lambda(
    kernel: OperatorKernel, X: np.ndarray, Y: np.ndarray, lambdas: Any, rng: np.random.Generator
) -> float:
    """Return the λ of (1/n) Σ ‖f(x_i) − y_i‖² + λ ‖f‖² with the least two-fold error.

    Features are a kernel like any other here (``CurlFree(measure)``), so that they and the exact
    kernel are tuned by one function.
    """
    halves = np.array_split(rng.permutation(len(X)), 2)
    errors = np.zeros(len(lambdas))
    for fitted, held in (halves, halves[::-1]):
        values, vectors = scipy.linalg.eigh(
            _similarities(kernel, X[fitted], X[fitted]), driver="evd"
        )
        across = _similarities(kernel, X[held], X[fitted]) @ vectors
        known, wanted = Y[fitted].reshape(len(values), -1), Y[held].reshape(len(across), -1)
        projected = vectors.T @ known
        for k, penalty in enumerate(lambdas):
            predicted = across @ (
                projected / (np.maximum(values, 0) + penalty * len(fitted))[:, None]
            )
            errors[k] += np.sum((predicted - wanted) ** 2)
    return float(lambdas[int(np.argmin(errors))])


def _similarities(kernel, X, Z):
    """Return K(x, z) as a matrix of rows times outputs, or k alone for independent outputs."""
    if kernel.decomposable:
        return np.asarray(kernel.checked_prior().kernel(X, Z), dtype=np.float64)
    whole = kernel.kernel(X, Z)
    n_rows, n_others, p, _ = whole.shape
    return whole.transpose(0, 2, 1, 3).reshape(n_rows * p, n_others * p)
