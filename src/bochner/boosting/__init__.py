"""Boosting with Fourier features: the published algorithms and a second-order booster."""

from .classifier import FourierBoostingClassifier
from .expansion import FourierExpansion
from .gbrff1 import GBRFF1Classifier
from .gbrff2 import GBRFF2Classifier
from .regressor import FourierBoostingRegressor

__all__ = [
    "FourierBoostingClassifier",
    "FourierBoostingRegressor",
    "FourierExpansion",
    "GBRFF1Classifier",
    "GBRFF2Classifier",
]
