"""What ``bochner list`` tells: each experiment with its claim, its data, and the time that each scale takes."""

import json
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..datasets import where
from ._catalog import SCALES, Experiment, ExperimentError, case_key, choose, discover
from ._meter import duration
from ._runner import result_path
from ._store import finished_records


def listing(out: Path | None = None, names: Sequence[str] = ("all",)) -> list[dict[str, Any]]:
    """One plain dictionary for each experiment; times are those of the results in ``out``, else of the package's own run."""
    entries: list[dict[str, Any]] = [
        experiment.words
        | {
            "data": {needed: where(needed) for needed in experiment.needs},
            "cases": {scale: len(experiment.cases(scale)) for scale in SCALES},
            "seconds": {scale: _seconds(experiment, scale, out) for scale in SCALES},
        }
        for experiment in choose(names)
    ]
    broken = discover()[1] if list(names) == ["all"] else {}
    return entries + [{"experiment": name, "unusable": reason} for name, reason in broken.items()]


def _seconds(experiment: Experiment, scale: str, out: Path | None) -> float | None:
    """Time on one core of all cases at a scale, where known."""
    records = {}
    with suppress(ExperimentError):  # a file of something else
        records = finished_records(result_path(out, experiment.name, scale)) if out is not None else {}
    keys = [case_key(case) for case in experiment.cases(scale)]
    if all(key in records and "seconds" in records[key] for key in keys):
        return round(sum(records[key]["seconds"] for key in keys), 1)
    return measured_seconds().get(experiment.name, {}).get(scale)


@cache
def measured_seconds() -> dict[str, dict[str, float]]:
    """Times on one core of each experiment and scale on the machine of the results that come with the source."""
    return json.loads((files(__package__) / "measured_seconds.json").read_text(encoding="utf-8"))


def record_seconds(out: Path) -> None:
    """Keep the times of the results in ``out`` as the package's own: ``python -m bochner.experiments._listing DIR``."""
    known = {
        entry["experiment"]: {scale: seconds for scale, seconds in entry["seconds"].items() if seconds is not None}
        for entry in listing(out)
        if any(entry.get("seconds", {}).values())
    }
    target = Path(str(files(__package__) / "measured_seconds.json"))
    rows = [f"{json.dumps(name)}: {json.dumps(seconds)}" for name, seconds in known.items()]
    target.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def listing_text(entries: list[dict[str, Any]]) -> str:
    """All experiments for a terminal, a few lines each."""
    more = "bochner list NAME tells all about one; bochner reproduce NAME runs it."
    return "\n\n".join([*(_short_text(entry) for entry in entries), more])


def _short_text(entry: dict[str, Any]) -> str:
    if "unusable" in entry:
        return f"{entry['experiment']}\n  cannot be used: {entry['unusable']}"
    times = [f"{scale} {duration(seconds)}" for scale, seconds in entry["seconds"].items() if seconds is not None]
    facts = [*_data_summary(entry["data"]), f"Time on one core: {', '.join(times) or 'not measured'}."]
    return "\n".join(
        [f"{entry['experiment']}  ({entry['paper']})", *_wrapped(entry["claim"]), *_wrapped(" ".join(facts))]
    )


def _data_summary(data: dict[str, str]) -> list[str]:
    """Where an experiment's data sets are, in one sentence; none when it needs none.

    >>> _data_summary({"wine": "scikit-learn", "mnist": "OpenML", "farm": "nowhere", "ads": "nowhere"})
    ['Data: 4 sets, 1 here (wine), 1 by --download, 2 need BOCHNER_DATA.']
    """
    if not data:
        return []
    here = [name for name, place in data.items() if place not in ("OpenML", "nowhere")]
    sets = f"Data: {len(data)} set{'s' * (len(data) > 1)}"
    if len(here) == len(data):
        return [f"{sets}, here."]
    counts = Counter(data.values())
    others = [(counts["OpenML"], "by --download"), (counts["nowhere"], "need BOCHNER_DATA")]
    parts = [f"{len(here)} here ({', '.join(here)})"] if here else []
    return [", ".join([sets, *parts, *(f"{count} {how}" for count, how in others if count)]) + "."]


def entry_text(entry: dict[str, Any]) -> str:
    """Everything about one experiment, for a terminal."""
    lines = [entry["experiment"], *_wrapped(entry["paper"]), *_wrapped(f"Claim: {entry['claim']}")]
    lines += _wrapped(f"Rule: {entry['rule']}") if entry["rule"] else []
    for deviation in entry["deviations"]:
        lines += _wrapped(f"Deviation: {deviation}")
    lines += (
        _wrapped(f"Left out at scale paper, unless --whole asks for it: {entry['left_out']}")
        if entry["left_out"]
        else []
    )
    for place, words in _PLACES.items():
        names = [name for name, found in entry["data"].items() if found == place]
        lines += _wrapped(f"Data {words}: {', '.join(names)}") if names else []
    times = []
    for scale, seconds in entry["seconds"].items():
        cases = f"{entry['cases'][scale]} case{'s' * (entry['cases'][scale] != 1)}"
        times.append(f"{scale} {'not measured' if seconds is None else duration(seconds)} ({cases})")
    return "\n".join([*lines, "  Time on one core: " + ", ".join(times)])


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 110, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


_PLACES = {
    "file": "here",
    "scikit-learn": "from scikit-learn",
    "cache": "from the cache",
    "OpenML": "missing, --download fetches them",
    "nowhere": "missing, set BOCHNER_DATA",
}


if __name__ == "__main__":
    record_seconds(Path(sys.argv[1]))
