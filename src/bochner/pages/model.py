"""The page of a fitted table model."""

from typing import Any

from .._text import spread_text
from ..tables.text import judged_table
from .document import Markup, bullets, document, facts, section, table, tag
from .drawing import bars, scatter

_MAX_CLASSES_SHOWN = 30
_MAX_BARS = 12


def model_page(facts_of_model: dict[str, Any], name: str) -> str:
    """What a model is, how good it is on rows it has not seen, and what it looks at."""
    known = facts_of_model
    classify = known["task"] == "classification"
    rows = f"{known['n_rows']} rows: {known['n_train']} to fit, {known['n_test']} held out to judge."
    dropped = [f"{known['n_dropped']} rows without a target were left out."] if known["n_dropped"] else []
    better = _better_rival(known["judged"], classify)
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
            tag("div", better or "No other model below was better on these rows."),
            class_="verdict open" if better else "verdict holds",
        ),
        section("Beside other models", _rivals(known, classify)),
        section("Where it errs", _confusion(known) if classify else _agreement(known)),
        section("Which columns matter", _importance(known["importance"], "accuracy" if classify else "R²")),
        section("Columns left out", bullets(left_out)),
        section(
            "How it was chosen",
            facts({key: _plain(value) for key, value in (known["choice"] | {"file": name}).items()}),
        ),
    )


def _headline(judged: dict[str, Any], classify: bool) -> str:
    if classify:
        return f"Held-out error {judged['error']:.2%}, at most {judged['certified']:.2%}"
    r2 = f", R² {judged['r2']:.3f}" if judged["r2"] is not None else ""
    return f"Held-out root mean square error {judged['rmse']:.4g}{r2}"


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


def _better_rival(judged: dict[str, dict[str, Any]], classify: bool) -> str:
    """The best model on the same rows, where it is not this one; a page that hides it would be no report."""
    value, form = ("error", ".2%") if classify else ("rmse", ".4g")
    name = min(judged, key=lambda model: judged[model][value])
    if judged[name][value] == judged["bochner"][value]:
        return ""
    return f"Better on these rows: {name}, {judged[name][value]:{form}}."


def _rivals(known: dict[str, Any], classify: bool) -> Markup:
    """A bar for each model, and what was measured of it; errors are shares, regression errors plain numbers."""
    columns, rows = judged_table(known)
    entries = [(name, error, limit if classify else None, text) for name, (text, error), (_, limit), *_ in rows]
    what = "held-out error with its certified limit" if classify else "held-out root mean square error"
    alt = f"{what}: " + ", ".join(f"{name} {text}" for name, _, _, text in entries)
    drawn = tag("figure", bars(entries, alt=alt, highlight=0), tag("figcaption", what))
    grid = table(columns, rows, caption="All models, same rows and preprocessing")
    return tag("div", drawn, grid, class_="beside")


def _confusion(known: dict[str, Any]) -> Markup:
    classes = known["classes"]
    if len(classes) > _MAX_CLASSES_SHOWN:
        return tag("p", f"{len(classes)} classes are too many for a table.")
    rows = [[name, *counts] for name, counts in zip(classes, known["confusion"])]
    return table(["true \\ predicted", *classes], rows, caption="Held-out rows by true and predicted class")


def _agreement(known: dict[str, Any]) -> Markup:
    picture = scatter(
        known["points"],
        x_label=f"true {known['target']}",
        y_label=f"predicted {known['target']}",
        alt=f"Predicted against true {known['target']} for {len(known['points'])} held-out rows",
    )
    return tag("figure", picture, tag("figcaption", "Held-out rows; on the dashed line both agree"))


def _importance(importance: dict[str, list[float]], score: str) -> Markup:
    """Bars of the columns that matter most; ``importance`` is sorted."""
    if not importance:
        return Markup("")
    useful = [(column, mean, None, spread_text(mean, std)) for column, (mean, std) in importance.items() if mean > 0]
    entries = useful[:_MAX_BARS]
    if not entries:
        return tag("p", "Shuffling the values of any one column does not lower the held-out score.")
    alt = "Loss of score when a column is shuffled: " + ", ".join(f"{column} {text}" for column, _, _, text in entries)
    caption = f"How much the held-out {score} falls when the values of a column are shuffled"
    if n_others := len(importance) - len(entries):
        caption += f"; {n_others} more column{'s' * (n_others > 1)} with less effect or none"
    return tag("figure", bars(entries, alt=alt), tag("figcaption", caption))


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return " · ".join(f"{key}: {entry:.4g}" for key, entry in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)
