"""Page about a fitted table model."""

from ..evaluate.metrics import METRICS
from ..facts import ErrorCertificate, Facts, MemberFacts, WorstRows, as_json
from ..text import (
    balance_text,
    certificate_text,
    metric_table,
    refit_text,
    repeated_text,
    shown_metrics,
    task_text,
    threshold_text,
)
from .document import Markup, bullets, document, folded, name_list, section, table, tag
from .model_figures import (
    class_figures,
    comparison,
    confusion,
    effects,
    importance,
    side_by_side,
    value_figures,
)

_MANY_COLUMNS = 15


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
        bullets([*balance_text(facts), *repeated_text(facts), *facts.notes]),
        section("Comparison with other models", side_by_side(comparison(facts), _models(facts))),
        section(
            "Errors",
            "" if of_classes is None else confusion(of_classes),
            "" if of_classes is None else class_figures(facts, of_classes),
            "" if of_values is None else value_figures(facts.target, of_values),
        ),
        section("Rows with the largest errors", _worst(facts.worst, facts.classify)),
        section("Importance of columns", importance(facts)),
        section("Effects of columns", effects(facts.effects)),
        section("Columns as read", _columns(facts.columns)),
        section("Kernels", tag("p", f"{facts.path}."), _members(facts.members)),
        section("Provenance", _provenance(facts, name)),
    )


def _headline(facts):
    """Return one sentence with the metrics and the certificate."""
    entry, found = facts.ours, facts.ours.certificate
    values = ", ".join(
        f"{METRICS[name].heading} {entry.scores[name]:{METRICS[name].form}}"
        for name in shown_metrics(facts)
        if entry.scores[name] is not None
    )
    confidence = f"with {found.confidence:.0%} confidence"
    is_random = facts.split.kind == "random"
    if isinstance(found, ErrorCertificate):
        bound = f", {confidence} at most {found.certified:.2%}" if is_random else ""
        return f"Held-out error {found.error:.2%}{bound}; {values}."
    bound = ""
    if is_random and found.half_width is not None:
        within = f"within ±{found.half_width:.4g} of the true value"
        bound = f"; {confidence} {found.coverage:.0%} of predictions are {within}"
    return f"Held-out {values}{bound}."


def _models(facts):
    what = METRICS[facts.metrics[0]].heading
    caption = f"All models on the same rows; differences from bochner in {what}, standard errors"
    return table(*metric_table(facts), caption=caption)


def _worst(worst: WorstRows, classify: bool) -> Markup:
    last = "probability of the true class" if classify else "error"
    cells = [
        [str(row), true, predicted, (f"{loss:.4g}", loss), *values]
        for row, true, predicted, loss, *values in worst.rows
    ]
    headings = ["row of the table", "true", "predicted", last, *worst.columns]
    caption = "Held-out rows with the largest loss, and their values of the most important columns"
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
