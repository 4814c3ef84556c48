"""Every experiment keeps the contract, and runs at its smallest scale."""

import json

import numpy as np
import pytest

from bochner.datasets import DatasetNotFound, where
from bochner_papers.runner.catalog import SCALES, as_json, discover
from bochner_papers.runner.summary import averaged, beside_published, published
from bochner_papers.runner.workers import Task, case_rng

FOUND, BROKEN = discover()
EXPERIMENTS = [pytest.param(experiment, id=name) for name, experiment in FOUND.items()]


def test_all_modules_can_be_used():
    assert BROKEN == {}


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_contract_is_kept(experiment):
    assert experiment.words["paper"].strip()
    assert experiment.words["claim"].strip().endswith((".", ")"))
    sizes = [len(experiment.cases(scale)) for scale in SCALES]
    assert 0 < sizes[0] <= min(sizes[1:])
    assert sizes[0] <= 20, "the smallest scale runs in seconds"
    assert all(
        isinstance(text, str) and text
        for text in (*experiment.needs, *experiment.words["deviations"])
    )
    for name in experiment.needs:
        where(name)
    for case in experiment.cases("smoke"):
        assert json.loads(json.dumps(case)) == case
    assert experiment.module.run.__module__ == experiment.module.__name__


def test_sampling_is_judged_by_ten_draws_in_pairs():
    def results(gain, n_seeds=10):
        return [
            (
                {"sampling": sampling, "frequencies": 64, "seed": seed},
                {"rms error": error + 0.001 * seed},
            )
            for sampling, error in (("iid", 1.0), ("orthogonal", gain), ("qmc", 0.5))
            for seed in range(n_seeds)
        ]

    verdict = FOUND["rff_sampling"].module.verdict
    assert verdict(results(0.8))[0] == "holds"
    assert verdict(results(1.2))[0] == "does not hold"
    assert verdict(results(0.8, n_seeds=9))[0] == "cannot tell"


@pytest.mark.long
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_smallest_scale_runs_and_is_judged(experiment):
    results = []
    for case in experiment.cases("smoke"):
        try:
            result = experiment.module.run(
                dict(case), case_rng(Task(experiment.module.__name__, case))
            )
        except (DatasetNotFound, ModuleNotFoundError) as error:
            pytest.skip(str(error))
        results.append((case, as_json(result)))
        numbers = [value for value in result.values() if isinstance(value, float)]
        assert np.all(np.isfinite(numbers)), (case, result)
    verdict, why = experiment.module.verdict(results)
    assert verdict == "cannot tell", (
        f"the smallest scale shows that all runs, and is too small to judge: {why}"
    )
    assert why
    assert averaged(results)["rows"]
    paper = published(experiment.name)
    if paper is not None:
        beside_published(results, paper)
    if hasattr(experiment.module, "figure"):
        pytest.importorskip("matplotlib")
        drawing = experiment.module.figure(results)
        assert drawing is None or drawing.axes
