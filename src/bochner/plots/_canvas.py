"""Common parts of figures: axes, points and grids of the plane, panels, curves."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

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


def given_or_new(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """Return the axes of the caller, or those of a new figure."""
    return blank(size=size)[1] if ax is None else ax


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
    """Draw curves {name: (x, y)} with markers, legend and grid; ``axis.set`` gets the rest."""
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
