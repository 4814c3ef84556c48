"""Every public object that laws are checked against: a new prior or estimator adds one line here."""

import numpy as np

from bochner import (
    Anova,
    AscentPeaks,
    CandidatePeaks,
    Cauchy,
    CertifiedClassifier,
    Decomposable,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    Gaussian,
    GBRFF1Classifier,
    GBRFF2Classifier,
    JointDescent,
    KernelMachine,
    LandmarkFeatures,
    LangevinPeaks,
    Laplace,
    MarginGame,
    Matern,
    OperatorKernelRidge,
    OperatorRidge,
    OperatorRidgeClassifier,
    OptimalAlignment,
    PacBayes,
    RationalQuadratic,
    Sinc,
    SpectralClassifier,
    SpectralFeatures,
    SpectralMixture,
    SpectralRegressor,
    SpectralRidge,
)


def mixture(n_features):
    """A spectral mixture with means off the origin, in any dimension."""
    rng = np.random.default_rng(n_features)
    return SpectralMixture(
        weights=[0.3, 0.7], means=rng.normal(size=(2, n_features)), scales=rng.uniform(0.2, 1.0, size=(2, n_features))
    )


# Each case is a function of the number of features, so that vector parameters fit.
PRIORS = {
    "Gaussian": lambda d: Gaussian(gamma=0.3),
    "Gaussian ARD": lambda d: Gaussian(gamma=np.linspace(0.1, 0.6, d)),
    "Matern 1/2": lambda d: Matern(nu=0.5, length_scale=1.5),
    "Matern 3/2": lambda d: Matern(nu=1.5),
    "Matern 2.2 ARD": lambda d: Matern(nu=2.2, length_scale=np.linspace(0.8, 2.0, d)),
    "RationalQuadratic": lambda d: RationalQuadratic(alpha=0.7, length_scale=1.2),
    "Laplace": lambda d: Laplace(gamma=0.4),
    "Anova 1/2": lambda d: Anova(nu=0.5, length_scale=1.5, weight=0.7),
    "Anova 3/2": lambda d: Anova(),
    "Anova 5/2 ARD": lambda d: Anova(
        nu=2.5, length_scale=np.linspace(0.6, 2.0, d), weight=np.append(np.linspace(0.2, 5.0, d)[1:], 0.01)
    ),
    "Cauchy": lambda d: Cauchy(scale=1.3),
    "Sinc": lambda d: Sinc(bandwidth=1.1),
    "Sinc ARD": lambda d: Sinc(bandwidth=np.linspace(0.5, 1.5, d)),
    "SpectralMixture": mixture,
}

ESTIMATORS = [
    SpectralClassifier(),
    SpectralRegressor(),
    SpectralFeatures(n_components=8),
    SpectralFeatures(Matern(nu=2.5, length_scale="median"), n_components=8, sampling="orthogonal", block_size=7),
    SpectralFeatures(Laplace(), n_components=8, sampling="qmc"),
    GBRFF1Classifier(T=8, K=4),
    GBRFF2Classifier(T=8),
    FourierBoostingClassifier(n_rounds=8),
    FourierBoostingRegressor(n_rounds=8),
    FourierBoostingRegressor("huber", n_rounds=8),
    SpectralFeatures(learner=PacBayes(), n_components=4, n_candidates=20),
    SpectralFeatures(learner=PacBayes(beta="bound"), n_components=8),
    SpectralFeatures(learner=OptimalAlignment(), n_components=4, n_candidates=20, selection="top"),
    LandmarkFeatures(n_landmarks=5, n_components=8),
    LandmarkFeatures(n_landmarks=0.1, n_components=8, landmarks="random", share_frequencies=True),
    LandmarkFeatures(n_landmarks=5, similarity="exact"),
    CertifiedClassifier(SpectralFeatures(n_components=8)),
    SpectralRidge(),
    SpectralRidge(
        SpectralFeatures(Matern(nu=1.5, length_scale="scale"), n_components=50), alpha=0.1, fit_intercept=False
    ),
    OperatorRidge(),
    OperatorRidge(Decomposable(Gaussian(gamma="scale")), n_components=20, solver="cholesky", fit_intercept=True),
    OperatorRidge(n_components=20, solver="cg", block_size=7),
    OperatorRidgeClassifier(),
    OperatorKernelRidge(),
    KernelMachine(),
    KernelMachine(Anova(length_scale="scale"), alpha=0.1, linear=0.5, solver="cg", tol=1e-10),
    SpectralFeatures(learner=MarginGame(n_rounds=4), n_components=8),
    SpectralFeatures(learner=MarginGame(n_rounds=None, peaks=AscentPeaks(top=3, polish=2)), n_components=8),
    SpectralFeatures(learner=MarginGame(n_rounds=2, peaks=LangevinPeaks(10, 3)), n_components=8, block_size=7),
    SpectralFeatures(learner=MarginGame(n_rounds=3, peaks=CandidatePeaks(), loss="squared"), n_components=8),
    SpectralFeatures(learner=JointDescent(n_epochs=2), n_components=8),
    SpectralFeatures(learner=JointDescent(n_epochs=2, loss="squared"), n_components=8),
]
