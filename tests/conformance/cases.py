"""Every public object that laws are checked against: a new prior or estimator adds one line here."""

import numpy as np
from sklearn.base import BaseEstimator

import bochner
from bochner import (
    LBFGS,
    Anova,
    AscentPeaks,
    CandidatePeaks,
    Cauchy,
    CertifiedClassifier,
    Cholesky,
    ConjugateGradient,
    CurlFree,
    Decomposable,
    DivergenceFree,
    Eigen,
    Expansion,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    FourierMeasure,
    Gaussian,
    GBRFF1Classifier,
    GBRFF2Classifier,
    HarmonicMeasure,
    Helmholtz,
    JointDescent,
    KernelMachine,
    LandmarkFeatures,
    LangevinPeaks,
    Laplace,
    MarginGame,
    Matern,
    OperatorClassifier,
    OperatorKernelRidge,
    OperatorRegressor,
    OperatorRidge,
    OperatorRidgeClassifier,
    OptimalAlignment,
    PacBayes,
    PacBayesLangevin,
    RationalQuadratic,
    Sinc,
    SpectralClassifier,
    SpectralFeatures,
    SpectralLogistic,
    SpectralMixture,
    SpectralRegressor,
    SpectralRidge,
    StochasticGradient,
    TableModel,
)
from bochner.losses import (
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Multinomial,
    Poisson,
    Quantile,
    Squared,
)


def mixture(n_features):
    """A spectral mixture with means off the origin, in any dimension."""
    rng = np.random.default_rng(n_features)
    return SpectralMixture(
        weights=[0.3, 0.7],
        means=rng.normal(size=(2, n_features)),
        scales=rng.uniform(0.2, 1.0, size=(2, n_features)),
    )


# Each case is a function of the number of features, so that vector parameters fit.
PRIORS = {
    "Gaussian": lambda d: Gaussian(gamma=0.3),
    "Gaussian ARD": lambda d: Gaussian(gamma=np.linspace(0.1, 0.6, d)),
    "Gaussian by length": lambda d: Gaussian(length_scale=1.3),
    "Gaussian by lengths": lambda d: Gaussian(length_scale=np.linspace(0.8, 2.0, d)),
    "Matern 1/2": lambda d: Matern(nu=0.5, length_scale=1.5),
    "Matern 3/2": lambda d: Matern(nu=1.5),
    "Matern 2.2 ARD": lambda d: Matern(nu=2.2, length_scale=np.linspace(0.8, 2.0, d)),
    "RationalQuadratic": lambda d: RationalQuadratic(alpha=0.7, length_scale=1.2),
    "Laplace": lambda d: Laplace(gamma=0.4),
    "Anova 1/2": lambda d: Anova(nu=0.5, length_scale=1.5, weight=0.7),
    "Anova 3/2": lambda d: Anova(),
    "Anova 5/2 ARD": lambda d: Anova(
        nu=2.5,
        length_scale=np.linspace(0.6, 2.0, d),
        weight=np.append(np.linspace(0.2, 5.0, d)[1:], 0.01),
    ),
    "Cauchy": lambda d: Cauchy(scale=1.3),
    "Sinc": lambda d: Sinc(bandwidth=1.1),
    "Sinc ARD": lambda d: Sinc(bandwidth=np.linspace(0.5, 1.5, d)),
    "SpectralMixture": mixture,
}

_RNG = np.random.default_rng(0)

# Every public estimator as it comes; a TableModel is made of one by ``tables``.
DEFAULTS = [
    public()
    for public in (getattr(bochner, name) for name in bochner.__all__)
    if isinstance(public, type)
    and issubclass(public, BaseEstimator)
    and hasattr(public, "fit")
    and public is not TableModel
]

# One estimator of each way of working: the laws hold for these in the quick tests.
KINDS = [
    SpectralClassifier(),
    SpectralRegressor(),
    SpectralFeatures(n_components=8),
    SpectralFeatures(learner=PacBayes(), n_components=4, n_candidates=20),
    SpectralFeatures(learner=MarginGame(n_rounds=4), n_components=8),
    SpectralFeatures(learner=JointDescent(n_epochs=2), n_components=8),
    LandmarkFeatures(n_landmarks=5, n_components=8),
    GBRFF1Classifier(n_rounds=8, n_components=4),
    GBRFF2Classifier(n_rounds=8),
    FourierBoostingRegressor(loss="huber", n_rounds=8),
    CertifiedClassifier(SpectralFeatures(n_components=8)),
    SpectralRidge(
        SpectralFeatures(Matern(nu=1.5, length_scale="scale"), n_components=50),
        alpha=0.1,
        fit_intercept=False,
    ),
    SpectralLogistic(
        SpectralFeatures(learner=PacBayes(), n_components=8, block_size=7),
        C=100.0,
        fit_intercept=False,
    ),
    OperatorRidge(
        Decomposable(Gaussian(gamma="scale")),
        n_components=20,
        solver=Cholesky(),
        fit_intercept=True,
    ),
    OperatorRidgeClassifier(),
    OperatorClassifier(loss=Hinge(), n_components=8),
    OperatorKernelRidge(),
    KernelMachine(),
]

# Other settings and siblings: the laws hold for these in `make test-all`.
OTHER_SETTINGS = [
    SpectralFeatures(
        Matern(nu=2.5, length_scale="median"), n_components=8, sampling="orthogonal", block_size=7
    ),
    SpectralFeatures(Laplace(), n_components=8, sampling="qmc"),
    SpectralFeatures(learner=PacBayes(beta="bound"), n_components=8),
    SpectralFeatures(learner=OptimalAlignment(), n_components=4, n_candidates=20, selection="top"),
    SpectralFeatures(
        learner=MarginGame(n_rounds=None, peaks=AscentPeaks(top=3, polish=2)), n_components=8
    ),
    SpectralFeatures(
        learner=MarginGame(n_rounds=2, peaks=LangevinPeaks(n_walkers=10, n_steps=3)),
        n_components=8,
        block_size=7,
    ),
    SpectralFeatures(
        learner=MarginGame(n_rounds=3, peaks=CandidatePeaks(), loss="squared"), n_components=8
    ),
    SpectralFeatures(
        learner=MarginGame(n_rounds=3, peaks=CandidatePeaks()), n_components=8, target="labels"
    ),
    SpectralFeatures(learner=PacBayesLangevin(n_steps=4), n_components=8),
    SpectralFeatures(learner=JointDescent(n_epochs=2, loss="squared"), n_components=8),
    LandmarkFeatures(n_landmarks=0.1, n_components=8, landmarks="random", share_frequencies=True),
    LandmarkFeatures(n_landmarks=5, similarity="exact"),
    LandmarkFeatures(learner=OptimalAlignment(), n_landmarks=5, n_components=8, landmarks="random"),
    GBRFF1Classifier(n_rounds=8, n_components=1, landmark=0, calibrated=False),
    GBRFF1Classifier(n_rounds=8, n_components=4, landmark="random", calibrated=False),
    FourierBoostingClassifier(),
    FourierBoostingRegressor(),
    CertifiedClassifier(
        SpectralFeatures(learner=PacBayes(), n_components=8), class_weight="balanced"
    ),
    SpectralRidge(),
    SpectralLogistic(),
    SpectralLogistic(LandmarkFeatures(n_landmarks=5, n_components=8), class_weight="balanced"),
    OperatorRidge(),
    OperatorRidge(
        features=SpectralFeatures(n_components=20, block_size=7),
        alpha=1.0,
        solver=ConjugateGradient(),
    ),
    OperatorRegressor(
        loss=Huber(np.array([0.3])), features=SpectralFeatures(n_components=20, block_size=7)
    ),
    OperatorKernelRidge(Decomposable(output_matrix="covariance"), alpha=[0.01, 0.1, 1.0]),
    KernelMachine(Anova(length_scale="scale"), alpha=0.1, linear=0.5, solver="cg", tol=1e-10),
]

ESTIMATORS = [*KINDS, *OTHER_SETTINGS]

# Learners whose result does not depend on rounding, and those that search.
LEARNERS = {
    "PacBayes": PacBayes(3.0),
    "PacBayes by bound": PacBayes("bound"),
    "OptimalAlignment": OptimalAlignment(radius=0.5, mu=1.7),
    "MarginGame": MarginGame(n_rounds=6, peaks=CandidatePeaks()),
    "MarginGame squared hinge": MarginGame(
        n_rounds=6, peaks=CandidatePeaks(top=2), loss="squared_hinge"
    ),
}
SEARCHING = {
    "MarginGame by ascent": MarginGame(n_rounds=3, peaks=AscentPeaks(n_walkers=5, n_steps=3)),
    "MarginGame by Langevin": MarginGame(n_rounds=2, peaks=LangevinPeaks(n_walkers=5, n_steps=3)),
    "PacBayesLangevin": PacBayesLangevin(3.0, Gaussian(0.5), n_steps=4, jump_every=2),
}

LOSSES = [
    Logistic(),
    Exponential(),
    Multinomial(),
    Squared(),
    Huber(np.array([0.7])),
    Quantile(0.3),
    Poisson(),
    Hinge(),
]
LOSSES += [Hinge(0.5), Quantile(0.3, 0.4)]

SOLVERS = [
    Eigen(),
    Cholesky(),
    ConjugateGradient(tol=1e-13),
    LBFGS(tol=1e-12),
    StochasticGradient(n_epochs=400),
]

# Each is a function of a scalar prior and of the number of features.
OPERATOR_KERNELS = {
    "Decomposable": lambda prior, d: Decomposable(prior, np.array([[2.0, 0.5], [0.5, 1.0]])),
    "CurlFree": lambda prior, d: CurlFree(prior),
    "DivergenceFree": lambda prior, d: DivergenceFree(prior),
    "Helmholtz": lambda prior, d: Helmholtz(prior, curl_share=0.3),
    "CurlFree in time": lambda prior, d: CurlFree(prior, coordinates=[d - 1, 0]),
    "Helmholtz in time": lambda prior, d: Helmholtz(prior, 0.6, coordinates=[0, d - 1]),
}


def sampled(kernel):
    return kernel.sample(12, 3, np.random.default_rng(1))


MEASURES = {
    "Fourier": FourierMeasure(_RNG.normal(size=(12, 3)), _RNG.random(12)),
    "harmonic": HarmonicMeasure(np.array([[0, 0], [1, 2], [2, 1], [2, 4], [5, 3]]), _RNG.random(5)),
    "decomposable": sampled(Decomposable(Gaussian(), np.array([[2.0, 1.0], [1.0, 2.0]]))),
    "curl-free": sampled(CurlFree(Gaussian())),
    "divergence-free": sampled(DivergenceFree(Gaussian())),
    "Helmholtz": sampled(Helmholtz(Gaussian(), curl_share=0.3)),
}


def expansion(n_outputs, slopes=True):
    rng = np.random.default_rng(2)
    return Expansion(
        rng.normal(size=(6, 3)),
        rng.normal(size=(6, n_outputs)),
        rng.normal(size=(6, n_outputs)),
        rng.normal(size=n_outputs),
        rng.normal(size=(3, n_outputs)) if slopes else None,
    )


EXPANSIONS = {
    "one output": expansion(1),
    "three outputs": expansion(3),
    "bounded": expansion(2, slopes=False),
    "constant": Expansion.constant([1.0, -2.0], 3),
}
