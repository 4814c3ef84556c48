"""Models and predictions as text for a terminal or a file."""

import csv
import io
from typing import Any

import numpy as np

from .._text import aligned

# What is told of each model: heading, entry of its judgment, format; and what the certificate means.
_MEASURES = {
    "classification": (
        {
            "held-out error": ("error", ".2%"),
            "certified": ("certified", ".2%"),
            "balanced accuracy": ("balanced_accuracy", ".2%"),
            "more errors": ("more_lost", "+.2%"),
            "± (paired)": ("standard_error", ".2%"),
            "seconds": ("seconds", ".2f"),
        },
        "Certified: with 95% confidence the error on rows like these is at most this (exact binomial limit).",
    ),
    "regression": (
        {
            "held-out RMSE": ("rmse", ".4g"),
            "R²": ("r2", ".3f"),
            "certified ±": ("half_width", ".4g"),
            "less R²": ("more_lost", "+.3f"),
            "± (paired)": ("standard_error", ".3f"),
            "seconds": ("seconds", ".2f"),
        },
        "Certified: with 95% confidence at least 90% of predictions are this close to the truth.",
    ),
}

_NAMED = 5


def fit_text(facts: dict[str, Any]) -> str:
    """What ``bochner fit`` prints."""
    lines = [
        f"{facts['task'].capitalize()} of {facts['target']!r} ({facts['why_task']}).",
        f"{facts['n_rows']} rows, {len(facts['numeric'])} numeric and {len(facts['categorical'])} categorical columns; "
        f"fitted on {facts['n_train']}, judged on {facts['n_test']}.",
    ]
    lines += [f"Left out: {column!r}, {reason}." for column, reason in facts["left_out"].items()]
    lines += facts["notes"]
    if facts["n_dropped"]:
        lines.append(f"{facts['n_dropped']} rows without a target were left out.")
    members = ", ".join(f"{member['name']} {member['weight']:.0%}" for member in facts["members"])
    columns = ", ".join(f"{column!r} {share:.0%}" for column, share in list(facts["importance"].items())[:_NAMED])
    lines += [f"Path: {facts['path']}.", f"Kernels: {members}.", f"Columns that matter most: {columns}."]
    headings, rows = judged_table(facts)
    table = aligned(headings, [[name, *(text for text, _ in cells)] for name, *cells in rows])
    return "\n".join([*lines, "", table, "", _MEASURES[facts["task"]][1], *facts["verdict"]["reasons"]])


def judged_table(facts: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """What was measured of each model: headings, and rows of its name and (text, number) of each measure."""
    measures = _MEASURES[facts["task"]][0]
    rows = []
    for name, entry in facts["judged"].items():
        numbers = [(entry[key], form) for key, form in measures.values()]
        rows.append([name, *(("–" if n is None else format(n, form), n) for n, form in numbers)])
    return ["model", *measures], rows


def predictions_csv(predictions: np.ndarray, facts: dict[str, Any], probabilities: np.ndarray | None = None) -> str:
    """One line for each row of the table, under a header."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    header, columns = [f"predicted {facts['target']}"], [predictions.tolist()]
    if probabilities is not None:
        header += [f"probability of {name}" for name in facts["classes"]]
        columns += probabilities.T.tolist()
    writer.writerow(header)
    writer.writerows(zip(*columns))
    return buffer.getvalue()
