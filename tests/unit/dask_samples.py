"""What tests of Dask share: an estimator and a target of each kind whose fit is made of sums,
batches and looks, and partitions.
"""

import numpy as np
import pytest
from selection import long_except
from sklearn.base import clone, is_classifier

from bochner import (
    AscentPeaks,
    CertifiedClassifier,
    Decomposable,
    EarlyStopping,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF1Classifier,
    GBRFF2Classifier,
    JointDescent,
    JointEpochs,
    LandmarkFeatures,
    MarginGame,
    OperatorClassifier,
    OperatorRegressor,
    OperatorRidge,
    OperatorRidgeClassifier,
    OptimalAlignment,
    PacBayes,
    SpectralFeatures,
    SpectralLogistic,
    SpectralRidge,
)
from bochner.losses import Exponential, Hinge, Huber, Poisson, Quantile

da = pytest.importorskip("dask.array")

N = 5000  # more than the rows that are compared with each other
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
SIGNAL = np.sin(X[:, 0]) + X[:, 1] / 2
NAMES = np.array(["low", "middle", "upper"])[np.searchsorted([-0.5, 0.5], SIGNAL)]
TWO = np.column_stack([SIGNAL, np.cos(X[:, 0])])

SETTINGS = {"n_components": 8, "n_candidates": 40}
# A sample of rows is looked at here, of a size that does not grow with theirs.
BOOST = {
    "n_rounds": 3,
    "max_rows": 400,
    "epochs": JointEpochs(1),
    "stopping": EarlyStopping(fraction=0.01, patience=5),
}
GAME = {"peaks": AscentPeaks(search_rows=150)}
CONVEX = {"n_components": 4}
STEPS = {"max_iterations": 3}  # each passes over all rows, and multiplies what rounding has left
CASES = {
    "plain": (SpectralFeatures(n_components=8), NAMES),
    "PacBayes": (SpectralFeatures(learner=PacBayes(), **SETTINGS), NAMES),
    "PacBayes of values": (SpectralFeatures(learner=PacBayes("bound"), **SETTINGS), SIGNAL),
    "OptimalAlignment": (SpectralFeatures(learner=OptimalAlignment(), **SETTINGS), TWO),
    "landmarks": (LandmarkFeatures(n_landmarks=6, n_components=8), NAMES),
    "random landmarks": (
        LandmarkFeatures(n_landmarks=6, n_components=8, landmarks="random"),
        NAMES,
    ),
    "landmarks of values": (
        LandmarkFeatures(n_landmarks=6, n_components=8, landmarks="random"),
        SIGNAL,
    ),
    "ridge": (SpectralRidge(SpectralFeatures(n_components=20), alpha=[0.1, 1.0]), SIGNAL),
    "ridge on learned features": (
        SpectralRidge(SpectralFeatures(learner=PacBayes(), **SETTINGS)),
        SIGNAL,
    ),
    "operator ridge": (OperatorRidge(n_components=20, fit_intercept=True), TWO),
    "classifier": (OperatorRidgeClassifier(n_components=20), NAMES),
    "classifier of two": (
        OperatorRidgeClassifier(n_components=20, class_weight="balanced"),
        SIGNAL > 0.5,
    ),
    "logistic": (
        SpectralLogistic(SpectralFeatures(learner=PacBayes(), **SETTINGS), class_weight="balanced"),
        NAMES,
    ),
    "boosting of two": (FourierBoostingClassifier(**BOOST, class_weight="balanced"), SIGNAL > 0.5),
    "boosting": (FourierBoostingClassifier(**BOOST), NAMES),
    "boosting of values": (FourierBoostingRegressor(loss="huber", **BOOST), TWO),
    "GBRFF1": (GBRFF1Classifier(n_rounds=2, n_components=3, **STEPS), SIGNAL > 0.5),
    "GBRFF1 of random rows": (
        GBRFF1Classifier(n_rounds=2, n_components=3, landmark="random", calibrated=False),
        NAMES,
    ),
    "GBRFF2": (GBRFF2Classifier(n_rounds=2, class_weight="balanced", **STEPS), SIGNAL > 0.5),
    "GBRFF2 of several": (
        GBRFF2Classifier(n_rounds=2, rephase=True, calibrated=False, **STEPS),
        NAMES,
    ),
    "JointDescent": (SpectralFeatures(learner=JointDescent(n_epochs=1), n_components=8), NAMES),
    "JointDescent of values": (
        SpectralFeatures(learner=JointDescent(n_epochs=1), n_components=8),
        TWO,
    ),
    "MarginGame": (
        SpectralFeatures(learner=MarginGame(n_rounds=2, **GAME), n_components=8),
        SIGNAL > 0.5,
    ),
    "MarginGame of values": (
        SpectralFeatures(learner=MarginGame(n_rounds=2, **GAME, certificate=False), n_components=8),
        SIGNAL,
    ),
    "convex squared": (OperatorRegressor(Decomposable(output_matrix="covariance"), **CONVEX), TWO),
    "convex Huber": (OperatorRegressor(loss=Huber(np.array([0.1, 0.2])), **CONVEX), TWO),
    "convex quantile": (OperatorRegressor(loss=Quantile(0.7), **CONVEX), SIGNAL),
    "convex Poisson": (OperatorRegressor(loss=Poisson(), **CONVEX), np.floor(np.exp(SIGNAL))),
    "convex logistic": (OperatorClassifier(**CONVEX), SIGNAL > 0.5),
    "convex softmax": (OperatorClassifier(**CONVEX, class_weight="balanced"), NAMES),
    "convex hinge": (OperatorClassifier(loss=Hinge(), **CONVEX), SIGNAL > 0.5),
    "convex exponential": (
        OperatorClassifier(loss=Exponential(), **CONVEX, class_weight="balanced"),
        SIGNAL > 0.5,
    ),
    "certified": (
        CertifiedClassifier(SpectralFeatures(n_components=4), C=0.1, class_weight="balanced"),
        NAMES,
    ),
}
# One of each way of reading rows: sums, labels, landmarks, batches, several outputs.
QUICK = (
    "PacBayes",
    "landmarks",
    "operator ridge",
    "logistic",
    "boosting",
    "GBRFF2",
    "JointDescent",
)
every_case = pytest.mark.parametrize("name", long_except(CASES, *QUICK))


def chunked(values, size):
    return da.from_array(values, chunks=(size, *values.shape[1:]))


def fitted(name, X=X, y=None, **keywords):
    estimator, target = CASES[name]
    return (
        clone(estimator).set_params(random_state=0).fit(X, target if y is None else y, **keywords)
    )


def said(model, X):
    methods = ["predict"] if hasattr(model, "predict") else ["transform"]
    methods += ["predict_proba", "decision_function"] if is_classifier(model) else []
    return {method: getattr(model, method)(X) for method in methods if hasattr(model, method)}
