"""Models and predictions as text for a terminal or a file."""

from typing import Any

import numpy as np

from .._text import aligned
from .reading import needed

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
_COLUMNS_NAMED = 5


def fit_text(facts: dict[str, Any]) -> str:
    """What ``bochner fit`` prints."""
    members = ", ".join(f"{member['name']} {member['weight']:.0%}" for member in facts["members"])
    important = list(facts["importance"].items())[:_COLUMNS_NAMED]
    headings, rows = judged_table(facts)
    return "\n".join([
        f"{facts['task'].capitalize()} of {facts['target']!r} ({facts['why_task']}).",
        f"{facts['n_rows']} rows, {len(facts['numeric'])} numeric and {len(facts['categorical'])} categorical columns; "
        f"fitted on {facts['n_train']}, judged on {facts['n_test']}.",
        *(f"Left out: {column!r}, {reason}." for column, reason in facts["left_out"].items()),
        *facts["notes"],
        f"Kernels: {members}; {facts['path']}.",
        f"Columns that matter most: {', '.join(f'{column!r} {share:.0%}' for column, share in important)}.",
        "",
        aligned(headings, [[name, *(text for text, _ in cells)] for name, *cells in rows]),
        "",
        *facts["verdict"]["reasons"],
        certificate_text(facts),
    ])  # fmt: skip


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


def predictions_csv(predictions: np.ndarray, facts: dict[str, Any], probabilities: np.ndarray | None = None) -> str:
    """One line for each row of the table, under a header."""
    columns = {f"predicted {facts['target']}": predictions}
    if probabilities is not None:
        columns |= {f"probability of {label}": of_label for label, of_label in zip(facts["classes"], probabilities.T)}
    return needed("pandas").DataFrame(columns).to_csv(index=False, lineterminator="\n")
