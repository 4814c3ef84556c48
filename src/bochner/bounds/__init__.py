"""Guarantees as pure functions that return a ``Bound``."""

from .bound import Bound
from .margin import competitive_ratio, margin, margin_objective, margin_regret, potential_deviation

__all__ = ["Bound", "competitive_ratio", "margin", "margin_objective", "margin_regret", "potential_deviation"]
