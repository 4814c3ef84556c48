"""Text of ``bochner list``: each experiment with its claim, data, and cases."""

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bochner.datasets import where

from .catalog import SCALES, choose, discover


def listing(names: Sequence[str] = ("all",)) -> list[dict[str, Any]]:
    """Return one plain dictionary for each experiment."""
    entries: list[dict[str, Any]] = [
        experiment.words
        | {
            "data": {needed: where(needed) for needed in experiment.needs},
            "cases": {scale: len(experiment.cases(scale)) for scale in SCALES},
        }
        for experiment in choose(names)
    ]
    broken = discover()[1] if list(names) == ["all"] else {}
    return entries + [{"experiment": name, "unusable": reason} for name, reason in broken.items()]


def listing_text(entries: list[dict[str, Any]]) -> str:
    """Return all experiments for a terminal, a few lines each."""
    more = "bochner list NAME tells all about one; bochner reproduce NAME runs it."
    return "\n\n".join([*(_short_text(entry) for entry in entries), more])


def _short_text(entry: dict[str, Any]) -> str:
    if "unusable" in entry:
        return f"{entry['experiment']}\n  cannot be used: {entry['unusable']}"
    facts = [*_data_summary(entry["data"]), f"Cases: {_cases(entry)}."]
    return "\n".join(
        [
            f"{entry['experiment']}  ({entry['paper']})",
            *_wrapped(entry["claim"]),
            *_wrapped(" ".join(facts)),
        ]
    )


def _data_summary(data: dict[str, str]) -> list[str]:
    """Return a sentence on the sources of an experiment's data sets, empty if it needs none.

    >>> _data_summary({"wine": "scikit-learn", "mnist": "OpenML", "farm": "nowhere"})
    ['Data: 3 sets, 1 here (wine), 1 by --download, 1 need BOCHNER_DATA.']
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
    """Return everything about one experiment, for a terminal."""
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
    return "\n".join([*lines, f"  Cases: {_cases(entry)}"])


def _cases(entry: dict[str, Any]) -> str:
    return ", ".join(f"{count} at scale {scale}" for scale, count in entry["cases"].items())


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, 110, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )


_PLACES = {
    "file": "here",
    "scikit-learn": "from scikit-learn",
    "cache": "from the cache",
    "OpenML": "missing, --download fetches them",
    "nowhere": "missing, set BOCHNER_DATA",
}
