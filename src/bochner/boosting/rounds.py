"""One round of second-order boosting: candidates, closed form for phase and amplitude, refinement of the frequency.

For scores H with gradients g and curvatures h, the weak learner a cos(ω·x) + b sin(ω·x) lowers the quadratic model of the loss
most for (a, b) = −(M + ρI)⁻¹ r, r = Σ g (c, s), M = Σ h (c, s)(c, s)ᵀ, by ½ rᵀ(M + ρI)⁻¹ r: a weighted least-squares
periodogram.  Rows lie along the last axis here (features, rows), so that one frequency's cosines are contiguous.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import fmin_l_bfgs_b

from .._compute.lazy import boosting as kernels
from .losses import Loss

# From this many columns on a d x d system costs more than it saves: L-BFGS instead of Gauss–Newton.
LARGEST_NEWTON_DIMENSION = 128
_STEPS = (1.0, 0.3, 0.1)
_MATRIX_ROWS = 2048


class Wave(NamedTuple):
    """One frequency with its amplitudes: f_k(x) = cosine_k cos(ω·x) + sine_k sin(ω·x)."""

    frequency: np.ndarray
    cosine: np.ndarray
    sine: np.ndarray


class ClosedForm(NamedTuple):
    """Optimal amplitudes (n_waves, n_outputs) and the decrease of the quadratic model (n_waves,)."""

    cosine: np.ndarray
    sine: np.ndarray
    gain: np.ndarray


def closed_form(cosines: np.ndarray, sines: np.ndarray, gradient: np.ndarray, curvature: np.ndarray, ridge: float):
    """(a, b) and the gain for each row of ``cosines`` and ``sines`` (n_waves, n_rows), each output on its own.

    ``gradient`` and ``curvature`` are (n_rows, n_outputs), or curvature (n_rows, 1) when all outputs share it.
    """
    r_cosine, r_sine = cosines @ gradient, sines @ gradient
    total = curvature.sum(axis=0, dtype=np.float64)
    double = (cosines * cosines) @ curvature
    mixed = (cosines * sines) @ curvature
    m_cosine, m_sine = double + ridge, total - double + ridge
    determinant = m_cosine * m_sine - mixed**2
    cosine = -(m_sine * r_cosine - mixed * r_sine) / determinant
    sine = -(m_cosine * r_sine - mixed * r_cosine) / determinant
    gain = -0.5 * np.sum(cosine * r_cosine + sine * r_sine, axis=1)
    return ClosedForm(cosine, sine, gain)


@dataclass(frozen=True)
class WaveSearch:
    """How a round finds its wave: candidates drawn at several scales, the best one refined.

    ``deviations`` are standard deviations of the frequencies in units of 1/√d; each candidate takes one of them at random.
    """

    deviations: np.ndarray
    n_candidates: int
    n_refinements: int
    ridge: float
    frequency_penalty: float

    def find(self, columns: np.ndarray, gradient: np.ndarray, curvature: np.ndarray, rng: np.random.Generator):
        """The best wave for the quadratic model, and its values f (n_rows, n_outputs)."""
        n_features = len(columns)
        scales = rng.choice(self.deviations, size=(self.n_candidates, 1))
        frequencies = scales * rng.standard_normal((self.n_candidates, n_features)) / np.sqrt(n_features)
        frequencies = frequencies.astype(columns.dtype)
        turns = (frequencies / np.pi).astype(columns.dtype) @ columns
        sines, cosines = _trigonometry(turns)
        fits = closed_form(cosines, sines, gradient, curvature, self.ridge)
        penalized = fits.gain - self._penalty(frequencies)
        best = int(np.argmax(penalized))
        state = _State(
            frequencies[best], turns[best], cosines[best], sines[best],
            ClosedForm(fits.cosine[best], fits.sine[best], fits.gain[best]), penalized[best],
        )  # fmt: skip
        if self.n_refinements:
            refine = self._newton if n_features <= LARGEST_NEWTON_DIMENSION else self._lbfgs
            state = refine(columns, gradient, curvature, state)
        wave = Wave(state.frequency.astype(np.float64), state.fit.cosine, state.fit.sine)
        values = np.outer(state.cosines, state.fit.cosine) + np.outer(state.sines, state.fit.sine)
        return wave, values.astype(columns.dtype, copy=False)

    def _penalty(self, frequencies):
        return self.frequency_penalty * np.sum(np.square(frequencies, dtype=np.float64), axis=-1)

    def _state(self, frequency, turns, gradient, curvature):
        sines, cosines = _trigonometry(turns[None])
        fit = closed_form(cosines, sines, gradient, curvature, self.ridge)
        fit = ClosedForm(fit.cosine[0], fit.sine[0], fit.gain[0])
        return _State(frequency, turns, cosines[0], sines[0], fit, fit.gain - self._penalty(frequency))

    def _newton(self, columns, gradient, curvature, state):
        """Damped Gauss–Newton steps on ω, phase and amplitude profiled out; a step that does not gain is shortened or dropped."""
        identity = np.eye(len(columns))
        # The matrix only shapes the step, whose gain is measured on all rows: some 2000 of them are enough for it.
        stride = max(1, columns.shape[1] // _MATRIX_ROWS)
        for _ in range(self.n_refinements):
            pull, stiffness = _slopes(state, gradient, curvature)
            target = columns @ pull + 2 * self.frequency_penalty * state.frequency
            some = columns[:, ::stride]
            matrix = stride * ((some * stiffness[::stride]) @ some.T).astype(np.float64)
            damping = 2 * self.frequency_penalty + 1e-3 * np.trace(matrix) / len(columns) + 1e-12
            step = -cho_solve(cho_factor(matrix + damping * identity, check_finite=False), target, check_finite=False)
            direction = step.astype(columns.dtype)
            moved = (direction / np.pi).astype(columns.dtype) @ columns
            for length in _STEPS:
                length = columns.dtype.type(length)
                trial = self._state(
                    state.frequency + length * direction, state.turns + length * moved, gradient, curvature
                )
                if trial.objective > state.objective:
                    break
            else:
                return state
            state = trial
        return state

    def _lbfgs(self, columns, gradient, curvature, state):
        """The same by L-BFGS with the envelope gradient, for many columns."""

        def objective(frequency):
            frequency = frequency.astype(columns.dtype)
            here = self._state(frequency, (frequency / np.pi).astype(columns.dtype) @ columns, gradient, curvature)
            pull, _ = _slopes(here, gradient, curvature)
            slope = (columns @ pull).astype(np.float64) + 2 * self.frequency_penalty * frequency
            return -float(here.objective), slope

        best, _, _ = fmin_l_bfgs_b(objective, state.frequency.astype(np.float64), maxiter=2 * self.n_refinements)
        best = best.astype(columns.dtype)
        trial = self._state(best, (best / np.pi).astype(columns.dtype) @ columns, gradient, curvature)
        return trial if trial.objective > state.objective else state


class _State(NamedTuple):
    frequency: np.ndarray
    turns: np.ndarray
    cosines: np.ndarray
    sines: np.ndarray
    fit: ClosedForm
    objective: float


def _slopes(state, gradient, curvature):
    """Per row: Σ_k (g + h f) f' and Σ_k h f'², f' the derivative of f in the angle ω·x; the envelope gradient is X of the first."""
    dtype = state.cosines.dtype
    cosine, sine = state.fit.cosine.astype(dtype), state.fit.sine.astype(dtype)
    values = np.multiply.outer(state.cosines, cosine) + np.multiply.outer(state.sines, sine)
    slopes = np.multiply.outer(state.cosines, sine) - np.multiply.outer(state.sines, cosine)
    pull = np.sum((gradient + curvature * values) * slopes, axis=1)
    return pull, np.sum(curvature * slopes**2, axis=1)


def _trigonometry(turns):
    sines, cosines = np.empty_like(turns), np.empty_like(turns)
    kernels.trigonometry(turns, sines, cosines)
    return sines, cosines


def exact_step(
    loss: Loss, targets: np.ndarray, scores: np.ndarray, weights: np.ndarray, direction: np.ndarray
) -> float:
    """argmin over s >= 0 of Σ w ℓ(y, H + s f), by safeguarded secants on its derivative, started at 1.

    The derivative at the returned step is not positive and at most 1 % of the one at 0: the near side of the minimum, so any
    share of the step lowers the loss, convexity granted.
    """
    weighted = weights[:, None] * direction

    def slope(step):
        return float(np.vdot(weighted, loss.gradient(targets, scores + scores.dtype.type(step) * direction)))

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
        # Half the tolerance short of the secant's root: on the near side more often than not, then one step is enough.
        share = (-low_slope - 0.5 * small) / (high_slope - low_slope)
        middle = low + (high - low) * min(max(share, 0.02), 0.98)
        middle_slope = slope(middle)
        if middle_slope > 0:
            high, high_slope = middle, middle_slope
        else:
            low, low_slope = middle, middle_slope
    return low
