"""The rational quadratic prior."""

import numpy as np
from scipy.special import gammaincinv

from .._validation import check_positive
from .base import RadialPrior


class RationalQuadratic(RadialPrior):
    """k = (1 + ‖x − z‖² / (2αℓ²))^{−α}: a Gaussian kernel whose squared inverse length is Gamma(α, rate α) / ℓ².

    ``length_scale`` also takes a vector (ARD), ``"scale"`` and ``"median"``.
    """

    def __init__(self, alpha=1.0, length_scale=1.0):
        self.alpha = alpha
        self.length_scale = length_scale

    def _spread(self, uniform):
        alpha = check_positive(self.alpha, "alpha")
        return np.sqrt(gammaincinv(alpha, uniform) / alpha)

    def _profile(self, squared_distances):
        alpha = check_positive(self.alpha, "alpha")
        return np.exp(-alpha * np.log1p(squared_distances / (2 * alpha)))
