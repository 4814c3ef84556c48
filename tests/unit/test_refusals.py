"""Two mistakes that everybody makes once: parentheses forgotten, and numbers that are missing."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import bochner
from bochner import (
    AscentPeaks,
    CertifiedClassifier,
    Cholesky,
    CurlFree,
    Decomposable,
    EarlyStopping,
    Evidence,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    Gaussian,
    GBRFF1Classifier,
    GBRFF2Classifier,
    JointEpochs,
    KernelMachine,
    LandmarkFeatures,
    MarginGame,
    OperatorKernelRidge,
    OperatorRidge,
    OperatorRidgeClassifier,
    PacBayes,
    SmoothScaler,
    SpectralClassifier,
    SpectralFeatures,
    SpectralRegressor,
    SpectralRidge,
    TableInputs,
    WaveSearch,
    certify,
)
from bochner.losses import Logistic, class_probabilities
from bochner.operators import approximation_constants

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
LABELS, FIELD = X[:, 0] > 0, X[:, :3]


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (SpectralFeatures(prior=Gaussian), LABELS),
        (SpectralFeatures(learner=PacBayes), LABELS),
        (SpectralFeatures(learner=MarginGame(peaks=AscentPeaks)), LABELS),
        (LandmarkFeatures(prior=Gaussian), LABELS),
        (LandmarkFeatures(learner=PacBayes), LABELS),
        (CertifiedClassifier(features=SpectralFeatures), LABELS),
        (SpectralRidge(features=SpectralFeatures), X[:, 0]),
        (SpectralRidge(solver=Cholesky), X[:, 0]),
        (OperatorRidge(kernel=Decomposable), FIELD),
        (OperatorRidge(kernel=CurlFree(Gaussian)), FIELD),
        (OperatorRidge(features=SpectralFeatures), FIELD),
        (OperatorRidge(solver=Cholesky), FIELD),
        (OperatorRidgeClassifier(kernel=Decomposable), LABELS),
        (OperatorRidgeClassifier(solver=Cholesky), LABELS),
        (OperatorKernelRidge(kernel=Decomposable), FIELD),
        (OperatorKernelRidge(kernel=Decomposable(Gaussian)), FIELD),
        (KernelMachine(prior=Gaussian), X[:, 0]),
        (FourierBoostingClassifier(prior=Gaussian), LABELS),
        (FourierBoostingClassifier(search=WaveSearch), LABELS),
        (FourierBoostingRegressor(epochs=JointEpochs), X[:, 0]),
        (FourierBoostingRegressor(stopping=EarlyStopping), X[:, 0]),
        (GBRFF1Classifier(prior=Gaussian), LABELS),
        (GBRFF1Classifier(learner=PacBayes), LABELS),
        (GBRFF2Classifier(prior=Gaussian), LABELS),
        (SpectralClassifier(evidence=Evidence), LABELS),
        (SpectralClassifier(priors=[Gaussian]), LABELS),
        (SpectralRegressor(priors=Gaussian), X[:, 0]),
    ],
    ids=lambda value: str(value).replace("\n", "")[:70] if hasattr(value, "get_params") else "",
)
def test_a_class_where_an_object_is_meant(estimator, y):
    with pytest.raises(
        TypeError,
        match=r"must be an object, got the class (\w+)\. Write \w+=\1\(\), with parentheses",
    ):
        estimator.fit(X, y)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Evidence().learn_prior(Gaussian, X, X[:, 0], RNG),
        lambda: CurlFree(Gaussian).sample(5, 3, RNG),
        lambda: approximation_constants(CurlFree, 2),
        lambda: class_probabilities(Logistic, X),
        lambda: certify(SpectralRidge, X, X[:, 0]),
        lambda: bochner.tune_on_validation(SpectralFeatures, [], {}, X, LABELS, X, LABELS),
    ],
)
def test_a_class_where_a_function_wants_an_object(call):
    with pytest.raises(TypeError, match="with parentheses"):
        call()


ROWS_WANTED = [
    SpectralFeatures(n_components=3),
    SmoothScaler(),
    LandmarkFeatures(n_landmarks=3),
    SpectralRidge(),
    OperatorRidge(),
    OperatorKernelRidge(),
    KernelMachine(),
    FourierBoostingClassifier(n_rounds=2),
    GBRFF1Classifier(n_rounds=2),
    CertifiedClassifier(),
]


@pytest.mark.parametrize("estimator", ROWS_WANTED, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize(
    ("bad", "kind"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_missing_numbers_are_named_by_column_and_row(estimator, bad, kind):
    wrong = X.copy()
    wrong[30, 0] = wrong[7, 2] = bad
    message = rf"Input X contains {kind}: first in column {{}}, in row 7, counted from 0\. "
    for rows in (wrong, wrong.astype(np.float32)):
        with pytest.raises(ValueError, match=message.format(2)):
            estimator.fit(rows, LABELS)
    with pytest.raises(ValueError, match=message.format("'height'")):
        estimator.fit(pd.DataFrame(wrong, columns=["age", "size", "height"]), LABELS)


def test_missing_numbers_of_sparse_rows_and_of_new_rows_are_named_too():
    wrong = X.copy()
    wrong[:, 1], wrong[7, 2] = 0, np.nan
    with pytest.raises(ValueError, match="column 2, in row 7"):
        SpectralFeatures(n_components=3).fit(sp.csr_matrix(wrong))
    frame = pd.DataFrame(X, columns=["age", "size", "height"])
    fitted = SpectralFeatures(n_components=3).fit(frame)
    with pytest.raises(ValueError, match="column 'height', in row 7"):
        fitted.transform(pd.DataFrame(wrong, columns=frame.columns))


@pytest.mark.parametrize(
    "estimator", [TableInputs(), SpectralRegressor()], ids=lambda e: type(e).__name__
)
def test_where_numbers_may_be_missing_infinity_is_named(estimator):
    wrong = X.copy()
    wrong[3, 0], wrong[7, 2] = np.nan, np.inf
    with pytest.raises(ValueError, match="Input X contains infinity: first in column 2, in row 7"):
        estimator.fit(wrong, X[:, 0])
