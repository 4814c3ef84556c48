"""Landmarks at 10 % of the training rows: learned similarities against RBF ones."""

import numpy as np

from . import pbrff_protocol as protocol
from .runner.results import Case, Results

PAPER = "Letarte, Morvant and Germain 2019, Table 1"
CLAIM = "With 10 % of the rows as landmarks, learned similarities (PB) have a lower test error than RBF ones on all data sets but one."
NEEDS = protocol.DATASETS
OWN_SETS = [name for name in NEEDS if name != "ads_dedup"]
DEVIATIONS = (
    "Instead of the full ads set, which OpenML has (`datasets.load('ads')`), ads_dedup holds its "
    "1966 distinct rows. It is not the paper's set and does not count in the verdict.",
    "Scale paper: the authors' grids, γ by their rule in the run (for adult on 10 "
    "000 rows), k-means with 10 starts; seed 0 is the authors' one split, the others are drawn "
    "the same way. Scale quick: five splits (three for the digits and adult); D in {16, 64}, beta "
    "in {0.1, 1, 10} and C in "
    "{0.01, 0.1, 1, ..., 1000}, 4000 training rows of adult, a sixth of its own; the γ found on "
    "the "
    "authors' split, k-means with one start.",
    "RBF and PB use the authors' linear solver, liblinear's dual stopped after 1000 passes; the "
    "columns with a star use the same "
    "objective solved to its minimum.",
)

TRIED = (
    "RBF and PB have the same landmarks, γ, grid of C and solver. On the authors' split with the "
    "paper's grids PB loses on mnist56, as in the paper, and on farm; at the quick scale, over "
    "three to five splits, on mnist56 alone of the paper's own sets. Solved to the minimum, the "
    "same linear problem favors RBF on most sets (the columns with a star): the printed lead is "
    "that of a solver stopped early."
)
_SETTINGS: dict[str, Case] = {
    "smoke": {"D": [8, 64], "beta": [1.0, 10.0], "C": [1.0], "rows": 200},
    "quick": {"D": [16, 64], "beta": [0.1, 1.0, 10.0], "C": protocol.COSTS[3:9], "rows": 10_000},
    "paper": protocol.PAPER_GRID,
}
_LONG = ("mnist17", "mnist49", "mnist56", "adult")


def cases(scale: str) -> list[Case]:
    listed = protocol.set_cases(scale, 5, **_SETTINGS[scale])
    if scale != "quick":
        return listed
    # The digits take up to eight minutes a seed; adult would take half an hour.
    adult = {"dataset": "adult", "rows": 4000}
    shorter = [case | (adult if case["dataset"] == "adult" else {}) for case in listed]
    return [case for case in shorter if case["seed"] < 3 or case["dataset"] not in _LONG]


_SPLITS_RUN = {"breast": 5, "ads_dedup": 5, "farm": 5, "mnist56": 3, "mnist49": 2, "mnist17": 2}


def left_out(case: Case) -> bool:
    """adult, whose 26 048 rows and 2604 landmarks would take longer than all others together, and
    splits of the digits, two to eight CPU minutes each.
    """
    return case["seed"] >= _SPLITS_RUN.get(case["dataset"], 0)


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
    Holds when PB's mean error is below RBF's on all of the paper's own data sets but one at most,
    does not hold when on half of them at most, else cannot tell. It takes five of these sets with
    two splits each (our number; the paper has one split).
    """
    found = protocol.by_set(results, least=2)
    own = [name for name in OWN_SETS if name in found]
    words, n_better = [], []
    for mark, solver in (("", "authors' solver"), ("*", "solved to the minimum")):
        leads = {name: found[name][f"RBF{mark}"] - found[name][f"PB{mark}"] for name in own}
        n_better.append(sum(lead.mean() > 0 for lead in leads.values()))
        told = ", ".join(
            f"{name} {lead.mean():+.2f} ± {lead.std(ddof=1) / np.sqrt(len(lead)):.2f}"
            for name, lead in leads.items()
        )
        words.append(f"{solver}: PB below RBF on {n_better[-1]} of {len(own)} sets ({told})")
    why = f"RBF minus PB in points of test error, over splits; {'; '.join(words)}"
    if len(own) < 5:
        return (
            "cannot tell",
            f"{len(own)} of the paper's sets have two splits, it takes five; {why}",
        )
    if n_better[0] >= len(own) - 1:
        return "holds", why
    return ("does not hold" if 2 * n_better[0] <= len(own) else "cannot tell"), why
