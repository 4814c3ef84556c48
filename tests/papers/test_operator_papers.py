"""The experiments on operator-valued features at their smallest scale, and their verdicts on
made-up results.
"""

import importlib
import json

import numpy as np
import pytest
from selection import long_except

from bochner import CurlFree, Decomposable, Gaussian, OperatorKernelRidge
from bochner.datasets import data_folder
from bochner_papers.orff_protocol import two_fold_lambda

NAMES = ["orff_figure1", "orff_figure2", "orff_figure3", "orff_real", "orff_missing"]


def module(name):
    return importlib.import_module(f"bochner_papers.{name}")


def available(experiment):
    folder = data_folder()
    return all(
        folder is not None and (folder / f"{name}.npz").is_file()
        for name in getattr(experiment, "NEEDS", ())
    )


@pytest.mark.parametrize("name", long_except(NAMES, "orff_figure1", "orff_real"))
def test_smallest_scale_runs_and_speaks_json(name):
    experiment = module(name)
    if not available(experiment):
        pytest.skip("data sets are not at hand")
    results = []
    for index, case in enumerate(experiment.cases("smoke")):
        assert json.loads(json.dumps(case)) == case
        result = experiment.run(case, np.random.default_rng(index))
        assert json.loads(json.dumps(result)) == result
        results.append((case, result))
    word, why = experiment.verdict(results)
    assert word == "cannot tell"
    assert why


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_cases_are_distinct_plain_dictionaries(name, scale):
    cases = module(name).cases(scale)
    assert len({json.dumps(case, sort_keys=True) for case in cases}) == len(cases)


def test_figure1_can_fail():
    experiment = module("orff_figure1")
    results = [
        (case, {"error": case["n_components"] ** -0.5})
        for case in experiment.cases("quick")
        if case["part"] == "error"
    ]
    assert experiment.verdict(results)[0] == "holds"
    slow = [(case, {"error": case["n_components"] ** -0.25}) for case, _ in results]
    assert experiment.verdict(slow)[0] == "does not hold"


def one_outcome(r2, fit_seconds, fewer=()):
    """Results of Figure 3 at the quick scale: R² by (method, choice of λ), else 0.5."""
    return [
        (
            case,
            {
                "r2": r2.get((case["method"], case.get("choice")), 0.5),
                "fit_seconds": fit_seconds(case["n_train"]),
            },
        )
        for case in module("orff_figure3").cases("quick")
        if case["method"] not in fewer
    ]


def test_figure3_has_a_verdict_for_each_of_its_three_claims():
    verdict = module("orff_figure3").verdict
    both = ("two folds", "leave-one-out")
    behind = {("curl-ORFF", choice): 0.6 for choice in both} | {
        ("curl-OVK", choice): 0.9 for choice in both
    }
    word, why = verdict(one_outcome(behind, float))
    assert word == "does not hold"
    assert why.startswith(
        "structured above independent: holds; within 0.05 of the exact kernel: does not hold; "
        "linear time: holds"
    )
    lower = {("curl-ORFF", choice): 0.4 for choice in both}
    assert verdict(one_outcome(lower, float))[1].startswith(
        "structured above independent: does not hold; within 0.05 of the exact kernel: does not"
    )
    ahead = {("curl-ORFF", choice): 0.6 for choice in both}
    assert verdict(one_outcome(ahead, float))[0] == "holds"
    word, why = verdict(one_outcome(ahead, lambda n: n**1.5))
    assert word == "does not hold"
    assert "linear time: does not hold; time ~ N^1.50" in why
    one = {("curl-ORFF", both[0]): 0.6, ("curl-ORFF", both[1]): 0.4}
    word, why = verdict(one_outcome(one, float))
    assert word == "cannot tell"
    assert why.startswith("structured above independent: cannot tell")


@pytest.mark.parametrize("method", ["curl-ORFF", "independent ORFF"])
def test_figure3_has_the_same_function_by_rows_as_by_features(method, monkeypatch):
    experiment = module("orff_figure3")
    case = next(c for c in experiment.cases("smoke") if c["method"] == method)
    by_features = experiment.run(case, np.random.default_rng(0))
    monkeypatch.setattr(experiment, "_MOST_FEATURES", 0)
    by_rows = experiment.run(case, np.random.default_rng(0))
    assert by_rows["lambda"] == by_features["lambda"]
    assert by_rows["r2"] == pytest.approx(by_features["r2"], abs=1e-6)


@pytest.mark.parametrize("family", [CurlFree, Decomposable])
def test_lambda_by_two_folds_is_that_of_plain_fits_on_the_halves(family):
    rng = np.random.default_rng(3)
    X, Y = rng.uniform(-1, 1, size=(40, 2)), rng.standard_normal((40, 2))
    Y += 3 * X
    kernel, lambdas = (
        family(Gaussian(gamma=0.7).sample(30, 2, rng)),
        [1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0],
    )
    halves = np.array_split(np.random.default_rng(0).permutation(40), 2)
    errors = []
    for penalty in lambdas:
        fits = [OperatorKernelRidge(kernel, alpha=penalty * len(a)).fit(X[a], Y[a]) for a in halves]
        errors.append(
            sum(np.sum((fit.predict(X[b]) - Y[b]) ** 2) for fit, b in zip(fits, halves[::-1]))
        )
    assert (
        two_fold_lambda(kernel, X, Y, lambdas, np.random.default_rng(0))
        == lambdas[np.argmin(errors)]
    )
    assert 0 < np.argmin(errors) < 5  # a choice that could have been missed


def test_real_data_can_fail():
    experiment = module("orff_real")

    def made_up(r2_of_learned):
        return [
            (case, {"r2": r2_of_learned if case["method"] == "learned" else 0.5})
            for case in experiment.cases("quick")
        ]

    assert experiment.verdict(made_up(0.6))[0] == "holds"
    assert experiment.verdict(made_up(0.5))[0] == "does not hold"
    behind_ridge = [
        (c, {"r2": 0.7} if c["method"] == "KernelRidge" else r) for c, r in made_up(0.6)
    ]
    assert experiment.verdict(behind_ridge)[0] == "does not hold"


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_drawn_from_results(name):
    pytest.importorskip("matplotlib")
    experiment = module(name)
    value = {
        "error": 0.1,
        "r2": 0.5,
        "missing": 0.5,
        "held_out": 0.5,
        "fit_seconds": 1.0,
        "empirical": 1.0,
        "exact": 1.0,
        "proposition_12": 1.0,
        "safe": 1.0,
    }
    figure = experiment.figure([(case, value) for case in experiment.cases("quick")])
    assert all(axis.get_xlabel() for axis in figure.axes)
