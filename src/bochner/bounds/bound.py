"""The value that every guarantee returns."""

from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Bound:
    """With probability at least ``confidence``, the true quantity is at most ``value`` = ``empirical`` + ``complexity``.

    ``form`` is ``"safe"`` (proved) or ``"paper"`` (as printed).  ``valid`` is False where the conditions of the theorem
    do not hold, and ``reason`` says which.
    """

    value: float
    empirical: float
    complexity: float
    confidence: float
    form: str = "safe"
    valid: bool = True
    reason: str = ""

    @classmethod
    def of(cls, empirical: Any, complexity: Any, delta: float = 0.0, form: str = "safe", reason: str = "") -> Self:
        """The bound that fails with probability ``delta``; where a ``reason`` is given it is not valid."""
        empirical, complexity = float(empirical), float(complexity)
        return cls(empirical + complexity, empirical, complexity, 1 - delta, form, not reason, reason)
