"""The Gaussian prior."""

from typing import Any, Self

import numpy as np
from sklearn.base import clone

from .._loops.grams import GAUSSIAN, RadialKernel
from .base import RadialPrior

_DEFAULT_GAMMA = 1.0


class Gaussian(RadialPrior):
    """k(x, z) = exp(−γ ‖x − z‖²) = exp(−‖x − z‖² / (2σ²)); its spectrum is N(0, 2γ I).

    Give ``gamma`` or ``length_scale``, not both. ``set_params`` with one replaces the other.

    Parameters
    ----------
    gamma : float, one per column, "scale" or "median", default 1.0
        γ = 1 / (2σ²); "scale" is 1 / (d · var X), as in scikit-learn, "median" is 1 / (2 median
        distance²).
    length_scale : float, one per column, "scale" or "median", default None
        σ, used in place of ``gamma`` if given.

    Examples
    --------
    >>> Gaussian(gamma=0.5).kernel([[0.0]], [[2.0]]).round(3)
    array([[0.135]])
    >>> Gaussian(length_scale=1.0).kernel([[0.0]], [[2.0]]).round(3)
    array([[0.135]])
    """

    _bandwidth = "gamma"
    has_column_factors = True

    def __init__(self, gamma=_DEFAULT_GAMMA, *, length_scale=None):
        self.gamma = gamma
        self.length_scale = length_scale

    def set_params(self, **params: Any) -> Self:
        """Set parameters; setting ``gamma`` or ``length_scale`` alone replaces the other one."""
        if "gamma" in params:
            params.setdefault("length_scale", None)
        elif params.get("length_scale") is not None:
            params["gamma"] = _DEFAULT_GAMMA
        return super().set_params(**params)

    def _bandwidth_name(self):
        if self.length_scale is None:
            return "gamma"
        if np.ndim(self.gamma) or self.gamma not in (None, _DEFAULT_GAMMA):
            raise ValueError(
                f"Gaussian got both gamma={self.gamma!r} and length_scale={self.length_scale!r}; "
                "give one of them (gamma = 1 / (2 length_scale²))."
            )
        return "length_scale"

    def _lengths(self, n_features):
        bandwidths = self._bandwidths(n_features)
        return (
            bandwidths if self._bandwidth_name() == "length_scale" else 1 / np.sqrt(2 * bandwidths)
        )

    def _profile(self, squared_distances):
        return np.exp(-squared_distances / 2)

    def compiled(self, n_features):
        """Return a radial kernel of rates √(2γ) = 1 / σ."""
        return RadialKernel(1 / self._lengths(n_features), GAUSSIAN)

    def with_rates(self, rates, weights):
        """Return a copy with these rates 1 / σ of the columns; there are no weights."""
        return clone(self).set_params(gamma=rates**2 / 2)

    def _from_length(self, length):
        return length if self._bandwidth_name() == "length_scale" else 1 / (2 * length**2)

    def log_density(self, frequencies):
        q, slope, volume = self._scaled_frequencies(frequencies)
        return volume - frequencies.shape[1] / 2 * np.log(2 * np.pi) - q / 2, -slope / 2

    def _slopes(self, squared_distances):
        value = np.exp(-squared_distances / 2)
        return -value / 2, value / 4

    def gaussian_variances(self, n_features):
        return 1 / self._lengths(n_features) ** 2
