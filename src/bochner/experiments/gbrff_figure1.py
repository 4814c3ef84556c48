"""One landmark a round on the two moons: the periodic loss over landmarks, and the boundary (Gautheron et al. 2020, Figure 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from ..boosting import GBRFF1Classifier
from ..priors import Gaussian

PAPER = "Gautheron et al. 2020, Figure 1"
CLAIM = "GBRFF1 with one frequency a round separates the two moons completely after 10 rounds."
DEVIATIONS = (
    "The landmark is found by L-BFGS in the plane, where the paper fixes one coordinate and searches along the other; "
    "frequencies come from NumPy's Generator, so the panels show other waves than the paper's. Ten seeds instead of one."
)


def cases(scale: str) -> list[dict[str, Any]]:
    """One case a seed; every case has 10 rounds."""
    return [{"seed": seed} for seed in range({"smoke": 1, "quick": 10, "paper": 10}[scale])]


def moons() -> tuple[np.ndarray, np.ndarray]:
    """100 points without shuffling, centred and stretched, as in the authors' script."""
    X, y = make_moons(100, noise=0.05, shuffle=False, random_state=55)
    return 2 * (X - X.mean(axis=0)), np.where(y == 1, 1, -1)


def run(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Accuracy and loss after each round, and what the panels need."""
    X, y = moons()
    model = GBRFF1Classifier(10, 1, Gaussian(1 / X.shape[1]), random_state=case["seed"]).fit(X, y)
    return {
        "accuracies": [float(np.mean(stage == y)) for stage in model.staged_predict(X)],
        "losses": model.train_loss_[:, 0].tolist(),
        "frequencies": model.expansion_.frequencies.tolist(),
        "landmarks": model.landmarks_.tolist(),
    }


def verdict(results: list[Any]) -> tuple[str, str]:
    """Holds when the median of at least ten seeds reaches 100 % after ten rounds."""
    if len(results) < 10:
        return "cannot tell", f"{len(results)} seeds were run; it takes ten."
    final = [100 * result["accuracies"][-1] for _, result in results]
    first = [100 * result["accuracies"][0] for _, result in results]
    why = f"after 1 round {np.median(first):.0f} %, after 10 rounds {np.median(final):.0f} % (median of {len(final)} seeds, worst {min(final):.0f} %)"
    return ("holds" if np.median(final) == 100 else "does not hold"), why


def figure(results: list[Any]) -> Any:
    """Top: the loss of a landmark at each point before rounds 1, 5 and 10. Bottom: the boundary after them."""
    import matplotlib.pyplot as plt

    from ..plots.boosting import plot_boundary, plot_landmark_loss

    case, _ = results[0]
    X, y = moons()
    whole = GBRFF1Classifier(10, 1, Gaussian(1 / X.shape[1]), random_state=case["seed"]).fit(X, y)
    before = [np.full(len(y), whole.expansion_.intercept[0]), *whole.staged_decision_function(X)]
    chart, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
    for column, t in enumerate((1, 5, 10)):
        signal = y * np.exp(-y * before[t - 1])
        landmark = whole.landmarks_[t - 1]
        plot_landmark_loss(whole.expansion_.frequencies[t - 1], X, signal, landmark, ax=axes[0, column])
        axes[0, column].set_title(f"Loss before round {t}")
        model = GBRFF1Classifier(t, 1, Gaussian(1 / X.shape[1]), random_state=case["seed"]).fit(X, y)
        plot_boundary(model, X, y, ax=axes[1, column])
        axes[1, column].set_title(f"{t} round{'s' * (t > 1)}: {100 * model.score(X, y):.0f} %")
    axes[1, 0].legend(title="class", loc="lower left", fontsize=8)
    return chart
