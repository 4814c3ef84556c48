"""Find experiments: the modules of ``bochner_papers`` that state a claim, and files given by their
path.
"""

import hashlib
import importlib
import importlib.util
import inspect
import json
import pkgutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import bochner

from .fingerprint import run_fingerprint

SCALES = ("smoke", "quick", "paper")
_PACKAGE = "bochner_papers"
_REQUIRED = ("PAPER", "CLAIM", "cases", "run", "verdict")


class ExperimentError(Exception):
    """An experiment breaks the contract of this package, or there is none of the name asked for."""


@dataclass(frozen=True)
class Experiment:
    """One table or figure, described by its module.

    ``reference`` is the name of the module or the path of its file; workers import it by that.
    """

    name: str
    module: ModuleType
    reference: str

    @property
    def words(self) -> dict[str, Any]:
        """What it tells about itself: paper, claim, rule of the verdict, caption of the figure,
        deviations, what was tried, what is left out.
        """
        return {
            "experiment": self.name,
            "paper": self.module.PAPER,
            "claim": self.module.CLAIM,
            "rule": _first_paragraph(self.module.verdict),
            "caption": _first_paragraph(getattr(self.module, "figure", None)),
            "deviations": _several(self.module, "DEVIATIONS"),
            "tried": getattr(self.module, "TRIED", ""),
            "left_out": _first_paragraph(getattr(self.module, "left_out", None)),
        }

    @property
    def needs(self) -> list[str]:
        """Names of the data sets that it loads."""
        return _several(self.module, "NEEDS")

    def comparisons(self, pairs: list[Any]) -> list[dict[str, Any]]:
        """Tables of the results that the experiment makes itself; most make none."""
        return getattr(self.module, "tables_shown", lambda pairs: [])(pairs)

    @cached_property
    def source(self) -> str:
        """Fingerprint of the code behind the numbers: tells results of an earlier version apart."""
        try:
            return run_fingerprint(self.reference, bochner.__version__)
        except OSError:
            return "unknown"

    def is_older(self, record: dict[str, Any]) -> bool:
        """Whether a stored result was made by another version of the code, or does not say by
        which.
        """
        return record.get("source") != self.source

    def is_left_out(self, case: dict[str, Any], scale: str) -> bool:
        """Whether the atlas does without a case of the paper's scale, which takes too long; whoever
        has the time can run it.
        """
        return scale == "paper" and hasattr(self.module, "left_out") and self.module.left_out(case)

    def cases(self, scale: str) -> list[dict[str, Any]]:
        """The work at a scale, checked: plain JSON dictionaries, no two alike; those that are left
        out come last.
        """
        cases = [as_json(case) for case in self.module.cases(scale)]
        cases.sort(key=lambda case: self.is_left_out(case, scale))
        keys = [case_key(case) for case in cases]
        if len(set(keys)) < len(keys):
            twice = next(case for case, key in zip(cases, keys) if keys.count(key) > 1)
            raise ExperimentError(
                f"{self.name} lists a case twice at scale {scale!r}: {json.dumps(twice)}."
            )
        return cases


def discover(package: str = _PACKAGE) -> tuple[dict[str, Experiment], dict[str, str]]:
    """All experiments by name, and the modules that could not be imported with the reason."""
    found, broken = {}, {}
    parent = importlib.import_module(package)
    for info in sorted(pkgutil.iter_modules(parent.__path__), key=lambda info: info.name):
        if info.ispkg or info.name.startswith("_"):
            continue
        try:
            module = importlib.import_module(f"{package}.{info.name}")
        except ImportError as error:
            broken[info.name] = str(error)
            continue
        missing = _missing_parts(module)
        if "CLAIM" in missing:
            continue  # a helper that several experiments share
        if missing:
            broken[info.name] = f"it lacks {', '.join(missing)}"
        else:
            found[info.name] = Experiment(info.name, module, module.__name__)
    return found, broken


def _missing_parts(module: ModuleType) -> list[str]:
    return [part for part in _REQUIRED if not hasattr(module, part)]


def import_experiment(reference: str) -> ModuleType:
    """Import the module of an experiment by its name, or from a file if ``reference`` ends with
    .py.

    A file can import modules that lie beside it.
    """
    if not reference.endswith(".py"):
        return importlib.import_module(reference)
    path = Path(reference).resolve()
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _from_file(reference: str, taken: Iterable[str]) -> Experiment:
    """Return the experiment in a file of one's own."""
    path = Path(reference).resolve()
    if not path.is_file():
        raise ExperimentError(
            f"There is no file {reference}. Write the path of an experiment's file, or the name of "
            "an experiment."
        )
    if path.stem in taken:
        raise ExperimentError(
            f"{reference} has the name of an experiment of bochner, so that their results would be "
            "mixed. Rename the file."
        )
    module = import_experiment(str(path))
    missing = _missing_parts(module)
    if missing:
        raise ExperimentError(f"{reference} is not an experiment: it lacks {', '.join(missing)}.")
    return Experiment(path.stem, module, str(path))


def choose(names: Iterable[str], package: str = _PACKAGE) -> list[Experiment]:
    """Return the experiments called ``names``, which may be paths of files; all of them for
    ``["all"]``.
    """
    found, broken = discover(package)
    names = list(names)
    if names == ["all"]:
        return list(found.values())
    for name in dict.fromkeys(name for name in names if name.endswith(".py")):
        found[name] = _from_file(name, found)
    for name in names:
        if name in broken:
            raise ExperimentError(f"Experiment {name!r} cannot be used: {broken[name]}.")
        if name not in found:
            raise ExperimentError(
                f"There is no experiment {name!r}. There are: "
                f"{', '.join(sorted(found)) or 'none'}; or write all."
            )
    return [found[name] for name in dict.fromkeys(names)]


def _several(module: ModuleType, name: str) -> list[str]:
    """An optional entry of a module that is one string or several."""
    entry = getattr(module, name, ())
    return [entry] if isinstance(entry, str) else list(entry)


def _first_paragraph(function: Any) -> str:
    """What a function's documentation begins with, on one line."""
    documentation = (
        function and inspect.getdoc(function)
    ) or ""  # None has a documentation of its own
    return " ".join(documentation.partition("\n\n")[0].split())


def as_json(value: Any) -> Any:
    """``value`` as it comes back from a JSON file: numpy numbers and arrays become plain ones,
    tuples lists.
    """
    return json.loads(json.dumps(value, default=_plain))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be written as JSON")


def case_key(case: dict[str, Any]) -> str:
    """A case's identity: its content, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(case, sort_keys=True).encode()).hexdigest()[:16]
