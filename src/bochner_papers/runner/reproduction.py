"""Run experiments: many cases on several processes, resumable, ending in a verdict."""

import datetime
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bochner._terminal.environment import machine, versions
from bochner._terminal.progress import track

from .catalog import SCALES, Experiment, case_key
from .store import ResultFile, finished_records
from .summary import averaged, beside_published, published
from .workers import Outcome, Task, available_cores, run_tasks

_PACKAGES = ("bochner", "numpy", "scipy", "scikit-learn", "numba", "lightgbm", "matplotlib")
VERDICTS = ("holds", "does not hold", "cannot tell")


@dataclass
class Progress:
    """State of an experiment: its cases, its file, and the errors so far."""

    experiment: Experiment
    scale: str
    store: ResultFile
    renew: bool = False
    whole: bool = False
    skipped: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self):
        self.cases = self.experiment.cases(self.scale)
        self.waiting = len(self.unfinished())

    def unfinished(self) -> list[dict[str, Any]]:
        """Return cases without a result or, to be renewed, with one of earlier code.

        Those that the experiment leaves out are among them only when the ``whole`` is asked for.
        """
        known = [self.store.finished.get(case_key(case)) for case in self.cases]
        return [case for case, record in zip(self.cases, known) if self._is_due(case, record)]

    def _is_due(self, case, record):
        if record is None:
            return self.whole or not self.experiment.is_left_out(case, self.scale)
        return self.renew and self.experiment.is_older(record)

    def take_over(self, paths: Iterable[Path]) -> int:
        """Copy results of today's code from other scales that share cases, and count them."""
        lacking = {case_key(case) for case in self.unfinished()}
        taken = 0
        for path in paths:
            for key, record in finished_records(path).items():
                if key in lacking and not self.experiment.is_older(record):
                    self.store.append(record)
                    lacking.discard(key)
                    taken += 1
        self.waiting -= taken
        return taken

    def left_out(self) -> list[dict[str, Any]]:
        """Return unfinished cases that the experiment leaves out because of their time."""
        missing = (case for case in self.cases if case_key(case) not in self.store.finished)
        return [case for case in missing if self.experiment.is_left_out(case, self.scale)]

    def records(self) -> list[dict[str, Any]]:
        """Return finished cases in the experiment's order, the same after an interruption."""
        keys = map(case_key, self.cases)
        return [self.store.finished[key] for key in keys if key in self.store.finished]

    def note(self, outcome: Outcome) -> None:
        """Store an outcome; results are written at once."""
        self.waiting -= 1
        case = outcome.task.case
        if outcome.result is not None:
            record = {"case": case, "result": outcome.result, "seconds": round(outcome.seconds, 4)}
            self.store.append(record | {"source": self.experiment.source})
        elif outcome.skipped:
            self.skipped.append({"case": case, "reason": outcome.error.partition(": ")[2]})
        else:
            self.failed.append({"case": case, "error": outcome.error, "trace": outcome.trace})
            self.store.append(self.failed[-1])


def reproduce(
    experiments: list[Experiment],
    scale: str,
    out: Path,
    *,
    n_jobs: int | None = None,
    fresh: bool = False,
    renew: bool = False,
    whole: bool = False,
    download: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[dict[str, Any]]:
    """Run what is not finished yet, and yield the summary of each experiment as it completes.

    Results are in ``out/<name>.<scale>.jsonl``; an interrupted or killed run goes on from there,
    and takes over cases that were run at another scale. ``fresh`` starts anew, ``renew`` runs again
    what an earlier version of the code made, ``whole`` also runs what an experiment leaves out,
    ``download`` lets workers ask OpenML for missing data. A summary is a plain dictionary.
    """
    n_jobs = n_jobs or available_cores()
    with ExitStack() as stack:
        runs: dict[str, Progress] = {}
        for experiment in experiments:
            path = result_path(out, experiment.name, scale)
            if fresh:
                path.unlink(missing_ok=True)
            store = stack.enter_context(ResultFile(path))
            if store.damaged:
                say(
                    f"Damaged and not counted: line(s) {', '.join(map(str, store.damaged))} of "
                    f"{path}."
                )
            run = runs[experiment.reference] = Progress(experiment, scale, store, renew, whole)
            shared = (
                0
                if fresh
                else run.take_over(result_path(out, experiment.name, other) for other in SCALES)
            )
            if shared:
                say(
                    f"{shared} cases of {experiment.name} are the same at another scale and were "
                    "run there."
                )
        tasks = [Task(module, case) for module, run in runs.items() for case in run.unfinished()]
        left_out = 0 if whole else sum(len(run.left_out()) for run in runs.values())
        kept = sum(len(run.cases) for run in runs.values()) - len(tasks) - left_out
        if kept:
            say(f"{kept} of {kept + len(tasks)} cases are finished already.")
        if left_out:
            say(f"{left_out} cases that take too long are left out; --whole runs them.")
        yield from (summarize(run) for run in runs.values() if run.waiting == 0)
        outcomes = stack.enter_context(closing(run_tasks(tasks, n_jobs, download=download)))
        while n_left := sum(run.waiting for run in runs.values()):
            yield summarize(_first_complete(outcomes, n_left, runs))


def _first_complete(outcomes: Iterator[Outcome], n_left: int, runs: dict) -> Progress:
    """Store outcomes until an experiment is complete, and remove the bar."""
    with closing(track(outcomes, "cases", n_left)) as shown:
        for outcome in shown:
            run = runs[outcome.task.module]
            run.note(outcome)
            if run.waiting == 0:
                break
    return run


def result_path(out: Path, name: str, scale: str) -> Path:
    """Return the path of the finished cases of an experiment."""
    return out / f"{name}.{scale}.jsonl"


def summarize(run: Progress) -> dict[str, Any]:
    """Return everything about an experiment that is shown, as plain JSON values."""
    experiment, records = run.experiment, run.records()
    pairs = [(record["case"], record["result"]) for record in records]
    missing, left_out = len(run.cases) - len(records), len(run.left_out())
    try:
        verdict, why = (
            experiment.module.verdict(pairs) if pairs else ("cannot tell", "No case was run.")
        )
        if verdict not in VERDICTS:
            raise ValueError(
                f"{experiment.name}.verdict must return one of {VERDICTS}, got {verdict!r}"
            )
    except Exception as error:
        verdict, why = (
            "cannot tell",
            f"The rule could not be applied ({type(error).__name__}: {error}).",
        )
        if (
            missing == left_out
        ):  # all results are there, so this is a mistake in the experiment and must be seen
            run.failed.append(
                {"case": {}, "error": f"verdict: {error}", "trace": traceback.format_exc()}
            )
    if missing > left_out:
        why = f"{why.rstrip('.')}. {missing - left_out} of {len(run.cases)} cases are missing."
    paper = published(experiment.name)
    return experiment.words | {
        "scale": run.scale,
        "verdict": verdict,
        "why": why,
        "command": f"bochner reproduce {experiment.name} --scale {run.scale}",
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "environment": describe_environment(),
        "n_cases": len(run.cases),
        "n_finished": len(records),
        "n_left_out": left_out,
        "n_of_earlier_code": sum(experiment.is_older(record) for record in records),
        "seconds": round(sum(record.get("seconds", 0.0) for record in records), 2),
        "skipped": run.skipped,
        "failed": run.failed,
        "table": averaged(pairs),
        "comparisons": experiment.comparisons(pairs) if pairs else [],
        "published": beside_published(pairs, paper) if paper and pairs else None,
        "results": [{"case": case, "result": result} for case, result in pairs],
    }


def describe_environment() -> dict[str, str]:
    """Describe machine and versions, without names of users or machines."""
    return machine() | {"cores": str(available_cores())} | versions(_PACKAGES)


def drawn(experiment: Experiment, summary: dict[str, Any]) -> Any:
    """Return the experiment's matplotlib figure, or None if it cannot be drawn.

    A figure that fails on complete results is an error of the experiment and noted as such.
    """
    draw = getattr(experiment.module, "figure", None)
    if draw is None or not summary["results"]:
        return None
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    try:
        return draw([(entry["case"], entry["result"]) for entry in summary["results"]])
    except Exception as error:
        if summary["n_finished"] + summary["n_left_out"] == summary["n_cases"]:
            summary["failed"].append(
                {"case": {}, "error": f"figure: {error}", "trace": traceback.format_exc()}
            )
        return None
