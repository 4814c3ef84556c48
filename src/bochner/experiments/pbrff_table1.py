"""Landmarks at 10 % of the training rows: learned similarities against RBF ones."""

from typing import Any

import numpy as np

from ..landmarks import LandmarkFeatures
from ..learners import PacBayes
from ..priors import Gaussian
from ._summary import published
from .pbrff_protocol import (
    DATASETS,
    AuthorsSVM,
    SquaredHingeSVM,
    complete_sets,
    gamma_of,
    linear_svm,
    split,
    svm_error,
)

PAPER = "Letarte, Morvant and Germain 2019, Table 1"
CLAIM = "With 10 % of the rows as landmarks, learned similarities (PB) have a lower test error than RBF ones on most data sets."
NEEDS = ("adult", "breast", "farm", "mnist17", "mnist49", "mnist56", "ads_dedup")
DEVIATIONS = (
    "Five splits instead of one (at the quick scale three for the digits and adult): seed 0 is the authors' split, the others are "
    "drawn the same way.",
    "The full ads set could not be had: ads_dedup holds its 1966 distinct rows, so the paper's figures are not comparable.",
    "At the quick scale the grids are D in {16, 64}, beta in {0.1, 1, 10} and C in {0.01, 0.1, 1, ..., 1000}, "
    "and adult has 4000 training rows, a sixth of its own; gamma was chosen once per data set, on the authors' split.",
    "RBF and PB use the authors' linear solver, liblinear's dual stopped after 1000 passes; the columns with a star use the same "
    "objective solved to its minimum.",
)

_SCALES: dict[str, dict[str, Any]] = {
    "smoke": {"datasets": ("breast",), "seeds": 1, "D": [8, 64], "beta": [1.0, 10.0], "C": [1.0], "rows": 200},
    "quick": {
        "datasets": DATASETS,
        "seeds": 5,
        "D": [16, 64],
        "beta": [0.1, 1.0, 10.0],
        "C": [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0],
        "rows": 10_000,
    },
    "paper": {
        "datasets": DATASETS,
        "seeds": 5,
        "D": [8, 16, 32, 64, 128],
        "beta": [10.0**k for k in range(-3, 4)],
        "C": [10.0**k for k in range(-5, 5)],
        "rows": None,
    },
}
_LONG = ("mnist17", "mnist49", "mnist56", "adult")
_COLUMNS = ("SVM", "RBF", "PB", "PB β=1", "PB D=64", "RBF*", "PB*")


def cases(scale: str) -> list[dict[str, Any]]:
    settings = _SCALES[scale]
    grids = {name: settings[name] for name in ("D", "beta", "C", "rows")}
    # The digits take up to eight minutes a seed; adult, with its many errors, would take half an hour.
    seeds = dict.fromkeys(_LONG, 3) if scale == "quick" else {}
    return [
        {
            "dataset": name,
            "seed": seed,
            **grids,
            "rows": 4000 if name == "adult" and scale == "quick" else settings["rows"],
        }
        for name in settings["datasets"]
        for seed in range(seeds.get(name, settings["seeds"]))
    ]


def run(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    parts = split(case["dataset"], case["seed"], case["rows"])
    gamma, costs = gamma_of(case["dataset"], parts), tuple(case["C"])
    settings = {"n_landmarks": 0.1, "landmarks": "kmeans", "n_components": max(case["D"]), "random_state": case["seed"]}
    learned = LandmarkFeatures(Gaussian(gamma), **settings)
    learned.fit(*parts.train)
    rbf = LandmarkFeatures(Gaussian(gamma), landmarks=learned.landmarks_, similarity="exact").fit(parts.train[0])
    blocks = [part[0] for part in (parts.train, parts.valid, parts.test)]
    plain = tuple(rbf.transform(X) for X in blocks)
    pairs = [(beta, D) for beta in case["beta"] for D in case["D"]]
    variants = [(PacBayes(beta), D) for beta, D in pairs]
    mapped = [learned.transform_each(X, variants) for X in blocks]
    result = {"SVM": svm_error(parts, gamma, costs)}
    for solver, mark in ((AuthorsSVM, ""), (SquaredHingeSVM, "*")):
        tried = {
            pair: linear_svm(tuple(psi[k] for psi in mapped), parts, costs, solver) for k, pair in enumerate(pairs)
        }
        result[f"RBF{mark}"] = linear_svm(plain, parts, costs, solver).test_error
        result[f"PB{mark}"] = _best(tried, pairs)
        if solver is AuthorsSVM:
            result["PB β=1"] = _best(tried, [pair for pair in pairs if pair[0] == 1.0])
            result["PB D=64"] = _best(tried, [pair for pair in pairs if pair[1] == 64])
    return result | {"gamma": gamma, "landmarks": len(learned.landmarks_)}


def _best(tried, pairs):
    """Of equal validation scores the smaller beta, then the smaller D."""
    return tried[max(pairs, key=lambda pair: (tried[pair].valid, -pair[0], -pair[1]))].test_error


def verdict(results: list[tuple[dict[str, Any], dict[str, Any]]]) -> tuple[str, str]:
    """Holds when PB's mean error is below RBF's on more than half of the data sets."""
    by_set = complete_sets(results, least=3)
    if len(by_set) < 5:
        return "cannot tell", f"{len(results)} results; it takes three seeds on five data sets at least."
    means = {name: {m: np.mean([r[m] for r in of]) for m in _COLUMNS} for name, of in by_set.items()}
    better = [name for name, mean in means.items() if mean["PB"] < mean["RBF"]]
    solved = [name for name, mean in means.items() if mean["PB*"] < mean["RBF*"]]
    why = (
        f"PB below RBF on {len(better)} of {len(means)} data sets ({', '.join(better)}); with the linear problem solved to its "
        f"minimum on {len(solved)} ({', '.join(solved)}); {_against_the_paper(by_set)}"
    )
    return ("holds" if 2 * len(better) > len(means) else "does not hold"), why


def _against_the_paper(by_set):
    paper = published("pbrff_table1")
    if paper is None:
        return ""
    missed = []
    for name, values in paper["rows"].items():
        for column, printed in zip(paper["columns"], values):
            ours = [result[column] for result in by_set.get(name, [])]
            if ours and np.mean(ours) - 2 * np.std(ours, ddof=1) > printed:
                missed.append(f"{name} {column} {np.mean(ours):.2f} for {printed}")
    if not missed:
        return "every figure of the paper is reached within two standard deviations of the seeds"
    return f"above the paper's figure by more than two standard deviations of the seeds: {', '.join(missed)}"
