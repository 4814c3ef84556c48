"""Plots of boosting: loss and accuracy per round."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..boosting.booster import FourierBooster
from ..boosting.gbrff_base import GBRFFBase
from ._canvas import BLUE, ORANGE, blank, last_step, prepared


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
        For a regressor, only losses can be drawn.
    X : array or frame, default None
        Training rows, in the form that the whole model accepts. If given, accuracies are drawn.
    y : array (n_samples,), default None
        Their labels.
    X_test : array or frame, default None
        Rows that were not used for training.
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
                style = {"color": color, "linestyle": line, "label": label}
                rest[0].plot(np.arange(1, len(accuracy) + 1), accuracy, **style)
        rest[0].set(xlabel="round", ylabel="accuracy", title="Accuracy")
        rest[0].legend(loc="lower right")
    for axis in np.atleast_1d(axes):
        axis.xaxis.get_major_locator().set_params(integer=True)
    return axes
