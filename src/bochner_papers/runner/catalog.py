"""Catalog of experiments: modules of ``bochner_papers`` with a claim, and files by path."""

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
    """Error for an experiment that breaks the contract of this package, or does not exist."""


@dataclass(frozen=True)
class Experiment:
    """Table or figure of a paper, described by its module.

    ``reference`` is the name of the module or the path of its file; workers import it by that.
    """

    name: str
    module: ModuleType
    reference: str

    @property
    def words(self) -> dict[str, Any]:
        """Description by the experiment itself: paper, claim, rule, caption and more."""
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
        """Return the tables that the experiment itself makes of its results; most make none."""
        return getattr(self.module, "tables_shown", lambda pairs: [])(pairs)

    @cached_property
    def source(self) -> str:
        """Fingerprint of the code behind the numbers, to recognize results of earlier code."""
        try:
            return run_fingerprint(self.reference, bochner.__version__)
        except OSError:
            return "unknown"

    def is_older(self, record: dict[str, Any]) -> bool:
        """Return True if a stored result was made by other code, or does not state its code."""
        return record.get("source") != self.source

    def is_left_out(self, case: dict[str, Any], scale: str) -> bool:
        """Return True if the atlas leaves out a case of the paper's scale that takes too long."""
        return scale == "paper" and hasattr(self.module, "left_out") and self.module.left_out(case)

    def cases(self, scale: str) -> list[dict[str, Any]]:
        """Return the cases of a scale, checked: distinct JSON dictionaries, left-out ones last."""
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
    """Return all experiments by name, and the reasons for modules that cannot be imported."""
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
    """Import the module of an experiment by its name, or by its path if it ends with .py.

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
    """Return the experiment in a file of the user."""
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
    """Return the experiments called ``names`` (or paths of files), all of them for ``["all"]``."""
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
    """Return an optional entry of a module, one string or several, as a list."""
    entry = getattr(module, name, ())
    return [entry] if isinstance(entry, str) else list(entry)


def _first_paragraph(function: Any) -> str:
    """Return the first paragraph of a function's docstring on one line."""
    documentation = (
        function and inspect.getdoc(function)
    ) or ""  # None has a documentation of its own
    return " ".join(documentation.partition("\n\n")[0].split())


def as_json(value: Any) -> Any:
    """Return ``value`` as read from a JSON file: plain numbers, and lists instead of tuples."""
    return json.loads(json.dumps(value, default=_plain))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be written as JSON")


def case_key(case: dict[str, Any]) -> str:
    """Return the identity of a case: its content, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(case, sort_keys=True).encode()).hexdigest()[:16]
