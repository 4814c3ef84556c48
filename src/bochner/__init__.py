"""bochner learns kernels in the Fourier domain: a kernel is a measure over frequencies, learning is updating it."""

from .boosting import (
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    FourierExpansion,
    GBRFF1Classifier,
    GBRFF2Classifier,
)
from .features import SpectralFeatures
from .measures import FourierMeasure, concatenate
from .priors import Cauchy, Gaussian, Laplace, Matern, RationalQuadratic, Sinc, SpectralMixture

__version__ = "0.1.0"

__all__ = [
    "Cauchy",
    "FourierBoostingClassifier",
    "FourierBoostingRegressor",
    "FourierExpansion",
    "FourierMeasure",
    "GBRFF1Classifier",
    "GBRFF2Classifier",
    "Gaussian",
    "Laplace",
    "Matern",
    "RationalQuadratic",
    "Sinc",
    "SpectralFeatures",
    "SpectralMixture",
    "concatenate",
]
