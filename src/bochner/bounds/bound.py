"""The value that every guarantee returns."""

from dataclasses import dataclass


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
