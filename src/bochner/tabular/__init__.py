"""The estimators most people use: a table and a target, nothing to tune."""

from .classifier import SpectralClassifier
from .effects import TableEffects
from .members import Blend, Member, Members
from .regressor import SpectralRegressor

__all__ = ["Blend", "Member", "Members", "SpectralClassifier", "SpectralRegressor", "TableEffects"]
