"""Models of tables that need no tuning: SpectralClassifier and SpectralRegressor."""

from .blending import Blend, Mixture
from .classifier import SpectralClassifier
from .effects import TableEffects
from .members import Member, Members
from .regressor import SpectralRegressor
from .shapley import ShapleyValues

__all__ = [
    "Blend",
    "Member",
    "Members",
    "Mixture",
    "ShapleyValues",
    "SpectralClassifier",
    "SpectralRegressor",
    "TableEffects",
]
