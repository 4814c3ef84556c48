"""The value that every guarantee returns."""

from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Bound:
    """With probability at least ``confidence``, the true quantity is at most ``value`` =
    ``empirical`` + ``complexity``.

    Parameters
    ----------
    value : float
        The bound.
    empirical : float
        What was measured.
    complexity : float
        What is added to it.
    confidence : float
        Probability that the bound holds.
    form : "safe" or "paper", default "safe"
        Proved, or as printed.
    valid : bool, default True
        False where the conditions of the theorem do not hold.
    reason : str, default ""
        Which conditions do not hold, or what else there is to know.

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
        """The bound that fails with probability ``delta``; where a ``reason`` is given it is not
        valid.
        """
        empirical, complexity = float(empirical), float(complexity)
        return cls(
            empirical + complexity, empirical, complexity, 1 - delta, form, not reason, reason
        )
