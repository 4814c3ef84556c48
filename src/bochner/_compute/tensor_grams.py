"""Closed-form Gram matrices on arrays of the array API standard: plain products over columns, and functions of distances."""

from typing import Any

import numpy as np

from .grams import GAUSSIAN, ProductKernel, RadialKernel
from .tensor_rows import TensorRows, on_host


def tensor_gram(xp: Any, kernel: ProductKernel | RadialKernel, X: Any, Z: Any) -> Any:
    """k(x, z), (n_samples, n_other_samples), where X and Z are and in their precision."""
    if isinstance(kernel, RadialKernel):
        return _profile(xp, _squares(xp, kernel.rates, X, Z), kernel.order)
    if kernel.weights is None:
        exponent = sum(_times(xp, X, Z, j, rate) for j, rate in enumerate(kernel.rates))
        return xp.exp(-exponent)
    gram = xp.ones((X.shape[0], Z.shape[0]), dtype=X.dtype, device=X.device)
    for j, (rate, weight) in enumerate(zip(kernel.rates, kernel.weights, strict=True)):
        gram = gram * (1 + float(weight) * _matern(xp, _times(xp, X, Z, j, rate), kernel.order)) / (1 + float(weight))
    return gram


def _times(xp, X, Z, j, rate):
    return float(rate) * xp.abs(X[:, j, None] - Z[None, :, j])


def _squares(xp, rates, X, Z):
    """Squared distances, by products of rows around their mean, which cancel less."""
    rates = xp.asarray(np.array(rates), dtype=X.dtype, device=X.device)
    center = xp.mean(Z, axis=0)
    left, right = (X - center) * rates, (Z - center) * rates
    squares = xp.sum(left**2, axis=1)[:, None] + xp.sum(right**2, axis=1)[None, :] - 2 * left @ right.T
    return xp.where(squares > 0, squares, xp.zeros_like(squares))


def _profile(xp, squares, order):
    return xp.exp(-squares / 2) if order == GAUSSIAN else _matern(xp, xp.sqrt(squares), order)


def _matern(xp, times, order):
    decay = xp.exp(-times)
    if order == 0:
        return decay
    return decay * (1 + times if order == 1 else 1 + times + times**2 / 3)


class DeviceGram:
    """The kernel matrix of rows where these are, plus Σ_j linear_j x_j z_j, in float64; it is decomposed there, which takes n³ steps, and comes
    to NumPy as its factors.
    """

    def __init__(self, rows: TensorRows, kernel: ProductKernel | RadialKernel, linear: np.ndarray):
        self.xp, self.device = rows.xp, rows.device
        X = self.xp.astype(rows.source, self.xp.float64)
        self.matrix = tensor_gram(self.xp, kernel, X, X)
        if np.any(linear):
            self.matrix = self.matrix + (X * self._there(linear)) @ X.T

    def cholesky(self, ridges: np.ndarray) -> np.ndarray:
        """The lower factor of the matrix with ``ridges`` on its diagonal."""
        shifted = self.matrix + self._there(ridges)[:, None] * self.xp.eye(
            len(ridges), dtype=self.xp.float64, device=self.device
        )
        try:
            factor = on_host(self.xp.linalg.cholesky(shifted))
        except RuntimeError as error:  # torch has an error of its own
            raise np.linalg.LinAlgError(str(error)) from error
        if not np.all(np.isfinite(factor)):  # CuPy has none
            raise np.linalg.LinAlgError("The matrix is not positive definite.")
        return np.array(factor, order="F")

    def eigh(self, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and eigenvectors of the matrix, its rows and columns times ``root``."""
        root = self._there(root)
        found = self.xp.linalg.eigh(self.matrix * root * root[:, None])
        return np.array(on_host(found.eigenvalues)), np.array(on_host(found.eigenvectors))

    def _there(self, values):
        return self.xp.asarray(np.array(values), dtype=self.xp.float64, device=self.device)
