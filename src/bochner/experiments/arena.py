"""The front door beside other tabular learners, one untuned configuration each, on a folder of tables."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, log_loss, r2_score

from ..untuned import build, installed
from ._comparisons import OURS, WITH_TREES, mean_ranks, means_by_table, paired, row_of
from ._tables import load_table, n_splits, split_rows, tables

PAPER = "Not in the four papers: tables"
CLAIM = "On real tables the front door, untuned, is on average at least as accurate as CatBoost's defaults."
DEVIATIONS = (
    "Tables are those of the folder BOCHNER_TABLES; without it four small ones of scikit-learn, which decide nothing. Learners that are not "
    "installed are left out. The RBF-SVM is tuned over nine settings by three folds, all others have one configuration.",
)
MARK = "CatBoost"
_FEWEST_TABLES = 10
# Learners that take minutes for a few thousand rows on one core.
SLOW, _FEW_ROWS = ("tuned RBF-SVM", "xRFM", "RealMLP"), 3000


def cases(scale: str) -> list[dict[str, Any]]:
    """One case for each table, split and installed learner; quick: one split, slow learners on tables below 3000 rows only."""
    known = sorted(tables().values(), key=lambda entry: entry["n"])
    methods = installed()
    if scale == "smoke":
        first = {entry["task"]: entry["name"] for entry in reversed(known)}
        return [
            {"table": name, "split": 0, "method": method}
            for name in first.values()
            for method in methods
            if method in (OURS, "HistGradientBoosting", MARK)
        ]
    whole = scale == "paper"
    return [
        {"table": entry["name"], "split": split, "method": method}
        for method in methods
        for entry in known
        for split in range(n_splits(entry["name"]) if whole else 1)
        if whole or method not in SLOW or entry["n"] < _FEW_ROWS
    ]


def run(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Scores on a quarter of the rows, and CPU seconds."""
    frame, y, task = load_table(case["table"])
    train, test = split_rows(y, task, case["split"])
    labels = task == "classification"
    model = build(case["method"], frame, labels, case["split"])
    begun = time.process_time()
    model.fit(frame.iloc[train], y[train])
    fitted = time.process_time()
    if labels:
        classes = np.unique(y[train])
        probabilities = np.asarray(model.predict_proba(frame.iloc[test]), dtype=np.float64)
        probabilities = np.maximum(probabilities, 1e-9)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        known = np.isin(y[test], classes)
        scores = {
            "accuracy": accuracy_score(y[test], classes[probabilities.argmax(axis=1)]),
            "log loss": log_loss(y[test][known], probabilities[known], labels=classes),
        }
    else:
        scores = {"r2": r2_score(y[test], np.ravel(model.predict(frame.iloc[test])))}
    return {
        **{name: float(score) for name, score in scores.items()},
        "fit seconds": fitted - begun,
        "predict seconds": time.process_time() - fitted,
        "rows": len(train),
        "share of categories": float(np.mean([str(dtype) == "category" for dtype in frame.dtypes])),
    }


def verdict(results: list[Any]) -> tuple[str, str]:
    """Holds when against CatBoost the mean differences of accuracy and R² are not negative and wins are not fewer than losses."""
    told, holds, enough = [], True, True
    for quantity in ("accuracy", "r2"):
        against = paired(results, quantity, MARK)
        enough &= against is not None and against["tables"] >= _FEWEST_TABLES
        holds &= against is not None and against["mean"] >= 0 and against["wins"] >= against["losses"]
        if against is not None:
            n_tables, mean, median, counts, fit, _ = row_of(results, quantity, MARK)
            told.append(f"{quantity} − {MARK} {mean} (median {median}), {counts} of {n_tables}, fit time x{fit}")
        ranks = sorted(mean_ranks(results, quantity).items(), key=lambda item: item[1])
        if ranks:
            told.append(f"mean ranks in {quantity}: " + ", ".join(f"{method} {rank:.1f}" for method, rank in ranks))
    why = "; ".join(told) or "nothing to compare"
    if not enough:
        return "cannot tell", f"it takes {_FEWEST_TABLES} tables of each task and CatBoost; {why}"
    return ("holds" if holds else "does not hold"), why


def tables_shown(results: list[Any]) -> list[dict[str, Any]]:
    """Comparisons with every learner, and with CatBoost by size and by share of categories; of log-loss + is better too."""
    columns = ["tables", "mean ± standard error", "median", "win/tie/loss", "fit time", "predict time"]
    learners = list(dict.fromkeys(case["method"] for case, _ in results))
    facts = {case["table"]: result for case, result in results}
    parts = {
        "below 1000 rows": lambda table: facts[table]["rows"] < 1000,
        "1000 to 4000 rows": lambda table: 1000 <= facts[table]["rows"] <= 4000,
        "above 4000 rows": lambda table: facts[table]["rows"] > 4000,
        "no categories": lambda table: facts[table]["share of categories"] == 0,
        "some categories": lambda table: 0 < facts[table]["share of categories"] <= 0.5,
        "mostly categories": lambda table: facts[table]["share of categories"] > 0.5,
    }
    shown = []
    for ours in (OURS, WITH_TREES):
        rows = [
            [f"{quantity} − {rival}", *row_of(results, quantity, rival, ours=ours)]
            for quantity in ("accuracy", "log loss", "r2")
            for rival in learners
            if rival != ours and ours in learners
        ]
        shown.append({"caption": f"{ours} beside each learner", "columns": ["difference", *columns], "rows": rows})
    rows = [
        [f"{quantity}, {name}", *row_of(results, quantity, MARK, keep)]
        for quantity in ("accuracy", "log loss", "r2")
        for name, keep in parts.items()
    ]
    shown.append({"caption": f"{OURS} − {MARK}, by kind of table", "columns": ["difference", *columns], "rows": rows})
    return [table for table in shown if table["rows"]]


def figure(results: list[Any]) -> Any:
    """The front door minus each rival, table by table: accuracy on the left, R² (not below −0.3) on the right; dots are tables, bars means."""
    import matplotlib.pyplot as plt

    rivals = [m for m in dict.fromkeys(case["method"] for case, _ in results) if m != OURS]
    chart, axes = plt.subplots(1, 2, figsize=(10, 0.45 * len(rivals) + 1.6), layout="constrained", sharey=True)
    for ax, quantity in zip(axes, ("accuracy", "r2")):
        found = means_by_table(results, quantity)
        for place, rival in enumerate(rivals):
            ours, theirs = found.get(OURS, {}), found.get(rival, {})
            gains = np.array([np.clip(ours[t] - theirs[t], -0.3, 0.3) for t in ours if t in theirs])
            if len(gains):
                ax.plot(gains, np.full(len(gains), place), "o", markersize=4, alpha=0.5, color="tab:blue")
                ax.plot([gains.mean()] * 2, [place - 0.35, place + 0.35], color="tab:red", linewidth=2)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set(xlabel=f"{quantity}: front door − rival", yticks=range(len(rivals)), yticklabels=rivals)
        ax.locator_params(axis="x", nbins=5)
        ax.grid(axis="x", alpha=0.3)
    return chart
