"""The prior of rows that are mapped linearly."""

import numpy as np

from .._checks import MissingMethod, missing_method
from .._loops.arrays import as_dense
from ..data import as_rows
from .algebra import Composite
from .base import LEARNABLE

# Rows from which "scale" and "median" are computed.
_SOME_ROWS = 1000


class WithMetric(Composite):
    """A prior for linearly mapped rows: k(x, z) = k'(xM, zM) cos(m · (x − z)).

    k' is the kernel of ``prior``. The frequencies are ω = Mω' + m with ω' drawn from ``prior``. For
    a Gaussian k' and m = 0 this is the kernel of a Mahalanobis distance:
    ``WithMetric(Gaussian(gamma=0.5), L)`` is exp(−½ δᵀLLᵀδ), and its frequencies are N(0, LLᵀ).

    Parameters
    ----------
    prior : SpectralPrior
        The prior, with parameters for n_mapped columns. "scale" and "median" are computed from at
        most 1000 mapped rows.
    matrix : array (n_features, n_mapped)
        M. The prior has a density if M is square and has an inverse.
    mean : array (n_features,), default None
        m, the frequency of a wave; None is zero.

    Examples
    --------
    >>> from bochner import Gaussian
    >>> prior = WithMetric(Gaussian(gamma=0.5), [[1.0, 0.0], [2.0, 1.0]])
    >>> prior.kernel([[0.0, 0.0]], [[2.0, -1.0], [0.0, 1.0]]).round(3)
    array([[0.607, 0.082]])
    """

    _names = ("prior",)

    def __init__(self, prior, matrix, mean=None):
        self.prior = prior
        self.matrix = matrix
        self.mean = mean

    def _join(self, values):
        return values

    def _map(self, n_features):
        """Return M and m."""
        matrix = np.asarray(self.matrix, dtype=np.float64)
        mean = np.zeros(n_features) if self.mean is None else np.asarray(self.mean, np.float64)
        shapes = matrix.ndim, matrix.shape[:1], mean.shape
        finite = np.all(np.isfinite(matrix)) and np.all(np.isfinite(mean))
        if not finite or shapes != (2, (n_features,), (n_features,)):
            raise ValueError(
                f"matrix needs a row and mean a finite number for each of the {n_features} columns "
                f"of X, got {self.matrix!r} and {self.mean!r}."
            )
        return matrix, mean

    def _mapped(self, X):
        return X @ self._map(X.shape[1])[0].astype(X.dtype, copy=False)

    def _with_wave(self, gram, X, Z):
        mean = self._map(X.shape[1])[1]
        return gram * np.cos(np.subtract.outer(X @ mean, Z @ mean)) if np.any(mean) else gram

    def resolved(self, X, weights=None):
        """Return this prior with numbers, computed from at most 1000 mapped rows."""
        rows = as_rows(X)
        some = rows.spread(_SOME_ROWS, weights)
        own = None if weights is None else weights[some]
        return super().resolved(self._mapped(as_dense(rows.take(some))), own)

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        matrix, mean = self._map(n_features)
        inner = self._parts()[0]._frequencies(n_atoms, matrix.shape[1], rng, sampling)
        return inner @ matrix.T + mean

    def _gram(self, X, Z):
        return self._with_wave(super()._gram(self._mapped(X), self._mapped(Z)), X, Z)

    def lower_gram(self, X):
        with np.errstate(all="ignore"):  # entries above the diagonal are arbitrary
            gram = self._with_wave(super().lower_gram(self._mapped(X)), X, X)
        return gram.astype(X.dtype, copy=False)

    def groups(self, n_features):
        raise missing_method(self, "groups", "Evidence", LEARNABLE)

    def log_density(self, frequencies):
        matrix, mean = self._map(frequencies.shape[1])
        is_square = matrix.shape[0] == matrix.shape[1]
        log_volume = np.linalg.slogdet(matrix)[1] if is_square else -np.inf
        if not np.isfinite(log_volume):
            raise MissingMethod(
                f"The frequencies of {self!r} have no density, because its matrix, of shape "
                f"{matrix.shape}, has no inverse. Give a square matrix of full rank."
            )
        mapped = np.linalg.solve(matrix, (frequencies - mean).T).T
        values, slopes = self._parts()[0].log_density(mapped)
        return values - log_volume, np.linalg.solve(matrix.T, slopes.T).T

    def gradient(self, X, points, coefficients, side=0):
        matrix, mean = self._map(X.shape[1])
        mapped, others = self._mapped(X), self._mapped(points)
        if not np.any(mean):
            return super().gradient(mapped, others, coefficients, side) @ matrix.T
        gram, gradient = super()._gram(mapped, others), 0.0
        # cos(a − b) = cos a cos b + sin a sin b, and the derivatives of cos and sin.
        for wave, slope in ((np.cos, lambda a: -np.sin(a)), (np.sin, np.cos)):
            weights = wave(points @ mean)[:, None] * coefficients
            inner = super().gradient(mapped, others, weights, side) @ matrix.T
            gradient += wave(X @ mean)[:, None, None] * inner
            gradient += (slope(X @ mean)[:, None] * (gram @ weights))[:, :, None] * mean
        return gradient

    def hessian(self, X, Z, columns):
        matrix, mean = self._map(X.shape[1])
        mapped, others = self._mapped(X), self._mapped(Z)
        own, inner = matrix[columns], np.arange(matrix.shape[1])
        hessian = own @ super().hessian(mapped, others, inner) @ own.T
        if not np.any(mean):
            return hessian
        phases = np.subtract.outer(X @ mean, Z @ mean)[:, :, None, None]
        slopes = super().gradient(mapped, others, np.eye(len(Z))) @ own.T
        crossed = slopes[:, :, :, None] * mean[columns]
        gram = super()._gram(mapped, others)[:, :, None, None]
        hessian += gram * np.outer(mean[columns], mean[columns])
        return hessian * np.cos(phases) + (crossed + crossed.swapaxes(2, 3)) * np.sin(phases)

    def onnx(self, X, points):
        matrix, mean = self._map(points.shape[1])
        gram = super().onnx(X @ matrix, points @ matrix)
        return gram * np.cos(X @ mean[:, None] - points @ mean) if np.any(mean) else gram
