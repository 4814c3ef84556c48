"""Values of the ridge: one number, several to choose from, or "auto"."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._checks import check_positive

# Values of "auto", relative to the mean of K(x, x): three per decade over eight decades. One
# factorization serves them all, so a fine grid costs less than a second search around the best.
# Smaller ridges would be lost in the rounding of the normal equations.
_SIZES = np.logspace(2, -6, 25)
# Errors with a smaller relative difference are equal: rounding must not decide between ridges.
_EQUAL_ERRORS = 1e-6


def check_alphas(alpha: Any) -> np.ndarray:
    """Return one or several positive ridges as a vector."""
    if not isinstance(alpha, Iterable) or isinstance(alpha, str):
        return np.array([check_positive(alpha, "alpha")])
    alphas = [check_positive(value, "alpha") for value in alpha]
    if not alphas:
        raise ValueError(
            "alpha is an empty list; give a number, e.g. alpha=1.0, or several to choose from."
        )
    return np.array(alphas)


def ridges(alpha: Any, scale: float = 1.0) -> np.ndarray:
    """Return the ridges to choose from; those of "auto" are relative to ``scale``."""
    if not isinstance(alpha, str):
        return check_alphas(alpha)
    if alpha != "auto":
        raise ValueError(
            f'alpha must be "auto", a positive number or several of them, got {alpha!r}.'
        )
    return scale * _SIZES


def chosen_ridge(alphas: np.ndarray, errors: np.ndarray) -> float:
    """Return the largest ridge whose error is the smallest up to rounding.

    >>> chosen_ridge(np.array([1.0, 0.1, 0.01]), np.array([2.0, 1.0 + 1e-9, 1.0]))
    0.1
    """
    return float(np.max(alphas[errors <= np.min(errors) * (1 + _EQUAL_ERRORS)]))
