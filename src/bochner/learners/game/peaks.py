"""Searches for peaks of the Fourier potential v(ω) = Σ_k |Σ_i a_ik exp(i ω·x_i)|² of a signal a.

A search is a parameter object; ``prepare(measure, X, weights)`` binds it to data, and
``find(signal, rng)`` on the result returns the peaks as a measure of mass one. The potential is
divided by Σ_k (Σ_i |a_ik|)², its largest possible value, so that steps, temperatures and penalties
have no units. R is the typical norm of a starting point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.optimize
from sklearn.base import BaseEstimator

from ..._checks import check_count, check_positive
from ..._estimator import keyword_only_from
from ..._loops.arrays import as_dense
from ...data import Rows, as_rows
from ...measures.fourier import FourierMeasure
from ..alignment import potential, potential_and_gradient
from ..base import check_has_frequencies

# Two peaks are one if their features agree on the data up to this squared correlation.
_SAME_PEAK = 0.95
_COMPARED_ROWS = 500
# Pure noise has peaks of height about d / n, at norms up to a few R; a penalty of this times d / n
# removes them.
_NOISE_FACTOR = 0.3
_LARGEST_PENALTY = 0.03
# A step of at most this many products (about ten milliseconds) is faster on one thread.
_ALONE = 2**25
# Walkers start at 1.5 times the variance of the prior (Bullins et al. 2018, Appendix A.1).
START_SPREAD = np.sqrt(1.5)


class Landscape:
    """Scaled, penalized potential v(ω)/(Σ|a|)² − penalty ‖ω‖²/R² of one signal on some rows."""

    def __init__(self, rows, signal, penalty, radius):
        self.rows = rows
        signal = signal[:, None] if signal.ndim == 1 else signal
        largest = np.sqrt(np.sum(np.sum(np.abs(signal), axis=0) ** 2))
        self.signal = signal / largest if largest > 0 else signal
        self.bend = penalty / radius**2
        self.radius = radius
        self.dtype = rows.dtype

    def values(self, frequencies):
        """Return the heights at (m, d) frequencies."""
        heights = potential(_unweighted(frequencies), self.rows, self.signal)
        return heights - self.bend * np.sum(frequencies**2, axis=1)

    def in_float64(self):
        """Return the same landscape in float64."""
        exact = copy(self)
        exact.rows, exact.dtype = as_rows(self.rows.source.astype(np.float64)), np.float64
        return exact

    def climb(self, frequencies):
        """Return heights and gradients at (m, d) frequencies."""
        unweighted = _unweighted(frequencies)
        heights, gradients = potential_and_gradient(unweighted, self.rows, self.signal)
        heights -= self.bend * np.sum(frequencies**2, axis=1)
        gradients = gradients.astype(self.dtype, copy=False)
        gradients -= self.dtype(2 * self.bend) * frequencies
        return heights, gradients


def _unweighted(frequencies):
    return FourierMeasure(frequencies, np.ones(len(frequencies)))


class PeakSearch(BaseEstimator, ABC):
    """Base of searches for peaks; ``exhaustive`` ones evaluate every candidate."""

    exhaustive = False
    top: int

    @abstractmethod
    def prepare(self, measure: Any, X: Any, weights: np.ndarray | None = None) -> Any:
        """Return a ``PreparedSearch`` with ``find(signal, rng, top)`` for these (weighted) rows.

        ``measure`` is the starting measure of the learner. The result may keep features of all
        rows, see ``kept_features``. Exhaustive searches return an ``ExhaustiveSearch``.
        """


@dataclass(eq=False, repr=False)
class FourierPeaks(PeakSearch):
    """Base of searches over R^d that move from draws like the atoms of the given measure."""

    _: KW_ONLY
    n_walkers: int = 20
    n_steps: int = 8
    top: int = 1
    penalty: float | str = "auto"
    search_rows: int = 20_000
    polish = 0  # a parameter of searches that do not end on a peak

    def prepare(self, measure: Any, X: Any, weights: np.ndarray | None = None) -> BoundSearch:
        for name in ("n_walkers", "n_steps", "top", "search_rows"):
            check_count(getattr(self, name), name)
        check_count(self.polish, "polish", minimum=0)
        if self.penalty != "auto":
            check_positive(self.penalty, "penalty", allow_zero=True)
        self._check()
        check_has_frequencies(self, measure)
        return BoundSearch(self, measure, as_rows(X), weights)

    def _check(self):
        """Check the parameters that only this search has."""

    @abstractmethod
    def _move(self, landscape, frequencies, rng):
        """Return frequencies and heights after the search, from the starting points."""


class PreparedSearch(ABC):
    """Search bound to a starting measure and rows."""

    search: PeakSearch
    # Kernels that the search compares.
    scope = "all shift-invariant kernels, by a local search"

    def kept_features(self, peaks):
        """Return the features of all rows if they are in memory, else None."""
        return None

    def _top(self, top):
        """Return the number of peaks to return, at most ``search.top``."""
        return self.search.top if top is None else min(top, self.search.top)


class BoundSearch(PreparedSearch):
    """Search over R^d bound to rows, in float32; many rows are sampled for each signal."""

    def __init__(self, search, measure, rows, weights):
        self.search = search
        self.measure = measure
        self.rows = rows
        norms = np.linalg.norm(measure.frequencies, axis=1)
        # The median, because priors with heavy tails have no second moment.
        self.radius = float(START_SPREAD * np.median(norms)) or 1.0
        self.penalty = penalty_of(search, rows, weights, search.search_rows)
        self.all_rows = None
        if len(rows) <= search.search_rows:
            numbers = rows.spread(search.search_rows)
            self.all_rows = self._read(numbers), numbers
        self.compared = as_dense(rows.take(rows.spread(_COMPARED_ROWS, weights))).astype(np.float64)

    def _read(self, numbers):
        """Return these rows in float32."""
        rows = as_rows(self.rows.take(numbers).astype(np.float32))
        few = rows.shape[0] * rows.shape[1] * self.search.n_walkers <= _ALONE
        return rows.in_blocks(len(rows)) if few else rows

    def find(self, signal, rng, top=None):
        """Return at most ``top`` distinct peaks, highest first, as a measure of mass one."""
        if self.all_rows is None:
            numbers = np.sort(rng.choice(len(self.rows), self.search.search_rows, replace=False))
            rows = self._read(numbers)
        else:
            rows, numbers = self.all_rows
        landscape = Landscape(rows, signal[numbers], self.penalty, self.radius)
        starts = self._starts(rng).astype(landscape.dtype)
        frequencies, heights = self.search._move(landscape, starts, rng)
        top = self._top(top)
        chosen = self._distinct(frequencies, heights, top)
        if self.search.polish:
            exact = landscape.in_float64()
            chosen, heights = polished(exact, chosen.astype(np.float64), self.search.polish)
            chosen = self._distinct(chosen, heights, top)
        return FourierMeasure(chosen.astype(np.float64), np.full(len(chosen), 1 / len(chosen)))

    def _starts(self, rng):
        """Return random rotations of random pairs of atoms.

        For a Gaussian prior these are new draws from the same Gaussian.
        """
        atoms, n = self.measure.frequencies, self.search.n_walkers
        first, second = rng.integers(len(atoms), size=(2, n))
        angle = rng.uniform(0, 2 * np.pi, size=(n, 1))
        return START_SPREAD * (np.cos(angle) * atoms[first] + np.sin(angle) * atoms[second])

    def _distinct(self, frequencies, heights, top):
        """Return the highest ``top`` frequencies whose features differ on the data, up to sign."""
        order = np.argsort(-heights, kind="stable")
        if top == 1:
            return frequencies[order[:1]]
        waves = np.exp(1j * (self.compared @ frequencies[order].astype(np.float64).T))
        products = np.maximum(np.abs(waves.conj().T @ waves), np.abs(waves.T @ waves))
        alike = products**2 / len(waves) ** 2
        chosen: list[int] = []
        for j in range(len(order)):
            if all(alike[i, j] < _SAME_PEAK for i in chosen):
                chosen.append(j)
                if len(chosen) == top:
                    break
        return frequencies[order[chosen]]


def penalty_of(search: Any, rows: Rows, weights: Any, n_searched: float = np.inf) -> float:
    """Return the penalty of a search; "auto" is the height of peaks of noise, about d / n."""
    if search.penalty != "auto":
        return float(search.penalty)
    n_samples = len(rows) if weights is None else float(np.sum(weights))
    return min(_NOISE_FACTOR * rows.n_features / min(n_samples, n_searched), _LARGEST_PENALTY)


def polished(
    landscape: Landscape, frequencies: np.ndarray, n_iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Move each frequency to its local peak by L-BFGS; return frequencies and heights."""

    def descent(scaled):
        heights, gradients = landscape.climb(scaled[None] * landscape.radius)
        return -float(heights[0]), -landscape.radius * gradients[0].astype(np.float64)

    options = {"maxiter": n_iterations}
    results = [
        scipy.optimize.minimize(descent, start, jac=True, method="L-BFGS-B", options=options)
        for start in frequencies.astype(np.float64) / landscape.radius
    ]
    return np.array([r.x for r in results]) * landscape.radius, np.array([-r.fun for r in results])


@keyword_only_from("0.4", old_order=("n_walkers", "n_steps"))
@dataclass(eq=False, repr=False)
class AscentPeaks(FourierPeaks):
    """Gradient ascent with momentum that keeps a step only if it rises: the fast default.

    Parameters
    ----------
    n_walkers : int, default 20
        Starting points.
    n_steps : int, default 8
        Steps of each walker.
    top : int, default 1
        Peaks returned for each signal; peaks with the same features are counted once.
    penalty : "auto" or float, default "auto"
        Lowers the potential by penalty ‖ω‖²/R². In many dimensions the highest peaks would
        otherwise be noise at high frequencies. "auto" is proportional to d / n.
    search_rows : int, default 20000
        With more rows than this, each signal is searched on a random sample of as many.
    polish : int, default 0
        L-BFGS iterations in float64 on each returned peak.

    Walkers start at 1.5 times the variance of the given measure and end within a few times its
    radius. In two or three dimensions, sharp boundaries need high frequencies. Then give a wide
    prior and more walkers, which cost little: e.g. ``Gaussian(gamma=300)`` and ``n_walkers=150``
    for data in the unit disc.

    Examples
    --------
    >>> from bochner import MarginGame, SpectralFeatures
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> game = MarginGame(n_rounds=5, peaks=AscentPeaks(n_walkers=10))
    >>> features = SpectralFeatures(learner=game, random_state=0).fit(X, y)
    >>> features.measure_.frequencies.shape
    (5, 2)
    """

    _: KW_ONLY
    polish: int = 0

    def _move(self, landscape, frequencies, rng):
        dtype = landscape.dtype
        heights, gradients = landscape.climb(frequencies)
        steps = np.full(len(frequencies), 0.3 * landscape.radius, dtype)
        momentum = _directions(gradients)
        for _ in range(self.n_steps):
            proposal = frequencies + steps[:, None] * _directions(momentum)
            new_heights, new_gradients = landscape.climb(proposal)
            risen = new_heights > heights
            frequencies = np.where(risen[:, None], proposal, frequencies)
            gradients = np.where(risen[:, None], new_gradients, gradients)
            heights = np.where(risen, new_heights, heights)
            steps = steps * np.where(risen, dtype(1.3), dtype(0.4))
            fresh = _directions(gradients)
            momentum = np.where(risen[:, None], fresh + dtype(0.7) * _directions(momentum), fresh)
        return frequencies, heights


@keyword_only_from("0.4", old_order=("n_walkers", "n_steps"))
@dataclass(eq=False, repr=False)
class LangevinPeaks(FourierPeaks):
    """Langevin dynamics ω ← ω + ζ∇v + √(2ζξ) z; returns the best point of all trajectories.

    See Bullins et al. 2018, Algorithm 1. The paper prints the noise scale as √(2ξ/ζ), which grows
    as the step ζ shrinks.

    Parameters
    ----------
    n_walkers : int, default 500
        Number of trajectories.
    n_steps : int, default 100
        Steps of each trajectory.
    top : int, default 1
        Peaks returned for each signal.
    penalty : "auto" or float, default "auto"
        Lowers the potential by penalty ‖ω‖²/R², as for ``AscentPeaks``.
    search_rows : int, default 20000
        With more rows than this, each signal is searched on a random sample of as many.
    step : "auto" or float, default "auto"
        ζ, for the scaled potential; "auto" sets it so that the mean drift is R/20.
    temperature : "auto" or float, default "auto"
        ξ, for the scaled potential; "auto" sets it so that in each step the noise is half of the
        mean drift.
    polish : int, default 20
        L-BFGS iterations in float64 on each returned peak.

    Examples
    --------
    >>> from bochner import MarginGame, SpectralFeatures
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> game = MarginGame(n_rounds=2, peaks=LangevinPeaks(n_walkers=20, n_steps=5))
    >>> features = SpectralFeatures(learner=game, random_state=0).fit(X, y)
    >>> features.measure_.frequencies.shape
    (2, 2)
    """

    _: KW_ONLY
    n_walkers: int = 500
    n_steps: int = 100
    step: Any = "auto"
    temperature: Any = "auto"
    polish: int = 20

    def _check(self):
        for name in ("step", "temperature"):
            if getattr(self, name) != "auto":
                check_positive(getattr(self, name), name, allow_zero=name == "temperature")

    def _move(self, landscape, frequencies, rng):
        dtype, radius = landscape.dtype, landscape.radius
        heights, gradients = landscape.climb(frequencies)
        best, best_heights = frequencies, heights
        for _ in range(self.n_steps):
            slope = float(np.mean(np.linalg.norm(gradients, axis=1)))
            step = radius / 20 / max(slope, 1e-30) if self.step == "auto" else self.step
            if self.temperature == "auto":
                noise = 0.5 * step * slope / np.sqrt(frequencies.shape[1])
            else:
                noise = np.sqrt(2 * step * self.temperature)
            kick = rng.standard_normal(frequencies.shape, dtype=np.float32)
            kick = kick.astype(dtype, copy=False)
            frequencies = frequencies + dtype(step) * gradients + dtype(noise) * kick
            heights, gradients = landscape.climb(frequencies)
            better = heights > best_heights
            best = np.where(better[:, None], frequencies, best)
            best_heights = np.where(better, heights, best_heights)
        return best, best_heights


@keyword_only_from("0.4", old_order=("n_walkers", "n_steps"))
@dataclass(eq=False, repr=False)
class QuasiNewtonPeaks(FourierPeaks):
    """L-BFGS from every starting point, in float64: slow and precise, for few dimensions.

    Parameters
    ----------
    n_walkers : int, default 20
        Starting points.
    n_steps : int, default 50
        L-BFGS iterations of each.
    top : int, default 1
        Peaks returned for each signal.
    penalty : "auto" or float, default "auto"
        Lowers the potential by penalty ‖ω‖²/R², as for ``AscentPeaks``.
    search_rows : int, default 20000
        With more rows than this, each signal is searched on a random sample of as many.

    Examples
    --------
    >>> from bochner import MarginGame, SpectralFeatures
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> game = MarginGame(n_rounds=2, peaks=QuasiNewtonPeaks(n_walkers=4, n_steps=10))
    >>> features = SpectralFeatures(learner=game, random_state=0).fit(X, y)
    >>> features.measure_.frequencies.shape
    (2, 2)
    """

    _: KW_ONLY
    n_steps: int = 50

    def _move(self, landscape, frequencies, rng):
        return polished(landscape.in_float64(), frequencies, self.n_steps)


def _directions(vectors):
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)
