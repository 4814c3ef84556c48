"""Frequencies per round at equal total (Gautheron et al. 2020, Figure 3)."""

import numpy as np

from ..boosting import GBRFF1Classifier
from ..plots._canvas import blank
from ..priors import Gaussian
from ._results import Case, Figure, Results, every, judged, means
from .gbrff_protocol import LARGE, SMALL, TABLES, standardized_split

PAPER = "Gautheron et al. 2020, Figure 3"
CLAIM = "At 20 frequencies in all K = 1 beats K = 20, and at 1000 all K are within 1.5 points of each other."
NEEDS = [*SMALL, *LARGE]
COUNTS = [1, 5, 10, 20]
TOTALS = [20, 100, 200, 300, 500, 1000]
DEVIATIONS = (
    "gamma = 1/d and beta = 1 for all instead of cross-validation, so that K is all that differs. Scale quick: the 12 small "
    "tables and 10 splits. The figure of the paper names 16 tables, its script runs 15."
)


def cases(scale: str) -> list[Case]:
    """One case for each table, split and K."""
    n_splits = {"smoke": 1, "quick": 10, "paper": 20}[scale]
    largest = 100 if scale == "smoke" else 1000
    return every(split=range(n_splits), dataset=TABLES[scale], K=COUNTS, largest=[largest])


def run(case: Case, rng: np.random.Generator) -> Case:
    """Test accuracy when T·K reaches each of ``TOTALS``."""
    X, X_test, y, y_test = standardized_split(case["dataset"], case["split"])
    K, seed = case["K"], int(rng.integers(2**31))
    model = GBRFF1Classifier(
        case["largest"] // K, K, Gaussian(1 / X.shape[1]), calibrated=False, random_state=seed
    ).fit(X, y)
    correct = [100 * float(np.mean(stage == y_test)) for stage in model.staged_predict(X_test)]
    return {"accuracies": [correct[total // K - 1] for total in TOTALS if total <= case["largest"]]}


def verdict(results: Results) -> tuple[str, str]:
    """Compares the two ends of the curves."""
    if len({case["dataset"] for case, _ in results}) < len(SMALL):
        return "cannot tell", "fewer than twelve tables were run"
    found = means(results, "accuracies", "K")
    why = "; ".join(f"K={K}: {curve[0]:.1f} at 20, {curve[-1]:.1f} at 1000" for K, curve in found.items())
    ends = [curve[-1] for curve in found.values()]
    return judged(found[1][0] > found[20][0] and max(ends) - min(ends) < 1.5, why)


def figure(results: Results) -> Figure:
    """Grouped bars, as in the paper."""
    chart, ax = blank(size=(7, 4))
    found = means(results, "accuracies", "K")
    positions = np.arange(len(next(iter(found.values()))))
    for offset, (K, curve) in enumerate(found.items()):
        ax.bar(positions + 0.2 * (offset - 1.5), curve, width=0.19, label=f"K = {K}")
    low = min(curve.min() for curve in found.values())
    ax.set_xticks(positions, [str(total) for total in TOTALS[: len(positions)]])
    ax.set(ylim=(np.floor(low) - 1, None), xlabel="frequencies in all (T · K)", ylabel="mean test accuracy (%)")
    ax.legend(ncols=2)
    return chart
