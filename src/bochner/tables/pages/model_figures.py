"""The pictures on the page of a table model, each from plain numbers of its facts."""

from typing import Any

from ..evaluate.metrics import METRICS
from .charts import (
    Axes,
    calibration,
    curves,
    forest,
    heat_map,
    intervals,
    legend,
    levels,
    residuals,
)
from .document import Markup, joined, tag
from .drawing import bars, scatter

_MAX_CLASSES_SHOWN = 30
_MAX_BARS = 12


def figure(picture: Any, caption: str) -> Markup:
    """A picture with words below it."""
    return tag("figure", picture, tag("figcaption", caption))


def beside(*children: Any, kind: str = "beside") -> Markup:
    """Side by side where there is room."""
    return tag("div", *[child for child in children if child != ""], class_=kind)


def quality(known: dict[str, Any]) -> Markup:
    """How much worse each other model is in the metric that is judged by, with two standard errors
    of the difference.
    """
    name = known["metrics"][0]
    metric = METRICS[name]
    entries = []
    for model, entry in known["judged"].items():
        if model != "bochner":
            worse, noise = entry["worse_by"][name]
            entries.append((model, worse, noise, f"{worse:+{metric.form}} ± {noise:{metric.form}}"))
    if not entries:
        return Markup("")
    alt = f"Worse in {metric.heading} than bochner: " + ", ".join(
        f"{model} {text}" for model, _, _, text in entries
    )
    picture = forest(entries, x_label=f"worse in {metric.heading}", alt=alt, far=["constant"])
    words = (
        f"How much worse than bochner (dashed) others are in {metric.heading} on the same held-out "
        "rows; lines are two standard errors: "
        "green is worse and red better by more than noise"
    )
    return figure(picture, words)


def confusion(known: dict[str, Any]) -> Markup:
    """Held-out rows by true and predicted class, colored by their share of the true class."""
    classes, counts = [str(label) for label in known["classes"]], known["confusion"]
    if len(classes) > _MAX_CLASSES_SHOWN:
        return tag("p", f"{len(classes)} classes are too many for a table.")
    # Roots, so that few mistakes are seen too.
    shares = [
        [(cell / max(sum(row), 1)) ** 0.5 * (1 if i == j else -1) for j, cell in enumerate(row)]
        for i, row in enumerate(counts)
    ]
    right = sum(row[k] for k, row in enumerate(counts))
    alt = f"Confusion matrix: {right} of {known['n_test']} held-out rows on the diagonal"
    labels = {"title": "True and predicted class", "x_label": "predicted", "y_label": "true"}
    picture = heat_map(counts, classes, classes, **labels, alt=alt, numbers=True, shade=shares)
    return figure(
        picture,
        "Held-out rows; blue is right, red is wrong, the stronger the larger the share of the true "
        "class",
    )


def class_figures(known: dict[str, Any]) -> Markup:
    """ROC, precision and recall (two classes), and calibration."""
    pictures = []
    entry = known["judged"]["bochner"]
    if known["positive"] is not None:
        positive = str(known["positive"])
        share = entry["standard_errors"]
        area = f"AUC {entry['auc']:.4f} ± {share['auc']:.4f}"
        unit: dict[str, Any] = {"x_range": (0.0, 1.0), "y_range": (0.0, 1.0)}
        axes: dict[str, Any] = {
            "x_label": f"share of others called {positive}",
            "y_label": f"share of {positive} found",
        }
        title, guide = f"ROC curve, {area}", [(0.0, 0.0), (1.0, 1.0)]
        pictures.append(
            curves(
                [known["roc"]],
                title=title,
                **axes,
                alt=f"ROC curve of {positive}, {area}",
                guide=guide,
                **unit,
            )
        )
        mean = (
            f"average precision {entry['average-precision']:.3f} ± {share['average-precision']:.3f}"
        )
        base = (
            sum(row for row in known["confusion"][known["classes"].index(known["positive"])])
            / known["n_test"]
        )
        axes = {
            "x_label": f"recall: share of {positive} found",
            "y_label": "precision: share that is right",
        }
        alt, guide = f"Precision against recall of {positive}, {mean}", [(0.0, base), (1.0, base)]
        pictures.append(
            curves([known["precision_recall"]], title=mean, **axes, alt=alt, guide=guide, **unit)
        )
    of_what = (
        f"of {known['positive']}" if known["positive"] is not None else "of the most probable class"
    )
    alt = f"Calibration {of_what}: " + ", ".join(
        f"{said:.2f} said, {share:.2f} happened" for said, share, *_ in known["calibration"]
    )
    pictures.append(calibration(known["calibration"], title=f"Calibration {of_what}", alt=alt))
    words = "Held-out rows. Dashed: guessing; for calibration, probabilities that are just right, with two standard errors"
    return tag("figure", beside(*pictures, kind="beside charts"), tag("figcaption", words))


def value_figures(known: dict[str, Any]) -> Markup:
    """Predicted against true, errors, intervals."""
    target, points, ends = known["target"], known["points"], known["intervals"]
    alt = f"Predicted against true {target} for {len(points)} held-out rows"
    agreement = scatter(points, x_label=f"true {target}", y_label=f"predicted {target}", alt=alt)
    left = residuals(
        points, x_label=f"predicted {target}", alt=f"Errors against predicted {target}"
    )
    parts = [
        tag(
            "figure",
            beside(agreement, left, kind="beside charts"),
            tag("figcaption", "Held-out rows; on the dashed lines truth and prediction agree"),
        )
    ]
    if ends["rows"]:
        covered = f"{ends['coverage']:.1%} ± {ends['coverage_error']:.1%}"
        words = (
            f"Intervals of {ends['level']:.0%} cover {covered} of the held-out rows; half of them "
            f"are narrower than {ends['median_width']:.4g}. "
            "Dots are the truth, red where it is outside"
        )
        alt = f"Intervals of {len(ends['rows'])} held-out rows, which cover {covered}"
        parts.append(figure(intervals(ends["rows"], y_label=target, alt=alt), words))
    return joined(parts)


def importance(known: dict[str, Any]) -> Markup:
    """Bars of the columns that matter most, with two standard errors; shares are sorted."""
    shares, errors = known["importance"], known["importance_error"]
    entries = [
        (column, share, share + 2 * errors[column], f"{share:.1%} ± {errors[column]:.1%}")
        for column, share in shares.items()
        if share > 0
    ][:_MAX_BARS]
    if not entries:
        return tag("p", "No column changes what the model predicts.")
    alt = "Importance of columns: " + ", ".join(
        f"{column} {text}" for column, _, _, text in entries
    )
    caption = "How much predictions change when only this column does, as a share of all columns; lines are two standard errors"
    if n_others := len(shares) - len(entries):
        caption += f"; {n_others} more column{'s' * (n_others > 1)} with less effect or none"
    return figure(bars(entries, alt=alt), caption)


def effects(known: dict[str, Any]) -> Markup:
    """The strongest effects of single columns, and of a pair."""
    found = known["effects"]
    if not found["curves"]:
        return tag("p", f"{found['why_none']}.") if found["why_none"] else Markup("")
    outputs = found["outputs"]
    what = outputs[0] if len(outputs) == 1 else "score"
    pictures = [_effect(curve, what, outputs) for curve in found["curves"]]
    words = f"What single columns add to the {what}, all else alike: exact for the product kernels, which are a part of the blend"
    parts = [
        tag(
            "figure",
            legend(outputs),
            beside(*pictures, kind="beside charts"),
            tag("figcaption", words),
        )
    ]
    if found["pair"] is not None:
        parts.append(_pair(found["pair"]))
    return joined(parts)


def _effect(curve, what, outputs):
    column = curve["column"]
    alt = f"Effect of {column} on the {what}"
    if curve["kind"] == "levels":
        if len(outputs) == 1:
            return levels(curve["x"], curve["y"][0], title=column, alt=alt)
        axes = Axes((-0.5, len(curve["x"]) - 0.5), _range(curve["y"]))
        for k, heights in enumerate(curve["y"]):
            axes.curve(list(enumerate(heights)), k)
        return axes.drawn(column, ", ".join(curve["x"]), "effect", alt, x_ends=("", ""))
    ends = (min(curve["x"]), max(curve["x"]))
    lines = [list(zip(curve["x"], heights)) for heights in curve["y"]]
    guide = [(ends[0], 0.0), (ends[1], 0.0)]
    return curves(lines, title=column, x_label=column, y_label="effect", alt=alt, guide=guide)


def _range(heights):
    flat = [height for row in heights for height in row]
    return min([0.0, *flat]), max([0.0, *flat])


def _pair(pair):
    first, second = pair["columns"]
    names = [
        [value if isinstance(value, str) else f"{value:.3g}" for value in pair[axis]]
        for axis in ("x", "y")
    ]
    # The second column goes up, so its largest value stands at the top.
    cells = [list(row) for row in zip(*pair["z"])][::-1]
    title = f"{first} and {second} together"
    alt = f"Effect of {first} and {second} together on the {pair['output']}"
    picture = heat_map(
        cells,
        names[1][::-1],
        names[0],
        title=title,
        x_label=first,
        y_label=second,
        alt=alt,
        numbers=False,
    )
    far = max(abs(cell) for row in cells for cell in row)
    words = f"What the strongest pair adds to the {pair['output']} beyond both alone: blue above zero, red below, up to ±{far:.3g}"
    return figure(picture, words)
