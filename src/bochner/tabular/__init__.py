"""Models of tables that need no tuning: SpectralClassifier and SpectralRegressor."""

from .classifier import SpectralClassifier
from .effects import TableEffects
from .members import Blend, Member, Members
from .regressor import SpectralRegressor

__all__ = ["Blend", "Member", "Members", "SpectralClassifier", "SpectralRegressor", "TableEffects"]
