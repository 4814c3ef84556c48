"""Every public estimator, small enough to be attacked thousands of times."""

import numpy as np
from sklearn.base import is_regressor

from bochner import (
    CertifiedClassifier,
    Evidence,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF1Classifier,
    GBRFF2Classifier,
    JointDescent,
    JointEpochs,
    KernelMachine,
    LandmarkFeatures,
    MarginGame,
    OperatorKernelRidge,
    OperatorRidge,
    OperatorRidgeClassifier,
    OptimalAlignment,
    PacBayes,
    SmoothScaler,
    SpectralClassifier,
    SpectralFeatures,
    SpectralLogistic,
    SpectralRegressor,
    SpectralRidge,
    TableInputs,
)

N_ROWS, N_FEATURES = 60, 3
_QUICK = Evidence(n_rows=60, n_iterations=3)

VICTIMS = {
    "SpectralClassifier": SpectralClassifier(evidence=_QUICK, random_state=0),
    "SpectralRegressor": SpectralRegressor(evidence=_QUICK, random_state=0),
    "KernelMachine": KernelMachine(random_state=0),
    "SpectralRidge": SpectralRidge(SpectralFeatures(n_components=8, random_state=0)),
    "SpectralLogistic": SpectralLogistic(SpectralFeatures(n_components=8, random_state=0)),
    "OperatorRidge": OperatorRidge(n_components=8, random_state=0),
    "OperatorRidgeClassifier": OperatorRidgeClassifier(n_components=8, random_state=0),
    "OperatorKernelRidge": OperatorKernelRidge(),
    "FourierBoostingClassifier": FourierBoostingClassifier(
        n_rounds=4, epochs=JointEpochs(2), random_state=0
    ),
    "FourierBoostingRegressor": FourierBoostingRegressor(
        n_rounds=4, epochs=JointEpochs(2), random_state=0
    ),
    "GBRFF1Classifier": GBRFF1Classifier(n_rounds=3, n_components=4, random_state=0),
    "GBRFF2Classifier": GBRFF2Classifier(n_rounds=3, random_state=0),
    "CertifiedClassifier": CertifiedClassifier(SpectralFeatures(n_components=8), random_state=0),
    "SpectralFeatures": SpectralFeatures(n_components=8, random_state=0),
    "SpectralFeatures, PacBayes": SpectralFeatures(
        learner=PacBayes(), n_components=8, random_state=0
    ),
    "SpectralFeatures, OptimalAlignment": SpectralFeatures(
        learner=OptimalAlignment(), n_components=8, random_state=0
    ),
    "SpectralFeatures, MarginGame": SpectralFeatures(
        learner=MarginGame(n_rounds=2), n_components=8, random_state=0
    ),
    "SpectralFeatures, JointDescent": SpectralFeatures(
        learner=JointDescent(n_epochs=2), n_components=8, random_state=0
    ),
    "LandmarkFeatures": LandmarkFeatures(n_landmarks=5, n_components=8, random_state=0),
    "LandmarkFeatures, OptimalAlignment": LandmarkFeatures(
        learner=OptimalAlignment(), n_landmarks=5, n_components=8, random_state=0
    ),
    "SmoothScaler": SmoothScaler(),
    "TableInputs": TableInputs(),
}


def data_for(estimator, seed=0):
    """Rows on a grid of quarters, which every precision holds exactly, and a target that the
    estimator takes.
    """
    rng = np.random.default_rng(seed)
    X = np.round(4 * rng.normal(size=(N_ROWS, N_FEATURES))) / 4
    signal = np.sin(X[:, 0]) + X[:, 1] / 2
    if is_regressor(estimator):
        return X, signal
    return X, np.where(signal > 0, "above", "below")
