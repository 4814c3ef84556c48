"""The experiments on operator-valued features at their smallest scale, and their verdicts on made-up results."""

import importlib
import json

import numpy as np
import pytest

from bochner.datasets import data_folder

NAMES = ["orff_figure1", "orff_figure2", "orff_figure3", "orff_real"]


def module(name):
    return importlib.import_module(f"bochner.experiments.{name}")


def available(experiment):
    folder = data_folder()
    return all(folder is not None and (folder / f"{name}.npz").is_file() for name in getattr(experiment, "NEEDS", ()))


@pytest.mark.parametrize("name", NAMES)
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
        (case, {"error": case["n_components"] ** -0.5}) for case in experiment.cases("quick") if case["part"] == "error"
    ]
    assert experiment.verdict(results)[0] == "holds"
    slow = [(case, {"error": case["n_components"] ** -0.25}) for case, _ in results]
    assert experiment.verdict(slow)[0] == "does not hold"


def test_figure2_can_fail():
    experiment = module("orff_figure2")

    def made_up(exponent):
        return [
            (case, {"error": 0.1, "fit_seconds": case["n_train"] ** (exponent if case["method"] == "ORFF" else 3.0)})
            for case in experiment.cases("quick")
        ]

    assert experiment.verdict(made_up(1.0))[0] == "holds"
    assert experiment.verdict(made_up(2.0))[0] == "does not hold"


def test_figure3_can_fail():
    experiment = module("orff_figure3")

    def made_up(r2_of_curl, r2_of_exact=0.6):
        r2 = {"curl-ORFF": r2_of_curl, "curl-OVK": r2_of_exact}
        return [
            (case, {"r2": r2.get(case["method"], 0.5), "fit_seconds": 1e-3 * case["n_train"]})
            for case in experiment.cases("quick")
        ]

    assert experiment.verdict(made_up(0.6))[0] == "holds"
    for r2_of_curl, r2_of_exact, reason in (
        (0.4, 0.4, "not ahead of independent"),
        (0.6, 0.9, "behind the exact kernel"),
    ):
        word, why = experiment.verdict(made_up(r2_of_curl, r2_of_exact))
        assert word == "does not hold"
        assert why.startswith(reason)


def test_real_data_can_fail():
    experiment = module("orff_real")

    def made_up(r2_of_learned):
        return [
            (case, {"r2": r2_of_learned if case["method"] == "learned" else 0.5}) for case in experiment.cases("quick")
        ]

    assert experiment.verdict(made_up(0.6))[0] == "holds"
    assert experiment.verdict(made_up(0.5))[0] == "does not hold"
    behind_ridge = [(c, {"r2": 0.7} if c["method"] == "KernelRidge" else r) for c, r in made_up(0.6)]
    assert experiment.verdict(behind_ridge)[0] == "does not hold"


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_drawn_from_results(name):
    pytest.importorskip("matplotlib")
    experiment = module(name)
    value = {
        "error": 0.1,
        "r2": 0.5,
        "fit_seconds": 1.0,
        "empirical": 1.0,
        "exact": 1.0,
        "proposition_12": 1.0,
        "safe": 1.0,
    }
    figure = experiment.figure([(case, value) for case in experiment.cases("quick")])
    assert all(axis.get_xlabel() for axis in figure.axes)
