"""A fitted kernel machine is a finite sum of kernels at points: values, derivatives, and exact
effects of product kernels.
"""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Self

import numpy as np

from .._loops.arrays import as_dense, frozen_array
from .._loops.grams import GAUSSIAN, ProductKernel, RadialKernel
from ..data import Block, as_rows
from ..priors import SpectralPrior

# Memory for the kernels between a block of rows and all points.
_BLOCK_BYTES = 2**25
# Points that the mean of a factor without a constant part is taken over.
_MEAN_POINTS = 500
# Any constant splits a factor exactly; one that is not tiny keeps the quotients by it in range.
_SMALLEST_CONSTANT = 1e-2


def closed_form_gram(
    prior: SpectralPrior, X: np.ndarray, Z: np.ndarray | None = None
) -> np.ndarray:
    """The prior's kernel matrix in the precision of X: compiled where there is such a kernel, else
    by ``prior.kernel``.
    """
    kernel = prior.compiled(X.shape[1])
    if kernel is None:
        return prior.kernel(X, Z).astype(X.dtype, copy=False)
    return kernel.gram(X, Z)


@dataclass(frozen=True, eq=False)
class Effects:
    """f(x) = constant + Σ_j main[:, j] + Σ_p pairs[:, p] + rest, exactly; pair p is that of the
    columns ``pair_columns[p]``.

    ``constant`` is (n_outputs,), ``main`` (n_samples, n_features, n_outputs), ``pairs`` (n_samples,
    n_pairs, n_outputs) and ``rest`` (n_samples, n_outputs), the effects of more columns at once.
    """

    constant: np.ndarray
    main: np.ndarray
    pairs: np.ndarray
    pair_columns: np.ndarray
    rest: np.ndarray

    def total(self) -> np.ndarray:
        """The sum of all effects, (n_samples, n_outputs)."""
        return self.constant + self.main.sum(axis=1) + self.pairs.sum(axis=1) + self.rest


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """f(x) = intercept + x·slopes + Σ_i coefficients_i k(x, points_i), k the closed-form kernel of
    ``prior``.

    Everything is computed in the precision of the coefficients: large ones of both signs cancel.

    Parameters
    ----------
    prior : SpectralPrior
        Its kernel is k.
    points : array (n_points, n_features)
        Where the kernels sit.
    coefficients : array (n_points, n_outputs)
        Weights of the kernels.
    slopes : array (n_features, n_outputs)
        The linear part.
    intercept : array (n_outputs,)
        The constant part.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian
    >>> bump = KernelExpansion(Gaussian(gamma=0.5), np.zeros((1, 1)), np.array([[2.0]]), np.zeros((1, 1)), np.array([1.0]))
    >>> bump.evaluate(np.array([[0.0], [2.0]]))[:, 0].round(3)
    array([3.   , 1.271])
    """

    prior: SpectralPrior
    points: np.ndarray
    coefficients: np.ndarray
    slopes: np.ndarray
    intercept: np.ndarray

    def __post_init__(self) -> None:
        for name, ndim in (("points", 2), ("coefficients", 2), ("slopes", 2), ("intercept", 1)):
            object.__setattr__(self, name, frozen_array(getattr(self, name), name, ndim))
        n_features, n_outputs = self.points.shape[1], len(self.intercept)
        if self.coefficients.shape != (len(self.points), n_outputs) or self.slopes.shape != (
            n_features,
            n_outputs,
        ):
            raise ValueError(
                f"Got coefficients of shape {self.coefficients.shape} and slopes of shape "
                f"{self.slopes.shape}; {len(self.points)} "
                f"points, {n_features} features and {n_outputs} outputs need "
                f"{(len(self.points), n_outputs)} and "
                f"{(n_features, n_outputs)}."
            )

    def __len__(self) -> int:
        return len(self.points)

    @property
    def n_outputs(self) -> int:
        """Number of functions that share the points."""
        return len(self.intercept)

    def take(self, points: Any) -> Self:
        """The expansion on some of its points, intercept and slopes kept."""
        return replace(self, points=self.points[points], coefficients=self.coefficients[points])

    def evaluate(self, X: Any) -> np.ndarray:
        """f(X), (n_samples, n_outputs), block by block; float32 rows get float32 values."""
        kernel = self.prior.compiled(self.points.shape[1])
        function, kernel = (
            (_values_block, kernel) if kernel is not None else (_general_values_block, self.prior)
        )
        arrays = self._precise(self.points), self.coefficients, self.slopes, self.intercept
        return self._rows(X).map(
            Block(function, kernel, *arrays, row_bytes=8 * len(self)), self.n_outputs
        )

    def jacobian(self, X: Any, side: int = 0) -> np.ndarray:
        """Return ∂f/∂x, (n_samples, n_outputs, n_features).

        Closed forms exist for the kernels of Gaussian, Matern (ν = 1/2, 3/2, 5/2), Laplace and
        Anova. Kernels of Laplace and of ν = 1/2 have a kink at their point. At a kink the result is
        the mean of both one-sided derivatives, the limit of central differences.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows at which the derivatives are computed.
        side : -1, 0 or 1, default 0
            At a kink, -1 is the derivative from below, 1 that from above, and 0 their mean.
        """
        X = self._array(X)
        kernel = self.prior.compiled(self.points.shape[1])
        if kernel is None:
            raise TypeError(
                f"No closed form of the derivatives of {self.prior!r}. Use a Gaussian, Matern (nu "
                "= 0.5, 1.5 or 2.5), Laplace or "
                "Anova prior, or SpectralRidge, whose features always have derivatives."
            )
        slopes = np.empty((X.shape[0], self.n_outputs, X.shape[1]))
        block_slopes: Any = (
            _product_jacobian if isinstance(kernel, ProductKernel) else _radial_jacobian
        )
        # Rows and points are rounded alike: only then is a row at a kink equal to its point.
        points = self._precise(self.points).astype(np.float64, copy=False)
        for rows in self.row_blocks(X.shape[0]):
            block = np.asarray(self._precise(X[rows]), dtype=np.float64)
            slopes[rows] = (
                block_slopes(kernel, block, points, self.coefficients, side) + self.slopes.T
            )
        return slopes

    def effects(self, X: Any, max_order: int = 2, centered: bool = False) -> Effects:
        """The split of f(X) into a constant, main effects, pairs (``max_order`` 2) and the rest,
        which add up to f(X).

        For Anova by the expansion of its product over sets of columns, Π_j (1 + w_j κ_j) = Σ_S Π_{j
        ∈ S} w_j κ_j. The factors of Laplace have no constant part: they are taken as mean plus
        deviation over the points (up to 500 of them), for each point a mean of its own.
        ``centered`` does that for Anova too: every effect then has mean zero over each of its
        columns, as in an analysis of variance, so that nothing of an additive function is told as
        an interaction. Slopes belong to main effects, the intercept to the constant.
        """
        kernel = self.prior.compiled(self.points.shape[1])
        if not isinstance(kernel, ProductKernel):
            raise TypeError(
                f"Effects are exact for products over columns, got {self.prior!r}. Use an Anova or "
                "a Laplace prior."
            )
        if max_order not in (1, 2):
            raise ValueError(
                f"max_order must be 1 (main effects) or 2 (and pairs), got {max_order!r}."
            )
        X = self._array(X)
        d = X.shape[1]
        pairs = np.array(
            list(combinations(range(d), 2)) if max_order == 2 else [], dtype=np.intp
        ).reshape(-1, 2)
        constants, deviation = _constant_parts(kernel, self.points.astype(np.float64), centered)
        # Dividing by all constant parts at once leaves products of (1 + deviation / constant).
        base = self.coefficients * np.exp(np.log(constants).sum(axis=0))[:, None]
        main = np.empty((X.shape[0], d, self.n_outputs))
        joint = np.empty((X.shape[0], len(pairs), self.n_outputs))
        for rows in self.row_blocks(X.shape[0], n_matrices=d + 2):
            block = np.asarray(self._precise(X[rows]), dtype=np.float64)
            ratios = [deviation(j, block[:, j]) / constants[j] for j in range(d)]
            for j in range(d):
                main[rows, j] = ratios[j] @ base + block[:, j, None] * self.slopes[j]
            for p, (j, other) in enumerate(pairs):
                joint[rows, p] = (ratios[j] * ratios[other]) @ base
        constant = self.intercept + base.sum(axis=0)
        known = constant + main.sum(axis=1) + joint.sum(axis=1)
        return Effects(constant, main, joint, pairs, self.evaluate(X).astype(np.float64) - known)

    def _rows(self, X):
        rows = as_rows(X)
        if rows.n_features != self.points.shape[1]:
            raise ValueError(
                f"X has shape {rows.shape}, but this expansion lives on {self.points.shape[1]} "
                "features."
            )
        return rows

    def _array(self, X):
        """Rows that are looked at as a whole: derivatives and effects are larger than the rows
        themselves.
        """
        rows = self._rows(X)
        if not rows.is_local:
            raise TypeError(
                "Derivatives and effects are computed in memory; give X.compute() or some rows of "
                "the Dask array."
            )
        return rows.source

    def _precise(self, rows):
        return np.ascontiguousarray(as_dense(rows), dtype=self.coefficients.dtype)

    def row_blocks(self, n_samples: int, n_matrices: int = 1) -> list[slice]:
        """Blocks of rows whose kernels with all points, ``n_matrices`` times, are held at once."""
        size = max(1, _BLOCK_BYTES // (8 * n_matrices * max(len(self), 1)))
        return [slice(start, min(start + size, n_samples)) for start in range(0, n_samples, size)]


def _values_block(kernel, points, coefficients, slopes, intercept, X, out):
    X = np.ascontiguousarray(as_dense(X), dtype=coefficients.dtype)
    out[...] = kernel.gram(X, points) @ coefficients
    out += X @ slopes + intercept


def _general_values_block(prior, points, coefficients, slopes, intercept, X, out):
    X = np.ascontiguousarray(as_dense(X), dtype=coefficients.dtype)
    out[...] = prior.kernel(X, points).astype(X.dtype, copy=False) @ coefficients
    out += X @ slopes + intercept


def _factor(kernel, j, x, z):
    """κ(r_j |x − z|) and |x − z| r_j for all pairs, in float64."""
    t = kernel.rates[j] * np.abs(x[:, None] - z)
    polynomial = 1.0 if kernel.order == 0 else 1 + t if kernel.order == 1 else 1 + t + t**2 / 3
    return polynomial * np.exp(-t), t


def _constant_parts(kernel, points, centered):
    """Each factor as constant_ji + deviation: the constants (n_features, n_points), and a function
    of column number and values.
    """
    shares = None if kernel.weights is None else kernel.weights / (1 + kernel.weights)
    if shares is not None and not centered:
        constants = np.repeat((1 - shares)[:, None], len(points), axis=1)
        return constants, lambda j, x: shares[j] * _factor(kernel, j, x, points[:, j])[0]
    some = np.unique(np.linspace(0, len(points) - 1, min(_MEAN_POINTS, len(points))).astype(int))
    n_features = points.shape[1]

    def factor(j, x):
        kappa = _factor(kernel, j, x, points[:, j])[0]
        return kappa if shares is None else 1 + shares[j] * (kappa - 1)

    means = np.array([factor(j, points[some, j]).mean(axis=0) for j in range(n_features)])
    constants = np.maximum(means, _SMALLEST_CONSTANT)
    return constants, lambda j, x: factor(j, x) - constants[j]


def _product_jacobian(kernel: ProductKernel, X, points, coefficients, side):
    """Compute ∂/∂x_j of each product: all factors but one, times the slope of that one."""
    gram = kernel.gram(X, points)
    slopes = np.empty((len(X), coefficients.shape[1], X.shape[1]))
    for j, rate in enumerate(kernel.rates):
        value, t = _factor(kernel, j, X[:, j], points[:, j])
        downward = np.exp(-t) * (
            1.0 if kernel.order == 0 else t if kernel.order == 1 else t * (1 + t) / 3
        )
        # Without weights a factor exp(−t) is its own slope, also where both underflow.
        ratio = (
            1.0
            if kernel.weights is None
            else kernel.weights[j] * downward / (1 + kernel.weights[j] * value)
        )
        signs = np.sign(X[:, j, None] - points[:, j])
        slopes[:, :, j] = (
            gram * ratio * (-rate * np.where(signs == 0, side, signs))
        ) @ coefficients
    return slopes


def _radial_jacobian(kernel: RadialKernel, X, points, coefficients, side):
    """Compute f'(s) ∂s/∂x with ∂s/∂x_j = 2 r_j² (x_j − z_j), as products of matrices."""
    left, right = X * kernel.rates, points * kernel.rates
    squares = np.maximum(0, _squared_distances(left, right))
    t = np.sqrt(squares)
    if kernel.order == GAUSSIAN:
        steepness = -0.5 * np.exp(-squares / 2)
    elif kernel.order == 0:
        steepness = np.where(t > 0, -0.5 * np.exp(-t) / np.where(t > 0, t, 1.0), 0.0)
    else:
        steepness = -0.5 * np.exp(-t) if kernel.order == 1 else -(1 + t) * np.exp(-t) / 6
    slopes = np.empty((len(X), coefficients.shape[1], X.shape[1]))
    for k, own in enumerate(coefficients.T.astype(np.float64)):
        pull = steepness * own
        slopes[:, k] = 2 * kernel.rates * (left * pull.sum(axis=1)[:, None] - pull @ right)
        if side and kernel.order == 0:
            slopes[:, k] -= side * kernel.rates * ((t == 0) @ own)[:, None]
    return slopes


def _squared_distances(left, right):
    return sum((left[:, j, None] - right[:, j]) ** 2 for j in range(left.shape[1]))
