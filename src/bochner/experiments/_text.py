"""Summaries and verdicts for a terminal."""

from typing import Any

from .._text import aligned, cell_text
from ._meter import duration

_MAX_ROWS = 40


def summary_text(summary: dict[str, Any]) -> str:
    """What ``bochner reproduce`` prints at the end of an experiment."""
    parts = [f"{summary['experiment']}: {summary['paper']}", f"Claim: {summary['claim']}"]
    if summary["published"]:
        parts.append(_published_text(summary["published"]))
    elif summary["table"]["rows"]:
        rows = [[cell_text(cell) for cell in row] for row in summary["table"]["rows"]]
        parts.append(aligned(summary["table"]["columns"], rows[:_MAX_ROWS]))
        if len(rows) > _MAX_ROWS:
            parts.append(f"({len(rows) - _MAX_ROWS} more rows in the CSV file and on the page)")
    parts += [f"Deviation: {deviation}" for deviation in summary["deviations"]]
    reasons = dict.fromkeys(entry["reason"] for entry in summary["skipped"])
    parts += [f"Skipped: {reason}" for reason in reasons]
    parts += [f"Failed: {entry['case']}: {entry['error']}" for entry in summary["failed"]]
    if summary["n_of_earlier_code"]:
        parts.append(
            f"Note: {summary['n_of_earlier_code']} results come from an earlier version of the experiment's file; "
            "--fresh runs them again."
        )
    finished = f"{summary['n_finished']} of {summary['n_cases']} cases"
    if summary["seconds"]:
        finished += f", {duration(summary['seconds'])} of work"
    if summary["rule"]:
        parts.append(f"Rule: {summary['rule']}")
    parts.append(f"Verdict: {summary['verdict'].upper()}. {summary['why']} ({finished})")
    return "\n".join(parts) + "\n"


def overview_text(summaries: list[dict[str, Any]]) -> str:
    """One line for each experiment of a run."""
    columns = ["experiment", "verdict", "cases", "skipped", "failed", "work"]
    rows = [
        [
            summary["experiment"],
            summary["verdict"],
            f"{summary['n_finished']}/{summary['n_cases']}",
            str(len(summary["skipped"])),
            str(len(summary["failed"])),
            duration(summary["seconds"]) if summary["seconds"] else "–",
        ]
        for summary in sorted(summaries, key=lambda summary: summary["experiment"])
    ]
    return aligned(columns, rows)


def _published_text(comparison: dict[str, Any]) -> str:
    rows = []
    for row in comparison["rows"]:
        cells = [f"{cell_text(cell['ours'])} ({published_text(cell)})" for cell in row["cells"]]
        rows.append([row["name"], *cells])
    table = aligned([comparison["row"], *comparison["columns"]], rows)
    return f"{comparison['quantity']}: ours (published)\n{table}"


def published_text(cell: dict[str, Any]) -> str:
    """The published number with its spread, in the digits that were printed."""
    if cell["published"] is None:
        return "–"
    return str(cell["published"]) if cell["published_std"] is None else f"{cell['published']} ± {cell['published_std']}"
