"""Smooth waves against trees on three toy sets (Gautheron et al. 2020, Figure 5)."""

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split

from .. import datasets
from ..boosting import FourierBoostingClassifier, GBRFF2Classifier
from ..priors import Gaussian

PAPER = "Gautheron et al. 2020, Figure 5"
CLAIM = (
    "With 500 training rows or fewer GBRFF2 and FourierBoostingClassifier beat LightGBM on swiss, circles and board."
)
TOYS = ["swiss", "circles", "board"]
METHODS = ["LGBM", "GBRFF2", "FourierBoosting"]
DEVIATIONS = (
    "FourierBoostingClassifier is added. Scale quick: 100, 200, 400, 700 and 1000 rows (half of them for training), 5 seeds, 3-fold "
    "CV over 3 gammas and 2 lambdas for GBRFF2, depths 2, 5, 8 for LightGBM, frequency_penalty 0.01 and 0.001 for FourierBoosting."
)
_GRIDS = {
    "quick": {
        "GBRFF2": {"gamma": [0.25, 1.0, 2.0], "lam": [0.0, 2.0**-5]},
        "LGBM": {"max_depth": [2, 5, 8]},
        "FourierBoosting": {"frequency_penalty": [0.01, 0.001]},
    },
    "paper": {
        "GBRFF2": {"gamma": [2.0**k / 2 for k in range(-2, 3)], "lam": [0.0, *(2.0**k for k in range(-5, -1))]},
        "LGBM": {"max_depth": list(range(1, 11)), "reg_lambda": [0.0, *(2.0**k for k in range(-5, -1))]},
        "FourierBoosting": {"frequency_penalty": [0.1, 0.01, 0.001]},
    },
}

# What grids and results name by the paper's symbols.
_PARAMETERS = {"gamma": "prior__gamma", "lam": "penalty", "frequency_penalty": "search__frequency_penalty"}


def cases(scale: str) -> list[dict[str, Any]]:
    """One case for each set, number of rows, seed and method."""
    sizes = {"smoke": [100], "quick": [100, 200, 400, 700, 1000], "paper": list(range(50, 2001, 50))}[scale]
    seeds = {"smoke": 1, "quick": 5, "paper": 20}[scale]
    rounds = {"smoke": 20, "quick": 1000, "paper": 1000}[scale]
    return [
        {
            "dataset": toy,
            "rows": size,
            "seed": seed,
            "method": method,
            "rounds": rounds,
            "grid": _GRIDS["paper" if scale == "paper" else "quick"][method] if scale != "smoke" else {},
            "folds": 5 if scale == "paper" else 3,
        }
        for seed in range(1, seeds + 1)
        for size in sizes
        for toy in TOYS
        for method in METHODS
    ]


def _split(case):
    data = getattr(datasets, case["dataset"])(case["rows"], case["seed"])
    return train_test_split(data.data, data.target, test_size=0.5, stratify=data.target, random_state=case["seed"])


def _tuned(case):
    X, X_test, y, y_test = _split(case)
    folds = StratifiedKFold(case["folds"], shuffle=True, random_state=case["seed"])
    grid = {_PARAMETERS.get(name, name): values for name, values in case["grid"].items()}
    search = GridSearchCV(_model(case), grid, cv=folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        search.fit(X, y)
    return search.best_estimator_, X, X_test, y, y_test


def run(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Train and test accuracy of the tuned method; half of the rows are for training, nothing is scaled."""
    model, X, X_test, y, y_test = _tuned(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return {"train": 100 * float(model.score(X, y)), "accuracy": 100 * float(model.score(X_test, y_test))}


def _model(case):
    if case["method"] == "GBRFF2":
        return GBRFF2Classifier(case["rounds"], Gaussian(0.5), random_state=0)
    if case["method"] == "FourierBoosting":
        return FourierBoostingClassifier(n_rounds=case["rounds"], random_state=0)
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=case["rounds"], num_leaves=31, n_jobs=1, verbose=-1)


def curves(results: list[Any]) -> dict[tuple[str, str], dict[int, float]]:
    """Mean test accuracy by number of training rows, for each set and method."""
    found: dict[Any, dict[int, list[float]]] = {}
    for case, result in results:
        by_size = found.setdefault((case["dataset"], case["method"]), {})
        by_size.setdefault(case["rows"] // 2, []).append(result["accuracy"])
    return {key: {size: float(np.mean(v)) for size, v in sorted(sizes.items())} for key, sizes in found.items()}


def verdict(results: list[Any]) -> tuple[str, str]:
    """Compares the means over all sizes of at most 500 training rows, of at least three sizes run."""
    found = curves(results)
    n_sizes = min(len(found.get((toy, method), ())) for toy in TOYS for method in METHODS)
    if n_sizes < 3:
        return "cannot tell", f"{n_sizes} numbers of rows were run with every method on every set; it takes three."
    means = {key: np.mean([a for size, a in curve.items() if size <= 500]) for key, curve in found.items()}
    why = "; ".join(f"{toy}: " + ", ".join(f"{m} {means[toy, m]:.1f}" for m in METHODS) for toy in TOYS)
    holds = all(means[toy, method] > means[toy, "LGBM"] for toy in TOYS for method in METHODS[1:])
    return ("holds" if holds else "does not hold"), why


def figure(results: list[Any]) -> Any:
    """Boundaries on 400 rows (or as many as were run) above, accuracy against training rows below."""
    import matplotlib.pyplot as plt

    from ..plots.boosting import plot_boundary

    found = curves(results)
    sizes = {case["rows"] for case, _ in results}
    shown = min(sizes, key=lambda size: abs(size - 400))
    chart, axes = plt.subplots(len(METHODS) + 1, 3, figsize=(11, 3.3 * (len(METHODS) + 1)), layout="constrained")
    for column, toy in enumerate(TOYS):
        for row, method in enumerate(METHODS):
            case = next(c for c, _ in results if (c["dataset"], c["method"], c["rows"]) == (toy, method, shown))
            model, X, X_test, y, y_test = _tuned(case)
            plot_boundary(model, X, y, ax=axes[row, column])
            scores = f"train {100 * model.score(X, y):.0f} %, test {100 * model.score(X_test, y_test):.0f} %"
            axes[row, column].set_title(f"{toy}, {method}\n{scores}", fontsize=10)
        last = axes[-1, column]
        for method, marker in zip(METHODS, "so^"):
            curve = found[toy, method]
            last.plot(list(curve), list(curve.values()), marker=marker, markersize=4, label=method)
        last.set(xlabel="training rows", ylabel="mean test accuracy (%)")
        last.grid(alpha=0.3)
        last.legend()
    return chart
