"""bochner learns kernels in the Fourier domain: a kernel is a measure over frequencies, learning is updating it."""

from .alignment import alignment_losses, alignment_losses_and_gradient
from .certificates import CertifiedClassifier, certify
from .features import SpectralFeatures
from .landmarks import LandmarkFeatures
from .learners import OptimalAlignment, PacBayes, divergence_ball_weights, gibbs_weights
from .measures import FourierMeasure, concatenate
from .priors import Cauchy, Gaussian, Laplace, Matern, RationalQuadratic, Sinc, SpectralMixture
from .targets import TargetSimilarity
from .tuning import tune_on_validation

__version__ = "0.1.0"

__all__ = [
    "Cauchy",
    "CertifiedClassifier",
    "FourierMeasure",
    "Gaussian",
    "LandmarkFeatures",
    "Laplace",
    "Matern",
    "OptimalAlignment",
    "PacBayes",
    "RationalQuadratic",
    "Sinc",
    "SpectralFeatures",
    "SpectralMixture",
    "TargetSimilarity",
    "alignment_losses",
    "alignment_losses_and_gradient",
    "certify",
    "concatenate",
    "divergence_ball_weights",
    "gibbs_weights",
    "tune_on_validation",
]
