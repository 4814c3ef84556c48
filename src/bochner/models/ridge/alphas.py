"""The ridge that is asked for: a number, several to choose from, or "auto", which is many of all
sizes.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._checks import check_positive
from ...solvers.outputs import Outputs
from ...solvers.statistics import RidgeStatistics

# What "auto" tries, relative to the mean of K(x, x): three in a decade, over eight of them.  One
# factorization serves them all, so a finer grid costs less than a second look at the rows around
# the best.  Below, rounding of the normal equations is near what a ridge changes.  The largest
# comes first: of equals it is taken.
_SIZES = np.logspace(2, -6, 25)
# Where features hardly vary around their mean, what rounding leaves of them is no scale.
_ROUNDING = 1e-10
# Errors that differ by less, relatively, are equal: rounding must not decide between ridges.
_EQUAL_ERRORS = 1e-6


def check_alphas(alpha: Any) -> np.ndarray:
    """One or several positive ridges as a vector."""
    if isinstance(alpha, Iterable) and not isinstance(alpha, str):
        alphas = [check_positive(value, "alpha") for value in alpha]
        if not alphas:
            raise ValueError(
                "alpha is an empty list; give a number, e.g. alpha=1.0, or several to choose from."
            )
        return np.array(alphas)
    return np.array([check_positive(alpha, "alpha")])


def ridges(alpha: Any, scale: float = 1.0) -> np.ndarray:
    """The ridges to choose from, those of "auto" relative to this scale."""
    if isinstance(alpha, str):
        if alpha != "auto":
            raise ValueError(
                f'alpha must be "auto", a positive number or several of them, got {alpha!r}.'
            )
        return scale * _SIZES
    return check_alphas(alpha)


def chosen_ridge(alphas: np.ndarray, errors: np.ndarray) -> float:
    """Return the largest ridge whose error is the smallest up to rounding.

    >>> chosen_ridge(np.array([1.0, 0.1, 0.01]), np.array([2.0, 1.0 + 1e-9, 1.0]))
    0.1
    """
    return float(np.max(alphas[errors <= np.min(errors) * (1 + _EQUAL_ERRORS)]))


def mean_kernel(given: RidgeStatistics, centered: RidgeStatistics, outputs: Outputs) -> float:
    """The mean of the diagonal of K(x, x) over outputs and rows, around the means where these are
    taken away.
    """
    around, plain = (
        outputs.mean_diagonal(
            (sums.gram if sums.gram.ndim == 1 else np.diag(sums.gram)) / sums.weight
        )
        for sums in (centered, given)
    )
    return max(around, _ROUNDING * plain) or 1.0
