"""One landmark per round on two moons: loss and boundary (Gautheron et al. 2020, Figure 1)."""

from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from bochner.boosting import GBRFF1Classifier
from bochner.expansions.waves import Expansion
from bochner.plots._canvas import BLUE, ORANGE, blank, class_colors, plane_grid
from bochner.priors import Gaussian

from .runner.results import Case, Figure, Results, every, judged

PAPER = "Gautheron et al. 2020, Figure 1"
CLAIM = "GBRFF1 with one frequency a round separates the two moons completely after 10 rounds."
DEVIATIONS = (
    "The landmark is found by L-BFGS in the plane, where the paper fixes one coordinate and "
    "searches along the other; "
    "frequencies come from NumPy's Generator, so the panels show other waves than the paper's. Ten "
    "seeds instead of one: they "
    "are better than most. Over the seeds 0 to 199 the median after 10 rounds is 97 %, with "
    "`landmark=0`, the paper's search, "
    "as without it; a quarter of them reach 100 %."
)


def cases(scale: str) -> list[Case]:
    """Return one case per seed; every case has 10 rounds."""
    return every(seed=range(1 if scale == "smoke" else 10))


def moons() -> tuple[np.ndarray, np.ndarray]:
    """Return 100 points and labels ±1, unshuffled and standardized as in the authors' script."""
    X, y = make_moons(100, noise=0.05, shuffle=False, random_state=55)
    return 2 * (X - X.mean(axis=0)), np.where(y == 1, 1, -1)


def run(case: Case, rng: np.random.Generator) -> Case:
    """Return accuracy and loss after each round, and the fitted function for the figure."""
    X, y = moons()
    prior = Gaussian(1 / X.shape[1])
    model = GBRFF1Classifier(
        n_rounds=10, n_components=1, prior=prior, calibrated=False, random_state=case["seed"]
    ).fit(X, y)
    parts = {
        name: getattr(model.expansion_, name).tolist()
        for name in ("frequencies", "cosine", "sine", "intercept")
    }
    return {
        "accuracies": [float(np.mean(stage == y)) for stage in model.staged_predict(X)],
        "losses": model.train_loss_[:, 0].tolist(),
        "landmarks": model.landmarks_.tolist(),
        "expansion": parts,
    }


def verdict(results: Results) -> tuple[str, str]:
    """ "Such a strategy allows us to get an accuracy of 100% on this toy dataset after 10
    iterations". Holds when the median of at least ten seeds reaches 100 % after ten rounds, does
    not hold when it stays below 99 %; between them cannot tell.
    """
    if len(results) < 10:
        return "cannot tell", f"{len(results)} seeds were run; it takes ten."
    first, final = (
        100 * np.array([result["accuracies"][k] for _, result in results]) for k in (0, -1)
    )
    why = f"after 1 round {np.median(first):.0f} %, after 10 rounds {np.median(final):.0f} % (median of {len(final)} seeds, worst {min(final):.0f} %)"
    if 99 <= np.median(final) < 100:
        return "cannot tell", why
    return judged(np.median(final) == 100, why)


class _Rounds:
    """First rounds of a stored function, as a model that can be drawn."""

    def __init__(self, stored, n_rounds):
        whole = Expansion(
            *(np.array(stored[name]) for name in ("frequencies", "cosine", "sine", "intercept"))
        )
        self.expansion, self.classes_ = whole.take(slice(n_rounds)), np.array([-1, 1])

    def decision_function(self, X):
        """Return the sum of these rounds."""
        return self.expansion.evaluate(np.asarray(X, dtype=np.float64))[:, 0]


def figure(results: Results) -> Figure:
    """Top: the loss of a landmark at each point before rounds 1, 5 and 10. Bottom: the boundary
    after them.
    """
    X, y = moons()
    result = results[0][1]
    chart, axes = blank(2, 3, size=(12, 7))
    for (top, bottom), t in zip(axes.T, (1, 5, 10)):
        before, after = (_Rounds(result["expansion"], n_rounds) for n_rounds in (t - 1, t))
        signal = y * np.exp(-y * before.decision_function(X))
        frequencies, landmark = (
            after.expansion.frequencies[t - 1],
            np.array(result["landmarks"][t - 1]),
        )
        plot_landmark_loss(top, frequencies, X, signal, landmark)
        top.set_title(f"Loss before round {t}")
        plot_boundary(bottom, after, X, y)
        bottom.set_title(f"{t} round{'s' * (t > 1)}: {100 * result['accuracies'][t - 1]:.0f} %")
    axes[1, 0].legend(title="class", loc="lower left", fontsize=8)
    return chart


def plot_landmark_loss(ax: Any, frequencies: Any, X: Any, signal: Any, landmark: Any) -> None:
    """Plot the mean exp(−ỹ m(x)) over landmarks x of the plane (Eq. 9)."""
    columns, rows, points = plane_grid(X, 120, 0.08 * np.ptp(X, axis=0))
    losses = landmark_losses(frequencies, X, signal, points).reshape(len(rows), len(columns))
    mesh = ax.pcolormesh(columns, rows, losses, cmap="Greys", rasterized=True)
    ax.figure.colorbar(mesh, ax=ax, label="loss of a landmark here", shrink=0.85)
    colors = np.where(signal > 0, ORANGE, BLUE)
    ax.scatter(X[:, 0], X[:, 1], s=14, c=colors, edgecolors="white", linewidths=0.4)
    ax.scatter(*landmark, s=130, c="k", marker="x", linewidths=4)
    ax.scatter(*landmark, s=110, c="w", marker="x", linewidths=2)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", xlim=columns[[0, -1]], ylim=rows[[0, -1]])


def landmark_losses(frequencies: Any, X: Any, signal: Any, points: Any) -> np.ndarray:
    """Return mean_i exp(−ỹ_i (1/K) Σ_j cos ω_j·(x − x_i)) for each row x of ``points``."""
    frequencies = np.atleast_2d(frequencies)
    of_points, of_rows = points @ frequencies.T, X @ frequencies.T
    products = np.cos(of_points) @ np.cos(of_rows).T + np.sin(of_points) @ np.sin(of_rows).T
    return np.exp(-products / len(frequencies) * signal).mean(axis=1)


def plot_boundary(ax: Any, model: Any, X: Any, y: Any) -> None:
    """Plot the score of a two-class model over the plane, its boundary, and the data."""
    columns, rows, points = plane_grid(X, 200, 0.08 * np.ptp(X, axis=0))
    scores = model.decision_function(points).reshape(len(rows), len(columns))
    limit = np.quantile(np.abs(scores), 0.95) + 1e-12
    colors = {"cmap": class_colors(), "vmin": -limit, "vmax": limit, "alpha": 0.45}
    ax.pcolormesh(columns, rows, scores, rasterized=True, **colors)
    if scores.min() < 0 < scores.max():
        ax.contour(columns, rows, scores, levels=[0.0], colors="k", linewidths=1.2)
    for label, color, marker in zip(np.unique(y), (BLUE, ORANGE), "os"):
        style = {"marker": marker, "edgecolors": "w", "linewidths": 0.4}
        ax.scatter(*X[y == label].T, s=14, c=color, label=str(label), **style)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", xlim=columns[[0, -1]], ylim=rows[[0, -1]])
