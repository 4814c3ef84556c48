"""Newton's method on row sums, for logistic and softmax regression.

``convex`` is for other losses. Both share steps, factors and results, but treat a step that is too
long differently. For the log-loss, a multiple of the identity is added to the Hessian. With losses
that are flat except in a narrow band, such steps would be tiny, so ``convex`` shortens the step
instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from .._loops.blocks import tiles
from .._loops.threads import threads_for_matrices
from .._terminal.progress import track
from ..data import Block, Rows
from ..data.simplex import simplex_code
from .direct import condition
from .problem import TILE_ROWS

# Up to this many unknowns (32 MB), and products of the features with themselves, the whole Hessian
# is summed; above, conjugate gradients are faster.
MOST_UNKNOWNS, MOST_PRODUCTS = 2048, 15
# Up to this many columns (128 MB) the Gram matrix of the features preconditions conjugate
# gradients, above only its diagonal.
_MOST_COLUMNS = 4096
# First and last tolerance of conjugate gradients, relative to the gradient, and passes at most.
_STEP_TOLERANCES, _MOST_STEP_PASSES = (0.1, 1e-3), 200

# Above this condition, a curvature in float32 tiles, rounded to 1e-7, would change the steps.
_LARGEST_CONDITION = 1e5


def class_code(n_classes: int) -> np.ndarray:
    """Return E, (n_outputs, n_classes): the scores of the classes are z E for outputs z.

    For two classes, the first has the score 0. For more, E has n_classes − 1 orthonormal rows of
    sum zero. The scores of all classes then have the norm of z. So a penalty on z is a penalty on
    the scores, and the solution is unique.
    """
    if n_classes == 2:
        return np.array([[0.0, 1.0]])
    return np.sqrt((n_classes - 1) / n_classes) * simplex_code(n_classes)


class Reached(NamedTuple):
    """Objective at some coefficients, its gradient in their shape, and its curvature."""

    coefficients: np.ndarray
    value: float
    gradient: np.ndarray
    curvature: np.ndarray


class Minimum(NamedTuple):
    """Coefficients, the number of iterations, and True if the method converged."""

    coefficients: np.ndarray
    n_iter: int
    converged: bool


@dataclass(frozen=True, eq=False)
class SoftmaxProblem:
    r"""Minimize over W

    .. math:: -C \sum_i h_i \ln \mathrm{softmax}(\varphi(x_i)^T W E)_{y_i}
        + \tfrac12 \sum_j r_j \|W_j\|^2

    φ ``design`` of a block of rows, y ``codes``, h ``weights`` (or None), E ``code``, r
    ``penalties`` of the columns of φ.

    ``tiled`` sums the curvature of float32 rows in float32 tiles of 1024 rows, added in float64.
    Values and gradients are always float64. So a less precise curvature needs more steps but gives
    the same result.
    """

    rows: Rows
    codes: Any
    weights: np.ndarray | None
    design: Callable
    code: np.ndarray
    penalties: np.ndarray
    C: float
    tiled: bool = True

    @property
    def _kind(self) -> str:
        """Kind of curvature that is summed: "whole", "shared" by all outputs, or "diagonal"."""
        n_outputs, n_columns = len(self.code), len(self.penalties)
        n_products = n_outputs * (n_outputs + 1) // 2
        if n_outputs == 1 and n_columns <= _MOST_COLUMNS:
            return "whole"
        if n_products <= MOST_PRODUCTS and n_outputs * n_columns <= MOST_UNKNOWNS:
            return "whole"
        return "shared" if n_columns <= _MOST_COLUMNS else "diagonal"

    def at(self, coefficients: np.ndarray) -> Reached:
        """Return value, gradient and curvature, in one pass over the rows."""
        loss, gradient, curvature = self._sum(_sums_block, coefficients, self._kind, self._in_tiles)
        penalty = float(np.sum(self.penalties[:, None] * coefficients**2))
        value = self.C * float(loss) + 0.5 * penalty
        gradient = self.C * gradient + self.penalties[:, None] * coefficients
        return Reached(coefficients, value, gradient, self.C * curvature)

    def step(self, reached: Reached, damping: float, progress: float = 0.0) -> np.ndarray:
        """Return −(H + damping I)⁻¹ gradient, by Cholesky or by conjugate gradients.

        ``progress`` is the size of the gradient relative to the first one.
        """
        gradient, curvature, damped = reached.gradient, reached.curvature, self.penalties + damping
        if self._kind == "whole":
            with threads_for_matrices(gradient.size**3 / 3):
                factor = cholesky_factor(curvature, np.tile(damped, len(self.code)))
                return -cho_solve(factor, gradient.T.ravel()).reshape(gradient.T.shape).T
        if self._kind == "shared":
            inverse = partial(cho_solve, cholesky_factor(curvature, damped))
        else:
            inverse = partial(np.multiply, 1 / (curvature + damped)[:, None])

        def hessian(direction):
            return (
                self.C * self._sum(_product_block, reached.coefficients, direction)
                + damped[:, None] * direction
            )

        return step_by_products(
            hessian, inverse, gradient, progress, _STEP_TOLERANCES, _MOST_STEP_PASSES
        )

    @property
    def _in_tiles(self):
        return self.tiled and self.rows.dtype == np.float32

    def is_too_coarse(self, reached: Reached, damping: float) -> bool:
        """Return True if the curvature was summed in float32 and rounding would change a step."""
        if not self._in_tiles or self._kind == "diagonal":
            return False
        damped = np.tile(self.penalties + damping, len(self.code) if self._kind == "whole" else 1)
        matrix = reached.curvature.reshape(len(damped), len(damped)) + np.diag(damped)
        return condition(matrix, 0.0) > _LARGEST_CONDITION

    def typical_curvature(self, reached: Reached) -> float:
        """Return the mean of the diagonal of the Hessian."""
        curvature = reached.curvature
        if curvature.ndim == 1:
            return float(np.mean(curvature + self.penalties))
        side = int(np.sqrt(curvature.size))
        return float(np.trace(curvature.reshape(side, side)) / side + np.mean(self.penalties))

    def _sum(self, function, *arguments):
        block = Block(function, self.design, self.code, *arguments, row_bytes=8)
        return self.rows.sum(block, *self._signals)

    @cached_property
    def _signals(self) -> list[Any]:
        return [self.rows.persist(of) for of in (self.codes, self.weights) if of is not None]


def minimized(problem: SoftmaxProblem, start: np.ndarray, tol: float, max_iter: int) -> Minimum:
    """Minimize by Newton's method, with damping if a step is too long, e.g. for separable classes.

    It stops if a step, measured by the curvature, is smaller than ``tol`` relative to the
    objective. The remaining error is about the square of that, so the last step is not checked.
    """
    reached, damping, n_iter = problem.at(start), 0.0, 1
    steepest = np.linalg.norm(reached.gradient) or 1.0
    for n_iter in track(range(1, max_iter + 1), "logistic regression", total=max_iter):
        if problem.is_too_coarse(reached, damping):
            problem = replace(problem, tiled=False)
            reached = problem.at(reached.coefficients)
        step = problem.step(reached, damping, float(np.linalg.norm(reached.gradient) / steepest))
        slope = float(np.vdot(reached.gradient, step))
        if damping == 0 and -slope <= tol**2 * reached.value:
            return Minimum(reached.coefficients + step, n_iter, True)
        tried = problem.at(reached.coefficients + step)
        if tried.value <= reached.value + 1e-4 * slope + 1e-12 * reached.value:
            large = damping > 1e-6 * problem.typical_curvature(tried)
            reached, damping = tried, damping / 10 if large else 0.0
        else:
            damping = max(10 * damping, 1e-3 * problem.typical_curvature(reached))
    return Minimum(reached.coefficients, n_iter, False)


def step_by_products(
    hessian: Callable,
    inverse: Callable,
    gradient: np.ndarray,
    progress: float,
    tolerances: tuple[float, float],
    max_passes: int,
) -> np.ndarray:
    """Return −H⁻¹ gradient by conjugate gradients, each product ``hessian(direction)`` a pass.

    ``inverse`` is the preconditioner. The tolerance falls with ``progress``, the size of the
    gradient relative to the first one.
    """

    def on_vectors(function):
        shape = (gradient.size,) * 2
        return LinearOperator(
            shape, lambda vector: function(vector.reshape(gradient.shape)).ravel()
        )

    rtol = float(np.clip(np.sqrt(progress), *tolerances[::-1]))
    limits = {"rtol": rtol, "atol": 0.0, "maxiter": max_passes}
    step, _ = cg(on_vectors(hessian), -gradient.ravel(), M=on_vectors(inverse), **limits)
    return step.reshape(gradient.shape)


def tiles_of_rows(
    design: Callable, X: Any, targets: Any, weights: Any
) -> Iterator[tuple[np.ndarray, Any, np.ndarray]]:
    """Yield design, targets and weights of some rows of a block at a time."""
    for rows in tiles(X.shape[0], TILE_ROWS):
        A = design(X[rows])
        h = np.ones(len(A)) if weights is None else np.asarray(weights[rows], dtype=np.float64)
        yield A, targets[rows], h


def with_constant(features: Callable, X: Any) -> np.ndarray:
    """Return the features of a block of rows in float64, and a column of ones."""
    columns = features(X)
    design = np.ones((columns.shape[0], columns.shape[1] + 1))
    design[:, :-1] = columns
    return design


def without_constant(features: Callable, X: Any) -> np.ndarray:
    """Return the features of a block of rows in float64."""
    return np.asarray(features(X), dtype=np.float64)


def cholesky_factor(curvature, penalties):
    """Return a Cholesky factor; if rounding prevents it, a tiny multiple of I is added."""
    matrix = curvature.reshape(len(penalties), len(penalties)).copy()
    diagonal = np.einsum("ii->i", matrix)
    diagonal += penalties
    shift = 1e-14 * max(float(diagonal.max()), np.finfo(float).tiny)
    while True:
        try:
            return cho_factor(matrix, lower=True)
        except LinAlgError:
            diagonal += shift
            shift *= 10


def _shares(scores):
    """Return the softmax of each row and the logarithm of its denominator.

    The largest score of each row is subtracted from ``scores`` in place.
    """
    scores -= scores.max(axis=1, keepdims=True)
    shares = np.exp(scores)
    totals = shares.sum(axis=1, keepdims=True)
    shares /= totals
    return shares, np.log(totals[:, 0])


def _sums_block(design, code, coefficients, kind, tiled, X, codes, weights=None):
    n_columns, n_outputs = coefficients.shape
    loss, gradient = 0.0, np.zeros_like(coefficients)
    shapes = {
        "whole": (n_outputs, n_columns) * 2,
        "shared": (n_columns, n_columns),
        "diagonal": (n_columns,),
    }
    curvature, precision = np.zeros(shapes[kind]), np.float32 if tiled else np.float64
    for A, y, h in tiles_of_rows(design, X, codes, weights):
        scores = A @ coefficients @ code
        shares, log_totals = _shares(scores)
        own = np.arange(len(y)), np.asarray(y, dtype=np.intp)
        loss += h @ (log_totals - scores[own])
        # Σ_k E_ak p_k E_bk − (E p)_a (E p)_b is the curvature of a row in its outputs a and b.
        means = shares @ code.T
        if kind == "whole":
            for a in range(n_outputs):
                for b in range(a + 1):
                    bend = h * (shares @ (code[a] * code[b]) - means[:, a] * means[:, b])
                    if a == b:
                        curvature[a, :, a, :] += _gram(A, bend, precision)
                        continue
                    bent = (bend[:, None] * A).astype(precision, copy=False)
                    product = bent.T @ A.astype(precision, copy=False)
                    curvature[a, :, b, :] += product
                    curvature[b, :, a, :] += product
        else:
            bend = h * np.mean(shares @ (code**2).T - means**2, axis=1)
            curvature += _gram(A, bend, precision) if kind == "shared" else bend @ A**2
        shares[own] -= 1
        gradient += A.T @ (h[:, None] * (shares @ code.T))
    return loss, gradient, curvature


def _gram(A, weights, precision):
    """Return Aᵀ diag(weights) A as a symmetric product, of which BLAS computes one half."""
    scaled = np.empty(A.shape, precision)
    np.multiply(np.sqrt(np.maximum(weights, 0.0))[:, None], A, out=scaled, casting="same_kind")
    return scaled.T @ scaled


def _product_block(design, code, coefficients, direction, X, codes, weights=None):
    """Return Σ_i h_i φ_i E (diag p − ppᵀ) Eᵀ (Vᵀφ_i): the Hessian of the loss times V."""
    product = np.zeros_like(coefficients)
    for A, _, h in tiles_of_rows(design, X, codes, weights):
        shares, _ = _shares(A @ coefficients @ code)
        moved = A @ direction @ code
        moved -= np.sum(shares * moved, axis=1, keepdims=True)
        product += A.T @ (h[:, None] * ((shares * moved) @ code.T))
    return product
