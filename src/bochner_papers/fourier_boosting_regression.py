"""FourierBoostingRegressor beside scikit-learn's histogram trees, both with their defaults."""

import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.multioutput import MultiOutputRegressor

from bochner.boosting import FourierBoostingRegressor
from bochner.datasets import load

from .runner.results import Case, Results, chosen, every, judged, listed_rows, table

PAPER = "Not in the four papers: regression with boosted waves"
CLAIM = "On kin40k FourierBoostingRegressor reaches at least the R² of HistGradientBoostingRegressor, both with defaults."
NEEDS = ["uci_kin40k", "california", "sarcos_4449"]
METHODS = ["FourierBoosting", "HistGradientBoosting"]


def cases(scale: str) -> list[Case]:
    """Return one case for each data set, split and method."""
    tables, rows = (NEEDS[:1], 2000) if scale == "smoke" else (NEEDS, None)
    n_splits = {"smoke": 1, "quick": 3, "paper": 10}[scale]
    return every(split=range(n_splits), dataset=tables, method=METHODS, rows=[rows])


def run(case: Case, rng: np.random.Generator) -> Case:
    """Return R² on a quarter of the rows; trees are fitted to each output separately."""
    data = load(case["dataset"])
    X, Y = (np.asarray(part, dtype=np.float64)[: case["rows"]] for part in (data.data, data.target))
    X, X_test, Y, Y_test = train_test_split(
        X, Y.reshape(len(X), -1), test_size=0.25, random_state=case["split"]
    )
    begun = time.process_time()
    if case["method"] == "FourierBoosting":
        predicted = FourierBoostingRegressor(random_state=case["split"]).fit(X, Y).predict(X_test)
    else:
        trees = MultiOutputRegressor(HistGradientBoostingRegressor(random_state=case["split"]))
        predicted = trees.fit(X, Y).predict(X_test)
    return {"r2": float(r2_score(Y_test, predicted)), "seconds": time.process_time() - begun}


def verdict(results: Results) -> tuple[str, str]:
    """Compares the means over at least three splits of kin40k, and reports the other tables."""
    n_splits = min(len(chosen(results, dataset="uci_kin40k", method=method)) for method in METHODS)
    if n_splits < 3:
        return "cannot tell", f"{n_splits} splits of kin40k were run; it takes three."
    tables = dict(sorted(table(results, "r2", "dataset", "method").items()))
    ours, theirs = tables["uci_kin40k"].values()
    return judged(ours >= theirs, listed_rows(tables, ".3f"))
