"""Accuracy of six methods on sixteen tables (Gautheron et al. 2020, Table 2)."""

import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import rankdata
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
from .runner.results import Case, Results, every, listed, table
from .runner.summary import published

PAPER = "Gautheron et al. 2020, Table 2"
CLAIM = (
    "Over the fifteen tables GBRFF2 has the best mean accuracy and the best average rank of the "
    "six methods."
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
    "training rows, PBRFF 6000. So few rounds are not BMKR, and only its 100 rounds are judged."
)

TRIED = (
    "The paper's grids, folds and rounds for five methods on the same splits and folds. GBRFF2 has "
    "the best mean and the best average rank of the five, as printed, but its lead over LightGBM "
    "in mean accuracy is within its error over tables: 0.5 ± 0.7 points over the first five splits "
    "of the small tables, 0.2 ± 0.6 over seven, since the last two of heart and bupa are hard. "
    "With BMKR the verdict takes four CPU hours on the small tables and days on the large ones; "
    "the other splits take nine CPU hours."
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
            for case in _planned(PAPER_GRIDS, split=range(20), dataset=NEEDS, method=METHODS)
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


_SPLITS_RUN = dict.fromkeys(SMALL, 7) | dict.fromkeys(LARGE, 1) | {APART: 0}


def left_out(case: Case) -> bool:
    """BMKR, four CPU hours on the small tables and days on the large ones; bankmarketing; and of
    the 20 splits all but seven of each small table and one of each large one, nine CPU hours.
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
    mean accuracy leaving apart 'bankmarketing'". Holds when GBRFF2's lead over each of the other
    five, in accuracy and in rank, is more than two standard errors of the paired differences over
    the fifteen tables; does not hold when it is behind one of them by as much; else cannot tell,
    and so while BMKR was not run with its 100 rounds.
    """
    whole = [pair for pair in results if pair[0]["method"] != "BMKR" or pair[0]["n_rounds"] == 100]
    accuracies, tables = table(whole, "accuracy", "dataset", "method"), [*SMALL, *LARGE]
    methods = [m for m in METHODS if all(m in accuracies.get(name, {}) for name in tables)]
    if not set(METHODS[:5]) <= set(methods):
        return "cannot tell", "not all fifteen tables were run with the five methods"
    of_tables = np.array([[accuracies[name][m] for m in methods] for name in tables])
    # Rounded as printed, so that accuracies that look equal share a rank.
    ranks = rankdata(-of_tables.round(1), axis=1)
    words, leads = [], []
    for quantity, values in (("accuracy", of_tables), ("rank", -ranks)):
        ahead = values[:, :1] - values[:, 1:]
        errors = ahead.std(axis=0, ddof=1) / np.sqrt(len(tables))
        leads += list(zip(ahead.mean(axis=0), errors))
        mean = dict(zip(methods, np.abs(values.mean(axis=0))))
        words.append(f"mean {quantity}: {listed(mean, '.2f')}")
        of_others = [
            f"{m} {v.mean():+.2f} ± {e:.2f}" for m, v, e in zip(methods[1:], ahead.T, errors)
        ]
        words.append(f"lead of GBRFF2 in {quantity}, paired over tables: {', '.join(of_others)}")
    if len(methods) < len(METHODS):
        words.append("BMKR with 100 rounds was not run on all tables")
    if any(lead < -2 * error for lead, error in leads):
        return "does not hold", "; ".join(words)
    ahead_of_all = methods == METHODS and all(lead > 2 * error for lead, error in leads)
    return ("holds" if ahead_of_all else "cannot tell"), "; ".join(words)
