"""Page about a fitted table model."""

from typing import Any

from ..evaluate.metrics import METRICS
from ..facts import (
    CONSTANT,
    OURS,
    ClassFacts,
    Curve,
    Effects,
    ErrorCertificate,
    Facts,
    MemberFacts,
    ValueFacts,
    WorstRows,
    as_json,
)
from ..text import (
    balance_text,
    certificate_text,
    metric_table,
    monotone_text,
    refit_text,
    repeated_text,
    shown_metrics,
    task_text,
    threshold_text,
)
from . import charts
from .document import Markup, bullets, document, folded, joined, name_list, section, table, tag

_MANY_COLUMNS = 15
_MAX_CLASSES_SHOWN = 30
_MAX_BARS = 12


def model_page(facts: Facts, name: str) -> str:
    """Return an HTML page: evaluation on held-out rows, columns, effects and provenance."""
    sentences = [
        certificate_text(facts),
        *facts.verdict.reasons,
        *threshold_text(facts),
        *refit_text(facts),
    ]
    of_classes, of_values = facts.of_classes, facts.of_values
    return document(
        f"Model of {facts.target}",
        tag("h1", f"Predicting {facts.target}"),
        tag(
            "div",
            tag("b", _headline(facts)),
            *[tag("div", line) for line in sentences],
            class_=f"verdict {facts.verdict.kind}",
        ),
        tag("p", task_text(facts)),
        bullets([*balance_text(facts), *repeated_text(facts), *monotone_text(facts), *facts.notes]),
        section("Comparison with other models", _side_by_side(_comparison(facts), _models(facts))),
        section(
            "Errors",
            "" if of_classes is None else _confusion(of_classes),
            "" if of_classes is None else _class_figures(facts, of_classes),
            "" if of_values is None else _value_figures(facts.target, of_values),
        ),
        section("Rows with the largest errors", _worst(facts.worst, facts.classify)),
        section("Importance of columns", _importance(facts)),
        section("Effects of columns", _effects(facts.effects)),
        section("Columns as read", _columns(facts.columns)),
        section("Kernels", tag("p", f"{facts.path}."), _members(facts.members)),
        section("Provenance", _provenance(facts, name)),
    )


def _headline(facts):
    """Return the error of classes, and the metrics."""
    entry, certificate = facts.ours, facts.ours.certificate
    values = [f"error {certificate.error:.2%}"] if isinstance(certificate, ErrorCertificate) else []
    values += [
        f"{METRICS[name].heading} {entry.scores[name]:{METRICS[name].form}}"
        for name in shown_metrics(facts)
        if entry.scores[name] is not None
    ]
    return f"Held-out {', '.join(values)}."


def _models(facts):
    what = METRICS[facts.metrics[0]].heading
    caption = f"All models on the same held-out rows, with their difference from bochner in {what}"
    return table(*metric_table(facts), caption=caption)


def _worst(worst: WorstRows, classify: bool) -> Markup:
    last = "probability of the true class" if classify else "error"
    cells = [
        [str(row), true, predicted, (f"{loss:.4g}", loss), *values]
        for row, true, predicted, loss, *values in worst.rows
    ]
    headings = ["row of the table", "true", "predicted", last, *worst.columns]
    caption = "Held-out rows with the largest loss, and their values in the most important columns"
    return table(headings, cells, caption=caption)


def _columns(columns: dict[str, list[str]]) -> Markup:
    rows = [[name, role, reason] for name, (role, reason) in columns.items()]
    grid = table(["column", "read as", "reason"], rows, caption="All columns", stacked=True)
    return grid if len(rows) <= _MANY_COLUMNS else folded(f"{len(rows)} columns", grid)


def _members(members: list[MemberFacts]) -> Markup:
    headings = [
        "kernel",
        "weight",
        "cross-validation error",
        "ridge",
        "seconds",
        "columns, with length scales in standard deviations",
    ]
    caption = "Kernels of the blend; ridges and weights are chosen by cross-validation"
    return table(headings, [list(as_json(one).values()) for one in members], caption=caption)


def _provenance(facts, name):
    origin = facts.provenance
    return name_list({
        "model file": name,
        "made": f"{origin.made}, bochner {origin.version}",
        "command": tag("code", origin.command) if origin.command else "fit_table in Python",
        "seed": facts.seed,
        "table": tag("code", f"SHA-256 {origin.fingerprint}"),
    })  # fmt: skip


# --- figures --------------------------------------------------------------------------------------


def _figure(picture: Any, caption: str) -> Markup:
    """Return a picture with a caption."""
    return tag("figure", picture, tag("figcaption", caption))


def _side_by_side(*children: Any, kind: str = "beside") -> Markup:
    """Return elements that stand side by side on wide screens."""
    return tag("div", *[child for child in children if child != ""], class_=kind)


def _charts(pictures, caption, *above):
    charts = _side_by_side(*pictures, kind="beside charts")
    return tag("figure", *above, charts, tag("figcaption", caption))


def _comparison(facts: Facts) -> Markup:
    """Draw the differences of the other models from ours, with two standard errors."""
    name = facts.metrics[0]
    what, form = METRICS[name].heading, METRICS[name].form
    entries = []
    for model, entry in facts.judged.items():
        if model != OURS:
            worse, noise = entry.worse_by[name] or (0.0, 0.0)
            entries.append((model, worse, noise, f"{worse:+{form}} ± {noise:{form}}"))
    if not entries:
        return Markup("")
    alt = f"Worse in {what} than bochner: "
    alt += ", ".join(f"{model} {text}" for model, _, _, text in entries)
    caption = (
        f"Difference in {what} from bochner (dashed) on the same held-out rows. Bars: two standard "
        "errors. Gray: within these; green: worse than bochner; red: better"
    )
    return _figure(
        charts.forest(entries, x_label=f"worse in {what}", alt=alt, far=[CONSTANT]), caption
    )


def _confusion(of_classes: ClassFacts) -> Markup:
    """Draw held-out rows by true and predicted class, colored by the share of the true class."""
    classes, counts = [str(label) for label in of_classes.classes], of_classes.confusion
    if len(classes) > _MAX_CLASSES_SHOWN:
        return tag("p", f"{len(classes)} classes are too many for a confusion matrix.")
    # Square roots, so that few mistakes are visible too.
    shares = [
        [(cell / max(sum(row), 1)) ** 0.5 * (1 if i == j else -1) for j, cell in enumerate(row)]
        for i, row in enumerate(counts)
    ]
    right, total = sum(row[k] for k, row in enumerate(counts)), sum(map(sum, counts))
    alt = f"Confusion matrix: {right} of {total} held-out rows on the diagonal"
    labels = {"title": "True and predicted class", "x_label": "predicted", "y_label": "true"}
    labels |= {"alt": alt}
    picture = charts.heat_map(counts, classes, classes, **labels, numbers=True, shade=shares)
    caption = "Held-out rows. Blue: correct; red: wrong; stronger: a larger share of the class"
    return _figure(picture, caption)


def _class_figures(facts: Facts, of_classes: ClassFacts) -> Markup:
    """Draw ROC and precision-recall curves (two classes), and calibration."""
    pictures, of_what = [], "of the most probable class"
    if of_classes.positive is not None and of_classes.roc and of_classes.precision_recall:
        positive = str(of_classes.positive)
        scores, errors = facts.ours.scores, facts.ours.standard_errors
        of_what = f"of {positive}"
        area = f"AUC {scores['auc']:.4f} ± {errors['auc']:.4f}"
        roc: dict[str, Any] = {
            "title": f"ROC curve, {area}",
            "x_label": f"false positive rate of {positive}",
            "y_label": f"true positive rate of {positive}",
            "alt": f"ROC curve of {positive}, {area}",
            "guide": [(0.0, 0.0), (1.0, 1.0)],
        }
        name = "average-precision"
        mean = f"average precision {scores[name]:.3f} ± {errors[name]:.3f}"
        n_positive = sum(of_classes.confusion[of_classes.classes.index(of_classes.positive)])
        base = n_positive / facts.n_test
        precision: dict[str, Any] = {
            "title": mean,
            "x_label": f"recall of {positive}",
            "y_label": f"precision of {positive}",
            "alt": f"Precision against recall of {positive}, {mean}",
            "guide": [(0.0, base), (1.0, base)],
        }
        pictures = [
            charts.curves([points], x_range=(0.0, 1.0), y_range=(0.0, 1.0), **words)
            for points, words in ((of_classes.roc, roc), (of_classes.precision_recall, precision))
        ]
    title, bins = f"Calibration {of_what}", of_classes.calibration
    alt = ", ".join(f"{given:.2f} predicted, {share:.2f} observed" for given, share, *_ in bins)
    pictures.append(charts.calibration(bins, title=title, alt=f"{title}: {alt}"))
    caption = (
        "Held-out rows. Dashed: random guessing, and perfect calibration. Bars: two standard errors"
    )
    return _charts(pictures, caption)


def _value_figures(target: str, of_values: ValueFacts) -> Markup:
    """Draw predicted against true values, errors, and intervals."""
    points, ends = of_values.points, of_values.intervals
    names = {"x_label": f"true {target}", "y_label": f"predicted {target}"}
    alt = f"Predicted against true {target} for {len(points)} held-out rows"
    label = names["y_label"]
    errors = charts.residuals(points, x_label=label, alt=f"Errors against {label}")
    caption = "Held-out rows; on the dashed lines prediction and true value agree"
    parts = [_charts([charts.scatter(points, **names, alt=alt), errors], caption)]
    if ends.rows:
        covered = f"{ends.coverage:.1%} ± {ends.coverage_error:.1%}"
        caption = (
            f"Intervals of {ends.level:.0%} cover {covered} of the held-out rows; their median "
            f"width is {ends.median_width:.4g}. Dots: true values, red if outside"
        )
        alt = f"Intervals of {len(ends.rows)} held-out rows, which cover {covered}"
        parts.append(_figure(charts.intervals(ends.rows, y_label=target, alt=alt), caption))
    return joined(parts)


def _importance(facts: Facts) -> Markup:
    """Draw the importance of the most important columns, with two standard errors."""
    shares, errors = facts.importance, facts.importance_error
    entries = [
        (column, share, share + 2 * errors[column], f"{share:.1%} ± {errors[column]:.1%}")
        for column, share in shares.items()
        if share > 0
    ][:_MAX_BARS]
    if not entries:
        return tag("p", "No column changes the predictions.")
    alt = "Importance of columns: " + ", ".join(f"{name} {text}" for name, _, _, text in entries)
    caption = (
        "Change of predictions if only this column changes, as a share of all columns, with two "
        "standard errors"
    )
    if n_others := len(shares) - len(entries):
        caption += f"; {n_others} more column{'s' * (n_others > 1)} with less effect or none"
    return _figure(charts.bars(entries, alt=alt), caption)


def _effects(effects: Effects | None) -> Markup:
    """Draw the strongest effects of single columns."""
    if effects is None:
        return tag("p", "Effects are not available for models with monotone columns.")
    if not effects.curves:
        return Markup("")
    what = effects.outputs[0] if len(effects.outputs) == 1 else "log-probability"
    caption = (
        f"Change of the {what} with one column: centered partial dependence of the whole model. "
        f"Joint effects of several columns are {effects.rest_share:.0%} of its variance"
    )
    if effects.level is not None:
        caption += f". Bands contain the true effect with probability {effects.level:.0%}"
    pictures = [_effect(curve, what, effects.outputs) for curve in effects.curves]
    return _charts(pictures, caption, charts.legend(effects.outputs))


def _effect(curve: Curve, what: str, outputs: list[str]) -> Markup:
    column, alt = curve.column, f"Effect of {curve.column} on the {what}"
    if curve.kind == "levels":
        if len(outputs) == 1:
            return charts.levels(curve.x, curve.y[0], title=column, alt=alt, errors=curve.band)
        heights = [0.0, *(height for row in curve.y for height in row)]
        axes = charts.Axes((-0.5, len(curve.x) - 0.5), (min(heights), max(heights)))
        for k, row in enumerate(curve.y):
            axes.curve(list(enumerate(row)), k)
        return axes.drawn(column, ", ".join(curve.x), f"change of the {what}", alt, x_ends=("", ""))
    lines = [list(zip(curve.x, heights)) for heights in curve.y]
    guide = [(min(curve.x), 0.0), (max(curve.x), 0.0)]
    change = f"change of the {what}"
    return charts.curves(
        lines, title=column, x_label=column, y_label=change, alt=alt, guide=guide, band=curve.band
    )
