"""The front door beside other tabular learners, one untuned configuration each, on a folder of tables."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import accuracy_score, log_loss, r2_score

from ._tables import load_table, n_splits, split_rows, tables
from ._untuned import build, installed

PAPER = "Not in the five papers: tables"
CLAIM = "On real tables the front door, untuned, is on average at least as accurate as CatBoost's defaults."
DEVIATIONS = (
    "Tables are those of the folder BOCHNER_TABLES; without it four small ones of scikit-learn, which decide nothing. Learners that are not "
    "installed are left out. The RBF-SVM is tuned over nine settings by three folds, all others have one configuration.",
)
OURS, MARK = "front door", "CatBoost"
# Closer than this, two scores are a tie.
TIES = {"accuracy": 0.002, "r2": 0.002, "log loss": 0.002}
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


def means_by_table(results: list[Any], quantity: str) -> dict[str, dict[str, float]]:
    """{method: {table: mean over splits}} of a quantity."""
    found: dict[str, dict[str, list[float]]] = {}
    for case, result in results:
        if quantity in result:
            found.setdefault(case["method"], {}).setdefault(case["table"], []).append(result[quantity])
    return {
        method: {table: float(np.mean(values)) for table, values in by_table.items()}
        for method, by_table in found.items()
    }


def paired(results: list[Any], quantity: str, rival: str, keep: Callable | None = None) -> dict[str, float] | None:
    """Ours minus a rival's over the tables of both: mean, standard error, median, wins, ties, losses (of log-loss the rival's minus ours).

    >>> results = [({"table": t, "method": m}, {"r2": r}) for m, r in (("front door", 0.9), ("CatBoost", 0.8)) for t in "ab"]
    >>> paired(results, "r2", "CatBoost")["wins"]
    2
    """
    found = means_by_table(results, quantity)
    ours, theirs = found.get(OURS, {}), found.get(rival, {})
    names = [table for table in ours if table in theirs and (keep is None or keep(table))]
    if not names:
        return None
    sign = -1 if quantity == "log loss" else 1
    gains = sign * np.array([ours[table] - theirs[table] for table in names])
    tie = TIES[quantity]
    return {
        "tables": len(names),
        "mean": float(gains.mean()),
        "standard error": float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else float("nan"),
        "median": float(np.median(gains)),
        "wins": int(np.sum(gains > tie)),
        "ties": int(np.sum(np.abs(gains) <= tie)),
        "losses": int(np.sum(gains < -tie)),
    }


def time_ratio(results: list[Any], rival: str, task_quantity: str, what: str = "fit seconds") -> float:
    """Our median time over the rival's, table by table, on tables that have this score."""
    kept = [(case, result) for case, result in results if task_quantity in result]
    seconds = means_by_table(kept, what)
    ours, theirs = seconds.get(OURS, {}), seconds.get(rival, {})
    ratios = [ours[table] / max(theirs[table], 1e-3) for table in ours if table in theirs]
    return float(np.median(ratios)) if ratios else float("nan")


def mean_ranks(results: list[Any], quantity: str) -> dict[str, float]:
    """The mean rank of each learner over the tables that all of them have, 1 the best."""
    found = means_by_table(results, quantity)
    names = sorted(set.intersection(*(set(by_table) for by_table in found.values()))) if found else []
    if not names:
        return {}
    sign = 1 if quantity == "log loss" else -1
    ranks = [rankdata([sign * found[method][table] for method in found]) for table in names]
    return {method: float(rank) for method, rank in zip(found, np.mean(ranks, axis=0))}


def verdict(results: list[Any]) -> tuple[str, str]:
    """Holds when against CatBoost the mean differences of accuracy and R² are not negative and wins are not fewer than losses."""
    rivals = [m for m in dict.fromkeys(case["method"] for case, _ in results) if m != OURS]
    told, holds, enough = [], True, True
    for quantity in ("accuracy", "r2"):
        for rival in rivals:
            found = paired(results, quantity, rival)
            if found is None:
                continue
            told.append(
                f"{quantity} − {rival}: {found['mean']:+.4f} ± {found['standard error']:.4f} (median {found['median']:+.4f}), "
                f"{found['wins']}/{found['ties']}/{found['losses']} of {found['tables']}, fit time x{time_ratio(results, rival, quantity):.2g}"
            )
            if quantity == "accuracy" and (losses := paired(results, "log loss", rival)):
                told.append(
                    f"log-loss gain on {rival}: {losses['mean']:+.4f}, {losses['wins']}/{losses['ties']}/{losses['losses']}"
                )
        against = paired(results, quantity, MARK)
        enough &= against is not None and against["tables"] >= _FEWEST_TABLES
        holds &= against is not None and against["mean"] >= 0 and against["wins"] >= against["losses"]
        ranks = sorted(mean_ranks(results, quantity).items(), key=lambda item: item[1])
        if ranks:
            told.append(f"mean ranks in {quantity}: " + ", ".join(f"{method} {rank:.1f}" for method, rank in ranks))
    why = "; ".join(told) or "nothing to compare"
    if not enough:
        return "cannot tell", f"it takes {_FEWEST_TABLES} tables of each task and CatBoost; {why}"
    return ("holds" if holds else "does not hold"), why


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
        ax.grid(axis="x", alpha=0.3)
    return chart
