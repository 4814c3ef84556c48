"""One landmark a round on the two moons: the periodic loss over landmarks, and the boundary (Gautheron et al. 2020, Figure 1)."""

import numpy as np
from sklearn.datasets import make_moons

from ..boosting import GBRFF1Classifier
from ..plots._canvas import blank
from ..plots.boosting import plot_boundary, plot_landmark_loss
from ..priors import Gaussian
from ._results import Case, Figure, Results, every, judged

PAPER = "Gautheron et al. 2020, Figure 1"
CLAIM = "GBRFF1 with one frequency a round separates the two moons completely after 10 rounds."
DEVIATIONS = (
    "The landmark is found by L-BFGS in the plane, where the paper fixes one coordinate and searches along the other; "
    "frequencies come from NumPy's Generator, so the panels show other waves than the paper's. Ten seeds instead of one."
)


def cases(scale: str) -> list[Case]:
    """One case a seed; every case has 10 rounds."""
    return every(seed=range(1 if scale == "smoke" else 10))


def fitted(n_rounds: int, seed: int) -> tuple[GBRFF1Classifier, np.ndarray, np.ndarray]:
    """The model after so many rounds, and its 100 points: not shuffled, centred and stretched, as in the authors' script."""
    X, y = make_moons(100, noise=0.05, shuffle=False, random_state=55)
    X, y = 2 * (X - X.mean(axis=0)), np.where(y == 1, 1, -1)
    return GBRFF1Classifier(n_rounds, 1, Gaussian(1 / X.shape[1]), calibrated=False, random_state=seed).fit(X, y), X, y


def run(case: Case, rng: np.random.Generator) -> Case:
    """Accuracy and loss after each round, and what the panels need."""
    model, X, y = fitted(10, case["seed"])
    return {
        "accuracies": [float(np.mean(stage == y)) for stage in model.staged_predict(X)],
        "losses": model.train_loss_[:, 0].tolist(),
        "frequencies": model.expansion_.frequencies.tolist(),
        "landmarks": model.landmarks_.tolist(),
    }


def verdict(results: Results) -> tuple[str, str]:
    """Holds when the median of at least ten seeds reaches 100 % after ten rounds."""
    if len(results) < 10:
        return "cannot tell", f"{len(results)} seeds were run; it takes ten."
    first, final = (100 * np.array([result["accuracies"][k] for _, result in results]) for k in (0, -1))
    why = f"after 1 round {np.median(first):.0f} %, after 10 rounds {np.median(final):.0f} % (median of {len(final)} seeds, worst {min(final):.0f} %)"
    return judged(np.median(final) == 100, why)


def figure(results: Results) -> Figure:
    """Top: the loss of a landmark at each point before rounds 1, 5 and 10. Bottom: the boundary after them."""
    seed = results[0][0]["seed"]
    whole, X, y = fitted(10, seed)
    before = [np.full(len(y), whole.expansion_.intercept[0]), *whole.staged_decision_function(X)]
    chart, axes = blank(2, 3, size=(12, 7))
    for (top, bottom), t in zip(axes.T, (1, 5, 10)):
        signal = y * np.exp(-y * before[t - 1])
        plot_landmark_loss(whole.expansion_.frequencies[t - 1], X, signal, whole.landmarks_[t - 1], ax=top)
        top.set_title(f"Loss before round {t}")
        model, _, _ = fitted(t, seed)
        plot_boundary(model, X, y, ax=bottom)
        bottom.set_title(f"{t} round{'s' * (t > 1)}: {100 * model.score(X, y):.0f} %")
    axes[1, 0].legend(title="class", loc="lower left", fontsize=8)
    return chart
