"""Figure 1 of Bullins et al. 2018 from stored results: game, potential and harmonics."""

from typing import Any

import numpy as np

from bochner.measures.fourier import FourierMeasure
from bochner.measures.harmonic import HarmonicMeasure
from bochner.plots._canvas import class_colors, plane_grid
from bochner.plots.game import plot_potential, plot_weighted_points
from bochner.plots.sphere import plot_harmonics

from .runner.pixels import unpacked

# The grid of scores: corners along a side, and how far it reaches beyond the unit disc; scores are
# cut off at the limit.
GRID, MARGIN, SCORE_LIMIT = 121, 0.05, 2.0


def game_figure(
    rounds: list[int], drawn: dict[str, Any], plane: Any, harmonics: dict[str, Any], sphere: Any
) -> Any:
    """Draw the three parts of the figure; ``plane`` and ``sphere`` are points and labels."""
    import matplotlib.pyplot as plt

    X, y = plane
    peaks = np.array(drawn["peaks"])
    bandwidth = 1.1 * float(np.quantile(np.abs(peaks), 0.99))
    canvas: Any = plt.figure(figsize=(2.4 * len(rounds), 13.3), layout="constrained")
    top, middle, bottom = canvas.subfigures(3, 1, height_ratios=(8.4, 3.6, 3.5))
    axes = top.subplots(3, len(rounds), sharex="row", sharey="row", squeeze=False)
    for column, number, weights, scores in zip(axes.T, rounds, drawn["weights"], drawn["scores"]):
        plot_weighted_points(X, y, weights, ax=column[0])
        so_far, last = (
            FourierMeasure(some, np.ones(len(some)))
            for some in (peaks[:number], peaks[number - 1 : number])
        )
        plot_potential(
            X, y * np.array(weights), bandwidth=bandwidth, peaks=so_far, last=last, ax=column[1]
        )
        _draw_scores(column[2], X, unpacked(scores, (GRID, GRID), SCORE_LIMIT))
        column[0].set_title(f"(a) round {number}" if number == rounds[0] else f"round {number}")
    for axis, name in zip(
        axes[:, 0], ("data, area ∝ α", "√potential, peaks ±ω", "SVM score, lines at −1, 0, 1")
    ):
        axis.set_ylabel(name)
    axes[0, 0].legend(
        loc="upper right",
        bbox_to_anchor=(1.06, 1.02),
        markerscale=1.5,
        fontsize="small",
        handletextpad=0.4,
    )
    for axis, k, title in zip(
        middle.subplots(1, 2), (0, -1), ("(b) √potential at the start", f"at round {rounds[-1]}")
    ):
        plot_potential(X, y * np.array(drawn["weights"][k]), bandwidth=bandwidth, ax=axis)
        axis.set_title(title)
    measure = HarmonicMeasure(np.array(harmonics["indices"]), np.array(harmonics["weights"]))
    panels = bottom.subplots(1, 4, subplot_kw={"projection": "3d"})
    bottom.suptitle("(c) the sphere, and the three heaviest harmonics", fontsize="medium")
    plot_harmonics(measure, X=sphere[0], y=sphere[1], axes=panels)
    return canvas


def _draw_scores(axis, X, scores):
    columns, rows, _ = plane_grid(X, GRID, MARGIN)
    axis.pcolormesh(
        columns,
        rows,
        scores,
        cmap=class_colors(),
        vmin=-SCORE_LIMIT,
        vmax=SCORE_LIMIT,
        alpha=0.6,
        rasterized=True,
    )
    axis.contour(
        columns,
        rows,
        scores,
        levels=[-1, 0, 1],
        linewidths=[0.5, 1.2, 0.5],
        colors="black",
        linestyles="solid",
    )
    axis.set_aspect("equal")
