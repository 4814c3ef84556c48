"""The adversary of the margin game: dual problems of support vector machines and ridge regression.

Each dual is max over α in K of F(α, λ) = linear(α) − curvature(α) − ½ Σ_j λ_j v_α(ω_j), one column
of α for each one-vs-rest problem or output. The measure λ only enters through the Fourier potential
v of the *signal* (w∘y∘α, or w∘α). A row of weight w_i stands for w_i equal rows, which share their
α_i: sums over rows and norms of α are weighted.
"""

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from ...data import Block, Rows, as_rows
from ...data.targets import Labels, Target, Values, regressed

LOSSES = ("auto", "hinge", "squared_hinge", "squared")
PROJECTIONS = ("exact", "alternating")
# Up to so many rows what is known of them is worked on as whole arrays, and of more in blocks of as
# many.
_MANY_ROWS = 2**14
# Of a few numbers a row, so many rows are done before a second thread has woken up.
_LIGHT_ROWS = 2**18
_SWEEPS = 10


def project_dual(z: Any, y: Any, C: float, weights: Any = None) -> np.ndarray:
    """The point of K = {0 <= α <= C, Σ_i w_i y_i α_i = 0} nearest to z in the norm Σ_i w_i α_i²,
    exactly (to rounding).

    α(m) = clip(z − m y, 0, C) for the one m with Σ w y α(m) = 0; this sum is piecewise linear and
    non-increasing in m, so Newton steps kept inside a bracket end on its root. ``C`` may be
    infinite; ``weights`` w are ones by default. (Alternating between the box and the hyperplane, as
    in Bullins et al. 2018, Algorithm 3, gives a feasible point that is not the nearest.)

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
        raise ValueError(
            f"z, y and weights must be vectors of one length, got {z.shape}, {y.shape}, "
            f"{weights.shape}."
        )
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
    shift = balancing_shifts(
        lambda shifts: _balance(C, shifts, z[:, None], y[:, None], weights), 1, C
    )
    return np.clip(z - shift * y, 0, C)


def _balance(C, shifts, z, y, weights):
    """Of α = clip(z − m y, 0, C) in each column: Σ w y α and the weight of the rows strictly inside
    the box, for one m each.
    """
    point = z - shifts * y
    free = np.sum(weights[:, None] * ((point > 0) & (point < C)), axis=0)
    return weights @ (y * np.clip(point, 0, C, out=point)), free


def balancing_shifts(balance: Callable, n_columns: int, C: float) -> np.ndarray:
    """The m of each column with Σ w y α(m) = 0, ``balance(m)`` giving this sum and its negative
    slope; all columns at once.

    The sum does not grow with m: Newton steps within a bracket, which is open at first and then
    found by strides that double.
    """
    low, high = np.full(n_columns, -np.inf), np.full(n_columns, np.inf)
    shifts, done = np.zeros(n_columns), np.zeros(n_columns, dtype=bool)
    stride = 1 + (C if np.isfinite(C) else 0.0)
    for _ in range(200):
        excess, free = balance(shifts)
        low, high = np.where(excess > 0, shifts, low), np.where(excess < 0, shifts, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            proposal = shifts + excess / free
            middle = np.where(
                np.isfinite(low) & np.isfinite(high),
                0.5 * (low + high),
                shifts + np.sign(excess) * stride,
            )
        proposal = np.where((low < proposal) & (proposal < high) & (free > 0), proposal, middle)
        stride *= 2
        # What is left to go is rounding of numbers of this size.
        close = (
            np.abs(excess)
            <= 2**-52 * np.maximum(np.abs(shifts), C if np.isfinite(C) else 0.0) * free
        )
        done |= (
            (excess == 0) | close | (proposal == low) | (proposal == high) | (proposal == shifts)
        )
        if done.all():
            break
        shifts = np.where(done, shifts, proposal)
    return shifts


class HingeDual:
    """ℓ1-SVM, ½‖w‖² + C Σ_i w_i max(0, 1 − y f): K = {0 <= α <= C, Σ w y α = 0}, linear(α) = Σ w α.

    ``targets`` is (n_samples, n_problems), ``weights`` (n_samples,). With ``rows`` (see
    ``on_rows``), work is done block by block.
    """

    strongly_concave = False
    rows: Rows | None = None

    def __init__(self, targets, C, weights=None, projection="exact"):
        self.targets = targets
        self.C = C
        self.weights = np.broadcast_to(1.0, len(targets)) if weights is None else weights
        self.total = float(
            np.sum(self.weights)
        )  # of rows, each counted as often as its weight says
        self.projection = projection

    @property
    def n_problems(self):
        return self.targets.shape[1]

    def on_rows(self, rows):
        """Return the same problem, worked on block by block if rows are many; the rows themselves
        are not read for it.
        """
        if len(rows) <= _MANY_ROWS:
            return self
        part = copy(self)
        part.rows = in_long_blocks(as_rows(self.targets, rows.block_size), _LIGHT_ROWS)
        return part

    def sum(self, function, *columns):
        """``function(*columns)``, a sum over rows."""
        if self.rows is None:
            return function(*columns)
        return self.rows.sum(Block(_sum_of_signals, function), *columns)

    def map(self, function, *columns, out=None):
        """``function(*columns)``, (n_samples, n_problems); into ``out``, which may be one of the
        columns.
        """
        if self.rows is None:
            return function(*columns)
        block = Block(_map_of_signals, function)
        return self.rows.map(block, self.n_problems, dtype=np.float64, out=out, signals=columns)

    def summed(self, columns):
        """Σ_i w_i of all entries in row i."""
        return float(self.sum(_weighted_sum, columns, self.weights))

    def squares(self, columns):
        """Σ_i w_i of all squared entries in row i."""
        return float(self.sum(_weighted_squares, columns, self.weights))

    def start(self):
        # At f = 0 the best response to the squared hinge is α = C; half of it, as in the box.
        return self.project(self.map(partial(_constant, self.C / 2), self.targets))

    def project(self, alpha):
        """The point of K for α, whose memory is used again."""
        return self._projected(alpha, self.C)

    def _projected(self, alpha, largest):
        if self.projection == "exact":
            shifts = balancing_shifts(
                lambda m: self.sum(
                    partial(_balance, largest, m), alpha, self.targets, self.weights
                ),
                self.n_problems,
                largest,
            )
            return self.map(partial(_clipped, largest, shifts), alpha, self.targets, out=alpha)
        # Box, then hyperplane, ten times (Bullins et al. 2018, Algorithm 3): feasible to about
        # 1e-5, not the nearest point.
        for _ in range(_SWEEPS):
            alpha = self.map(partial(_clipped, largest, 0.0), alpha, self.targets, out=alpha)
            shifts = self.sum(_signed_sum, alpha, self.targets, self.weights) / self.total
            alpha = self.map(partial(_clipped, None, shifts), alpha, self.targets, out=alpha)
        return alpha

    def moved(self, alpha, direction, step):
        """The point of K for α + step · direction; uses the memory of the direction."""
        return self.project(self.map(partial(_along, step), alpha, direction, out=direction))

    def signal(self, alpha):
        return self.map(_signal, alpha, self.targets, self.weights)

    def payoff(self, alpha):
        """(linear, curvature) of α, what F is made of beside the potential."""
        return self.summed(alpha), 0.0

    def gradient(self, alpha, response):
        """∂F/∂α of one copy of each row, where ``response`` = K_λ applied to the signal; all three
        arrays of some rows.
        """
        return 1 - self.targets * response

    def scaled(self, linear, quadratic):
        """The largest F on the segment sα, 0 <= s <= 1, which K contains: s·linear −
        s²·quadratic/2.
        """
        s = 1.0 if quadratic <= 0 else min(1.0, linear / quadratic)
        return s * linear - s**2 * quadratic / 2

    @property
    def diameter(self):
        return self.C * np.sqrt(self.total * self.n_problems)

    @property
    def gradient_bound(self):
        return np.sqrt(self.total * self.n_problems) * (1 + self.C * self.total)

    def primal(self, f, smoothing):
        """(loss, its derivative in f, its second derivative) of one copy of each row; the corner
        rounded over ``smoothing``.
        """
        gap = 1 - self.targets * f
        inside = (gap > 0) & (gap < smoothing)
        slope = np.clip(gap / smoothing, 0, 1)
        loss = np.where(
            inside,
            gap**2 / (2 * smoothing),
            np.maximum(gap, 0) - smoothing / 2 * (gap >= smoothing),
        )
        return self.C * loss, -self.C * self.targets * slope, self.C * inside / smoothing

    def primal_loss(self, f):
        return self.C * np.maximum(1 - self.targets * f, 0)

    def from_slopes(self, slopes):
        """α from the derivatives of the loss at the primal solution."""
        return self.project(-self.targets * slopes)

    def on(self, targets, weights):
        """The same problem for other rows, as arrays."""
        part = copy(self)
        part.rows, part.targets, part.weights, part.total = (
            None,
            targets,
            weights,
            float(weights.sum()),
        )
        return part

    def without_rows(self):
        """The rules alone, which travel to rows."""
        return self.on(np.empty((0, self.n_problems)), np.empty(0))

    def column(self, k):
        """One of the problems."""
        return self.on(self.targets[:, k : k + 1], self.weights)

    def sampled(self, rows):
        """The problem on some rows, C scaled so that the loss on them has the expectation of the
        loss on all.
        """
        part = self.on(self.targets[rows], self.weights[rows])
        part.C = self.C * self.total / part.total
        return part


class SquaredHingeDual(HingeDual):
    """ℓ2-SVM, ½‖w‖² + (C/2) Σ_i w_i max(0, 1 − y f)²: K = {α >= 0, Σ w y α = 0}, curvature Σ w α² /
    (2C).
    """

    strongly_concave = True

    def project(self, alpha):
        return self._projected(alpha, np.inf)

    def payoff(self, alpha):
        linear, squares = self.sum(_sum_and_squares, alpha, self.weights)
        return float(linear), float(squares) / (2 * self.C)

    def gradient(self, alpha, response):
        return 1 - self.targets * response - alpha / self.C

    def scaled(self, linear, quadratic):
        return (
            0.0 if quadratic <= 0 else linear**2 / (2 * quadratic)
        )  # any s >= 0: K is a cone, or holds the best

    def primal(self, f, smoothing):
        gap = np.maximum(1 - self.targets * f, 0)
        return self.C * gap**2 / 2, -self.C * self.targets * gap, self.C * (gap > 0.0)

    def primal_loss(self, f):
        return self.primal(f, 0.0)[0]  # smooth already


class SquaredDual(SquaredHingeDual):
    """Ridge regression, ½‖w‖² + (C/2) Σ_i w_i (y − f)²: α is C times the residual.

    K = {Σ w α = 0, Σ w α² <= C² Σ w (y − ȳ)²} in each column: the ball holds the maximizer, because
    the constant fit is feasible.
    """

    def __init__(self, targets, C, weights=None, projection="exact"):
        super().__init__(targets, C, weights, projection)
        mean = self.weights @ targets / self.total
        self.radius = C * np.sqrt(self.weights @ (targets - mean) ** 2)

    def _mean(self, columns):
        return self.sum(_column_sums, columns, self.weights) / self.total

    def start(self):
        return self.project(self.map(partial(np.multiply, self.C / 2), self.targets))

    def project(self, alpha):
        alpha = self.map(partial(_shifted, self._mean(alpha)), alpha, out=alpha)
        norms = np.sqrt(self.sum(_column_squares, alpha, self.weights))
        return self.map(
            partial(np.multiply, np.minimum(1, self.radius / np.where(norms > 0, norms, 1))),
            alpha,
            out=alpha,
        )

    def signal(self, alpha):
        return self.map(_weighted, alpha, self.weights)

    def payoff(self, alpha):
        linear, squares = self.sum(_product_and_squares, self.targets, alpha, self.weights)
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
        return (
            self.C * (f - self.targets) ** 2 / 2,
            self.C * (f - self.targets),
            np.full_like(f, self.C),
        )

    def from_slopes(self, slopes):
        return self.project(-slopes)


def make_dual(
    loss: str, target: Target, C: float, weights: Any = None, projection: str = "exact"
) -> HingeDual:
    """The adversary for this target: ±1 columns for the classification losses (one for two
    classes), numbers for "squared".

    ``"auto"`` is the hinge for labels and the squared loss for values.
    """
    if loss == "squared" or (loss == "auto" and isinstance(target, Values)):
        return SquaredDual(regressed(target), C, weights, projection)
    if not isinstance(target, Labels):
        raise ValueError(
            f'loss="{loss}" needs labels, but y is read as {type(target).__name__}. For regression '
            'write loss="squared" or '
            'leave loss="auto"; for classes given as many whole numbers write '
            'SpectralFeatures(target="labels").'
        )
    if len(target.classes) < 2:
        raise ValueError(
            f"y holds one class only ({target.classes.tolist()[0]!r}); a margin lies between at "
            "least two. Check how the "
            "rows were selected."
        )
    kind = SquaredHingeDual if loss == "squared_hinge" else HingeDual
    return kind(target.signs(np.int8), C, weights, projection)


def in_long_blocks(rows: Rows, n_rows: int = _MANY_ROWS) -> Rows:
    """The same rows in longer blocks, for work so light that the calls of short ones would cost as
    much, and hold up other threads.
    """
    return rows.in_blocks(n_rows) if rows.block_size == "auto" else rows


# --- functions of blocks of what is known of each row ---------------------------------------------


def _sum_of_signals(function, X, *columns):
    return function(*columns)


def _map_of_signals(function, X, *columns, out):
    out[...] = function(*columns)


def _weighted_sum(columns, weights):
    return np.sum(weights @ columns)


def _weighted_squares(columns, weights):
    return np.sum(weights @ columns**2)


def _sum_and_squares(alpha, weights):
    return _weighted_sum(alpha, weights), _weighted_squares(alpha, weights)


def _product_and_squares(targets, alpha, weights):
    return np.sum(weights @ (targets * alpha)), _weighted_squares(alpha, weights)


def _column_sums(columns, weights):
    return weights @ columns


def _column_squares(columns, weights):
    return weights @ columns**2


def _signed_sum(alpha, targets, weights):
    return weights @ (targets * alpha)


def _weighted(alpha, weights):
    return weights[:, None] * alpha


def _signal(alpha, targets, weights):
    return weights[:, None] * (targets * alpha)


def _constant(value, targets):
    return np.full(targets.shape, value)


def _shifted(shifts, alpha):
    return alpha - shifts


def _along(step, alpha, direction):
    return alpha + step * direction


def _clipped(largest, shifts, alpha, targets):
    """clip(α − m y, 0, largest), or without a box for None."""
    moved = alpha - shifts * targets
    return moved if largest is None else np.clip(moved, 0, largest, out=moved)
