"""Which points serve as landmarks: random rows, centroids, or the user's own."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin

from .._loops.arrays import as_dense
from .._loops.threads import threads_of_others
from ..data import Rows, evenly_spread
from ..data.row_draws import members
from ..data.targets import Labels, TargetSimilarity

# Clustering looks at this many rows of a class at most, evenly spread; more would not move the
# centroids.
_CLUSTER_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Points (n_landmarks, n_features); the rows they are, if they are rows; and their targets.

    ``targets`` are class codes (for labels), rows of factors (for a target similarity), or None
    without targets.
    """

    points: np.ndarray
    indices: np.ndarray | None
    targets: np.ndarray | None


def choose_landmarks(
    rows: Rows,
    target: Labels | TargetSimilarity | None,
    rule: Any,
    n_landmarks: int,
    per_label: bool,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
) -> Landmarks:
    """``rule`` is "random", "kmeans", an array of points, or a pair (points, labels).

    With weights, rows are drawn in proportion to them, and centroids are weighted means.
    """
    if not isinstance(rule, str):
        return _own_landmarks(rows, target, rule, weights)
    groups = _groups(rows, target if per_label else None, weights)
    counts = shares([len(group.rows) for group in groups], n_landmarks)
    if rule == "random":
        indices = np.concatenate(
            [group.drawn(count, rng) for group, count in zip(groups, counts) if count]
        )
        chosen_targets = None if target is None else _targets_of(target)[indices]
        order = np.argsort(indices)  # rows are taken in their own order
        taken = np.empty((len(indices), rows.n_features))
        taken[order] = as_dense(rows.take(indices[order]))
        return Landmarks(taken, indices, chosen_targets)
    points, targets = [], []
    for code, (group, count) in enumerate(zip(groups, counts)):
        if count == 0:
            continue
        some = evenly_spread(group.rows, _CLUSTER_ROWS)
        clusters = KMeans(min(count, len(some)), n_init=1, random_state=int(rng.integers(2**31)))
        points_of_group = rows.take(some)
        # k-means is NumPy's; scikit-learn before 1.8 fails in it where dispatch is asked for.
        with threads_of_others(), config_context(array_api_dispatch=False):
            clusters.fit(points_of_group, sample_weight=None if weights is None else weights[some])
        points.append(np.asarray(clusters.cluster_centers_))
        if isinstance(target, Labels) and per_label:
            targets.append(np.full(len(clusters.cluster_centers_), code))
        elif target is not None:
            targets.append(
                _targets_of_clusters(
                    target, some, clusters.labels_, len(clusters.cluster_centers_), weights
                )
            )
    return Landmarks(np.concatenate(points), None, np.concatenate(targets) if targets else None)


def shares(sizes: list[int], total: int) -> list[int]:
    """``total`` split evenly over groups; a group that is too small is taken whole and the others
    share what is missing.

    >>> shares([100, 3, 50], 20)
    [9, 3, 8]
    """
    counts = [0] * len(sizes)
    left = min(total, sum(sizes))
    while left > 0:
        open_groups = [g for g, size in enumerate(sizes) if counts[g] < size]
        each, extra = divmod(left, len(open_groups))
        for rank, g in enumerate(open_groups):
            counts[g] = min(sizes[g], counts[g] + each + (rank < extra))
        left = min(total, sum(sizes)) - sum(counts)
    return counts


@dataclass(frozen=True, eq=False)
class _Group:
    """Numbers of the rows that landmarks are chosen among, and their weights if they have some."""

    rows: np.ndarray
    weights: np.ndarray | None = None

    def drawn(self, count, rng):
        """Numbers of so many different rows, in proportion to the weights."""
        shares = None if self.weights is None else self.weights / self.weights.sum()
        return self.rows[rng.choice(len(self.rows), size=count, replace=False, p=shares)]


def _groups(rows, target, weights):
    """The rows of each class of labels, or all rows, without those of weight zero."""
    codes, n_codes = (
        (target.codes, len(target.classes)) if isinstance(target, Labels) else (None, 1)
    )
    of_codes = members(codes, n_codes, len(rows), weights)
    return [_Group(own, None if weights is None else weights[own]) for own in of_codes]


def _targets_of(target):
    return target.codes if isinstance(target, Labels) else target.factors


def _targets_of_clusters(target, rows, clusters, n_clusters, weights):
    """The most frequent label of each cluster, or the mean of its factors."""
    counts = np.ones(len(rows)) if weights is None else weights[rows]
    if isinstance(target, Labels):
        votes = np.zeros((n_clusters, len(target.classes)))
        np.add.at(votes, (clusters, target.codes[rows]), counts)
        return votes.argmax(axis=1)
    sums = np.zeros((n_clusters, target.factors.shape[1]))
    np.add.at(sums, clusters, counts[:, None] * target.factors[rows])
    return sums / np.bincount(clusters, counts, minlength=n_clusters)[:, None]


def _own_landmarks(rows, target, rule, weights):
    labels = None
    if isinstance(rule, tuple):
        if len(rule) != 2:
            raise ValueError(
                f"landmarks must be points or a pair (points, labels), got a tuple of {len(rule)}."
            )
        rule, labels = rule
    points = as_dense(rule).astype(np.float64)
    if points.ndim != 2 or points.shape[1] != rows.n_features:
        raise ValueError(
            f"Own landmarks have shape {points.shape}, but X has {rows.n_features} features; give "
            f"(n_landmarks, {rows.n_features})."
        )
    if not np.all(np.isfinite(points)):
        raise ValueError("Own landmarks contain NaN or infinity.")
    if target is None:
        return Landmarks(points, None, None)
    if labels is not None:
        if not isinstance(target, Labels):
            raise ValueError("Labels of own landmarks only make sense where y holds labels.")
        if len(labels) != len(points):
            raise ValueError(
                f"Got {len(points)} own landmarks and {len(labels)} labels; each needs one."
            )
        return Landmarks(points, None, Labels.of(labels, classes=target.classes).codes)
    # Without labels of their own, points take the target of the nearest row.
    some = rows.spread(_CLUSTER_ROWS, weights)
    known = rows.take(some).astype(np.float64)
    with threads_of_others():
        nearest = some[pairwise_distances_argmin(points, known)]
    return Landmarks(points, None, _targets_of(target)[nearest])
