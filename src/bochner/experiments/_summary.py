"""Results as tables: spread over seeds, and the published numbers beside ours."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from importlib.resources import files
from numbers import Real
from statistics import fmean, stdev
from typing import Any

Pair = tuple[dict[str, Any], dict[str, Any]]

# Case entries that only count repetitions: results are averaged over them.
REPETITIONS = frozenset({"seed", "trial", "repeat", "repetition", "split", "draw"})


def averaged(pairs: Iterable[Pair]) -> dict[str, Any]:
    """One row for each case up to repetitions; numbers become ``{"mean", "std", "n"}`` where there are several.

    >>> pairs = [({"method": "a", "seed": s}, {"error": e}) for s, e in enumerate([1.0, 3.0])]
    >>> averaged(pairs)["rows"]
    [['a', {'mean': 2.0, 'std': 1.4142135623730951, 'n': 2}]]
    """
    pairs = list(pairs)
    case_columns = _ordered(key for case, _ in pairs for key in case if key not in REPETITIONS)
    result_columns = _ordered(key for _, result in pairs for key in result if key not in case_columns)
    groups: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for case, result in pairs:
        kept = {key: value for key, value in case.items() if key not in REPETITIONS}
        groups.setdefault(json.dumps(kept, sort_keys=True), (kept, []))[1].append(result)
    rows = [
        [_shown(case.get(column)) for column in case_columns]
        + [_cell([result[column] for result in results if column in result]) for column in result_columns]
        for case, results in groups.values()
    ]
    return {"columns": [*case_columns, *result_columns], "rows": rows}


def _ordered(keys: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(keys))


def _cell(values: list[Any]) -> Any:
    if not values:
        return None
    if all(is_number(value) for value in values):
        return spread(values)
    return _shown(values[0]) if all(value == values[0] for value in values) else f"{len(values)} values"


def _shown(value: Any) -> Any:
    """Scalars as they are, lists by their length: curves belong in figures and in the JSON file."""
    if isinstance(value, list | dict) and len(json.dumps(value)) > 60:
        return f"{len(value)} values"
    return json.dumps(value) if isinstance(value, list | dict) else value


def spread(values: list[float]) -> Any:
    """A number, or mean and sample standard deviation of several."""
    if len(values) == 1:
        return values[0]
    return {"mean": fmean(values), "std": stdev(values), "n": len(values)}


def is_number(value: Any) -> bool:
    """A real number and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def published(name: str) -> dict[str, Any] | None:
    """The numbers that the paper prints for an experiment, with their source; None when it prints none."""
    file = files(__package__) / "published" / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def beside_published(pairs: Iterable[Pair], paper: dict[str, Any]) -> dict[str, Any]:
    """The paper's table with our numbers in the same cells.

    ``paper`` holds ``columns``, ``rows`` ({name: values}), and how to find ours: ``row`` and ``column`` name the entries of
    case or result that hold the row's and the column's name, ``value`` the entry with the number (times ``factor``).  Where
    results have no entry ``column``, the columns' names are themselves entries.  ``aliases`` translates the paper's names.
    ``where`` keeps only the results with these entries.
    """
    merged = [result | case for case, result in pairs]
    wanted = paper.get("where", {})
    merged = [entry for entry in merged if all(entry.get(key, value) == value for key, value in wanted.items())]
    aliases = {_folded(key): value for key, value in paper.get("aliases", {}).items()}
    rows = []
    for name, values in paper["rows"].items():
        of_row = [entry for entry in merged if _same(entry.get(paper["row"]), name, aliases)]
        cells = []
        for column, printed in zip(paper["columns"], values):
            value, error = printed if isinstance(printed, list) else (printed, None)
            ours = [paper.get("factor", 1) * number for number in _numbers(of_row, column, paper, aliases)]
            cells.append({"ours": spread(ours) if ours else None, "published": value, "published_std": error})
        rows.append({"name": name, "cells": cells})
    kept = ("source", "quantity", "note", "columns")
    return {"row": paper["row"], "rows": rows} | {key: paper[key] for key in kept if key in paper}


def _numbers(entries, column, paper, aliases):
    for entry in entries:
        if paper["column"] in entry:
            number = entry.get(paper["value"]) if _same(entry[paper["column"]], column, aliases) else None
        else:
            number = next((value for key, value in entry.items() if _same(key, column, aliases)), None)
        if is_number(number) and math.isfinite(number):
            yield number


def _same(ours: Any, theirs: str, aliases: dict[str, str]) -> bool:
    return ours is not None and _folded(str(ours)) in (_folded(theirs), _folded(aliases.get(_folded(theirs), theirs)))


def _folded(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())
