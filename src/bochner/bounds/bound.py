"""Result of every guarantee."""

from dataclasses import dataclass
from typing import Any, Self


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
