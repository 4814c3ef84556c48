"""Main effects of single columns of a tabular model."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..data.columns import is_frame
from ._canvas import BLUE, panels, tabular_model

# Most levels of a category that are drawn.
_LEVELS = 20


def plot_effects(model: Any, X: Any, n_strongest: int = 6, *, level: float | None = None) -> Any:
    """Plot the main effects with the largest spread over the rows of X; return the figure.

    Numbers are drawn as a curve over the values that occur. Categories, and numbers with only two
    values, are drawn as bars. The title states the share of the variance of the predictions that
    effects of single columns do not explain.

    Parameters
    ----------
    model : SpectralRegressor, SpectralClassifier, or a pipeline that ends with one
        A fitted model. For a classifier the figure shows effects on the log-odds of the second
        class; for more than two classes, on the log-probability of the last one. Columns are those
        that reach the last step of a pipeline.
    X : array or frame
        Rows over which the effects are drawn, as in ``predict``.
    n_strongest : int, default 6
        Number of effects.
    level : float, default None
        Probability of confidence bands, e.g. 0.9, see ``SpectralRegressor.effects``.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpectralRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = SpectralRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> len(plot_effects(model, X, n_strongest=1, level=0.9).axes)
    1
    """
    model, X = tabular_model(model, X, "plot_effects")
    effects = model.effects(X, max_order=1, level=level)
    main = effects.main[..., -1] if effects.main.ndim == 3 else effects.main
    half = np.zeros(main.shape)
    if effects.bands is not None:
        bands = effects.bands.main
        half = bands[..., -1] if bands.ndim == 3 else bands
    order = np.argsort(-main.std(axis=0), kind="stable")[:n_strongest]
    names = [effects.names[j] for j in order]
    figure, axes = panels(names, size=(3.4, 2.6), most=3, sharey=True)
    for j, name in zip(order, names):
        values = _column(X, name, model)
        is_curve = values.dtype.kind in "fiub" and len(np.unique(values[values == values])) > 2
        draw = _draw_curve if is_curve else _draw_bars
        draw(axes[name], values, main[:, j], half[:, j])
        axes[name].set(title="", xlabel=name)
        axes[name].axhline(0, color="black", linewidth=0.6)
        axes[name].grid(alpha=0.3)
    outputs: Any = effects.output_names or (model.classes_ if is_classifier(model) else ())
    of_output = f" of {outputs[-1]}" if len(outputs) else ""
    figure.supylabel(f"change of the {effects.output}", fontsize="medium")
    bands = "" if level is None else f", with {level:.0%} confidence bands"
    figure.suptitle(
        f"Effects of single columns on the {effects.output}{of_output}{bands}\n"
        f"(they leave {effects.rest_share:.0%} of its variance unexplained)",
        fontsize="medium",
    )
    return figure


def _column(X, name, model):
    """Return the column of this name of a frame, or of this number of an array."""
    if is_frame(X):
        return np.asarray(X[next(column for column in X.columns if str(column) == name)])
    return np.asarray(X)[:, list(model.inputs_.names_).index(name)]


def _draw_curve(axis, values, effect, half):
    values = values.astype(float)
    finite = np.flatnonzero(np.isfinite(values))
    places, first = np.unique(values[finite], return_index=True)
    effect, half = effect[finite][first], half[finite][first]
    axis.plot(places, effect, color=BLUE, linewidth=1.5)
    if half.any():
        axis.fill_between(places, effect - half, effect + half, color=BLUE, alpha=0.2, linewidth=0)
    # Values of the rows, as marks at the bottom.
    marks = {"color": "tab:gray", "alpha": 0.4, "markersize": 5}
    heights = np.full(len(finite), 0.03)
    axis.plot(values[finite], heights, "|", transform=axis.get_xaxis_transform(), **marks)


def _draw_bars(axis, values, effect, half):
    texts = np.array([str(value) for value in values])
    levels, first = np.unique(texts, return_index=True)
    levels, first = levels[:_LEVELS], first[:_LEVELS]
    spread = half[first] if half.any() else None
    axis.bar(levels, effect[first], color=BLUE, yerr=spread, capsize=3)
    axis.tick_params(axis="x", labelrotation=45)
