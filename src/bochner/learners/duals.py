"""The adversary of the margin game: dual problems of support vector machines and ridge regression.

Each dual is max over α in K of F(α, λ) = linear(α) − curvature(α) − ½ Σ_j λ_j v_α(ω_j), one column of α for each
one-vs-rest problem or output.  The measure λ only enters through the Fourier potential v of the *signal* (w∘y∘α, or w∘α).
A row of weight w_i stands for w_i equal rows, which share their α_i: sums over rows and norms of α are weighted.
"""

from copy import copy
from typing import Any

import numpy as np

from ..targets import Labels, Target, Values

LOSSES = ("auto", "hinge", "squared_hinge", "squared")
PROJECTIONS = ("exact", "alternating")


def project_dual(z: Any, y: Any, C: float, weights: Any = None) -> np.ndarray:
    """The point of K = {0 <= α <= C, Σ_i w_i y_i α_i = 0} nearest to z in the norm Σ_i w_i α_i², exactly (to rounding).

    α(m) = clip(z − m y, 0, C) for the one m with Σ w y α(m) = 0; this sum is piecewise linear and non-increasing in m, so
    Newton steps kept inside a bracket end on its root.  ``C`` may be infinite; ``weights`` w are ones by default.  (Alternating
    between the box and the hyperplane, as in Bullins et al. 2018, Algorithm 3, gives a feasible point that is not the nearest.)

    Parameters
    ----------
    z : array (n_samples,)
        The point to project.
    y : array (n_samples,)
        Signs ±1.
    C : float
        The upper end of the box; may be infinite.
    weights : array (n_samples,), default None
        w, how often each row counts; None is ones.

    Examples
    --------
    >>> project_dual([3.0, 0.5, 0.5], [1, -1, -1], C=1.0)
    array([1. , 0.5, 0.5])
    """
    z, y = np.asarray(z, dtype=np.float64), np.asarray(y, dtype=np.float64)
    weights = np.ones(y.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    if z.ndim != 1 or not z.shape == y.shape == weights.shape:
        raise ValueError(f"z, y and weights must be vectors of one length, got {z.shape}, {y.shape}, {weights.shape}.")
    if not np.all(np.abs(y) == 1):
        raise ValueError(f"y must hold −1 and +1 only, got values {np.unique(y)[:5]}.")
    if not C > 0:
        raise ValueError(f"C must be positive, got {C!r}. Write e.g. C=1.0.")
    if not np.all(np.isfinite(z)):
        raise ValueError("z must be finite, got NaN or infinity.")
    if not np.all(weights >= 0):
        raise ValueError(f"weights must be non-negative, got {weights.min():.3g}.")
    if len(np.unique(y[weights > 0])) < 2:
        return np.zeros_like(z)  # with one class only α = 0 satisfies Σ w y α = 0
    return _nearest_feasible(z, y, C, weights)


def _nearest_feasible(z, y, C, weights):
    turning = y * z  # α_i leaves its lower bound here; its upper bound is C further
    signed = weights * y
    low, high = -np.inf, np.inf
    shift = 0.0
    for _ in range(200):
        point = z - shift * y
        alpha = np.clip(point, 0, C)
        excess = signed @ alpha
        if excess == 0:
            break
        if excess > 0:
            low = shift
        else:
            high = shift
        free = np.sum(weights[(point > 0) & (point < C)])
        proposal = shift + excess / free if free else np.nan
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


def alternating_projection(
    z: np.ndarray, y: np.ndarray, C: float, weights: np.ndarray, n_sweeps: int = 10
) -> np.ndarray:
    """Box, then hyperplane, ten times (Bullins et al. 2018, Algorithm 3): feasible to about 1e-5, not the nearest point."""
    for _ in range(n_sweeps):
        z = np.clip(z, 0, C)
        z = z - y * ((weights * y) @ z) / weights.sum()
    return z


class HingeDual:
    """ℓ1-SVM, ½‖w‖² + C Σ_i w_i max(0, 1 − y f): K = {0 <= α <= C, Σ w y α = 0}, linear(α) = Σ w α.

    ``targets`` is (n_samples, n_problems), ``weights`` (n_samples,).
    """

    strongly_concave = False

    def __init__(self, targets, C, weights=None, projection="exact"):
        self.targets = targets
        self.C = C
        self.weights = np.ones(len(targets)) if weights is None else weights
        self.projection = _nearest_feasible if projection == "exact" else alternating_projection

    @property
    def total(self):
        """Number of rows, each counted as often as its weight says."""
        return float(self.weights.sum())

    def summed(self, columns):
        """Σ_i w_i of all entries in row i."""
        return float(np.sum(self.weights[:, None] * columns))

    def start(self):
        # At f = 0 the best response to the squared hinge is α = C; half of it, as in the box.
        return self.project(np.full(self.targets.shape, self.C / 2))

    def project(self, alpha):
        return self._projected(alpha, self.C)

    def _projected(self, alpha, largest):
        columns = zip(alpha.T, self.targets.T, strict=True)
        return np.column_stack([self.projection(a, y, largest, self.weights) for a, y in columns])

    def signal(self, alpha):
        return self.weights[:, None] * (self.targets * alpha)

    def linear(self, alpha):
        return self.summed(alpha)

    def curvature(self, alpha):
        return 0.0

    def gradient(self, alpha, response):
        """∂F/∂α of one copy of each row, where ``response`` = K_λ applied to the signal."""
        return 1 - self.targets * response

    def scaled(self, linear, quadratic):
        """The largest F on the segment sα, 0 <= s <= 1, which K contains: s·linear − s²·quadratic/2."""
        s = 1.0 if quadratic <= 0 else min(1.0, linear / quadratic)
        return s * linear - s**2 * quadratic / 2

    @property
    def diameter(self):
        return self.C * np.sqrt(self.total * self.targets.shape[1])

    @property
    def gradient_bound(self):
        return np.sqrt(self.total * self.targets.shape[1]) * (1 + self.C * self.total)

    def primal(self, f, smoothing):
        """(loss, its derivative in f, its second derivative) of one copy of each row; the corner rounded over ``smoothing``."""
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

    def on(self, targets, weights):
        """The same problem for other rows."""
        part = copy(self)
        part.targets, part.weights = targets, weights
        return part

    def column(self, k):
        """One of the problems."""
        return self.on(self.targets[:, k : k + 1], self.weights)

    def sampled(self, rows):
        """The problem on some rows, C scaled so that the loss on them has the expectation of the loss on all."""
        part = self.on(self.targets[rows], self.weights[rows])
        part.C = self.C * self.total / part.total
        return part


class SquaredHingeDual(HingeDual):
    """ℓ2-SVM, ½‖w‖² + (C/2) Σ_i w_i max(0, 1 − y f)²: K = {α >= 0, Σ w y α = 0}, curvature Σ w α² / (2C)."""

    strongly_concave = True

    def project(self, alpha):
        return self._projected(alpha, np.inf)

    def curvature(self, alpha):
        return self.summed(alpha**2) / (2 * self.C)

    def gradient(self, alpha, response):
        return 1 - self.targets * response - alpha / self.C

    def scaled(self, linear, quadratic):
        return 0.0 if quadratic <= 0 else linear**2 / (2 * quadratic)  # any s >= 0: K is a cone, or holds the best

    def primal(self, f, smoothing):
        gap = np.maximum(1 - self.targets * f, 0)
        return self.C * gap**2 / 2, -self.C * self.targets * gap, self.C * (gap > 0.0)

    def primal_loss(self, f):
        return self.primal(f, 0.0)[0]  # smooth already


class SquaredDual(SquaredHingeDual):
    """Ridge regression, ½‖w‖² + (C/2) Σ_i w_i (y − f)²: α is C times the residual.

    K = {Σ w α = 0, Σ w α² <= C² Σ w (y − ȳ)²} in each column: the ball holds the maximizer, because the constant fit is
    feasible.
    """

    def __init__(self, targets, C, weights=None, projection="exact"):
        super().__init__(targets, C, weights, projection)
        self.radius = C * self._norms(targets - self._mean(targets))

    def _mean(self, columns):
        return self.weights @ columns / self.total

    def _norms(self, columns):
        return np.sqrt(self.weights @ columns**2)

    def start(self):
        return self.project(self.C / 2 * self.targets)

    def project(self, alpha):
        alpha = alpha - self._mean(alpha)
        norms = self._norms(alpha)
        return alpha * np.minimum(1, self.radius / np.where(norms > 0, norms, 1))

    def signal(self, alpha):
        return self.weights[:, None] * alpha

    def linear(self, alpha):
        return self.summed(self.targets * alpha)

    def gradient(self, alpha, response):
        return self.targets - response - alpha / self.C

    @property
    def diameter(self):
        return 2 * float(np.linalg.norm(self.radius))

    @property
    def gradient_bound(self):
        return float(np.linalg.norm(self.radius)) * (2 / self.C + self.total)

    def primal(self, f, smoothing):
        return self.C * (f - self.targets) ** 2 / 2, self.C * (f - self.targets), np.full_like(f, self.C)

    def from_slopes(self, slopes):
        return self.project(-slopes)


def make_dual(
    loss: str, target: Target, C: float, weights: np.ndarray | None = None, projection: str = "exact"
) -> HingeDual:
    """The adversary for this target: ±1 columns for the classification losses (one for two classes), numbers for "squared".

    ``"auto"`` is the hinge for labels and the squared loss for values.
    """
    if loss == "squared" or (loss == "auto" and isinstance(target, Values)):
        return SquaredDual(_numbers(target), C, weights, projection)
    if not isinstance(target, Labels):
        raise ValueError(
            f'loss="{loss}" needs labels, but y is read as {type(target).__name__}. For regression write loss="squared" or '
            'leave loss="auto"; for classes given as many whole numbers write SpectralFeatures(target="labels").'
        )
    if len(target.classes) < 2:
        raise ValueError(
            f"y holds one class only ({target.classes.tolist()[0]!r}); a margin lies between at least two. Check how the "
            "rows were selected."
        )
    kind = SquaredHingeDual if loss == "squared_hinge" else HingeDual
    return kind(target.signs(), C, weights, projection)


def _numbers(target):
    """Values as they are, and whole numbers that were read as labels."""
    if isinstance(target, Values):
        return target.rows
    if isinstance(target, Labels) and target.classes.dtype.kind in "fiub":
        return target.classes[target.codes].astype(np.float64)[:, None]
    raise ValueError(f'loss="squared" needs numbers, but y is read as {type(target).__name__} of another kind.')
