"""Scales of regression: of the target, and of its residuals as a function of the row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .._loops.threads import ordered_map
from ..data.targets import Values
from ..expansions.kernels import KernelExpansion
from ..learners.evidence import LearnedPrior
from ..losses import lower_quantiles
from .preparation import PreparedData
from .solving import solve_leaving_out

# Gain in nats per row that another scale of the target needs.
_LEAST_GAIN = 0.1
# The largest and the smallest number of rows from which the size of residuals is learned.
_MOST_ROWS, _FEWEST_ROWS = 1000, 100
# Noise of log |residual|, relative to its dependence on the row. For normal noise it has variance
# π²/8, of which the dependence on the row is a fraction.
_NOISE_OF_LOGS = 10.0
# Smaller residuals count as this share of their root mean square.
_LEAST_RESIDUAL = 1e-2
# Gain in nats per row that a size for each row needs over one size for all rows.
_WORTHWHILE = 0.03
# Quantiles of the residuals over which functions are averaged.
_N_QUANTILES = 101


@dataclass(frozen=True, eq=False)
class TargetScale:
    """z = (g(y) − center) / unit, for each output.

    The kinds of g(y) are "identity": y, "log": log(y + shift), and "asinh": asinh((y − shift) /
    width). ``lowest`` and ``highest`` are the smallest and largest z of the training rows.
    """

    kind: str
    shift: float
    width: float
    center: np.ndarray
    unit: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    @classmethod
    def of(
        cls,
        Y: np.ndarray,
        weights: np.ndarray,
        kind: str = "identity",
        shift: float = 0.0,
        width: float = 1.0,
    ) -> TargetScale:
        """Return the scale on which Y has mean zero and variance one; constants have unit one."""
        zeros, ones = np.zeros(Y.shape[1]), np.ones(Y.shape[1])
        scale = cls(kind, shift, width, zeros, ones, zeros, ones)
        g = scale.forward(Y)
        largest = np.maximum(np.abs(g).max(axis=0), np.finfo(float).tiny)
        center = largest * np.average(g / largest, axis=0, weights=weights)
        # Rescale first: squares of huge values would overflow.
        unit = largest * np.sqrt(np.average(((g - center) / largest) ** 2, axis=0, weights=weights))
        constant = unit <= 1e-14 * largest
        scale = replace(
            scale,
            center=np.where(constant, g[0], center),
            unit=np.where(constant, 1.0, unit),
        )
        z = scale.forward(Y)
        return replace(scale, lowest=z.min(axis=0), highest=z.max(axis=0))

    @property
    def name(self) -> str:
        """Name of g(y), e.g. "log(y + 1)"; that of y is "prediction"."""
        if self.kind == "identity":
            return "prediction"
        if self.kind == "asinh":
            return f"asinh((y − {self.shift:.4g}) / {self.width:.4g})"
        return f"log(y + {self.shift:.4g})" if self.shift else "log(y)"

    def forward(self, Y: np.ndarray) -> np.ndarray:
        """Return z for values y."""
        g = Y
        if self.kind == "log":
            g = np.log(Y + self.shift)
        elif self.kind == "asinh":
            g = np.arcsinh((Y - self.shift) / self.width)
        return (g - self.center) / self.unit

    def backward(self, z: np.ndarray) -> np.ndarray:
        """Return y for values z."""
        g = self.center + self.unit * z
        if self.kind == "log":
            return np.exp(np.minimum(g, 700.0)) - self.shift
        if self.kind == "asinh":
            return self.shift + self.width * np.sinh(self._in_range(g))
        return g

    def _in_range(self, g):
        """Clip to where ``width`` · sinh is finite."""
        furthest = 700.0 - max(0.0, np.log(self.width))
        return np.clip(g, -furthest, furthest)

    def within(self, z: np.ndarray) -> np.ndarray:
        """Clip z to half a standard deviation outside the training values.

        Means of exponentials further out would be arbitrary.
        """
        return np.clip(z, self.lowest - 0.5, self.highest + 0.5)

    def slope_within(self, z: np.ndarray) -> np.ndarray:
        """Return d ``backward(within(z))`` / dz."""
        inside = (z > self.lowest - 0.5) & (z < self.highest + 0.5)
        g = self.center + self.unit * z
        if self.kind == "log":
            return np.where(inside, self.unit * np.exp(np.minimum(g, 700.0)), 0.0)
        if self.kind == "asinh":
            return np.where(inside, self.unit * self.width * np.cosh(self._in_range(g)), 0.0)
        return np.where(inside, self.unit, 0.0)

    def mean_log_slope(self, Y: np.ndarray, weights: np.ndarray) -> float:
        """Return the mean of log dz/dy over the rows, which turns a density of z into one of y."""
        slopes = -np.log(self.unit)
        if self.kind == "log":
            slopes = slopes - np.log(Y + self.shift)
        elif self.kind == "asinh":
            slopes = slopes - np.log(np.hypot(Y - self.shift, self.width))
        return float(np.average(np.mean(np.broadcast_to(slopes, Y.shape), axis=1), weights=weights))


@dataclass(frozen=True, eq=False)
class Spread:
    """Held-out residuals divided by their size: ``scores`` (n_samples, n_outputs) with ``weights``.

    The size is exp(``log_size``(z)), or one if ``log_size`` is None.
    """

    scores: np.ndarray
    weights: np.ndarray
    log_size: KernelExpansion | None

    @classmethod
    def of(
        cls,
        Z: np.ndarray,
        residuals: np.ndarray,
        counts: np.ndarray,
        learned: LearnedPrior | None,
        rng: np.random.Generator,
    ) -> Spread:
        """Learn the size of held-out residuals of rows Z with a learned prior."""
        plain = cls(residuals, counts, None)
        typical = np.sqrt(np.average(residuals**2, axis=0, weights=counts))
        if learned is None or len(Z) < _FEWEST_ROWS or not np.all(typical > 0):
            return plain
        rows = np.sort(rng.choice(len(Z), min(_MOST_ROWS, len(Z)), replace=False))
        logs = np.log(np.maximum(np.abs(residuals), _LEAST_RESIDUAL * typical))
        data = PreparedData(Z[rows], Values(logs[rows]), counts[rows])
        solved = solve_leaving_out(data, replace(learned, noise=_NOISE_OF_LOGS), 6)
        log_sizes = np.empty(logs.shape)
        if len(rows) < len(Z):
            log_sizes[...] = solved.expansion.evaluate(Z)
        log_sizes[rows] = solved.held_out
        scores = residuals * np.exp(-log_sizes)
        # Gain in the log-likelihood of normal residuals, maximized over a common factor.
        gain = 0.5 * np.log(np.average(residuals**2, axis=0, weights=counts))
        gain -= np.average(log_sizes, axis=0, weights=counts)
        gain -= 0.5 * np.log(np.average(scores**2, axis=0, weights=counts))
        return cls(scores, counts, solved.expansion) if gain.mean() > _WORTHWHILE else plain

    def sizes(self, Z: np.ndarray) -> np.ndarray:
        """Return the size of residuals at rows Z, (n_samples, n_outputs)."""
        if self.log_size is None:
            return np.ones((len(Z), self.scores.shape[1]))
        return np.exp(np.asarray(self.log_size.evaluate(Z), np.float64))

    def root_mean_square(self) -> np.ndarray:
        """Return the root mean square of the scores, (n_outputs,)."""
        return np.sqrt(np.average(self.scores**2, axis=0, weights=self.weights))

    def reach(self, level: float) -> np.ndarray:
        """Return the absolute score that a new row exceeds with probability 1 − level.

        This is the ⌈(n + 1) level⌉-th smallest of n for each output, (n_outputs,).
        """
        reaches = np.empty(self.scores.shape[1])
        for k, scores in enumerate(np.abs(self.scores).T):
            order = np.argsort(scores)
            below = np.cumsum(self.weights[order])
            # The new row counts as one row of unknown score, above all others.
            at = np.searchsorted(below, level * (below[-1] + 1) - 1e-9)
            reaches[k] = scores[order[at]] if at < len(order) else np.inf
        return reaches

    def quantiles(self) -> np.ndarray:
        """Return 101 quantiles of the scores of each output, (101, n_outputs)."""
        shares = (np.arange(_N_QUANTILES) + 0.5) / _N_QUANTILES
        return np.column_stack(
            [lower_quantiles(scores, self.weights, shares) for scores in self.scores.T]
        )


# --- the choice of a scale ------------------------------------------------------------------------


def other_scales(
    Y: np.ndarray, weights: np.ndarray, ends: tuple[float, float]
) -> list[TargetScale]:
    """Return the scales to compare with the identity for a skewed or heavy-tailed target.

    For a long upper tail without negative values this is the logarithm, shifted by the median of
    the positive values if there are zeros. For other long tails it is asinh around the median.
    There are none for several outputs. ``ends`` are the smallest and largest of all values, of
    which Y may be a sample.
    """
    if Y.shape[1] != 1:
        return []
    y = Y[:, 0]
    plain = TargetScale.of(Y, weights)
    z = plain.forward(Y)[:, 0]
    skewness, tails = np.average(z**3, weights=weights), np.average(z**4, weights=weights)
    if np.all(y == y[0]):
        return []
    low, high = ends
    if low >= 0 and skewness > 1:
        shift = 0.0 if low > 0 else float(np.median(y[y > 0]))
        if high + shift < 1e300 and low + shift > 1e-300:
            return [TargetScale.of(Y, weights, "log", shift)]
    if tails > 10:
        below, middle, above = np.quantile(y, [0.25, 0.5, 0.75])
        if above > below:
            return [TargetScale.of(Y, weights, "asinh", float(middle), float(above - below))]
    return []


@dataclass(frozen=True)
class _ScaleTrial:
    """A scale of the target: the prior learned on it, nats per row, and squared errors of rows."""

    scale: TargetScale
    learned: LearnedPrior
    nats: float
    errors: np.ndarray


def choose_scale(
    data: PreparedData,
    rows: np.ndarray,
    ends: tuple[float, float],
    learn: Callable[[PreparedData], LearnedPrior],
    n_steps: int,
) -> tuple[TargetScale, LearnedPrior | None]:
    """Choose the scale of the target by ``learn`` from some rows.

    ``ends`` are the smallest and largest values of all rows, for which the scale must be valid.
    The second result is the prior learned on this scale, or None if there was no choice.
    """
    Y, counts = data.target.rows, data.row_counts
    plain = TargetScale.of(Y, counts)
    others = other_scales(Y, counts, ends)
    if not others:
        return plain, None
    sample = data.take(rows)

    def tried(scale):
        data = replace(sample, target=Values(scale.forward(Y[rows])))
        learned = learn(data)
        nats = learned.objective - scale.mean_log_slope(Y[rows], counts[rows])
        solved = solve_leaving_out(data, learned, n_steps)
        spread = Spread(data.outputs - solved.held_out, data.row_counts, None)
        means = mean_values(scale, solved.held_out, spread, np.ones_like(data.outputs))
        # In units of the target: squares of huge values would overflow.
        errors = ((means - Y[rows]) / plain.unit)[:, 0] ** 2
        return _ScaleTrial(scale, learned, nats, errors)

    best, *alternatives = ordered_map(tried, [plain, *others])
    for other in alternatives:
        if _is_clearly_better(other, best, counts[rows]):
            best = other
    # Center and unit are those of all rows.
    scale = TargetScale.of(Y, counts, best.scale.kind, best.scale.shift, best.scale.width)
    return scale, best.learned


def _is_clearly_better(other, best, counts):
    """Return True if a scale gains 0.1 nats per row, and its squared errors are not larger.

    They may be larger by a standard error, but not by a larger share than the gain in nats: few
    rows of a long tail have large standard errors.
    """
    gain, worse = best.nats - other.nats, other.errors - best.errors
    mean, n_rows = np.average(worse, weights=counts), counts.sum()
    standard_error = np.sqrt(np.average((worse - mean) ** 2, weights=counts) / n_rows)
    most = min(standard_error, gain * np.average(best.errors, weights=counts))
    return gain > _LEAST_GAIN and mean <= most


def values_around(
    scale: TargetScale, center: np.ndarray, spread: Spread, sizes: np.ndarray
) -> np.ndarray:
    """Return 101 equally likely values around each prediction, (101, n_samples, n_outputs)."""
    return scale.backward(scale.within(center + sizes * spread.quantiles()[:, None]))


def mean_values(
    scale: TargetScale, center: np.ndarray, spread: Spread, sizes: np.ndarray
) -> np.ndarray:
    """Return the mean in units of y: on a logarithmic scale over all held-out residuals."""
    return (
        scale.backward(center)
        if scale.kind == "identity"
        else values_around(scale, center, spread, sizes).mean(axis=0)
    )
