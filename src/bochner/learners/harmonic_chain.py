"""A Markov chain over spherical harmonics: what Langevin dynamics is to frequencies, where there is no gradient."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from .._compute import Block, Rows, as_rows, gathered
from .._deprecations import keyword_only_from
from .._validation import check_count, check_flag, check_positive
from ..harmonics import HarmonicMeasure, harmonic_count
from .harmonic_peaks import BoundHarmonics, HarmonicPeaks
from .peaks import PeakSearch, PreparedSearch

# "auto": between nothing and the highest starting point lies a factor e^10 of probability.
_AUTO_CONTRAST = 10.0


@keyword_only_from("0.4", old_order=("max_degree", "n_walkers", "n_steps"))
@dataclass(eq=False, repr=False)
class HarmonicChain(PeakSearch):
    r"""Spherical harmonics found by a Markov chain that mixes to λ(ℓ, m) ∝ exp(β v(ℓ, m)) (Bullins et al. 2018, Appendix A.3).

    The paper proposes such a chain to emulate Langevin dynamics and then looks at all harmonics, as ``HarmonicPeaks`` does.  Here it is:
    a walker at degree ℓ proposes one of the degrees ℓ − 1, ℓ, ℓ + 1 and a harmonic of it, and goes there with probability

    .. math:: \min\bigl(1,\; e^{\beta (v' - v)}\, N(d, \ell') / N(d, \ell)\bigr)

    (Metropolis and Hastings), N the number of harmonics of a degree; degrees below 0 and above ``max_degree`` are not entered.  v is the
    potential divided by Σ_k (Σ_i |a_ik|)², as in the other searches.  A step evaluates one harmonic for each walker, so where there are
    very many of them (more than three dimensions, high degrees) it needs fewer than a look at all.

    Parameters
    ----------
    max_degree : int, default 30
        The largest degree J.
    n_walkers : int, default 20
        Independent chains, each started at a harmonic drawn from all with equal chances.
    n_steps : int, default 100
        Steps of each chain.
    beta : "auto" or float, default "auto"
        β, the inverse temperature; 0 draws all harmonics with equal chances.  "auto" is 10 divided by the largest v among the starts.
    draw : bool, default False
        True plays where the walkers stand in the end, a draw from λ; False the highest harmonics that they have met, as Algorithm 1 does.
    top : int, default 1
        Harmonics returned for each signal.

    Examples
    --------
    >>> from bochner import MarginGame, SpectralFeatures
    >>> from bochner.datasets import sphere_checkerboard
    >>> ball = sphere_checkerboard(300, 0)
    >>> game = MarginGame(n_rounds=10, peaks=HarmonicChain(max_degree=8))
    >>> measure = SpectralFeatures(learner=game, random_state=0).fit(ball.data, ball.target).measure_
    >>> bool(measure.indices[:, 0].max() <= 8)
    True
    """

    _: KW_ONLY
    max_degree: int = 30
    n_walkers: int = 20
    n_steps: int = 100
    beta: float | str = "auto"
    draw: bool = False
    top: int = 1

    def prepare(self, measure: Any, X: Any, weights: np.ndarray | None = None) -> BoundChain:
        check_count(self.max_degree, "max_degree", minimum=0)
        for name in ("n_walkers", "n_steps", "top"):
            check_count(getattr(self, name), name)
        if self.beta != "auto":
            check_positive(self.beta, "beta", allow_zero=True)
        check_flag(self.draw, "draw")
        if self.draw and self.top > self.n_walkers:
            raise ValueError(
                f"top={self.top} draws need as many walkers, got n_walkers={self.n_walkers}. Write n_walkers={self.top}."
            )
        return BoundChain(self, as_rows(X))


class BoundChain(PreparedSearch):
    """The chain for each signal; what it has seen of one signal's potential is not computed again."""

    def __init__(self, search: HarmonicChain, rows: Rows):
        self.search, self.rows = search, rows
        self.all = BoundHarmonics(HarmonicPeaks(max_degree=search.max_degree), rows)
        self.scope = (
            f"kernels on single harmonics of degree at most {search.max_degree}, as far as a chain has met them"
        )
        self.counts = np.array([harmonic_count(rows.n_features, degree) for degree in range(search.max_degree + 1)])

    def kept_features(self, peaks):
        return self.all.kept_features(peaks)

    def find(self, signal, rng, top=None):
        """The highest ``top`` harmonics met, or as many draws from λ, as a measure of mass one."""
        seen = _Seen(self, signal)
        walkers = self.walked(seen, rng)
        top = self._top(top)
        if self.search.draw:
            chosen = walkers[:top]
        else:
            met = np.flatnonzero(np.isfinite(seen.heights))
            chosen = met[np.argsort(-seen.heights[met], kind="stable")][:top]
        return HarmonicMeasure(self.all.indices[chosen], np.full(len(chosen), 1 / len(chosen))).merged()

    def walked(self, seen: _Seen, rng: np.random.Generator) -> np.ndarray:
        """Where the walkers stand after all steps, as numbers of harmonics."""
        n_walkers = self.search.n_walkers
        here = np.asarray(rng.integers(len(self.all.indices), size=n_walkers))
        heights = seen.at(here)
        beta = self.search.beta
        if beta == "auto":
            beta = _AUTO_CONTRAST / (heights.max() or 1.0)
        for _ in range(self.search.n_steps):
            degrees = self.all.indices[here, 0]
            others = degrees + rng.integers(-1, 2, size=n_walkers)
            inside = (others >= 0) & (others <= self.search.max_degree)
            others = np.where(inside, others, degrees)
            there = self.all.first_column[others] + (rng.random(n_walkers) * self.counts[others]).astype(np.int64)
            there = np.where(inside, there, here)
            proposed = seen.at(there)
            logarithms = log_acceptance(beta, proposed - heights, self.counts[others] / self.counts[degrees])
            accepted = np.log(rng.random(n_walkers)) < logarithms
            here, heights = np.where(accepted, there, here), np.where(accepted, proposed, heights)
        return here


def log_acceptance(beta: float, rise: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """ln min(1, e^{β (v' − v)} N'/N): a degree with more harmonics proposes each of them less often, which the ratio makes up for."""
    return np.minimum(beta * rise + np.log(ratio), 0.0)


class _Seen:
    """The scaled potential of one signal at the harmonics that were asked for so far, NaN elsewhere."""

    def __init__(self, bound, signal):
        self.bound, self.signal = bound, signal[:, None] if signal.ndim == 1 else signal
        self.heights = np.full(len(bound.all.indices), np.nan)
        self.largest = float(np.sum(gathered(np.sum(np.abs(self.signal), axis=0)) ** 2)) or 1.0

    def at(self, numbers):
        new = np.unique(numbers[np.isnan(self.heights[numbers])])
        if len(new):
            every = self.bound.all
            if every.basis is not None:
                sums = np.sqrt(every.area) * (every.basis[:, new].T @ self.signal)
            else:
                block = HarmonicMeasure(every.indices[new], np.ones(len(new))).block(self.bound.rows.n_features)
                sums = self.bound.rows.sum(Block(_sums, block, row_bytes=block.row_bytes + 8 * len(new)), self.signal)
            self.heights[new] = np.sum(sums**2, axis=1) / self.largest
        return self.heights[numbers]


def _sums(features, X, signal):
    return features(X).astype(np.float64, copy=False).T @ signal
