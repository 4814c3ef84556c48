"""Landmark similarities in the plane, with decisions (Letarte et al. 2019, Figure 1)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..features.landmarks import LandmarkFeatures
from ._canvas import (
    BLUE,
    ORANGE,
    blank,
    like_given,
    plane_grid,
    plane_points,
    prepared,
    shortly,
    two_class_scores,
)


def plot_landmark_maps(models: Any, X: Any, y: Any, *, n_shown: int = 5) -> Any:
    """Plot similarities to the first landmarks over the plane, and the decision of each model.

    There is one row of panels per model. The figure is returned.

    Parameters
    ----------
    models : a fitted pipeline, or a dict of str and fitted pipeline
        Its last two steps are ``LandmarkFeatures`` and a classifier of two classes.
    X : array or frame (n_samples, 2)
        Points, in the form that the models accept.
    y : array (n_samples,)
        Their labels, of two classes.
    n_shown : int, default 5
        Number of landmarks.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from bochner import LandmarkFeatures
    >>> from bochner.datasets import toy_landmarks
    >>> toy = toy_landmarks(100, 0)
    >>> features = LandmarkFeatures(n_landmarks=4, random_state=0)
    >>> model = make_pipeline(features, LinearSVC()).fit(toy.data, toy.target)
    >>> len(plot_landmark_maps({"learned": model}, toy.data, toy.target, n_shown=2).axes)
    4
    """
    models = models if isinstance(models, Mapping) else {type(models).__name__: models}
    given, X, y = X, plane_points(X), np.asarray(y)
    before = {name: _features(model) for name, model in models.items()}
    shown = min([n_shown, *(len(steps[-1].landmarks_) for steps in before.values())])
    size = (2.1 * (shown + 1), 2.2 * len(models) + 0.3)
    figure, axes = blank(len(models), shown + 1, size=size, squeeze=False, sharex=True, sharey=True)
    across, up, plane = plane_grid(X, 120, 0.08 * np.ptp(X, axis=0))
    image, points = None, like_given(given, plane)
    colors = {"cmap": "RdBu_r", "vmin": -1, "vmax": 1, "rasterized": True}
    for row, (name, model) in zip(axes, models.items()):
        features, rows = before[name][-1], prepared(before[name], points)
        psi = features.transform(rows).reshape(len(up), len(across), -1)
        for k, axis in enumerate(row[:-1]):
            image = axis.pcolormesh(across, up, psi[..., k], **colors)
            _points(axis, X, y, size=4)
            # The point of the plane that is nearest to the landmark after the earlier steps.
            away = np.sum((np.asarray(rows) - features.landmarks_[k]) ** 2, axis=1)
            place = plane[np.argmin(away)] if rows is not points else features.landmarks_[k]
            axis.plot(*place, marker="*", color="gold", markeredgecolor="black", markersize=13)
        scores = two_class_scores(model, points, "plot_landmark_maps").reshape(len(up), len(across))
        axis = row[-1]
        sides = {"levels": [-np.inf, 0, np.inf], "colors": [BLUE, ORANGE]}
        axis.contourf(across, up, scores, alpha=0.3, **sides)
        axis.contour(across, up, scores, levels=[0], colors="black", linewidths=1)
        _points(axis, X, y, size=8)
        error = 100 * np.mean(model.predict(given) != y)
        box = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1.5}
        style = {"transform": axis.transAxes, "fontsize": "small", "bbox": box}
        axis.text(0.03, 0.03, f"{error:.1f} % wrong", **style)
        row[0].set_ylabel(name)
    for k, axis in enumerate(axes[0, :-1]):
        axis.set_title(f"similarity to landmark {k + 1}", fontsize="small")
    axes[0, -1].set_title("classification", fontsize="small")
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
    if image is not None:
        style = {"location": "bottom", "shrink": 0.4, "aspect": 40}
        figure.colorbar(image, ax=axes, label="similarity", **style)
    return figure


def _features(model):
    """Return the steps of a pipeline up to its landmarks, without the classifier behind them."""
    steps = list(model) if isinstance(model, Pipeline) else []
    if len(steps) < 2 or not isinstance(steps[-2], LandmarkFeatures):
        raise TypeError(
            "plot_landmark_maps draws a pipeline that ends with LandmarkFeatures and a classifier, "
            f"got {shortly(model)}. Write e.g. plot_landmark_maps(grid.best_estimator_, X, y)."
        )
    check_is_fitted(steps[-2])
    return model[:-1]


def _points(axis, X, y, size):
    for label, color, marker in zip(np.unique(y), (BLUE, ORANGE), "o^"):
        axis.scatter(*X[y == label].T, s=size, color=color, marker=marker, linewidths=0)
