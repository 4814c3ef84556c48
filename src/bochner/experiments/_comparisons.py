"""One learner beside others on many tables: differences in pairs, wins and losses, ranks, times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata

OURS, WITH_TREES = "front door", "front door, trees"
# Closer than this, two scores are a tie.
TIES = {"accuracy": 0.002, "r2": 0.002, "log loss": 0.002}


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


def paired(
    results: list[Any], quantity: str, rival: str, keep: Callable | None = None, ours: str = OURS
) -> dict[str, Any] | None:
    """Ours minus a rival's over the tables of both: mean, standard error, median, wins, ties, losses (of log-loss the rival's minus ours).

    >>> results = [({"table": t, "method": m}, {"r2": r}) for m, r in (("front door", 0.9), ("CatBoost", 0.8)) for t in "ab"]
    >>> paired(results, "r2", "CatBoost")["wins"]
    2
    """
    found = means_by_table(results, quantity)
    own, theirs = found.get(ours, {}), found.get(rival, {})
    names = [table for table in own if table in theirs and (keep is None or keep(table))]
    if not names:
        return None
    sign = -1 if quantity == "log loss" else 1
    gains = sign * np.array([own[table] - theirs[table] for table in names])
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


def time_ratio(
    results: list[Any], rival: str, task_quantity: str, what: str = "fit seconds", ours: str = OURS
) -> float:
    """The median over tables that have this score of our time divided by the rival's."""
    kept = [(case, result) for case, result in results if task_quantity in result]
    seconds = means_by_table(kept, what)
    own, theirs = seconds.get(ours, {}), seconds.get(rival, {})
    ratios = [own[table] / max(theirs[table], 1e-3) for table in own if table in theirs]
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


def row_of(results: list[Any], quantity: str, rival: str, keep: Callable | None = None, ours: str = OURS) -> list[Any]:
    """A comparison as a row of a table: number of tables, mean ± standard error, median, win/tie/loss, times; dashes where there is none."""
    found = paired(results, quantity, rival, keep, ours)
    if found is None:
        return [0, *["–"] * 5]
    kept = results if keep is None else [pair for pair in results if keep(pair[0]["table"])]
    times = [time_ratio(kept, rival, quantity, what, ours) for what in ("fit seconds", "predict seconds")]
    return [
        found["tables"],
        f"{found['mean']:+.4f} ± {found['standard error']:.4f}",
        f"{found['median']:+.4f}",
        f"{found['wins']}/{found['ties']}/{found['losses']}",
        *(f"{ratio:.2g}" for ratio in times),
    ]
