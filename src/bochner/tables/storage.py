"""Allow-list of the classes that a model file may hold."""

from importlib import import_module

# A file cannot import any other class.  Estimators store their attributes; the other classes are
# frozen dataclasses, built by their constructors.
_OURS = {
    "boosting.booster": "JointEpochs EarlyStopping",
    "boosting.classifier": "FourierBoostingClassifier",
    "boosting.gbrff1": "GBRFF1Classifier",
    "boosting.gbrff2": "GBRFF2Classifier",
    "boosting.regressor": "FourierBoostingRegressor",
    "boosting.rounds": "WaveSearch",
    "bounds.bound": "Bound",
    "data.inputs": "SmoothScaler TableInputs",
    "data.targets": "TargetSimilarity",
    "expansions.kernels": "KernelExpansion",
    "expansions.leaves": "LeafExpansion LeafTree",
    "expansions.waves": "Expansion ExpansionStack",
    "features.landmarks": "LandmarkFeatures",
    "features.spectral": "SpectralFeatures",
    "learners.alignment": "LabelSums FactorSums ValueSums",
    "learners.base": "AlignmentReport",
    "learners.chain": "Chain",
    "learners.descent.gradients": "Standardization",
    "learners.descent.joint_descent": "DescentReport JointDescent",
    "learners.evidence": "Evidence LearnedPrior",
    "learners.game.exhaustive": "CandidatePeaks HarmonicPeaks",
    "learners.game.harmonic_chain": "HarmonicChain",
    "learners.game.margin_game": "GameReport GameRound MarginGame",
    "learners.game.peaks": "AscentPeaks LangevinPeaks QuasiNewtonPeaks",
    "learners.game.value": "GameCertificate",
    "learners.optimal_alignment": "OptimalAlignment",
    "learners.pac_bayes": "PacBayes",
    "learners.pac_bayes_gaussian": "GaussianReport PacBayesGaussian",
    "learners.pac_bayes_langevin": "PacBayesLangevin PosteriorReport",
    "losses": "Exponential Hinge Huber Logistic Multinomial Poisson Quantile Squared",
    "measures.fourier": "FourierMeasure",
    "measures.harmonic": "HarmonicMeasure",
    "models.certified": "CertifiedClassifier",
    "models.kernel_machine": "KernelMachine",
    "models.logistic": "SpectralLogistic",
    "models.operator": "OperatorClassifier OperatorRegressor",
    "models.ridge.classifier": "OperatorRidgeClassifier",
    "models.ridge.exact": "OperatorKernelRidge",
    "models.ridge.model": "RidgeFit",
    "models.ridge.operator": "OperatorRidge",
    "models.ridge.spectral": "SpectralRidge",
    "operators.custom": "CustomKernel",
    "operators.decomposable": "Decomposable",
    "operators.measure": "OperatorMeasure",
    "operators.sums": "KernelSum",
    "operators.vector_field": "CurlFree DivergenceFree Helmholtz",
    "priors.algebra": "PriorProduct PriorSum ScaledPrior",
    "priors.anova": "Anova",
    "priors.categories": "WithCategories",
    "priors.cauchy": "Cauchy",
    "priors.columns": "OnColumns",
    "priors.gaussian": "Gaussian",
    "priors.laplace": "Laplace",
    "priors.matern": "Matern",
    "priors.metric": "WithMetric",
    "priors.mixture": "SpectralMixture",
    "priors.periodic": "Periodic",
    "priors.rational_quadratic": "RationalQuadratic",
    "priors.sinc": "Sinc",
    "solvers.direct": "Cholesky Eigen EigenFactorization Eigensystem",
    "solvers.iterative": "ConjugateGradient LBFGS StochasticGradient",
    "solvers.partial": "PartialOutputs PartialStatistics",
    "solvers.problem": "CenteredRows CoupledOutputs DecoupledOutputs RidgeStatistics",
    "tables.columns.column_kinds": "CategoryColumn DateColumn NumberColumn",
    "tables.columns.reader": "ColumnReader",
    "tables.evaluate.thresholds": "ThresholdClassifier",
    "tables.fitting": "TableModel",
    "tabular.bands": "KernelSystem",
    "tabular.blending": "Blend Mixture ProbabilityLink",
    "tabular.classifier": "SpectralClassifier",
    "tabular.members": "Member",
    "tabular.monotone": "Rearrangement",
    "tabular.neighbors": "Neighbors",
    "tabular.regressor": "SpectralRegressor",
    "tabular.scales": "Spread TargetScale",
    "tabular.waves": "WaveMember",
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
        "MaxAbsScaler MinMaxScaler Normalizer PowerTransformer QuantileTransformer RobustScaler "
        "StandardScaler"
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
