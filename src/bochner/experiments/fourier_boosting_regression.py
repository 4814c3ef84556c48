"""FourierBoostingRegressor beside scikit-learn's histogram trees, both with their defaults."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from ..boosting import FourierBoostingRegressor
from ..datasets import load

PAPER = "Not in the five papers: regression with boosted waves"
CLAIM = (
    "On kin40k FourierBoostingRegressor reaches at least the R² of HistGradientBoostingRegressor, both with defaults."
)
NEEDS = ["uci_kin40k", "california", "sarcos_4449"]
METHODS = ["FourierBoosting", "HistGradientBoosting"]


def cases(scale: str) -> list[dict[str, Any]]:
    """One case for each data set, split and method."""
    tables = NEEDS[:1] if scale == "smoke" else NEEDS
    n_splits = {"smoke": 1, "quick": 3, "paper": 10}[scale]
    rows = 2000 if scale == "smoke" else None
    return [
        {"dataset": table, "split": split, "method": method, "rows": rows}
        for split in range(n_splits)
        for table in tables
        for method in METHODS
    ]


def run(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """R² on a quarter of the rows; for several outputs histogram trees are fitted one by one."""
    data = load(case["dataset"])
    X, Y = np.asarray(data.data, dtype=np.float64), np.asarray(data.target, dtype=np.float64)
    X, Y = X[: case["rows"]], Y[: case["rows"]].reshape(len(X[: case["rows"]]), -1)
    X, X_test, Y, Y_test = train_test_split(X, Y, test_size=0.25, random_state=case["split"])
    begun = time.process_time()
    if case["method"] == "FourierBoosting":
        predicted = FourierBoostingRegressor(random_state=case["split"]).fit(X, Y).predict(X_test)
    else:
        trees = [HistGradientBoostingRegressor(random_state=case["split"]).fit(X, y) for y in Y.T]
        predicted = np.column_stack([model.predict(X_test) for model in trees])
    left = np.mean((Y_test - predicted) ** 2, axis=0) / np.var(Y_test, axis=0)
    return {"r2": float(1 - left.mean()), "seconds": time.process_time() - begun}


def verdict(results: list[Any]) -> tuple[str, str]:
    """Compares the means over at least three splits of kin40k, and reports the other tables."""
    found: dict[Any, list[float]] = {}
    for case, result in results:
        found.setdefault((case["dataset"], case["method"]), []).append(result["r2"])
    n_splits = min(len(found.get(("uci_kin40k", method), [])) for method in METHODS)
    if n_splits < 3:
        return "cannot tell", f"{n_splits} splits of kin40k were run; it takes three."
    tables = sorted({table for table, _ in found})
    why = "; ".join(
        f"{table}: " + ", ".join(f"{m} {np.mean(found[table, m]):.3f}" for m in METHODS) for table in tables
    )
    ours, theirs = (np.mean(found["uci_kin40k", method]) for method in METHODS)
    return ("holds" if ours >= theirs else "does not hold"), why
