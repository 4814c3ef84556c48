"""The sinc prior."""

import numpy as np

from .base import ProductPrior


class Sinc(ProductPrior):
    """k(x, z) = Π_j sin(a δ_j) / (a δ_j), δ = x − z; its spectrum is uniform on the cube [−a, a]^d.

    Parameters
    ----------
    bandwidth : float, one per column, "scale" or "median", default 1.0
        a, the largest frequency; the words give √3 over the Gaussian length.

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
