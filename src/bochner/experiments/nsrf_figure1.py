"""Windmill in the plane and checkerboard on the sphere: a learned kernel against fixed ones."""

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from ..datasets import sphere_checkerboard, windmill
from ..features import SpectralFeatures
from ..harmonics import arc_cosine_kernel
from ..learners import AscentPeaks, GameReport, HarmonicPeaks, JointDescent, MarginGame
from ..plots import game_evolution
from ..priors import Gaussian
from ._results import Case, Figure, Results, chosen, every, judged, listed_rows, means

PAPER = "Bullins, Zhang & Zhang 2018, Not-So-Random Features, Figure 1 and Section 5 (synthetic data)"
CLAIM = (
    "With an ℓ1-SVM at C = 1, kernels learned by the margin game are almost perfect where fixed kernels are not: windmill "
    "above 98.8 % test accuracy (RBF near 92 %), sphere above 99 % at T = 100 on at most 30 harmonics (arc-cosine near 95 %)."
)
DEVIATIONS = [
    "The paper's generators are not published. Ours: windmill with 3 arms and no twist, which gives its RBF figure; "
    "checkerboard sign(sin 4φ · sin 3θ) on the sphere.",
    "The walkers of the peak search start from a wide Gaussian (γ = 300); the paper does not say.",
    "The twisted windmill (8 arms) is ours; there the limit is the sample of 2000 points, not the method.",
]

_SCALES = {
    "smoke": (300, 1000, 1, [20]),
    "quick": (2000, 50_000, 5, [100, 1000]),
    "paper": (2000, 50_000, 10, [100, 1000]),
}


def cases(scale: str) -> list[Case]:
    """One case for each data set, method and seed."""
    n_train, n_test, n_seeds, rounds = _SCALES[scale]
    game = f"game {rounds[0]}"
    methods = {
        "windmill": ["rbf", "rbf best gamma", *(f"game {T}" for T in rounds)],
        "windmill twisted": ["rbf best gamma", game, "joint"],
        "sphere": ["arc-cosine", "arc-cosine best C", game, f"zonal {rounds[0]}"],
    }
    listed_cases = []
    for data, names in methods.items():
        seeds = range(min(n_seeds, 2) if data == "windmill twisted" else n_seeds)
        listed_cases += every(data=[data], seed=seeds, method=names, n_train=[n_train], n_test=[n_test])
    if scale != "smoke":
        # The twisted windmill again, with eight times the rows: what the sample of 2000 was missing.
        large = {"data": "windmill twisted", "seed": 0, "n_train": 16_000, "n_test": n_test}
        listed_cases += [large | {"method": method} for method in ("game 100", "joint")]
    return listed_cases


def run(case: Case, rng: np.random.Generator) -> Case:
    """Accuracy of one method on one draw of the data, which depends on the case's seed alone."""
    data_rng = np.random.default_rng([case["seed"], 2018])
    X, y = draw(case["data"], case["n_train"], data_rng)
    X_test, y_test = draw(case["data"], case["n_test"], data_rng)
    method, _, count = case["method"].partition(" ")
    if method in ("rbf", "arc-cosine"):
        model = _fixed_kernel(method, count, X).fit(X, y)
        return {"train": model.score(X, y), "test": model.score(X_test, y_test)}
    # The game's walkers should reach every frequency that matters; descent moves its frequencies only a little.
    prior = Gaussian(gamma=100.0 if method == "joint" else 300.0)
    features = SpectralFeatures(prior, _learner(case["data"], method, count), random_state=rng)
    # libsvm is exact, and too slow for many rows.
    machine = SVC(kernel="linear", C=1.0) if len(X) <= 4000 else LinearSVC(loss="hinge", C=1.0, max_iter=3000)
    model = make_pipeline(features, machine).fit(X, y)
    result: Case = {"train": model.score(X, y), "test": model.score(X_test, y_test), "n_atoms": len(features.measure_)}
    if isinstance(features.report_, GameReport) and (certificate := features.report_.certificate):
        result |= {"upper": certificate.upper, "lower": certificate.lower, "certified": certificate.exact}
        result["ratio"] = certificate.competitive_ratio
    return result


def verdict(results: Results) -> tuple[str, str]:
    """Holds when the learned kernels reach the claim's figures on the paper's sizes, RBF stays below 95 % and arc-cosine below 97 %."""
    mean: dict[str, dict[str, float]] = {}
    for (data, n_train, method), test in sorted(means(results, "test", "data", "n_train", "method").items()):
        name = data if n_train <= 2000 else f"{data} n={n_train}"
        mean.setdefault(name, {})[method] = 100 * test
    plane, sphere = mean.get("windmill", {}), mean.get("sphere", {})
    needed = {"rbf", "game 100"} <= plane.keys() and {"arc-cosine best C", "game 100"} <= sphere.keys()
    if not needed or results[0][0]["n_train"] < 2000:
        return "cannot tell", "the data are smaller than the paper's"
    atoms = max(result["n_atoms"] for _, result in chosen(results, data="sphere", method="game 100"))
    held = min(value for method, value in plane.items() if method.startswith("game")) >= 98.8 and plane["rbf"] < 95
    held = held and sphere["game 100"] >= 99.0 and atoms <= 30 and sphere["arc-cosine best C"] < 97
    return judged(held, f"test accuracy in %, {listed_rows(mean)}; at most {atoms} harmonics")


def figure(results: Results) -> Figure:
    """The windmill as the game goes on: weighted data, potential and peaks, boundary."""
    X, y = draw("windmill", 1000, np.random.default_rng(0))
    learner = MarginGame(300, peaks=AscentPeaks(n_walkers=150), certificate=False)
    rounds = (1, 30, 100, 300)
    return game_evolution(learner, Gaussian(gamma=300.0), X, y, rounds=rounds, bandwidth=75.0, random_state=0)


def draw(data: str, n_rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points and labels ±1 of one of the three data sets."""
    if data == "sphere":
        drawn = sphere_checkerboard(n_rows, rng)
    else:
        arms, twist = (8, 8.0) if data == "windmill twisted" else (3, 0.0)
        drawn = windmill(n_rows, rng, arms=arms, twist=twist)
    return drawn.data, drawn.target


def _fixed_kernel(method, tuned, X):
    if method == "rbf":
        machine = SVC(kernel="rbf", C=1.0, gamma=Gaussian(gamma="median").resolved(X).gamma)
        grid = {"gamma": [3.0, 10.0, 30.0, 100.0, 300.0]}
    else:
        machine, grid = SVC(kernel=arc_cosine_kernel, C=1.0), {"C": [1.0, 10.0, 100.0, 1000.0]}
    return GridSearchCV(machine, grid, cv=3) if tuned else machine


def _learner(data, method, count):
    if method == "joint":
        return JointDescent(60, batch_size=64, learning_rate=0.01, frequency_decay=0.0, penalty=1e-4, start_scale=1.0)
    if data != "sphere":
        return MarginGame(int(count), peaks=AscentPeaks(n_walkers=150))
    return MarginGame(int(count), peaks=HarmonicPeaks(30, "zonal" if method == "zonal" else "harmonic"), step_scale=0.1)
