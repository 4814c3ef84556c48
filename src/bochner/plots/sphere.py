"""Plots on the sphere: the harmonics of a measure, and the data."""

from typing import Any

import numpy as np

from ..data.targets import Labels
from ..features.spectral import SpectralFeatures
from ..measures.harmonic import HarmonicMeasure
from ._canvas import blank, class_colors, last_step, shortly

# Height of titles, below the upper edge.
_TITLE: dict[str, Any] = {"fontsize": "medium", "y": 0.97}


def plot_harmonics(
    measure: Any, *, n_shown: int = 3, X: Any = None, y: Any = None, axes: Any = None
) -> Any:
    """Plot the heaviest harmonics of a measure on the sphere; return the figure.

    This is Figure 1c of Bullins et al. 2018.

    Parameters
    ----------
    measure : HarmonicMeasure, or a fitted SpectralFeatures, or a pipeline that ends with one
        The measure, or the features that have learned it.
    n_shown : int, default 3
        Number of harmonics.
    X : array (n_samples, 3), default None
        Points on the sphere, drawn in the first panel.
    y : array (n_samples,), default None
        Their labels.
    axes : sequence of 3-D matplotlib axes, default None
        Axes to draw on, one per panel; None creates a figure.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import HarmonicMeasure
    >>> figure = plot_harmonics(HarmonicMeasure(np.array([[1, 0], [2, 3]]), np.array([0.3, 0.7])))
    >>> figure.axes[0].get_title()
    'degree 2, harmonic 3: weight 0.70'
    """
    measure = _harmonics(measure).merged()
    order = np.argsort(-measure.weights)[:n_shown]
    with_data = X is not None
    n_panels = len(order) + with_data
    if axes is None:
        size, kind = (3.3 * n_panels, 3.5), {"projection": "3d"}
        axes = blank(1, n_panels, size=size, squeeze=False, subplot_kw=kind)[1][0]
    elif len(axes) < n_panels:
        raise ValueError(
            f"Got {len(axes)} axes for {n_panels} panels. Give one for each, or a smaller n_shown."
        )
    panels = axes[:n_panels]
    if with_data:
        _draw_points(panels[0], np.asarray(X, dtype=np.float64), y)
    for panel, atom in zip(panels[with_data:], order, strict=True):
        _draw_harmonic(panel, measure, atom)
    for panel in panels:
        panel.set_box_aspect((1, 1, 1), zoom=1.2)
        panel.set_proj_type("ortho")
        panel.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1))
        panel.set_axis_off()
        panel.view_init(elev=25, azim=35)
    return panels[0].figure


def _harmonics(model):
    if isinstance(model, HarmonicMeasure):
        return model
    features = last_step(model, "plot_harmonics", SpectralFeatures)
    if not isinstance(features.measure_, HarmonicMeasure):
        raise TypeError(
            f"plot_harmonics draws harmonics, but the measure of {shortly(features)} has "
            "frequencies. Use plot_spectrum, or learn harmonics by "
            "MarginGame(peaks=HarmonicPeaks(...))."
        )
    return features.measure_


def _draw_points(panel, X, y):
    if X.shape[1] != 3:
        raise ValueError(f"The sphere is drawn in three dimensions; X has {X.shape[1]} features.")
    # Points on the far side would shine through.
    elevation, azimuth = np.deg2rad(25), np.deg2rad(35)
    across = np.cos(elevation)
    facing = X @ [across * np.cos(azimuth), across * np.sin(azimuth), np.sin(elevation)] > 0
    labels = np.zeros(len(X), dtype=int) if y is None else Labels.of(y, len(X)).codes
    colors = {"c": labels[facing], "cmap": class_colors() if labels.max() < 2 else "viridis"}
    panel.scatter(*X[facing].T, s=8, depthshade=False, rasterized=True, **colors)
    panel.set_title("data", **_TITLE)


def _draw_harmonic(panel, measure, atom):
    import matplotlib

    angles = np.linspace(0, np.pi, 73), np.linspace(0, 2 * np.pi, 145)
    polar, azimuth = np.meshgrid(*angles, indexing="ij")
    x, y = np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth)
    points = np.stack([x, y, np.cos(polar)], axis=-1)
    single = HarmonicMeasure(measure.indices[[atom]], np.ones(1))
    values = single.features(points.reshape(-1, 3)).reshape(polar.shape)
    shades = matplotlib.colormaps["RdBu"](0.5 + values / (2 * np.abs(values).max()))
    steps = {"rstride": 1, "cstride": 1}
    flat = {"shade": False, "linewidth": 0, "antialiased": False, "rasterized": True}
    panel.plot_surface(*np.moveaxis(points, -1, 0), facecolors=shades, **steps, **flat)
    degree, position = measure.indices[atom]
    title = f"degree {degree}, harmonic {position}: weight {measure.weights[atom]:.2f}"
    panel.set_title(title, **_TITLE)
