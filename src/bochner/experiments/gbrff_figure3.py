"""Frequencies per round at equal total (Gautheron et al. 2020, Figure 3)."""

from typing import Any

import numpy as np

from ..boosting import GBRFF1Classifier
from ..priors import Gaussian
from .gbrff_table2 import LARGE, SMALL, standardized_split

PAPER = "Gautheron et al. 2020, Figure 3"
CLAIM = "At 20 frequencies in all K = 1 beats K = 20, and at 1000 all K are within 1.5 points of each other."
NEEDS = [*SMALL, *LARGE]
COUNTS = [1, 5, 10, 20]
TOTALS = [20, 100, 200, 300, 500, 1000]
DEVIATIONS = (
    "gamma = 1/d and beta = 1 for all instead of cross-validation, so that K is all that differs. Scale quick: the 12 small "
    "tables and 10 splits. The figure of the paper names 16 tables, its script runs 15."
)


def cases(scale: str) -> list[dict[str, Any]]:
    """One case for each table, split and K."""
    tables = {"smoke": SMALL[:1], "quick": SMALL, "paper": [*SMALL, *LARGE]}[scale]
    n_splits = {"smoke": 1, "quick": 10, "paper": 20}[scale]
    return [
        {"dataset": table, "split": split, "K": K, "largest": 100 if scale == "smoke" else 1000}
        for split in range(n_splits)
        for table in tables
        for K in COUNTS
    ]


def run(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Test accuracy when T·K reaches each of ``TOTALS``."""
    X, X_test, y, y_test = standardized_split(case["dataset"], case["split"])
    seed = int(rng.integers(2**31))
    n_rounds = case["largest"] // case["K"]
    model = GBRFF1Classifier(n_rounds, case["K"], Gaussian(1 / X.shape[1]), random_state=seed).fit(X, y)
    stages = list(model.staged_predict(X_test))
    totals = [total for total in TOTALS if total <= case["largest"]]
    return {"accuracies": [100 * float(np.mean(stages[total // case["K"] - 1] == y_test)) for total in totals]}


def curves(results: list[Any]) -> dict[int, np.ndarray]:
    """Mean accuracy at each total, for each K."""
    return {
        K: np.mean([result["accuracies"] for case, result in results if case["K"] == K], axis=0)
        for K in COUNTS
        if any(case["K"] == K for case, _ in results)
    }


def verdict(results: list[Any]) -> tuple[str, str]:
    """Compares the two ends of the curves."""
    if len({case["dataset"] for case, _ in results}) < len(SMALL):
        return "cannot tell", "fewer than twelve tables were run"
    found = curves(results)
    why = "; ".join(f"K={K}: {curve[0]:.1f} at 20, {curve[-1]:.1f} at 1000" for K, curve in found.items())
    ends = [curve[-1] for curve in found.values()]
    holds = found[1][0] > found[20][0] and max(ends) - min(ends) < 1.5
    return ("holds" if holds else "does not hold"), why


def figure(results: list[Any]) -> Any:
    """Grouped bars, as in the paper."""
    import matplotlib.pyplot as plt

    chart, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    found = curves(results)
    positions = np.arange(len(next(iter(found.values()))))
    for offset, (K, curve) in enumerate(found.items()):
        ax.bar(positions + 0.2 * (offset - 1.5), curve, width=0.19, label=f"K = {K}")
    low = min(curve.min() for curve in found.values())
    ax.set_xticks(positions, [str(total) for total in TOTALS[: len(positions)]])
    ax.set(ylim=(np.floor(low) - 1, None), xlabel="frequencies in all (T · K)", ylabel="mean test accuracy (%)")
    ax.legend(ncols=2)
    return chart
