"""The prior of rows that are mapped linearly."""

import numpy as np

from .base import SpectralPrior


class WithMetric(SpectralPrior):
    """A prior for linearly mapped rows: k(x, z) = k'(xM, zM) cos(m · (x − z)).

    k' is the kernel of ``prior``. The frequencies are ω = Mω' + m with ω' drawn from ``prior``. For
    a Gaussian k' and m = 0 this is the kernel of a Mahalanobis distance:
    ``WithMetric(Gaussian(gamma=0.5), L)`` is exp(−½ δᵀLLᵀδ), and its frequencies are N(0, LLᵀ).

    Parameters
    ----------
    prior : SpectralPrior
        The prior, with parameters for n_mapped columns.
    matrix : array (n_features, n_mapped)
        M. The prior has a density if M is square and invertible.
    mean : array (n_features,), default None
        m, the frequency of a wave; None is zero.

    Examples
    --------
    >>> from bochner import Gaussian
    >>> prior = WithMetric(Gaussian(gamma=0.5), [[1.0, 0.0], [2.0, 1.0]])
    >>> prior.kernel([[0.0, 0.0]], [[2.0, -1.0], [0.0, 1.0]]).round(3)
    array([[0.607, 0.082]])
    """

    def __init__(self, prior, matrix, mean=None):
        self.prior = prior
        self.matrix = matrix
        self.mean = mean

    @property
    def _samplings(self):  # type: ignore[override]
        return self.prior._samplings

    @property
    def has_finite_variance(self):
        return self.prior.has_finite_variance

    def _parts(self, n_features):
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

    def _mass(self):
        return self.prior._mass()

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        matrix, mean = self._parts(n_features)
        return self.prior._frequencies(n_atoms, matrix.shape[1], rng, sampling) @ matrix.T + mean

    def _gram(self, X, Z):
        matrix, mean = self._parts(X.shape[1])
        gram = self.prior.kernel(X @ matrix, Z @ matrix)
        return gram * np.cos(np.subtract.outer(X @ mean, Z @ mean)) if np.any(mean) else gram

    def log_density(self, frequencies):
        matrix, mean = self._parts(frequencies.shape[1])
        is_square = matrix.shape[0] == matrix.shape[1]
        log_volume = np.linalg.slogdet(matrix)[1] if is_square else -np.inf
        if not np.isfinite(log_volume):
            raise ValueError(
                f"The frequencies of WithMetric have no density if matrix, of shape {matrix.shape},"
                " has no inverse. Give a square matrix of full rank."
            )
        mapped = np.linalg.solve(matrix, (frequencies - mean).T).T
        values, slopes = self.prior.log_density(mapped)
        return values - log_volume, np.linalg.solve(matrix.T, slopes.T).T

    def gradient(self, X, points, coefficients, side=0):
        matrix, mean = self._parts(X.shape[1])
        mapped, others, gradient = X @ matrix, points @ matrix, 0.0
        # cos(a − b) = cos a cos b + sin a sin b, and the derivatives of cos and sin.
        for wave, slope in ((np.cos, lambda a: -np.sin(a)), (np.sin, np.cos)):
            weights = wave(points @ mean)[:, None] * coefficients
            inner = self.prior.gradient(mapped, others, weights, side) @ matrix.T
            values = self.prior.kernel(mapped, others) @ weights
            gradient += wave(X @ mean)[:, None, None] * inner
            gradient += (slope(X @ mean)[:, None] * values)[:, :, None] * mean
        return gradient

    def hessian(self, X, Z, columns):
        matrix, mean = self._parts(X.shape[1])
        mapped, others = X @ matrix, Z @ matrix
        inner = self.prior.hessian(mapped, others, np.arange(matrix.shape[1]))
        hessian = matrix[columns] @ inner @ matrix[columns].T
        if not np.any(mean):
            return hessian
        phases = np.subtract.outer(X @ mean, Z @ mean)[:, :, None, None]
        slopes = self.prior.gradient(mapped, others, np.eye(len(Z))) @ matrix[columns].T
        crossed = slopes[:, :, :, None] * mean[columns]
        gram = self.prior.kernel(mapped, others)[:, :, None, None]
        hessian += gram * np.outer(mean[columns], mean[columns])
        return hessian * np.cos(phases) + (crossed + crossed.swapaxes(2, 3)) * np.sin(phases)

    def onnx(self, X, points):
        matrix, mean = self._parts(points.shape[1])
        gram = self.prior.onnx(X @ matrix, points @ matrix)
        return gram * np.cos(X @ mean[:, None] - points @ mean) if np.any(mean) else gram
