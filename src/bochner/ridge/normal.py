"""The normal equations of an operator-valued ridge, without ever building its (n p) x (2 D p') matrix.

Ψ(x) θ = φ(x) expand(θ), so ΨᵀΨ = contract ∘ (φᵀφ) ∘ expand: everything follows from the Gram matrix of the *scalar*
features, or from row sums where that is too large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.optimize import minimize

from .._compute import row_sum
from .._progress import track
from ..operators import OperatorMeasure
from .statistics import tiles

Operator = Callable[[np.ndarray], np.ndarray]


def normal_matrix(measure: OperatorMeasure, gram: np.ndarray) -> np.ndarray:
    """ΨᵀΨ (n_columns, n_columns): entry ((a,j,r), (b,k,s)) is (φᵀφ)_{aj,bk} (B_jᵀB_k)_{rs}, an entrywise product.

    For the curl-free kernel (B = ω) it is φᵀφ times the Gram matrix of the frequencies, entry by entry.
    """
    n_atoms, rank = len(measure), measure.rank
    factors = np.broadcast_to(measure.factors, (n_atoms, measure.n_outputs, rank))
    stacked = factors.transpose(1, 0, 2).reshape(measure.n_outputs, n_atoms * rank)
    overlaps = (stacked.T @ stacked).reshape(n_atoms, rank, n_atoms, rank)
    waves = gram.reshape(2, n_atoms, 2, n_atoms)
    product = waves[:, :, None, :, :, None] * overlaps[None, :, :, None, :, :]
    return product.reshape(measure.n_columns, measure.n_columns)


def cholesky_ridge(matrix: np.ndarray, right_side: np.ndarray, alpha: float) -> np.ndarray:
    """(matrix + α I)⁻¹ right_side; by eigenvectors where α is below rounding and the Cholesky factor does not exist."""
    shifted = matrix.copy()
    shifted[np.diag_indices_from(shifted)] += alpha
    try:
        return cho_solve(cho_factor(shifted, overwrite_a=True, check_finite=False), right_side, check_finite=False)
    except np.linalg.LinAlgError:
        values, vectors = eigh(matrix, driver="evd")
        return vectors @ ((vectors.T @ right_side) / (np.maximum(values, 0.0) + alpha))


def gram_operator(measure: OperatorMeasure, gram: np.ndarray) -> Operator:
    """θ ↦ ΨᵀΨθ through the Gram matrix of the scalar features."""
    return lambda theta: measure.contract(gram @ measure.expand(theta))


def row_operator(measure: OperatorMeasure, features: Callable, X: Any, sample_weight: Any) -> Operator:
    """θ ↦ ΨᵀΨθ by one pass over the rows: for more features than a Gram matrix could hold."""
    signals = [] if sample_weight is None else [sample_weight]

    def apply(theta):
        image_block = partial(_image_block, features, measure.expand(theta))
        return measure.contract(row_sum(image_block, X, *signals, row_bytes=8 * measure.n_outputs))

    return apply


def _image_block(features, coefficients, X, sample_weight=None):
    image = np.zeros(coefficients.shape)
    for rows in tiles(X.shape[0]):
        tile = np.asarray(features(X[rows]), dtype=np.float64)
        field = tile @ coefficients
        image += tile.T @ (field if sample_weight is None else sample_weight[rows, None] * field)
    return image


@dataclass(frozen=True)
class CenteredFeatures:
    """A feature map minus its mean over the training rows; an object, so that it travels to workers."""

    features: Callable
    mean: np.ndarray

    def __call__(self, X: Any) -> np.ndarray:
        return np.asarray(self.features(X), dtype=np.float64) - self.mean


def normal_diagonal(measure: OperatorMeasure, gram_diagonal: np.ndarray) -> np.ndarray:
    """The diagonal of ΨᵀΨ, for preconditioning."""
    squared = np.broadcast_to(np.sum(measure.factors**2, axis=1), (len(measure), measure.rank))
    return (gram_diagonal.reshape(2, len(measure), 1) * squared).ravel()


def conjugate_gradient(
    operator: Operator, right_side: np.ndarray, alpha: float, diagonal: np.ndarray, max_iter: int, tol: float
) -> tuple[np.ndarray, int]:
    """(operator + α I)⁻¹ right_side to relative residual ``tol``, preconditioned by the diagonal; also the number of steps."""
    inverse = 1 / (diagonal + alpha)
    solution = np.zeros_like(right_side)
    residual = right_side.copy()
    direction = inverse * residual
    energy = residual @ direction
    goal = tol * np.linalg.norm(right_side)
    for step in range(max_iter):
        if np.linalg.norm(residual) <= goal:
            return solution, step
        image = operator(direction) + alpha * direction
        length = energy / (direction @ image)
        solution += length * direction
        residual -= length * image
        preconditioned = inverse * residual
        energy, previous = residual @ preconditioned, energy
        direction = preconditioned + (energy / previous) * direction
    return solution, max_iter


def lbfgs_ridge(
    operator: Operator, right_side: np.ndarray, alpha: float, diagonal: np.ndarray, max_iter: int, tol: float
) -> tuple[np.ndarray, int]:
    """The minimizer of ½θᵀ(operator + αI)θ − bᵀθ by L-BFGS, the solver of Brault et al. 2016; also the number of steps.

    It runs on √(diagonal + α) θ, whose Hessian has a diagonal of ones.
    """
    root = np.sqrt(diagonal + alpha)

    def value_and_gradient(scaled):
        theta = scaled / root
        image = operator(theta) + alpha * theta
        return 0.5 * theta @ image - right_side @ theta, (image - right_side) / root

    goal = tol * np.abs(right_side / root).max()
    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": 30, "gtol": max(goal, 1e-300), "ftol": 0.0}
    found = minimize(value_and_gradient, np.zeros_like(right_side), jac=True, method="L-BFGS-B", options=options)
    return found.x / root, int(found.nit)


def stochastic_ridge(
    measure: OperatorMeasure,
    features: Callable,
    X: Any,
    Y: np.ndarray,
    sample_weight: np.ndarray | None,
    alpha: float,
    n_epochs: int,
    rng: np.random.Generator,
    batch_size: int = 64,
) -> np.ndarray:
    """Averaged stochastic gradient descent on minibatches, the average taken over the second half of the steps.

    The step is 1 / (2 R²), R² the largest eigenvalue of K(x, x) = Σ_j w_j A_j: for a shift-invariant kernel it is the same
    at every x, so there is no step to tune.
    """
    n_rows = X.shape[0]
    weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    operators = np.broadcast_to(measure.operators(), (len(measure), measure.n_outputs, measure.n_outputs))
    largest = np.linalg.eigvalsh(np.einsum("j,jab->ab", measure.weights, operators))[-1]
    step = 0.5 / (largest * max(1.0, weights.max() / weights.mean()) + alpha / n_rows)
    theta, average, n_averaged = np.zeros(measure.n_columns), np.zeros(measure.n_columns), 0
    for epoch in track(range(n_epochs), "stochastic ridge", n_epochs):
        order = rng.permutation(n_rows)
        for start in range(0, n_rows, batch_size):
            rows = np.sort(order[start : start + batch_size])
            tile = np.asarray(features(X[rows]), dtype=np.float64)
            residual = weights[rows, None] / weights.mean() * (tile @ measure.expand(theta) - Y[rows])
            gradient = measure.contract(tile.T @ residual) / len(rows) + alpha / weights.sum() * theta
            theta = theta - step * gradient
            if 2 * epoch >= n_epochs:
                n_averaged += 1
                average += (theta - average) / n_averaged
    return average
