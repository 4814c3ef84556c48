"""Mutated tables through ``bochner fit``, ``predict`` and ``report``, and what came of each.

Exit codes are 0 and 2 only; with 2 there is one sentence and every file is as it was; predictions
are finite, and equal to those of the clean table where a mutation leaves its meaning.
"""

import contextlib
import io
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

from bochner.cli import main

from .attacks import Report
from .inputs import REFUSED, SAME
from .tables import TARGETS, Mutant, as_text, clean_table, mutants
from .verdicts import CLEAR, RIGHT, UNCLEAR, WRONG, Outcome, is_clear

_SECONDS = 30
_OLD = b"what stood here before"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    error: str


def run(*arguments: str) -> Ran:
    """The command in this process; an exception that it lets through is a code of 1 and a
    traceback, as it would be outside.
    """
    out, error = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("always")
        for quiet in (
            DeprecationWarning,
            PendingDeprecationWarning,
            ImportWarning,
            ResourceWarning,
        ):  # as Python does itself
            warnings.simplefilter("ignore", quiet)
        for deprecation in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.filterwarnings("error", category=deprecation, module="bochner")
        warnings.showwarning = lambda message, category, *_: print(
            f"{category.__name__}: {message}", file=error
        )
        try:
            code = main(arguments)
        except BaseException:
            code = 1
            traceback.print_exc(file=error)
    return Ran(code, out.getvalue(), error.getvalue())


def asked(model: Path, table: Path, target: str, out: Path) -> Ran:
    return run(
        "predict",
        str(model),
        str(table),
        "--out",
        str(out),
        *(["--proba"] if target == "label" else []),
    )


def without_heavy_baselines():
    """LightGBM and CatBoost would take most of the time, and see no byte of a file."""
    return mock.patch("bochner.tables.evaluate.baselines.installed", return_value=())


class Arena:
    """A folder with clean tables, models of them and their predictions, where mutants are tried one
    by one.
    """

    def __init__(self, folder: Path, targets=TARGETS):
        self.folder, self.clean = folder, folder / "clean"
        self.clean.mkdir()
        self.predicted = {}
        for target in targets:
            self.file(target, "csv").write_bytes(as_text(clean_table(target)))
            for ran in (
                run(
                    "fit",
                    str(self.file(target, "csv")),
                    "--target",
                    target,
                    "--out",
                    str(self.file(target, "skops")),
                ),
                asked(
                    self.file(target, "skops"),
                    self.file(target, "csv"),
                    target,
                    self.clean / "predicted.csv",
                ),
            ):
                assert ran.code == 0, ran.error
            self.predicted[target] = pd.read_csv(self.clean / "predicted.csv")

    def file(self, target, ending):
        return self.clean / f"{target}.{ending}"

    def tried(self, target: str, mutant: Mutant) -> Outcome:
        """The worst of what fit, both ways of predict, and report came to."""
        begun = time.perf_counter()
        table = self.folder / f"mutant{mutant.ending}"
        table.write_bytes(mutant.content)
        try:
            found = self._fitted_and_asked(target, mutant, table)
        finally:
            for path in self.folder.glob("*.*"):
                path.unlink()
        if time.perf_counter() - begun > _SECONDS:
            return Outcome(WRONG, f"took {time.perf_counter() - begun:.0f} seconds")
        return found

    def _fitted_and_asked(self, target, mutant, table):
        model, out, page = (
            self.folder / name for name in ("model.skops", "predicted.csv", "page.html")
        )
        outcomes = []
        fitted = self._written(
            model, lambda: run("fit", str(table), "--target", target, "--out", str(model))
        )
        outcomes.append(fitted)
        if fitted.kind == RIGHT:
            if mutant.must == REFUSED:
                outcomes.append(Outcome(WRONG, "fit: was taken, but has no meaning"))
            expected = self.predicted[target] if mutant.must == SAME else None
            outcomes.append(
                self._written(page, lambda: run("report", str(model), "--out", str(page)))
            )
            outcomes.append(self._predicted(model, self.file(target, "csv"), target, out, expected))
            model.unlink()
            page.unlink(missing_ok=True)
        elif mutant.must == SAME:
            outcomes.append(Outcome(WRONG, f"fit: refused without need: {fitted.said}"))
        expected = self.predicted[target] if mutant.must == SAME else None
        reverse = self._predicted(self.file(target, "skops"), table, target, out, expected)
        if mutant.must == SAME and reverse.kind == CLEAR:
            reverse = Outcome(WRONG, f"predict: refused without need: {reverse.said}")
        outcomes.append(reverse)
        for kind in (WRONG, UNCLEAR):
            for outcome in outcomes:
                if outcome.kind == kind:
                    return outcome
        return fitted

    def _predicted(self, model, rows, target, out, expected):
        found = self._written(out, lambda: asked(model, rows, target, out))
        if found.kind != RIGHT:
            return found
        predicted = pd.read_csv(out)
        out.unlink()
        numbers = predicted.select_dtypes("number").to_numpy()
        if not np.isfinite(numbers).all():
            return Outcome(WRONG, "predict: not finite")
        if expected is not None:
            if list(predicted.columns) != list(expected.columns) or len(predicted) != len(expected):
                return Outcome(
                    WRONG, "predict: other columns or rows than those of the clean table"
                )
            gap = np.abs(numbers - expected.select_dtypes("number").to_numpy()).max()
            texts = (
                predicted.select_dtypes(exclude="number"),
                expected.select_dtypes(exclude="number"),
            )
            if gap > 1e-9 or not texts[0].equals(texts[1]):
                return Outcome(WRONG, f"predict: differs from the clean table by {gap:.3g}")
        return found

    def _written(self, out, command):
        """What a command that writes ``out`` came to, where an older file stands in its place."""
        out.write_bytes(_OLD)
        before = set(self.folder.iterdir())
        ran = command()
        outcome = _verdict(ran)
        if left := set(self.folder.iterdir()) ^ before:
            return Outcome(
                WRONG, f"left or took {sorted(path.name for path in left)}; {outcome.said}"
            )
        if (out.read_bytes() == _OLD) == (ran.code == 0):
            return Outcome(
                WRONG,
                f"exit code {ran.code}, but the older file is "
                f"{'there' if ran.code == 0 else 'gone'}; {outcome.said}",
            )
        return outcome


def _verdict(ran: Ran) -> Outcome:
    said = ran.error.strip()
    if ran.code == 0:
        noise = [line for line in said.splitlines() if "Warning:" in line or "Traceback" in line]
        return Outcome(UNCLEAR, noise[0]) if noise else Outcome(RIGHT)
    if ran.code != 2 or "Traceback" in said:
        return Outcome(UNCLEAR, f"exit code {ran.code}: {said[-400:]}")
    *notes, error = said.splitlines()  # notes on how the file was read may precede the error
    one_sentence = (
        error.startswith("bochner: ")
        and not any(note.startswith("bochner: ") for note in notes)
        and "(--debug shows where)" not in error
    )
    return Outcome(
        CLEAR if one_sentence and is_clear(said) and len(said) < 1000 else UNCLEAR, said[:400]
    )


def table_reports(folder: Path, n_times: int, seed: int = 0):
    """What ``n_times`` mutated tables came to."""
    with without_heavy_baselines():
        arena = Arena(folder)
        for target, mutant in mutants(n_times, seed):
            kind, _, name = mutant.name.partition(": ")
            yield Report(f"tables, {kind}", f"{name} ({target})", arena.tried(target, mutant))
