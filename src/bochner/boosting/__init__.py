"""Boosting with Fourier features: the published algorithms and a second-order booster."""

from .estimators import FourierBoostingClassifier, FourierBoostingRegressor
from .expansion import FourierExpansion
from .published import GBRFF1Classifier, GBRFF2Classifier

__all__ = [
    "FourierBoostingClassifier",
    "FourierBoostingRegressor",
    "FourierExpansion",
    "GBRFF1Classifier",
    "GBRFF2Classifier",
]
