"""Runs of experiments that are killed or interrupted: no case is lost, none is run twice, and no
worker computes on.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from runner_samples import errors, lines, run_all

from bochner_papers.runner.catalog import case_key, choose
from bochner_papers.runner.reproduction import result_path
from bochner_papers.runner.store import finished_records
from bochner_papers.runner.workers import Outcome, Task, case_rng, run_tasks

DRIVER = """
import sys
from pathlib import Path
from bochner_papers.runner.catalog import choose
from bochner_papers.runner.reproduction import reproduce
for summary in reproduce(choose(["slow"], sys.argv[1]), "quick", Path(sys.argv[2]), n_jobs=2):
    print(summary["n_finished"])
"""


def start(lab, tmp_path):
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]),
        "FAKE_SLEEP": "0.15",
    }
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, lab.package, str(lab.out)], env=environment
    )


def wait_for_lines(path, count, process, seconds=120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if path.is_file() and path.read_bytes().count(b"\n") >= count:
            return
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    raise AssertionError("no results in time")


def alive(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return not status.is_file() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_a_killed_run_goes_on_without_losing_or_repeating_a_case(lab, tmp_path):
    lab("slow")
    path, log = result_path(lab.out, "slow", "quick"), tmp_path / "log"
    process = start(lab, tmp_path)
    try:
        wait_for_lines(path, 4, process)
    finally:
        process.kill()
        process.wait()
    with path.open("ab") as file:
        file.write(b'{"case": {"method": "a", "se')  # the half line that a kill in mid-write leaves
    before = {record["case"]["method"] + str(record["case"]["seed"]) for record in lines(path)}
    workers = {int(line.split()[1]) for line in log.read_text().splitlines()}
    deadline = time.monotonic() + 30
    while any(alive(pid) for pid in workers):
        assert time.monotonic() < deadline, "workers of a killed run must not compute on"
        time.sleep(0.05)

    (summary,) = run_all(lab, "slow", scale="quick")
    assert summary["n_finished"] == 12
    finished = [line.split()[2] for line in log.read_text().splitlines() if line.startswith("end")]
    assert all(finished.count(name) == 1 for name in before), "a recorded case ran twice"
    names = [record["case"]["method"] + str(record["case"]["seed"]) for record in lines(path)]
    assert len(names) == len(set(names)) == 12

    experiment = choose(["slow"], lab.package)[0]
    tasks = [Task(experiment.module.__name__, case) for case in experiment.cases("quick")]
    assert errors(summary) == [case_rng(task).random() for task in tasks], (
        "the table of an uninterrupted run"
    )


# Everything is imported once; each run is a fork, and so are its workers: a run takes a fraction of
# a second instead of many.
QUICK_STARTS = """
import multiprocessing, os, sys, time
from pathlib import Path
from bochner_papers.runner.catalog import ExperimentError, choose
from bochner_papers.runner.reproduction import reproduce
from bochner_papers.runner import workers
forks = multiprocessing.get_context("fork")
workers.multiprocessing.get_context = lambda kind: forks
experiments = choose(["slow"], sys.argv[1])
for _ in sys.stdin:
    child = os.fork()
    while not child:
        try:
            list(reproduce(experiments, "quick", Path(sys.argv[2]), n_jobs=2))
            os._exit(0)
        except ExperimentError:  # forks of a killed run hold its lock too, until they see that it has died
            time.sleep(0.01)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


@pytest.mark.skipif(
    not hasattr(signal, "SIGKILL") or not hasattr(os, "fork"), reason="needs kill -9 and forks"
)
@pytest.mark.long
@pytest.mark.parametrize("n_kills", [5, 40])
def test_kills_at_random_moments_lose_and_double_nothing(lab, tmp_path, n_kills):
    lab("slow")
    path, rng = result_path(lab.out, "slow", "quick"), np.random.default_rng(0)
    experiment = choose(["slow"], lab.package)[0]
    tasks = [Task(experiment.module.__name__, case) for case in experiment.cases("quick")]
    undisturbed = {case_key(task.case): case_rng(task).random() for task in tasks}
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]),
        "FAKE_SLEEP": "0.02",
    }
    command = [sys.executable, "-c", QUICK_STARTS, lab.package, str(lab.out)]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def run(seconds=None):
            """One run, killed after so long; its duration, and whether it was killed."""
            process.stdin.write("\n")
            process.stdin.flush()
            child, begun = int(process.stdout.readline()), time.monotonic()
            if seconds is not None:
                time.sleep(seconds)
                with contextlib.suppress(ProcessLookupError):  # it has ended before
                    os.kill(child, signal.SIGKILL)
            killed = int(process.stdout.readline()) == signal.SIGKILL
            return time.monotonic() - begun, killed

        duration, _ = run()
        killed, struck_within = 0, 0
        while killed < n_kills:
            known: dict = {}
            path.unlink()
            while len(known) < len(undisturbed):
                killed += run(duration * rng.uniform(0, 0.8))[1]
                found = {
                    key: record["result"]["error"] for key, record in finished_records(path).items()
                }
                assert found.items() >= known.items(), "a finished case was lost or changed"
                struck_within += 0 < len(found) < len(undisturbed)
                known = found
            run()
            names = [case_key(record["case"]) for record in lines(path)]
            assert len(names) == len(set(names)) == len(undisturbed), (
                "a case was doubled, or a line is half written"
            )
            assert known == undisturbed, "another result than that of an undisturbed run"
        process.stdin.close()
    assert struck_within >= n_kills / 8


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_an_interrupted_run_ends_its_workers(lab, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_SLEEP", "60")
    lab("one")
    tasks = [Task(f"{lab.package}.one", {"method": "a", "seed": seed}) for seed in range(2)]
    tasks.append(Task(f"{lab.package}.missing", {"method": "a"}))
    outcomes = run_tasks(tasks[::-1], n_jobs=2)
    assert isinstance(next(outcomes), Outcome)
    log = tmp_path / "log"
    deadline = time.monotonic() + 60
    while not (log.is_file() and log.read_text().count("start") == 2):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    outcomes.close()
    workers = {int(line.split()[1]) for line in log.read_text().splitlines()}
    deadline = time.monotonic() + 30
    while any(alive(pid) for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)
