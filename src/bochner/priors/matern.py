"""The Matérn prior."""

import numpy as np
from scipy.special import gamma as gamma_function
from scipy.special import gammaincinv, gammaln, kve

from .._checks import MissingMethod, check_positive, missing_method
from .._estimator import keyword_only_from
from .._loops.grams import RadialKernel
from .base import USE_FEATURES, RadialPrior
from .derivatives import MATERN_ORDERS, matern_profile, radial_gradient, squared_distances

_LARGE_ORDER = 50


@keyword_only_from("0.4", old_order=("nu", "length_scale"))
class Matern(RadialPrior):
    """k = 2^{1−ν}/Γ(ν) s^ν K_ν(s), s = √(2ν) ‖x − z‖ / ℓ; its spectrum is a Student distribution.

    The spectrum is multivariate, with 2ν degrees of freedom: all coordinates of a frequency share
    one Gamma variable. Independent coordinates would give another kernel in several dimensions.

    Parameters
    ----------
    nu : float, default 1.5
        ν, the smoothness; above zero.
    length_scale : float, one per column, "scale" or "median", default 1.0
        ℓ; "scale" and "median" compute it from the data.

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
        """Return a radial kernel of rates √(2ν) / ℓ for ν = 1/2, 3/2 and 5/2, else None."""
        if self.nu not in MATERN_ORDERS:
            return None
        return RadialKernel(
            np.sqrt(2 * self.nu) / self._lengths(n_features), MATERN_ORDERS[self.nu]
        )

    @property
    def has_finite_variance(self):
        return self.nu > 1

    def log_density(self, frequencies):
        nu, d = check_positive(self.nu, "nu"), frequencies.shape[1]
        q, slope, volume = self._scaled_frequencies(frequencies)
        constant = gammaln(nu + d / 2) - gammaln(nu) - d / 2 * np.log(2 * np.pi * nu) + volume
        value = constant - (nu + d / 2) * np.log1p(q / (2 * nu))
        return value, -(nu + d / 2) / (2 * nu + q)[:, None] * slope

    def _slopes(self, squared_distances):
        """With z = √(2νq), dM_ν/dz = −z/(2(ν − 1)) M_{ν−1} and dz/dq = ν/z.

        For ν <= 2 the second derivative is infinite at zero, but only δδᵀ times it is used, which
        vanishes there: its value is set to zero.
        """
        nu = float(self.nu)
        if not nu > 1:
            raise missing_method(self, "_slopes", "The derivative of the kernel", USE_FEATURES)
        z_squared = 2 * nu * squared_distances
        slope = -nu / (2 * (nu - 1)) * Matern(nu=nu - 1)._profile(z_squared / (2 * (nu - 1)))
        if nu > 2:
            lower = Matern(nu=nu - 2)._profile(z_squared / (2 * (nu - 2)))
            return slope, nu**2 / (4 * (nu - 1) * (nu - 2)) * lower
        near = z_squared < 1e-24
        z = np.sqrt(np.where(near, 1.0, z_squared))
        bend = (
            2 ** (1 - nu) / gamma_function(nu) * nu**2 * z ** (nu - 2) * kve(2 - nu, z) * np.exp(-z)
        )
        return slope, np.where(near, 0.0, bend)

    def gradient(self, X, points, coefficients, side=0):
        kernel = self.compiled(X.shape[1])
        if kernel is None:
            return super().gradient(X, points, coefficients, side)
        left, right = X * kernel.rates, points * kernel.rates
        t = np.sqrt(squared_distances(left, right))
        if kernel.order == 0:
            steepness = np.where(t > 0, -0.5 * np.exp(-t) / np.where(t > 0, t, 1.0), 0.0)
        else:
            steepness = -0.5 * np.exp(-t) if kernel.order == 1 else -(1 + t) * np.exp(-t) / 6
        gradient = radial_gradient(left, right, steepness, coefficients, kernel.rates)
        if side and kernel.order == 0:
            at_kink = (t == 0) @ coefficients.astype(np.float64)
            gradient -= side * at_kink[:, :, None] * kernel.rates
        return gradient

    def onnx(self, X, points):
        kernel = self.compiled(points.shape[1])
        if kernel is None:
            raise MissingMethod(
                f"The kernel of {self!r} is a Bessel function, which ONNX does not have. Use nu = "
                "0.5, 1.5 or 2.5, or features of it."
            )
        return matern_profile(np.sqrt(X.squared_distances(points, kernel.rates)), kernel.order)

    def onnx_slopes(self, q):
        """For ν = 3/2, z = √(3q): −(3/2) e⁻ᶻ and (9/4) e⁻ᶻ / z, set to zero at zero.

        For ν = 5/2, z = √(5q): −(5/6) (1 + z) e⁻ᶻ and (25/12) e⁻ᶻ.
        """
        if self.nu not in (1.5, 2.5):
            raise MissingMethod(
                f"Vector fields of {self!r} cannot be exported to ONNX: use nu = 1.5 or 2.5."
            )
        z = np.sqrt(2 * self.nu * q)
        decay = np.exp(-z)
        if self.nu == 2.5:
            return -5 / 6 * (1.0 + z) * decay, 25 / 12 * decay
        near, where = z < 1e-12, q.graph.where
        return -1.5 * decay, where(near, 0.0, 2.25 * decay / where(near, 1.0, z))


def _large_order_logarithm(nu, z):
    """Return log(s^ν K_ν(s)) at s = ν z up to a constant, by Debye's uniform expansion.

    K_ν itself overflows for large ν. The first neglected term is of order ν⁻⁴.
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
