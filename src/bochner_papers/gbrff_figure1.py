"""One landmark per round on two moons: loss and boundary (Gautheron et al. 2020, Figure 1)."""

from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from bochner.boosting import GBRFF1Classifier
from bochner.expansions.waves import Expansion
from bochner.plots._canvas import BLUE, ORANGE, blank, class_colors, plane_grid
from bochner.priors import Gaussian

from .runner.results import Case, Figure, Results, chosen, every, judged

PAPER = "Gautheron et al. 2020, Figure 1"
CLAIM = (
    "GBRFF1 with one frequency a round separates the two moons completely after 10 rounds, for "
    "most draws of the frequencies."
)
DEVIATIONS = (
    "The paper shows one draw of the frequencies. 200 are run, each from the generator of the "
    "authors' script, of which seed 55 is theirs. The landmark's first coordinate is searched over "
    "its whole period by a grid, where the authors' bounded scalar search can end in another "
    "minimum."
)
TRIED = (
    "The authors' own draw is separated after 10 rounds, as printed, and so is a third of the "
    "others. With all coordinates of the landmark learned by L-BFGS the median is 97 %."
)
AUTHORS_SEED = 55
_N_DRAWS = 200


class AuthorsDraws(Gaussian):
    """Gaussian prior that draws from a ``RandomState``, as the authors' script does."""

    def __init__(self, gamma=1.0, *, length_scale=None, state=None):
        super().__init__(gamma, length_scale=length_scale)
        self.state = state

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        return super()._frequencies(n_atoms, n_features, self.state, sampling)


def cases(scale: str) -> list[Case]:
    """Return one case per draw of the frequencies, the authors' first; all have 10 rounds."""
    others = [seed for seed in range(_N_DRAWS) if seed != AUTHORS_SEED]
    return every(seed=[AUTHORS_SEED, *others][: 1 if scale == "smoke" else None], landmark=[0])


def moons() -> tuple[np.ndarray, np.ndarray]:
    """Return 100 points and labels ±1, unshuffled and standardized as in the authors' script."""
    X, y = make_moons(100, noise=0.05, shuffle=False, random_state=55)
    return 2 * (X - X.mean(axis=0)), np.where(y == 1, 1, -1)


def run(case: Case, rng: np.random.Generator) -> Case:
    """Return accuracy and loss after each round, and of the authors' draw the fitted function."""
    X, y = moons()
    prior = AuthorsDraws(1 / X.shape[1], state=np.random.RandomState(case["seed"]))
    model = GBRFF1Classifier(
        n_rounds=10,
        n_components=1,
        prior=prior,
        landmark=case["landmark"],
        calibrated=False,
        random_state=case["seed"],
    ).fit(X, y)
    result: Case = {
        "accuracies": [float(np.mean(stage == y)) for stage in model.staged_predict(X)],
        "losses": model.train_loss_[:, 0].tolist(),
    }
    if case["seed"] == AUTHORS_SEED:
        result["landmarks"] = model.landmarks_.tolist()
        result["expansion"] = {
            name: getattr(model.expansion_, name).tolist()
            for name in ("frequencies", "cosine", "sine", "intercept")
        }
    return result


def verdict(results: Results) -> tuple[str, str]:
    """ "Such a strategy allows us to get an accuracy of 100% on this toy dataset after 10
    iterations". Holds when more than half of at least 100 draws reach 100 % after ten rounds, does
    not hold when less than half do; within two standard errors of half cannot tell. The paper
    shows one draw; "most draws" is our reading.
    """
    if len(results) < 100:
        return "cannot tell", f"{len(results)} draws were run; it takes 100."
    accuracies = 100 * np.array([result["accuracies"] for _, result in results])
    final = accuracies[:, -1]
    share, error = np.mean(final == 100), 0.5 / np.sqrt(len(final))
    low, median, high = np.quantile(final, [0.25, 0.5, 0.75])
    authors = [accuracies[k] for k, (case, _) in enumerate(results) if case["seed"] == AUTHORS_SEED]
    why = (
        f"{100 * share:.0f} % of {len(final)} draws reach 100 % after 10 rounds; median "
        f"{median:.0f} %, quartiles {low:.0f} and {high:.0f} %, worst {min(final):.0f} %"
    )
    for shown in authors:
        why += f"; the authors' draw {shown[0]:.0f} % after 1 round, {shown[-1]:.0f} % after 10"
    if abs(share - 0.5) <= 2 * error:
        return "cannot tell", why
    return judged(share > 0.5, why)


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
    """The authors' draw. Top: the loss of a landmark at each point before rounds 1, 5 and 10.
    Bottom: the boundary after them.
    """
    X, y = moons()
    result = chosen(results, seed=AUTHORS_SEED)[0][1]
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
