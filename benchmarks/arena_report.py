"""Tables in Markdown of stored lines."""

from collections import defaultdict

import arena_ratings as ratings
import numpy as np
from arena_learners import LEARNERS, OURS
from arena_tables import DATA_FILES, GENERATED, half

HALVES = {
    "reported": "Reported half: not used for choices of defaults",
    "chosen": "Other half: used for choices of defaults",
    "all": "Both halves",
}
METRICS = {
    "classification": {"auc": "AUC", "log loss": "log-loss gain", "accuracy": "accuracy"},
    "regression": {"r2": "R²"},
}
TASKS = {"classification": "classes", "regression": "values"}
SCORES = {"log loss": "log-loss", "r2": "R²"}


def number(value):
    """Return three decimals with a sign, without the zero before the point."""
    return f"{value:+.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:+.3f}"


def mean_and_error(found):
    error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
    return f"{number(np.mean(found))} ± {number(error)[1:] if np.isfinite(error) else '–'}"


def markdown(rows):
    """Return a table whose first row holds the heads."""
    rows = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


def compared(lines, rows, which):
    """Return the means by table of a half, or of all; tables for learning curves are left out."""
    lines = [one for one in lines if one["table"] not in (*DATA_FILES, GENERATED)]
    means = ratings.table_means(ratings.lines_at(lines, rows))
    return {name: own for name, own in means.items() if which in ("all", half(name))}


def labels_of(means):
    """Return the labels of all tables, in the order of the learners and defaults first."""
    found = {name for own in means.values() for name in own}
    names = list(LEARNERS)
    plain = {name: name.split(", tuned")[0] for name in found}
    return sorted(found, key=lambda one: (plain[one] != one, names.index(plain[one]), one))


def of_task(means, task):
    """Return the tables on which some fit has the main metric of the task."""
    metric = ratings.main_metric(task)
    return {
        name: own
        for name, own in means.items()
        if any(isinstance(one, dict) and metric in one for one in own.values())
    }


def metric_cells(means, other, metric):
    """Return mean ± standard error (median for values), and wins/ties/losses."""
    found = list(ratings.gains(means, OURS, other, metric).values())
    counted = ratings.counts(means, OURS, other, metric)
    text = mean_and_error(found) if found else "–"
    if metric == "r2" and found:
        text += f" ({number(np.median(found))})"
    return [text, "/".join(map(str, counted)) if sum(counted) else "–"]


def ratio(means, other, metric, task):
    found = ratings.ratios(means, OURS, other, metric, task)
    return f"×{np.median(found):.2g}" if found else "–"


def differences(means, task):
    """Return the table of one task: bochner minus each other learner."""
    own = of_task(means, task)
    heads = [f"bochner − (tables with {TASKS[task]}: {len(own)})"]
    for title in METRICS[task].values():
        heads += [f"{title}, mean ± se" + (" (median)" if title == "R²" else ""), "w/t/l"]
    rows = [[*heads, "fit time", "predict time"]]
    for other in labels_of(own):
        if other != OURS:
            cells = [text for metric in METRICS[task] for text in metric_cells(own, other, metric)]
            times = [ratio(own, other, seconds, task) for seconds in ratings.SECONDS]
            rows.append([other, *cells, *times])
    return markdown(rows)


def rated(means):
    """Return (label, Elo, lower, upper) of each learner, the best first."""
    labels = labels_of(means)
    wins = ratings.pair_wins(means, labels)
    points = ratings.elo(wins.sum(axis=0), labels)
    low, high = ratings.elo_intervals(wins, labels)
    return sorted(zip(labels, points, low, high), key=lambda one: -one[1])


def ladder(means):
    """Return the table of Elo ratings."""
    shares = ratings.mean_normalized(means)
    rows = [["learner", "Elo", "95 % interval", "mean normalized score", "tables", "failed"]]
    for name, points, low, high in rated(means):
        there = [own[name] for own in means.values() if name in own]
        failed = there.count(ratings.FAILED)
        cells = [f"{points:.0f}", f"{low:.0f} to {high:.0f}", f"{shares[name]:.2f}"]
        rows.append([name, *cells, len(there), failed])
    return markdown(rows)


def largest_losses(means):
    """Return the tables on which another learner is ahead of ours by most."""
    rows = [["table", "metric", "bochner", "best other", "its score", "behind by"]]
    ours = [name for name in LEARNERS if name.startswith(OURS)]
    for task in TASKS:
        metric = ratings.main_metric(task)
        found = ratings.losses(of_task(means, task), OURS, task, left_out=ours)
        for gap, table, best, theirs, mine in found:
            failed = mine == ratings.FAILED
            cells = ["failed", "–"] if failed else [f"{mine[metric]:.3f}", f"{gap:.3f}"]
            rows.append([table, SCORES[metric], cells[0], best, f"{theirs[metric]:.3f}", cells[1]])
    return markdown(rows) if len(rows) > 1 else "None above .002."


def section(lines, rows, which):
    """Return the part of the report for a half."""
    means = compared(lines, rows, which)
    if not means:
        return f"## {HALVES[which]}\n\nNo fits yet."
    parts = [f"## {HALVES[which]} ({len(means)})"]
    parts += [differences(means, task) for task in TASKS if of_task(means, task)]
    parts += ["### Elo", ladder(means), "### Largest losses", largest_losses(means)]
    return "\n\n".join(parts)


def curves_of(lines):
    """Return {table: {label: {rows: means}}} of the tables with several numbers of rows."""
    found = defaultdict(lambda: defaultdict(dict))
    for rows in sorted({line["rows"] for line in lines}):
        means = ratings.table_means([line for line in lines if line["rows"] == rows])
        for table, own in means.items():
            for name, one in own.items():
                found[table][name][rows] = one
    several = {t for t, own in found.items() if len({n for one in own.values() for n in one}) > 2}
    return {
        table: {name: one for name, one in own.items() if len(one) > 2}
        for table, own in found.items()
        if table in several
    }


def curve_section(lines):
    """Return the table of learning curves: the score, and CPU seconds of the fit."""
    found = curves_of(lines)
    if not found:
        return ""
    parts = []
    for table, own in found.items():
        sizes = sorted({rows for one in own.values() for rows in one})
        task = next(line["task"] for line in lines if line["table"] == table)
        metric = ratings.main_metric(task)
        rows = [[f"{table}, {SCORES[metric]} (fit seconds)", *(f"{n:,}" for n in sizes)]]
        for name, one in own.items():
            rows.append([name, *(_cell(one.get(size), metric) for size in sizes)])
        parts.append(markdown(rows))
    return "\n\n".join(["## Learning curves", *parts])


def _cell(means, metric):
    if means is None or means == ratings.FAILED:
        return means or "–"
    return f"{means[metric]:.4f} ({means['fit seconds']:.3g})"


def remarks(lines):
    """Return the versions, the learners without lines, and the failed fits."""
    versions = sorted({line["version"] for line in lines})
    missing = [name for name in LEARNERS if name not in {line["learner"] for line in lines}]
    parts = [f"Versions: {', '.join(versions) or 'none'}."]
    if missing:
        parts.append(f"Not run: {', '.join(missing)}.")
    failed = [line for line in lines if "error" in line]
    texts = sorted({f"- {label_and_table(line)}: `{line['error']}`" for line in failed})
    if texts:
        parts.append("Failed fits, which count as losses and are left out of means:")
        parts.append("\n".join(texts))
    return "\n\n".join(parts)


def label_and_table(line):
    return f"{ratings.label(line)}, {line['table']}, split {line['split']}, {line['rows']} rows"


def page(lines, rows, images=()):
    """Return the report: the reported half first, then the other, then both."""
    parts = [section(lines, rows, which) for which in HALVES]
    parts += [curve_section(lines), *images, "## Versions", remarks(lines)]
    return "\n\n".join(part for part in parts if part) + "\n"


def readme(lines, rows):
    """Return the table of the README: one row for each learner, from the reported half only."""
    means = compared(lines, rows, "reported")
    if not means:
        return "No fits of the reported half yet.\n"
    sizes = [len(of_task(means, task)) for task in TASKS]
    heads = [f"bochner against (tables: {sizes[0]} with classes + {sizes[1]} with values)"]
    heads += ["log-loss gain, mean ± se", "w/t/l", "AUC, mean ± se", "R², mean ± se (median)"]
    rows = [[*heads, "w/t/l", "fit time, classes / values", "Elo (95 % interval)"]]
    points = {name: f"{elo:.0f} ({low:.0f}–{high:.0f})" for name, elo, low, high in rated(means)}
    for name in points:
        if name == OURS:
            rows.append([f"**{OURS}**", *["–"] * 6, points[name]])
            continue
        loss, wins = metric_cells(means, name, "log loss")
        auc, r2 = metric_cells(means, name, "auc")[0], metric_cells(means, name, "r2")
        times = " / ".join(ratio(means, name, "fit seconds", task) for task in TASKS)
        rows.append([name, loss, wins, auc, *r2, times, points[name]])
    return markdown(rows) + "\n"
