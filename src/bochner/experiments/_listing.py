"""What ``bochner list`` tells: each experiment with its claim, its data, and the time that each scale takes."""

from __future__ import annotations

import json
import textwrap
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..datasets import where
from ._catalog import SCALES, Experiment, case_key, discover
from ._meter import duration
from ._runner import result_path
from ._store import finished_records


def listing(out: Path | None = None) -> list[dict[str, Any]]:
    """One plain dictionary for each experiment; times are those of the results in ``out``, else of the package's own run."""
    found, broken = discover()
    entries: list[dict[str, Any]] = [
        {
            "experiment": name,
            "paper": experiment.paper,
            "claim": experiment.claim,
            "data": {needed: where(needed) for needed in experiment.needs},
            "cases": {scale: len(experiment.cases(scale)) for scale in SCALES},
            "seconds": {scale: _seconds(experiment, scale, out) for scale in SCALES},
        }
        for name, experiment in found.items()
    ]
    return entries + [{"experiment": name, "unusable": reason} for name, reason in broken.items()]


def _seconds(experiment: Experiment, scale: str, out: Path | None) -> float | None:
    """Time on one core of all cases at a scale, where known."""
    records = finished_records(result_path(out, experiment.name, scale)) if out is not None else {}
    keys = [case_key(case) for case in experiment.cases(scale)]
    if all(key in records and "seconds" in records[key] for key in keys):
        return round(sum(records[key]["seconds"] for key in keys), 1)
    return measured_seconds().get(experiment.name, {}).get(scale)


@cache
def measured_seconds() -> dict[str, dict[str, float]]:
    """Times on one core of each experiment and scale on the machine of the results that come with the source."""
    return json.loads((files(__package__) / "measured_seconds.json").read_text(encoding="utf-8"))


def listing_text(entries: list[dict[str, Any]]) -> str:
    """The listing for a terminal."""
    return "\n\n".join(_entry_text(entry) for entry in entries)


def _entry_text(entry: dict[str, Any]) -> str:
    if "unusable" in entry:
        return f"{entry['experiment']}\n  cannot be used: {entry['unusable']}"
    lines = [entry["experiment"], f"  {entry['paper']}"]
    lines += textwrap.wrap(
        f"Claim: {entry['claim']}", 110, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )
    if entry["data"]:
        data = ", ".join(f"{name} ({_PLACES[place]})" for name, place in entry["data"].items())
        lines += textwrap.wrap(
            f"Data: {data}", 110, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
        )
    times = [f"{scale} {_time_text(entry, scale)}" for scale in SCALES]
    lines.append("  Time on one core: " + ", ".join(times))
    return "\n".join(lines)


_PLACES = {
    "file": "here",
    "scikit-learn": "here, from scikit-learn",
    "cache": "here, from the cache",
    "OpenML": "missing; --download fetches it",
    "nowhere": "missing; set BOCHNER_DATA",
}


def _time_text(entry: dict[str, Any], scale: str) -> str:
    seconds = entry["seconds"][scale]
    cases = f"{entry['cases'][scale]} cases"
    return f"{duration(seconds)} ({cases})" if seconds is not None else f"not measured ({cases})"
