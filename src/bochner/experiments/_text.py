"""Tables and verdicts for a terminal."""

from __future__ import annotations

import math
from typing import Any

from ._meter import duration
from ._summary import is_number

_MAX_ROWS = 40


def cell_text(cell: Any) -> str:
    """A cell of a summary's table, short.

    >>> cell_text({"mean": 97.125, "std": 0.51, "n": 20}), cell_text(3), cell_text(0.00123456), cell_text(None)
    ('97.12 ± 0.51', '3', '0.001235', '–')
    """
    if cell is None:
        return "–"
    if isinstance(cell, dict):
        return spread_text(cell["mean"], cell["std"])
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return number_text(cell) if is_number(cell) else str(cell)


def spread_text(mean: float, std: float) -> str:
    """A mean with as many decimals as two significant digits of its spread have.

    >>> spread_text(90.664, 2.04), spread_text(0.99154, 0.00113), spread_text(100.0, 0.0)
    ('90.7 ± 2.0', '0.9915 ± 0.0011', '100 ± 0')
    """
    if std > 0 and math.isfinite(std):
        decimals = max(0, 1 - math.floor(math.log10(std)))
        if decimals <= 6:
            return f"{mean:.{decimals}f} ± {std:.{decimals}f}"
    return f"{number_text(mean)} ± {number_text(std, digits=2)}"


def number_text(number: float, digits: int = 4) -> str:
    """``digits`` significant digits, whole numbers in full."""
    if isinstance(number, int) or (float(number).is_integer() and abs(number) < 1e15):
        return str(int(number))
    return f"{number:.{digits}g}"


def aligned(columns: list[str], rows: list[list[str]]) -> str:
    """A plain table; numbers to the right."""
    grid = [columns, *rows]
    widths = [max(len(row[k]) for row in grid) for k in range(len(columns))]
    right = [all(_numeric(row[k]) for row in rows) for k in range(len(columns))]
    lines = [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in zip(row, widths, right)
        )
        for row in grid
    ]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join(line.rstrip() for line in [lines[0], rule, *lines[1:]])


def _numeric(text: str) -> bool:
    return text[:1].isdigit() or text[:1] in "-–+"


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
