"""Plot of the Shapley values of one row."""

from typing import Any

import numpy as np

from ..data.columns import is_frame
from ..tabular import ShapleyValues
from ._canvas import BLUE, GRAY, ORANGE, blank, tabular_model

# Longest text of a cell beside the name of its column.
_LONGEST_TEXT = 20


def plot_shapley(
    model: Any, X: Any = None, *, row: int = 0, n_strongest: int = 8, output: int = -1
) -> Any:
    """Plot the Shapley values of one row as bars, from the mean output to the output of this row.

    Bars that raise the output are orange, those that lower it blue. A gray bar is the contribution
    of members that cannot be split by columns, if there are any. The figure is returned.

    Parameters
    ----------
    model : SpectralRegressor, SpectralClassifier, a pipeline that ends with one, or ShapleyValues
        A fitted model, whose Shapley values are computed for this row, or computed values.
    X : array or frame, default None
        Rows, as in ``predict``. Not for ``ShapleyValues``, which have their rows.
    row : int, default 0
        The place of the row.
    n_strongest : int, default 8
        Number of columns with a bar of their own. All other columns share one.
    output : int, default -1
        The place of the output or class, if there are several. -1 is the last one.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpectralRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = SpectralRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> len(plot_shapley(model, X, row=3).axes)
    1
    """
    values, row = _values(model, X, row)
    names, sizes, colors, base = _bars(values, row, n_strongest, output)
    figure, axis = blank(size=(7.0, 1.2 + 0.38 * len(names)))
    ends = base + np.cumsum(sizes)
    starts, places = ends - sizes, np.arange(len(names))
    lowest, highest = np.min([starts, ends]), np.max([starts, ends])
    span = highest - lowest if highest > lowest else 1.0
    largest = np.abs(sizes).max()
    # Three digits of the largest bar, and as many decimals for all other numbers.
    n_decimals = max(0, 2 - int(np.floor(np.log10(largest)))) if largest > 0 else 0
    axis.barh(places, sizes, left=starts, color=colors, height=0.62)
    for place, start, end, size in zip(places, starts, ends, sizes):
        right = max(start, end) + 0.01 * span
        axis.text(right, place, f"{size:+,.{n_decimals}f}", va="center", fontsize="small")
    axis.vlines(ends[:-1], places[:-1], places[1:], color=GRAY, linewidth=0.8)
    axis.axvline(base, color=GRAY, linewidth=0.8, linestyle=":")
    axis.set_yticks(places, names)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlim(lowest - 0.03 * span, highest + 0.13 * span)
    of_output = f" of {values.output_names[output]}" if values.output_names else ""
    axis.set_xlabel(
        f"{values.output}{of_output}: {base:,.{n_decimals}f} on average, "
        f"{ends[-1]:,.{n_decimals}f} for this row"
    )
    axis.set_title("Contribution of each column to one prediction", fontsize="medium")
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    return figure


def _values(model, X, row):
    """Return Shapley values, and the place of the row among them."""
    if isinstance(model, ShapleyValues):
        if X is not None:
            raise ValueError(
                "ShapleyValues have their rows, but X was given, too. Write "
                "plot_shapley(values, row=...)."
            )
        _check_row(row, len(model))
        return model, row
    model, X = tabular_model(model, X, "plot_shapley")
    _check_row(row, X.shape[0])
    place = row % X.shape[0]
    return model.shapley(_rows(X, slice(place, place + 1))), 0


def _check_row(row, n_rows):
    if not -n_rows <= row < n_rows:
        raise ValueError(f"row must be the place of one of the {n_rows} rows, got {row}.")


def _rows(X, rows):
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _bars(values, row, n_strongest, output):
    """Return names, sizes and colors of the bars, from the strongest on, and the base value."""
    parts = values.values, values.rest, values.base_values
    if values.output_names:
        parts = tuple(part[..., output] for part in parts)
    own, rest, base = (part[row] for part in parts)
    order = np.argsort(-np.abs(own), kind="stable")
    shown, others = order[:n_strongest], order[n_strongest:]
    cells = [_cell(values.data, row, j) for j in shown]
    names = [f"{values.names[j]} = {cell}" for j, cell in zip(shown, cells)]
    sizes = list(own[shown])
    if len(others):
        names.append(f"all other columns ({len(others)})")
        sizes.append(own[others].sum())
    colors = [ORANGE if size > 0 else BLUE for size in sizes]
    if np.any(values.rest):
        names, sizes, colors = [*names, "not split by columns"], [*sizes, rest], [*colors, GRAY]
    return names, np.array(sizes), colors, base


def _cell(data, row, j):
    """Return the text of a cell."""
    cell = np.asarray(data[data.columns[j]])[row] if is_frame(data) else data[row][j]
    text = f"{cell:.4g}" if isinstance(cell, float | np.floating) else str(cell)
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
