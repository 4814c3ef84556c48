"""The Matérn prior."""

import numpy as np
from scipy.special import gammaincinv, gammaln, kve
from sklearn.base import clone

from .._checks import check_positive
from .._estimator import keyword_only_from
from .._loops.grams import RadialKernel
from .base import MATERN_ORDERS, RadialPrior

_LARGE_ORDER = 50


@keyword_only_from("0.4", old_order=("nu", "length_scale"))
class Matern(RadialPrior):
    r"""k = 2^{1−ν}/Γ(ν) s^ν K_ν(s), s = √(2ν) ‖x − z‖ / ℓ; its spectrum is a multivariate Student
    law with 2ν degrees.

    One Gamma variable is shared by all coordinates of a frequency: independent Student coordinates
    would be another kernel in more than one dimension.

    Parameters
    ----------
    nu : float, default 1.5
        ν, the smoothness; above zero.
    length_scale : float, one per column, "scale" or "median", default 1.0
        ℓ; the words read it off the data.

    Examples
    --------
    >>> Matern(nu=0.5).kernel([[0.0]], [[1.0]]).round(3)  # exp(−1)
    array([[0.368]])
    """

    def __init__(self, *, nu=1.5, length_scale=1.0):
        self.nu = nu
        self.length_scale = length_scale

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
        if nu > _LARGE_ORDER:
            return np.exp(
                _large_order_logarithm(nu, s / nu) - _large_order_logarithm(nu, np.zeros(1))
            )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            logarithm = (1 - nu) * np.log(2) - gammaln(nu) + nu * np.log(s) + np.log(kve(nu, s)) - s
        # At s -> 0 the Bessel function overflows while the product tends to 1.
        return np.where(
            np.isfinite(logarithm), np.exp(np.minimum(logarithm, 0.0)), np.where(s < 1e-3, 1.0, 0.0)
        )

    def compiled(self, n_features):
        """A radial kernel of rates √(2ν) / ℓ, where the Bessel function is an exponential times a
        polynomial.
        """
        if self.nu not in MATERN_ORDERS:
            return None
        return RadialKernel(
            np.sqrt(2 * self.nu) / self._lengths(n_features), MATERN_ORDERS[self.nu]
        )

    def with_rates(self, rates, weights):
        """Return a copy with these rates 1 / ℓ of the columns; there are no weights."""
        return clone(self).set_params(length_scale=1 / rates)


def _large_order_logarithm(nu, z):
    """log(s^ν K_ν(s)) at s = ν z up to a constant, by Debye's uniform expansion: K_ν itself
    overflows for large ν.

    The first neglected term is of order ν⁻⁴.
    """
    root = np.sqrt(1 + z**2)
    p = 1 / root
    series = (
        1
        - (3 * p - 5 * p**3) / (24 * nu)
        + (81 * p**2 - 462 * p**4 + 385 * p**6) / (1152 * nu**2)
        - (30375 * p**3 - 369603 * p**5 + 765765 * p**7 - 425425 * p**9) / (414720 * nu**3)
    )
    return nu * (np.log1p(root) - root) - 0.5 * np.log(root) + np.log(series)
