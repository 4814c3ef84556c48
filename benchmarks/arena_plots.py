"""Plots of stored lines: quality against the time of a fit, and learning curves."""

import arena_ratings as ratings
import matplotlib
import numpy as np
from arena_learners import LEARNERS
from arena_report import HALVES, SCORES, compared, curves_of, rated
from matplotlib.figure import Figure

COLORS = dict(zip(LEARNERS, [*matplotlib.colormaps["tab10"].colors, "black"]))


def style(label):
    """Return the color of a learner and the marker of its kind: defaults, or tuned."""
    learner, _, tuned = label.partition(", tuned")
    return {"color": COLORS[learner], "marker": "^" if tuned else "o"}


def median_seconds(means, label):
    found = [
        own[label]["fit seconds"] for own in means.values() if isinstance(own.get(label), dict)
    ]
    return np.median(found) if found else np.nan


def plot_time(lines, rows, path):
    """Plot Elo against the median time of a fit, on the reported half; return whether it has fits."""
    which = "reported" if compared(lines, rows, "reported") else "all"
    means = compared(lines, rows, which)
    if not means:
        return False
    figure = Figure(figsize=(8.5, 4.8), layout="constrained")
    axes = figure.subplots()
    for label, points, low, high in rated(means):
        seconds, errors = median_seconds(means, label), [[points - low], [high - points]]
        own = style(label) | {"markersize": 8, "capsize": 3, "elinewidth": 1, "linestyle": "none"}
        axes.errorbar(seconds, points, np.maximum(errors, 0), label=label, **own)
    axes.set(xscale="log", xlabel="median CPU seconds of a fit, one thread", ylabel="Elo")
    axes.set_title(f"{HALVES[which]} ({len(means)} tables), 95 % intervals", fontsize=10)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right center", frameon=False, title="by Elo")
    figure.savefig(path, dpi=130)
    return True


def plot_curves(lines, rows, path):
    """Plot scores and times against rows, a column for each table; return whether there are any."""
    found = curves_of(lines)
    if not found:
        return False
    n_columns = min(4, len(found))
    n_bands = -(-len(found) // n_columns)
    figure = Figure(figsize=(1 + 3.1 * n_columns, 0.6 + 4.4 * n_bands), layout="constrained")
    grid = figure.subplots(2 * n_bands, n_columns, squeeze=False)
    for axes in grid.ravel()[:]:
        axes.set_visible(False)
    for k, (table, own) in enumerate(found.items()):
        task = next(line["task"] for line in lines if line["table"] == table)
        band, column = divmod(k, n_columns)
        pair = grid[2 * band : 2 * band + 2, column]
        for axes, metric in zip(pair, (ratings.main_metric(task), "fit seconds")):
            _draw(axes, own, metric)
        pair[0].set_title(table, fontsize=10)
        pair[0].set_ylabel(SCORES[ratings.main_metric(task)])
        pair[1].set(yscale="log", xlabel="training rows", ylabel="CPU seconds of a fit")
    handles = {one.get_label(): one for axes in grid.ravel() for one in axes.get_lines()}
    figure.legend(
        handles.values(), handles, loc="outside upper center", ncols=len(handles), frameon=False
    )
    figure.savefig(path, dpi=110)
    return True


def _draw(axes, curves, metric):
    axes.set_visible(True)
    axes.set_xscale("log")
    axes.grid(alpha=0.3)
    for label, own in curves.items():
        known = {rows: one for rows, one in own.items() if one != ratings.FAILED}
        values = [one[metric] for one in known.values()]
        axes.plot(list(known), values, label=label, markersize=4, **style(label))
