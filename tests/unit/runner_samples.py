"""A laboratory of small fake experiments, for tests of the runner."""

import json
import multiprocessing
import os
import textwrap

import pytest

from bochner_papers.runner import reproduction as _runner
from bochner_papers.runner import workers as _workers
from bochner_papers.runner.catalog import choose
from bochner_papers.runner.reproduction import reproduce

EXPERIMENT = """
import os, time
from pathlib import Path
PAPER, CLAIM = "Table 0", "Numbers are numbers."
LOG = Path(os.environ.get("FAKE_LOG", "/dev/null"))
def cases(scale):
    return [{"method": m, "seed": s} for m in ("a", "b") for s in range({"smoke": 3, "quick": 6, "paper": 20}[scale])]
def run(case, rng):
    with LOG.open("a") as log:
        log.write(f"start {os.getpid()} {case['method']}{case['seed']}\\n")
    time.sleep(float(os.environ.get("FAKE_SLEEP", "0")))
    with LOG.open("a") as log:
        log.write(f"end {os.getpid()} {case['method']}{case['seed']}\\n")
    return {"error": rng.random(), "threads": os.environ["OMP_NUM_THREADS"]}
def verdict(results):
    '''Holds
    always.

    Really.'''
    return "holds", f"{len(results)} results"
"""


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """Write a package of fake experiments; returns a function that adds one."""
    package = f"fakelab_{abs(hash(str(tmp_path)))}"
    folder = tmp_path / package
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))

    def add(name, source=EXPERIMENT, **replacements):
        for old, new in replacements.items():
            source = source.replace(old, new)
        (folder / f"{name}.py").write_text(textwrap.dedent(source))
        return package

    add.package = package
    add.out = tmp_path / "out"
    return add


@pytest.fixture
def workers_in_process(monkeypatch):
    """Run cases in this process: a new interpreter for each worker takes seconds to import."""

    def run_here(tasks, n_jobs, *, download=False):
        with _workers._environment(n_jobs, download):
            for task in tasks:
                yield _workers._outcome(task)

    monkeypatch.setattr(_runner, "run_tasks", run_here)


@pytest.fixture
def forked_workers(monkeypatch):
    """Fork workers: processes as usual, except that they need not import anything again."""
    if not hasattr(os, "fork"):
        pytest.skip("needs forks")
    forks = multiprocessing.get_context("fork")
    monkeypatch.setattr(_workers.multiprocessing, "get_context", lambda kind: forks)
    before = set(multiprocessing.active_children())
    yield
    for worker in (
        set(multiprocessing.active_children()) - before
    ):  # they hold copies of each other's pipes
        worker.terminate()
        worker.join()


def run_all(lab, *names, scale="smoke", n_jobs=1, **options):
    return list(reproduce(choose(names, lab.package), scale, lab.out, n_jobs=n_jobs, **options))


def errors(summary):
    return [entry["result"]["error"] for entry in summary["results"]]


def lines(path):
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
