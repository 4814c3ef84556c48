"""The Anova prior."""

import numpy as np
from scipy.special import stdtrit
from sklearn.base import clone

from .._checks import check_positive_vector
from .._estimator import keyword_only_from
from .._loops.grams import ProductKernel
from .base import MATERN_ORDERS, SpectralPrior
from .sampling import uniforms


@keyword_only_from("0.4", old_order=("nu", "length_scale", "weight"))
class Anova(SpectralPrior):
    """k(x, z) = Π_j (1 + w_j κ(|x_j − z_j| / ℓ_j)) / (1 + w_j), κ the one-dimensional Matérn kernel
    of ν = 1/2, 3/2 or 5/2.

    Its spectrum has independent coordinates: ω_j is 0 with probability 1 / (1 + w_j), else a
    Student variable with 2ν degrees of freedom divided by ℓ_j. So a frequency turns only some of
    the columns, and the product expands over sets S of columns, Π_j (1 + w_j κ_j) = Σ_S Π_{j ∈ S}
    w_j κ_j: functions of this kernel are sums of main effects and interactions, few columns at a
    time where the weights are small. A column of weight 0 does not matter at all.

    Parameters
    ----------
    nu : 0.5, 1.5 or 2.5, default 1.5
        ν of κ, its smoothness.
    length_scale : float, one per column, "scale" or "median", default 1.0
        ℓ. The words give √share times the Gaussian length, where share is the mean of w / (1 + w):
        the same curvature at zero as a ``Matern`` kernel of that length.
    weight : float or one per column, default 1.0
        w, not negative: how much a column matters.

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

    def __init__(self, *, nu=1.5, length_scale=1.0, weight=1.0):
        self.nu = nu
        self.length_scale = length_scale
        self.weight = weight

    def _order(self):
        """0, 1, 2 for ν = 1/2, 3/2, 5/2."""
        if self.nu not in MATERN_ORDERS:
            raise ValueError(
                f"Anova has closed forms for nu = 0.5, 1.5 and 2.5, got nu={self.nu!r}. Write e.g. "
                "nu=1.5."
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
        # Zero is a weight here: it takes a column out.  Everything else that is wrong has its
        # message already.
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
        """The kernel as ``_compute`` knows it: rates √(2ν) / ℓ, weights and the order of κ."""
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


def sparse_student_quantile(uniform: np.ndarray, shares: np.ndarray, degrees: int) -> np.ndarray:
    """Quantile function of a variable that is 0 with probability 1 − share, else Student with
    ``degrees`` of freedom.

    Increasing in ``uniform``, so that evenly spread points (quasi-Monte-Carlo) give evenly spread
    draws.
    """
    # By symmetry: the probability beyond |ω|, on the nearer side; above share / 2 lies the atom at
    # zero.
    tail = np.minimum(uniform, 1 - uniform)
    active = 2 * tail < shares
    size = np.zeros_like(uniform)
    size[active] = -stdtrit(degrees, (tail / np.where(shares > 0, shares, 1.0))[active])
    return np.where(uniform < 0.5, -size, size)
