"""Exhaustive searches of a finite set: the atoms of a measure, or spherical harmonics."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ..._checks import check_choice, check_count, check_positive
from ..._estimator import keyword_only_from
from ..._loops.arrays import as_dense
from ...data import Block, Rows, as_rows
from ...measures.fourier import FourierMeasure
from ...measures.harmonic import (
    HarmonicMeasure,
    basis_size,
    check_basis,
    check_unit_rows,
    harmonic_count,
    harmonic_indices,
    harmonics_by_degree,
    sphere_area,
    spherical_harmonics,
)
from ..alignment import potential
from .peaks import START_SPREAD, PeakSearch, PreparedSearch, penalty_of

# Up to this many bytes, the harmonics of all rows are kept between signals.
_KEPT_BASIS_BYTES = 2**27


class ExhaustiveSearch(PreparedSearch):
    """Search that evaluates the potential of every candidate, over all rows."""

    # Penalty on the height of each candidate, for a signal with Σ_k (Σ_i |a_ik|)² = 1.
    lowered: Any = 0.0

    @abstractmethod
    def heights(self, signal):
        """Return v of each candidate, without penalty."""

    @abstractmethod
    def _measure(self, chosen, weights):
        """Return the measure on the chosen candidates."""

    def find(self, signal, rng, top=None):
        """Return the highest ``top`` candidates as a measure of mass one."""
        largest = float(np.sum(np.sum(np.abs(signal), axis=0) ** 2))
        order = np.argsort(largest * self.lowered - self.heights(signal), kind="stable")
        chosen = order[: self._top(top)]
        return self._measure(chosen, np.full(len(chosen), 1 / len(chosen)))

    def largest_potential(self, signal):
        """Return the maximum over the candidates, without penalty."""
        return float(self.heights(signal).max())


@keyword_only_from("0.4", old_order=("top", "penalty"))
class CandidatePeaks(PeakSearch):
    """Exhaustive search among the atoms of the learner's measure, usually draws from a prior.

    Every candidate is evaluated, so the certificate of the game on these atoms is exact. In many
    dimensions the best of some random frequencies is far below a peak.

    Parameters
    ----------
    top : int, default 1
        Atoms returned for each signal.
    penalty : "auto" or float, default 0.0
        Lowers the potential by penalty ‖ω‖²/R², as for ``AscentPeaks``.

    Examples
    --------
    >>> from bochner import MarginGame, SpectralFeatures
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> game = MarginGame(n_rounds=20, peaks=CandidatePeaks())
    >>> features = SpectralFeatures(learner=game, random_state=0).fit(X, y)
    >>> features.report_.certificate.exact
    True
    """

    exhaustive = True

    def __init__(self, *, top=1, penalty=0.0):
        self.top = top
        self.penalty = penalty

    def prepare(self, measure: Any, X: Any, weights: np.ndarray | None = None) -> BoundCandidates:
        check_count(self.top, "top")
        if self.penalty != "auto":
            check_positive(self.penalty, "penalty", allow_zero=True)
        return BoundCandidates(self, measure, as_rows(X), weights)


class BoundCandidates(ExhaustiveSearch):
    """Potential of every atom for each signal."""

    def __init__(self, search, measure, rows, weights):
        self.search, self.measure, self.rows = search, measure, rows
        self.scope = f"kernels on the {len(measure)} given frequencies"
        norms = np.sum(measure.frequencies.astype(np.float64) ** 2, axis=1)
        self.lowered = (
            penalty_of(search, rows, weights) * norms / (START_SPREAD**2 * np.median(norms) or 1.0)
        )

    def heights(self, signal):
        return potential(self.measure, self.rows, signal)

    def _measure(self, chosen, weights):
        return FourierMeasure(self.measure.frequencies[chosen], weights)


@keyword_only_from("0.4", old_order=("max_degree", "mode", "top"))
class HarmonicPeaks(PeakSearch):
    """Exhaustive search for spherical harmonics up to ``max_degree``, for points on the sphere.

    See Bullins et al. 2018, Appendix A.3.

    Parameters
    ----------
    max_degree : int, default 30
        The largest degree J; there are (J + 1)² harmonics in three dimensions.
    mode : "harmonic" or "zonal", default "harmonic"
        Single harmonics as in the paper, whose kernel is not rotation-invariant, or whole degrees
        at once, whose kernel is.
    top : int, default 1
        Harmonics (or degrees) returned for each signal.

    Examples
    --------
    >>> from bochner import MarginGame, SpectralFeatures
    >>> from bochner.datasets import sphere_checkerboard
    >>> ball = sphere_checkerboard(300, 0)
    >>> game = MarginGame(n_rounds=10, peaks=HarmonicPeaks(max_degree=8))
    >>> features = SpectralFeatures(learner=game, random_state=0).fit(ball.data, ball.target)
    >>> bool(features.measure_.indices[:, 0].max() <= 8)
    True
    """

    exhaustive = True

    def __init__(self, *, max_degree=30, mode="harmonic", top=1):
        self.max_degree = max_degree
        self.mode = mode
        self.top = top

    def prepare(self, measure: Any, X: Any, weights: np.ndarray | None = None) -> BoundHarmonics:
        check_count(self.max_degree, "max_degree", minimum=0)
        check_choice(self.mode, "mode", ("harmonic", "zonal"))
        check_count(self.top, "top")
        return BoundHarmonics(self, as_rows(X))


def keeps_basis(rows: Rows, max_degree: int) -> bool:
    """Return True if the harmonics of all rows are small enough to be kept in memory."""
    return rows.can_keep(8 * basis_size(rows.n_features, max_degree), _KEPT_BASIS_BYTES)


class BoundHarmonics(ExhaustiveSearch):
    """Potential of every harmonic (or degree) for each signal."""

    def __init__(self, search, rows):
        self.search, self.rows = search, rows
        self.n_features = rows.n_features
        # One block of rows must fit into memory; the smallest has 256 rows.
        n_basis = check_basis(self.n_features, search.max_degree, min(len(rows), 256))
        self.indices = harmonic_indices(self.n_features, search.max_degree)
        self.first_column = np.searchsorted(self.indices[:, 0], np.arange(search.max_degree + 1))
        self.area = sphere_area(self.n_features)
        self.sums = Block(_harmonic_sums, search.max_degree, row_bytes=16 * n_basis)
        self.basis = None
        if keeps_basis(rows, search.max_degree):
            basis = spherical_harmonics(rows.take(rows.spread(len(rows))), search.max_degree)
            self.basis = basis.astype(np.float64, copy=False)
        zonal = search.mode == "zonal"
        kind = "rotation-invariant kernels" if zonal else "kernels on single harmonics"
        self.scope = f"{kind} of degree at most {search.max_degree}"

    def heights(self, signal):
        """Return v of each harmonic (or degree), for features of unit mean square."""
        signal = signal[:, None] if signal.ndim == 1 else signal
        sums = self.rows.sum(self.sums, signal) if self.basis is None else self.basis.T @ signal
        heights = self.area * np.sum(sums**2, axis=1)
        if self.search.mode == "harmonic":
            return heights
        counts = [
            harmonic_count(self.n_features, degree) for degree in range(self.search.max_degree + 1)
        ]
        return np.bincount(self.indices[:, 0], weights=heights) / counts

    def kept_features(self, peaks):
        """Return columns of the basis, scaled as ``peaks.features``; None if it is not kept."""
        if self.basis is None:
            return None
        columns = self.first_column[peaks.indices[:, 0]] + peaks.indices[:, 1]
        return self.basis[:, columns] * np.sqrt(self.area * peaks.weights)

    def _measure(self, chosen, weights):
        if self.search.mode == "harmonic":
            return HarmonicMeasure(self.indices[chosen], weights)
        return HarmonicMeasure.zonal(chosen, weights, self.n_features)


def _harmonic_sums(max_degree, X, signal):
    X = as_dense(X)
    check_unit_rows(X)
    return np.concatenate([level.T @ signal for level in harmonics_by_degree(X, max_degree)])
