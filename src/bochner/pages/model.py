"""The page of a fitted table model."""

from typing import Any

from ..tables.text import certificate_text, judged_table
from .document import Markup, bullets, document, section, table, tag
from .drawing import bars, scatter

_MAX_CLASSES_SHOWN = 30
_MAX_BARS = 12


def model_page(known: dict[str, Any], name: str) -> str:
    """What a model is, how good it is on rows it has not seen, and what it looks at."""
    classify = known["task"] == "classification"
    rows = f"{known['n_rows']} rows: {known['n_train']} to fit, {known['n_test']} held out to judge (seed {known['seed']})."
    return document(
        f"Model of {known['target']}",
        tag("h1", f"Predicting {known['target']}"),
        tag("p", f"{known['task'].capitalize()} ({known['why_task']}). {rows} Model file: {name}."),
        bullets(known["notes"]),
        tag(
            "div",
            tag("b", _headline(known["judged"]["bochner"], classify)),
            tag("div", certificate_text(known)),
            *[tag("div", reason) for reason in known["verdict"]["reasons"]],
            class_=f"verdict {known['verdict']['kind']}",
        ),
        section("Beside other models", _rivals(known, classify)),
        section("Where it errs", _confusion(known) if classify else _agreement(known)),
        section("Which columns matter", _importance(known["importance"])),
        section("Columns left out", bullets([f"{column}: {reason}" for column, reason in known["left_out"].items()])),
        section("What it learned", tag("p", f"{known['path']}."), _members(known["members"])),
    )


def _headline(judged: dict[str, Any], classify: bool) -> str:
    if classify:
        return f"Held-out error {judged['error']:.2%}, at most {judged['certified']:.2%}"
    r2 = f", R² {judged['r2']:.3f}" if judged["r2"] is not None else ""
    return f"Held-out root mean square error {judged['rmse']:.4g}{r2}"


def _rivals(known: dict[str, Any], classify: bool) -> Markup:
    """A bar for each model, and what was measured of it; errors are shares, regression errors plain numbers."""
    columns, rows = judged_table(known)
    entries = [(name, error, limit if classify else None, text) for name, (text, error), (_, limit), *_ in rows]
    what = "held-out error with its certified limit" if classify else "held-out root mean square error"
    alt = f"{what}: " + ", ".join(f"{name} {text}" for name, _, _, text in entries)
    drawn = tag("figure", bars(entries, alt=alt, highlight=0), tag("figcaption", what))
    grid = table(columns, rows, caption="All models on the same rows; differences to bochner with their standard error")
    return tag("div", drawn, grid, class_="beside")


def _confusion(known: dict[str, Any]) -> Markup:
    classes = known["classes"]
    if len(classes) > _MAX_CLASSES_SHOWN:
        return tag("p", f"{len(classes)} classes are too many for a table.")
    rows = [[str(name), *counts] for name, counts in zip(classes, known["confusion"])]
    return table(["true \\ predicted", *classes], rows, caption="Held-out rows by true and predicted class")


def _agreement(known: dict[str, Any]) -> Markup:
    target, points = known["target"], known["points"]
    alt = f"Predicted against true {target} for {len(points)} held-out rows"
    picture = scatter(points, x_label=f"true {target}", y_label=f"predicted {target}", alt=alt)
    return tag("figure", picture, tag("figcaption", "Held-out rows; on the dashed line both agree"))


def _importance(importance: dict[str, float]) -> Markup:
    """Bars of the columns that matter most; ``importance`` is sorted."""
    entries = [(column, share, None, f"{share:.1%}") for column, share in importance.items() if share > 0][:_MAX_BARS]
    if not entries:
        return tag("p", "No column changes what the model predicts.")
    alt = "Importance of columns: " + ", ".join(f"{column} {text}" for column, _, _, text in entries)
    caption = "How much predictions change when only this column does, as a share of all columns"
    if n_others := len(importance) - len(entries):
        caption += f"; {n_others} more column{'s' * (n_others > 1)} with less effect or none"
    return tag("figure", bars(entries, alt=alt), tag("figcaption", caption))


def _members(members: list[dict[str, Any]]) -> Markup:
    """The families of kernels; errors are those of rows left out while fitting, in units of the target's variance."""
    rows = [list(member.values()) for member in members]
    headings = ["kernel", "weight", "error left out", "what it looks at, lengths in standard deviations"]
    return table(headings, rows, caption="Families of kernels and their weights in the blend", stacked=True)
