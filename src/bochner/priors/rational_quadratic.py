"""The rational quadratic prior."""

import numpy as np
from scipy.special import gammaincinv, gammaln, kve

from .._checks import check_positive
from .._estimator import keyword_only_from
from .base import RadialPrior


@keyword_only_from("0.4", old_order=("alpha", "length_scale"))
class RationalQuadratic(RadialPrior):
    """k = (1 + ‖x − z‖² / (2αℓ²))^{−α}; its spectrum is N(0, v I / ℓ²) with v ~ Gamma(α, rate α).

    Parameters
    ----------
    alpha : float, default 1.0
        α, above zero; the larger, the nearer to a Gaussian kernel.
    length_scale : float, one per column, "scale" or "median", default 1.0
        ℓ; "scale" and "median" compute it from the data.

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

    def log_density(self, frequencies):
        # 2 α^α / Γ(α) (2π)^{−d/2} (q/2α)^{ν/2} K_ν(√(2αq)), ν = α − d/2.
        alpha, d = check_positive(self.alpha, "alpha"), frequencies.shape[1]
        q, slope, volume = self._scaled_frequencies(frequencies)
        q = np.maximum(q, 1e-300)  # at zero itself the density may be infinite
        nu, s = alpha - d / 2, np.sqrt(2 * alpha * q)
        constant = (
            np.log(2) + alpha * np.log(alpha) - gammaln(alpha) - d / 2 * np.log(2 * np.pi) + volume
        )
        value = constant + nu / 2 * np.log(q / (2 * alpha)) + np.log(kve(nu, s)) - s
        return value, -(alpha / s * kve(nu - 1, s) / kve(nu, s))[:, None] * slope

    def _slopes(self, squared_distances):
        alpha = float(self.alpha)
        base = 1 + squared_distances / (2 * alpha)
        value = base**-alpha
        return -value / base / 2, (alpha + 1) / (4 * alpha) * value / base**2

    def onnx(self, X, points):
        squares = X.squared_distances(points, 1 / self._lengths(points.shape[1]))
        return (1.0 + squares / (2 * self.alpha)) ** -float(self.alpha)
