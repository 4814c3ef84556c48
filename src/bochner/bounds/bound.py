"""``Bound``, the result of every guarantee, and checks of the arguments that guarantees share."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np

# Rates and divergences may leave their range by rounding, by less than this.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Bound:
    """Upper bound ``value`` = ``empirical`` + ``complexity`` with probability ``confidence``.

    Parameters
    ----------
    value : float
        The bound.
    empirical : float
        The measured quantity.
    complexity : float
        The term that is added to it.
    confidence : float
        Probability that the bound holds.
    form : "safe" or "paper", default "safe"
        Proved, or as printed.
    valid : bool, default True
        False if the conditions of the theorem do not hold.
    reason : str, default ""
        The condition that does not hold, or another remark.

    Examples
    --------
    >>> bound = Bound.of(0.1, 0.05, delta=0.05)
    >>> round(bound.value, 3), bound.confidence
    (0.15, 0.95)
    """

    value: float
    empirical: float
    complexity: float
    confidence: float
    form: str = "safe"
    valid: bool = True
    reason: str = ""

    @classmethod
    def of(
        cls,
        empirical: Any,
        complexity: Any,
        delta: float = 0.0,
        form: str = "safe",
        reason: str = "",
    ) -> Self:
        """Return the bound that fails with probability ``delta``; a ``reason`` makes it invalid."""
        empirical, complexity = float(empirical), float(complexity)
        return cls(
            empirical + complexity, empirical, complexity, 1 - delta, form, not reason, reason
        )


def check_rate(value: Any) -> float:
    """Validate ``empirical``, a mean of losses in [0, 1], and clip rounding beyond the ends."""
    value = _number(value, "empirical", example=0.2)
    if not -ROUNDING <= value <= 1 + ROUNDING:
        raise ValueError(
            f"empirical must be a mean of losses between 0 and 1, got {value:.6g}. Write e.g. "
            "empirical=0.2."
        )
    return min(max(value, 0.0), 1.0)


def check_divergence(value: Any, name: str = "divergence") -> float:
    """Validate a divergence: non-negative up to rounding, or infinite."""
    value = _number(value, name, example=1.5)
    if value < -ROUNDING:
        raise ValueError(
            f"{name} must be at least 0, got {value:.6g}. Write e.g. "
            f"{name}=kl_divergence(posterior, prior)."
        )
    return max(value, 0.0)


def check_vector(values: Any, name: str, *, smallest: float = -np.inf) -> np.ndarray:
    """Validate a vector of finite numbers, none below ``smallest``, and return it as float64."""
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or len(vector) == 0:
        raise ValueError(
            f"{name} must be a vector of numbers, got shape {vector.shape}. Write e.g. "
            "np.ravel(...)."
        )
    if not np.all(np.isfinite(vector)):
        raise ValueError(
            f"{name} must be finite, got NaN or infinity. Drop or fill those rows first."
        )
    if vector.min() < smallest:
        raise ValueError(f"{name} must be at least {smallest:g}, got {vector.min():.6g}.")
    return vector


def _number(value, name, example):
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}. Write e.g. {name}={example}.")
    if np.isnan(float(value)):
        raise ValueError(f"{name} must be a number, got NaN. Write e.g. {name}={example}.")
    return float(value)
