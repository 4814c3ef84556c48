"""Landmarks at 10 % of the training rows: learned similarities against RBF ones."""

import numpy as np

from . import pbrff_protocol as protocol
from .runner.results import Case, Results
from .runner.summary import published

PAPER = "Letarte, Morvant and Germain 2019, Table 1"
CLAIM = "With 10 % of the rows as landmarks, learned similarities (PB) have a lower test error than RBF ones on all data sets but one."
NEEDS = protocol.DATASETS
DEVIATIONS = (
    "Instead of the full ads set, which OpenML has (`datasets.load('ads')`), ads_dedup holds its "
    "1966 distinct rows. The paper's "
    "figures are not comparable, but the set counts in the verdict.",
    "Scale paper: the authors' one split and grids, γ by their rule in the run (for adult on 10 "
    "000 rows), k-means with 10 starts. Scale quick: five splits (three for the digits and adult), "
    "seed 0 "
    "the authors', the others drawn the same way; D in {16, 64}, beta in {0.1, 1, 10} and C in "
    "{0.01, 0.1, 1, ..., 1000}, 4000 training rows of adult, a sixth of its own; the γ found on "
    "the "
    "authors' split, k-means with one start.",
    "RBF and PB use the authors' linear solver, liblinear's dual stopped after 1000 passes; the "
    "columns with a star use the same "
    "objective solved to its minimum.",
)

TRIED = (
    "RBF and PB have the same landmarks, γ, grid of C and solver. On the authors' split PB loses "
    "on mnist 5/6, as in the paper, and on farm, where validation rows choose a β that is not the "
    "best on test rows (with β = 1 PB has 15.3 % "
    "to 16.2 % of RBF). Over several splits of the quick scale it loses on mnist 5/6 and on ads, "
    "of which we have other rows than the paper. Solved to the minimum, the same linear problem "
    "favors RBF on most sets (the columns with a "
    "star): the printed lead is that of a solver stopped early."
)
_SETTINGS: dict[str, Case] = {
    "smoke": {"D": [8, 64], "beta": [1.0, 10.0], "C": [1.0], "rows": 200},
    "quick": {"D": [16, 64], "beta": [0.1, 1.0, 10.0], "C": protocol.COSTS[3:9], "rows": 10_000},
    "paper": protocol.PAPER_GRID,
}
_LONG = ("mnist17", "mnist49", "mnist56", "adult")


def cases(scale: str) -> list[Case]:
    listed = protocol.set_cases(scale, 1 if scale == "paper" else 5, **_SETTINGS[scale])
    if scale != "quick":
        return listed
    # The digits take up to eight minutes a seed; adult would take half an hour.
    adult = {"dataset": "adult", "rows": 4000}
    shorter = [case | (adult if case["dataset"] == "adult" else {}) for case in listed]
    return [case for case in shorter if case["seed"] < 3 or case["dataset"] not in _LONG]


def left_out(case: Case) -> bool:
    """adult, whose 26 048 rows and 2604 landmarks would take longer than all others together."""
    return case["dataset"] == "adult"


def run(case: Case, rng: np.random.Generator) -> Case:
    parts = protocol.split(case["dataset"], case["seed"], case["rows"])
    gamma, costs = protocol.gamma_for(case, parts), case["C"]
    plain, learned = protocol.landmark_features(case, parts.in_their_span(), gamma, 0.1, "kmeans")
    result = {"SVM": protocol.svm_error(parts, gamma, costs)}
    for solver, mark in ((protocol.AuthorsSVM, ""), (protocol.SquaredHingeSVM, "*")):
        tried = {
            pair: protocol.linear_svm(mapped, parts, costs, solver)
            for pair, mapped in learned.items()
        }
        result[f"RBF{mark}"] = protocol.linear_svm(plain, parts, costs, solver).test_error
        result[f"PB{mark}"] = protocol.best_error(tried)
        if solver is protocol.AuthorsSVM:
            result["PB β=1"] = protocol.best_error(
                {pair: one for pair, one in tried.items() if pair[0] == 1.0}
            )
            result["PB D=64"] = protocol.best_error(
                {pair: one for pair, one in tried.items() if pair[1] == 64}
            )
    return result | {"gamma": gamma, "landmarks": plain[0].shape[1]}


def verdict(results: Results) -> tuple[str, str]:
    """ "We observe that learning the posterior improves the RBF-Landmarks (except on 'mnist56')".
    Holds when PB's mean error is below RBF's on all data sets but one at most, does not hold when
    on half of them at most, else cannot tell; it takes five data sets.
    """
    found = protocol.by_set(results)
    if len(found) < 5:
        return "cannot tell", f"{len(found)} data sets; it takes five."
    better = [name for name, errors in found.items() if errors["PB"].mean() < errors["RBF"].mean()]
    solved = [
        name for name, errors in found.items() if errors["PB*"].mean() < errors["RBF*"].mean()
    ]
    paper = published("pbrff_table1")
    assert paper is not None
    missed = []
    for name in [name for name in paper["rows"] if name in found]:
        for column, printed in zip(paper["columns"], paper["rows"][name]):
            values = found[name][column]
            # Other random numbers may change one split by a quarter of the printed error or of a
            # point.
            slack = 2 * values.std(ddof=1) if len(values) > 1 else max(0.25 * printed, 0.25)
            if values.mean() - slack > printed:
                missed.append(f"{name} {column} {values.mean():.2f} for {printed}")
    chance = (
        "chance"
        if max(len(errors["PB"]) for errors in found.values()) > 1
        else "a quarter, on one split"
    )
    compared = (
        f"above the paper's figure by more than {chance}: {', '.join(missed)}"
        if missed
        else "every figure of the paper is reached"
    )
    why = (
        f"PB below RBF on {len(better)} of {len(found)} data sets ({', '.join(better)}); with the "
        "linear problem solved to its "
        f"minimum on {len(solved)} ({', '.join(solved)}); {compared}"
    )
    if len(better) >= len(found) - 1:
        return "holds", why
    return ("does not hold" if 2 * len(better) <= len(found) else "cannot tell"), why
