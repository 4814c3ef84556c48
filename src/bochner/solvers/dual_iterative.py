"""Conjugate gradients for the systems of ``dual``, with a Nyström preconditioner.

The matrix (K + α / h) is never factorized: the solver only multiplies by it. K is in memory, or is
computed in blocks of rows for each product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._loops.grams import skinny_product
from .._loops.matrices import factorize, inner_products, solve_lower
from .._terminal.progress import step_done
from ..expansions.kernels import closed_form_gram
from ..priors import SpectralPrior
from .dual import Solution

# Memory for the kernel between a block of rows and all rows, if it is computed for each product.
_BLOCK_BYTES = 2**25


class MatrixProducts:
    """K times vectors for a kernel matrix in memory, or for its first ``size`` rows and columns."""

    def __init__(self, matrix: np.ndarray, size: int | None = None):
        self.matrix, self.size = matrix, len(matrix) if size is None else size

    def times(self, vectors: np.ndarray) -> np.ndarray:
        """Return K v for each of the vectors, which are rows and so contiguous in memory."""
        product = skinny_product(self.matrix, vectors.astype(self.matrix.dtype, copy=False))
        return product.astype(vectors.dtype, copy=False)

    def columns(self, rows: np.ndarray) -> np.ndarray:
        """Return some columns of K."""
        return self.matrix[: self.size, rows]


class GramProducts:
    """K times vectors for the kernel of a prior plus x·diag(linear)·z.

    K is stored if it fits into memory, and else computed in blocks of rows for each product.
    """

    def __init__(self, prior: SpectralPrior, X: np.ndarray, linear: np.ndarray, max_bytes: int):
        self.prior, self.X, self.linear = prior, X, linear.astype(X.dtype)
        # A block, the previous one and temporaries of the threads fit into ``max_bytes``.
        self.block_bytes = min(_BLOCK_BYTES, max_bytes // 4)
        self.gram = closed_form_gram(prior, X) if X.itemsize * len(X) ** 2 <= max_bytes else None

    def times(self, vectors: np.ndarray) -> np.ndarray:
        """Return K v for each of the vectors, which are rows."""
        dtype, vectors = vectors.dtype, vectors.astype(self.X.dtype, copy=False)
        product = ((vectors @ self.X) * self.linear) @ self.X.T
        if self.gram is not None:
            product += vectors @ self.gram
            return product.astype(dtype, copy=False)
        size = max(1, self.block_bytes // (self.X.itemsize * len(self.X)))
        for start in range(0, len(self.X), size):
            rows = slice(start, start + size)
            product[:, rows] += vectors @ closed_form_gram(self.prior, self.X, self.X[rows])
        return product.astype(dtype, copy=False)

    def columns(self, rows: np.ndarray) -> np.ndarray:
        """Return some columns of K."""
        some = self.X[rows]
        return closed_form_gram(self.prior, self.X, some) + (self.X * self.linear) @ some.T


@dataclass(frozen=True, eq=False)
class NystromPreconditioner:
    """(BBᵀ + α / h)⁻¹, BBᵀ the approximation of K from some of its columns.

    ``basis`` B and ``gram`` BᵀhB serve every ridge.
    """

    basis: np.ndarray
    gram: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(
        cls, products: GramProducts | MatrixProducts, rows: np.ndarray, weights: np.ndarray
    ) -> NystromPreconditioner:
        """Return the preconditioner from the columns of K of some rows."""
        columns = products.columns(rows)
        corner = columns[rows].astype(np.float64)
        # In the precision of K: a preconditioner need not be precise.
        triangle = _factor((corner + corner.T) / 2, 1e-6).astype(columns.dtype)
        basis = np.ascontiguousarray(columns)
        solve_lower(triangle, basis)
        return cls(basis, _weighted_gram(basis, weights), weights)

    def first(self, n_rows: int) -> NystromPreconditioner:
        """Return the preconditioner of the first rows, to which the columns must belong."""
        rest = _weighted_gram(self.basis[n_rows:], self.weights[n_rows:])
        return NystromPreconditioner(self.basis[:n_rows], self.gram - rest, self.weights[:n_rows])

    def at(self, alphas: np.ndarray) -> Callable:
        """Return the preconditioner for one ridge per vector.

        By Woodbury's identity it is (h − h B (α + BᵀhB)⁻¹ Bᵀ h) / α. The result is a function of
        vectors and of their numbers among ``alphas``.
        """
        different = np.unique(alphas)
        dtype = self.basis.dtype  # products of two precisions would copy the basis each time
        identity = np.eye(len(self.gram))
        triangles = [_factor(self.gram + a * identity, 0.0).astype(dtype) for a in different]

        def apply(residual, which):
            weights = self.weights.astype(residual.dtype)
            pulled = weights * residual
            inner = pulled.astype(dtype, copy=False) @ self.basis
            ridges = alphas[which]
            for alpha, triangle in zip(different, triangles):
                own = ridges == alpha
                rows = inner[own]
                solve_lower(triangle, rows)
                solve_lower(triangle, rows, transposed=True)
                inner[own] = rows
            pulled -= weights * (inner @ self.basis.T)
            pulled /= ridges.astype(residual.dtype)[:, None]
            return pulled

        return apply


def _weighted_gram(basis, weights):
    return inner_products(np.sqrt(weights).astype(basis.dtype)[:, None] * basis).astype(np.float64)


def _factor(matrix, share):
    """Return the lower Cholesky factor, with ``share`` or more added to the diagonal."""
    step = np.trace(matrix) / len(matrix) * np.eye(len(matrix))
    while not factorize(triangle := matrix + share * step):
        if not share < 1:  # more than rounding
            raise np.linalg.LinAlgError(
                "The kernel matrix is not positive definite, or contains NaN or infinity."
            )
        share = max(10 * share, 1e-10)
    return triangle


def conjugate_gradients(
    products: GramProducts | MatrixProducts,
    shift: np.ndarray,
    targets: np.ndarray,
    precondition: Callable,
    tol: float,
    max_iterations: int,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Solve (K + diag(shift)) a = y for each row y of ``targets``, to a relative residual ``tol``.

    Each target has its own row of ``shift``. The arguments of ``precondition(residuals, which)``
    are residuals and the numbers of their targets.
    """
    solution = np.zeros_like(targets) if start is None else start.astype(targets.dtype)
    residual = (
        targets.copy() if start is None else targets - (products.times(solution) + shift * solution)
    )
    limits = tol * np.maximum(np.linalg.norm(targets, axis=1), np.finfo(float).tiny)
    direction, before = np.zeros_like(targets), np.ones((len(targets), 1), targets.dtype)
    for step in range(max_iterations):
        # Solved targets are skipped: small ridges need several times the steps of large ones.
        left = np.flatnonzero(np.linalg.norm(residual, axis=1) > limits)
        if not len(left):
            break
        at = slice(None) if len(left) == len(limits) else left  # a slice makes no copy
        pulled = precondition(residual[at], left)
        squares = _dots(residual[at], pulled)
        ahead = pulled + (squares / before[at] if step else 0) * direction[at]
        image = products.times(ahead)
        image += shift[at] * ahead
        curvature = _dots(ahead, image)
        length = np.where(curvature > 0, squares / np.where(curvature > 0, curvature, 1), 0)
        length = length.astype(targets.dtype)
        solution[at] += length * ahead
        residual[at] -= length * image
        direction[at], before[at] = ahead, np.where(squares > 0, squares, 1)
        if step_done("conjugate gradients"):
            break
    return solution


def _dots(rows, others):
    """Return the inner products of rows, as a column."""
    return np.einsum("ij,ij->i", rows, others)[:, None]


@dataclass(frozen=True)
class IteratedSolution:
    """A solution by conjugate gradients.

    ``right_sides`` are the targets minus their mean and, with an intercept, ones. ``solved`` are
    the solutions of these systems, from which a similar problem may start.
    """

    solution: Solution
    right_sides: np.ndarray
    solved: np.ndarray


def iterated_solutions(
    products: GramProducts | MatrixProducts,
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
