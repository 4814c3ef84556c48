"""bochner learns kernels in the Fourier domain: a kernel is a measure over frequencies, learning is updating it."""

from . import bounds
from .alignment import alignment_losses, alignment_losses_and_gradient
from .boosting import (
    EarlyStopping,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF1Classifier,
    GBRFF2Classifier,
    JointEpochs,
    WaveSearch,
)
from .certificates import CertifiedClassifier, certify
from .evidence import Evidence, LearnedPrior
from .expansions import Expansion
from .features import SpectralFeatures
from .front_door import SpectralClassifier, SpectralRegressor
from .harmonics import HarmonicMeasure, arc_cosine_kernel, spherical_harmonics
from .inputs import SmoothScaler, TableInputs
from .kernel_expansions import KernelExpansion
from .kernel_machine import KernelMachine
from .landmarks import LandmarkFeatures
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
from .logistic import SpectralLogistic
from .measures import FourierMeasure, concatenate
from .operator_models import OperatorClassifier, OperatorRegressor
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
from .ridge import OperatorKernelRidge, OperatorRidge, OperatorRidgeClassifier, SpectralRidge
from .solvers import LBFGS, Cholesky, ConjugateGradient, Eigen, StochasticGradient
from .tables import TableModel, fit_table, load, load_table, open_rows, save
from .targets import TargetSimilarity, simplex_code
from .tuning import tune_on_validation

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
