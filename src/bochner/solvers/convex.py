"""Newton's method for operator-valued models with any convex loss (Brault et al. 2016, Eq. 11)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from .._terminal.progress import track
from ..data import Block, Rows
from ..losses import Loss
from ..operators import OperatorMeasure
from .newton import (
    MOST_PRODUCTS,
    MOST_UNKNOWNS,
    Minimum,
    Reached,
    cholesky_factor,
    step_by_products,
    tiles_of_rows,
    with_constant,
)
from .problem import lifted_gram

_STEP_TOLERANCES, _MOST_STEP_PASSES = (0.1, 1e-4), 300
# Widths over which corners of losses are rounded, in units of the loss; each stage starts at the
# result of the previous one.
_WIDTHS = (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)
_EARLY_TOLERANCE = 1e-3
# A decrease by less than this share of the objective may be lost in rounding.
_ROUNDING = 1e-9
# Shares of a step that are compared if the whole step is too long.
_SHORTER = 2.0 ** -np.arange(1, 31)
# Losses with a corner may have almost no curvature: this share of the rows' weight is then added to
# that of the constants, in steps, not in the objective.
_ADDED_SHARE = 1e-4


@dataclass(frozen=True)
class ObservedLoss(Loss):
    """A loss of the observed outputs, for targets with NaN; the outputs must not be coupled.

    The value has a constant for each missing output, which changes no minimum.
    """

    loss: Loss

    def values(self, targets, scores):
        observed = ~np.isnan(targets)
        return self.loss.values(np.nan_to_num(targets), np.where(observed, scores, 0.0))

    def derivatives(self, targets, scores):
        observed, filled = ~np.isnan(targets), np.nan_to_num(targets)
        slopes, curvatures = self.loss.derivatives(filled, scores)
        return slopes * observed, curvatures * observed

    def bend(self, targets, scores, direction):
        bend = self.loss.bend(np.nan_to_num(targets), scores, direction)
        return bend * ~np.isnan(targets)

    def least(self, targets):
        return self.loss.least(np.nan_to_num(targets))

    def rounded(self, width):
        rounded = self.loss.rounded(width)
        return self if rounded is self.loss else replace(self, loss=rounded)

    def start(self, targets, weights):
        columns = [(column[:, None], ~np.isnan(column)) for column in targets.T]
        return np.concatenate(
            [self.loss.start(column[seen], weights[seen]) for column, seen in columns]
        )


@dataclass(frozen=True, eq=False)
class ConvexProblem:
    r"""Minimize over θ and b

    .. math:: \sum_i h_i\, \ell(y_i, \Psi(x_i) \theta + b) + \tfrac{\alpha}{2} \|\theta\|^2

    Ψ the features of ``measure``, y ``targets`` (n_samples, n_outputs), h ``weights`` (or None).
    The unknowns are one vector, θ and then b if ``constant``. Ψ is never built: Ψ(x) θ = φ(x)
    expand(θ), and ``contract`` is the transpose.
    """

    rows: Rows
    targets: Any
    weights: Any
    measure: OperatorMeasure
    loss: Loss
    alpha: float
    constant: bool

    @property
    def n_unknowns(self) -> int:
        return self.measure.n_columns + self.constant * self.measure.n_outputs

    @cached_property
    def _penalties(self) -> np.ndarray:
        n_columns = self.measure.n_columns
        return np.append(np.full(n_columns, self.alpha), np.zeros(self.n_unknowns - n_columns))

    @cached_property
    def _signals(self) -> list[Any]:
        return [self.rows.persist(of) for of in (self.targets, self.weights) if of is not None]

    @cached_property
    def _total(self) -> float:
        """Weight of all rows."""
        return float(len(self.rows) if self.weights is None else np.sum(self.weights))

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        """Pairs of outputs that the second derivative of a row mixes."""
        coupled, n = self.loss.couples_outputs, self.measure.n_outputs
        return [(a, b) for a in range(n) for b in range(a + 1) if coupled or a == b]

    @property
    def _whole(self) -> bool:
        return self.n_unknowns <= MOST_UNKNOWNS and len(self._pairs) <= MOST_PRODUCTS

    def coefficients(self, unknowns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients of the scalar features, (2 n_atoms, n_outputs), and constants."""
        theta, constants = np.split(unknowns, [self.measure.n_columns])
        constants = constants if self.constant else np.zeros(self.measure.n_outputs)
        return self.measure.expand(theta), constants

    def _contracted(self, sums):
        """Apply the transpose of ``coefficients`` to sums (2 n_atoms + 1, n_outputs)."""
        theta = self.measure.contract(sums[:-1])
        return np.append(theta, sums[-1]) if self.constant else theta

    def at(self, unknowns: np.ndarray) -> Reached:
        """Return value, gradient and curvature, in one pass over the rows."""
        block = _sums_block, *self.coefficients(unknowns), self._pairs, self._whole
        loss, pull, curvature = self._sum(*block)
        value = float(loss) + 0.5 * float(self._penalties @ unknowns**2)
        gradient = self._contracted(pull) + self._penalties * unknowns
        curvature = self._hessian(curvature) if self._whole else self._diagonal(curvature)
        return Reached(unknowns, value, gradient, curvature)

    def _hessian(self, curvature):
        """Return Σ_ab F_jar W_ab,jk F_kbq, W_ab = Σ_i h_i ℓ''_ab φ_i φ_iᵀ, F the atoms' factors."""
        m = len(self.measure)
        factors = np.broadcast_to(self.measure.factors, (m, *self.measure.factors.shape[1:]))
        n_columns, size = self.measure.n_columns, self.n_unknowns
        outputs = np.arange(self.measure.n_outputs)
        hessian = np.zeros((size, size))
        theta = hessian[:n_columns, :n_columns]
        for (a, b), sums in zip(self._pairs, curvature, strict=True):
            product = lifted_gram(sums[:-1, :-1], factors[:, a, :], factors[:, b, :])
            theta += product if a == b else product + product.T
            if self.constant:
                for one, other in {(a, b), (b, a)}:
                    column = self.measure.contract(np.outer(sums[:-1, -1], outputs == one))
                    hessian[:n_columns, n_columns + other] += column
                    hessian[n_columns + other, :n_columns] += column
                    hessian[n_columns + one, n_columns + other] += sums[-1, -1]
        return hessian

    def _diagonal(self, curvature):
        """Return the diagonal from Σ_i h_i ℓ''_ab φ_ij², approximately for complex factors."""
        m = len(self.measure)
        factors = np.broadcast_to(self.measure.factors, (m, *self.measure.factors.shape[1:]))
        diagonal = np.zeros((2, m, self.measure.rank))
        for (a, b), sums in zip(self._pairs, curvature, strict=True):
            twice = 1 if a == b else 2
            weighted = twice * sums[:-1].reshape(2, m, 1) * factors[:, a, :].conj()
            diagonal += (weighted * factors[:, b, :]).real
        if not self.constant:
            return diagonal.ravel()
        own = {a: sums[-1] for (a, b), sums in zip(self._pairs, curvature, strict=True) if a == b}
        return np.append(diagonal.ravel(), [own[a] for a in range(self.measure.n_outputs)])

    def along(self, unknowns: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return the objective after each of the shorter steps, in one pass."""
        arguments = *self.coefficients(unknowns), *self.coefficients(step), _SHORTER
        places = unknowns + _SHORTER[:, None] * step
        return self._sum(_values_block, *arguments) + 0.5 * places**2 @ self._penalties

    def step(self, reached: Reached, progress: float = 0.0) -> np.ndarray:
        """Return −H⁻¹ gradient, by Cholesky or by conjugate gradients.

        ``progress`` is the size of the gradient relative to the first one.
        """
        penalties = self._penalties
        if self.constant and self.loss.rounded(1.0) is not self.loss:
            penalties = penalties + _ADDED_SHARE * self._total * (penalties == 0)
        if self._whole:
            return -cho_solve(cholesky_factor(reached.curvature, penalties), reached.gradient)
        at = self.coefficients(reached.coefficients)
        # Without curvature in any row, that of a constant would be zero.
        diagonal = reached.curvature + penalties
        inverse = 1 / np.maximum(diagonal, 1e-12 * (1 + np.max(diagonal)))

        def hessian(direction):
            sums = self._sum(_product_block, *at, *self.coefficients(direction))
            return self._contracted(sums) + penalties * direction

        return step_by_products(
            hessian,
            lambda vector: inverse * vector,
            reached.gradient,
            progress,
            _STEP_TOLERANCES,
            _MOST_STEP_PASSES,
        )

    def _sum(self, function, *arguments):
        row_bytes = 8 * (self.measure.scalar.n_columns + 4 * self.measure.n_outputs)
        design = Block(with_constant, self.measure.scalar.block())
        block = Block(function, design, self.loss, *arguments, row_bytes=row_bytes)
        return self.rows.sum(block, *self._signals)


def minimize_convex(
    problem: ConvexProblem, start: np.ndarray, tol: float, max_iter: int, unit: float = 1.0
) -> Minimum:
    """Return the minimum; a loss with a corner is rounded in stages, over 1e-4 of ``unit`` last."""
    if problem.loss.rounded(1.0) is problem.loss:
        return _minimized(problem, start, tol, max_iter)
    n_iter, minimum = 0, Minimum(start, 0, False)
    for width in track(_WIDTHS, "convex loss"):
        stage = replace(problem, loss=problem.loss.rounded(width * unit))
        stage_tol = tol if width == _WIDTHS[-1] else max(tol, _EARLY_TOLERANCE)
        minimum = _minimized(stage, minimum.coefficients, stage_tol, max_iter)
        n_iter += minimum.n_iter
    return minimum._replace(n_iter=n_iter)


def _minimized(problem, start, tol, max_iter):
    """Minimize by Newton's method; if a step is too long, one pass compares shorter ones.

    It stops after a step that, measured by the curvature, is smaller than ``tol`` relative to the
    objective.
    """
    reached, n_iter = problem.at(start), 1
    steepest = np.linalg.norm(reached.gradient) or 1.0
    for n_iter in track(range(1, max_iter + 1), "Newton's method", total=max_iter):
        step = problem.step(reached, float(np.linalg.norm(reached.gradient) / steepest))
        slope = float(np.vdot(reached.gradient, step))
        tried = problem.at(reached.coefficients + step)
        small = -slope <= tol**2 * max(reached.value, np.finfo(float).tiny)
        if tried.value > reached.value + 1e-4 * slope + 1e-14 * reached.value:
            if small:  # rounding is all that is left
                return Minimum(reached.coefficients, n_iter, True)
            values = problem.along(reached.coefficients, step)
            best = int(np.argmin(values))
            if not values[best] < reached.value:  # rounding, or a direction that leads nowhere
                return Minimum(reached.coefficients, n_iter, -slope <= _ROUNDING * reached.value)
            tried = problem.at(reached.coefficients + _SHORTER[best] * step)
        reached = tried
        if small:
            return Minimum(reached.coefficients, n_iter, True)
    return Minimum(reached.coefficients, n_iter, False)


def _sums_block(design, loss, coefficients, constants, pairs, whole, X, targets, weights=None):
    size, n_outputs = len(coefficients) + 1, len(constants)
    total, pull = 0.0, np.zeros((size, n_outputs))
    curvature = np.zeros((len(pairs), size, size) if whole else (len(pairs), size))
    for A, y, h in tiles_of_rows(design, X, targets, weights):
        scores = A[:, :-1] @ coefficients + constants
        total += h @ (loss.values(y, scores) - loss.least(y))
        pull += A.T @ (h[:, None] * loss.gradient(y, scores))
        if loss.couples_outputs:
            bends = [loss.bend(y, scores, np.tile(unit, (len(y), 1))) for unit in np.eye(n_outputs)]
        else:
            bend = loss.bend(y, scores, np.ones_like(scores))
            bends = [bend] * n_outputs
        for k, (a, b) in enumerate(pairs):
            weighted = (h * bends[b][:, a])[:, None] * A
            curvature[k] += weighted.T @ A if whole else np.sum(weighted * A, axis=0)
    return total, pull, curvature


def _values_block(
    design, loss, coefficients, constants, direction, shift, lengths, X, targets, weights=None
):
    """Return Σ_i h_i ℓ after steps of these lengths along a direction."""
    totals = np.zeros(len(lengths))
    for A, y, h in tiles_of_rows(design, X, targets, weights):
        scores, moved = A[:, :-1] @ coefficients + constants, A[:, :-1] @ direction + shift
        totals += [
            h @ (loss.values(y, scores + length * moved) - loss.least(y)) for length in lengths
        ]
    return totals


def _product_block(
    design, loss, coefficients, constants, direction, shift, X, targets, weights=None
):
    """Return Σ_i h_i φ_i ℓ''(direction of the scores): the Hessian times a direction."""
    product = np.zeros((len(coefficients) + 1, len(constants)))
    for A, y, h in tiles_of_rows(design, X, targets, weights):
        scores, moved = A[:, :-1] @ coefficients + constants, A[:, :-1] @ direction + shift
        product += A.T @ (h[:, None] * loss.bend(y, scores, moved))
    return product
