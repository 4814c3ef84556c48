"""The Cauchy prior."""

from functools import reduce
from operator import mul

import numpy as np

from .base import ProductPrior


class Cauchy(ProductPrior):
    """k(x, z) = Π_j 1 / (1 + (x_j − z_j)² / s²); coordinates of ω are Laplace of scale 1/s.

    Parameters
    ----------
    scale : float, one per column, "scale" or "median", default 1.0
        s, a length. "scale" and "median" are √2 times the Gaussian length: equal curvature at zero.

    Examples
    --------
    >>> Cauchy(scale=2.0).kernel([[0.0]], [[2.0]])
    array([[0.5]])
    """

    _bandwidth = "scale"

    def __init__(self, scale=1.0):
        self.scale = scale

    def _rates(self, n_features):
        return 1 / self._bandwidths(n_features)

    def _quantile(self, uniform):
        centered = uniform - 0.5
        return -np.sign(centered) * np.log1p(-2 * np.abs(centered))

    def _factor(self, differences):
        return 1 / (1 + differences**2)

    def _from_length(self, length):
        return np.sqrt(2) * length

    def log_density(self, frequencies):
        rates = self._rates(frequencies.shape[1])
        u = frequencies / rates
        return -np.sum(np.log(2 * rates) + np.abs(u), axis=1), -np.sign(u) / rates

    def _factor_derivatives(self, differences):
        u = differences
        value = 1 / (1 + u**2)
        return value, -2 * u * value**2, (6 * u**2 - 2) * value**3

    def onnx(self, X, points):
        differences = X.scaled_differences(points, self._rates(points.shape[1]))
        return 1.0 / reduce(mul, (1.0 + u * u for u in differences))
