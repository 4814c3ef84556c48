"""Allow-list of the classes that a model file may hold."""

import os
from importlib import import_module

# A class that is not named here is never imported on the word of a file.  Estimators store their
# attributes; the other classes are frozen dataclasses, built again by their own constructors.
_OURS = {
    "alignment": "LabelSums FactorSums ValueSums",
    "blending": "ProbabilityLink",
    "boosting.booster": "JointEpochs EarlyStopping",
    "boosting.classifier": "FourierBoostingClassifier",
    "boosting.gbrff1": "GBRFF1Classifier",
    "boosting.gbrff2": "GBRFF2Classifier",
    "boosting.regressor": "FourierBoostingRegressor",
    "boosting.rounds": "WaveSearch",
    "bounds.bound": "Bound",
    "certificates": "CertifiedClassifier",
    "evidence": "Evidence LearnedPrior",
    "expansions": "Expansion ExpansionStack",
    "features": "SpectralFeatures",
    "front_door.classifier": "SpectralClassifier",
    "front_door.members": "Blend Member",
    "front_door.regressor": "SpectralRegressor",
    "front_door.spread": "Spread",
    "front_door.target_scales": "TargetScale",
    "front_door.waves": "WaveMember",
    "harmonics": "HarmonicMeasure",
    "inputs": "SmoothScaler TableInputs",
    "kernel_expansions": "KernelExpansion",
    "kernel_machine": "KernelMachine",
    "landmarks": "LandmarkFeatures",
    "learners.game_value": "GameCertificate",
    "learners.harmonic_chain": "HarmonicChain",
    "learners.harmonic_peaks": "HarmonicPeaks",
    "learners.joint_descent": "DescentReport JointDescent",
    "learners.margin_game": "GameReport GameRound MarginGame",
    "learners.optimal_alignment": "OptimalAlignment",
    "learners.pac_bayes": "PacBayes",
    "learners.pac_bayes_langevin": "PacBayesLangevin PosteriorReport",
    "learners.peaks": "AscentPeaks CandidatePeaks LangevinPeaks QuasiNewtonPeaks",
    "learners.reweighting": "AlignmentReport",
    "logistic": "SpectralLogistic",
    "losses": "Exponential Hinge Huber Logistic Multinomial Poisson Quantile Squared",
    "measures": "FourierMeasure",
    "operator_models": "OperatorClassifier OperatorRegressor",
    "operators.curl_free": "CurlFree",
    "operators.custom": "CustomKernel",
    "operators.decomposable": "Decomposable",
    "operators.divergence_free": "DivergenceFree",
    "operators.helmholtz": "Helmholtz",
    "operators.measure": "OperatorMeasure",
    "priors.anova": "Anova",
    "priors.cauchy": "Cauchy",
    "priors.gaussian": "Gaussian",
    "priors.laplace": "Laplace",
    "priors.matern": "Matern",
    "priors.mixture": "SpectralMixture",
    "priors.rational_quadratic": "RationalQuadratic",
    "priors.sinc": "Sinc",
    "ridge.classifier": "OperatorRidgeClassifier",
    "ridge.exact": "OperatorKernelRidge",
    "ridge.model": "RidgeFit",
    "ridge.operator": "OperatorRidge",
    "ridge.spectral": "SpectralRidge",
    "solvers.base": "CenteredRows",
    "solvers.direct": "Cholesky Eigen EigenFactorization",
    "solvers.iterative": "ConjugateGradient LBFGS StochasticGradient",
    "solvers.outputs": "CoupledOutputs DecoupledOutputs",
    "solvers.statistics": "RidgeStatistics",
    "solvers.systems": "Eigensystem",
    "tables.column_kinds": "CategoryColumn DateColumn NumberColumn",
    "tables.columns": "ColumnReader",
    "tables.fitting": "TableModel",
    "tables.thresholds": "ThresholdClassifier",
    "targets": "TargetSimilarity",
    "wave_gradients": "Standardization",
}

# Steps of pipelines.  All of them predict with NumPy alone; compiled code of trees, neighbors and
# support vectors would follow the indices of a crafted file out of its arrays.
_SCIKIT_LEARN = {
    "compose._column_transformer": "ColumnTransformer",
    "impute._base": "MissingIndicator SimpleImputer",
    "linear_model._base": "LinearRegression",
    "linear_model._logistic": "LogisticRegression LogisticRegressionCV",
    "linear_model._ridge": "Ridge RidgeCV RidgeClassifier RidgeClassifierCV",
    "pipeline": "Pipeline",
    "preprocessing._data": (
        "MaxAbsScaler MinMaxScaler Normalizer PowerTransformer QuantileTransformer RobustScaler StandardScaler"
    ),
    "preprocessing._discretization": "KBinsDiscretizer",
    "preprocessing._encoders": "OneHotEncoder OrdinalEncoder",
    "preprocessing._function_transformer": "FunctionTransformer",
    "preprocessing._label": "LabelBinarizer",
    "preprocessing._polynomial": "PolynomialFeatures",
    "preprocessing._target_encoder": "TargetEncoder",
}

STORED_CLASSES = frozenset(
    (f"{package}.{module}", name)
    for package, modules in (("bochner", _OURS), ("sklearn", _SCIKIT_LEARN))
    for module, names in modules.items()
    for name in names.split()
)


def stored_class(module: str, name: str) -> type:
    """Import one of ``STORED_CLASSES``; any other name is a KeyError and imports nothing."""
    if (module, name) not in STORED_CLASSES:
        raise KeyError(f"{module}.{name}")
    return getattr(import_module(module), name)


def trusted_types(path: str | os.PathLike[str]) -> list[str]:
    """Return the types in a skops file that skops does not trust by itself but that are ours.

    ``skops.io.load(path, trusted=trusted_types(path))`` loads parts of a model, such as a measure.
    For whole models use ``bochner.load``, which trusts less and checks more.
    """
    import skops.io

    ours = {f"{module}.{name}" for module, name in STORED_CLASSES if module.startswith("bochner.")}
    return sorted(ours.intersection(skops.io.get_untrusted_types(file=path)))
