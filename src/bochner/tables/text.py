"""Models and predictions as text for a terminal or a file."""

import csv
import io
from typing import Any

import numpy as np

from .._text import aligned


def fit_text(facts: dict[str, Any]) -> str:
    """What ``bochner fit`` prints."""
    classify = facts["task"] == "classification"
    lines = [
        f"{facts['task'].capitalize()} of {facts['target']!r} ({facts['why_task']}).",
        f"{facts['n_rows']} rows, {len(facts['numeric'])} numeric and {len(facts['categorical'])} categorical columns; "
        f"fitted on {facts['n_train']}, judged on {facts['n_test']}.",
    ]
    lines += [f"Left out: {column!r}, {reason}." for column, reason in facts["left_out"].items()]
    lines += facts["notes"]
    if facts["n_dropped"]:
        lines.append(f"{facts['n_dropped']} rows without a target were left out.")
    if classify:
        columns = ["model", "held-out error", "certified", "seconds"]
        rows = [
            [name, f"{entry['error']:.2%}", f"{entry['certified']:.2%}", f"{entry['seconds']:.2f}"]
            for name, entry in facts["judged"].items()
        ]
        meaning = "Certified: with 95% confidence the error on rows like these is at most this (exact binomial limit)."
    else:
        columns = ["model", "held-out RMSE", "R²", "certified ±", "seconds"]
        rows = [
            [
                name,
                f"{entry['rmse']:.4g}",
                _or_dash(entry["r2"], ".3f"),
                _or_dash(entry["half_width"], ".4g"),
                f"{entry['seconds']:.2f}",
            ]
            for name, entry in facts["judged"].items()
        ]
        meaning = "Certified: with 95% confidence at least 90% of predictions are this close to the truth."
    return "\n".join([*lines, "", aligned(columns, rows), "", meaning])


def _or_dash(number: float | None, form: str) -> str:
    return "–" if number is None else format(number, form)


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
