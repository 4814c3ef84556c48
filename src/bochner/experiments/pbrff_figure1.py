"""Five landmarks in the plane: learned similarities against RBF ones."""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from ..datasets import toy_landmarks
from ..landmarks import LandmarkFeatures
from ..learners import PacBayes
from ..plots._canvas import BLUE, ORANGE, blank, plane_grid
from ..priors import Gaussian
from ._pixels import packed, unpacked
from ._results import Case, Figure, Results, chosen, every, judged

PAPER = "Letarte, Morvant and Germain 2019, Figures 1 and 4"
CLAIM = "On five random landmarks in the plane, a linear SVM makes fewer errors with learned similarities than with RBF ones."
DEVIATIONS = (
    "The paper's toy data and its sigma are not published: two noisy clusters per class, placed crosswise, gamma = 1.",
)

_GRID = 61
_METHODS = {"RBF": "exact", "PB": "learned"}


def cases(scale: str) -> list[Case]:
    return every(seed=range({"smoke": 2, "quick": 30, "paper": 100}[scale]), landmarks=[5], D=[20], beta=[1.0])


def run(case: Case, rng: np.random.Generator) -> Case:
    new = toy_landmarks(2000, np.random.default_rng(10_000 + case["seed"]))
    data = _training(case)
    models = _models(case, data)
    result: Case = {name: 100 * (1 - model.score(new.data, new.target)) for name, model in models.items()}
    if case["seed"] == 0:  # the one that is drawn
        result["drawn"] = {name: _maps(model, data) for name, model in models.items()}
    return result


def _training(case):
    return toy_landmarks(200, np.random.default_rng(case["seed"]))


def _maps(model, data):
    """Similarities to each landmark and the scores over a grid, and what the model gets wrong of its own rows."""
    *_, corners = plane_grid(data.data, _GRID, 0.08 * np.ptp(data.data, axis=0))
    scores = model.decision_function(corners)
    return {
        "landmarks": model[0].landmarks_.round(4).tolist(),
        "similarities": [packed(column) for column in model[0].transform(corners).T],
        "scores": packed(scores, np.abs(scores).max()),
        "wrong": 100 * float(np.mean(model.predict(data.data) != data.target)),
    }


def _models(case, data):
    """The two fitted pipelines, on the same landmarks."""
    shared = {"n_landmarks": case["landmarks"], "n_components": case["D"], "random_state": case["seed"]}
    shared |= {"landmarks": "random", "per_label": False, "share_frequencies": True}
    models = {}
    for name, similarity in _METHODS.items():
        features = LandmarkFeatures(Gaussian(1.0), PacBayes(case["beta"]), similarity=similarity, **shared)
        models[name] = make_pipeline(features, LinearSVC(C=1.0)).fit(data.data, data.target)
    return models


def verdict(results: Results) -> tuple[str, str]:
    """ "The PB-Landmarks setting successfully finds a representation from which the linear SVM can predict well", better than the RBF setting
    beside it. Holds when the mean difference over at least ten draws is more than two standard errors below zero, does not hold when as far
    above, else cannot tell.
    """
    errors = {name: np.array([result[name] for _, result in results]) for name in _METHODS}
    difference = errors["PB"] - errors["RBF"]
    if len(results) < 10:
        return "cannot tell", f"{len(results)} draws of data and landmarks; it takes ten."
    mean, error = difference.mean(), difference.std(ddof=1) / np.sqrt(len(results))
    why = (
        f"Test error {errors['PB'].mean():.2f} % learned, {errors['RBF'].mean():.2f} % RBF over {len(results)} draws; "
        f"difference {mean:.2f} ± {error:.2f}."
    )
    return judged(mean < 0, why) if abs(mean) > 2 * error else ("cannot tell", why)


def figure(results: Results) -> Figure:
    """The first draw: similarities to each landmark (star), RBF above and learned below, and on the right the classes by a linear SVM on them."""
    case, result = chosen(results, seed=0)[0]
    data = _training(case)
    columns, rows, _ = plane_grid(data.data, _GRID, 0.08 * np.ptp(data.data, axis=0))
    shown = case["landmarks"]
    chart, axes = blank(2, shown + 1, size=(2.1 * (shown + 1), 4.7), sharex=True, sharey=True)
    image = None
    for of_model, (name, drawn) in zip(axes, result["drawn"].items()):
        for k, axis in enumerate(of_model[:-1]):
            similarity = unpacked(drawn["similarities"][k], (_GRID, _GRID))
            image = axis.pcolormesh(columns, rows, similarity, cmap="RdBu_r", vmin=-1, vmax=1, rasterized=True)
            axis.plot(*drawn["landmarks"][k], marker="*", color="gold", markeredgecolor="black", markersize=13)
        scores = unpacked(drawn["scores"], (_GRID, _GRID))
        last = of_model[-1]
        last.contourf(columns, rows, scores, levels=[-np.inf, 0, np.inf], colors=[BLUE, ORANGE], alpha=0.3)
        last.contour(columns, rows, scores, levels=[0], colors="black", linewidths=1)
        box = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1.5}
        last.text(0.03, 0.03, f"{drawn['wrong']:.1f} % wrong", transform=last.transAxes, fontsize="small", bbox=box)
        of_model[0].set_ylabel(name)
    for axis in axes.flat:
        for label, color, marker in zip((-1, 1), (BLUE, ORANGE), "o^"):
            axis.scatter(*data.data[data.target == label].T, s=5, color=color, marker=marker, linewidths=0)
        axis.set(xticks=[], yticks=[])
    for k, axis in enumerate(axes[0, :-1]):
        axis.set_title(f"similarity to landmark {k + 1}", fontsize="small")
    axes[0, -1].set_title("classification", fontsize="small")
    chart.colorbar(image, ax=axes, label="similarity", location="bottom", shrink=0.4, aspect=40)
    return chart
