"""One round of second-order boosting: candidates, closed-form amplitudes, refined frequency.

The scores H have gradients g and curvatures h, and a weak learner is a c + b s with c = cos(ω·x)
and s = sin(ω·x). It lowers the quadratic model of the loss most for (a, b) = −(M + ρI)⁻¹ r, with
r = Σ g (c, s) and M = Σ h (c, s)(c, s)ᵀ. The decrease is ½ rᵀ(M + ρI)⁻¹ r, a weighted least-squares
periodogram. Arrays are (features, rows), so that the cosines of one frequency are contiguous.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.optimize import fmin_l_bfgs_b
from sklearn.base import BaseEstimator

from .._checks import check_count, check_positive, check_share
from .._estimator import keyword_only_from
from .._loops.lazy import waves as kernels
from ..losses import Loss

# Above this many columns L-BFGS replaces Gauss–Newton, whose d x d system costs more than it saves.
LARGEST_NEWTON_DIMENSION = 128
_STEP_LENGTHS = (1.0, 0.3, 0.1)


class Wave(NamedTuple):
    """One frequency with its amplitudes: f_k(x) = cosine_k cos(ω·x) + sine_k sin(ω·x)."""

    frequency: np.ndarray
    cosine: np.ndarray
    sine: np.ndarray

    def values(self, columns: np.ndarray) -> np.ndarray:
        """Return values (n_rows, n_outputs) on ``columns`` (n_features, n_rows), in their dtype."""
        angle = self.frequency.astype(columns.dtype) @ columns
        cosine, sine = self.cosine.astype(columns.dtype), self.sine.astype(columns.dtype)
        return np.multiply.outer(np.cos(angle), cosine) + np.multiply.outer(np.sin(angle), sine)


class ClosedForm(NamedTuple):
    """Best amplitudes (n_waves, n_outputs) and the decrease of the quadratic model (n_waves,)."""

    cosine: np.ndarray
    sine: np.ndarray
    gain: np.ndarray


class QuadraticModel:
    """Objective of a round: Σ_i g_i f_i + ½ h_i f_i² for f = a cos + b sin, for each output.

    (a, b) have the ridge ρ. ``gradient`` and ``curvature`` are (n_rows, n_outputs). If all outputs
    share the curvature, it is (n_rows, 1).
    """

    def __init__(self, gradient: np.ndarray, curvature: np.ndarray, ridge: float):
        self.gradient, self.curvature, self.ridge = gradient, curvature, ridge
        self._total = curvature.sum(axis=0, dtype=np.float64) + ridge

    def solve(self, turns: np.ndarray) -> tuple[np.ndarray, np.ndarray, ClosedForm]:
        """Return cosines, sines and best amplitudes of waves in half-turns, (n_waves, n_rows)."""
        cosines, sines = np.empty_like(turns), np.empty_like(turns)
        if self.gradient.shape[1] == 1:
            sums = np.empty((4, len(turns), 1), turns.dtype)
            kernels.wave_sums(
                turns, self.gradient[:, 0], self.curvature[:, 0], cosines, sines, sums[..., 0]
            )
            r_cosine, r_sine, double, mixed = sums.astype(np.float64)
        else:
            kernels.trigonometry(turns, sines, cosines)
            r_cosine, r_sine = cosines @ self.gradient, sines @ self.gradient
            double, mixed = (cosines * cosines) @ self.curvature, (cosines * sines) @ self.curvature
        m_cosine, m_sine = double + self.ridge, self._total - double
        determinant = m_cosine * m_sine - mixed**2
        cosine = (mixed * r_sine - m_sine * r_cosine) / determinant
        sine = (mixed * r_cosine - m_cosine * r_sine) / determinant
        gain = -0.5 * (cosine * r_cosine + sine * r_sine).sum(axis=1)
        return cosines, sines, ClosedForm(cosine, sine, gain)

    def slopes(self, state: _State) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ_k (g + h f) f' and Σ_k h f'² of each row, with f' the derivative in ω·x.

        X times the first one is the gradient in ω.
        """
        dtype = state.cosines.dtype
        cosine, sine = state.fit.cosine.astype(dtype), state.fit.sine.astype(dtype)
        if len(cosine) == 1:
            pull, stiffness = np.empty_like(state.cosines), np.empty_like(state.cosines)
            signals = self.gradient[:, 0], self.curvature[:, 0], cosine[0], sine[0]
            kernels.wave_slopes(state.cosines, state.sines, *signals, pull, stiffness)
            return pull, stiffness
        values = np.multiply.outer(state.cosines, cosine) + np.multiply.outer(state.sines, sine)
        slopes = np.multiply.outer(state.cosines, sine) - np.multiply.outer(state.sines, cosine)
        pull = np.sum((self.gradient + self.curvature * values) * slopes, axis=1)
        return pull, np.sum(self.curvature * slopes**2, axis=1)


@keyword_only_from("0.4", old_order=("n_candidates", "n_refinements"))
@dataclass(eq=False, repr=False)
class WaveSearch(BaseEstimator):
    """Search for the wave of a round: draw candidates, refine the best one, and make a step.

    Parameters
    ----------
    n_candidates : int, default 8
        Frequencies drawn in each round, scored in one matrix product.
    n_refinements : int, default 2
        Gauss–Newton steps on the best one; above 128 columns twice as many L-BFGS iterations.
    amplitude_penalty : float, default 3.0
        Ridge on amplitudes, in units of the summed loss: it counts for less as rows are added.
    frequency_penalty : float, default 0.01
        Ridge on ‖ω‖² times the number of columns, in units of the summed loss. In regression
        (except of counts) the unit is the remaining loss relative to that of a constant.
    line_search : bool, default True
        Exact search along each wave before the learning rate is applied: the training loss never
        rises.
    subsample : float, default 1.0
        Share of the rows that a round uses.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bochner import FourierBoostingClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> search = WaveSearch(n_candidates=2)
    >>> model = FourierBoostingClassifier(n_rounds=20, search=search, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    """

    _: KW_ONLY
    n_candidates: int = 8
    n_refinements: int = 2
    amplitude_penalty: float = 3.0
    frequency_penalty: float = 0.01
    line_search: bool = True
    subsample: float = 1.0

    def check_parameters(self) -> None:
        """Raise an error for parameters that cannot be used."""
        check_count(self.n_candidates, "n_candidates")
        check_count(self.n_refinements, "n_refinements", minimum=0)
        check_positive(self.amplitude_penalty, "amplitude_penalty")
        check_positive(self.frequency_penalty, "frequency_penalty", allow_zero=True)
        check_share(self.subsample, "subsample", allow_one=True)

    def find(
        self,
        columns: np.ndarray,
        thinned: np.ndarray,
        model: QuadraticModel,
        frequencies: np.ndarray,
    ) -> tuple[Wave, np.ndarray]:
        """Return the best wave after refinement, and its values (n_rows, n_outputs).

        ``thinned`` are the columns of some rows, evenly spread.
        """
        frequencies = frequencies.astype(columns.dtype)
        turns = (frequencies / np.pi).astype(columns.dtype) @ columns
        cosines, sines, fits = model.solve(turns)
        penalized = fits.gain - self._penalty(frequencies)
        best = int(np.argmax(penalized))
        fit = ClosedForm(*(part[best] for part in fits))
        state = _State(
            frequencies[best], turns[best], cosines[best], sines[best], fit, penalized[best]
        )
        if self.n_refinements:
            if len(columns) <= LARGEST_NEWTON_DIMENSION:
                state = self._newton(columns, thinned, model, state)
            else:
                state = self._lbfgs(columns, model, state)
        wave = Wave(state.frequency.astype(np.float64), state.fit.cosine, state.fit.sine)
        cosine, sine = state.fit.cosine.astype(columns.dtype), state.fit.sine.astype(columns.dtype)
        return wave, np.outer(state.cosines, cosine) + np.outer(state.sines, sine)

    def _penalty(self, frequencies):
        return self._penalty_weight(frequencies) * np.square(frequencies, dtype=np.float64).sum(
            axis=-1
        )

    def _penalty_weight(self, frequencies):
        return self.frequency_penalty * frequencies.shape[-1]

    def _state(self, frequency, turns, model):
        cosines, sines, fit = model.solve(turns[None])
        fit = ClosedForm(*(part[0] for part in fit))
        return _State(
            frequency, turns, cosines[0], sines[0], fit, fit.gain - self._penalty(frequency)
        )

    def _newton(self, columns, thinned, model, state):
        """Refine ω by damped Gauss–Newton steps with the best amplitudes at each ω.

        A step that gains nothing is shortened or dropped. Some rows are enough for the matrix, as
        it only shapes the step. The gain of the step is measured on all rows.
        """
        stride = -(-columns.shape[1] // thinned.shape[1])
        penalty = 2 * self._penalty_weight(state.frequency)
        for _ in range(self.n_refinements):
            pull, stiffness = model.slopes(state)
            target = columns @ pull + penalty * state.frequency
            matrix = ((thinned * np.ascontiguousarray(stiffness[::stride])) @ thinned.T).astype(
                np.float64
            )
            matrix *= stride
            damping = penalty + 1e-3 * np.trace(matrix) / len(columns) + 1e-12
            matrix.flat[:: len(columns) + 1] += damping
            _, step, failed = dposv(matrix, -target.astype(np.float64))
            if failed:  # by rounding, for rows that hardly differ: there is nothing to gain
                return state
            direction = step.astype(columns.dtype)
            moved = (direction / np.pi).astype(columns.dtype) @ columns
            for length in map(columns.dtype.type, _STEP_LENGTHS):
                trial = self._state(
                    state.frequency + length * direction, state.turns + length * moved, model
                )
                if trial.objective > state.objective:
                    break
            else:
                return state
            state = trial
        return state

    def _lbfgs(self, columns, model, state):
        """Refine ω by L-BFGS with the envelope gradient, for many columns."""

        def at(frequency):
            frequency = frequency.astype(columns.dtype)
            return self._state(
                frequency, (frequency / np.pi).astype(columns.dtype) @ columns, model
            )

        def objective(frequency):
            state = at(frequency)
            slope = (columns @ model.slopes(state)[0]).astype(np.float64)
            return -float(state.objective), slope + 2 * self._penalty_weight(frequency) * frequency

        best, _, _ = fmin_l_bfgs_b(
            objective, state.frequency.astype(np.float64), maxiter=2 * self.n_refinements
        )
        trial = at(best)
        return trial if trial.objective > state.objective else state


class _State(NamedTuple):
    frequency: np.ndarray
    turns: np.ndarray
    cosines: np.ndarray
    sines: np.ndarray
    fit: ClosedForm
    objective: float


def exact_step(
    loss: Loss, targets: np.ndarray, scores: np.ndarray, weights: np.ndarray, direction: np.ndarray
) -> float:
    """Return argmin over s >= 0 of Σ w ℓ(y, H + s f), by safeguarded secants on its derivative.

    The derivative at the returned step is not positive and at most 1 % of the one at 0. So the step
    is on the near side of the minimum, and any share of it lowers a convex loss.
    """
    weighted = weights[:, None] * direction

    def slope(step):
        return float(
            np.vdot(weighted, loss.gradient(targets, scores + scores.dtype.type(step) * direction))
        )

    low, low_slope = 0.0, slope(0.0)
    if low_slope >= 0:
        return 0.0
    small = 0.01 * -low_slope
    high, high_slope = 1.0, slope(1.0)
    for _ in range(6):
        if high_slope > -small:
            break
        low, low_slope, high = high, high_slope, 2 * high
        high_slope = slope(high)
    if high_slope <= 0:
        return high
    for _ in range(12):
        if -low_slope <= small:
            break
        # Half the tolerance before the root of the secant: mostly on the near side, so that one
        # step is enough.
        share = (-low_slope - 0.5 * small) / (high_slope - low_slope)
        middle = low + (high - low) * min(max(share, 0.02), 0.98)
        middle_slope = slope(middle)
        if middle_slope > 0:
            high, high_slope = middle, middle_slope
        else:
            low, low_slope = middle, middle_slope
    return low
