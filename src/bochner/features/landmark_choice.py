"""Choice of landmarks: random rows, centroids, or points of the user."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin

from .._loops.arrays import as_dense
from .._loops.threads import threads_of_sklearn
from ..data import Rows
from ..data.rows import spread_places
from ..data.targets import Labels, TargetSimilarity
from ..data.training import members

# Rows of a class that k-means reads at most, evenly spread; more would not move the centroids.
_CLUSTER_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Points (n_landmarks, n_features), their row numbers if they are rows, and their targets.

    ``targets`` are class codes (for labels), rows of factors (for a target similarity), or None.
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
    """Choose landmarks by ``rule``: "random", "kmeans", points, or a pair (points, labels).

    With weights, rows are drawn in proportion to them, and centroids are weighted means.
    """
    if not isinstance(rule, str):
        return _own_landmarks(rows, target, rule, weights)
    groups = _groups(rows, target if per_label else None, weights)
    counts = shares([len(group.rows) for group in groups], n_landmarks)
    pairs = [(group, count) for group, count in zip(groups, counts) if count]
    if rule == "random":
        indices = np.concatenate([group.draw(count, rng) for group, count in pairs])
        order = np.argsort(indices)  # rows are read in their own order
        points = np.empty((len(indices), rows.n_features))
        points[order] = as_dense(rows.take(indices[order]))
        return Landmarks(points, indices, None if target is None else _targets_of(target)[indices])
    clusters = [_clustered(rows, group, count, target, per_label, rng) for group, count in pairs]
    targets = None if target is None else np.concatenate([one.targets for one in clusters])
    return Landmarks(np.concatenate([one.points for one in clusters]), None, targets)


def _clustered(rows, group, count, target, per_label, rng):
    """Return the centroids of a group and their targets."""
    some = spread_places(len(group.rows), _CLUSTER_ROWS)
    numbers, weights = group.rows[some], None if group.weights is None else group.weights[some]
    k_means = KMeans(min(count, len(some)), n_init=1, random_state=int(rng.integers(2**31)))
    # scikit-learn before 1.8 fails in k-means if array API dispatch is on.
    with threads_of_sklearn(), config_context(array_api_dispatch=False):
        k_means.fit(rows.take(numbers), sample_weight=weights)
    centers = np.asarray(k_means.cluster_centers_)
    if target is None:
        return Landmarks(centers, None, None)
    if isinstance(target, Labels) and per_label:
        return Landmarks(centers, None, np.full(len(centers), group.code))
    targets = _targets_of_clusters(target, numbers, k_means.labels_, len(centers), weights)
    return Landmarks(centers, None, targets)


def shares(sizes: list[int], total: int) -> list[int]:
    """Split ``total`` evenly over groups; groups that are too small leave their rest to others.

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
    """Class code, row numbers of the candidates for landmarks, and their weights or None."""

    code: int
    rows: np.ndarray
    weights: np.ndarray | None

    def draw(self, count, rng):
        """Return the numbers of ``count`` different rows, in proportion to the weights."""
        shares = None if self.weights is None else self.weights / self.weights.sum()
        return self.rows[rng.choice(len(self.rows), size=count, replace=False, p=shares)]


def _groups(rows, target, weights):
    """Return the rows of each class of labels, or all rows, without those of weight zero."""
    codes, n_codes = (
        (target.codes, len(target.classes)) if isinstance(target, Labels) else (None, 1)
    )
    of_codes = members(codes, n_codes, len(rows), weights)
    return [
        _Group(code, own, None if weights is None else weights[own])
        for code, own in enumerate(of_codes)
    ]


def _targets_of(target):
    return target.codes if isinstance(target, Labels) else target.factors


def _targets_of_clusters(target, rows, clusters, n_clusters, weights):
    """Return the most frequent label of each cluster, or the mean of its factors."""
    counts = np.ones(len(rows)) if weights is None else weights
    if isinstance(target, Labels):
        votes = np.zeros((n_clusters, len(target.classes)))
        np.add.at(votes, (clusters, target.codes[rows]), counts)
        return votes.argmax(axis=1)
    sums = np.zeros((n_clusters, target.factors.shape[1]))
    np.add.at(sums, clusters, counts[:, None] * target.factors[rows])
    return sums / np.bincount(clusters, counts, minlength=n_clusters)[:, None]


def _own_landmarks(rows, target, rule, weights):
    """Validate the landmarks of the user, and find labels for them if there are none."""
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
            raise ValueError("Labels of own landmarks only make sense if y holds labels.")
        if len(labels) != len(points):
            raise ValueError(
                f"Got {len(points)} own landmarks and {len(labels)} labels; each needs one."
            )
        return Landmarks(points, None, Labels.of(labels, classes=target.classes).codes)
    # Points without labels get the target of the nearest row.
    some = rows.spread(_CLUSTER_ROWS, weights)
    with threads_of_sklearn():
        nearest = some[pairwise_distances_argmin(points, rows.take(some).astype(np.float64))]
    return Landmarks(points, None, _targets_of(target)[nearest])
