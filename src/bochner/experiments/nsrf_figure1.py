"""Windmill in the plane and checkerboard on the sphere: a learned kernel against fixed ones."""

from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, LinearSVC

from ..datasets import sphere_checkerboard, windmill
from ..features import SpectralFeatures
from ..harmonics import arc_cosine_kernel
from ..learners import AscentPeaks, GameReport, HarmonicPeaks, JointDescent, MarginGame
from ..priors import Gaussian

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

_SIZES = {"smoke": (300, 1000), "quick": (2000, 50_000), "paper": (2000, 50_000)}
_SEEDS = {"smoke": 1, "quick": 5, "paper": 10}


def cases(scale: str) -> list[dict[str, Any]]:
    """One case for each data set, method and seed."""
    n_train, n_test = _SIZES[scale]
    rounds = {"smoke": [20], "quick": [100, 1000], "paper": [100, 1000]}[scale]
    plain = ["rbf", "rbf best gamma", *(f"game {T}" for T in rounds)]
    twisted = ["rbf best gamma", *(f"game {T}" for T in rounds[:1]), "joint"]
    sphere = [
        "arc-cosine",
        "arc-cosine best C",
        *(f"game {T}" for T in rounds[:1]),
        *(f"zonal {T}" for T in rounds[:1]),
    ]
    listed = []
    for seed in range(_SEEDS[scale]):
        for data, methods in (("windmill", plain), ("windmill twisted", twisted), ("sphere", sphere)):
            if data == "windmill twisted" and seed >= 2:
                continue
            listed += [
                {"data": data, "method": method, "seed": seed, "n_train": n_train, "n_test": n_test}
                for method in methods
            ]
    if scale != "smoke":
        # The twisted windmill again, with eight times the rows: what the sample of 2000 was missing.
        large = {"data": "windmill twisted", "seed": 0, "n_train": 16_000, "n_test": n_test}
        listed += [large | {"method": method} for method in ("game 100", "joint")]
    return listed


def run(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Accuracy of one method on one draw of the data, which depends on the case's seed alone."""
    data_rng = np.random.default_rng([case["seed"], 2018])
    X, y = draw(case["data"], case["n_train"], data_rng)
    X_test, y_test = draw(case["data"], case["n_test"], data_rng)
    method, _, count = case["method"].partition(" ")
    if method in ("rbf", "arc-cosine"):
        machine = _fixed_kernel(method, count, X, y)
        return {"train": machine.score(X, y), "test": machine.score(X_test, y_test)}
    # The game's walkers should reach every frequency that matters; descent moves its frequencies only a little.
    prior = Gaussian(gamma=100.0 if method == "joint" else 300.0)
    features = SpectralFeatures(prior, _learner(case["data"], method, count), random_state=rng)
    # libsvm is exact, and too slow for many rows.
    machine = SVC(kernel="linear", C=1.0) if len(X) <= 4000 else LinearSVC(loss="hinge", C=1.0, max_iter=3000)
    machine.fit(features.fit_transform(X, y), y)
    result: dict[str, Any] = {
        "train": machine.score(features.transform(X), y),
        "test": machine.score(features.transform(X_test), y_test),
        "n_atoms": len(features.measure_),
    }
    if isinstance(features.report_, GameReport) and (certificate := features.report_.certificate):
        result |= {"upper": certificate.upper, "lower": certificate.lower, "certified": certificate.exact}
        result["ratio"] = certificate.competitive_ratio
    return result


def verdict(results: list[tuple[dict, dict]]) -> tuple[str, str]:
    """Holds when the learned kernels reach the claim's figures on the paper's sizes, RBF stays below 95 % and arc-cosine below 97 %."""
    mean: dict[tuple[str, str], Any] = {
        key: 100 * np.mean([r["test"] for c, r in results if _key(c) == key]) for key in {_key(c) for c, _ in results}
    }
    atoms = [r["n_atoms"] for c, r in results if _key(c) == ("sphere", "game 100")]
    needed = [("windmill", "rbf"), ("windmill", "game 100"), ("sphere", "arc-cosine best C"), ("sphere", "game 100")]
    if not all(key in mean for key in needed) or results[0][0]["n_train"] < 2000:
        return "cannot tell", "the data are smaller than the paper's"
    windmill = [mean[key] for key in mean if key[0] == "windmill" and key[1].startswith("game")]
    told = "; ".join(
        f"{data}: " + ", ".join(f"{method} {value:.1f}" for (of, method), value in sorted(mean.items()) if of == data)
        for data in sorted({data for data, _ in mean})
    )
    held = min(windmill) >= 98.8 and mean["sphere", "game 100"] >= 99.0 and max(atoms) <= 30
    held = held and mean["windmill", "rbf"] < 95 and mean["sphere", "arc-cosine best C"] < 97
    return ("holds" if held else "does not hold"), f"test accuracy in %, {told}; at most {max(atoms)} harmonics"


def _key(case):
    size = "" if case["n_train"] <= 2000 else f" n={case['n_train']}"
    return case["data"] + size, case["method"]


def figure(results: list[tuple[dict, dict]]) -> Any:
    """The windmill as the game goes on: weighted data, potential and peaks, boundary."""
    from ..plots.game import game_evolution

    X, y = draw("windmill", 1000, np.random.default_rng(0))
    learner = MarginGame(300, peaks=AscentPeaks(n_walkers=150), certificate=False)
    return game_evolution(
        learner, Gaussian(gamma=300.0), X, y, rounds=(1, 30, 100, 300), bandwidth=75.0, random_state=0
    )


def draw(data: str, n_rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points and labels ±1 of one of the three data sets."""
    if data == "sphere":
        drawn = sphere_checkerboard(n_rows, rng)
    else:
        arms, twist = (8, 8.0) if data == "windmill twisted" else (3, 0.0)
        drawn = windmill(n_rows, rng, arms=arms, twist=twist)
    return drawn.data, drawn.target


def _fixed_kernel(method, tuned, X, y):
    if method == "rbf":
        machine = SVC(kernel="rbf", C=1.0, gamma=Gaussian(gamma="median").resolved(X).gamma)
        grid = {"gamma": [3.0, 10.0, 30.0, 100.0, 300.0]}
    else:
        machine = SVC(kernel=arc_cosine_kernel, C=1.0)
        grid = {"C": [1.0, 10.0, 100.0, 1000.0]}
    return (GridSearchCV(machine, grid, cv=3) if tuned else machine).fit(X, y)


def _learner(data, method, count):
    if method == "joint":
        return JointDescent(60, batch_size=64, learning_rate=0.01, frequency_decay=0.0, penalty=1e-4, start_scale=1.0)
    if data != "sphere":
        return MarginGame(int(count), peaks=AscentPeaks(n_walkers=150))
    return MarginGame(int(count), peaks=HarmonicPeaks(30, "zonal" if method == "zonal" else "harmonic"), step_scale=0.1)
