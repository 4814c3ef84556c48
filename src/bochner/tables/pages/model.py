"""The page of a fitted table model."""

from typing import Any

from ..evaluate.metrics import METRICS
from ..text import (
    balance_text,
    certificate_text,
    held_out_text,
    judged_table,
    refit_text,
    repeated_text,
    shown_metrics,
    threshold_text,
)
from .document import Markup, bullets, document, facts, folded, section, table, tag
from .model_figures import (
    beside,
    class_figures,
    confusion,
    effects,
    importance,
    quality,
    value_figures,
)

_MANY_COLUMNS = 15


def model_page(known: dict[str, Any], name: str) -> str:
    """What a model is, how good it is on rows it has not seen, what it looks at, and where it comes
    from.
    """
    classify = known["task"] == "classification"
    rows = f"{known['n_rows']} rows: {known['n_train']} to fit, {known['n_test']} held out to judge{held_out_text(known)}."
    said = [
        certificate_text(known),
        *known["verdict"]["reasons"],
        *threshold_text(known),
        *refit_text(known),
    ]
    return document(
        f"Model of {known['target']}",
        tag("h1", f"Predicting {known['target']}"),
        tag(
            "div",
            tag("b", _headline(known)),
            *[tag("div", line) for line in said],
            class_=f"verdict {known['verdict']['kind']}",
        ),
        tag("p", f"{known['task'].capitalize()} ({known['why_task']}). {rows}"),
        bullets([*balance_text(known), *repeated_text(known), *known["notes"]]),
        section("Beside other models", beside(quality(known), _rivals(known))),
        section(
            "Where it errs",
            confusion(known) if classify else "",
            class_figures(known) if classify else value_figures(known),
        ),
        section("Rows predicted worst", _worst(known)),
        section("Which columns matter", importance(known)),
        section("What columns do", effects(known)),
        section("How columns were read", _columns(known["columns"])),
        section("What it learned", tag("p", f"{known['path']}."), _members(known["members"])),
        section("Where it comes from", _origin(known, name)),
    )


def _headline(known: dict[str, Any]) -> str:
    """One sentence: how good, and what is certain of that."""
    entry = known["judged"]["bochner"]
    values = [
        f"{METRICS[name].heading} {entry[name]:{METRICS[name].form}}"
        for name in shown_metrics(known)
        if entry[name] is not None
    ]
    certain = f"with {entry['confidence']:.0%} confidence"
    if known["task"] == "classification":
        limit = (
            f", {certain} at most {entry['certified']:.2%}"
            if known["split"]["kind"] == "random"
            else ""
        )
        return f"Held-out error {entry['error']:.2%}{limit}; {', '.join(values)}."
    width = entry["half_width"] if known["split"]["kind"] == "random" else None
    limit = (
        f"; {certain} {entry['coverage']:.0%} of predictions are within ±{width:.4g}"
        if width is not None
        else ""
    )
    return f"Held-out {', '.join(values)}{limit}."


def _rivals(known: dict[str, Any]) -> Markup:
    columns, rows = judged_table(known)
    what = METRICS[known["metrics"][0]].heading
    return table(
        columns,
        rows,
        caption=f"All models on the same rows; how much worse than bochner in {what}, with the "
        "standard error",
    )


def _worst(known: dict[str, Any]) -> Markup:
    worst = known["worst"]
    last = "probability of the truth" if known["task"] == "classification" else "error"
    cells = [
        [str(row), true, predicted, (f"{loss:.4g}", loss), *values]
        for row, true, predicted, loss, *values in worst["rows"]
    ]
    headings = ["row of the table", "true", "predicted", last, *worst["columns"]]
    return table(
        headings,
        cells,
        caption="Held-out rows with the largest loss, and their values of the columns that matter "
        "most",
    )


def _columns(columns: dict[str, list[str]]) -> Markup:
    rows = [[name, role, reason] for name, (role, reason) in columns.items()]
    grid = table(
        ["column", "read as", "why"], rows, caption="Each column of the table", stacked=True
    )
    return grid if len(rows) <= _MANY_COLUMNS else folded(f"{len(rows)} columns", grid)


def _members(members: list[dict[str, Any]]) -> Markup:
    """The families of kernels; errors are those of rows left out while fitting, in units of the
    target's variance.
    """
    rows = [list(member.values()) for member in members]
    headings = [
        "kernel",
        "weight",
        "error left out",
        "ridge",
        "seconds",
        "what it looks at, lengths in standard deviations",
    ]
    caption = (
        "Families of kernels: rows left out chose the ridge of each and its weight in the blend"
    )
    return table(headings, rows, caption=caption)


def _origin(known: dict[str, Any], name: str) -> Markup:
    said = {
        "model file": name,
        "made": f"{known['made']}, bochner {known['version']}",
        "command": tag("code", known["command"]) if known["command"] else "fit_table in Python",
        "seed": known["seed"],
        "table": tag("code", f"SHA-256 {known['fingerprint']}"),
    }
    return facts(said)
