"""Accuracy of six methods on sixteen tables (Gautheron et al. 2020, Table 2)."""

import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from .gbrff_protocol import (
    LARGE,
    PAPER_GRIDS,
    SMALL,
    binary_split,
    cross_validated,
    named_model,
    standardized,
)
from .runner.results import Case, Results, chosen, every, grouped, judged, listed
from .runner.summary import beside_published, published

PAPER = "Gautheron et al. 2020, Table 2"
CLAIM = (
    "Over the fifteen tables GBRFF2 has the best mean accuracy and the best average rank, BMKR "
    "apart, and on no table is it below its published mean by more than the "
    "published spread."
)

APART = "bankmarketing"  # in the table, but not in its means and ranks
NEEDS = [*SMALL, *LARGE, APART]
METHODS = ["GBRFF2", "GBRFF1", "LGBM", "PBRFF", "GFC", "BMKR"]


_PAPER: Case = published("gbrff_table2") or {}
# (mean, spread) over 20 splits as the paper prints them, for each table and method; some cells are
# empty.
PUBLISHED: dict[str, Case] = {
    _PAPER["aliases"].get(row, row): {
        method: cell for method, cell in zip(_PAPER["columns"], cells) if cell
    }
    for row, cells in _PAPER["rows"].items()
    if row not in ("mean", "rank", "rank without BMKR")
}

_WHOLE = {"n_folds": 5, "n_rounds": 100, "max_train": None}  # the paper's effort
QUICK_GRIDS = PAPER_GRIDS | {
    "GBRFF1": {"gamma": [0.25, 1.0, 4.0], "beta": [0.01, 1.0, 100.0]},
    "LGBM": {"max_depth": [1, 2, 3, 5, 8], "reg_lambda": [0.0, 0.25]},
    "PBRFF": {"gamma": [0.25, 1.0, 4.0], "beta": [1.0], "C": [0.1, 1.0, 10.0]},
    "GFC": {"C": [0.01, 0.1, 1.0]},
    "BMKR": {"C": [0.1, 1.0]},
}
LARGE_QUICK_GRIDS = QUICK_GRIDS | {
    "GBRFF2": {"gamma": [0.25, 1.0, 4.0], "lam": [0.0, 2.0**-5, 2.0**-3]},
    "LGBM": {"max_depth": [3, 5, 8], "reg_lambda": [0.0]},
    "PBRFF": {"gamma": [0.25, 1.0], "beta": [1.0], "C": [1.0, 10.0]},
    "BMKR": {"C": [1.0]},
}
# Five folds for the two boosters with the paper's trees beside them; three, and shorter runs, for
# the slow baselines.
QUICK_EFFORT = {
    "GBRFF1": {"n_folds": 3},
    "PBRFF": {"n_folds": 3},
    "GFC": {"n_folds": 3, "n_rounds": 50},
    "BMKR": {"n_folds": 3, "n_rounds": 5},
}
DEVIATIONS = (
    "Random numbers are drawn by NumPy's Generator, so no split or frequency equals the authors'. "
    "The phase of GBRFF2 is "
    "the minimum over the circle, by a grid on all rows (theirs: a bounded scalar search). "
    "The landmark gradient of GBRFF1 is the correct one. "
    "Scale paper: the paper's grids, folds and rounds. "
    "Scale quick: 10 splits on the 12 small tables, 5 on splice, spambase and occupancy, 2 on "
    "bankmarketing. GBRFF2 on the small tables: the paper's grid and 5 folds. "
    "Elsewhere fewer settings and 3 folds: GBRFF1 9 settings of 25, LGBM 10 of 50 (5 folds), PBRFF "
    "9 of 125, GFC 3 of 5 with 50 "
    "rounds of 100, BMKR 2 of 5 with 5 rounds of 100. On the four large tables 9 settings for "
    "GBRFF1 and GBRFF2, 3 for LGBM, 4 for "
    "PBRFF, 3 for GFC with 30 rounds, BMKR 3 rounds with C = 1; on occupancy GFC and BMKR see 3000 "
    "training rows, PBRFF 6000. So few rounds are not BMKR, and it is left out of the ranks that "
    "are judged."
)

TRIED = (
    "The paper's grids, folds and rounds for five methods on the same splits and folds. GBRFF2 has "
    "the best mean and the best average rank, as printed; its lead over LightGBM, 0.53 points, is "
    "less than its standard error over tables, 0.65. On wdbc (five splits) and occupancy (one) it "
    "is below its published mean "
    "by a little more than the published spread, which so few splits do by chance; over ten and "
    "five splits of the quick scale it is within it on both."
)


def cases(scale: str) -> list[Case]:
    """Return one case for each table, split and method; fast ones first."""
    if scale == "smoke":
        tiny = {
            "GBRFF2": {"gamma": [1.0], "lam": [0.0, 0.125]},
            "GBRFF1": {"gamma": [1.0], "beta": [1.0]},
            "LGBM": {"max_depth": [2], "reg_lambda": [0.0]},
            "PBRFF": {"gamma": [1.0], "beta": [1.0], "C": [1.0, 10.0]},
            "GFC": {"C": [1.0, 10.0]},
            "BMKR": {"C": [1.0]},
        }
        rounds = {"GFC": 3, "BMKR": 2}
        shared = _WHOLE | {"dataset": "wine", "split": 0, "n_folds": 2}
        return [
            shared | {"method": m, "grid": grid, "n_rounds": rounds.get(m, 10)}
            for m, grid in tiny.items()
        ]
    if scale == "paper":
        return [
            _WHOLE | case
            for case in _planned(PAPER_GRIDS, dataset=NEEDS, split=range(20), method=METHODS)
        ]
    small = [
        _WHOLE | case | QUICK_EFFORT.get(case["method"], {})
        for case in _planned(QUICK_GRIDS, method=METHODS, split=range(10), dataset=SMALL)
    ]
    large = [
        case | _shortened(case["dataset"], case["method"])
        for case in _planned(
            LARGE_QUICK_GRIDS, method=METHODS, split=range(5), dataset=[*LARGE, APART]
        )
        if case["split"] < 2 or case["dataset"] != APART
    ]
    order = ["GBRFF2", "LGBM", "GBRFF1", "PBRFF", "GFC", "BMKR"]
    return sorted(small + large, key=lambda case: order.index(case["method"]))


_SPLITS_RUN = dict.fromkeys(SMALL, 5) | dict.fromkeys(LARGE, 1) | {APART: 0}


def left_out(case: Case) -> bool:
    """BMKR, which would take days on the large tables, bankmarketing, and of the 20 splits all but
    five of each small table and one of each large one; all 20 would take 11 CPU hours.
    """
    return case["method"] == "BMKR" or case["split"] >= _SPLITS_RUN[case["dataset"]]


def _planned(grids, **choices):
    """Return every combination for which the paper has a number, with the grid of its method."""
    planned = [case for case in every(**choices) if case["method"] in PUBLISHED[case["dataset"]]]
    return [case | {"grid": grids[case["method"]]} for case in planned]


def _shortened(table, method):
    limit = {"GFC": 3000, "BMKR": 3000, "PBRFF": 6000}.get(method) if table == "occupancy" else None
    return {"n_folds": 3, "n_rounds": {"GFC": 30, "BMKR": 3}.get(method, 100), "max_train": limit}


def run(case: Case, rng: np.random.Generator) -> Case:
    """Tune by cross-validation on the training part, fit on all of it, and score the test part."""
    X, X_test, y, y_test = binary_split(case["dataset"], case["split"])
    if case["max_train"] and len(y) > case["max_train"]:
        X, _, y, _ = train_test_split(
            X, y, stratify=y, train_size=case["max_train"], random_state=case["split"]
        )
    started = time.process_time()
    settings, scores = every(**case["grid"]), partial(_accuracies, case, int(rng.integers(2**31)))
    accuracies = cross_validated(scores, settings, X, y, case["n_folds"], case["split"])
    best = settings[int(np.argmax(accuracies))]
    return {
        "accuracy": 100 * float(scores([best], X, y, X_test, y_test)[0]),
        "validation": 100 * float(accuracies.max() / case["n_folds"]),
        "setting": best,
        "seconds": time.process_time() - started,
    }


def _accuracies(case, seed, settings, X, y, X_test, y_test):
    """Return the accuracy of each setting; parts that do not depend on C are computed once."""
    X, X_test = standardized(X, X_test)
    method = case["method"]
    shared: dict[Any, Any] = {}
    scores = []
    for setting in settings:
        scaled = setting | ({"gamma": setting["gamma"] / X.shape[1]} if "gamma" in setting else {})
        if method == "LGBM":
            scaled["num_leaves"] = 2 ** setting["max_depth"]
        model = named_model(method, case["n_rounds"], seed, **scaled)
        if method in ("GFC", "PBRFF"):
            key = tuple(value for name, value in setting.items() if name != "C")
            if key not in shared:
                shared[key] = model.represent(X, y)
            model = shared[key].set_params(C=setting["C"]).fit_machine(X, y)
        else:
            model.fit(X, y)
        # LightGBM names the columns it was given as an array.
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            scores.append(np.mean(model.predict(X_test) == y_test))
    return np.array(scores)


def verdict(results: Results) -> tuple[str, str]:
    """ "GBRFF2 [...] obtains the best average rank among the six methods and on average the best
    mean accuracy leaving apart 'bankmarketing'". Holds when it has the best mean and the best
    average rank of the five methods other than BMKR, and is on no table below its published mean by
    more than the published spread; does not hold otherwise; cannot tell where a table is below it
    only by what chance does with so few splits, three standard errors, or unless all fifteen tables
    were run.
    """
    rows = {
        row["name"]: [cell["ours"] for cell in row["cells"]]
        for row in beside_published(results, _PAPER)["rows"]
    }
    average, ranks = (
        dict(zip(_PAPER["columns"], rows[name])) for name in ("mean", "rank without BMKR")
    )
    del average["BMKR"], ranks["BMKR"]
    if None in average.values() or None in ranks.values():
        return "cannot tell", "not all fifteen tables were run with the five methods"
    off: list[str] = []
    doubtful: list[str] = []
    for table, accuracies in grouped(
        chosen(results, method="GBRFF2"), "accuracy", "dataset"
    ).items():
        (mean, spread), ours, n = PUBLISHED[table]["GBRFF2"], np.mean(accuracies), len(accuracies)
        if ours < mean - spread - 0.05:  # rounded as printed; a better figure is no failure
            # The spread is that of single splits, and so three standard errors of nine.
            missed = off if ours < mean - 3 * spread / np.sqrt(n) - 0.05 else doubtful
            missed.append(
                f"{table} GBRFF2 {ours:.1f} on {n} split{'s' * (n > 1)} (published {mean} ± "
                f"{spread})"
            )
    in_order = [
        dict(sorted(found.items(), key=lambda item: sign * item[1]))
        for found, sign in ((average, -1), (ranks, 1))
    ]
    why = f"means {listed(in_order[0], '.2f')}; average ranks {listed(in_order[1], '.2f')}"
    for words, tables in (
        ("below the published spread", off),
        ("below it, but within chance", doubtful),
    ):
        why += f"; {words}: {', '.join(tables)}" if tables else ""
    first = next(iter(in_order[0])) == next(iter(in_order[1])) == "GBRFF2"
    if first and doubtful and not off:
        return "cannot tell", why
    return judged(first and not off, why)
