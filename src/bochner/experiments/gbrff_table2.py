"""Accuracy of six methods on sixteen tables (Gautheron et al. 2020, Table 2)."""

import itertools
import time
import warnings
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from ..boosting import GBRFF1Classifier, GBRFF2Classifier
from ..datasets import load
from ..learners import PacBayes
from ..priors import Gaussian
from ._summary import published
from .rivals import BoostedKernelRegression, GreedyFourierFeatures, RandomLandmarks

PAPER = "Gautheron et al. 2020, Table 2"
CLAIM = "GBRFF2's mean accuracy over the fifteen tables reaches 88.8 and GBRFF1's 87.5, and on no table is GBRFF2 below its published mean by more than the published spread."

SMALL = [
    "wine", "sonar", "newthyroid", "heart", "bupa", "ionosphere",
    "wdbc", "balance", "australian", "pima", "vehicle", "german",
]  # fmt: skip
LARGE = ["splice", "spambase", "occupancy"]
APART = "bankmarketing"  # in the table, but not in its means and ranks
NEEDS = [*SMALL, *LARGE, APART]
METHODS = ["GBRFF2", "GBRFF1", "LGBM", "PBRFF", "GFC", "BMKR"]


def _printed() -> dict[str, Any]:
    """(mean, spread) over 20 splits as the paper prints them, for each table and method."""
    paper = published("gbrff_table2")
    assert paper is not None
    rows = {paper["aliases"].get(row, row): cells for row, cells in paper["rows"].items()}
    return {
        table: {method: cell for method, cell in zip(paper["columns"], rows[table]) if cell is not None}
        for table in NEEDS
    }


PUBLISHED = _printed()

GAMMAS = [2.0**k for k in range(-2, 3)]  # divided by the number of features
TENS = [10.0**k for k in range(-2, 3)]
PENALTIES = [0.0, *(2.0**k for k in range(-5, -1))]
PAPER_GRIDS = {
    "GBRFF1": {"gamma": GAMMAS, "beta": TENS},
    "GBRFF2": {"gamma": GAMMAS, "lam": PENALTIES},
    "LGBM": {"max_depth": list(range(1, 11)), "reg_lambda": PENALTIES},
    "PBRFF": {"gamma": GAMMAS, "beta": TENS, "C": TENS},
    "GFC": {"C": TENS},
    "BMKR": {"C": TENS},
}
QUICK_GRIDS = PAPER_GRIDS | {
    "GBRFF1": {"gamma": [0.25, 1.0, 4.0], "beta": [0.01, 1.0, 100.0]},
    "LGBM": {"max_depth": [1, 2, 3, 5, 8], "reg_lambda": [0.0, 0.25]},
    "PBRFF": {"gamma": [0.25, 1.0, 4.0], "beta": [1.0], "C": [0.1, 1.0, 10.0]},
    "GFC": {"C": [0.01, 0.1, 1.0]},
    "BMKR": {"C": [0.1, 1.0]},
}
LARGE_QUICK_GRIDS = QUICK_GRIDS | {
    "GBRFF2": {"gamma": [0.25, 1.0, 4.0], "lam": [0.0, 2.0**-5, 2.0**-3]},
    "LGBM": {"max_depth": [3, 5, 8], "reg_lambda": [0.0]},
    "PBRFF": {"gamma": [0.25, 1.0], "beta": [1.0], "C": [1.0, 10.0]},
    "BMKR": {"C": [1.0]},
}
# Five folds for the two boosters with the paper's trees beside them; three, and shorter runs, for the slow rivals.
QUICK_EFFORT = {
    "GBRFF1": {"n_folds": 3},
    "PBRFF": {"n_folds": 3},
    "GFC": {"n_folds": 3, "n_rounds": 50},
    "BMKR": {"n_folds": 3, "n_rounds": 5},
}
DEVIATIONS = (
    "Random numbers are drawn by NumPy's Generator, so no split or frequency equals the authors'. The phase of GBRFF2 is "
    "the global minimum (theirs: a bounded scalar search), the landmark gradient of GBRFF1 is the correct one. "
    "Scale quick: 10 splits on the 12 small tables, 5 on splice, spambase and occupancy, 2 on bankmarketing. GBRFF2 on the small tables: the paper's grid and 5 folds. "
    "Elsewhere fewer settings and 3 folds: GBRFF1 9 settings of 25, LGBM 10 of 50 (5 folds), PBRFF 9 of 125, GFC 3 of 5 with 50 "
    "rounds of 100, BMKR 2 of 5 with 5 rounds of 100. On the four large tables 9 settings for GBRFF1 and GBRFF2, 3 for LGBM, 4 for "
    "PBRFF, 3 for GFC with 30 rounds, BMKR 3 rounds with C = 1; on occupancy GFC and BMKR see 3000 training rows, PBRFF 6000."
)


def cases(scale: str) -> list[dict[str, Any]]:
    """One case for each table, split and method; the quick ones first."""
    if scale == "smoke":
        tiny = {"GBRFF1": {"gamma": [1.0], "beta": [1.0]}, "GBRFF2": {"gamma": [1.0], "lam": [0.0, 0.125]}}
        return [
            _case("wine", 0, "GBRFF2", tiny["GBRFF2"], n_folds=2, n_rounds=10),
            _case("wine", 0, "GBRFF1", tiny["GBRFF1"], n_folds=2, n_rounds=10),
            _case("wine", 0, "LGBM", {"max_depth": [2], "reg_lambda": [0.0]}, n_folds=2, n_rounds=10),
            _case("wine", 0, "PBRFF", {"gamma": [1.0], "beta": [1.0], "C": [1.0, 10.0]}, n_folds=2, n_rounds=10),
            _case("wine", 0, "GFC", {"C": [1.0, 10.0]}, n_folds=2, n_rounds=3),
            _case("wine", 0, "BMKR", {"C": [1.0]}, n_folds=2, n_rounds=2),
        ]
    if scale == "paper":
        return [
            _case(table, split, method, PAPER_GRIDS[method])
            for table, split, method in itertools.product(NEEDS, range(20), METHODS)
            if method in PUBLISHED[table]
        ]
    small = [
        _case(table, split, method, QUICK_GRIDS[method], **QUICK_EFFORT.get(method, {}))
        for method, split, table in itertools.product(METHODS, range(10), SMALL)
    ]
    large = [
        _case(table, split, method, LARGE_QUICK_GRIDS[method], n_folds=3, **_shortened(table, method))
        for method, split, table in itertools.product(METHODS, range(5), [*LARGE, APART])
        if method in PUBLISHED[table] and (split < 2 or table != APART)
    ]
    order = ["GBRFF2", "LGBM", "GBRFF1", "PBRFF", "GFC", "BMKR"]
    return sorted(small + large, key=lambda case: order.index(case["method"]))


def _case(table, split, method, grid, n_folds=5, n_rounds=100, max_train=None):
    return {
        "dataset": table, "split": split, "method": method, "grid": grid,
        "n_folds": n_folds, "n_rounds": n_rounds, "max_train": max_train,
    }  # fmt: skip


def _shortened(table, method):
    limit = {"GFC": 3000, "BMKR": 3000, "PBRFF": 6000}.get(method) if table == "occupancy" else None
    return {"n_rounds": {"GFC": 30, "BMKR": 3}.get(method, 100), "max_train": limit}


def run(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Tune by cross-validation on the training part, fit it whole, score the test part."""
    data = load(case["dataset"])
    X, y = np.asarray(data.data, dtype=np.float64), data.y_binary.astype(int)
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, test_size=0.3, random_state=case["split"])
    if case["max_train"] and len(y) > case["max_train"]:
        X, _, y, _ = train_test_split(X, y, stratify=y, train_size=case["max_train"], random_state=case["split"])
    seed = int(rng.integers(2**31))
    started = time.process_time()
    settings = [dict(zip(case["grid"], values)) for values in itertools.product(*case["grid"].values())]
    accuracies = np.zeros(len(settings))
    folds = StratifiedKFold(case["n_folds"], shuffle=True, random_state=case["split"])
    if len(settings) > 1:
        for train, valid in folds.split(X, y):
            accuracies += _accuracies(case, settings, X[train], y[train], X[valid], y[valid], seed)
    best = settings[int(np.argmax(accuracies))]
    accuracy = _accuracies(case, [best], X, y, X_test, y_test, seed)[0]
    return {
        "accuracy": 100 * float(accuracy),
        "validation": 100 * float(accuracies.max() / case["n_folds"]),
        "setting": best,
        "seconds": time.process_time() - started,
    }


def standardized_split(table: str, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, X_test, y, y_test of a stratified 70/30 split, labels ±1, columns standardised on the training part."""
    data = load(table)
    X, y = np.asarray(data.data, dtype=np.float64), data.y_binary.astype(int)
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, test_size=0.3, random_state=split)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), scaler.transform(X_test), y, y_test


def _accuracies(case, settings, X, y, X_test, y_test, seed):
    """Accuracy of each setting; what does not depend on C (the greedy features, the landmark map) is computed once."""
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    shared: dict[Any, Any] = {}
    scores = []
    for setting in settings:
        model = _model(case, setting, X.shape[1], seed)
        if case["method"] in ("GFC", "PBRFF"):
            key = tuple(value for name, value in setting.items() if name != "C")
            if key not in shared:
                shared[key] = model.construct(X, y) if case["method"] == "GFC" else model.represent(X, y)
            model = shared[key].set_params(C=setting["C"]).fit_machine(X, y)
        else:
            model.fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # LightGBM names the columns it was given as an array
            scores.append(np.mean(model.predict(X_test) == y_test))
    return np.array(scores)


def published_booster(method: str, n_rounds: int, setting: dict[str, float], seed: int) -> Any:
    """GBRFF1 (K = 10) or GBRFF2 from the paper's symbols: gamma, beta and lam, its λ."""
    prior = Gaussian(setting["gamma"])
    if method == "GBRFF1":
        return GBRFF1Classifier(n_rounds, 10, prior, PacBayes(setting.get("beta", 1.0)), random_state=seed)
    return GBRFF2Classifier(n_rounds, prior, setting.get("lam", 0.0), random_state=seed)


def _model(case, setting, n_features, seed):
    method, n_rounds = case["method"], case["n_rounds"]
    setting = dict(setting)
    if "gamma" in setting:
        setting["gamma"] /= n_features
    if method in ("GBRFF1", "GBRFF2"):
        return published_booster(method, n_rounds, setting, seed)
    if method == "PBRFF":
        return RandomLandmarks(n_landmarks=n_rounds, n_frequencies=10, **setting, random_state=seed)
    if method == "GFC":
        return GreedyFourierFeatures(n_rounds=n_rounds, **setting, random_state=seed)
    if method == "BMKR":
        return BoostedKernelRegression(n_rounds=n_rounds, **setting)
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=n_rounds, num_leaves=2 ** setting["max_depth"], n_jobs=1, random_state=1, verbose=-1, **setting
    )


def summary(results: list[Any]) -> dict[str, Any]:
    """Mean accuracy of each method on each table, and over the fifteen tables where it has all of them; average ranks."""
    by_cell: dict[Any, list[float]] = {}
    for case, result in results:
        by_cell.setdefault((case["dataset"], case["method"]), []).append(result["accuracy"])
    cells = {key: float(np.mean(values)) for key, values in by_cell.items()}
    fifteen = [*SMALL, *LARGE]
    means = {
        method: float(np.mean([cells[table, method] for table in fifteen]))
        for method in METHODS
        if all((table, method) in cells for table in fifteen)
    }
    compared = list(means)
    ranks: dict[str, float] = {}
    if compared:
        table_ranks = [rankdata([-round(cells[table, method], 1) for method in compared]) for table in fifteen]
        ranks = dict(zip(compared, np.mean(table_ranks, axis=0).tolist()))
    splits = {key: len(values) for key, values in by_cell.items()}
    return {"cells": cells, "splits": splits, "means": means, "ranks": ranks}


def verdict(results: list[Any]) -> tuple[str, str]:
    """Holds when both means are reached and GBRFF2 is on no table below its published mean by more than the published spread."""
    found = summary(results)
    if not {"GBRFF1", "GBRFF2"} <= set(found["means"]):
        return "cannot tell", "not all fifteen tables were run"
    one, two = found["means"]["GBRFF1"], found["means"]["GBRFF2"]
    off = [
        f"{table} {method} {found['cells'][table, method]:.1f} (published {mean} ± {spread})"
        for table in PUBLISHED
        for method, (mean, spread) in PUBLISHED[table].items()
        if method == "GBRFF2" and (table, method) in found["cells"]
        # rounded as printed; below the published mean only: a better figure is no failure
        if found["cells"][table, method] < mean - spread - 0.05
    ]
    ranks = ", ".join(
        f"{method} {rank:.2f}" for method, rank in sorted(found["ranks"].items(), key=lambda item: item[1])
    )
    why = f"means GBRFF2 {two:.2f} (88.8), GBRFF1 {one:.2f} (87.5); average ranks {ranks}"
    if off:
        why += "; below the published spread: " + ", ".join(off)
    return ("holds" if two >= 88.8 and one >= 87.5 and not off else "does not hold"), why
