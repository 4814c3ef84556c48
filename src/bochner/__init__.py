"""bochner learns kernels in the Fourier domain: a kernel is a measure over frequencies, learning is updating it."""

from . import bounds
from .boosting import (
    EarlyStopping,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF1Classifier,
    GBRFF2Classifier,
    JointEpochs,
    WaveSearch,
)
from .data.inputs import SmoothScaler, TableInputs
from .data.targets import TargetSimilarity, simplex_code
from .expansions.kernels import KernelExpansion
from .expansions.waves import Expansion
from .features.landmarks import LandmarkFeatures
from .features.spectral import SpectralFeatures
from .learners import (
    AlignmentLearner,
    AlignmentReport,
    AscentPeaks,
    CandidatePeaks,
    HarmonicChain,
    HarmonicPeaks,
    JointDescent,
    LangevinPeaks,
    Learned,
    Learner,
    MarginGame,
    OptimalAlignment,
    PacBayes,
    PacBayesLangevin,
    QuasiNewtonPeaks,
    divergence_ball_weights,
    game_equilibrium,
    gibbs_weights,
    project_dual,
)
from .learners.alignment import alignment_losses, alignment_losses_and_gradient
from .learners.evidence import Evidence, LearnedPrior
from .measures.fourier import FourierMeasure, concatenate
from .measures.harmonic import HarmonicMeasure, arc_cosine_kernel, spherical_harmonics
from .models.certified import CertifiedClassifier, certify
from .models.kernel_machine import KernelMachine
from .models.logistic import SpectralLogistic
from .models.operator import OperatorClassifier, OperatorRegressor
from .models.ridge import OperatorKernelRidge, OperatorRidge, OperatorRidgeClassifier, SpectralRidge
from .models.tuning import tune_on_validation
from .operators import (
    CurlFree,
    CustomKernel,
    Decomposable,
    DivergenceFree,
    Helmholtz,
    OperatorMeasure,
    graph_output_matrix,
)
from .priors import (
    Anova,
    Cauchy,
    Gaussian,
    Laplace,
    Matern,
    ProductPrior,
    RadialPrior,
    RationalQuadratic,
    Sinc,
    SpectralMixture,
    SpectralPrior,
)
from .solvers import LBFGS, Cholesky, ConjugateGradient, Eigen, StochasticGradient
from .tables import TableModel, fit_table, load, load_table, open_rows, save
from .tabular import SpectralClassifier, SpectralRegressor

__version__ = "0.2.0"

__all__ = [
    "LBFGS",
    "AlignmentLearner",
    "AlignmentReport",
    "Anova",
    "AscentPeaks",
    "CandidatePeaks",
    "Cauchy",
    "CertifiedClassifier",
    "Cholesky",
    "ConjugateGradient",
    "CurlFree",
    "CustomKernel",
    "Decomposable",
    "DivergenceFree",
    "EarlyStopping",
    "Eigen",
    "Evidence",
    "Expansion",
    "FourierBoostingClassifier",
    "FourierBoostingRegressor",
    "FourierMeasure",
    "GBRFF1Classifier",
    "GBRFF2Classifier",
    "Gaussian",
    "HarmonicChain",
    "HarmonicMeasure",
    "HarmonicPeaks",
    "Helmholtz",
    "JointDescent",
    "JointEpochs",
    "KernelExpansion",
    "KernelMachine",
    "LandmarkFeatures",
    "LangevinPeaks",
    "Laplace",
    "Learned",
    "LearnedPrior",
    "Learner",
    "MarginGame",
    "Matern",
    "OperatorClassifier",
    "OperatorKernelRidge",
    "OperatorMeasure",
    "OperatorRegressor",
    "OperatorRidge",
    "OperatorRidgeClassifier",
    "OptimalAlignment",
    "PacBayes",
    "PacBayesLangevin",
    "ProductPrior",
    "QuasiNewtonPeaks",
    "RadialPrior",
    "RationalQuadratic",
    "Sinc",
    "SmoothScaler",
    "SpectralClassifier",
    "SpectralFeatures",
    "SpectralLogistic",
    "SpectralMixture",
    "SpectralPrior",
    "SpectralRegressor",
    "SpectralRidge",
    "StochasticGradient",
    "TableInputs",
    "TableModel",
    "TargetSimilarity",
    "WaveSearch",
    "alignment_losses",
    "alignment_losses_and_gradient",
    "arc_cosine_kernel",
    "bounds",
    "certify",
    "concatenate",
    "divergence_ball_weights",
    "fit_table",
    "game_equilibrium",
    "gibbs_weights",
    "graph_output_matrix",
    "load",
    "load_table",
    "open_rows",
    "project_dual",
    "save",
    "simplex_code",
    "spherical_harmonics",
    "tune_on_validation",
]
