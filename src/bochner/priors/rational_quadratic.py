"""The rational quadratic prior."""

import numpy as np
from scipy.special import gammaincinv

from .._checks import check_positive
from .._estimator import keyword_only_from
from .base import RadialPrior


@keyword_only_from("0.4", old_order=("alpha", "length_scale"))
class RationalQuadratic(RadialPrior):
    """k = (1 + ‖x − z‖² / (2αℓ²))^{−α}: a Gaussian kernel whose squared inverse length is Gamma(α,
    rate α) / ℓ².

    Parameters
    ----------
    alpha : float, default 1.0
        α, above zero; the larger, the nearer to a Gaussian kernel.
    length_scale : float, one per column, "scale" or "median", default 1.0
        ℓ; the words read it off the data.

    Examples
    --------
    >>> RationalQuadratic(alpha=1.0).kernel([[0.0]], [[2.0]]).round(3)
    array([[0.333]])
    """

    def __init__(self, *, alpha=1.0, length_scale=1.0):
        self.alpha = alpha
        self.length_scale = length_scale

    def _spread(self, uniform):
        alpha = check_positive(self.alpha, "alpha")
        return np.sqrt(gammaincinv(alpha, uniform) / alpha)

    def _profile(self, squared_distances):
        alpha = check_positive(self.alpha, "alpha")
        return np.exp(-alpha * np.log1p(squared_distances / (2 * alpha)))
