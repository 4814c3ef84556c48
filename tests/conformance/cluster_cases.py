"""What every public estimator does with rows of a cluster: a new estimator adds its line, under its
name.
"""

import numpy as np

from bochner import (
    Anova,
    AscentPeaks,
    CertifiedClassifier,
    EarlyStopping,
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
    OperatorClassifier,
    OperatorKernelRidge,
    OperatorRegressor,
    OperatorRidge,
    OperatorRidgeClassifier,
    OptimalAlignment,
    PacBayes,
    PacBayesLangevin,
    SmoothScaler,
    SpectralClassifier,
    SpectralFeatures,
    SpectralLogistic,
    SpectralRegressor,
    SpectralRidge,
    TableInputs,
)
from bochner.losses import Exponential, Hinge, Huber, Quantile

N = 4100  # more than are compared with each other, which come here
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
VALUES = np.sin(X[:, 0]) + X[:, 1] / 2
TWO = VALUES > 0.2
THREE = np.array(["low", "middle", "upper"])[np.searchsorted([-0.5, 0.5], VALUES)]
FIELD = np.column_stack([VALUES, np.cos(X[:, 0])])

BOOST = {
    "n_rounds": 3,
    "max_rows": 400,
    "epochs": JointEpochs(2),
    "stopping": EarlyStopping(fraction=0.1, patience=5),
}
DOOR = {"priors": Anova(), "evidence": Evidence(n_rows=100, n_iterations=4), "max_exact_rows": 150}
LEARNED = SpectralFeatures(learner=PacBayes(), n_components=6, n_candidates=20)

# By the name of the estimator: kinds of fit, each with a target.  Exact kinds are sums, to 1e-10;
# the front door's kernels are in float32.
FITTED_THERE = {
    "SpectralFeatures": {
        "plain": (SpectralFeatures(n_components=6), THREE),
        "PacBayes": (LEARNED, THREE),
        "OptimalAlignment": (
            SpectralFeatures(learner=OptimalAlignment(), n_components=6, n_candidates=20),
            VALUES,
        ),
        "MarginGame": (
            SpectralFeatures(
                learner=MarginGame(n_rounds=2, peaks=AscentPeaks(search_rows=150)), n_components=6
            ),
            TWO,
        ),
        "JointDescent": (SpectralFeatures(learner=JointDescent(n_epochs=2), n_components=6), THREE),
        "PacBayesLangevin": (
            SpectralFeatures(learner=PacBayesLangevin(n_steps=3), n_components=6),
            THREE,
        ),
    },
    "LandmarkFeatures": {
        "learned": (LandmarkFeatures(n_landmarks=6, n_components=8), THREE),
        "exact": (LandmarkFeatures(n_landmarks=6, landmarks="random", similarity="exact"), THREE),
    },
    "SpectralRidge": {
        "ridge": (SpectralRidge(SpectralFeatures(n_components=10), alpha=[0.1, 1.0]), VALUES),
        "on learned features": (SpectralRidge(LEARNED), FIELD),
    },
    "SpectralLogistic": {"logistic": (SpectralLogistic(LEARNED, class_weight="balanced"), THREE)},
    "OperatorRidge": {
        "operator ridge": (OperatorRidge(n_components=10, fit_intercept=True), FIELD)
    },
    "OperatorRidgeClassifier": {"simplex": (OperatorRidgeClassifier(n_components=10), THREE)},
    "OperatorClassifier": {
        "hinge": (OperatorClassifier(loss=Hinge(), n_components=6), THREE),
        "exponential": (
            OperatorClassifier(loss=Exponential(), n_components=6, class_weight="balanced"),
            TWO,
        ),
        "softmax": (OperatorClassifier(n_components=6), THREE),
    },
    "OperatorRegressor": {
        "quantile": (OperatorRegressor(loss=Quantile(0.7), n_components=6), FIELD),
        "Huber": (OperatorRegressor(loss=Huber(np.array([0.1])), n_components=6), VALUES),
        "squared": (OperatorRegressor(n_components=6), FIELD),
    },
    "FourierBoostingClassifier": {
        "two classes": (FourierBoostingClassifier(**BOOST), TWO),
        "three classes": (FourierBoostingClassifier(**BOOST), THREE),
    },
    "GBRFF1Classifier": {
        "learned landmarks": (
            GBRFF1Classifier(n_rounds=2, n_components=4, class_weight="balanced", calibrated=False),
            TWO,
        ),
        "random landmarks": (GBRFF1Classifier(n_rounds=2, n_components=3, landmark="random"), TWO),
    },
    "GBRFF2Classifier": {
        "three classes": (GBRFF2Classifier(n_rounds=2, rephase=True, calibrated=False), THREE),
        "two classes": (GBRFF2Classifier(n_rounds=2), TWO),
    },
    "FourierBoostingRegressor": {
        "huber": (FourierBoostingRegressor(loss="huber", **BOOST), VALUES)
    },
    "CertifiedClassifier": {
        "certified": (CertifiedClassifier(SpectralFeatures(n_components=4), C=0.1), THREE)
    },
    "KernelMachine": {"exact machine": (KernelMachine(alpha=0.1), VALUES)},
    "SpectralClassifier": {"front door": (SpectralClassifier(**DOOR), THREE)},
    "SpectralRegressor": {"front door": (SpectralRegressor(**DOOR), VALUES)},
}

# Fitted on rows in memory only; the sentence says what to write instead.  Those that predict do so
# there, lazily.
FITTED_HERE = {
    "OperatorKernelRidge": (OperatorKernelRidge(), FIELD, "use OperatorRidge for a Dask array"),
}
IN_MEMORY = {
    "SmoothScaler": (SmoothScaler(), r"works on rows in memory.*Give X.compute\(\)"),
    "TableInputs": (TableInputs(), r"works on rows in memory.*Give X.compute\(\)"),
}
# Made from files by ``fit_table``; it has no rows of its own to fit.
NOT_OF_ROWS = {"TableModel"}
