"""Smooth waves against trees on three toy sets (Gautheron et al. 2020, Figure 5)."""

import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split

from .. import datasets
from ..plots._canvas import blank, draw_curves
from ..plots.boosting import plot_boundary
from ._results import Case, Figure, Results, chosen, curve, every, judged, listed_rows
from .gbrff_protocol import PENALTIES, named_model

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
_GRIDS: dict[str, Case] = {
    "smoke": {method: {} for method in METHODS},
    "quick": {
        "GBRFF2": {"gamma": [0.25, 1.0, 2.0], "lam": [0.0, 2.0**-5]},
        "LGBM": {"max_depth": [2, 5, 8]},
        "FourierBoosting": {"frequency_penalty": [0.01, 0.001]},
    },
    "paper": {
        "GBRFF2": {"gamma": [2.0**k / 2 for k in range(-2, 3)], "lam": PENALTIES},
        "LGBM": {"max_depth": list(range(1, 11)), "reg_lambda": PENALTIES},
        "FourierBoosting": {"frequency_penalty": [0.1, 0.01, 0.001]},
    },
}
_STARTS: dict[str, Case] = {"LGBM": {"num_leaves": 31}, "GBRFF2": {"gamma": 0.5}, "FourierBoosting": {}}

# What grids and results name by the paper's symbols.
_PARAMETERS = {"gamma": "prior__gamma", "lam": "penalty", "frequency_penalty": "search__frequency_penalty"}


def cases(scale: str) -> list[Case]:
    """One case for each set, number of rows, seed and method."""
    sizes = {"smoke": [100], "quick": [100, 200, 400, 700, 1000], "paper": list(range(50, 2001, 50))}[scale]
    seeds = {"smoke": 1, "quick": 5, "paper": 20}[scale]
    fixed = {"rounds": 20 if scale == "smoke" else 1000, "folds": 5 if scale == "paper" else 3}
    combinations = every(seed=range(1, seeds + 1), rows=sizes, dataset=TOYS, method=METHODS)
    return [case | {"grid": _GRIDS[scale][case["method"]]} | fixed for case in combinations]


def _tuned(case):
    """The tuned model, the rows for training and for testing, and the accuracies on both in percent."""
    data = getattr(datasets, case["dataset"])(case["rows"], case["seed"])
    X, X_test, y, y_test = train_test_split(
        data.data, data.target, test_size=0.5, stratify=data.target, random_state=case["seed"]
    )
    folds = StratifiedKFold(case["folds"], shuffle=True, random_state=case["seed"])
    grid = {_PARAMETERS.get(name, name): values for name, values in case["grid"].items()}
    method = case["method"]
    search = GridSearchCV(named_model(method, case["rounds"], **_STARTS[method]), grid, cv=folds)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        model = search.fit(X, y).best_estimator_
        scores = [100 * float(model.score(*part)) for part in ((X, y), (X_test, y_test))]
    return model, X, y, scores


def run(case: Case, rng: np.random.Generator) -> Case:
    """Train and test accuracy of the tuned method; half of the rows are for training, nothing is scaled."""
    return dict(zip(("train", "accuracy"), _tuned(case)[-1]))


def _curves(results, toy):
    """Numbers of training rows and mean test accuracies at them, for each method."""
    found = {method: curve(results, "accuracy", "rows", dataset=toy, method=method) for method in METHODS}
    return {method: (rows // 2, accuracies) for method, (rows, accuracies) in found.items()}


def verdict(results: Results) -> tuple[str, str]:
    """Compares the means over all sizes of at most 500 training rows, of at least three sizes run."""
    found = {toy: _curves(results, toy) for toy in TOYS}
    n_sizes = min(len(rows) for curves in found.values() for rows, _ in curves.values())
    if n_sizes < 3:
        return "cannot tell", f"{n_sizes} numbers of rows were run with every method on every set; it takes three."
    means = {toy: {m: np.mean(a[rows <= 500]) for m, (rows, a) in curves.items()} for toy, curves in found.items()}
    holds = all(min(of["GBRFF2"], of["FourierBoosting"]) > of["LGBM"] for of in means.values())
    return judged(holds, listed_rows(means))


def figure(results: Results) -> Figure:
    """Boundaries on 400 rows (or as many as were run) above, accuracy against training rows below."""
    shown = min({case["rows"] for case, _ in results}, key=lambda size: abs(size - 400))
    n_rows = len(METHODS) + 1
    chart, axes = blank(n_rows, 3, size=(11, 3.3 * n_rows))
    for column, toy in zip(axes.T, TOYS):
        for axis, method in zip(column, METHODS):
            case, _ = chosen(results, dataset=toy, method=method, rows=shown)[0]
            model, X, y, (train, test) = _tuned(case)
            plot_boundary(model, X, y, ax=axis)
            axis.set_title(f"{toy}, {method}\ntrain {train:.0f} %, test {test:.0f} %", fontsize=10)
        labels = {"xlabel": "training rows", "ylabel": "mean test accuracy (%)"}
        draw_curves(column[-1], _curves(results, toy), "so^", **labels)
    return chart
