"""The page of a fitted table model."""

from __future__ import annotations

from typing import Any

from .document import Markup, bullets, document, facts, section, table, tag
from .drawing import bars, scatter

_MAX_CLASSES_SHOWN = 30
_MAX_BARS = 25


def model_page(facts_of_model: dict[str, Any], name: str) -> str:
    """What a model is, how good it is on rows it has not seen, and what it looks at."""
    known = facts_of_model
    classify = known["task"] == "classification"
    rows = f"{known['n_rows']} rows: {known['n_train']} to fit, {known['n_test']} held out to judge."
    dropped = [f"{known['n_dropped']} rows without a target were left out."] if known["n_dropped"] else []
    left_out = [f"{column}: {reason}" for column, reason in known["left_out"].items()]
    return document(
        f"Model of {known['target']}",
        tag("h1", f"Predicting {known['target']}"),
        tag("p", f"{known['task'].capitalize()} ({known['why_task']}). {rows}"),
        bullets([*dropped, *known["notes"]]),
        tag(
            "div",
            tag("b", _headline(known["judged"]["bochner"], classify)),
            tag("div", _meaning(known, classify)),
            class_="verdict holds",
        ),
        section("Beside other models", _rivals(known["judged"], classify)),
        section("Where it errs", _confusion(known) if classify else _agreement(known)),
        section("Which columns matter", _importance(known["importance"])),
        section("Columns left out", bullets(left_out)),
        section(
            "How it was chosen", facts({key: _plain(value) for key, value in known["choice"].items()} | {"file": name})
        ),
    )


def _headline(judged: dict[str, Any], classify: bool) -> str:
    if classify:
        return f"Held-out error {judged['error']:.2%}, at most {judged['certified']:.2%}"
    return f"Held-out root mean square error {judged['rmse']:.4g}" + (
        f", R² {judged['r2']:.3f}" if judged["r2"] is not None else ""
    )


def _meaning(known: dict[str, Any], classify: bool) -> str:
    judged = known["judged"]["bochner"]
    certain = f"{judged['confidence']:.0%}"
    if classify:
        return (
            f"With {certain} confidence this very model errs on at most {judged['certified']:.2%} of rows drawn like the "
            f"{known['n_test']} held-out ones: an exact binomial limit, whatever the data are."
        )
    if judged["half_width"] is None:
        return "There are too few held-out rows for a certified interval."
    return (
        f"With {certain} confidence at least {judged['coverage']:.0%} of future predictions are within "
        f"±{judged['half_width']:.4g} of the truth, for rows drawn like the {known['n_test']} held-out ones."
    )


def _rivals(judged: dict[str, dict[str, Any]], classify: bool) -> Markup:
    value, limit = ("error", "certified") if classify else ("rmse", "half_width")
    entries = [
        (
            name,
            entry[value],
            entry["certified"] if classify else None,
            f"{entry[value]:.2%}" if classify else f"{entry[value]:.4g}",
        )
        for name, entry in judged.items()
    ]
    what = "held-out error with its certified limit" if classify else "held-out root mean square error"
    alt = f"{what}: " + ", ".join(f"{name} {text}" for name, _, _, text in entries)
    columns = [
        "model",
        what.split(" with")[0],
        "certified limit" if classify else "certified half-width",
        "seconds to fit",
    ]
    shown, numbers = [], []
    for name, entry in judged.items():
        cells = [entry[value], entry[limit], entry["seconds"]]
        texts = [f"{cell:.2%}" if classify else f"{cell:.4g}" if cell is not None else "–" for cell in cells[:2]]
        shown.append([name, *texts, f"{entry['seconds']:.2f}"])
        numbers.append([None, *cells])
    drawn = tag("figure", bars(entries, alt=alt, highlight=0), tag("figcaption", what))
    grid = table(columns, shown, caption="All models, same rows and preprocessing", sort_values=numbers)
    return tag("div", drawn, grid)


def _confusion(known: dict[str, Any]) -> Markup:
    classes = known["classes"]
    if len(classes) > _MAX_CLASSES_SHOWN:
        return tag("p", f"{len(classes)} classes are too many for a table.")
    rows = [[name, *counts] for name, counts in zip(classes, known["confusion"])]
    values = [[None, *counts] for counts in known["confusion"]]
    return table(
        ["true \\ predicted", *classes], rows, caption="Held-out rows by true and predicted class", sort_values=values
    )


def _agreement(known: dict[str, Any]) -> Markup:
    picture = scatter(
        known["points"],
        x_label=f"true {known['target']}",
        y_label=f"predicted {known['target']}",
        alt=f"Predicted against true {known['target']} for {len(known['points'])} held-out rows",
    )
    return tag("figure", picture, tag("figcaption", "Held-out rows; on the dashed line both agree"))


def _importance(importance: dict[str, list[float]]) -> Markup:
    entries = [(column, mean, None, f"{mean:.3g} ± {std:.1g}") for column, (mean, std) in importance.items()][
        :_MAX_BARS
    ]
    if not entries:
        return Markup("")
    alt = "Loss of score when a column is shuffled: " + ", ".join(f"{column} {text}" for column, _, _, text in entries)
    caption = "How much the held-out score falls when the values of a column are shuffled"
    return tag("figure", bars(entries, alt=alt), tag("figcaption", caption))


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {entry:.4g}" for key, entry in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)
