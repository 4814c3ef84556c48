"""Dual problems of the margin game: support vector machines and ridge regression.

Each dual is max over α in K of F(α, λ) = linear(α) − curvature(α) − ½ Σ_j λ_j v_α(ω_j), one column
of α for each one-vs-rest problem or output. The measure λ only enters through the Fourier potential
v of the *signal* (w∘y∘α, or w∘α). A row of weight w_i stands for w_i equal rows, which share their
α_i: sums over rows and norms of α are weighted.
"""

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from ...data import Block, Rows, as_rows
from ...data.targets import Labels, Target, Values, regressed

LOSSES = ("auto", "hinge", "squared_hinge", "squared")
PROJECTIONS = ("exact", "alternating")
# Up to this many rows, columns are processed as whole arrays; above, in blocks of this many.
_MANY_ROWS = 2**14
# Rows per block of columns: fewer would be done before a second thread starts.
_LIGHT_ROWS = 2**18
_SWEEPS = 10


def project_dual(z: Any, y: Any, C: float, weights: Any = None) -> np.ndarray:
    """Project z onto K = {0 <= α <= C, Σ_i w_i y_i α_i = 0} in the norm Σ_i w_i α_i².

    α(m) = clip(z − m y, 0, C) for the one m with Σ w y α(m) = 0. This sum is piecewise linear and
    does not increase with m, so Newton steps inside a bracket find its root up to rounding.
    Algorithm 3 of Bullins et al. 2018 alternates between the box and the hyperplane instead. Its
    result is feasible, but not the nearest point.

    Parameters
    ----------
    z : array (n_samples,)
        The point to project.
    y : array (n_samples,)
        Signs ±1.
    C : float
        Upper end of the box; may be infinite.
    weights : array (n_samples,), default None
        w, the weights of the rows; None is ones.

    Examples
    --------
    >>> project_dual([3.0, 0.5, 0.5], [1, -1, -1], C=1.0)
    array([1. , 0.5, 0.5])
    """
    z, y = np.asarray(z, dtype=np.float64), np.asarray(y, dtype=np.float64)
    weights = np.ones(y.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    if z.ndim != 1 or not z.shape == y.shape == weights.shape:
        raise ValueError(
            f"z, y and weights must be vectors of one length, got {z.shape}, {y.shape}, "
            f"{weights.shape}."
        )
    if not np.all(np.abs(y) == 1):
        raise ValueError(f"y must consist of −1 and +1, got values {np.unique(y)[:5]}.")
    if not C > 0:
        raise ValueError(f"C must be positive, got {C!r}. Write e.g. C=1.0.")
    if not np.all(np.isfinite(z)):
        raise ValueError("z must be finite, got NaN or infinity.")
    if not np.all(weights >= 0):
        raise ValueError(f"weights must be non-negative, got {weights.min():.3g}.")
    if len(np.unique(y[weights > 0])) < 2:
        return np.zeros_like(z)  # with one class only α = 0 satisfies Σ w y α = 0
    shift = balancing_shifts(
        lambda shifts: _balance(C, shifts, z[:, None], y[:, None], weights), 1, C
    )
    return np.clip(z - shift * y, 0, C)


def _balance(C, shifts, z, y, weights):
    """Return Σ w y α and the weight inside the box, of α = clip(z − m y, 0, C) in each column."""
    point = z - shifts * y
    free = np.sum(weights[:, None] * ((point > 0) & (point < C)), axis=0)
    return weights @ (y * np.clip(point, 0, C, out=point)), free


def balancing_shifts(balance: Callable, n_columns: int, C: float) -> np.ndarray:
    """Return the m of each column with Σ w y α(m) = 0.

    ``balance(m)`` returns this sum and its negative slope. The sum does not grow with m: Newton
    steps within a bracket. As long as the bracket is open, strides double.
    """
    low, high = np.full(n_columns, -np.inf), np.full(n_columns, np.inf)
    shifts, done = np.zeros(n_columns), np.zeros(n_columns, dtype=bool)
    largest = C if np.isfinite(C) else 0.0
    stride = 1 + largest
    for _ in range(200):
        excess, free = balance(shifts)
        low, high = np.where(excess > 0, shifts, low), np.where(excess < 0, shifts, high)
        closed = np.isfinite(low) & np.isfinite(high)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = shifts + excess / free
            middle = np.where(closed, 0.5 * (low + high), shifts + np.sign(excess) * stride)
        newton_is_inside = (low < newton) & (newton < high) & (free > 0)
        proposal = np.where(newton_is_inside, newton, middle)
        stride *= 2
        only_rounding = np.abs(excess) <= 2**-52 * np.maximum(np.abs(shifts), largest) * free
        stuck = (proposal == low) | (proposal == high) | (proposal == shifts)
        done |= (excess == 0) | only_rounding | stuck
        if done.all():
            break
        shifts = np.where(done, shifts, proposal)
    return shifts


class PrimalLoss(NamedTuple):
    """Loss of each row, and its first and second derivative in the score."""

    values: np.ndarray
    slopes: np.ndarray
    curvatures: np.ndarray


class HingeDual:
    """ℓ1-SVM, ½‖w‖² + C Σ_i w_i max(0, 1 − y f): K = {0 <= α <= C, Σ w y α = 0}, linear Σ w α.

    ``targets`` is (n_samples, n_problems), ``weights`` (n_samples,). ``rows`` is None, or splits
    the columns into blocks (see ``on_rows``).
    """

    strongly_concave = False
    rows: Rows | None = None

    def __init__(self, targets, C, weights=None, projection="exact"):
        self.targets = targets
        self.C = C
        self.weights = np.broadcast_to(1.0, len(targets)) if weights is None else weights
        self.total = float(np.sum(self.weights))
        self.projection = projection

    @property
    def n_problems(self):
        return self.targets.shape[1]

    def on_rows(self, rows):
        """Return the same problem, processed block by block if there are many rows."""
        if len(rows) <= _MANY_ROWS:
            return self
        part = copy(self)
        part.rows = in_long_blocks(as_rows(self.targets, rows.block_size), _LIGHT_ROWS)
        return part

    def sum(self, function, *columns):
        """Return ``function(*columns)``, a sum over rows."""
        if self.rows is None:
            return function(*columns)
        return self.rows.sum(Block(_sum_of_columns, function), *columns)

    def map(self, function, *columns, out=None):
        """Return ``function(*columns)``, (n_samples, n_problems); ``out`` may be a column."""
        if self.rows is None:
            return function(*columns)
        block = Block(_map_of_columns, function)
        return self.rows.map(block, self.n_problems, dtype=np.float64, out=out, signals=columns)

    def summed(self, columns):
        """Return Σ_i w_i of all entries in row i."""
        return float(self.sum(lambda a, w: np.sum(w @ a), columns, self.weights))

    def squares(self, columns):
        """Return Σ_i w_i of all squared entries in row i."""
        return float(self.sum(lambda a, w: np.sum(w @ a**2), columns, self.weights))

    def start(self):
        """Return the first α: half of C, which is the best response to f = 0, projected."""
        return self.project(self.map(lambda y: np.full(y.shape, self.C / 2), self.targets))

    def project(self, alpha):
        """Return the point of K for α, whose memory is reused."""
        return self._projected(alpha, self.C)

    def _projected(self, alpha, largest):
        y, w = self.targets, self.weights

        def clipped(shifts):
            return self.map(lambda a, y: np.clip(a - shifts * y, 0, largest), alpha, y, out=alpha)

        if self.projection == "exact":

            def balance(shifts):
                return self.sum(lambda a, y, w: _balance(largest, shifts, a, y, w), alpha, y, w)

            return clipped(balancing_shifts(balance, self.n_problems, largest))
        # Box, then hyperplane, ten times (Bullins et al. 2018, Algorithm 3): feasible to about
        # 1e-5, not the nearest point.
        for _ in range(_SWEEPS):
            alpha = clipped(0.0)
            shifts = self.sum(lambda a, y, w: w @ (y * a), alpha, y, w) / self.total
            alpha = self.map(lambda a, y, m=shifts: a - m * y, alpha, y, out=alpha)
        return alpha

    def moved(self, alpha, direction, step):
        """Return the point of K for α + step · direction, in the memory of the direction."""
        return self.project(self.map(lambda a, d: a + step * d, alpha, direction, out=direction))

    def signal(self, alpha):
        """Return w∘y∘α, the signal whose Fourier potential is searched."""
        return self.map(lambda a, y, w: w[:, None] * (y * a), alpha, self.targets, self.weights)

    def payoff(self, alpha):
        """Return linear and curvature of F = linear − curvature − potential / 2."""
        return self.summed(alpha), 0.0

    def gradient(self, alpha, response):
        """Return ∂F/∂α of one copy of each row, for ``response`` = K_λ times the signal."""
        return 1 - self.targets * response

    def scaled(self, linear, quadratic):
        """Return the largest s·linear − s²·quadratic/2 with sα in K: F on the segment 0 to α."""
        s = 1.0 if quadratic <= 0 else min(1.0, linear / quadratic)
        return s * linear - s**2 * quadratic / 2

    @property
    def diameter(self):
        """Diameter of K."""
        return self.C * np.sqrt(self.total * self.n_problems)

    @property
    def gradient_bound(self):
        """Upper bound of the norm of the gradient."""
        return np.sqrt(self.total * self.n_problems) * (1 + self.C * self.total)

    def primal(self, f, smoothing) -> PrimalLoss:
        """Return the loss of one copy of each row, its corner rounded over ``smoothing``."""
        gap = 1 - self.targets * f
        inside = (gap > 0) & (gap < smoothing)
        slope = np.clip(gap / smoothing, 0, 1)
        beyond = np.maximum(gap, 0) - smoothing / 2 * (gap >= smoothing)
        loss = np.where(inside, gap**2 / (2 * smoothing), beyond)
        return PrimalLoss(
            self.C * loss, -self.C * self.targets * slope, self.C * inside / smoothing
        )

    def primal_loss(self, f):
        """Return the loss of one copy of each row."""
        return self.C * np.maximum(1 - self.targets * f, 0)

    def from_slopes(self, slopes):
        """Return α from the derivatives of the loss at the primal solution."""
        return self.project(-self.targets * slopes)

    def on(self, targets, weights):
        """Return the same problem for other rows, as arrays."""
        part = copy(self)
        part.rows, part.targets, part.weights = None, targets, weights
        part.total = float(weights.sum())
        return part

    def without_rows(self):
        """Return the problem without data, to send to workers."""
        return self.on(np.empty((0, self.n_problems)), np.empty(0))

    def column(self, k):
        """Return the problem of column k."""
        return self.on(self.targets[:, k : k + 1], self.weights)

    def sampled(self, rows):
        """Return the problem on some rows; C is scaled to keep the expectation of the loss."""
        part = self.on(self.targets[rows], self.weights[rows])
        part.C = self.C * self.total / part.total
        return part


class SquaredHingeDual(HingeDual):
    """ℓ2-SVM, ½‖w‖² + (C/2) Σ_i w_i max(0, 1 − y f)²: K = {α >= 0, Σ w y α = 0}.

    The curvature is Σ w α² / (2C).
    """

    strongly_concave = True

    def project(self, alpha):
        return self._projected(alpha, np.inf)

    def payoff(self, alpha):
        linear, squares = self.sum(
            lambda a, w: (np.sum(w @ a), np.sum(w @ a**2)), alpha, self.weights
        )
        return float(linear), float(squares) / (2 * self.C)

    def gradient(self, alpha, response):
        return 1 - self.targets * response - alpha / self.C

    def scaled(self, linear, quadratic):
        # All s >= 0: K is a cone, or contains the best s.
        return 0.0 if quadratic <= 0 else linear**2 / (2 * quadratic)

    def primal(self, f, smoothing):
        gap = np.maximum(1 - self.targets * f, 0)
        return PrimalLoss(self.C * gap**2 / 2, -self.C * self.targets * gap, self.C * (gap > 0.0))

    def primal_loss(self, f):
        return self.primal(f, 0.0).values  # smooth already


class SquaredDual(SquaredHingeDual):
    """Ridge regression, ½‖w‖² + (C/2) Σ_i w_i (y − f)²: α is C times the residual.

    K = {Σ w α = 0, Σ w α² <= C² Σ w (y − ȳ)²} in each column: the ball contains the maximizer,
    because the constant fit is feasible.
    """

    def __init__(self, targets, C, weights=None, projection="exact"):
        super().__init__(targets, C, weights, projection)
        mean = self.weights @ targets / self.total
        self.radius = C * np.sqrt(self.weights @ (targets - mean) ** 2)

    def start(self):
        return self.project(self.map(lambda y: self.C / 2 * y, self.targets))

    def project(self, alpha):
        mean = self.sum(lambda a, w: w @ a, alpha, self.weights) / self.total
        alpha = self.map(lambda a: a - mean, alpha, out=alpha)
        norms = np.sqrt(self.sum(lambda a, w: w @ a**2, alpha, self.weights))
        factors = np.minimum(1, self.radius / np.where(norms > 0, norms, 1))
        return self.map(lambda a: factors * a, alpha, out=alpha)

    def signal(self, alpha):
        return self.map(lambda a, w: w[:, None] * a, alpha, self.weights)

    def payoff(self, alpha):
        linear, squares = self.sum(
            lambda y, a, w: (np.sum(w @ (y * a)), np.sum(w @ a**2)),
            self.targets,
            alpha,
            self.weights,
        )
        return float(linear), float(squares) / (2 * self.C)

    def gradient(self, alpha, response):
        return self.targets - response - alpha / self.C

    @property
    def diameter(self):
        return 2 * float(np.linalg.norm(self.radius))

    @property
    def gradient_bound(self):
        return float(np.linalg.norm(self.radius)) * (2 / self.C + self.total)

    def primal(self, f, smoothing):
        residual = f - self.targets
        return PrimalLoss(self.C * residual**2 / 2, self.C * residual, np.full_like(f, self.C))

    def from_slopes(self, slopes):
        return self.project(-slopes)


def make_dual(
    loss: str, target: Target, C: float, weights: Any = None, projection: str = "exact"
) -> HingeDual:
    """Return the dual problem of a loss and a target.

    For losses of classes, targets are ±1 columns, one for two classes. For "squared" they are
    numbers. ``"auto"`` is the hinge for labels and the squared loss for values.
    """
    if loss == "squared" or (loss == "auto" and isinstance(target, Values)):
        return SquaredDual(regressed(target), C, weights, projection)
    if not isinstance(target, Labels):
        raise ValueError(
            f'loss="{loss}" needs labels, but y is read as {type(target).__name__}. For regression '
            'write loss="squared" or leave loss="auto"; for classes given as many whole numbers '
            'write SpectralFeatures(target="labels").'
        )
    if len(target.classes) < 2:
        raise ValueError(
            f"y has only one class, {target.classes.tolist()[0]!r}, and a margin needs at least "
            "two. Check how the rows were selected."
        )
    kind = SquaredHingeDual if loss == "squared_hinge" else HingeDual
    return kind(target.signs(np.int8), C, weights, projection)


def in_long_blocks(rows: Rows, n_rows: int = _MANY_ROWS) -> Rows:
    """Return the same rows in longer blocks, for work that is cheap per row."""
    return rows.in_blocks(n_rows) if rows.block_size == "auto" else rows


def _sum_of_columns(function, X, *columns):
    return function(*columns)


def _map_of_columns(function, X, *columns, out):
    out[...] = function(*columns)
