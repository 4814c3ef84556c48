"""Content of a model file: task, columns, members, scores and origin."""

from __future__ import annotations

from typing import Any

from .._terminal.text import aligned, number_text
from ..tabular.base import SpectralModel
from .evaluate.metrics import METRICS
from .facts import Facts
from .fitting import TableModel
from .text import monotone_text


def description(model: Any) -> dict[str, Any]:
    """Return plain JSON values about a fitted estimator: type, parameters, columns, members.

    Those of a ``TableModel`` also state the evaluation, the rows and the origin.
    """
    fitted = model[-1] if isinstance(model, TableModel) else model
    content: dict[str, Any] = {"model": type(fitted).__name__}
    if isinstance(model, TableModel):
        content |= _of_table(Facts.from_json(model.facts_))
    else:
        names = getattr(model, "feature_names_in_", None)
        parameters = model.get_params(deep=False)
        content |= {
            "parameters": {name: repr(value) for name, value in parameters.items()},
            "n_columns": getattr(model, "n_features_in_", None),
            "columns": None if names is None else list(map(str, names)),
        }
    if isinstance(fitted, SpectralModel):
        content["members"] = [{"name": m.name, "weight": m.weight} for m in fitted.members_]
    return content


def _of_table(facts: Facts) -> dict[str, Any]:
    ours = facts.ours
    return {
        "task": facts.task,
        "target": facts.target,
        "classes": None if facts.of_classes is None else facts.of_classes.classes,
        "n_rows": facts.n_rows,
        "n_train": facts.n_train,
        "n_test": facts.n_test,
        "refitted": facts.refitted,
        "columns": {name: {"role": role, "reason": why} for name, (role, why) in _columns(facts)},
        "monotone": facts.monotone,
        "scores": {name: ours.scores[name] for name in facts.metrics},
        "standard_errors": {name: ours.standard_errors[name] for name in facts.metrics},
        "verdict": facts.verdict.kind,
        "made": facts.provenance.made,
        "version": facts.provenance.version,
        "command": facts.provenance.command,
        "fingerprint": facts.provenance.fingerprint,
    }


def _columns(facts):
    """Return (name, (role, reason)) of each column, the most important first."""
    return sorted(facts.columns.items(), key=lambda item: -facts.importance.get(item[0], -1.0))


def description_text(model: Any) -> str:
    """Return ``description`` as lines for a terminal."""
    content = description(model)
    facts = Facts.from_json(model.facts_) if isinstance(model, TableModel) else None
    lines = {"model": content["model"]}
    if facts is not None:
        lines |= _table_lines(facts)
    else:
        lines["parameters"] = ", ".join(f"{n}={v}" for n, v in content["parameters"].items())
        lines["columns"] = ", ".join(content["columns"] or [f"{content['n_columns']} without name"])
    if "members" in content:
        lines["members"] = ", ".join(f"{m['name']} {m['weight']:.0%}" for m in content["members"])
    width = max(map(len, lines))
    text = "\n".join(f"{name:{width}}  {value}" for name, value in lines.items())
    if facts is None:
        return text
    rows = [
        [name, role, f"{facts.importance[name]:.1%}" if name in facts.importance else "–", why]
        for name, (role, why) in _columns(facts)
    ]
    return f"{text}\n\n{aligned(['column', 'read as', 'importance', 'reason'], rows)}"


def _table_lines(facts: Facts) -> dict[str, str]:
    ours, origin = facts.ours, facts.provenance
    classes = [] if facts.of_classes is None else list(map(str, facts.of_classes.classes))
    scores = [
        f"{METRICS[name].heading} {ours.scores[name]:{METRICS[name].form}}"
        + ("" if (error := ours.standard_errors[name]) is None else f" ± {number_text(error, 2)}")
        for name in facts.metrics
        if ours.scores[name] is not None
    ]
    fitted = "all rows, after the evaluation" if facts.refitted else f"{facts.n_train} rows"
    lines = {
        "task": f"{facts.task} of {facts.target!r}",
        "classes": ", ".join(classes),
        "rows": f"{facts.n_rows}; fitted on {fitted}; {facts.n_test} held out",
        "monotone": " ".join(monotone_text(facts)).removeprefix("Monotone: "),
        "held-out scores": ", ".join(scores),
        "made": f"{origin.made}, bochner {origin.version}",
        "command": origin.command or "fit_table in Python",
        "table": f"SHA-256 {origin.fingerprint}",
    }
    return {name: value for name, value in lines.items() if value}
