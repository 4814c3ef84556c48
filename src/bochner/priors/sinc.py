"""The sinc prior."""

from functools import reduce
from operator import mul

import numpy as np

from .base import ProductPrior


class Sinc(ProductPrior):
    """k(x, z) = Π_j sin(a δ_j) / (a δ_j), δ = x − z; its spectrum is uniform on the cube [−a, a]^d.

    Parameters
    ----------
    bandwidth : float, one per column, "scale" or "median", default 1.0
        a, the largest frequency; "scale" and "median" are √3 over the Gaussian length.

    Examples
    --------
    >>> Sinc(bandwidth=2.0).kernel([[0.0]], [[0.5]]).round(3)  # sin(1)
    array([[0.841]])
    """

    _bandwidth = "bandwidth"

    def __init__(self, bandwidth=1.0):
        self.bandwidth = bandwidth

    def _quantile(self, uniform):
        return 2 * uniform - 1

    def _factor(self, differences):
        return np.sinc(differences / np.pi)

    def _from_length(self, length):
        return np.sqrt(3) / length

    def log_density(self, frequencies):
        rates = self._rates(frequencies.shape[1])
        inside = np.all(np.abs(frequencies / rates) <= 1, axis=1)
        return np.where(inside, -np.sum(np.log(2 * rates)), -np.inf), np.zeros_like(frequencies)

    def _factor_derivatives(self, differences):
        u = differences
        # Near zero the quotients cancel; there the series to u⁶ is exact to 1e-13.
        near = np.abs(u) < 0.05
        safe = np.where(near, 1.0, u)
        square = u**2
        value = np.sinc(u / np.pi)
        first = np.where(
            near,
            -u / 3 * (1 - square / 10 * (1 - square / 28 * (1 - square / 54))),
            (np.cos(safe) - np.sin(safe) / safe) / safe,
        )
        series = -1 / 3 + square / 10 - square**2 / 168 + square**3 / 6480
        return value, first, np.where(near, series, -value - 2 * first / safe)

    def onnx(self, X, points):
        def sinc(u):
            near = np.abs(u) < 1e-9
            safe = u.graph.where(near, 1.0, u)
            return u.graph.where(near, 1.0, np.sin(safe) / safe)

        return reduce(mul, map(sinc, X.scaled_differences(points, self._rates(points.shape[1]))))
