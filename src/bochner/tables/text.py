"""Report of a fit as text for a terminal."""

import re
from typing import Any

from .._terminal.text import aligned
from .evaluate.metrics import METRICS
from .facts import LEFT_OUT, ErrorCertificate, Facts

_MAX_IMPORTANT, _MAX_COLUMNS, _MAX_CLASSES = 5, 40, 10
_FOR_RARE = ("average-precision", "balanced-accuracy")


def fit_text(facts: Facts) -> str:
    """Return the output of ``bochner fit``."""
    members = ", ".join(f"{member.name} {member.weight:.0%}" for member in facts.members)
    important = list(facts.importance.items())[:_MAX_IMPORTANT]
    headings, rows = metric_table(facts)
    return "\n".join([
        task_text(facts),
        _column_counts(facts),
        *balance_text(facts),
        *repeated_text(facts),
        *monotone_text(facts),
        *_column_reasons(facts.columns),
        *facts.notes,
        f"Kernels: {members}; {facts.path}.",
        f"Most important columns: {', '.join(f'{n!r} {share:.0%}' for n, share in important)}.",
        "",
        aligned(headings, [[name, *(text for text, _ in cells)] for name, *cells in rows]),
        "",
        *facts.verdict.reasons,
        *threshold_text(facts),
        certificate_text(facts),
        *refit_text(facts),
        cost_text(facts),
    ])  # fmt: skip


def task_text(facts: Facts) -> str:
    """Return the task with its reason, and the numbers of training and held-out rows."""
    kind, column = facts.split.kind, facts.split.column
    which = f", the last ones by {column!r}" if kind == "time" else ""
    if kind == "group":
        which = f", whole groups of {column!r} ({facts.split.n_groups})"
    return (
        f"Task: {facts.task}, {facts.why_task}. {facts.n_rows} rows: {facts.n_train} for training, "
        f"{facts.n_test} held out for evaluation{which}."
    )


def _column_counts(facts):
    counts = {role: len(facts.names(role)) for role in ("number", "date", "category")}
    dates = f"{counts['date']} with dates, " if counts["date"] else ""
    return f"Columns: {counts['number']} numeric, {dates}{counts['category']} categorical."


def _column_reasons(columns):
    """Return one line per column that is not plain numbers or a few categories."""
    plain = re.compile(r"numbers|categories, \d+ levels?")
    lines = [
        f"{'Left out' if role == LEFT_OUT else 'Read'}: {name!r}, {reason}."
        for name, (role, reason) in columns.items()
        if not plain.fullmatch(reason)
    ]
    n_more = len(lines) - _MAX_COLUMNS
    return [*lines[:_MAX_COLUMNS], f"{n_more} more columns: see --json."] if n_more > 0 else lines


def repeated_text(facts: Facts) -> list[str]:
    """Return sentences on repeated rows, and on held-out inputs that also occur in training."""
    lines, repeated, seen = [], facts.repeated, facts.seen
    if repeated is not None:
        meaning = (
            "equal inputs also have different outcomes, so these are independent observations"
            if repeated.are_ties
            else "copies are on the same side of every split, and held-out copies count once"
        )
        rows = f"{repeated.n_rows} of {facts.n_rows} rows ({repeated.share:.0%})"
        lines.append(f"{rows} repeat another row; {meaning}.")
    if seen is not None:
        rows = f"{seen.n_rows} of {facts.n_test} held-out rows ({seen.share:.0%})"
        lines.append(f"{rows} have inputs that also occur among the training rows.")
    return lines


def balance_text(facts: Facts) -> list[str]:
    """Return the number of rows of each class, the most frequent first."""
    of_classes = facts.of_classes
    if of_classes is None:
        return []
    pairs = zip(of_classes.class_counts, map(str, of_classes.classes))
    counts = sorted(pairs, key=lambda pair: -pair[0])
    shown = [
        f"{label!r} {count} ({count / facts.n_rows:.1%})" for count, label in counts[:_MAX_CLASSES]
    ]
    more = f" and {len(counts) - _MAX_CLASSES} more" if len(counts) > _MAX_CLASSES else ""
    positive = "" if of_classes.positive is None else f"; positive class: {of_classes.positive!r}"
    return [f"Classes: {', '.join(shown)}{more}{positive}."]


def monotone_text(facts: Facts) -> list[str]:
    """Return a sentence on the columns with which predictions must rise or fall."""
    if not facts.monotone:
        return []
    positive = None if facts.of_classes is None else facts.of_classes.positive
    what = "the prediction" if facts.of_classes is None else f"the probability of {positive!r}"
    directions = " and ".join(
        f"{verb} with {', '.join(repr(n) for n, own in facts.monotone.items() if own == sign)}"
        for verb, sign in (("rises", 1), ("falls", -1))
        if sign in facts.monotone.values()
    )
    return [f"Monotone: {what} {directions}."]


def threshold_text(facts: Facts) -> list[str]:
    """Return a sentence on the decision threshold, if one was requested."""
    chosen = facts.threshold
    if chosen is None or facts.of_classes is None:
        return []
    (false, missed), (false_half, missed_half) = chosen.mistakes, chosen.mistakes_at_half
    return [
        f"Decision threshold: {facts.of_classes.positive!r} is predicted if its probability is at "
        f"least {chosen.value:.3g} ({chosen.asked}, chosen on training rows). Held-out rows: "
        f"{false} false positives and {missed} false negatives, instead of {false_half} and "
        f"{missed_half} with the threshold 0.5. Other models predict the most probable class."
    ]


def certificate_text(facts: Facts) -> str:
    """Return the certified statement about other rows, with its assumption."""
    certificate, split = facts.ours.certificate, facts.split
    confidence = f"with {certificate.confidence:.0%} confidence"
    rows = f"the {facts.n_test} held-out ones"
    like = "such rows" if split.kind == "time" else f"rows drawn like {rows}"
    if isinstance(certificate, ErrorCertificate):
        bound = f"at most {certificate.certified:.2%}"
        if split.kind == "group":
            return (
                f"Certified: {confidence}, the mean error over groups drawn like the "
                f"{split.n_groups} held-out ones of {split.column!r} is {bound} (Hoeffding's bound "
                "over groups). Rows of one group are not independent, so nothing is certified for "
                "single rows."
            )
        claim = f"exactly this model errs on {bound} of {like} (exact binomial bound)"
    elif split.kind == "group":
        return (
            "Rows of one group are not independent, so no interval is certified; coverage on the "
            "held-out groups is an estimate."
        )
    elif certificate.half_width is None:
        return "There are too few held-out rows for a certified interval."
    else:
        claim = (
            f"at least {certificate.coverage:.0%} of predictions are within "
            f"±{certificate.half_width:.4g} of the true value, for {like}"
        )
    if split.kind == "time":
        return (
            "Not certified: rows in time are seldom independent, and may change. If later rows are "
            f"drawn independently like {rows}, then {confidence}, {claim}."
        )
    return f"Certified: {confidence}, {claim}."


def refit_text(facts: Facts) -> list[str]:
    """Return a note on the evaluation if all rows were fitted afterwards."""
    if not facts.refitted:
        return []
    return [
        f"The model in the file was fitted again, on all {facts.n_rows} rows. The evaluation and "
        f"the certificate are about the model fitted on {facts.n_train} rows. The one in the file "
        "is seldom worse, but no held-out row is left to test it."
    ]


def cost_text(facts: Facts) -> str:
    """Return time and peak memory."""
    peak = facts.cost.peak_bytes
    memory = "" if peak is None else f" and at most {peak / 1e9:.2f} GB of memory"
    return f"Reading, fitting and evaluating took {facts.cost.seconds:.0f} s{memory}."


def shown_metrics(facts: Facts) -> list[str]:
    """Return the metrics to show, the one of the verdict first; more if a class is rare."""
    rare = facts.of_classes is not None and facts.of_classes.rare
    more = [name for name in _FOR_RARE if name in facts.ours.scores] if rare else []
    return list(dict.fromkeys([*facts.metrics, *more]))


def metric_table(facts: Facts) -> tuple[list[str], list[list[Any]]]:
    """Return headings, and for each model its name and (text, number) of each metric."""
    main = METRICS[facts.metrics[0]]
    metrics = {METRICS[name].heading: (name, METRICS[name].form) for name in shown_metrics(facts)}
    certified = {"certified ±": ("half_width", ".4g")}
    if facts.classify:
        certified = {"error": ("error", ".2%"), "certified": ("certified", ".2%")}
    elif all(getattr(one.certificate, "half_width", 0) is None for one in facts.judged.values()):
        certified = {}
    rows = []
    for name, entry in facts.judged.items():
        numbers = [(entry.scores[key], form) for key, form in metrics.values()]
        numbers += [(getattr(entry.certificate, key), form) for key, form in certified.values()]
        worse, noise = entry.worse_by[facts.metrics[0]] or (None, None)
        numbers += [(worse, f"+{main.form}"), (noise, main.form), (entry.seconds, ".2f")]
        rows.append([name, *(("–" if n is None else format(n, form), n) for n, form in numbers)])
    headings = [*metrics, *certified, f"worse in {main.heading}", "±", "seconds"]
    return ["model", *headings], rows
