"""The Anova prior."""

from functools import reduce
from operator import mul

import numpy as np
from scipy.special import stdtrit
from sklearn.base import clone

from .._checks import MissingMethod, check_positive_vector
from .._estimator import keyword_only_from
from .._loops.grams import ProductKernel
from .base import SpectralPrior
from .derivatives import MATERN_ORDERS, matern_profile, product_gradient, product_hessian
from .sampling import uniforms


@keyword_only_from("0.4", old_order=("nu", "length_scale", "weight"))
class Anova(SpectralPrior):
    """k(x, z) = Π_j (1 + w_j κ(|x_j − z_j| / ℓ_j)) / (1 + w_j), κ a one-dimensional Matérn kernel.

    Its spectrum has independent coordinates: ω_j is 0 with probability 1 / (1 + w_j), else a
    Student variable with 2ν degrees of freedom divided by ℓ_j. So a wave varies along some of the
    columns only. The product expands over sets S of columns, Π_j (1 + w_j κ_j) = Σ_S Π_{j ∈ S}
    w_j κ_j. So functions of this kernel are sums of main effects and interactions. With small
    weights, interactions of many columns are small. A column of weight 0 has no effect.

    Parameters
    ----------
    nu : 0.5, 1.5 or 2.5, default 1.5
        The smoothness ν of κ.
    length_scale : float, one per column, "scale" or "median", default 1.0
        ℓ. "scale" and "median" are √share times the Gaussian length, where share is the mean of
        w / (1 + w): the same curvature at zero as a ``Matern`` kernel of that length.
    weight : float or one per column, default 1.0
        w, not negative: the weight of each column.

    Examples
    --------
    >>> import numpy as np
    >>> prior = Anova(weight=[1.0, 0.0])
    >>> prior.kernel([[0.0, 0.0]], [[0.0, 9.0], [50.0, 0.0]]).round(3)
    array([[1. , 0.5]])
    """

    _samplings = ("iid", "qmc")
    _bandwidth = "length_scale"
    weighs_columns = True
    has_column_factors = True

    def __init__(self, *, nu=1.5, length_scale=1.0, weight=1.0):
        self.nu = nu
        self.length_scale = length_scale
        self.weight = weight

    def _order(self):
        """Return 0, 1, 2 for ν = 1/2, 3/2, 5/2."""
        if self.nu not in MATERN_ORDERS:
            raise ValueError(
                f"Anova has closed forms for nu = 0.5, 1.5 and 2.5, got nu={self.nu!r}. "
                "Write e.g. nu=1.5."
            )
        return MATERN_ORDERS[self.nu]

    def _lengths(self, n_features):
        return check_positive_vector(self.length_scale, "length_scale", n_features)

    def _weights(self, n_features):
        if isinstance(self.weight, str):
            raise ValueError(
                f"weight must be a number or one per column, got {self.weight!r}. Write e.g. "
                "weight=1.0."
            )
        weights = np.asarray(self.weight, dtype=np.float64)
        # Weights may be zero, unlike the parameters that check_positive_vector is made for.
        checked = check_positive_vector(np.where(weights == 0, 1.0, weights), "weight", n_features)
        return np.where(weights == 0, 0.0, checked)

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        lengths, weights = self._lengths(n_features), self._weights(n_features)
        shares = weights / (1 + weights)
        points = uniforms(n_atoms, n_features, rng, sampling)
        return sparse_student_quantile(points, shares, 2 * self._order() + 1) / lengths

    def _gram(self, X, Z):
        return self.compiled(X.shape[1]).gram(X, None if Z is X else Z)

    def compiled(self, n_features):
        """Return a product kernel of rates √(2ν) / ℓ."""
        order = self._order()
        return ProductKernel(
            np.sqrt(2 * order + 1) / self._lengths(n_features), self._weights(n_features), order
        )

    def start_rate(self, n_features):
        """Return a rate that does not depend on the number of columns: each has its own factor."""
        return 0.3

    def with_rates(self, rates, weights):
        """Return a copy with these rates 1 / ℓ and weights of the columns."""
        return clone(self).set_params(length_scale=1 / rates, weight=weights)

    def _from_length(self, length):
        weights = np.asarray(self.weight, dtype=np.float64)
        share = np.mean(weights / (1 + weights))
        return float(np.sqrt(share) * length) if share > 0 else length

    @property
    def has_finite_variance(self):
        return self.nu > 1

    def log_density(self, frequencies):
        raise MissingMethod(
            "Anova has no density over frequencies: they are zero with positive probability. Use "
            "Gaussian, Matern, RationalQuadratic, Laplace, Cauchy, Sinc, SpectralMixture, or a "
            "prior of your own with the method `log_density`."
        )

    def hessian(self, X, Z, columns):
        """Factors are (1 + w κ) / (1 + w); for ν = 1/2 there are no second derivatives."""
        kernel = self.compiled(X.shape[1])
        derivatives = []
        for j, (rate, weight) in enumerate(zip(kernel.rates, kernel.weights, strict=True)):
            u = rate * (X[:, j, None] - Z[:, j])
            t = np.abs(u)
            decay = weight / (1 + weight) * np.exp(-t)
            if kernel.order == 1:
                value, first, second = 1 + t, -u, t - 1
            else:
                value, first, second = 1 + t + t**2 / 3, -u * (1 + t) / 3, (t**2 - t - 1) / 3
            derivatives.append((1 / (1 + weight) + decay * value, decay * first, decay * second))
        return product_hessian(derivatives, kernel.rates, columns)

    def gradient(self, X, points, coefficients, side=0):
        return product_gradient(self.compiled(X.shape[1]), X, points, coefficients, side)

    def column_factor(self, j, x, z, n_features, whole=False):
        kernel = self.compiled(n_features)
        share = kernel.weights[j] / (1 + kernel.weights[j])
        kappa = matern_profile(kernel.rates[j] * np.abs(x[:, None] - z), kernel.order)
        return (0.0, 1 + share * (kappa - 1)) if whole else (1 - share, share * kappa)

    def onnx(self, X, points):
        kernel = self.compiled(points.shape[1])
        shares = kernel.weights / (1 + kernel.weights)
        differences = X.scaled_differences(points, kernel.rates)
        factors = [
            share * matern_profile(np.abs(u), kernel.order) + (1 - share)
            for share, u in zip(shares, differences, strict=True)
        ]
        return reduce(mul, factors)


def sparse_student_quantile(uniform: np.ndarray, shares: np.ndarray, degrees: int) -> np.ndarray:
    """Return quantiles of a variable that is 0 with probability 1 − share, else Student.

    They increase with ``uniform``, so that evenly spread points (quasi-Monte-Carlo) give evenly
    spread draws.
    """
    # The probability beyond |ω|, by symmetry on the nearer side; above share / 2 the draw is zero.
    tail = np.minimum(uniform, 1 - uniform)
    active = 2 * tail < shares
    size = np.zeros_like(uniform)
    size[active] = -stdtrit(degrees, (tail / np.where(shares > 0, shares, 1.0))[active])
    return np.where(uniform < 0.5, -size, size)
