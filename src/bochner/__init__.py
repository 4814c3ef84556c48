"""bochner learns kernels in the Fourier domain: a kernel is a measure over frequencies, learning is updating it."""

from .features import SpectralFeatures
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

__version__ = "0.1.0"

__all__ = [
    "Cauchy",
    "CurlFree",
    "Decomposable",
    "DivergenceFree",
    "FourierMeasure",
    "Gaussian",
    "Helmholtz",
    "Laplace",
    "Matern",
    "OperatorKernelRidge",
    "OperatorMeasure",
    "OperatorRidge",
    "OperatorRidgeClassifier",
    "RationalQuadratic",
    "Sinc",
    "SpectralFeatures",
    "SpectralMixture",
    "SpectralRidge",
    "concatenate",
    "graph_output_matrix",
    "simplex_code",
]
