"""What the experiments' figures share; matplotlib is imported when one is drawn."""

from collections.abc import Mapping, Sequence
from typing import Any


def blank(n_rows: int = 1, n_columns: int = 1, *, size: tuple[float, float], **options: Any) -> Any:
    """A figure and its axes."""
    import matplotlib.pyplot as plt

    return plt.subplots(n_rows, n_columns, figsize=size, layout="constrained", **options)


def draw_curves(axis: Any, curves: Mapping[str, Sequence[Any]], markers: str, **labels: Any) -> None:
    """Curves {name: (x, y)} with their markers, a legend, a grid, and what ``axis.set`` is told."""
    for (name, points), marker in zip(curves.items(), markers):
        axis.plot(*points, marker=marker, markersize=4, label=name)
    axis.set(**labels)
    axis.legend()
    axis.grid(alpha=0.3)


def panels(names: Sequence[str], *, size: tuple[float, float], most: int = 4, **options: Any) -> Any:
    """A figure with a titled panel for each name, of ``size`` each and at most ``most`` in a row; returns it and the panels by name."""
    n_columns = min(most, len(names))
    n_rows = -(-len(names) // n_columns)
    chart, axes = blank(n_rows, n_columns, size=(size[0] * n_columns, size[1] * n_rows), squeeze=False, **options)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    for axis, name in zip(axes.flat, names):
        axis.set_title(name)
    return chart, dict(zip(names, axes.flat))
