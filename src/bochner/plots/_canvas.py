"""Shared parts of plots: axes, grids of the plane, models and their scores."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..data.columns import is_frame
from ..tabular import SpectralClassifier, SpectralRegressor

# Okabe and Ito's colors, safe for color-blind readers: first class blue, second orange.
BLUE, ORANGE, GRAY = "#0072B2", "#D55E00", "#666666"


def class_colors() -> Any:
    """Return a color map from the first of two classes over white to the second."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("classes", [BLUE, "white", ORANGE])


def blank(
    n_rows: int = 1, n_columns: int = 1, *, size: tuple[float, float] | None = None, **options: Any
) -> Any:
    """Return a figure and its axes."""
    import matplotlib.pyplot as plt

    return plt.subplots(n_rows, n_columns, figsize=size, layout="constrained", **options)


def given_or_new(ax: Any) -> Any:
    """Return the axes of the caller, or those of a new figure."""
    return blank()[1] if ax is None else ax


def plane_points(X: Any) -> np.ndarray:
    """Validate rows as points of the plane."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"This plot needs points of the plane, (n, 2); got shape {X.shape}.")
    return X


def plane_grid(
    X: np.ndarray, n_steps: int, margin: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the two sides of a grid around the points, and its corners as (n_steps², 2)."""
    columns, rows = np.linspace(np.min(X, axis=0) - margin, np.max(X, axis=0) + margin, n_steps).T
    return columns, rows, np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)


def draw_curves(
    axis: Any, curves: Mapping[str, Sequence[Any]], markers: str, **labels: Any
) -> None:
    """Draw curves {name: (x, y)} with markers, legend and grid; pass ``labels`` to ``axis.set``."""
    for (name, points), marker in zip(curves.items(), markers):
        axis.plot(*points, marker=marker, markersize=4, label=name)
    axis.set(**labels)
    axis.legend()
    axis.grid(alpha=0.3)


def panels(
    names: Sequence[str], *, size: tuple[float, float], most: int = 4, **options: Any
) -> Any:
    """Return a figure with a titled panel for each name, and the panels by name."""
    n_columns = min(most, len(names))
    n_rows = -(-len(names) // n_columns)
    chart, axes = blank(
        n_rows, n_columns, size=(size[0] * n_columns, size[1] * n_rows), squeeze=False, **options
    )
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    for axis, name in zip(axes.flat, names):
        axis.set_title(name)
    return chart, dict(zip(names, axes.flat))


def last_step(model: Any, drawn: str, *kinds: type) -> Any:
    """Return the fitted model, or the last step of a pipeline, if it is one of these kinds.

    ``drawn`` names the plot in messages.
    """
    step = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(step, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(
            f"{drawn} draws a fitted {names}, or a pipeline that ends with one, "
            f"got {shortly(model)}. Give that step alone, e.g. {drawn}(grid.best_estimator_[-1])."
        )
    check_is_fitted(step)
    return step


def prepared(model: Any, X: Any) -> Any:
    """Return rows as the last step of a pipeline reads them; X itself for other models."""
    return model[:-1].transform(X) if isinstance(model, Pipeline) and len(model) > 1 else X


def tabular_model(model: Any, X: Any, drawn: str) -> tuple[Any, Any]:
    """Return the tabular model that ``model`` is or ends with, and X as this model reads it."""
    step = last_step(model, drawn, SpectralClassifier, SpectralRegressor)
    if X is None:
        raise ValueError(f"{drawn} of a model needs rows. Write {drawn}(model, X).")
    return step, prepared(model, X)


def shortly(model: Any) -> str:
    """Return a model as one line of text."""
    text = " ".join(repr(model).split())
    return text if len(text) <= 100 else f"{text[:97]}..."


def like_given(X: Any, points: np.ndarray) -> Any:
    """Return points as a frame with the columns of X, if X is a frame."""
    if not is_frame(X):
        return points
    return type(X)({name: points[:, j] for j, name in enumerate(X.columns)})


def two_class_scores(model: Any, points: Any, drawn: str) -> np.ndarray:
    """Return the score of the second of two classes, zero if both are equally likely."""
    # The methods of a model may depend on its parameters.
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(points))
    elif hasattr(model, "predict_proba"):
        scores = model.predict_proba(points)
        scores = scores[:, 1] - 0.5 if scores.shape[1] == 2 else scores
    else:
        raise TypeError(f"{drawn} draws scores of a classifier, but {shortly(model)} has none.")
    if scores.ndim != 1:
        raise ValueError(
            f"{drawn} draws two classes, but {type(model).__name__} has {scores.shape[1]}."
        )
    return scores
