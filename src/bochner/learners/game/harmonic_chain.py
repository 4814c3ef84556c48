"""Markov chain over spherical harmonics: Langevin dynamics without a gradient."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..._checks import check_count, check_flag, check_positive
from ..._estimator import keyword_only_from
from ...data import Block, Rows, as_rows
from ...measures.harmonic import HarmonicMeasure, basis_size, check_basis, harmonic_count
from .exhaustive import BoundHarmonics, HarmonicPeaks, keeps_basis
from .peaks import PeakSearch, PreparedSearch

# With "auto", the highest starting point has e^10 times the probability of height zero.
_AUTO_CONTRAST = 10.0
# Harmonics are drawn by float64 numbers, which are exact up to this one.
_MOST_HARMONICS = 2**53


@keyword_only_from("0.4", old_order=("max_degree", "n_walkers", "n_steps"))
@dataclass(eq=False, repr=False)
class HarmonicChain(PeakSearch):
    r"""Spherical harmonics found by a Markov chain with limit λ(ℓ, m) ∝ exp(β v(ℓ, m)).

    Bullins et al. 2018, Appendix A.3, propose such a chain to emulate Langevin dynamics, and then
    evaluate all harmonics, as ``HarmonicPeaks`` does. Here a walker at degree ℓ proposes one of the
    degrees ℓ − 1, ℓ, ℓ + 1 and a harmonic of it, and accepts it with probability

    .. math:: \min\bigl(1,\; e^{\beta (v' - v)}\, N(d, \ell') / N(d, \ell)\bigr)

    (Metropolis and Hastings), N the number of harmonics of a degree. Degrees below 0 and above
    ``max_degree`` are rejected. v is the potential divided by Σ_k (Σ_i |a_ik|)², as in the other
    searches. A step evaluates one harmonic for each walker, in O(n (d + ℓ)). So the chain also
    works if the basis of all harmonics does not fit in memory, such as 20 dimensions and degree 8.

    Parameters
    ----------
    max_degree : int, default 30
        The largest degree J.
    n_walkers : int, default 20
        Independent chains, each started at a harmonic drawn from all with equal chances.
    n_steps : int, default 100
        Steps of each chain.
    beta : "auto" or float, default "auto"
        β, the inverse temperature; 0 draws all harmonics with equal chances. "auto" is 10 divided
        by the largest v among the starts.
    draw : bool, default False
        True returns the last positions of the walkers, a draw from λ; False the highest harmonics
        on their way, as Algorithm 1 does.
    top : int, default 1
        Harmonics returned for each signal.

    Examples
    --------
    >>> from bochner import MarginGame, SpectralFeatures
    >>> from bochner.datasets import sphere_checkerboard
    >>> ball = sphere_checkerboard(300, 0)
    >>> game = MarginGame(n_rounds=10, peaks=HarmonicChain(max_degree=8))
    >>> features = SpectralFeatures(learner=game, random_state=0).fit(ball.data, ball.target)
    >>> bool(features.measure_.indices[:, 0].max() <= 8)
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
                f"top={self.top} draws need as many walkers, got n_walkers={self.n_walkers}. Write "
                f"n_walkers={self.top}."
            )
        return BoundChain(self, as_rows(X))


class BoundChain(PreparedSearch):
    """Chain for each signal; the potential of each harmonic is computed once per signal."""

    def __init__(self, search: HarmonicChain, rows: Rows):
        self.search, self.rows = search, rows
        check_basis(rows.n_features, 0, 1)  # the number of features alone
        self.n_harmonics = basis_size(rows.n_features, search.max_degree)
        if self.n_harmonics > _MOST_HARMONICS:
            raise ValueError(
                f"max_degree={search.max_degree} in {rows.n_features} dimensions means "
                f"{self.n_harmonics:.3g} harmonics, and a chain can number "
                f"{_MOST_HARMONICS:.3g}. Lower max_degree."
            )
        self.kept = None
        if keeps_basis(rows, search.max_degree):
            self.kept = BoundHarmonics(HarmonicPeaks(max_degree=search.max_degree), rows)
        self.scope = (
            f"kernels on single harmonics of degree at most {search.max_degree} that a chain has "
            "evaluated"
        )
        self.counts = np.array(
            [harmonic_count(rows.n_features, degree) for degree in range(search.max_degree + 1)]
        )
        self.first = np.cumsum(self.counts) - self.counts

    def kept_features(self, peaks):
        return None if self.kept is None else self.kept.kept_features(peaks)

    def indices(self, numbers: np.ndarray) -> np.ndarray:
        """Return (degree, position) of harmonics by number, (n_numbers, 2)."""
        degrees = np.searchsorted(self.first, numbers, side="right") - 1
        return np.column_stack([degrees, numbers - self.first[degrees]])

    def find(self, signal, rng, top=None):
        """Return the highest ``top`` harmonics, or draws from λ, as a measure of mass one."""
        seen = _Seen(self, signal)
        walkers = self.walked(seen, rng)
        top = self._top(top)
        if self.search.draw:
            chosen = walkers[:top]
        else:
            highest = sorted(seen.heights, key=lambda number: (-seen.heights[number], number))
            chosen = np.array(highest[:top])
        return HarmonicMeasure(self.indices(chosen), np.full(len(chosen), 1 / len(chosen))).merged()

    def walked(self, seen: _Seen, rng: np.random.Generator) -> np.ndarray:
        """Return the positions of the walkers after all steps, as numbers of harmonics."""
        n_walkers = self.search.n_walkers
        here = np.asarray(rng.integers(self.n_harmonics, size=n_walkers))
        degrees, heights = self.indices(here)[:, 0], seen.at(here)
        beta = self.search.beta
        if beta == "auto":
            beta = _AUTO_CONTRAST / (heights.max() or 1.0)
        for _ in range(self.search.n_steps):
            others = degrees + rng.integers(-1, 2, size=n_walkers)
            inside = (others >= 0) & (others <= self.search.max_degree)
            others = np.where(inside, others, degrees)
            positions = (rng.random(n_walkers) * self.counts[others]).astype(np.int64)
            there = np.where(inside, self.first[others] + positions, here)
            proposed = seen.at(there)
            ratio = self.counts[others] / self.counts[degrees]
            logarithms = log_acceptance(beta, proposed - heights, ratio)
            accepted = np.log(rng.random(n_walkers)) < logarithms
            here, heights = np.where(accepted, there, here), np.where(accepted, proposed, heights)
            degrees = np.where(accepted, others, degrees)
        return here


def log_acceptance(beta: float, rise: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """Return ln min(1, e^{β (v' − v)} N'/N).

    The ratio N'/N corrects for degrees with more harmonics, each of which is proposed less often.
    """
    return np.minimum(beta * rise + np.log(ratio), 0.0)


class _Seen:
    """Scaled potential of one signal at the harmonics evaluated so far, by number."""

    def __init__(self, bound, signal):
        self.bound, self.signal = bound, signal[:, None] if signal.ndim == 1 else signal
        self.heights: dict[int, float] = {}
        self.largest = float(np.sum(np.sum(np.abs(self.signal), axis=0) ** 2)) or 1.0

    def at(self, numbers):
        """Return the heights of these harmonics, and evaluate those that are new."""
        numbers = numbers.tolist()
        new = sorted(set(numbers).difference(self.heights))
        if new:
            self.heights.update(zip(new, self._evaluated(np.array(new)).tolist(), strict=True))
        return np.array([self.heights[number] for number in numbers])

    def _evaluated(self, numbers):
        kept, rows = self.bound.kept, self.bound.rows
        if kept is not None:
            sums = np.sqrt(kept.area) * (kept.basis[:, numbers].T @ self.signal)
        else:
            measure = HarmonicMeasure(self.bound.indices(numbers), np.ones(len(numbers)))
            block = measure.block(rows.n_features)
            row_bytes = block.row_bytes + 8 * len(numbers)
            sums = rows.sum(Block(_sums, block, row_bytes=row_bytes), self.signal)
        return np.sum(sums**2, axis=1) / self.largest


def _sums(features, X, signal):
    return features(X).astype(np.float64, copy=False).T @ signal
