"""The periodic prior."""

import numpy as np
from scipy.special import ive
from sklearn.base import clone

from .._checks import check_positive_vector
from .base import ParameterGroup, ProductPrior
from .sampling import uniforms


class Periodic(ProductPrior):
    """k(x, z) = Π_j exp(−γ_j (1 − cos(2π (x_j − z_j) / period_j))), the kernel of MacKay (1998).

    Coordinates of its spectrum are multiples of 2π / period: the multiple m has the probability
    e^{−γ} I_m(γ), I_m the modified Bessel function. The larger γ, the less smooth within a period.
    ``Evidence`` learns γ, and keeps the period.

    Parameters
    ----------
    gamma : float or one per column, default 1.0
        γ, 1 / ℓ² for the length ℓ of MacKay, which is relative to the period.
    period : float or one per column, default 1.0
        Distance after which functions repeat.

    Examples
    --------
    >>> Periodic(gamma=0.5, period=2.0).kernel([[0.0]], [[1.0], [2.0]]).round(3)  # exp(−1)
    array([[0.368, 1.   ]])
    """

    _bandwidth = "gamma"

    def __init__(self, gamma=1.0, period=1.0):
        self.gamma = gamma
        self.period = period

    def _rates(self, n_features):
        return 2 * np.pi / check_positive_vector(self.period, "period", n_features)

    def _of_column(self, j, n_features):
        return Periodic(float(self._bandwidths(n_features)[j]))

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        points = uniforms(n_atoms, n_features, rng, sampling)
        for j in range(n_features):
            points[:, j] = self._of_column(j, n_features)._quantile(points[:, j])
        return self._rates(n_features) * points

    def _quantile(self, uniform):
        """Return integers m of probability e^{−γ} I_m(γ)."""
        # Beyond this the tail is smaller than the rounding of the sum.
        most = int(10 * np.sqrt(self.gamma)) + 20
        orders = np.arange(-most, most + 1)
        cumulative = np.cumsum(ive(np.abs(orders), self.gamma))
        return orders[np.searchsorted(cumulative / cumulative[-1], uniform)].astype(np.float64)

    def _factor(self, differences):
        return np.exp(-self.gamma * (1.0 - np.cos(differences)))

    def _factor_derivatives(self, differences):
        sine, cosine = self.gamma * np.sin(differences), self.gamma * np.cos(differences)
        value = np.exp(cosine - self.gamma)
        return value, -sine * value, (sine**2 - cosine) * value

    def rescaled(self, scales):
        """Return this prior with its period in units of the scales."""
        period = check_positive_vector(self.period, "period", len(scales))
        return clone(self).set_params(period=period / scales)

    def with_rates(self, rates, weights):
        """Return a copy with γ = rates²; the period stays."""
        return clone(self).set_params(gamma=rates**2)

    def groups(self, n_features):
        """Return √γ of the columns, which has no unit."""
        return [ParameterGroup("shape", self.start_rate(n_features), np.arange(n_features))]

    def gram_slopes(self, X, gram, pull):
        """Use cos(u_i − u_k) = cos u_i cos u_k + sin u_i sin u_k, so that matrix products do."""
        angles = X.astype(np.float64) * self._rates(X.shape[1])
        pull = np.tril(pull * gram)
        pull = pull + np.tril(pull, -1).T
        around = sum(
            np.sum(wave * (pull @ wave), axis=0) for wave in (np.cos(angles), np.sin(angles))
        )
        return -2 * self._bandwidths(X.shape[1]) * (pull.sum() - around), None
