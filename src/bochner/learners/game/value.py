"""What a fitted game is worth: computed upper and lower values, in place of the theorem's worst
case.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from ...data import Block, Rows
from ...measures.harmonic import HarmonicMeasure

# The machine of the upper value is fitted on at most this many numbers (32 MB) and rows, on one
# thread; more rows are sampled.  Any machine gives a valid upper value, so sampling costs
# tightness, not truth: a machine of few numbers needs few rows.
_MACHINE_ENTRIES, _MACHINE_ROWS = 2**22, 2**15
# How far the corner of the hinge is rounded, stage by stage.  The value of a machine is above the
# least one by up to a share of the last: some 5e-4 of it at 0.005, which does where machines only
# lead to weights, and 1e-6 at the end of the finer ones.
_SMOOTHINGS = (2.0, 0.5, 0.2, 0.05, 0.02, 0.005)
_FINER = (1e-3, 2e-4, 4e-5, 8e-6)


@dataclass(frozen=True)
class GameCertificate:
    """Between which bounds the value of the game lies: ``lower`` <= min over kernels of the best
    SVM objective <= ``upper``.

    ``margin`` is 1 / √(2 upper), what an SVM with the same C reaches on the learned kernel at
    least; ``competitive_ratio`` is √(lower / upper), a lower bound of margin / best possible
    margin. ``exact`` says whether ``lower`` is a proof: with a local peak search there may be a
    higher peak, and then ``lower`` and the ratio are estimates, no certificate. ``scope`` names the
    kernels that the comparison ranges over.
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
    """F(sα, best kernel) for the best feasible scaling s of α; a lower value of the game if the
    potential is the largest.
    """
    linear, curvature = dual.payoff(alpha)
    return dual.scaled(linear, largest_potential + 2 * curvature)


def upper_value(measure: Any, rows: Rows, dual: Any) -> float:
    """max over α of F(α, measure), from above: the primal objective of a machine on the measure's
    features.

    By weak duality every machine (w, b) gives a valid upper value; where the rows fit in memory
    this one is within some 1e-6 of the least (C up to 100 on 150 rows: 7e-6 at most, of SVC's).
    """
    n_rows = min(_MACHINE_ROWS, max(200, _MACHINE_ENTRIES // measure.n_columns))
    picked = rows.spread(n_rows, dual.weights)
    features, sample = measure.features(rows.take(picked)), dual.sampled(picked)
    coefficients, intercepts, _ = fit_machine(features, sample, smoothings=_SMOOTHINGS + _FINER)
    penalty = float(np.sum(coefficients**2)) / 2
    if len(picked) == dual.sum(np.count_nonzero, dual.weights):
        return penalty + sample.summed(sample.primal_loss(features @ coefficients + intercepts))
    machine = coefficients, intercepts, dual.without_rows()
    losses = rows.sum(
        on_features(_primal_losses, measure, rows, *machine), dual.targets, dual.weights
    )
    return penalty + float(losses)


def _primal_losses(features, coefficients, intercepts, dual, X, targets, weights):
    problem = dual.on(targets, weights)
    return problem.summed(
        problem.primal_loss(features(X).astype(np.float64, copy=False) @ coefficients + intercepts)
    )


def on_features(function: Any, measure: Any, rows: Rows, *parameters: Any) -> Block:
    """``function(features of a block of rows, *parameters, X, ...)`` as a block function that knows
    what a row needs.
    """
    harmonic = isinstance(measure, HarmonicMeasure)
    features = measure.block(rows.n_features) if harmonic else measure.block()
    return Block(
        function, features, *parameters, row_bytes=features.row_bytes + 16 * measure.n_columns
    )


def fit_machine(
    features: np.ndarray, dual: Any, start: Any = None, smoothings: tuple[float, ...] = _SMOOTHINGS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(coefficients, intercepts, dual weights) of the machine on given features, one column per
    problem.

    Newton's method on the objective with its corner rounded, the rounding shrunk in stages; exact
    for smooth losses.
    """
    solutions = []
    for k in range(dual.targets.shape[1]):
        first = None if start is None else np.append(start[0][:, k], start[1][k])
        solutions.append(
            _fit_column(features.astype(np.float64, copy=False), dual.column(k), first, smoothings)
        )
    coefficients = np.column_stack([w[:-1] for w, _ in solutions])
    intercepts = np.array([w[-1] for w, _ in solutions])
    slopes = np.column_stack([s for _, s in solutions])
    return coefficients, intercepts, dual.from_slopes(slopes)


def _fit_column(features, problem, start, smoothings):
    counts, n_columns = problem.weights, features.shape[1]
    ridge = np.append(np.ones(n_columns), 0.0)
    # The intercept carries no penalty; this keeps its Newton step finite when hardly a row is near
    # the margin.
    damped = np.append(np.ones(n_columns), 1e-4 * problem.C * problem.total)
    weights = np.zeros(n_columns + 1) if start is None else start.copy()
    scores = features @ weights[:-1] + weights[-1]
    for smoothing in smoothings:
        for _ in range(25):
            loss, slope, curve = (part[:, 0] for part in problem.primal(scores[:, None], smoothing))
            slope = counts * slope
            gradient = np.append(features.T @ slope, slope.sum()) + ridge * weights
            value = counts @ loss + ridge @ weights**2 / 2
            step = -_newton_solve(features, counts * curve, damped, gradient)
            change = features @ step[:-1] + step[-1]
            decrease = -gradient @ step
            if decrease <= 1e-10 * (1 + abs(value)):
                break
            rate = 1.0
            while rate > 1e-6:
                moved = (
                    counts @ problem.primal((scores + rate * change)[:, None], smoothing)[0][:, 0]
                )
                if (
                    moved + ridge @ (weights + rate * step) ** 2 / 2
                    <= value - 1e-4 * rate * decrease
                ):
                    break
                rate /= 2
            weights = weights + rate * step
            scores = scores + rate * change
    return weights, problem.primal(scores[:, None], smoothings[-1])[1][:, 0]


def _newton_solve(features, curve, ridge, gradient):
    """(diag ridge + Φ̃ᵀ diag(curve) Φ̃)⁻¹ gradient, Φ̃ the features and a one; in the smaller of
    the two dimensions.
    """
    active = np.flatnonzero(curve)
    rows = (
        np.column_stack([features[active], np.ones(len(active))]) * np.sqrt(curve[active])[:, None]
    )
    if len(active) < len(ridge):
        whitened = rows / ridge
        inner = rows @ whitened.T + np.eye(len(active))
        return gradient / ridge - whitened.T @ scipy.linalg.solve(
            inner, whitened @ gradient, assume_a="pos"
        )
    hessian = rows.T @ rows
    hessian[np.diag_indices_from(hessian)] += ridge
    return scipy.linalg.solve(hessian, gradient, assume_a="pos")
