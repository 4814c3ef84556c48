"""The Laplace prior."""

import numpy as np
from sklearn.base import clone

from .._loops.grams import ProductKernel
from .base import ProductPrior
from .derivatives import product_gradient


class Laplace(ProductPrior):
    """k(x, z) = exp(−γ ‖x − z‖₁); its spectrum has independent Cauchy coordinates of scale γ.

    Parameters
    ----------
    gamma : float, one per column, "scale" or "median", default 1.0
        γ; "scale" is 1 / (d · std X), "median" is 1 / median ℓ1 distance.

    Examples
    --------
    >>> Laplace(gamma=0.5).kernel([[0.0, 0.0]], [[1.0, 1.0]]).round(3)
    array([[0.368]])
    """

    _bandwidth = "gamma"
    _metric = "cityblock"
    has_column_factors = True

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def _quantile(self, uniform):
        return np.tan(np.pi * (uniform - 0.5))

    def _factor(self, differences):
        return np.exp(-np.abs(differences))

    def _gram(self, X, Z):
        return self.compiled(X.shape[1]).gram(X, None if Z is X else Z)

    def compiled(self, n_features):
        """Return a product of exponentials."""
        return ProductKernel(self._rates(n_features), None, 0)

    def start_rate(self, n_features):
        """Return the rate of all columns from which Evidence starts."""
        return 1 / n_features

    def with_rates(self, rates, weights):
        """Return a copy with these rates γ of the columns; there are no weights."""
        return clone(self).set_params(gamma=rates)

    def _from_length(self, length):
        return 1 / length

    has_finite_variance = False

    def log_density(self, frequencies):
        rates = self._rates(frequencies.shape[1])
        u = frequencies / rates
        return -np.sum(np.log(np.pi * rates) + np.log1p(u**2), axis=1), -2 * u / (1 + u**2) / rates

    def gradient(self, X, points, coefficients, side=0):
        return product_gradient(self.compiled(X.shape[1]), X, points, coefficients, side)

    def onnx(self, X, points):
        differences = X.scaled_differences(points, self._rates(points.shape[1]))
        distances = [np.abs(u) for u in differences]
        return np.exp(-sum(distances[1:], distances[0]))
