"""Kernel ridge regression with the closed-form kernel of a prior plus a linear part.

The kernel is k(x, z) + Σ_j linear_j x_j z_j. ``KernelMachine`` and the tabular models solve the
systems of ``solvers.dual`` for its matrix, and keep the solution as a ``KernelExpansion``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._loops.matrices import add_products
from ..expansions.kernels import KernelExpansion, closed_form_gram
from ..priors import SpectralPrior
from ..solvers.dual import NystromPreconditioner, Solution, conjugate_gradients


def kernel_matrix(
    prior: SpectralPrior, linear: np.ndarray, X: np.ndarray, others: np.ndarray | None = None
) -> np.ndarray:
    """Return the kernels between rows X and ``others`` (X if None), in the precision of X."""
    gram = closed_form_gram(prior, X, others)
    if np.any(linear):
        scaled = X * linear.astype(X.dtype)
        add_products(gram, scaled, np.ascontiguousarray(X if others is None else others))
    return gram


def dual_expansion(
    prior: SpectralPrior, linear: np.ndarray, X: np.ndarray, solution: Solution, dtype: Any
) -> KernelExpansion:
    """Return f(x) = Σ_i a_i (k(x, x_i) + linear part) + b, with coefficients a of a dtype."""
    slopes = linear[:, None] * (X.T.astype(np.float64, copy=False) @ solution.dual)
    return KernelExpansion(prior, X, solution.dual.astype(dtype), slopes, solution.intercept)


@dataclass(frozen=True)
class IteratedSolution:
    """A solution by conjugate gradients.

    ``right_sides`` are the targets minus their mean and, with an intercept, ones; ``solved`` are
    the solutions of the systems for these rows, and the start of a similar problem.
    """

    solution: Solution
    right_sides: np.ndarray
    solved: np.ndarray


def iterated_solutions(
    products: Any,
    preconditioner: NystromPreconditioner,
    ridges: Sequence[float],
    targets: np.ndarray,
    tol: float,
    max_iterations: int,
    start: np.ndarray | None = None,
    *,
    fit_intercept: bool = True,
    dtype: Any = np.float64,
) -> list[IteratedSolution]:
    """Solve for several ridges at once by conjugate gradients, with vectors of a dtype.

    ``preconditioner`` also gives the weights of the rows; ``start`` has the solved rows of all
    ridges, one below the other.
    """
    weights, n_outputs = preconditioner.weights, targets.shape[1]
    center = np.average(targets, axis=0, weights=weights) if fit_intercept else np.zeros(n_outputs)
    right = np.vstack([(targets - center).T, np.ones((int(fit_intercept), len(targets)))])
    right = right.astype(dtype)
    alphas = np.repeat(ridges, len(right))
    solved = conjugate_gradients(
        products,
        (alphas[:, None] / weights).astype(dtype),
        np.tile(right, (len(ridges), 1)),
        preconditioner.at(alphas),
        tol,
        max_iterations,
        start,
    )
    solutions = []
    for own in np.split(solved.astype(np.float64), len(ridges)):
        dual, intercept = own.T, center
        if fit_intercept:
            shift = own[:-1].sum(axis=1) / own[-1].sum()
            dual, intercept = (own[:-1] - shift[:, None] * own[-1]).T, center + shift
        solutions.append(IteratedSolution(Solution(dual, intercept), right, own))
    return solutions
