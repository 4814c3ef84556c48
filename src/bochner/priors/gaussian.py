"""The Gaussian prior."""

import numpy as np

from .._compute.grams import GAUSSIAN, RadialKernel
from .base import RadialPrior


class Gaussian(RadialPrior):
    """k(x, z) = exp(−γ ‖x − z‖²); its spectrum is N(0, 2γ I).

    Parameters
    ----------
    gamma : float, one per column, "scale" or "median", default 1.0
        γ; "scale" is 1 / (d · var X), as in scikit-learn, "median" is 1 / (2 median distance²).

    Examples
    --------
    >>> Gaussian(gamma=0.5).kernel([[0.0]], [[2.0]]).round(3)
    array([[0.135]])
    """

    _bandwidth = "gamma"

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def _lengths(self, n_features):
        return 1 / np.sqrt(2 * self._bandwidths(n_features))

    def _profile(self, squared_distances):
        return np.exp(-squared_distances / 2)

    def compiled(self, n_features):
        """A radial kernel of rates √(2γ)."""
        return RadialKernel(1 / self._lengths(n_features), GAUSSIAN)

    def _from_length(self, length):
        return 1 / (2 * length**2)
