"""The Matérn prior."""

import numpy as np
from scipy.special import gammaincinv, gammaln, kve

from .._validation import check_positive, check_positive_vector
from .base import RadialPrior


class Matern(RadialPrior):
    r"""k = 2^{1−ν}/Γ(ν) s^ν K_ν(s), s = √(2ν) ‖x − z‖ / ℓ; its spectrum is a multivariate Student law with 2ν degrees.

    One Gamma variable is shared by all coordinates of a frequency: independent Student coordinates would be
    another kernel in more than one dimension.  ``length_scale`` also takes a vector (ARD), ``"scale"`` and ``"median"``.
    """

    _bandwidth = "length_scale"

    def __init__(self, nu=1.5, length_scale=1.0):
        self.nu = nu
        self.length_scale = length_scale

    def _lengths(self, n_features):
        return check_positive_vector(self.length_scale, "length_scale", n_features)

    def _spread(self, uniform):
        nu = check_positive(self.nu, "nu")
        return np.sqrt(nu / gammaincinv(nu, uniform))

    def _profile(self, squared_distances):
        nu = check_positive(self.nu, "nu")
        s = np.sqrt(2 * nu * squared_distances)
        if nu == 0.5:
            return np.exp(-s)
        if nu == 1.5:
            return (1 + s) * np.exp(-s)
        if nu == 2.5:
            return (1 + s + s**2 / 3) * np.exp(-s)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            logarithm = (1 - nu) * np.log(2) - gammaln(nu) + nu * np.log(s) + np.log(kve(nu, s)) - s
        # At s -> 0 the Bessel function overflows while the product tends to 1.
        return np.where(np.isfinite(logarithm) | (s > 1), np.exp(np.minimum(logarithm, 0.0)), 1.0)

    def _from_length(self, length):
        return length
