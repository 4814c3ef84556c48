"""Results as tables: spread over seeds, and the published numbers beside ours."""

import json
from collections.abc import Iterable
from importlib.resources import files
from statistics import fmean, stdev
from typing import Any

from scipy.stats import rankdata

from bochner._terminal.text import cell_number, is_number

Pair = tuple[dict[str, Any], dict[str, Any]]

# Case entries that only count repetitions: results are averaged over them.
REPETITIONS = frozenset({"seed", "trial", "repeat", "repetition", "split", "draw"})


def averaged(pairs: Iterable[Pair]) -> dict[str, Any]:
    """Return one row for each case, averaged over repetitions.

    Several numbers become ``{"mean", "std", "n"}``, curves the means of their ends.

    Case entries that are the same everywhere are under ``fixed`` instead of in a column.

    >>> pairs = [({"method": "a", "seed": s}, {"error": e}) for s, e in enumerate([1.0, 3.0])]
    >>> averaged(pairs)["rows"]
    [['a', {'mean': 2.0, 'std': 1.4142135623730951, 'n': 2}]]
    """
    pairs = [
        ({k: v for k, v in case.items() if k not in REPETITIONS}, _flat(result))
        for case, result in pairs
    ]
    case_columns = list(dict.fromkeys(key for case, _ in pairs for key in case))
    result_columns = list(
        dict.fromkeys(key for _, result in pairs for key in result if key not in case_columns)
    )
    # Lists of lists and the like are for the files.
    nested = {
        k
        for _, result in pairs
        for k, v in result.items()
        if isinstance(v, list | dict) and not _is_curve(v)
    }
    if not nested.issuperset(result_columns):
        result_columns = [key for key in result_columns if key not in nested]
    groups: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for case, result in pairs:
        groups.setdefault(json.dumps(case, sort_keys=True), (case, []))[1].append(result)
    cases = [case for case, _ in groups.values()]
    fixed = [
        column
        for column in case_columns
        if all(case.get(column) == cases[0].get(column) for case in cases)
    ]
    if len(cases) < 2 or len(fixed) == len(
        case_columns
    ):  # names identify a row; lists are settings even then
        fixed = [column for column in fixed if isinstance(cases[0].get(column), list | dict)]
    varied = [column for column in case_columns if column not in fixed]
    # Grids of settings make a table unreadable; they are in the CSV and JSON files.  Rows must stay
    # distinct without them.
    plain = [
        column
        for column in varied
        if not any(isinstance(case.get(column), list | dict) for case in cases)
    ]
    if len({json.dumps([case.get(column) for column in plain]) for case in cases}) == len(cases):
        varied = plain
    rows = [
        [_shown(case.get(column)) for column in varied]
        + [
            _cell([result[column] for result in results if column in result])
            for column in result_columns
        ]
        for case, results in groups.values()
    ]
    settings = {column: _shown(cases[0].get(column)) for column in fixed}
    return {"columns": [*varied, *result_columns], "rows": rows, "fixed": settings}


def _flat(result: dict[str, Any]) -> dict[str, Any]:
    """Flatten small dictionaries: {"accuracy": {"100": x}} becomes "accuracy 100"."""
    flat: dict[str, Any] = {}
    for key, value in result.items():
        if isinstance(value, dict) and all(is_number(entry) for entry in value.values()):
            flat |= {f"{key} {name}": entry for name, entry in value.items()}
        else:
            flat[key] = value
    return flat


def _cell(values: list[Any]) -> Any:
    if not values:
        return None
    if all(is_number(value) for value in values):
        return spread(values)
    if all(_is_curve(value) for value in values):  # by its ends; the whole belongs in a figure
        ends = [f"{fmean(value[k] for value in values):.3g}" for k in (0, -1)]
        return "\N{NO-BREAK SPACE}→\N{NO-BREAK SPACE}".join(ends)
    return (
        _shown(values[0])
        if all(value == values[0] for value in values)
        else f"{len(values)} values"
    )


def _is_curve(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(is_number(entry) for entry in value)


def _shown(value: Any) -> Any:
    """Return scalars unchanged, and the length of long lists."""
    if not isinstance(value, list | dict):
        return value
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{len(value)} values"


def spread(values: list[float]) -> Any:
    """Return a number, or mean and sample standard deviation of several."""
    if len(values) == 1:
        return values[0]
    return {"mean": fmean(values), "std": stdev(values), "n": len(values)}


def published(name: str) -> dict[str, Any] | None:
    """Return the numbers that the paper prints for an experiment, with their source, or None."""
    file = files("bochner_papers") / "published" / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def beside_published(pairs: Iterable[Pair], paper: dict[str, Any]) -> dict[str, Any]:
    """Return the paper's table with our numbers in the same cells.

    ``paper`` holds ``columns``, ``rows`` ({name: values}), and how to find ours: ``row`` and
    ``column`` name the entries of case or result that hold the row's and the column's name (several
    for a row are joined by commas), ``value`` the entry with the number (times ``factor``). Where
    there is no entry ``column``, the columns' names are themselves entries. ``aliases`` translates
    the paper's names. ``where`` keeps only the results with these entries. ``means`` names rows
    that are means of the first so many rows, ``ranks`` those that average the columns' ranks in
    them, without the columns that ``unranked`` names for such a row.
    """
    keys = paper.get("row", [])
    keys = [keys] if isinstance(keys, str) else keys
    wanted = paper.get("where", {})
    merged = [_flat(result) | case for case, result in pairs]
    merged = [
        entry
        for entry in merged
        if all(entry.get(key, value) == value for key, value in wanted.items())
    ]
    aliases = {_folded(theirs): _folded(ours) for theirs, ours in paper.get("aliases", {}).items()}

    def same(ours: Any, theirs: str) -> bool:
        return _folded(str(ours)) in (_folded(theirs), aliases.get(_folded(theirs)))

    def entered(entry: dict[str, Any], column: str) -> Any:
        if paper.get("column") in entry:
            return entry.get(paper["value"]) if same(entry[paper["column"]], column) else None
        return next((value for key, value in entry.items() if same(key, column)), None)

    rows = []
    for name, values in paper["rows"].items():
        named = [entry for entry in merged if all(key in entry for key in keys)]
        of_row = [
            entry for entry in named if same(", ".join(str(entry[key]) for key in keys), name)
        ]
        cells = []
        for column, printed in zip(paper["columns"], values):
            value, error = printed if isinstance(printed, list) else (printed, None)
            found = [cell_number(entered(entry, column)) for entry in of_row]
            ours = [paper.get("factor", 1) * number for number in found if number is not None]
            cells.append(
                {"ours": spread(ours) if ours else None, "published": value, "published_std": error}
            )
        rows.append({"name": name, "cells": cells})
    unranked = {
        name: [paper["columns"].index(c) for c in some]
        for name, some in paper.get("unranked", {}).items()
    }
    _fill_means(rows, paper.get("means", {}), paper.get("ranks", {}), unranked)
    kept = ("source", "quantity", "note", "columns")
    return {"row": ", ".join(keys), "rows": rows} | {
        key: paper[key] for key in kept if key in paper
    }


def _fill_means(
    rows: list[dict[str, Any]],
    means: dict[str, int],
    ranks: dict[str, int],
    unranked: dict[str, list[int]],
) -> None:
    """Fill in our means, or ranks, of rows that average other rows, if all of those exist."""
    for row in rows:
        name = row["name"]
        n_rows = means.get(name) or ranks.get(name, 0)
        cells = [cell for k, cell in enumerate(row["cells"]) if k not in unranked.get(name, ())]
        ours = [
            [
                cell_number(cell["ours"])
                for k, cell in enumerate(other["cells"])
                if k not in unranked.get(name, ())
            ]
            for other in rows[:n_rows]
        ]
        if name in ranks:
            if any(None in values for values in ours):
                continue
            # Rounded as printed, so that what looks equal shares a rank; the largest number is the
            # first.
            ours = [rankdata([-round(value, 1) for value in values]) for values in ours]
        for cell, values in zip(cells, zip(*ours)):
            if None not in values:
                cell["ours"] = fmean(values)


def _folded(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())
