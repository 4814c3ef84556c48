"""Running experiments: discovery, resuming, failures, skipped cases, verdicts; with small fake
experiments.
"""

import io
import json
import os
import sys

import numpy as np
import pytest
from runner_samples import EXPERIMENT, errors, run_all
from selection import long_except

from bochner._terminal import progress as _progress
from bochner_papers.runner.catalog import ExperimentError, case_key, choose, discover
from bochner_papers.runner.reproduction import reproduce, result_path
from bochner_papers.runner.store import ResultFile, finished_records
from bochner_papers.runner.workers import Task, case_rng


@pytest.mark.parametrize("workers", long_except(["in process", "spawned"], "in process"))
def test_results_are_written_summarized_and_not_repeated(workers, lab, tmp_path, request):
    if workers == "in process":
        request.getfixturevalue("workers_in_process")
    lab("one")
    (summary,) = run_all(lab, "one", n_jobs=2)
    assert summary["verdict"] == "holds"
    assert summary["rule"] == "Holds always."
    assert summary["n_finished"] == summary["n_cases"] == 6
    assert [row[0] for row in summary["table"]["rows"]] == ["a", "b"]
    assert summary["table"]["rows"][0][1]["n"] == 3
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert {entry["result"]["threads"] for entry in summary["results"]} == {str(max(1, cores // 2))}

    (again,) = run_all(lab, "one", n_jobs=2)
    assert (tmp_path / "log").read_text().count("end") == 6
    assert again["table"] == summary["table"]
    assert again["results"] == summary["results"]

    (fresh,) = run_all(lab, "one", fresh=True)  # on one worker: the same random numbers
    assert (tmp_path / "log").read_text().count("end") == 12
    assert errors(fresh) == errors(summary)


LEAVES_OUT = """
def left_out(case):
    '''Seeds from 18 on, which take a day.'''
    return case["seed"] >= 18
"""


@pytest.mark.usefixtures("workers_in_process")
def test_what_an_experiment_leaves_out_of_the_papers_scale_runs_last_and_only_when_asked_for(
    lab, tmp_path
):
    lab("one", EXPERIMENT + LEAVES_OUT)
    experiment = choose(["one"], lab.package)[0]
    assert [case["seed"] for case in experiment.cases("paper")[-4:]] == [18, 19, 18, 19]
    assert not any(experiment.is_left_out(case, "quick") for case in experiment.cases("paper"))
    said: list[str] = []
    (summary,) = run_all(lab, "one", scale="paper", say=said.append)
    assert (summary["n_cases"], summary["n_finished"], summary["n_left_out"]) == (40, 36, 4)
    assert summary["left_out"] == "Seeds from 18 on, which take a day."
    assert summary["why"] == "36 results"  # left out, not missing
    assert said == ["4 cases that take too long are left out; --whole runs them."]
    (whole,) = run_all(lab, "one", scale="paper", whole=True)
    assert (whole["n_finished"], whole["n_left_out"]) == (40, 0)
    assert (tmp_path / "log").read_text().count("end") == 40


@pytest.mark.usefixtures("workers_in_process")
def test_one_failing_case_does_not_stop_the_others_and_is_tried_again(lab, tmp_path):
    flag = tmp_path / "repaired"
    broken = f"if case['method'] == 'a' and not Path({str(flag)!r}).exists(): raise RuntimeError('broken <b>')\n    return"
    lab("one", **{"return {": broken + " {"})
    (summary,) = run_all(lab, "one")
    assert summary["n_finished"] == 3
    assert len(summary["failed"]) == 3
    assert summary["failed"][0]["error"] == "RuntimeError: broken <b>"
    assert "3 of 6 cases are missing" in summary["why"]
    flag.write_text("")
    (summary,) = run_all(lab, "one")
    assert summary["n_finished"] == 6
    assert summary["failed"] == []


@pytest.mark.parametrize("workers", long_except(["forked", "spawned"], "forked"))
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_crashing_worker_costs_one_case(workers, lab, request):
    if workers == "forked":
        request.getfixturevalue("forked_workers")
    lab("one", **{"return {": "if case == {'method': 'b', 'seed': 1}: os._exit(9)\n    return {"})
    (summary,) = run_all(lab, "one", n_jobs=2)
    assert summary["n_finished"] == 5
    assert [entry["case"] for entry in summary["failed"]] == [{"method": "b", "seed": 1}]
    assert "worker process died (exit code 9)" in summary["failed"][0]["error"]


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_workers_draw_no_bars_of_their_own(lab):
    pytest.importorskip("rich")
    drawn = "import io, sys\n    from bochner._terminal.progress import track\n"
    drawn += "    sys.stderr = io.StringIO()\n    sys.stderr.isatty = lambda: True\n"
    drawn += "    list(track([1, 2], 'inner'))\n"
    lab("one", **{'return {"error"': drawn + '    return {"drawn": sys.stderr.getvalue(), "error"'})
    (summary,) = run_all(lab, "one")
    assert {entry["result"]["drawn"] for entry in summary["results"]} == {""}


@pytest.mark.usefixtures("workers_in_process")
def test_missing_data_and_missing_baselines_are_skipped_in_words(lab, monkeypatch):
    monkeypatch.setenv("BOCHNER_DATA", str(lab.out))
    monkeypatch.setenv("BOCHNER_CACHE", str(lab.out))
    load = "from bochner.datasets import load\n    if case['method'] == 'a': load('occupancy' if case['seed'] else 'sonar')\n    import no_such_library\n    return {"
    lab("one", **{"return {": load})
    (summary,) = run_all(lab, "one")
    assert summary["failed"] == []
    assert summary["verdict"] == "cannot tell"
    reasons = {entry["reason"] for entry in summary["skipped"]}
    assert any("occupancy.npz" in reason for reason in reasons)
    assert any("no_such_library" in reason for reason in reasons)
    assert any("BOCHNER_OFFLINE" in reason for reason in reasons), (
        "workers stay off the network unless asked"
    )


def fill(lab, name, source):
    """All results of an experiment, written without running it."""
    cases = choose([name], lab.package)[0].cases("smoke")
    with ResultFile(result_path(lab.out, name, "smoke")) as store:
        for case in cases:
            store.append({"case": case, "result": {"error": 1.0}, "seconds": 1.0, "source": source})


def test_a_verdict_that_cannot_be_drawn_is_a_failure(lab):
    lab("one", **{'return "holds", f"{len(results)} results"': "return results[99]"})
    lab("two", **{'"holds"': '"maybe"'})
    fill(lab, "one", "")
    fill(lab, "two", "")
    one, two = run_all(lab, "one", "two")
    assert one["verdict"] == two["verdict"] == "cannot tell"
    assert one["failed"][0]["error"].startswith("verdict: ")
    assert "must return one of" in two["failed"][0]["error"]


def test_results_of_earlier_code_are_counted(lab):
    lab("one")
    lab("two")
    fill(lab, "one", "older")
    fill(lab, "two", choose(["two"], lab.package)[0].source)
    one, two = run_all(lab, "one", "two")
    assert one["n_of_earlier_code"] == 6
    assert two["n_of_earlier_code"] == 0
    assert one["seconds"] == 6


@pytest.mark.usefixtures("workers_in_process")
def test_cases_that_another_scale_has_run_are_taken_over(lab, tmp_path):
    lab("one")
    (few,) = run_all(lab, "one", scale="smoke")
    (more,) = run_all(lab, "one", scale="quick")
    assert (tmp_path / "log").read_text().count("end") == 12  # six of the twelve were there
    assert errors(more)[:3] == errors(few)[:3]
    assert errors(more)[6:9] == errors(few)[3:]
    run_all(lab, "one", scale="quick", fresh=True)
    assert (tmp_path / "log").read_text().count("end") == 24


@pytest.mark.usefixtures("workers_in_process")
def test_what_an_earlier_version_ran_at_another_scale_is_run_again(lab, tmp_path):
    lab("one")
    run_all(lab, "one", scale="smoke")
    path = result_path(lab.out, "one", "smoke")
    older = [json.loads(line) | {"source": "of before"} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(record) + "\n" for record in older))
    (more,) = run_all(lab, "one", scale="quick")
    assert (tmp_path / "log").read_text().count("end") == 6 + 12
    assert more["n_of_earlier_code"] == 0


@pytest.mark.usefixtures("workers_in_process")
def test_results_without_a_source_are_older_and_are_renewed_when_asked(lab):
    lab("one")
    experiment = choose(["one"], lab.package)[0]
    cases = experiment.cases("smoke")
    made_by = ["older", None, experiment.source]
    with ResultFile(result_path(lab.out, "one", "smoke")) as store:
        for case, source in zip(cases, made_by):
            record = {"case": case, "result": {"error": 9.0}, "seconds": 1.0}
            store.append(record if source is None else record | {"source": source})
    (kept,) = run_all(lab, "one")
    assert kept["n_of_earlier_code"] == 2
    assert errors(kept)[:3] == [9.0, 9.0, 9.0]
    (renewed,) = run_all(lab, "one", renew=True)
    assert renewed["n_of_earlier_code"] == 0
    assert [error == 9.0 for error in errors(renewed)[:3]] == [False, False, True]
    assert errors(renewed)[3:] == errors(kept)[3:]


def test_two_runs_cannot_write_one_file(lab):
    pytest.importorskip("fcntl")
    lab("one")
    path = result_path(lab.out, "one", "smoke")
    with ResultFile(path), pytest.raises(ExperimentError, match="Another run is writing"):
        run_all(lab, "one")


@pytest.mark.usefixtures("workers_in_process")
def test_damaged_lines_are_named_and_their_cases_run_again(lab, tmp_path):
    lab("one")
    fill(lab, "one", "")
    path = result_path(lab.out, "one", "smoke")
    broken = path.read_text().splitlines(keepends=True)
    broken[1] = broken[1][20:]
    path.write_text("".join(broken))
    said = []
    (summary,) = run_all(lab, "one", say=said.append)
    assert summary["n_finished"] == 6
    assert (tmp_path / "log").read_text().count("end") == 1
    assert said[0] == f"Damaged and not counted: line(s) 2 of {path}."


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("not json\n[1]\n")
    with pytest.raises(ExperimentError, match="holds no results of an experiment"):
        finished_records(path)


def test_discovery_skips_helpers_and_names_broken_modules(lab):
    lab("one")
    lab("_private")
    lab("helper", "x = 1")
    lab("broken", "import no_such_package_at_all")
    lab("partial", "CLAIM = 'x'")
    found, broken = discover(lab.package)
    assert list(found) == ["one"]
    assert "no_such_package_at_all" in broken["broken"]
    assert "lacks PAPER" in broken["partial"]
    with pytest.raises(ExperimentError, match="cannot be used"):
        choose(["broken"], lab.package)
    with pytest.raises(ExperimentError, match=r"There is no experiment 'two'\. There are: one"):
        choose(["two"], lab.package)


def test_cases_are_plain_and_distinct(lab):
    lab("one", **{"return [{": "return 2 * [{"})
    with pytest.raises(ExperimentError, match="lists a case twice"):
        choose(["one"], lab.package)[0].cases("smoke")
    assert case_key({"a": 1, "b": 2}) == case_key({"b": 2, "a": 1})


def test_each_case_has_its_own_stream():
    draws = [case_rng(Task("lab.x", {"seed": seed})).random() for seed in range(3)]
    assert len(set(draws)) == 3
    assert draws[0] == case_rng(Task("elsewhere.x", {"seed": 0})).random()
    assert case_rng(Task("lab.y", {"seed": 0})).random() != draws[0]
    assert isinstance(case_rng(Task("lab.x", {})), np.random.Generator)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.usefixtures("workers_in_process")
def test_a_terminal_gets_a_bar_that_is_gone_before_a_summary_is_printed(lab, monkeypatch):
    pytest.importorskip("rich")
    bars, stdout, new_bar = [], sys.stdout, _progress._new_bar
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr(_progress, "_new_bar", lambda: bars.append(new_bar()) or bars[-1])
    lab("one")
    lab("two")
    for _ in reproduce(choose(["one", "two"], lab.package), "smoke", lab.out, n_jobs=1):
        assert sys.stdout is stdout  # a bar that is drawn takes over what is printed
        assert not bars[-1].live.is_started
    assert [bar.tasks[0].total for bar in bars] == [12, 6]
