"""Fitted functions as finite sums of kernels: values, derivatives, effects of product kernels."""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Self

import numpy as np

from .._loops.arrays import as_dense, frozen_array
from ..data import Block, as_rows
from ..priors import SpectralPrior

# Memory for the kernels between a block of rows and all points.
_BLOCK_BYTES = 2**25
# Points over which factors without a constant part are averaged.
_MEAN_POINTS = 500
# Least constant part of a factor. Any constant is exact, but quotients by a tiny one overflow.
_SMALLEST_CONSTANT = 1e-2


def closed_form_gram(
    prior: SpectralPrior, X: np.ndarray, Z: np.ndarray | None = None
) -> np.ndarray:
    """Return the prior's kernel matrix in the precision of X, by compiled loops if it has them."""
    kernel = prior.compiled(X.shape[1])
    if kernel is None:
        return prior.kernel(X, Z).astype(X.dtype, copy=False)
    return kernel.gram(X, Z)


@dataclass(frozen=True, eq=False, repr=False)
class Effects:
    """f(x) = constant + Σ_j main[:, j] + Σ_p pairs[:, p] + rest, exactly.

    The rest has the effects of three or more columns. ``constant`` is (n_outputs,), ``main``
    (n_samples, n_features, n_outputs), and ``pairs`` (n_samples, n_pairs, n_outputs). ``rest`` is
    (n_samples, n_outputs). Pair p belongs to the columns ``pair_columns[p]``.
    """

    constant: np.ndarray
    main: np.ndarray
    pairs: np.ndarray
    pair_columns: np.ndarray
    rest: np.ndarray

    def __repr__(self) -> str:
        n_samples, n_features, n_outputs = self.main.shape
        sizes = f"{n_features} features, {len(self.pair_columns)} pairs, {n_outputs} outputs"
        return f"Effects({n_samples} samples, {sizes})"

    def total(self) -> np.ndarray:
        """Return the sum of all effects, (n_samples, n_outputs)."""
        return self.constant + self.main.sum(axis=1) + self.pairs.sum(axis=1) + self.rest


@dataclass(frozen=True, eq=False, repr=False)
class KernelExpansion:
    """f(x) = intercept + x·slopes + Σ_i coefficients_i k(x, points_i), k the kernel of ``prior``.

    Everything is computed in the precision of the coefficients: large ones of both signs cancel.

    Parameters
    ----------
    prior : SpectralPrior
        Its kernel is k.
    points : array (n_points, n_features)
        The points z of the kernels k(x, z).
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
    >>> zero = np.zeros((1, 1))
    >>> bump = KernelExpansion(Gaussian(0.5), zero, zero + 2, slopes=zero, intercept=np.ones(1))
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
                f"{self.slopes.shape}; {len(self.points)} points, {n_features} features and "
                f"{n_outputs} outputs need {(len(self.points), n_outputs)} and "
                f"{(n_features, n_outputs)}."
            )

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        sizes = f"{len(self)} points, {self.points.shape[1]} features, {self.n_outputs} outputs"
        return f"{type(self).__name__}({type(self.prior).__name__}, {sizes})"

    @property
    def n_outputs(self) -> int:
        """Number of functions that share the points."""
        return len(self.intercept)

    def take(self, points: Any) -> Self:
        """Return the expansion on some of its points, with intercept and slopes."""
        return replace(self, points=self.points[points], coefficients=self.coefficients[points])

    def evaluate(self, X: Any) -> np.ndarray:
        """Return f(X), (n_samples, n_outputs), block by block; float32 for rows in float32."""
        kernel = self.prior.compiled(self.points.shape[1])
        gram = self.prior.kernel if kernel is None else kernel.gram
        arrays = self._precise(self.points), self.coefficients, self.slopes, self.intercept
        block = Block(_values_block, gram, *arrays, row_bytes=8 * len(self))
        return self._rows(X).map(block, self.n_outputs)

    def jacobian(self, X: Any, side: int = 0) -> np.ndarray:
        """Return ∂f/∂x, (n_samples, n_outputs, n_features).

        The prior must define ``gradient``. Kernels of Laplace and of ν = 1/2 have a kink at their
        point. At a kink the result is the mean of both one-sided derivatives, the limit of central
        differences.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows at which the derivatives are computed.
        side : -1, 0 or 1, default 0
            At a kink, -1 is the derivative from below, 1 that from above, and 0 their mean.
        """
        rows = self._rows(X)
        jacobian = np.empty((len(rows), self.n_outputs, rows.n_features))
        # Rows and points are rounded alike: only then is a row at a kink equal to its point.
        points = self._precise(self.points).astype(np.float64, copy=False)
        for span, block in self._dense_blocks(rows):
            gradient = self.prior.gradient(block, points, self.coefficients, side)
            jacobian[span] = gradient + self.slopes.T
        return jacobian

    def effects(self, X: Any, max_order: int = 2) -> Effects:
        """Split f(X) into a constant, main effects, pairs (``max_order`` 2) and the rest.

        The kernel must be a product over columns: the prior must define ``column_factor``. The
        product of Anova expands over sets of columns, Π_j (1 + w_j κ_j) = Σ_S Π_{j ∈ S} w_j κ_j.
        Other factors have no constant part. They are split into their mean over at most 500 points
        and the deviation from it. Slopes belong to main effects, the intercept to the constant.
        """
        if max_order not in (1, 2):
            raise ValueError(
                f"max_order must be 1 (main effects) or 2 (and pairs), got {max_order!r}."
            )
        rows = self._rows(X)
        d = rows.n_features
        pairs = np.array(
            list(combinations(range(d), 2)) if max_order == 2 else [], dtype=np.intp
        ).reshape(-1, 2)
        constants, deviation = self._split_factors()
        # Dividing by all constant parts at once leaves products of (1 + deviation / constant).
        base = self.coefficients * np.exp(np.log(constants).sum(axis=0))[:, None]
        main = np.empty((len(rows), d, self.n_outputs))
        joint = np.empty((len(rows), len(pairs), self.n_outputs))
        for span, block in self._dense_blocks(rows, n_matrices=d + 2):
            ratios = [deviation(j, block[:, j]) / constants[j] for j in range(d)]
            for j in range(d):
                main[span, j] = ratios[j] @ base + block[:, j, None] * self.slopes[j]
            for p, (j, other) in enumerate(pairs):
                joint[span, p] = (ratios[j] * ratios[other]) @ base
        constant = self.intercept + base.sum(axis=0)
        rest = self.evaluate(X).astype(np.float64) - (
            constant + main.sum(axis=1) + joint.sum(axis=1)
        )
        return Effects(constant, main, joint, pairs, rest)

    def onnx(self, X: Any) -> Any:
        """Return f as a tensor of the ONNX graph of the tensor X."""
        gram = self.prior.onnx(X, self.points)
        return gram @ self.coefficients + X @ self.slopes + self.intercept

    def _split_factors(self):
        """Return the constants of all factors, (n_features, n_points), and their deviations."""
        points = self.points.astype(np.float64)
        n_points, d = points.shape

        def factor(j, x, whole):
            return self.prior.column_factor(j, x, points[:, j], d, whole)

        constants = [factor(j, points[:1, j], False)[0] for j in range(d)]
        if all(constants):
            repeated = np.repeat(np.array(constants)[:, None], n_points, axis=1)
            return repeated, lambda j, x: factor(j, x, False)[1]
        some = np.unique(np.linspace(0, n_points - 1, min(_MEAN_POINTS, n_points)).astype(int))
        means = np.array([factor(j, points[some, j], True)[1].mean(axis=0) for j in range(d)])
        means = np.maximum(means, _SMALLEST_CONSTANT)
        return means, lambda j, x: factor(j, x, True)[1] - means[j]

    def _rows(self, X):
        rows = as_rows(X)
        if rows.n_features != self.points.shape[1]:
            raise ValueError(
                f"X has shape {rows.shape}, but this expansion has {self.points.shape[1]} features."
            )
        return rows

    def _precise(self, rows):
        return np.ascontiguousarray(as_dense(rows), dtype=self.coefficients.dtype)

    def _dense_blocks(self, rows, n_matrices=1):
        """Yield spans of rows and these rows in float64, for ``n_matrices`` kernel matrices."""
        size = max(1, _BLOCK_BYTES // (8 * n_matrices * max(len(self), 1)))
        for start in range(0, len(rows), size):
            span = slice(start, min(start + size, len(rows)))
            block = self._precise(rows.take(np.arange(span.start, span.stop)))
            yield span, block.astype(np.float64, copy=False)


def _values_block(gram, points, coefficients, slopes, intercept, X, out):
    X = np.ascontiguousarray(as_dense(X), dtype=coefficients.dtype)
    out[...] = gram(X, points).astype(X.dtype, copy=False) @ coefficients
    out += X @ slopes + intercept
