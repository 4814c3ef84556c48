"""bochner learns kernels in the Fourier domain: a kernel is a measure over frequencies, learning is updating it."""

from . import bounds
from .features import SpectralFeatures
from .harmonics import HarmonicMeasure, arc_cosine_kernel, spherical_harmonics
from .learners import (
    AscentPeaks,
    CandidatePeaks,
    HarmonicPeaks,
    JointDescent,
    LangevinPeaks,
    MarginGame,
    QuasiNewtonPeaks,
    game_equilibrium,
    project_dual,
)
from .measures import FourierMeasure, concatenate
from .priors import Cauchy, Gaussian, Laplace, Matern, RationalQuadratic, Sinc, SpectralMixture

__version__ = "0.1.0"

__all__ = [
    "AscentPeaks",
    "CandidatePeaks",
    "Cauchy",
    "FourierMeasure",
    "Gaussian",
    "HarmonicMeasure",
    "HarmonicPeaks",
    "JointDescent",
    "LangevinPeaks",
    "Laplace",
    "MarginGame",
    "Matern",
    "QuasiNewtonPeaks",
    "RationalQuadratic",
    "Sinc",
    "SpectralFeatures",
    "SpectralMixture",
    "arc_cosine_kernel",
    "bounds",
    "concatenate",
    "game_equilibrium",
    "project_dual",
    "spherical_harmonics",
]
