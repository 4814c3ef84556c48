"""The estimators most people use: a table and a target, nothing to tune."""

from .classifier import SpectralClassifier
from .members import Blend, Member, Members, TableEffects
from .regressor import SpectralRegressor

__all__ = ["Blend", "Member", "Members", "SpectralClassifier", "SpectralRegressor", "TableEffects"]
