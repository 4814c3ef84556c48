"""Main effects of single columns of a tabular model."""

from typing import Any

import numpy as np

from ..data.columns import is_frame
from ..tabular import SpectralClassifier, SpectralRegressor
from ._canvas import last_step, panels, prepared


def plot_effects(model: Any, X: Any, n_strongest: int = 6) -> Any:
    """Plot the main effects with the largest spread over the rows of X; return the figure.

    Numbers are drawn as a curve over the values that occur, categories as bars.

    Parameters
    ----------
    model : a fitted SpectralRegressor or SpectralClassifier, or a pipeline that ends with one
        Of a classifier the score of the second class (of several: of the last one) is split;
        columns are those that a pipeline has made.
    X : array or frame
        Rows that the effects are drawn over, as the whole model takes them.
    n_strongest : int, default 6
        How many effects are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpectralRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = SpectralRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> len(plot_effects(model, X, n_strongest=1).axes)
    1
    """
    whole, model = model, last_step(model, "plot_effects", SpectralClassifier, SpectralRegressor)
    X = prepared(whole, X)
    effects = model.effects(X, max_order=1)
    main = effects.main[..., -1] if effects.main.ndim == 3 else effects.main
    order = np.argsort(-main.std(axis=0), kind="stable")[:n_strongest]
    names = [effects.names[j] for j in order]
    figure, axes = panels(names, size=(3.4, 2.6), most=3, sharey=True)
    for j, name in zip(order, names):
        values = _column(X, name, model)
        if values.dtype.kind in "fiub":
            _draw_curve(axes[name], values.astype(float), main[:, j])
        else:
            _draw_bars(axes[name], values, main[:, j])
        axes[name].axhline(0, color="black", linewidth=0.6)
        axes[name].grid(alpha=0.3)
    figure.supylabel("effect")
    return figure


def _column(X, name, model):
    """Return the column of this name of a frame, or of this number of an array."""
    if is_frame(X):
        return np.asarray(X[next(column for column in X.columns if str(column) == name)])
    return np.asarray(X)[:, list(model.inputs_.names_).index(name)]


def _draw_curve(axis, values, effect):
    finite = np.isfinite(values)
    values, effect = values[finite], effect[finite]
    places, first = np.unique(values, return_index=True)
    axis.plot(places, effect[first], color="tab:blue", linewidth=1.5)
    # Values of the rows, as marks at the bottom.
    marks = {"color": "tab:gray", "alpha": 0.4, "markersize": 5}
    heights = np.full(len(values), 0.03)
    axis.plot(values, heights, "|", transform=axis.get_xaxis_transform(), **marks)


def _draw_bars(axis, values, effect):
    texts = np.array([str(value) for value in values])
    levels = np.unique(texts)[:20]
    axis.bar(levels, [effect[texts == level].mean() for level in levels], color="tab:blue")
    axis.tick_params(axis="x", labelrotation=45)
