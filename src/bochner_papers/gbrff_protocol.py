"""Protocol of Gautheron et al. 2020: tables, splits, models, cross-validation."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from bochner.boosting import FourierBoostingClassifier, GBRFF1Classifier, GBRFF2Classifier
from bochner.datasets import load
from bochner.learners import PacBayes
from bochner.priors import Gaussian

from .baselines import BoostedKernelRegression, GreedyFourierFeatures, RandomLandmarks
from .runner.results import Case

SMALL = [
    "wine", "sonar", "newthyroid", "heart", "bupa", "ionosphere",
    "wdbc", "balance", "australian", "pima", "vehicle", "german",
]  # fmt: skip
LARGE = ["splice", "spambase", "occupancy"]
TABLES = {"smoke": SMALL[:1], "quick": SMALL, "paper": [*SMALL, *LARGE]}

GAMMAS = [2.0**k for k in range(-2, 3)]  # divided by the number of features
TENS = [10.0**k for k in range(-2, 3)]
PENALTIES = [0.0, *(2.0**k for k in range(-5, -1))]
PAPER_GRIDS: dict[str, dict[str, list[Any]]] = {
    "GBRFF1": {"gamma": GAMMAS, "beta": TENS},
    "GBRFF2": {"gamma": GAMMAS, "lam": PENALTIES},
    "LGBM": {"max_depth": list(range(1, 11)), "reg_lambda": PENALTIES},
    "PBRFF": {"gamma": GAMMAS, "beta": TENS, "C": TENS},
    "GFC": {"C": TENS},
    "BMKR": {"C": TENS},
}


def binary_split(table: str, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return X, X_test, y, y_test of a stratified 70/30 split, labels ±1."""
    data = load(table)
    X, y = np.asarray(data.data, dtype=np.float64), data.y_binary.astype(int)
    return train_test_split(X, y, stratify=y, test_size=0.3, random_state=split)


def standardized(X: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """Standardize all parts by means and deviations of the first one, the training part."""
    scaler = StandardScaler().fit(X)
    return [scaler.transform(part) for part in (X, *others)]


def named_model(method: str, n_rounds: int, seed: int = 0, **setting: Any) -> Any:
    """Return a method by its name in the paper.

    Settings have the paper's symbols: gamma, beta, lam (its λ), C.
    """
    if method == "GBRFF1":
        learner = PacBayes(setting.get("beta", 1.0))
        return GBRFF1Classifier(
            n_rounds=n_rounds,
            n_components=10,
            prior=Gaussian(setting["gamma"]),
            learner=learner,
            calibrated=False,
            random_state=seed,
        )
    if method == "GBRFF2":
        return GBRFF2Classifier(
            n_rounds=n_rounds,
            prior=Gaussian(setting["gamma"]),
            penalty=setting.get("lam", 0.0),
            calibrated=False,
            random_state=seed,
        )
    if method == "FourierBoosting":
        return FourierBoostingClassifier(n_rounds=n_rounds, random_state=seed)
    if method == "PBRFF":
        return RandomLandmarks(n_landmarks=n_rounds, n_frequencies=10, **setting, random_state=seed)
    if method == "GFC":
        return GreedyFourierFeatures(n_rounds=n_rounds, **setting, random_state=seed)
    if method == "BMKR":
        return BoostedKernelRegression(n_rounds=n_rounds, **setting)
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=n_rounds, n_jobs=1, random_state=1, verbose=-1, **setting)


def cross_validated(
    scores: Callable[..., Any],
    settings: list[Case],
    X: np.ndarray,
    y: np.ndarray,
    n_folds: int,
    seed: int,
) -> np.ndarray:
    """Sum ``scores(settings, X, y, X_valid, y_valid)`` over the folds, one row per setting.

    A single setting has zeros.
    """
    if len(settings) == 1:
        return np.zeros(1)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y)
    return np.sum(
        [scores(settings, X[train], y[train], X[valid], y[valid]) for train, valid in folds], axis=0
    )
