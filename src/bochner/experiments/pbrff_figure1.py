"""Five landmarks in the plane: learned similarities against RBF ones."""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from ..datasets import toy_landmarks
from ..landmarks import LandmarkFeatures
from ..learners import PacBayes
from ..plots import plot_landmark_maps
from ..priors import Gaussian
from ._results import Case, Figure, Results, every, judged

PAPER = "Letarte, Morvant and Germain 2019, Figures 1 and 4"
CLAIM = "On five random landmarks in the plane, a linear SVM makes fewer errors with learned similarities than with RBF ones."
DEVIATIONS = (
    "The paper's toy data and its sigma are not published: two noisy clusters per class, placed crosswise, gamma = 1.",
)

_METHODS = {"RBF": "exact", "PB": "learned"}


def cases(scale: str) -> list[Case]:
    return every(seed=range({"smoke": 2, "quick": 30, "paper": 100}[scale]), landmarks=[5], D=[20], beta=[1.0])


def run(case: Case, rng: np.random.Generator) -> Case:
    new = toy_landmarks(2000, np.random.default_rng(10_000 + case["seed"]))
    return {name: 100 * (1 - model.score(new.data, new.target)) for name, model in _models(case).items()}


def _models(case):
    """The two fitted pipelines, on the same landmarks."""
    data = toy_landmarks(200, np.random.default_rng(case["seed"]))
    shared = {"n_landmarks": case["landmarks"], "n_components": case["D"], "random_state": case["seed"]}
    shared |= {"landmarks": "random", "per_label": False, "share_frequencies": True}
    models = {}
    for name, similarity in _METHODS.items():
        features = LandmarkFeatures(Gaussian(1.0), PacBayes(case["beta"]), similarity=similarity, **shared)
        models[name] = make_pipeline(features, LinearSVC(C=1.0)).fit(data.data, data.target)
    return models


def verdict(results: Results) -> tuple[str, str]:
    """Holds when the mean difference over seeds is more than two standard errors below zero."""
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
    """The maps of the first draw, as in the paper."""
    case = results[0][0]
    data = toy_landmarks(200, np.random.default_rng(case["seed"]))
    return plot_landmark_maps(_models(case), data.data, data.target)
