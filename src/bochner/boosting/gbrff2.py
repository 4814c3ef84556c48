"""GBRFF2: weak learners are cosines with learned frequencies (Gautheron et al. 2020)."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

from .._checks import check_flag, check_positive
from .._estimator import keyword_only_from
from .._loops.lazy import boosting as kernels
from ..data import Block, Rows
from ..priors.base import SpectralPrior
from .gbrff_base import SHARED_DOCUMENTATION, GBRFFBase, in_few_blocks

# Up to this many rows, one compiled function does the whole search for a phase.
_FEW_TURNS = 2**12
_GRID = np.linspace(-np.pi, np.pi, 64, endpoint=False)
# Arrays of up to this many numbers are passed to the compiled loops directly: the calls in between
# would take longer than the loops.
_FEW_NUMBERS = 2**18
# L-BFGS ends if no entry of the gradient is larger than this (SciPy's default).
_FLAT = 1e-5
_AROUND = np.linspace(-1, 1, 8)
# Two losses that differ by less than this many units in the last place count as equal.
_ROUNDING = 64


def best_phase(turns: Any, signal: Any, counts: Any, incoming: float = 0.0) -> float:
    """Return argmin over b of Σ_i h_i exp(−ỹ_i cos(π turns_i − b)), all sums over all rows.

    A periodic grid and two finer ones are followed by a Newton step. The result is never worse than
    the best phase of the coarse grid or than ``incoming``, beyond rounding.

    The function often has several minima. The authors' scripts use a bounded scalar search,
    ``fminbound`` with xtol = 0.01. On pima, german and vehicle it ended more than 1 % above the
    least value in 12 to 18 % of the rounds. This search can miss a minimum that is narrower than
    the grid. It did in 2 % of the cases if log |ỹ| has a deviation of 2, and in none if it has a
    deviation of 1.
    """
    margin = _ROUNDING * float(np.finfo(turns.dtype).eps)
    if len(turns) <= _FEW_TURNS:
        signals = [np.ascontiguousarray(part, dtype=turns.dtype) for part in (signal, counts)]
        phase = kernels.searched_phase(turns, *signals, _GRID, _AROUND, incoming, margin)
    else:
        phase = _search_in_blocks(turns, signal, counts, incoming, margin)
    return float((phase + np.pi) % (2 * np.pi) - np.pi)


def _search_in_blocks(turns, signal, counts, incoming, margin):
    """Return the phase that ``searched_phase`` would return, for many rows."""
    phases, radius = _GRID, np.pi
    for _ in range(3):
        values, slopes, curvatures = _phase_losses(phases, turns, signal, counts)
        best = int(values.argmin())
        center, slope, curvature = phases[best], slopes[best], curvatures[best]
        if phases is _GRID:
            coarse = center
        radius = 2 * radius / (len(phases) - (phases is not _GRID))
        phases = center + radius * _AROUND
    step = min(max(slope / curvature, -radius), radius) if curvature > 0 else 0.0
    phases = np.array([center - step, center, coarse, incoming])
    values = _phase_losses(phases, turns, signal, counts)[0]
    best = 0
    for k in range(1, 4):
        if values[k] < values[best] * (1 - margin):
            best = k
    return phases[best]


def _phase_losses(phases, *columns):
    """Return the losses of all phases with two derivatives, (3, n_phases), summed over all rows."""
    block = Block(kernels.phase_losses_block, phases)
    turns, *signals = map(np.ascontiguousarray, columns)
    return in_few_blocks(turns, len(phases)).sum(block, *signals)


@keyword_only_from("0.4", old_order=("n_rounds", "prior", "penalty"))
@dataclass(eq=False, repr=False)
class GBRFF2Classifier(GBRFFBase):
    __doc__ = (
        r"""Gradient boosting of cosines with learned frequencies (Algorithm 3).

    .. math:: H(x) = H^0 + \sum_t \alpha^t \cos(\omega^t \cdot x - b^t)

    Each round draws ω, finds the best phase b, moves ω by L-BFGS on λ‖ω‖² + mean exp(−ỹ
    cos(ω·x − b)), and steps by α computed at the moved ω. The paper keeps b from before ω moved;
    ``rephase`` searches for it again, which never raises the round's objective. Several classes are
    fitted one against the rest.

    Parameters
    ----------
    n_rounds : int, default 100
        T, the number of rounds; 0 predicts the majority.
    prior : a prior of ``bochner.priors``, or a FourierMeasure, default ``Gaussian(gamma='scale')``
        Distribution of the first frequencies, N(0, 2γ I). The paper tries γ = 2^{-2..2}/d on
        standardized data, for which "scale" is 1/d.
    penalty : float, default 0.0
        λ, the penalty on ‖ω‖²; the paper tries 0 and 2^{-5..-2}.
    rephase : bool, default False
        Search for the phase b again after ω has moved.
    max_iterations : int, default 10
        L-BFGS iterations a round; 0 keeps the drawn frequency."""
        + SHARED_DOCUMENTATION
        + """
    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> GBRFF2Classifier(n_rounds=30, random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """
    )

    _: KW_ONLY
    prior: SpectralPrior | None = None
    penalty: float = 0.0
    rephase: bool = False

    def _weak_learner(self, rows, signal, counts, n_samples, rng):
        # One draw of ``sample`` without its measure, which would take a tenth of a small round.
        frequency = self.prior_._frequencies(1, rows.n_features, rng, "iid")[0]
        turns = half_turns(rows, frequency)
        phase = best_phase(turns, signal, counts)
        if self.max_iterations:
            objective = objective_of(rows, signal, counts, phase, self.penalty, n_samples)
            moved = refined(objective, frequency, self.max_iterations)
            turns = turns if moved is frequency else half_turns(rows, moved)
            frequency = moved
            if self.rephase:
                phase = best_phase(turns, signal, counts, incoming=phase)
        return frequency[None], np.array([phase]), np.ones(1), cosines(phase, turns)

    def _check_own_parameters(self, n_features):
        check_positive(self.penalty, "penalty", allow_zero=True)
        check_flag(self.rephase, "rephase")


def refined(
    objective: Callable[[np.ndarray], Any], start: np.ndarray, max_iterations: int
) -> np.ndarray:
    """Return the frequency after L-BFGS; the start itself if its gradient is negligible.

    Once all rows are classified correctly, gradients vanish, and SciPy would take longer than the
    rest of such a round.
    """
    at_start = [objective(start)]
    if np.abs(at_start[0][1]).max() <= _FLAT:
        return start

    def reusing_start(frequency):
        return at_start.pop() if at_start else objective(frequency)

    return fmin_l_bfgs_b(reusing_start, start, maxiter=max_iterations, pgtol=_FLAT)[0]


def half_turns(rows: Rows, frequency: np.ndarray) -> Any:
    """Return ω·x / π of every row."""
    X = rows.small_array(_FEW_NUMBERS)
    if X is not None:
        return X @ (frequency / np.pi).astype(X.dtype, copy=False)
    return rows.values(Block(kernels.half_turns_block, frequency))


def cosines(phase: float, turns: np.ndarray) -> np.ndarray:
    """Return cos(π turns − b)."""
    values = np.empty_like(turns)
    kernels.cosine_values(turns, turns.dtype.type(phase / np.pi), values)
    return values


def objective_of(
    rows: Rows, signal: Any, counts: Any, phase: float, penalty: float, n_samples: Any = None
) -> Callable[[np.ndarray], Any]:
    """Return λ‖ω‖² + mean_i exp(−ỹ_i cos(ω·x_i − b)) as a function of ω (Algorithm 3, line 7).

    The function returns its value and gradient, in one pass over the rows. The mean has weights
    ``counts``, whose sum is ``n_samples``.
    """
    n_samples = counts.sum() if n_samples is None else n_samples
    small = rows.small_array(_FEW_NUMBERS)
    if small is None:
        signals = rows.persist(signal), rows.persist(counts)

        def total(frequency):
            return rows.sum(Block(kernels.exponential_block, frequency, phase), *signals)
    else:
        X, kernel = np.ascontiguousarray(small), kernels.exponential_pass
        shift = X.dtype.type(phase / np.pi)
        signal, counts = signal.astype(X.dtype, copy=False), counts.astype(X.dtype, copy=False)

        def total(frequency):
            gradient = np.zeros(len(frequency))
            direction = (frequency * (1 / np.pi)).astype(X.dtype, copy=False)
            return kernel(X, signal, counts, direction, shift, gradient), gradient

    def objective(frequency):
        value, gradient = total(frequency)
        value, gradient = value / n_samples, gradient / n_samples
        if penalty:
            value += penalty * frequency @ frequency
            gradient += 2 * penalty * frequency
        return value, gradient

    return objective
