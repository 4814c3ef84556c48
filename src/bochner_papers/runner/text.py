"""Summaries and verdicts for a terminal."""

from typing import Any

from bochner._terminal.text import aligned, cell_text

_MAX_ROWS = 40


def duration(seconds: float) -> str:
    """Return ``seconds`` for people.

    >>> duration(0.2), duration(3.2), duration(200), duration(8000)
    ('under 1 s', '3 s', '3 min', '2 h 13 min')
    """
    if seconds < 0.5:
        return "under 1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def summary_text(summary: dict[str, Any]) -> str:
    """Return the text that ``bochner reproduce`` prints at the end of an experiment."""
    parts = [f"{summary['experiment']}: {summary['paper']}", f"Claim: {summary['claim']}"]
    if summary["published"]:
        parts.append(_published_text(summary["published"]))
    elif summary["table"]["rows"]:
        rows = [[cell_text(cell) for cell in row] for row in summary["table"]["rows"]]
        parts.append(aligned(summary["table"]["columns"], rows[:_MAX_ROWS]))
        if len(rows) > _MAX_ROWS:
            parts.append(f"({len(rows) - _MAX_ROWS} more rows in the CSV file and on the page)")
    parts += [f"Deviation: {deviation}" for deviation in summary["deviations"]]
    parts += [f"Skipped: {reason}" for reason in skipped_because(summary)]
    parts += [f"Failed: {entry['case']}: {entry['error']}" for entry in summary["failed"]]
    parts += [f"Note: {note}; --renew runs them again." for note in of_earlier_code(summary)]
    parts += [f"Rule: {summary['rule']}"] if summary["rule"] else []
    parts.append(f"Verdict: {summary['verdict'].upper()}. {summary['why']} ({work_done(summary)})")
    return "\n".join(parts) + "\n"


def skipped_because(summary: dict[str, Any]) -> list[str]:
    """Return the distinct reasons of skipped cases."""
    return list(dict.fromkeys(entry["reason"] for entry in summary["skipped"]))


def of_earlier_code(summary: dict[str, Any]) -> list[str]:
    """Return a note if results are older than the code."""
    older = summary["n_of_earlier_code"]
    return (
        [f"{older} results come from an earlier version of the code, or do not say from which"]
        if older
        else []
    )


def work_done(summary: dict[str, Any]) -> str:
    """Return the number of finished cases, and the time they took."""
    took = f", {duration(summary['seconds'])} of work" if summary["seconds"] else ""
    return f"{cases_done(summary)}{took}"


def cases_done(summary: dict[str, Any]) -> str:
    """Return the number of finished cases, and those left out with the reason."""
    left_out = f" (left out: {summary['left_out'].rstrip('.')})" if summary["n_left_out"] else ""
    return f"{summary['n_finished']} of {summary['n_cases']} cases{left_out}"


def overview_text(summaries: list[dict[str, Any]]) -> str:
    """Return one line for each experiment of a run."""
    columns = ["experiment", "verdict", "cases", "skipped", "failed", "work"]
    rows = []
    for summary in sorted(summaries, key=lambda summary: summary["experiment"]):
        counts = [
            f"{summary['n_finished']}/{summary['n_cases']}",
            len(summary["skipped"]),
            len(summary["failed"]),
        ]
        work = duration(summary["seconds"]) if summary["seconds"] else "–"
        rows.append([summary["experiment"], summary["verdict"], *map(str, counts), work])
    return aligned(columns, rows)


def _published_text(comparison: dict[str, Any]) -> str:
    rows = []
    for row in comparison["rows"]:
        rows.append(
            [
                row["name"],
                *(f"{cell_text(cell['ours'])} ({published_text(cell)})" for cell in row["cells"]),
            ]
        )
    table = aligned([comparison["row"], *comparison["columns"]], rows)
    return f"{comparison['quantity']}: ours (published)\n{table}"


def published_text(cell: dict[str, Any]) -> str:
    """Return the published number with its spread, in the printed digits."""
    if cell["published"] is None:
        return "–"
    return (
        str(cell["published"])
        if cell["published_std"] is None
        else f"{cell['published']} ± {cell['published_std']}"
    )
