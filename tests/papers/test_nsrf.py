"""The experiments on not-so-random features at their smallest scale, and what they say about full results."""

import json

import numpy as np
import pytest

from bochner.datasets import data_folder
from bochner.experiments import nsrf_figure1, nsrf_table1


def smoke(experiment):
    results = []
    for case in json.loads(json.dumps(experiment.cases("smoke"))):
        result = experiment.run(case, np.random.default_rng(case["seed"]))
        json.dumps(result, allow_nan=False)
        results.append((case, result))
    return results


def test_figure_1_runs_and_learned_kernels_lead():
    results = smoke(nsrf_figure1)
    test = {(c["data"], c["method"]): r["test"] for c, r in results}
    assert test["windmill", "game 20"] > test["windmill", "rbf"] + 0.03
    assert test["sphere", "game 20"] > test["sphere", "arc-cosine best C"] + 0.03
    assert nsrf_figure1.verdict(results)[0] == "cannot tell"


def test_figure_1_verdict_can_turn_out_either_way():
    def result(test, n_atoms=20):
        return {"test": test, "n_atoms": n_atoms}

    base = {"seed": 0, "n_train": 2000, "n_test": 50_000}
    named = [("windmill", "rbf"), ("windmill", "game 100"), ("sphere", "arc-cosine best C"), ("sphere", "game 100")]
    good = [(base | {"data": d, "method": m}, result(t)) for (d, m), t in zip(named, (0.92, 0.99, 0.94, 0.992))]
    assert nsrf_figure1.verdict(good)[0] == "holds"
    bad = [*good[:3], (good[3][0], result(0.992, n_atoms=31))]
    assert nsrf_figure1.verdict(bad)[0] == "does not hold"


@pytest.mark.skipif(data_folder() is None, reason="needs the image data")
def test_table_1_runs_and_learned_features_lead():
    results = smoke(nsrf_table1)
    at_20 = {c["method"]: r["accuracy"]["20"] for c, r in results}
    assert min(at_20["game"], at_20["joint"]) > max(at_20["rff"], at_20["okrff"]) + 0.05
    assert nsrf_table1.verdict(results)[0] == "cannot tell"
    assert nsrf_table1.figure(results).axes


def test_table_1_verdict_names_pairs_where_the_claim_fails():
    scores = {"rff": 0.855, "okrff": 0.85, "game": 0.88, "joint": 0.885}
    results = [
        (
            {"pair": pair, "method": method, "seed": 0, "n_train": None},
            {"accuracy": {"100" if method in ("game", "joint") else "5000": score}},
        )
        for pair in nsrf_table1.PAIRS
        for method, score in scores.items()
    ]
    assert nsrf_table1.verdict(results)[0] == "holds"
    assert nsrf_table1.verdict(results[:-1])[0] == "cannot tell"  # the last pair lacks a method
    results[0][1]["accuracy"]["5000"] = 0.99
    verdict, why = nsrf_table1.verdict(results)
    assert verdict == "does not hold"
    assert "1 of 3 pairs" in why
