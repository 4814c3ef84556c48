"""Kernels learned in the Fourier domain: a kernel is a measure, learning changes the measure."""

from importlib import import_module
from typing import Any

from . import boosting, bounds, datasets, learners, losses, measures, operators, priors, solvers
from .boosting import (
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF1Classifier,
    GBRFF2Classifier,
)
from .data.inputs import SmoothScaler, TableInputs
from .features import LandmarkFeatures, SpectralFeatures
from .models.certified import CertifiedClassifier, certify
from .models.kernel_machine import KernelMachine
from .models.logistic import SpectralLogistic
from .models.operator import OperatorClassifier, OperatorRegressor
from .models.ridge import OperatorKernelRidge, OperatorRidge, OperatorRidgeClassifier, SpectralRidge
from .models.tuning import tune_on_validation
from .tables import TableModel, fit_table, load, load_table, open_rows, save
from .tabular import SpectralClassifier, SpectralRegressor

__version__ = "0.3.0"

__all__ = [
    "CertifiedClassifier",
    "FourierBoostingClassifier",
    "FourierBoostingRegressor",
    "GBRFF1Classifier",
    "GBRFF2Classifier",
    "KernelMachine",
    "LandmarkFeatures",
    "OperatorClassifier",
    "OperatorKernelRidge",
    "OperatorRegressor",
    "OperatorRidge",
    "OperatorRidgeClassifier",
    "SmoothScaler",
    "SpectralClassifier",
    "SpectralFeatures",
    "SpectralLogistic",
    "SpectralRegressor",
    "SpectralRidge",
    "TableInputs",
    "TableModel",
    "boosting",
    "bounds",
    "certify",
    "datasets",
    "export",
    "fit_table",
    "learners",
    "load",
    "load_table",
    "losses",
    "measures",
    "open_rows",
    "operators",
    "plots",
    "priors",
    "save",
    "solvers",
    "testing",
    "tune_on_validation",
]

# Subpackages that are imported when they are used.
_OPTIONAL = ("export", "plots", "testing")
# Names that were at the top level in 0.2.0, by the subpackage that they belong to.
_NAMES_OF = {
    "boosting": "EarlyStopping JointEpochs WaveSearch",
    "expansions": "Expansion KernelExpansion",
    "learners": """
        AlignmentLearner AlignmentReport AscentPeaks CandidatePeaks Evidence HarmonicChain
        HarmonicPeaks JointDescent LangevinPeaks Learned LearnedPrior Learner MarginGame
        OptimalAlignment PacBayes PacBayesLangevin QuasiNewtonPeaks TargetSimilarity
        alignment_losses alignment_losses_and_gradient divergence_ball_weights game_equilibrium
        gibbs_weights project_dual
    """,
    "measures": """
        FourierMeasure HarmonicMeasure arc_cosine_kernel concatenate spherical_harmonics
    """,
    "operators": """
        CurlFree CustomKernel Decomposable DivergenceFree Helmholtz OperatorMeasure
        graph_output_matrix simplex_code
    """,
    "priors": """
        Anova Cauchy Gaussian Laplace Matern ProductPrior RadialPrior RationalQuadratic Sinc
        SpectralMixture SpectralPrior
    """,
    "solvers": "Cholesky ConjugateGradient Eigen LBFGS StochasticGradient",
}
_HOMES = {name: home for home, names in _NAMES_OF.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _OPTIONAL:
        return import_module(f".{name}", __name__)
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
