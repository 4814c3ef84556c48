"""Comparison of learners over tables: means over splits, outcomes of pairs, Elo ratings.

A line is one fit: table, task, split, learner, tuned (the number of configurations, 0 for the
defaults), rows, and either scores and CPU seconds or an error.
"""

from collections import defaultdict

import numpy as np
from scipy.special import expit

TIE = 0.002  # of each metric
SIGNS = {"auc": 1, "log loss": -1, "accuracy": 1, "r2": 1}  # −1: less is better
SECONDS = ("fit seconds", "predict seconds")
ANCHOR, ANCHOR_ELO = "random forest", 1000.0
# Each pair of learners starts with this part of a tie; without it a learner that never loses would
# have an infinite rating.
PRIOR_GAMES = 0.1
FAILED = "failed"


def label(line):
    """Return the name of a learner, with its number of configurations if it was tuned."""
    return line["learner"] + (f", tuned ({line['tuned']})" if line["tuned"] else "")


def main_metric(task):
    return "log loss" if task == "classification" else "r2"


def lines_at(lines, most_rows):
    """Return the lines of each table with its largest number of rows up to ``most_rows``."""
    rows = defaultdict(int)
    for line in lines:
        if line["rows"] <= most_rows:
            rows[line["table"]] = max(rows[line["table"]], line["rows"])
    return [line for line in lines if line["rows"] == rows[line["table"]]]


def table_means(lines):
    """Return {table: {label: means over its splits, or FAILED}}.

    A learner that has not yet been fitted to all splits of a table is left out; one that failed on
    any has failed.
    """
    found, splits = defaultdict(lambda: defaultdict(dict)), defaultdict(set)
    for line in lines:
        found[line["table"]][label(line)][line["split"]] = line
        splits[line["table"]].add(line["split"])
    return {
        table: {
            name: _mean(own.values()) for name, own in labels.items() if set(own) == splits[table]
        }
        for table, labels in found.items()
    }


def _mean(lines):
    if any("error" in line for line in lines):
        return FAILED
    keys = [key for key in (*SIGNS, *SECONDS) if all(key in line for line in lines)]
    return {key: float(np.mean([line[key] for line in lines])) for key in keys}


def quality(means):
    """Return the main metric of a learner on a table, more is better; −∞ if it failed."""
    if means == FAILED:
        return -np.inf
    return means["r2"] if "r2" in means else -means["log loss"]


def outcome(ours, theirs):
    """Return 1 for a win, 1/2 for a tie, 0 for a loss, None if both failed."""
    if ours == theirs == -np.inf:
        return None
    if abs(ours - theirs) <= TIE:
        return 0.5
    return float(ours > theirs)


def gains(means, ours, theirs, metric):
    """Return {table: our score minus theirs}, with the sign of the metric; failures are left out."""
    pairs = {table: (own.get(ours), own.get(theirs)) for table, own in means.items()}
    return {
        table: SIGNS[metric] * (mine[metric] - other[metric])
        for table, (mine, other) in pairs.items()
        if isinstance(mine, dict) and isinstance(other, dict) and metric in mine
    }


def counts(means, ours, theirs, metric):
    """Return wins, ties and losses over tables; a failed fit is a loss."""
    found = [0, 0, 0]
    for own in means.values():
        pair = [own.get(name) for name in (ours, theirs)]
        known = [one for one in pair if isinstance(one, dict)]
        if None in pair or not known or metric not in known[0]:
            continue
        values = [-np.inf if one == FAILED else SIGNS[metric] * one[metric] for one in pair]
        found[[1.0, 0.5, 0.0].index(outcome(*values))] += 1
    return tuple(found)


def ratios(means, ours, theirs, metric, task):
    """Return our seconds over theirs, for each table of a task."""
    pairs = [(own.get(ours), own.get(theirs)) for own in means.values()]
    return [
        mine[metric] / max(other[metric], 1e-3)
        for mine, other in pairs
        if isinstance(mine, dict) and isinstance(other, dict) and main_metric(task) in mine
    ]


def pair_wins(means, labels):
    """Return the wins of a learner over another on each table, as (tables, labels, labels)."""
    wins = np.zeros((len(means), len(labels), len(labels)))
    for k, own in enumerate(means.values()):
        values = [quality(own[name]) if name in own else None for name in labels]
        for i, mine in enumerate(values):
            for j, other in enumerate(values):
                if i != j and mine is not None and other is not None:
                    wins[k, i, j] = outcome(mine, other) or 0.0
    return wins


def bradley_terry(wins):
    """Return the strengths θ of most likelihood, with mean zero, by Newton steps of at most one.

    i wins against j with probability 1 / (1 + exp(θ_j − θ_i)); ``wins[..., i, j]`` counts wins of i.
    """
    games, n = wins + np.swapaxes(wins, -1, -2), wins.shape[-1]
    strengths = np.zeros(wins.shape[:-1])
    for _ in range(100):
        chances = expit(strengths[..., :, None] - strengths[..., None, :])
        slopes = np.sum(wins - games * chances, axis=-1, keepdims=True)
        curvatures = games * chances * (1 - chances)
        # The mean of the strengths changes no chance: the constant 1 / n keeps it at zero.
        hessian = curvatures.sum(axis=-1)[..., None] * np.eye(n) - curvatures + 1 / n
        steps = np.linalg.solve(hessian, slopes)[..., 0]
        longest = np.abs(steps).max(axis=-1, keepdims=True)
        strengths = strengths + steps / np.maximum(longest, 1)
        if longest.max() < 1e-10:
            break
    return strengths


def elo(wins, labels):
    """Return the ratings of labels, given wins of each over each: 400 points are odds of ten.

    The anchor has 1000 points; without it, the mean of all has.
    """
    prior = PRIOR_GAMES / 2 * (1 - np.eye(len(labels)))
    points = 400 / np.log(10) * bradley_terry(wins + prior)
    if ANCHOR in labels:
        points = points - points[..., labels.index(ANCHOR), None]
    return ANCHOR_ELO + points


def elo_intervals(wins, labels, n_resamples=200, level=0.95, seed=0):
    """Return lower and upper limits of the ratings over bootstrap resamples of the tables."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(wins), size=(n_resamples, len(wins)))
    found = elo(wins[drawn].sum(axis=1), labels)
    return np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)


def normalized(qualities):
    """Return qualities of one table as shares: 1 for the best, 0 for the worst and for failures."""
    finite = [value for value in qualities if np.isfinite(value)]
    if not finite:
        return np.zeros(len(qualities))
    low, high = min(finite), max(finite)
    if high == low:
        return np.where(np.isfinite(qualities), 1.0, 0.0)
    return np.maximum((np.array(qualities) - low) / (high - low), 0.0)


def mean_normalized(means):
    """Return {label: mean over its tables of the normalized quality}."""
    found = defaultdict(list)
    for own in means.values():
        for name, value in zip(own, normalized([quality(one) for one in own.values()])):
            found[name].append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}


def losses(means, ours, task, most=8, left_out=()):
    """Return (gap, table, best other, its means, our means), the largest gaps first.

    Others are all learners without those of ``left_out``; a failed fit of ours comes first.
    """
    found = []
    for table, own in means.items():
        others = [name for name in own if name != ours and name not in left_out]
        others = [name for name in others if isinstance(own[name], dict)]
        if ours not in own or not others or main_metric(task) not in own[others[0]]:
            continue
        best = max(others, key=lambda name: quality(own[name]))
        gap = quality(own[best]) - quality(own[ours])
        if gap > TIE:
            found.append((gap, table, best, own[best], own[ours]))
    return sorted(found, key=lambda one: -one[0])[:most]
