"""Upper and lower values of a fitted game, computed instead of bounded by a theorem."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from ...data import Block, Rows
from ...measures.harmonic import HarmonicMeasure
from .duals import PrimalLoss

# The machine of the upper value is fitted on at most this many numbers (32 MB) and rows; more rows
# are sampled. Any machine gives a valid upper value, so sampling makes it larger, never wrong.
_MACHINE_ENTRIES, _MACHINE_ROWS = 2**22, 2**15
# Widths over which the corner of the hinge is rounded, stage by stage. At 0.005 the value of a
# machine is about 5e-4 above the least one, which is enough to find weights. After the finer ones
# it is 1e-6 above.
_SMOOTHINGS = (2.0, 0.5, 0.2, 0.05, 0.02, 0.005)
_FINER = (1e-3, 2e-4, 4e-5, 8e-6)


@dataclass(frozen=True)
class GameCertificate:
    """Bounds of the value of the game: min over kernels of the best SVM objective.

    ``lower`` <= value <= ``upper``. An SVM with the same C has at least the margin ``margin``,
    1 / √(2 upper), on the learned kernel. ``competitive_ratio`` is √(lower / upper), a lower bound
    of margin / best possible margin. ``exact`` is False for a local peak search: there may be a
    higher peak. Then ``lower`` and the ratio are estimates. ``scope`` names the kernels that are
    compared.
    """

    upper: float
    lower: float
    exact: bool
    scope: str

    @property
    def margin(self) -> float:
        return float(1 / np.sqrt(2 * self.upper)) if self.upper > 0 else float("inf")

    @property
    def competitive_ratio(self) -> float:
        return float(np.sqrt(max(self.lower, 0.0) / self.upper)) if self.upper > 0 else 1.0


def lower_value(dual: Any, alpha: np.ndarray, largest_potential: float) -> float:
    """Return F(sα, best kernel) for the best feasible s; a lower value if v is the largest."""
    linear, curvature = dual.payoff(alpha)
    return dual.scaled(linear, largest_potential + 2 * curvature)


def upper_value(measure: Any, rows: Rows, dual: Any) -> float:
    """Return an upper bound of max over α of F(α, measure): the objective of a machine.

    By weak duality every machine (w, b) on the measure's features gives a valid upper value. If the
    rows fit in memory, this one is within about 1e-6 of the least.
    """
    n_rows = min(_MACHINE_ROWS, max(200, _MACHINE_ENTRIES // measure.n_columns))
    picked = rows.spread(n_rows, dual.weights)
    features, sample = measure.features(rows.take(picked)), dual.sampled(picked)
    coefficients, intercepts, _ = fit_machine(features, sample, smoothings=_SMOOTHINGS + _FINER)
    penalty = float(np.sum(coefficients**2)) / 2
    if len(picked) == dual.sum(np.count_nonzero, dual.weights):
        return penalty + sample.summed(sample.primal_loss(features @ coefficients + intercepts))
    rule = dual.without_rows()
    block = on_features(_primal_losses, measure, rows, coefficients, intercepts, rule)
    losses = rows.sum(block, dual.targets, dual.weights)
    return penalty + float(losses)


def _primal_losses(features, coefficients, intercepts, dual, X, targets, weights):
    problem = dual.on(targets, weights)
    scores = features(X).astype(np.float64, copy=False) @ coefficients + intercepts
    return problem.summed(problem.primal_loss(scores))


def on_features(function: Any, measure: Any, rows: Rows, *parameters: Any) -> Block:
    """Return the block function ``function(feature map, *parameters, X, ...)``."""
    harmonic = isinstance(measure, HarmonicMeasure)
    features = measure.block(rows.n_features) if harmonic else measure.block()
    row_bytes = features.row_bytes + 16 * measure.n_columns
    return Block(function, features, *parameters, row_bytes=row_bytes)


def fit_machine(
    features: np.ndarray,
    dual: Any,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    smoothings: tuple[float, ...] = _SMOOTHINGS,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fit a support vector machine or ridge on given features, one column per problem.

    Return coefficients, intercepts and dual weights. The corner of the hinge is rounded, over a
    width that shrinks in stages; each stage uses Newton's method. Smooth losses are not rounded.
    ``start`` are coefficients and intercepts.
    """
    features = features.astype(np.float64, copy=False)
    columns = []
    for k in range(dual.targets.shape[1]):
        column = _Column(features, dual.column(k))
        if start is not None:
            column.move_to(np.append(start[0][:, k], start[1][k]))
        for smoothing in smoothings:
            column.minimize(smoothing)
        columns.append(column)
    coefficients = np.column_stack([column.weights[:-1] for column in columns])
    intercepts = np.array([column.weights[-1] for column in columns])
    slopes = np.column_stack([column.loss(column.scores, smoothing).slopes for column in columns])
    return coefficients, intercepts, dual.from_slopes(slopes)


class _Column:
    """One problem of a machine: its weights, the intercept last, and its scores."""

    def __init__(self, features, problem):
        n_columns = features.shape[1]
        self.features, self.problem = features, problem
        self.ridge = np.append(np.ones(n_columns), 0.0)
        # The intercept has no penalty; this keeps its Newton step finite if hardly any row is near
        # the margin.
        self.damped = np.append(np.ones(n_columns), 1e-4 * problem.C * problem.total)
        self.move_to(np.zeros(n_columns + 1))

    def move_to(self, weights):
        self.weights, self.scores = weights, self._scores(weights)

    def _scores(self, weights):
        return self.features @ weights[:-1] + weights[-1]

    def loss(self, scores, smoothing):
        """Return the rounded loss of each row and its derivatives, as vectors."""
        return PrimalLoss(*(part[:, 0] for part in self.problem.primal(scores[:, None], smoothing)))

    def _objective(self, weights, losses):
        return self.problem.weights @ losses + self.ridge @ weights**2 / 2

    def minimize(self, smoothing):
        """Take Newton steps with halving until the objective no longer decreases."""
        counts, features = self.problem.weights, self.features
        for _ in range(25):
            loss = self.loss(self.scores, smoothing)
            slopes = counts * loss.slopes
            gradient = np.append(features.T @ slopes, slopes.sum()) + self.ridge * self.weights
            value = self._objective(self.weights, loss.values)
            step = -_newton_solve(features, counts * loss.curvatures, self.damped, gradient)
            change = self._scores(step)
            decrease = -gradient @ step
            if decrease <= 1e-10 * (1 + abs(value)):
                return
            rate = 1.0
            while rate > 1e-6:
                losses = self.loss(self.scores + rate * change, smoothing).values
                objective = self._objective(self.weights + rate * step, losses)
                if objective <= value - 1e-4 * rate * decrease:
                    break
                rate /= 2
            self.weights = self.weights + rate * step
            self.scores = self.scores + rate * change


def _newton_solve(features, curve, ridge, gradient):
    """Return (diag ridge + Φ̃ᵀ diag(curve) Φ̃)⁻¹ gradient, Φ̃ the features and a one.

    The system is solved in the smaller of its two dimensions.
    """
    active = np.flatnonzero(curve)
    rows = np.column_stack([features[active], np.ones(len(active))])
    rows = rows * np.sqrt(curve[active])[:, None]
    if len(active) < len(ridge):
        whitened = rows / ridge
        inner = rows @ whitened.T + np.eye(len(active))
        solved = scipy.linalg.solve(inner, whitened @ gradient, assume_a="pos")
        return gradient / ridge - whitened.T @ solved
    hessian = rows.T @ rows
    hessian[np.diag_indices_from(hessian)] += ridge
    return scipy.linalg.solve(hessian, gradient, assume_a="pos")
