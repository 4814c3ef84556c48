"""Accuracy against the number of landmarks (Gautheron et al. 2020, Figure 2)."""

import itertools
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from .gbrff_table2 import LARGE, PAPER_GRIDS, SMALL, published_booster, standardized_split
from .rivals import RandomLandmarks

PAPER = "Gautheron et al. 2020, Figure 2"
CLAIM = "With at most 25 landmarks GBRFF1 beats PBRFF on average, and GBRFF2 beats both."
NEEDS = [*SMALL, *LARGE]
METHODS = ["PBRFF", "GBRFF1", "GBRFF2"]
COUNTS = [1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 40, 50]
DEVIATIONS = (
    "Each method is tuned by cross-validation at each number of landmarks, with 12 numbers between 1 and 50. Scale quick: the 12 small "
    "tables, 5 splits, 3-fold CV over gamma in {1/4, 1, 4}/d, beta in {0.01, 1, 100} (PBRFF with C = 1), lambda in {0, 1/8}. The figure "
    "of the paper names 16 tables, its script runs 15."
)
_GRIDS = {
    "PBRFF": {"gamma": [0.25, 1.0, 4.0], "beta": [0.01, 1.0, 100.0]},
    "GBRFF1": {"gamma": [0.25, 1.0, 4.0], "beta": [0.01, 1.0, 100.0]},
    "GBRFF2": {"gamma": [0.25, 1.0, 4.0], "lam": [0.0, 0.125]},
}


def cases(scale: str) -> list[dict[str, Any]]:
    """One case for each table, split and method."""
    tables = {"smoke": SMALL[:1], "quick": SMALL, "paper": [*SMALL, *LARGE]}[scale]
    n_splits = {"smoke": 1, "quick": 5, "paper": 20}[scale]
    counts = [1, 5] if scale == "smoke" else COUNTS
    grids: dict[str, Any] = (
        {method: {} for method in METHODS} if scale == "smoke" else PAPER_GRIDS if scale == "paper" else _GRIDS
    )
    return [
        {
            "dataset": table, "split": split, "method": method, "grid": grids[method],
            "folds": 5 if scale == "paper" else 3, "counts": counts,
        }
        for split in range(n_splits)
        for table in tables
        for method in METHODS
    ]  # fmt: skip


def run(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Test accuracies at each number of landmarks, each with its own best setting."""
    X, X_test, y, y_test = standardized_split(case["dataset"], case["split"])
    seed = int(rng.integers(2**31))
    grid = case["grid"]
    settings = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    scores = np.zeros((len(settings), len(case["counts"])))
    if len(settings) > 1:
        folds = StratifiedKFold(case["folds"], shuffle=True, random_state=case["split"])
        for train, valid in folds.split(X, y):
            parts = X[train], y[train], X[valid], y[valid]
            scores += [_accuracies(case, setting, seed, *parts) for setting in settings]
    best = scores.argmax(axis=0)
    tested = {k: _accuracies(case, settings[k], seed, X, y, X_test, y_test) for k in set(best.tolist())}
    return {"accuracies": [100 * float(tested[k][i]) for i, k in enumerate(best.tolist())]}


def _accuracies(case, setting, seed, X, y, X_test, y_test):
    """Accuracy at each number of landmarks: of one booster read off on the way, of PBRFF fitted again each time."""
    setting = {"gamma": 1.0} | setting
    setting = setting | {"gamma": setting["gamma"] / X.shape[1]}
    if case["method"] == "PBRFF":
        predicted = [_model("PBRFF", count, setting, seed).fit(X, y).predict(X_test) for count in case["counts"]]
    else:
        stages = list(_model(case["method"], max(case["counts"]), setting, seed).fit(X, y).staged_predict(X_test))
        predicted = [stages[count - 1] for count in case["counts"]]
    return np.mean(np.array(predicted) == y_test, axis=1)


def _model(method, count, setting, seed):
    if method == "PBRFF":
        return RandomLandmarks(n_landmarks=count, n_frequencies=10, **setting, random_state=seed)
    return published_booster(method, count, setting, seed)


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
        ax.plot(results[0][0]["counts"], curve, marker=marker, markersize=4, label=method)
    n_tables = len({case["dataset"] for case, _ in results})
    ax.set(xlabel="number of landmarks", ylabel="mean test accuracy (%)", title=f"Mean over {n_tables} tables")
    ax.legend()
    ax.grid(alpha=0.3)
    return chart
