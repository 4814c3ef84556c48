"""Every rule on made-up lines: it can come out each of the three ways, and says whose sentence it
judges.
"""

import importlib
import json

import numpy as np
import pytest

from bochner_papers.runner.catalog import discover

FOUND, _ = discover()
THREE = ("holds", "does not hold", "cannot tell")


def module(name):
    return importlib.import_module(f"bochner_papers.{name}")


def quick(name, result):
    """All cases of the quick scale with ``result(case)`` as their results."""
    return [(case, result(case)) for case in json.loads(json.dumps(module(name).cases("quick")))]


def noise(case):
    """A little of something that differs between seeds."""
    return 1e-3 * (case.get("seed", 0) + case.get("split", 0))


# Each returns the lines of an outcome: 1 for what the paper claims, -1 for the opposite, 0 for
# neither.


def pbrff_figure1(side):
    seeds = np.random.default_rng(0).normal(size=30)
    # Neither: better on one set, and as good as the other on the second.
    return quick(
        "pbrff_figure1",
        lambda case: {
            "PB": 5 - (side or case["data"] == "bands") + seeds[case["seed"]] / 9,
            "RBF": 5.0,
        },
    )


def landmark_sets(name, side, result):
    """PB is better on all sets, on none, or on five of seven."""
    sets = ["breast", "ads_dedup", "farm", "mnist17", "mnist49", "mnist56", "adult"]
    better = {1: sets, -1: [], 0: sets[:5]}[side]
    return quick(name, lambda case: result(case, 4.0 if case["dataset"] in better else 6.0))


def pbrff_figure2(side):
    def curves(case, learned):
        flat = [learned] * len(case["shares"])
        wild = [learned + case["seed"]] * len(case["shares"])
        return {
            "PB-C": flat,
            "PB-R": wild,
            "RBF-C": [5.0] * len(flat),
            "RBF-R": [5.0 + case["seed"]] * len(flat),
        }

    return landmark_sets("pbrff_figure2", side, curves)


def pbrff_table1(side):
    def row(case, learned):
        return {
            "SVM": 1.0,
            "RBF": 5.0,
            "PB": learned,
            "PB β=1": 4.0,
            "PB D=64": 4.0,
            "RBF*": 4.0,
            "PB*": 4.5,
        }

    return landmark_sets("pbrff_table1", side, row)


def pbrff_figure3(side):
    def curves(case):
        n = len(case["D"])
        learned = [5.0 - side] * (n - 1) + [5.0]
        return {"RFF test": [5.0] * n, "OKRFF test": learned, "PBRFF test": learned}

    lines = quick("pbrff_figure3", curves)
    return lines if side else [pair for pair in lines if pair[0]["dataset"] in ("breast", "farm")]


def orff_figure1(side):
    power = {1: -0.5, -1: -0.25, 0: -0.5}[side]

    def line(case):
        size = case["n_components"]
        return {"error": size**power, "exact": 1 / size, "proposition_12": 2 / size}

    lines = quick("orff_figure1", line)
    return lines if side else [pair for pair in lines if pair[0]["n_components"] <= 30]


def orff_figure2(side):
    def line(case):
        power = {1: 1.0, -1: 2.0, 0: 1.0}[side] if case["method"] == "ORFF" else 3.0
        return {"error": 0.1, "fit_seconds": float(case["n_train"]) ** power}

    lines = quick("orff_figure2", line)
    return lines if side else [pair for pair in lines if pair[0].get("choice") != "two folds"]


def orff_figure3(side):
    # Neither: by one choice of λ it is ahead, by the other it is not.
    curl = {1: (0.6, 0.6), -1: (0.4, 0.4), 0: (0.6, 0.4)}[side]
    r2 = {"curl-OVK": 0.6, "independent ORFF": 0.5, "independent OVK": 0.5}

    def line(case):
        of_curl = curl[case.get("choice") == "leave-one-out"]
        return {"r2": r2.get(case["method"], of_curl), "fit_seconds": 1e-3 * case["n_train"]}

    return quick("orff_figure3", line)


def orff_missing(side):
    def line(case):
        gain = 0.1 * side * (case["method"] == "covariance")
        return {"missing": 0.5 + gain + noise(case), "held_out": 0.4 + gain + noise(case)}

    lines = quick("orff_missing", line)
    return lines if side else [pair for pair in lines if pair[0]["data"] == "mtr_jura"]


def orff_real(side):
    lines = quick(
        "orff_real", lambda case: {"r2": 0.5 + 0.1 * side * (case["method"] == "learned")}
    )
    if side < 0:  # the best of several coupled kernels counts, so all must be worse
        return [
            (c, {"r2": 0.5 if c["method"] in ("independent", "KernelRidge", "ExtraTrees") else 0.4})
            for c, _ in lines
        ]
    return lines if side else [pair for pair in lines if pair[0]["data"] == "mtr_enb"]


def gbrff_figure1(side):
    return quick(
        "gbrff_figure1", lambda case: {"accuracies": [0.5, {1: 1.0, -1: 0.9, 0: 0.99}[side]]}
    )


def gbrff_figure2(side):
    tables = list(dict.fromkeys(case["dataset"] for case in module("gbrff_figure2").cases("quick")))

    def line(case):
        sign = side or (
            1 if tables.index(case["dataset"]) % 2 else -1
        )  # one way here, the other way there
        value = 80 + sign * ["PBRFF", "GBRFF1", "GBRFF2"].index(case["method"])
        return {"accuracies": [value + 0.01 * tables.index(case["dataset"])] * len(case["counts"])}

    return quick("gbrff_figure2", line)


def gbrff_figure3(side):
    tables = list(dict.fromkeys(case["dataset"] for case in module("gbrff_figure3").cases("quick")))

    def line(case):
        place = tables.index(case["dataset"])
        gain = {1: 3.0, -1: -3.0, 0: 30.0 if place == 0 else -0.5}[side]
        start = 70 + gain * (case["K"] == 1) + 0.1 * place * (case["K"] == 20)
        return {"accuracies": [start, 75, 80, 82, 84, 85.0]}

    return quick("gbrff_figure3", line)


def gbrff_figure4(side):
    seconds = {
        "BMKR": 9.0,
        "GFC": 5.0,
        "PBRFF": 4.0,
        "GBRFF1": 2.0,
        "GBRFF2": {1: 1.0, -1: 3.0, 0: 1.95}[side],
    }
    return quick(
        "gbrff_figure4",
        lambda case: {"sizes": [150, 225, 337], "seconds": [seconds.get(case["method"], 0.1)] * 3},
    )


def gbrff_figure5(side):
    def line(case):
        lead = side * 1.0 if side else (1.0 if case["seed"] % 2 else -1.0)
        return {"accuracy": 90.0 + lead * (case["method"] != "LGBM") + noise(case)}

    return quick("gbrff_figure5", line)


def gbrff_table2(side):
    published = module("gbrff_table2").PUBLISHED

    def line(case):
        lower = 2.0 if side < 0 and case["method"] == "GBRFF2" else 0.0
        return {"accuracy": published[case["dataset"]][case["method"]][0] - lower}

    lines = quick("gbrff_table2", line)
    return lines if side else [pair for pair in lines if pair[0]["dataset"] != "wine"]


def nsrf_figure1(side):
    fixed = {"rbf": 0.92, "rbf tuned": 0.978, "arc-cosine": 0.9, "arc-cosine tuned": 0.95}
    # Neither: tuned starting points do it, those of the median rule do not.
    games = {1: (0.992, 0.992), -1: (0.97, 0.97), 0: (0.97, 0.992)}[side]

    def line(case):
        if case["method"] == "drawn":
            return {"drawn": {}}
        learned = 0.992 if case["data"] == "sphere" else games["tuned" in case["method"]]
        return {"test": fixed.get(case["method"], learned), "n_atoms": 20}

    return quick("nsrf_figure1", line)


def nsrf_table1(side):
    def line(case):
        lead = side * (case["method"] == "game")
        noisy = 0.1 * case["seed"] if side == 0 else 1e-4 * case["seed"]
        scores = {
            m: 0.5 + 0.05 * np.log10(m) + lead * (0.01 + 2 / m) + noisy for m in case["counts"]
        }
        if side == 1 and case["method"] == "game":
            scores[100] = scores[100] + 0.1  # more than 5000 of the others
        return {"accuracy": {str(m): score for m, score in scores.items()}}

    return quick("nsrf_table1", line)


def rff_sampling(side):
    def line(case):
        factor = (
            {1: 0.7, -1: 1.3, 0: 0.9 if case["seed"] % 2 else 1.1}[side]
            if case["sampling"] != "iid"
            else 1.0
        )
        return {"rms error": factor * (1 + noise(case)) / case["frequencies"] + 1e-6 * case["seed"]}

    return quick("rff_sampling", line)


def risk_certificates(side):
    def line(case):
        certificate = {1: 20.0, -1: 60.0, 0: 20.0}[side]
        return {
            "certificate, randomized": certificate,
            "guessing": 40.0,
            "test error, randomized": 10.0,
        }

    lines = quick("risk_certificates", line)
    return lines if side else [pair for pair in lines if pair[0]["dataset"] != "farm"]


def fourier_boosting_regression(side):
    lines = quick(
        "fourier_boosting_regression",
        lambda case: {"r2": 0.8 + 0.1 * side * (case["method"] == "FourierBoosting")},
    )
    return lines if side else [pair for pair in lines if pair[0]["split"] < 2]


LINES = {name: globals()[name] for name in FOUND}


@pytest.mark.parametrize("side", [1, -1, 0])
@pytest.mark.parametrize("name", sorted(FOUND))
def test_a_rule_can_come_out_each_way(name, side):
    verdict, why = FOUND[name].module.verdict(LINES[name](side))
    assert verdict == {1: "holds", -1: "does not hold", 0: "cannot tell"}[side], why
    assert why


def test_few_splits_below_the_published_spread_are_doubtful_and_many_are_not():
    mean, spread = module("gbrff_table2").PUBLISHED["heart"]["GBRFF2"]
    judge = module("gbrff_table2").verdict

    def lines(n_splits, spreads_below):
        def lower(case, result):
            if case["method"] != "GBRFF2":
                return result
            # A point better elsewhere: best on average all the same.
            return {
                "accuracy": mean - spreads_below * spread - 0.1
                if case["dataset"] == "heart"
                else result["accuracy"] + 1
            }

        pairs = [(case, lower(case, result)) for case, result in gbrff_table2(1)]
        return [pair for pair in pairs if pair[0]["split"] < n_splits]

    assert judge(lines(10, 0.9))[0] == "holds"
    assert judge(lines(10, 1.1))[0] == "does not hold"
    assert judge(lines(4, 1.1))[0] == "cannot tell"
    assert judge(lines(4, 1.6))[0] == "does not hold"


@pytest.mark.parametrize(
    "name", sorted(name for name in FOUND if name.startswith(("pbrff", "orff_f", "gbrff", "nsrf")))
)
def test_a_rule_quotes_the_papers_sentence(name):
    rule = FOUND[name].words["rule"]
    assert rule.startswith('"')
    assert rule.count('"') >= 2, rule
    assert "olds when" in rule, rule
