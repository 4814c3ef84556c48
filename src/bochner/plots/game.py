"""Plots of the margin game in the plane: potential, weighted data, boundary per round."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._checks import as_generator
from ..data.targets import Labels
from ..learners.alignment import potential
from ..learners.game.duals import make_dual
from ..learners.game.margin_game import averaged
from ..learners.game.value import fit_machine
from ..measures.fourier import FourierMeasure
from ..priors import SpectralPrior
from ._canvas import (
    BLUE,
    ORANGE,
    blank,
    class_colors,
    given_or_new,
    like_given,
    plane_grid,
    plane_points,
    two_class_scores,
)


def plot_potential(
    X: Any,
    signal: Any,
    *,
    bandwidth: float,
    peaks: FourierMeasure | None = None,
    last: Any = None,
    ax: Any = None,
) -> Any:
    """Plot the Fourier potential of a signal over frequencies, with chosen peaks; return the axes.

    The map shows the square root, in which low peaks stay visible.

    Parameters
    ----------
    X : array (n_samples, 2)
        Points of the plane.
    signal : array (n_samples,)
        A number for each point.
    bandwidth : float
        The largest frequency drawn, in each direction.
    peaks : FourierMeasure, default None
        Frequencies to mark, with their mirror images.
    last : FourierMeasure, default None
        The frequencies of the last round, marked by larger points.
    ax : matplotlib axes, default None
        Axes to draw on; None creates a figure.

    Examples
    --------
    >>> from bochner.datasets import windmill
    >>> disc = windmill(100, 0)
    >>> plot_potential(disc.data, disc.target, bandwidth=10.0).get_aspect()
    1.0
    """
    X, signal = plane_points(X), np.asarray(signal, dtype=np.float64)
    if ax is None:
        ax = given_or_new(ax)
        names = {"xlabel": "frequency along $x_1$", "ylabel": "frequency along $x_2$"}
        ax.set(title="square root of the Fourier potential", **names)
    grid = np.linspace(-bandwidth, bandwidth, 161)
    corners = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    heights = potential(FourierMeasure(corners, np.ones(len(corners))), X, signal).reshape(161, 161)
    extent = (-bandwidth, bandwidth, -bandwidth, bandwidth)
    style = {"origin": "lower", "cmap": "Greys_r", "interpolation": "bilinear"}
    ax.imshow(np.sqrt(heights), extent=extent, **style)
    for chosen, color, size in ((peaks, "#ff4fd8", 9), (last, "#35e0ff", 28)):
        if chosen is not None:
            mirrored = np.concatenate([chosen.frequencies, -chosen.frequencies])
            edges = {"edgecolors": "black", "linewidths": 0.3}
            ax.scatter(*mirrored.T, s=size, color=color, zorder=3, **edges)
    ax.set(xlim=extent[:2], ylim=extent[2:], aspect="equal")
    return ax


def plot_weighted_points(X: Any, y: Any, weights: Any, *, ax: Any = None) -> Any:
    """Plot points of the plane whose areas are proportional to dual weights; return the axes.

    Parameters
    ----------
    X : array (n_samples, 2)
        Points of the plane.
    y : array (n_samples,)
        Their labels, of two classes.
    weights : array (n_samples,)
        Their dual weights.
    ax : matplotlib axes, default None
        Axes to draw on; None creates a figure.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.datasets import windmill
    >>> disc = windmill(100, 0)
    >>> len(plot_weighted_points(disc.data, disc.target, np.ones(100)).collections)
    2
    """
    X, weights = plane_points(X), np.asarray(weights, dtype=np.float64).ravel()
    ax = given_or_new(ax)
    largest = max(float(weights.max()), 1e-12)
    for label, color in zip(np.unique(y), (BLUE, ORANGE), strict=True):
        rows = np.asarray(y) == label
        style = {"color": color, "linewidths": 0, "label": str(label)}
        ax.scatter(*X[rows].T, s=0.3 + 9 * weights[rows] / largest, rasterized=True, **style)
    ax.set_aspect("equal")
    return ax


def plot_boundary(model: Any, X: Any, y: Any = None, C: float = 1.0, *, ax: Any = None) -> Any:
    """Plot the score of a classifier over the plane, with lines at −1, 0 and 1; return the axes.

    Orange areas have positive scores, blue areas negative ones.

    Parameters
    ----------
    model : FourierMeasure, or a fitted classifier of two classes
        For a measure, an SVM is fitted on its features. A classifier, also in a pipeline or a
        search, is not fitted again.
    X : array or frame (n_samples, 2)
        Points of the plane, in the form that the classifier accepts.
    y : array (n_samples,), default None
        Their labels, of two classes. A measure needs them. For a classifier, the points are drawn
        if labels are given.
    C : float, default 1.0
        Weight of the loss of the SVM; for a measure only.
    ax : matplotlib axes, default None
        Axes to draw on; None creates a figure.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian
    >>> from bochner.datasets import windmill
    >>> disc = windmill(100, 0)
    >>> measure = Gaussian(gamma=5.0).sample(20, 2, np.random.default_rng(0))
    >>> plot_boundary(measure, disc.data, disc.target).get_aspect()
    1.0
    """
    given, X = X, plane_points(X)
    ax = given_or_new(ax)
    # A twentieth of the unit disc, or of the range of the points.
    x_axis, y_axis, mesh = plane_grid(X, 201, 0.025 * np.ptp(X, axis=0))
    if isinstance(model, FourierMeasure):
        dual = make_dual("hinge", Labels.of(y, len(X)), C)
        coefficients, intercepts, _ = fit_machine(model.features(X), dual)
        scores = (model.features(mesh) @ coefficients + intercepts).reshape(201, 201)
    else:
        scores = two_class_scores(model, like_given(given, mesh), "plot_boundary").reshape(201, 201)
    colors = {"cmap": class_colors(), "vmin": -2, "vmax": 2, "alpha": 0.6}
    ax.pcolormesh(x_axis, y_axis, np.clip(scores, -2, 2), rasterized=True, **colors)
    lines = {"levels": [-1, 0, 1], "linewidths": [0.5, 1.2, 0.5], "linestyles": "solid"}
    ax.contour(x_axis, y_axis, scores, colors="black", **lines)
    if isinstance(model, FourierMeasure):
        ax.set_aspect("equal")
        return ax
    title = f"positive score: class {model.classes_[1]}; thick line: 0; thin lines: −1 and 1"
    ax.set_title(title, fontsize="medium")
    if y is not None:
        for label, color, marker in zip(model.classes_, (BLUE, ORANGE), "o^"):
            style = {"marker": marker, "edgecolors": "white", "linewidths": 0.4}
            rows = X[np.asarray(y) == label]
            ax.scatter(*rows.T, s=16, color=color, label=str(label), **style)
        ax.legend()
    return ax


def game_evolution(
    learner: Any,
    prior: SpectralPrior,
    X: Any,
    y: Any,
    *,
    rounds: Sequence[int] = (1, 10, 30, 100),
    bandwidth: float | None = None,
    random_state: Any = None,
) -> Any:
    """Plot weighted data, potential and boundary of some rounds, one column per round.

    This is Figure 1a of Bullins et al. 2018. The figure is returned.

    Parameters
    ----------
    learner : MarginGame
        The learner, for two classes.
    prior : SpectralPrior
        Prior of the starting points of the search for frequencies.
    X : array (n_samples, 2)
        Points of the plane.
    y : array (n_samples,)
        Their labels.
    rounds : sequence of int, default (1, 10, 30, 100)
        Rounds to show. Rounds after the last one are left out.
    bandwidth : float, default None
        The largest frequency drawn, in each direction. None: a tenth more than the largest
        frequency of the last measure shown.
    random_state : None, int, RandomState or Generator, default None
        Seed of the draws from the prior and of the game.

    Examples
    --------
    >>> from bochner import Gaussian, MarginGame
    >>> from bochner.datasets import windmill
    >>> disc = windmill(100, 0)
    >>> game, prior = MarginGame(n_rounds=2), Gaussian(gamma=20.0)
    >>> figure = game_evolution(
    ...     game, prior, disc.data, disc.target, rounds=(1, 2), random_state=0
    ... )
    >>> len(figure.axes)
    6
    """
    X, rng = plane_points(X), as_generator(random_state)
    wanted = sorted(
        number for number in set(rounds) if learner.n_rounds is None or number <= learner.n_rounds
    )
    if not wanted:
        raise ValueError(
            f"None of rounds={tuple(rounds)} exists, since n_rounds={learner.n_rounds}. Choose "
            "earlier rounds, or set a larger n_rounds."
        )
    start = prior.resolved(X).sample(200, 2, rng)
    plays: list[Any] = []
    shown = []
    for played in learner.rounds(start, X, y, rng):
        plays.append(played.peaks)
        if played.number in wanted:
            shown.append((played, averaged(plays)))
        if played.number == wanted[-1]:
            break
    if bandwidth is None:
        bandwidth = 1.1 * float(np.max(np.abs(shown[-1][1].frequencies)))
    signs = Labels.of(y, len(X)).signs()[:, 0]
    size, shared = (2.8 * len(shown), 8.4), {"sharex": "row", "sharey": "row"}
    figure, axes = blank(3, len(shown), size=size, squeeze=False, **shared)
    for (top, middle, bottom), (played, measure) in zip(axes.T, shown):
        weights = played.dual_weights[:, 0]
        plot_weighted_points(X, y, weights, ax=top)
        peaks = {"peaks": measure, "last": played.peaks}
        plot_potential(X, signs * weights, bandwidth=bandwidth, **peaks, ax=middle)
        plot_boundary(measure, X, y, learner.C, ax=bottom)
        noun = "frequency" if len(measure) == 1 else "frequencies"
        top.set_title(f"round {played.number}, {len(measure)} {noun}")
    names = (
        "data; area: dual weight",
        "√potential; dots: frequencies",
        "SVM score; lines: −1, 0, 1",
    )
    for axis, name in zip(axes[:, 0], names):
        axis.set_ylabel(name)
    style = {"markerscale": 1.5, "fontsize": "small", "handletextpad": 0.4}
    axes[0, 0].legend(loc="upper right", bbox_to_anchor=(1.06, 1.02), **style)
    return figure
