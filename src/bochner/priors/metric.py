"""The prior of rows that are mapped linearly."""

import numpy as np

from .base import SpectralPrior


class WithMetric(SpectralPrior):
    """A prior for linearly mapped rows: k(x, z) = k'(xM, zM), with k' the kernel of ``prior``.

    The frequencies are ω = Mω' with ω' drawn from ``prior``. For a Gaussian k' this is the kernel
    of a Mahalanobis distance: ``WithMetric(Gaussian(gamma=0.5), L)`` is exp(−½ δᵀLLᵀδ), and its
    frequencies are N(0, LLᵀ).

    Parameters
    ----------
    prior : SpectralPrior
        The prior, with parameters for n_mapped columns.
    matrix : array (n_features, n_mapped)
        M. The prior has a density if M is square and invertible.

    Examples
    --------
    >>> from bochner import Gaussian
    >>> prior = WithMetric(Gaussian(gamma=0.5), [[1.0, 0.0], [2.0, 1.0]])
    >>> prior.kernel([[0.0, 0.0]], [[2.0, -1.0], [0.0, 1.0]]).round(3)
    array([[0.607, 0.082]])
    """

    def __init__(self, prior, matrix):
        self.prior = prior
        self.matrix = matrix

    @property
    def _samplings(self):  # type: ignore[override]
        return self.prior._samplings

    @property
    def has_finite_variance(self):
        return self.prior.has_finite_variance

    def _matrix(self, n_features):
        matrix = np.asarray(self.matrix, dtype=np.float64)
        if matrix.ndim != 2 or len(matrix) != n_features or not np.all(np.isfinite(matrix)):
            raise ValueError(
                f"matrix must hold finite numbers, one row for each of the {n_features} columns of "
                f"X, got shape {matrix.shape}."
            )
        return matrix

    def _mass(self):
        return self.prior._mass()

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        matrix = self._matrix(n_features)
        return self.prior._frequencies(n_atoms, matrix.shape[1], rng, sampling) @ matrix.T

    def _gram(self, X, Z):
        matrix = self._matrix(X.shape[1])
        return self.prior._gram(X @ matrix, Z @ matrix)

    def lower_gram(self, X):
        """Return the Gram matrix of X by the compiled loops of ``prior``, if it has some."""
        return self.prior.lower_gram(X @ self._matrix(X.shape[1]).astype(X.dtype))

    def log_density(self, frequencies):
        matrix = self._matrix(frequencies.shape[1])
        log_volume = -np.inf
        if matrix.shape[0] == matrix.shape[1]:
            log_volume = np.linalg.slogdet(matrix)[1]
        if not np.isfinite(log_volume):
            raise ValueError(
                f"The frequencies of WithMetric have no density if matrix, of shape {matrix.shape},"
                " has no inverse. Give a square matrix of full rank."
            )
        values, slopes = self.prior.log_density(np.linalg.solve(matrix, frequencies.T).T)
        return values - log_volume, np.linalg.solve(matrix.T, slopes.T).T

    def gradient(self, X, points, coefficients, side=0):
        matrix = self._matrix(X.shape[1])
        return self.prior.gradient(X @ matrix, points @ matrix, coefficients, side) @ matrix.T

    def hessian(self, X, Z, columns):
        matrix = self._matrix(X.shape[1])
        mapped = self.prior.hessian(X @ matrix, Z @ matrix, np.arange(matrix.shape[1]))
        return matrix[columns] @ mapped @ matrix[columns].T

    def onnx(self, X, points):
        matrix = self._matrix(points.shape[1])
        return self.prior.onnx(X @ matrix, points @ matrix)
