"""Boosting with Fourier features: the published algorithms and a second-order booster."""

from .booster import EarlyStopping, JointEpochs
from .classifier import FourierBoostingClassifier
from .gbrff1 import GBRFF1Classifier
from .gbrff2 import GBRFF2Classifier
from .regressor import FourierBoostingRegressor
from .rounds import WaveSearch

__all__ = [
    "EarlyStopping",
    "FourierBoostingClassifier",
    "FourierBoostingRegressor",
    "GBRFF1Classifier",
    "GBRFF2Classifier",
    "JointEpochs",
    "WaveSearch",
]
