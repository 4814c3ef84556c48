"""The adversary of the margin game: dual problems of support vector machines and ridge regression.

Each dual is max over α in K of F(α, λ) = linear(α) − curvature(α) − ½ Σ_j λ_j v_α(ω_j), one column of α for each
one-vs-rest problem or output.  The measure λ only enters through the potential of the *signal* (y∘α, or α itself).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from .._compute import is_dask

LOSSES = ("hinge", "squared_hinge", "squared")
PROJECTIONS = ("exact", "alternating")


def project_dual(z: Any, y: Any, C: float) -> np.ndarray:
    """The point of K = {0 <= α <= C, yᵀα = 0} nearest to z, exactly (to rounding).

    α(m) = clip(z − m y, 0, C) for the one m with yᵀα(m) = 0; this sum is piecewise linear and non-increasing in m, so
    Newton steps kept inside a bracket end on its root.  ``C`` may be infinite.  (Alternating between the box and the
    hyperplane, as in Bullins et al. 2018, Algorithm 3, gives a feasible point that is not the nearest one.)

    >>> project_dual([3.0, 0.5, 0.5], [1, -1, -1], C=1.0)
    array([1. , 0.5, 0.5])
    """
    z, y = np.asarray(z, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if z.ndim != 1 or z.shape != y.shape:
        raise ValueError(f"z and y must be vectors of one length, got shapes {z.shape} and {y.shape}.")
    if not np.all(np.abs(y) == 1):
        raise ValueError(f"y must hold −1 and +1 only, got values {np.unique(y)[:5]}.")
    if not C > 0:
        raise ValueError(f"C must be positive, got {C!r}. Write e.g. C=1.0.")
    if not np.all(np.isfinite(z)):
        raise ValueError("z must be finite, got NaN or infinity.")
    if np.all(y == y[:1]):
        return np.zeros_like(z)  # with one class only α = 0 satisfies yᵀα = 0
    return _nearest_feasible(z, y, C)


def _nearest_feasible(z, y, C):
    turning = y * z  # α_i leaves its lower bound here; its upper bound is C further
    low, high = -np.inf, np.inf
    shift = 0.0
    for _ in range(200):
        point = z - shift * y
        alpha = np.clip(point, 0, C)
        excess = y @ alpha
        if excess == 0:
            break
        if excess > 0:
            low = shift
        else:
            high = shift
        n_free = np.count_nonzero((point > 0) & (point < C))
        proposal = shift + excess / n_free if n_free else np.nan
        if not low < proposal < high:
            proposal = _inside(low, high, turning, C)
        if proposal in (low, high, shift):
            break
        shift = proposal
    return alpha


def _inside(low, high, turning, C):
    """A point strictly inside the bracket; where that is still open, one beyond all turning points on that side."""
    if np.isinf(low) or np.isinf(high):
        span = 1 + np.ptp(turning) + (C if np.isfinite(C) else 0)
        edge = turning.max() + span if np.isinf(high) else turning.min() - span
        inner = low if np.isinf(high) else high
        return edge if np.isinf(inner) or (edge > inner) == np.isinf(high) else inner + (edge - inner) * 2
    return 0.5 * (low + high)


def alternating_projection(z: np.ndarray, y: np.ndarray, C: float, n_sweeps: int = 10) -> np.ndarray:
    """Box, then hyperplane, ten times (Bullins et al. 2018, Algorithm 3): feasible to about 1e-5, not the nearest point."""
    for _ in range(n_sweeps):
        z = np.clip(z, 0, C)
        z = z - y * (y @ z) / len(y)
    return z


class HingeDual:
    """ℓ1-SVM, ½‖w‖² + C Σ max(0, 1 − y f): K = {0 <= α <= C, yᵀα = 0}, linear(α) = 1ᵀα."""

    strongly_concave = False

    def __init__(self, targets, C, projection):
        self.targets = targets
        self.C = C
        self.projection = project_columns if projection == "exact" else _alternate_columns

    def start(self):
        return self.project(np.full(self.targets.shape, self.C / 2))

    def project(self, alpha):
        return self.projection(alpha, self.targets, self.C)

    def signal(self, alpha):
        return self.targets * alpha

    def linear(self, alpha):
        return float(np.sum(alpha))

    def curvature(self, alpha):
        return 0.0

    def gradient(self, alpha, response):
        """∂F/∂α where ``response`` = K_λ (y∘α)."""
        return 1 - self.targets * response

    def scaled(self, linear, quadratic):
        """The largest F on the segment sα, 0 <= s <= 1, which K contains: s·linear − s²·quadratic/2."""
        s = 1.0 if quadratic <= 0 else min(1.0, linear / quadratic)
        return s * linear - s**2 * quadratic / 2

    @property
    def diameter(self):
        return self.C * np.sqrt(self.targets.size)

    @property
    def gradient_bound(self):
        n = len(self.targets)
        return np.sqrt(self.targets.size) * (1 + self.C * n)

    def primal(self, f, smoothing):
        """(loss, its derivative in f, its second derivative) row by row; the hinge's corner rounded over ``smoothing``."""
        gap = 1 - self.targets * f
        inside = (gap > 0) & (gap < smoothing)
        slope = np.clip(gap / smoothing, 0, 1)
        loss = np.where(inside, gap**2 / (2 * smoothing), np.maximum(gap, 0) - smoothing / 2 * (gap >= smoothing))
        return self.C * loss, -self.C * self.targets * slope, self.C * inside / smoothing

    def primal_loss(self, f):
        return self.C * np.maximum(1 - self.targets * f, 0)

    def from_slopes(self, slopes):
        """α from the derivatives of the loss at the primal solution."""
        return self.project(-self.targets * slopes)

    def take(self, rows, columns=slice(None)):
        """The same problem on some rows, the weight of the loss scaled so that its expectation is that of all rows."""
        part = type(self).__new__(type(self))
        part.__dict__.update(self.__dict__)
        part.targets = self.targets[rows][:, columns]
        part.C = self.C * len(self.targets) / len(part.targets)
        return part


class SquaredHingeDual(HingeDual):
    """ℓ2-SVM, ½‖w‖² + (C/2) Σ max(0, 1 − y f)²: K = {α >= 0, yᵀα = 0}, curvature ‖α‖²/(2C)."""

    strongly_concave = True

    def start(self):
        # At f = 0 the best response is α = C; half of it, like the start of the box-constrained game.
        return self.project(np.full(self.targets.shape, self.C / 2))

    def project(self, alpha):
        return self.projection(alpha, self.targets, np.inf)

    def curvature(self, alpha):
        return float(np.sum(alpha**2)) / (2 * self.C)

    def gradient(self, alpha, response):
        return 1 - self.targets * response - alpha / self.C

    def scaled(self, linear, quadratic):
        return 0.0 if quadratic <= 0 else linear**2 / (2 * quadratic)  # K is a cone: any s >= 0

    def primal(self, f, smoothing):
        gap = np.maximum(1 - self.targets * f, 0)
        return self.C * gap**2 / 2, -self.C * self.targets * gap, self.C * (gap > 0.0)

    def primal_loss(self, f):
        return self.C * np.maximum(1 - self.targets * f, 0) ** 2 / 2


class SquaredDual(HingeDual):
    """Ridge regression, ½‖w‖² + (C/2) Σ (y − f)²: α is C times the residual.

    K = {1ᵀα = 0, ‖α‖ <= C ‖y − ȳ‖} in each column: the ball holds the maximizer, because the constant fit is feasible.
    """

    strongly_concave = True

    def __init__(self, targets, C, projection):
        super().__init__(targets, C, projection)
        self.radius = C * np.linalg.norm(targets - targets.mean(axis=0), axis=0)

    def start(self):
        return self.project(self.C / 2 * self.targets)

    def project(self, alpha):
        alpha = alpha - alpha.mean(axis=0)
        norms = np.linalg.norm(alpha, axis=0)
        return alpha * np.minimum(1, self.radius / np.where(norms > 0, norms, 1))

    def signal(self, alpha):
        return alpha

    def linear(self, alpha):
        return float(np.sum(self.targets * alpha))

    def curvature(self, alpha):
        return float(np.sum(alpha**2)) / (2 * self.C)

    def gradient(self, alpha, response):
        return self.targets - response - alpha / self.C

    def scaled(self, linear, quadratic):
        return 0.0 if quadratic <= 0 else linear**2 / (2 * quadratic)  # the maximum over all of 1ᵀα = 0

    @property
    def diameter(self):
        return 2 * float(np.linalg.norm(self.radius))

    @property
    def gradient_bound(self):
        return float(np.linalg.norm(self.radius)) * (2 / self.C + len(self.targets))

    def primal(self, f, smoothing):
        return self.C * (f - self.targets) ** 2 / 2, self.C * (f - self.targets), np.full_like(f, self.C)

    def primal_loss(self, f):
        return self.C * (f - self.targets) ** 2 / 2

    def from_slopes(self, slopes):
        return self.project(-slopes)


def project_columns(alpha, targets, C):
    return np.column_stack([_nearest_feasible(a, y, C) for a, y in zip(alpha.T, targets.T, strict=True)])


def _alternate_columns(alpha, targets, C):
    return np.column_stack([alternating_projection(a, y, C) for a, y in zip(alpha.T, targets.T, strict=True)])


def make_dual(loss: str, y: Any, C: float, n_rows: int, projection: str = "exact") -> HingeDual:
    """The adversary for these targets: ±1 columns for the classification losses (one for two classes), numbers for "squared"."""
    if loss == "squared":
        return SquaredDual(regression_targets(y, n_rows), C, projection)
    codes, classes = class_codes(y, n_rows, advice='loss="squared"')
    signs = np.where(codes[:, None] == np.arange(len(classes)), 1.0, -1.0)
    signs = signs[:, 1:] if len(classes) == 2 else signs
    return (HingeDual if loss == "hinge" else SquaredHingeDual)(signs, C, projection)


def class_codes(y: Any, n_rows: int, advice: str) -> tuple[np.ndarray, np.ndarray]:
    """(code of each row, classes); ``advice`` is what to write for a continuous target."""
    y = _labels(y, n_rows)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(
            f"y must be one label per row, got shape {y.shape}. For several numeric targets write {advice}."
        )
    if type_of_target(y).startswith("continuous"):
        raise ValueError(f"Unknown label type: y is continuous, but classes are needed. For regression write {advice}.")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only ({classes.tolist()[0]!r}); a margin lies between at least two. Check how the rows were selected."
        )
    return codes, classes


def regression_targets(y: Any, n_rows: int) -> np.ndarray:
    """Finite float64 targets as (n_rows, n_outputs)."""
    y = np.asarray(_labels(y, n_rows), dtype=np.float64)
    if not np.all(np.isfinite(y)):
        raise ValueError("Input y contains NaN or infinity; targets must be finite numbers.")
    return y[:, None] if y.ndim == 1 else y


def _labels(y, n_rows):
    if y is None:
        raise ValueError("This learner requires y to be passed, but the target y is None.")
    y = np.asarray(y.compute() if is_dask(y) else y)
    if y.shape[:1] != (n_rows,):
        raise ValueError(f"X has {n_rows} rows but y has shape {y.shape}; each row needs one target.")
    return y
