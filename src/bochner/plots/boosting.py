"""Plots of boosting: loss and accuracy per round, decision boundaries, landmark loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..boosting.booster import FourierBooster
from ..boosting.gbrff_base import GBRFFBase
from ._canvas import BLUE, ORANGE, blank, class_colors, given_or_new, plane_grid
from ._finding import last_step, prepared, two_class_scores


def plot_rounds(
    model: Any,
    X: Any = None,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    axes: Any = None,
) -> Any:
    """Plot training (and validation) loss per round and, with data, accuracy; return the axes.

    Parameters
    ----------
    model : a fitted booster of bochner, or a pipeline that ends with one
        Of a regressor only losses can be drawn.
    X : array or frame, default None
        Training rows, as the whole model takes them; with them accuracies are drawn.
    y : array (n_samples,), default None
        Their labels.
    X_test : array or frame, default None
        Rows that were not learned from.
    y_test : array (n_samples,), default None
        Their labels.
    axes : matplotlib axes, default None
        One or two axes to draw on; None creates a figure.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bochner import FourierBoostingClassifier
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = FourierBoostingClassifier(n_rounds=5, random_state=0).fit(X, y)
    >>> left, right = plot_rounds(model, X, y)
    >>> left.get_ylabel(), right.get_ylabel()
    ('mean loss', 'accuracy')
    """
    whole, model = model, last_step(model, "plot_rounds", FourierBooster, GBRFFBase)
    with_accuracy = X is not None
    if with_accuracy and not is_classifier(model):
        raise TypeError(
            f"Accuracies need a classifier, got {type(model).__name__}. Write plot_rounds(model) "
            "for its losses."
        )
    if axes is None:
        _, axes = blank(1, 1 + with_accuracy, size=(5 + 5 * with_accuracy, 3.6))
    left, *rest = np.atleast_1d(axes)
    losses = np.asarray(model.train_loss_)
    losses = losses.mean(axis=1) if losses.ndim == 2 else losses
    left.plot(np.arange(1, len(losses) + 1), losses, color=BLUE, label="training")
    validation = model.validation_loss_ if isinstance(model, FourierBooster) else []
    if len(validation):
        style = {"color": ORANGE, "linestyle": "--", "label": "validation"}
        left.plot(np.arange(1, len(validation) + 1), validation, **style)
        kept = {"color": "black", "linewidth": 0.8, "linestyle": ":", "label": "rounds kept"}
        left.axvline(model.n_rounds_, **kept)
    epochs = len(validation) > len(losses)
    left.set(xlabel="round, then epoch" if epochs else "round", ylabel="mean loss", title="Loss")
    if np.min(losses) > 0 and np.max(losses) / np.min(losses) > 20:
        left.set_yscale("log")
    left.legend()
    if with_accuracy:
        for label, points, labels, color, line in (
            ("training", X, y, BLUE, "-"),
            ("test", X_test, y_test, ORANGE, "--"),
        ):
            if points is not None:
                stages = model.staged_predict(prepared(whole, points))
                accuracy = [np.mean(stage == labels) for stage in stages]
                rest[0].plot(
                    np.arange(1, len(accuracy) + 1),
                    accuracy,
                    color=color,
                    linestyle=line,
                    label=label,
                )
        rest[0].set(xlabel="round", ylabel="accuracy", title="Accuracy")
        rest[0].legend(loc="lower right")
    for axis in np.atleast_1d(axes):
        axis.xaxis.get_major_locator().set_params(integer=True)
    return axes


def plot_boundary(
    model: Any, X: Any, y: Any, landmarks: Any = None, ax: Any = None, n_steps: int = 200
) -> Any:
    """Plot the decision boundary of a two-class model in the plane; return the axes.

    Data and, if given, landmarks are drawn too.
    """
    ax = given_or_new(ax, size=(4.5, 4))
    # Landmarks may lie far from the data (the loss is periodic), outside of the axes.
    margin = (0.08 if landmarks is None else 0.4) * np.ptp(X, axis=0)
    columns, rows, points = plane_grid(X, n_steps, margin)
    scores = two_class_scores(model, points, "plot_boundary").reshape(len(rows), len(columns))
    limit = np.quantile(np.abs(scores), 0.95) + 1e-12
    ax.pcolormesh(
        columns,
        rows,
        scores,
        cmap=class_colors(),
        vmin=-limit,
        vmax=limit,
        alpha=0.45,
        rasterized=True,
    )
    if scores.min() < 0 < scores.max():
        ax.contour(columns, rows, scores, levels=[0.0], colors="k", linewidths=1.2)
    for label, color, marker in zip(np.unique(y), (BLUE, ORANGE), "os"):
        style = {"marker": marker, "edgecolors": "w", "linewidths": 0.4}
        ax.scatter(*X[y == label].T, s=14, c=color, label=str(label), **style)
    if landmarks is not None:
        ax.scatter(
            landmarks[:, 0],
            landmarks[:, 1],
            s=70,
            c="k",
            marker="x",
            linewidths=2,
            label="landmark",
        )
    ax.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(columns[0], columns[-1]), ylim=(rows[0], rows[-1]))
    return ax


def plot_landmark_loss(
    frequencies: Any, X: Any, signal: Any, landmark: Any = None, ax: Any = None, n_steps: int = 120
) -> Any:
    """Plot the mean exp(−ỹ m(x)) over landmarks x of the plane; return the axes.

    This is Eq. 9 of Gautheron et al. 2020.
    """
    ax = given_or_new(ax, size=(4.5, 4))
    columns, rows, points = plane_grid(X, n_steps, 0.08 * np.ptp(X, axis=0))
    losses = landmark_losses(frequencies, X, signal, points).reshape(len(rows), len(columns))
    mesh = ax.pcolormesh(columns, rows, losses, cmap="Greys", rasterized=True)
    ax.figure.colorbar(mesh, ax=ax, label="loss of a landmark here", shrink=0.85)
    colors = np.where(np.asarray(signal) > 0, ORANGE, BLUE)
    ax.scatter(X[:, 0], X[:, 1], s=14, c=colors, edgecolors="white", linewidths=0.4)
    if landmark is not None:
        ax.scatter(*np.ravel(landmark), s=130, c="k", marker="x", linewidths=4)
        ax.scatter(*np.ravel(landmark), s=110, c="w", marker="x", linewidths=2)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(columns[0], columns[-1]), ylim=(rows[0], rows[-1]))
    return ax


def landmark_losses(frequencies: Any, X: Any, signal: Any, points: Any) -> np.ndarray:
    """Return mean_i exp(−ỹ_i (1/K) Σ_j cos ω_j·(x − x_i)) for each row x of ``points``."""
    frequencies = np.atleast_2d(frequencies)
    here, there = points @ frequencies.T, X @ frequencies.T
    similarity = (np.cos(here) @ np.cos(there).T + np.sin(here) @ np.sin(there).T) / len(
        frequencies
    )
    return np.exp(-similarity * np.asarray(signal)).mean(axis=1)
