"""Models as text for a terminal."""

import re
from typing import Any

from .._terminal.text import aligned
from .evaluate.metrics import METRICS

_COLUMNS_NAMED, _READINGS_TOLD, _CLASSES_TOLD = 5, 40, 10
_FOR_RARE = ("average-precision", "balanced-accuracy")


def fit_text(facts: dict[str, Any]) -> str:
    """What ``bochner fit`` prints."""
    members = ", ".join(f"{member['name']} {member['weight']:.0%}" for member in facts["members"])
    important = list(facts["importance"].items())[:_COLUMNS_NAMED]
    headings, rows = judged_table(facts)
    return "\n".join([
        f"{facts['task'].capitalize()} of {facts['target']!r} ({facts['why_task']}).",
        f"{facts['n_rows']} rows, {_counted(facts)}; fitted on {facts['n_train']}, judged on "
        f"{facts['n_test']}{held_out_text(facts)}.",
        *balance_text(facts),
        *repeated_text(facts),
        *_readings(facts["columns"]),
        *facts["notes"],
        f"Kernels: {members}; {facts['path']}.",
        "Columns that matter most: "
        f"{', '.join(f'{column!r} {share:.0%}' for column, share in important)}.",
        "",
        aligned(headings, [[name, *(text for text, _ in cells)] for name, *cells in rows]),
        "",
        *facts["verdict"]["reasons"],
        *threshold_text(facts),
        certificate_text(facts),
        *refit_text(facts),
        cost_text(facts),
    ])  # fmt: skip


def _counted(facts):
    """How many columns there are of each kind."""
    dates = f"{len(facts['dates'])} of dates, " if facts["dates"] else ""
    return (
        f"{len(facts['numeric'])} numeric, {dates}{len(facts['categorical'])} categorical columns"
    )


def _readings(columns):
    """How columns were read, but for plain numbers and a few categories; the first of many."""
    plain = re.compile(r"numbers|categories, \d+ levels?")
    told = {
        name: (role, reason)
        for name, (role, reason) in columns.items()
        if not plain.fullmatch(reason)
    }
    lines = [
        f"Left out: {name!r}, {reason}." if role == "left out" else f"Read: {name!r}, {reason}."
        for name, (role, reason) in told.items()
    ]
    n_more = len(lines) - _READINGS_TOLD
    return (
        lines
        if n_more <= 0
        else [*lines[:_READINGS_TOLD], f"And {n_more} more columns, which --json tells of."]
    )


def held_out_text(facts: dict[str, Any]) -> str:
    """Which rows were held out, as the end of a sentence."""
    kind, column = facts["split"]["kind"], facts["split"]["column"]
    if kind == "time":
        return f", the last ones by {column!r}"
    return f", whole groups of {column!r} ({facts['split']['n_groups']})" if kind == "group" else ""


def repeated_text(facts: dict[str, Any]) -> list[str]:
    """Return sentences on rows that repeat another row, and on held-out inputs that the training
    rows have too.
    """
    lines, repeated, seen = [], facts.get("repeated"), facts.get("seen")
    if repeated is not None:
        meaning = (
            "the same inputs occur with different outcomes, so they count as independent "
            "observations"
            if repeated["are_ties"]
            else "copies were kept on the same side of every split, and held-out copies count once"
        )
        rows = f"{repeated['n_rows']} of {facts['n_rows']} rows ({repeated['share']:.0%})"
        lines.append(f"{rows} repeat another row; {meaning}.")
    if seen is not None:
        rows = f"{seen['n_rows']} of {facts['n_test']} held-out rows ({seen['share']:.0%})"
        lines.append(f"{rows} have inputs that also occur among the training rows.")
    return lines


def balance_text(facts: dict[str, Any]) -> list[str]:
    """How many rows each class has, the most frequent first."""
    if facts["task"] != "classification":
        return []
    counts = sorted(
        zip(facts["class_counts"], map(str, facts["classes"])), key=lambda pair: -pair[0]
    )
    shown = [
        f"{label!r} {count} ({count / facts['n_rows']:.1%})"
        for count, label in counts[:_CLASSES_TOLD]
    ]
    more = f" and {len(counts) - _CLASSES_TOLD} more" if len(counts) > _CLASSES_TOLD else ""
    found = (
        f"; {facts['positive']!r} is the class to be found" if facts["positive"] is not None else ""
    )
    return [f"Classes: {', '.join(shown)}{more}{found}."]


def threshold_text(facts: dict[str, Any]) -> list[str]:
    """The threshold that was asked for, and what it does to mistakes."""
    chosen = facts["threshold"]
    if chosen is None:
        return []
    (false, missed), (false_half, missed_half) = chosen["mistakes"], chosen["mistakes_at_half"]
    return [
        f"Predicts {facts['positive']!r} from a probability of {chosen['value']:.3g} on "
        f"({chosen['asked']}, chosen on training rows): "
        f"{false} false positives and {missed} false negatives among held-out rows, at 0.5 "
        f"{false_half} and {missed_half}. "
        "Other models predict the more probable class."
    ]


def certificate_text(facts: dict[str, Any]) -> str:
    """What the held-out rows prove about the model, and what they do not."""
    entry, split = facts["judged"]["bochner"], facts["split"]
    certain, rows = (
        f"with {entry['confidence']:.0%} confidence",
        f"the {facts['n_test']} held-out ones",
    )
    alike = "such rows" if split["kind"] == "time" else f"rows drawn like {rows}"
    if facts["task"] == "classification":
        limit = f"at most {entry['certified']:.2%}"
        if split["kind"] == "group":
            return (
                f"Certified: {certain} this very model errs, on average over groups drawn like the "
                f"{split['n_groups']} held-out ones of "
                f"{split['column']!r}, on {limit} of a group's rows (Hoeffding's limit over "
                "groups). Rows of one group are not independent, so "
                "nothing is certified for single rows."
            )
        claim = f"this very model errs on {limit} of {alike} (exact binomial limit)"
    else:
        if split["kind"] == "group":
            return "Rows of one group are not independent, so no interval is certified; coverage on the held-out groups is an estimate."
        if entry["half_width"] is None:
            return "There are too few held-out rows for a certified interval."
        claim = f"at least {entry['coverage']:.0%} of predictions are within ±{entry['half_width']:.4g} of the truth, for {alike}"
    if split["kind"] == "time":
        return (
            "Not certified: rows in time are seldom independent, and may change. If later ones "
            f"are drawn independently like {rows}, "
            f"then {certain} {claim}."
        )
    return f"Certified: {certain} {claim}."


def refit_text(facts: dict[str, Any]) -> list[str]:
    """What still is certified where all rows were fitted after judging."""
    if not facts["refitted"]:
        return []
    return [
        f"The model in the file was fitted again, on all {facts['n_rows']} rows. All that is said "
        "here, the certificate too, is about the model "
        f"fitted on {facts['n_train']} rows that was judged; the one in the file is seldom worse, "
        "but no row is left that could prove it."
    ]


def cost_text(facts: dict[str, Any]) -> str:
    """Time and memory, and that all rows were used."""
    seconds, peak = facts["cost"]["seconds"], facts["cost"]["peak_bytes"]
    memory = "" if peak is None else f", at most {peak / 1e9:.2f} GB of memory"
    return f"All {facts['n_rows']} rows in {seconds:.0f} s{memory}."


def shown_metrics(facts: dict[str, Any]) -> list[str]:
    """The metric that is judged by, others of its kind, and those for rare classes where there are
    some.
    """
    judged = facts["judged"]["bochner"]
    more = [name for name in _FOR_RARE if name in judged] if facts.get("rare") else []
    return list(dict.fromkeys([*facts["metrics"], *more]))


def judged_table(facts: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """What was measured of each model: headings, and rows of its name and (text, number) of each
    measure.
    """
    main = METRICS[facts["metrics"][0]]
    measures = {METRICS[name].heading: (name, METRICS[name].form) for name in shown_metrics(facts)}
    if facts["task"] == "classification":
        measures |= {"error": ("error", ".2%"), "certified": ("certified", ".2%")}
    elif any(entry["half_width"] is not None for entry in facts["judged"].values()):
        measures |= {"certified ±": ("half_width", ".4g")}
    rows = []
    for name, entry in facts["judged"].items():
        numbers = [(entry[key], form) for key, form in measures.values()]
        worse, noise = entry["worse_by"][facts["metrics"][0]]
        numbers += [(worse, f"+{main.form}"), (noise, main.form), (entry["seconds"], ".2f")]
        rows.append([name, *(("–" if n is None else format(n, form), n) for n, form in numbers)])
    return ["model", *measures, f"worse in {main.heading}", "±", "seconds"], rows
