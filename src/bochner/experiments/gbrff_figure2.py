"""Accuracy against the number of landmarks (Gautheron et al. 2020, Figure 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from ..boosting import GBRFF1Classifier, GBRFF2Classifier
from ..datasets import load
from .gbrff_table2 import LARGE, SMALL
from .rivals import RandomLandmarks

PAPER = "Gautheron et al. 2020, Figure 2"
CLAIM = "With at most 25 landmarks GBRFF1 beats PBRFF on average, and GBRFF2 beats both."
NEEDS = [*SMALL, *LARGE]
METHODS = ["PBRFF", "GBRFF1", "GBRFF2"]
COUNTS = [1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 40, 50]
DEVIATIONS = (
    "Boosters are tuned once, at 50 rounds, and read off at every number of landmarks; PBRFF is tuned at 50 landmarks and fitted again "
    "for each number. Scale quick: the 12 small tables, 2 splits, 3-fold CV over gamma in {1/4, 1, 4}/d and, for GBRFF2, "
    "lambda in {0, 1/8}; beta = 1, C = 1. The figure of the paper names 16 tables, its script runs 15."
)


def cases(scale: str) -> list[dict[str, Any]]:
    """One case for each table, split and method."""
    tables = {"smoke": SMALL[:1], "quick": SMALL, "paper": [*SMALL, *LARGE]}[scale]
    n_splits = {"smoke": 1, "quick": 2, "paper": 20}[scale]
    return [
        {"dataset": table, "split": split, "method": method, "folds": 5 if scale == "paper" else 3}
        for split in range(n_splits)
        for table in tables
        for method in METHODS
    ]


def run(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Test accuracies at each of ``COUNTS`` landmarks."""
    data = load(case["dataset"])
    X, y = np.asarray(data.data, dtype=np.float64), data.y_binary.astype(int)
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, test_size=0.3, random_state=case["split"])
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    seed = int(rng.integers(2**31))
    settings = [{"gamma": gamma / X.shape[1]} for gamma in (0.25, 1.0, 4.0)]
    if case["method"] == "GBRFF2":
        settings = [setting | {"lam": lam} for setting in settings for lam in (0.0, 0.125)]
    scores = np.zeros(len(settings))
    for train, valid in StratifiedKFold(case["folds"], shuffle=True, random_state=case["split"]).split(X, y):
        for i, setting in enumerate(settings):
            model = _model(case["method"], 50, setting, seed).fit(X[train], y[train])
            scores[i] += np.mean(model.predict(X[valid]) == y[valid])
    best = settings[int(np.argmax(scores))]
    if case["method"] == "PBRFF":
        models = [_model("PBRFF", count, best, seed).fit(X, y) for count in COUNTS]
        accuracies = [100 * float(np.mean(model.predict(X_test) == y_test)) for model in models]
    else:
        stages = list(_model(case["method"], 50, best, seed).fit(X, y).staged_predict(X_test))
        accuracies = [100 * float(np.mean(stages[count - 1] == y_test)) for count in COUNTS]
    return {"accuracies": accuracies, "setting": best}


def _model(method, count, setting, seed):
    if method == "PBRFF":
        return RandomLandmarks(n_landmarks=count, n_frequencies=10, **setting, random_state=seed)
    if method == "GBRFF1":
        return GBRFF1Classifier(T=count, K=10, **setting, random_state=seed)
    return GBRFF2Classifier(T=count, **setting, random_state=seed)


def curves(results: list[Any]) -> dict[str, np.ndarray]:
    """Mean accuracy over tables and splits at each number of landmarks, for each method."""
    return {
        method: np.mean([result["accuracies"] for case, result in results if case["method"] == method], axis=0)
        for method in METHODS
        if any(case["method"] == method for case, _ in results)
    }


def verdict(results: list[Any]) -> tuple[str, str]:
    """Compares the means over up to 25 landmarks."""
    if len({case["dataset"] for case, _ in results}) < len(SMALL):
        return "cannot tell", "fewer than twelve tables were run"
    few = [i for i, count in enumerate(COUNTS) if count <= 25]
    means = {method: float(curve[few].mean()) for method, curve in curves(results).items()}
    why = ", ".join(f"{method} {mean:.1f}" for method, mean in means.items()) + " (mean over 1 to 25 landmarks)"
    holds = means["GBRFF2"] > means["GBRFF1"] > means["PBRFF"]
    return ("holds" if holds else "does not hold"), why


def figure(results: list[Any]) -> Any:
    """Accuracy against landmarks."""
    import matplotlib.pyplot as plt

    chart, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for (method, curve), marker in zip(curves(results).items(), "so^"):
        ax.plot(COUNTS, curve, marker=marker, markersize=4, label=method)
    n_tables = len({case["dataset"] for case, _ in results})
    ax.set(xlabel="number of landmarks", ylabel="mean test accuracy (%)", title=f"Mean over {n_tables} tables")
    ax.legend()
    ax.grid(alpha=0.3)
    return chart
