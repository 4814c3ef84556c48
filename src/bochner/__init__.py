"""bochner learns kernels in the Fourier domain: a kernel is a measure over frequencies, learning is updating it."""

from .alignment import alignment_losses, alignment_losses_and_gradient
from .certificates import CertifiedClassifier, certify
from .features import SpectralFeatures
from .landmarks import LandmarkFeatures
from .learners import OptimalAlignment, PacBayes, divergence_ball_weights, gibbs_weights
from .measures import FourierMeasure, concatenate
from .operators import (
    CurlFree,
    Decomposable,
    DivergenceFree,
    Helmholtz,
    OperatorMeasure,
    graph_output_matrix,
    simplex_code,
)
from .priors import Cauchy, Gaussian, Laplace, Matern, RationalQuadratic, Sinc, SpectralMixture
from .ridge import OperatorKernelRidge, OperatorRidge, OperatorRidgeClassifier, SpectralRidge
from .targets import TargetSimilarity
from .tuning import tune_on_validation

__version__ = "0.1.0"

__all__ = [
    "Cauchy",
    "CertifiedClassifier",
    "CurlFree",
    "Decomposable",
    "DivergenceFree",
    "FourierMeasure",
    "Gaussian",
    "Helmholtz",
    "LandmarkFeatures",
    "Laplace",
    "Matern",
    "OperatorKernelRidge",
    "OperatorMeasure",
    "OperatorRidge",
    "OperatorRidgeClassifier",
    "OptimalAlignment",
    "PacBayes",
    "RationalQuadratic",
    "Sinc",
    "SpectralFeatures",
    "SpectralMixture",
    "SpectralRidge",
    "TargetSimilarity",
    "alignment_losses",
    "alignment_losses_and_gradient",
    "certify",
    "concatenate",
    "divergence_ball_weights",
    "gibbs_weights",
    "graph_output_matrix",
    "simplex_code",
    "tune_on_validation",
]
