"""Models as text for a terminal."""

import re
from typing import Any

from .._text import aligned

# What is told of each model: heading, entry of its judgment, format.
_ERRORS = {
    "held-out error": ("error", ".2%"),
    "certified": ("certified", ".2%"),
    "balanced accuracy": ("balanced_accuracy", ".2%"),
}
_SQUARES = {"held-out RMSE": ("rmse", ".4g"), "R²": ("r2", ".3f"), "certified ±": ("half_width", ".4g")}
_QUALITY = {
    "classification": _ERRORS | {"more errors": ("more_lost", "+.2%"), "±": ("standard_error", ".2%")},
    "regression": _SQUARES | {"less R²": ("more_lost", "+.3f"), "±": ("standard_error", ".3f")},
}
_COLUMNS_NAMED, _READINGS_TOLD = 5, 40


def fit_text(facts: dict[str, Any]) -> str:
    """What ``bochner fit`` prints."""
    members = ", ".join(f"{member['name']} {member['weight']:.0%}" for member in facts["members"])
    important = list(facts["importance"].items())[:_COLUMNS_NAMED]
    headings, rows = judged_table(facts)
    return "\n".join([
        f"{facts['task'].capitalize()} of {facts['target']!r} ({facts['why_task']}).",
        f"{facts['n_rows']} rows, {_counted(facts)}; fitted on {facts['n_train']}, judged on {facts['n_test']}.",
        *_readings(facts["columns"]),
        *facts["notes"],
        f"Kernels: {members}; {facts['path']}.",
        f"Columns that matter most: {', '.join(f'{column!r} {share:.0%}' for column, share in important)}.",
        "",
        aligned(headings, [[name, *(text for text, _ in cells)] for name, *cells in rows]),
        "",
        *facts["verdict"]["reasons"],
        certificate_text(facts),
    ])  # fmt: skip


def _counted(facts):
    """How many columns there are of each kind."""
    dates = f"{len(facts['dates'])} of dates, " if facts["dates"] else ""
    return f"{len(facts['numeric'])} numeric, {dates}{len(facts['categorical'])} categorical columns"


def _readings(columns):
    """How columns were read, but for plain numbers and a few categories; the first of many."""
    plain = re.compile(r"numbers|categories, \d+ levels?")
    told = {name: (role, reason) for name, (role, reason) in columns.items() if not plain.fullmatch(reason)}
    lines = [
        f"Left out: {name!r}, {reason}." if role == "left out" else f"Read: {name!r}, {reason}."
        for name, (role, reason) in told.items()
    ]
    n_more = len(lines) - _READINGS_TOLD
    return lines if n_more <= 0 else [*lines[:_READINGS_TOLD], f"And {n_more} more columns, which --json tells of."]


def certificate_text(facts: dict[str, Any]) -> str:
    """What the held-out rows prove about the model."""
    entry, rows = facts["judged"]["bochner"], f"rows drawn like the {facts['n_test']} held-out ones"
    certain = f"Certified: with {entry['confidence']:.0%} confidence"
    if facts["task"] == "classification":
        return f"{certain} this very model errs on at most {entry['certified']:.2%} of {rows} (exact binomial limit)."
    if entry["half_width"] is None:
        return "There are too few held-out rows for a certified interval."
    return f"{certain} at least {entry['coverage']:.0%} of predictions are within ±{entry['half_width']:.4g} of the truth, for {rows}."


def judged_table(facts: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """What was measured of each model: headings, and rows of its name and (text, number) of each measure."""
    measures = _QUALITY[facts["task"]] | {"seconds": ("seconds", ".2f")}
    numbers = {name: [(entry[key], form) for key, form in measures.values()] for name, entry in facts["judged"].items()}
    rows = [[name, *(("–" if n is None else format(n, form), n) for n, form in row)] for name, row in numbers.items()]
    return ["model", *measures], rows
