r"""Fourier sums of a signal, and alignment losses computed from them.

The alignment loss of a frequency (Letarte et al. 2019, Eq. 9) averages over pairs of rows,

.. math:: \hat L(\omega) = \frac{1}{n(n-1)} \sum_{i \ne j}
    \frac{1 - \lambda_{ij} \cos \omega \cdot (x_i - x_j)}{2},

but with Λ = U diag(s) Uᵀ it only needs the Fourier sums û_k = Σ_i U_ik exp(i ω·x_i) (their
Propositions 7 and 8):

.. math:: \hat L(\omega) = \frac12
    - \frac{\sum_k s_k |\hat u_k|^2 - \mathrm{tr}\,\Lambda}{2 n (n-1)}.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._loops.blocks import (
    class_sums_block,
    fourier_sums_block,
    narrow_sums_block,
    potential_gradient_block,
)
from ..data import Block, Rows, as_rows
from ..data.targets import Labels, Target, TargetSimilarity, Values, as_target
from ..measures.fourier import FourierMeasure

# Up to this many bytes, projections are kept between the two passes of a gradient.
_KEPT_PROJECTION_BYTES = 2**27


def fourier_sums(measure: FourierMeasure, X: Any, signal: Any) -> np.ndarray:
    """Return Σ_i signal_ik (cos, sin)(ω_j·x_i), (n_signals, 2, n_atoms), in float64."""
    return as_rows(X).sum(Block(narrow_sums_block, measure.frequencies), signal)


def class_sums(
    measure: FourierMeasure,
    rows: Rows,
    codes: np.ndarray,
    n_classes: int,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return the Fourier sums of each class, (n_classes, 2, n_atoms), in the time of one signal."""
    signals = [codes] if weights is None else [codes, weights]
    return rows.sum(Block(class_sums_block, measure.frequencies, n_classes), *signals)


def potential(measure: FourierMeasure, X: Any, signal: Any, signs: Any = None) -> np.ndarray:
    """Return the Fourier potential v_j = Σ_k s_k |Σ_i a_ik exp(i ω_j·x_i)|² of each atom.

    It is high if a wave is similar to the signal. The game searches for its peaks, with a_i = y_i
    α_i. The weights of ``measure`` have no influence.

    Parameters
    ----------
    measure, X : see ``alignment_losses``
    signal : array (n_samples,) or (n_samples, n_signals)
        a, e.g. labels times dual weights.
    signs : array (n_signals,), default None
        s, by default all 1.

    Examples
    --------
    >>> from bochner import FourierMeasure
    >>> measure = FourierMeasure(np.array([[0.0], [1.0]]), np.array([0.5, 0.5]))
    >>> potential(measure, [[0.0], [3.0]], [1.0, 1.0]).round(3)
    array([4.  , 0.02])
    """
    return _signed_energy(fourier_sums(measure, X, np.asarray(signal)), signs)


def potential_and_gradient(
    measure: FourierMeasure, X: Any, signal: Any, signs: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Fourier potential (n_atoms,) and its gradient (n_atoms, n_features).

    The gradient needs the sums over all rows first, so there are two passes. The projection is
    computed once if it fits into memory.
    """
    rows = as_rows(X)
    kept = []
    if rows.can_keep(len(measure) * np.dtype(rows.dtype).itemsize, _KEPT_PROJECTION_BYTES):
        kept = [np.empty((len(rows), len(measure)), rows.dtype)]
    sums = rows.sum(Block(fourier_sums_block, measure.frequencies), signal, *kept)
    pull = Block(potential_gradient_block, measure.frequencies, _signed(sums, signs))
    return _signed_energy(sums, signs), 2 * rows.sum(pull, signal, *kept)


def _signed(sums, signs):
    return sums if signs is None else np.asarray(signs, dtype=np.float64)[:, None, None] * sums


def _signed_energy(sums, signs):
    return np.sum(_signed(sums, signs) * sums, axis=(0, 1))


# --- alignment losses -----------------------------------------------------------------------------


def alignment_losses(measure: FourierMeasure, X: Any, y: Any) -> np.ndarray:
    """Return L̂(ω_j) for every atom of ``measure``, (n_atoms,), in one pass over the rows.

    The loss is small if cos ω_j·(x − z) is large for rows with similar targets, and only for them.

    Parameters
    ----------
    measure : FourierMeasure
        Each of its atoms gets a loss.
    X : array, CSR, memory map or Dask (n_samples, n_features)
        The rows.
    y : array (n_samples,) or (n_samples, n_outputs), or TargetSimilarity
        Labels (any number of classes), real values, or several outputs, one column each.

    Examples
    --------
    >>> import numpy as np
    >>> measure = FourierMeasure(np.array([[0.0], [np.pi]]), np.array([0.5, 0.5]))
    >>> alignment_losses(measure, np.array([[0.0], [1.0], [2.0]]), [0, 1, 0]).round(3)
    array([0.667, 0.   ])
    """
    rows = as_rows(X)
    return alignment_sums(measure, rows, as_target(y, len(rows))).losses()


def alignment_losses_and_gradient(
    measure: FourierMeasure, X: Any, y: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the losses (n_atoms,) and their gradient in the frequencies (n_atoms, n_features).

    Parameters
    ----------
    measure : FourierMeasure
        Each of its atoms gets a loss.
    X : array, CSR, memory map or Dask (n_samples, n_features)
        The rows.
    y : array (n_samples,) or (n_samples, n_outputs), or TargetSimilarity
        Targets, as for ``alignment_losses``.

    Examples
    --------
    >>> import numpy as np
    >>> measure = FourierMeasure(np.array([[0.0], [np.pi]]), np.array([0.5, 0.5]))
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> losses, gradient = alignment_losses_and_gradient(measure, X, [0, 1, 0])
    >>> losses.round(3), gradient.shape
    (array([0.667, 0.   ]), (2, 1))
    """
    rows = as_rows(X)
    target = as_target(y, len(rows)).similarity()
    n_pairs = pair_count(len(target))
    energy, gradient = potential_and_gradient(measure, rows, target.factors, target.signs)
    return 0.5 - (energy - target.trace) / (2 * n_pairs), -gradient / (2 * n_pairs)


def alignment_sums(
    measure: FourierMeasure, rows: Rows, target: Target, weights: np.ndarray | None = None
) -> AlignmentSums:
    """Return the sums over rows that the losses need; sums of parts of the data can be added.

    A row of weight 2 counts as two equal rows.
    """
    n_samples = len(rows) if weights is None else float(weights.sum())
    if isinstance(target, Labels):
        sums = class_sums(measure, rows, target.codes, len(target.classes), weights)
        return LabelSums(sums, n_samples, target.classes)
    counts = [] if weights is None else [weights]
    if isinstance(target, TargetSimilarity):
        block = Block(_factor_sums_block, measure.frequencies, target.signs)
        sums, trace = rows.sum(block, target.factors, *counts)
        return FactorSums(sums, n_samples, target.signs, float(trace), target.largest)
    if not isinstance(target, Values):
        raise TypeError(
            f"No alignment is known for a {type(target).__name__}; give labels, values or a "
            "TargetSimilarity."
        )
    shift = np.average(target.rows, axis=0, weights=weights)
    low, high, largest_row = target.extent(shift, weights)
    sums, first, second = rows.sum(
        Block(_value_sums_block, measure.frequencies, shift), target.rows, *counts
    )
    return ValueSums(sums, n_samples, shift, first, float(second), low, high, largest_row)


def _factor_sums_block(frequencies, signs, X, factors, weights=None):
    weighted = factors if weights is None else factors * weights[:, None]
    return narrow_sums_block(frequencies, X, weighted), np.sum(
        signs * np.sum(weighted * factors, axis=0)
    )


def _value_sums_block(frequencies, shift, X, values, weights=None):
    counts = np.ones(len(values)) if weights is None else weights
    centered = values - shift
    weighted = centered * counts[:, None]
    sums = narrow_sums_block(frequencies, X, np.column_stack([weighted, counts]))
    return sums, weighted.sum(axis=0), np.sum(weighted * centered)


@dataclass(frozen=True, eq=False)
class AlignmentSums(ABC):
    """Additive statistics of the data for given frequencies: ``a + b`` are those of both parts."""

    sums: np.ndarray
    n_samples: float

    def losses(self) -> np.ndarray:
        """Return L̂ for each frequency, (n_atoms,)."""
        n_pairs = pair_count(self.n_samples)
        energy, trace = self._energy_and_trace()
        return 0.5 - (energy - trace) / (2 * n_pairs)

    @property
    def caveat(self) -> str:
        """Reason why no theorem covers losses of this target, or ""."""
        return ""

    def __add__(self, other: Any) -> AlignmentSums:
        if type(other) is not type(self) or other.sums.shape[2] != self.sums.shape[2]:
            raise ValueError(
                f"Sums over {self.sums.shape[2]} frequencies ({type(self).__name__}) cannot be "
                f"added to {other!r}: both parts of the data need the same frequencies and the "
                "same kind of target."
            )
        return replace(self, n_samples=self.n_samples + other.n_samples, **self._added(other))

    @abstractmethod
    def _energy_and_trace(self) -> tuple[np.ndarray, float]: ...

    @abstractmethod
    def _added(self, other: Any) -> dict[str, Any]:
        """Return the other fields of the sum."""


@dataclass(frozen=True, eq=False)
class LabelSums(AlignmentSums):
    """Fourier sums ẑ_c of each class; Σ_k s_k |û_k|² = 2 Σ_c |ẑ_c|² − |Σ_c ẑ_c|²."""

    classes: np.ndarray

    def _energy_and_trace(self):
        total = self.sums.sum(axis=0)
        energy = 2 * np.sum(self.sums**2, axis=(0, 1)) - np.sum(total**2, axis=0)
        return energy, float(self.n_samples)

    def _added(self, other):
        # A part of the data need not contain every class.
        classes = np.union1d(self.classes, other.classes)
        sums = np.zeros((len(classes), *self.sums.shape[1:]))
        sums[np.searchsorted(classes, self.classes)] += self.sums
        sums[np.searchsorted(classes, other.classes)] += other.sums
        return {"sums": sums, "classes": classes}


@dataclass(frozen=True, eq=False)
class FactorSums(AlignmentSums):
    """Fourier sums of the factors of a given ``TargetSimilarity``."""

    signs: np.ndarray
    trace: float
    largest: float

    @property
    def caveat(self) -> str:
        if self.largest <= 1 + 1e-12:
            return ""
        return f"similarities up to {self.largest:.3g}, but the theorems need |λ| <= 1"

    def _energy_and_trace(self):
        return _signed_energy(self.sums, self.signs), self.trace

    def _added(self, other):
        if not np.array_equal(self.signs, other.signs):
            raise ValueError("Two target similarities of different signs cannot be added.")
        trace, largest = self.trace + other.trace, max(self.largest, other.largest)
        return {"sums": self.sums + other.sums, "trace": trace, "largest": largest}


@dataclass(frozen=True, eq=False)
class ValueSums(AlignmentSums):
    """Fourier sums of y − shift (one row per output) and, last, of 1; centered and scaled later.

    λ_ij = u_i·u_j with u = (y − ȳ) / max ‖y − ȳ‖. Both ȳ and, for one output, the largest deviation
    follow from sums and extremes, so parts of the data add up exactly. The shift reduces
    cancellation.
    """

    shift: np.ndarray
    first: np.ndarray
    second: float
    low: np.ndarray
    high: np.ndarray
    largest_row: float | None

    @property
    def caveat(self) -> str:
        return (
            "real targets are centered and scaled by the sample itself, so their similarities are "
            "not a fixed function of pairs"
        )

    def _energy_and_trace(self):
        offset = self.first / self.n_samples
        centered = self.sums[:-1] - offset[:, None, None] * self.sums[-1]
        trace = max(self.second - self.n_samples * float(offset @ offset), 0.0)
        if len(self.shift) == 1:
            mean = self.shift[0] + offset[0]
            largest = max(self.high[0] - mean, mean - self.low[0])
        else:
            largest = self.largest_row
        scale = 1 / largest**2 if largest > 0 else 0.0
        return scale * np.sum(centered**2, axis=(0, 1)), scale * trace

    def _added(self, other):
        if len(self.shift) != len(other.shift):
            raise ValueError(
                f"Got targets with {len(self.shift)} and {len(other.shift)} outputs; give equally "
                "many."
            )
        if len(self.shift) > 1:
            raise ValueError(
                "Several real outputs cannot be learned in parts: their scale is the largest "
                "distance from the overall mean, which parts do not know. Use fit on all rows, or "
                "scale the outputs yourself and pass TargetSimilarity(factors)."
            )
        moved = other._shifted(self.shift)
        names = ("sums", "first", "second")
        added = {name: getattr(self, name) + getattr(moved, name) for name in names}
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return added | {"low": low, "high": high, "largest_row": None}

    def _shifted(self, shift):
        step = self.shift - shift
        sums = self.sums.copy()
        sums[:-1] += step[:, None, None] * self.sums[-1]
        first = self.first + self.n_samples * step
        second = self.second + 2 * float(step @ self.first) + self.n_samples * float(step @ step)
        return replace(self, sums=sums, shift=shift, first=first, second=second)


def pair_count(n_samples):
    if n_samples < 2:
        raise ValueError(
            f"Alignment compares pairs of rows, got n_samples={n_samples}; give at least 2."
        )
    return n_samples * (n_samples - 1)
