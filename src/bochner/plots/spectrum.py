"""Plots of learned kernels: spectrum, weights over frequencies, kernel profile."""

from typing import Any

import numpy as np

from .._checks import as_generator
from ..features.spectral import SpectralFeatures
from ..learners import AlignmentLearner
from ..measures.fourier import FourierMeasure
from ._canvas import BLUE, GRAY, given_or_new, last_step, shortly

# Frequencies drawn for the spectrum of the prior.
_PRIOR_DRAWS = 20_000
_LENGTH = "length of the frequency ‖ω‖ (longer: the kernel changes faster)"


def plot_spectrum(model: Any, ax: Any = None, *, n_bins: int = 30, random_state: Any = 0) -> Any:
    """Plot a histogram of the lengths of frequencies, by weight; return the axes.

    The histogram of the prior is drawn behind it.

    Parameters
    ----------
    model : a fitted SpectralFeatures, a pipeline that ends with one, or a FourierMeasure
        With any learner, or none. A measure is drawn without a prior.
    ax : matplotlib axes, default None
        Axes to draw on; None creates a figure.
    n_bins : int, default 30
        Number of bins from zero to 1.25 times the 95 % quantile of the lengths; longer frequencies
        are left out.
    random_state : None, int, RandomState or Generator, default 0
        For the frequencies of the prior's spectrum.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import JointDescent
    >>> learner = JointDescent(n_epochs=3)
    >>> features = SpectralFeatures(learner=learner, n_components=20, random_state=0)
    >>> features = features.fit(*load_iris(return_X_y=True))
    >>> [text.get_text() for text in plot_spectrum(features).get_legend().get_texts()]
    ['prior', 'learned']
    """
    line = {"histtype": "step", "color": BLUE, "linewidth": 1.8}
    if isinstance(model, FourierMeasure):
        shown = [(model, {"label": "measure", **line})]
    else:
        features = _features(model, "plot_spectrum")
        rng = as_generator(random_state)
        label = "sampled" if features.learner is None else "learned"
        drawn = features.prior_.sample(_PRIOR_DRAWS, features.n_features_in_, rng)
        area = {"label": "prior", "color": GRAY, "alpha": 0.45}
        shown = [(drawn, area), (features.measure_, {"label": label, **line})]
    ax = given_or_new(ax)
    lengths = [np.linalg.norm(measure.frequencies, axis=1) for measure, _ in shown]
    # The ends of heavy tails are not drawn. A measure may have the frequency 0 alone.
    last = 1.25 * max(np.quantile(own, 0.95) for own in lengths) or 1.0
    bins = np.linspace(0, last, n_bins + 1)
    for own, (measure, style) in zip(lengths, shown, strict=True):
        ax.hist(own, bins, weights=measure.weights / measure.mass, **style)
    ax.set(xlabel=_LENGTH, ylabel="share of the total weight", xlim=(0, last))
    ax.legend()
    return ax


def plot_weights(model: Any, ax: Any = None) -> Any:
    """Plot weights of candidates, relative to the prior's, by length of frequency; return the axes.

    Selected candidates are circles, which are larger if a candidate was drawn more often.

    Parameters
    ----------
    model : a fitted SpectralFeatures with a learner by alignment, or a pipeline that ends with one
        Other learners move frequencies: see ``plot_spectrum``.
    ax : matplotlib axes, default None
        Axes to draw on; None creates a figure.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import PacBayes
    >>> X, y = load_iris(return_X_y=True)
    >>> features = SpectralFeatures(
    ...     learner=PacBayes(), n_candidates=200, n_components=20, random_state=0
    ... )
    >>> plot_weights(features.fit(X, y)).get_yscale()
    'log'
    """
    features = _features(model, "plot_weights")
    if not isinstance(features.learner, AlignmentLearner):
        raise TypeError(
            "plot_weights compares the learned weights of candidates with the prior's, but "
            f"learner={features.learner!r} has none to compare. "
            "Fit with PacBayes or OptimalAlignment, or use plot_spectrum or plot_kernel_profile."
        )
    ax = given_or_new(ax)
    norms = np.linalg.norm(features.candidates_.frequencies, axis=1)
    prior = features.candidates_.weights
    ratios = features.learned_.weights / prior
    kept, times = np.unique(features.selected_, return_counts=True)
    # Smaller weights are clipped: a logarithmic axis would squeeze all others together.
    floor = max(ratios.max() * 1e-6, 1e-12)
    ratios = np.maximum(ratios, floor)
    dots = {"s": 6, "color": GRAY, "alpha": 0.5, "linewidths": 0}
    ax.scatter(norms, ratios, label="candidates", **dots)
    rings = {"s": 14 + 6 * np.minimum(times, 20), "facecolors": "none", "edgecolors": BLUE}
    ax.scatter(norms[kept], ratios[kept], label="selected", **rings)
    ax.axhline(1, color="black", linewidth=0.8, label="as in the prior")
    ax.set(xlabel=_LENGTH, ylabel="learned weight / prior weight", yscale="log")
    ax.legend()
    return ax


def plot_kernel_profile(
    model: Any,
    ax: Any = None,
    *,
    largest_distance: float | None = None,
    n_directions: int = 50,
    random_state: Any = 0,
) -> Any:
    """Plot the learned kernel against distance, in random directions, beside the prior's kernel.

    The line is the mean over directions, and the band contains 90 % of them. A wide band means that
    some directions matter more than others.

    Parameters
    ----------
    model : a fitted SpectralFeatures, or a pipeline that ends with one
        With any learner, or none. For learners by alignment, the sample of the prior is drawn, too.
    ax : matplotlib axes, default None
        Axes to draw on; None creates a figure.
    largest_distance : float, default None
        End of the curves; None ends where the sampled kernel is negligible.
    n_directions : int, default 50
        Random directions.
    random_state : None, int, RandomState or Generator, default 0
        For the directions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import PacBayes
    >>> X, y = load_iris(return_X_y=True)
    >>> features = SpectralFeatures(
    ...     learner=PacBayes(), n_candidates=200, n_components=20, random_state=0
    ... ).fit(X, y)
    >>> len(plot_kernel_profile(features, n_directions=5).lines)
    3
    """
    features = _features(model, "plot_kernel_profile")
    ax, rng, n_features = given_or_new(ax), as_generator(random_state), features.n_features_in_
    measures = {"sampled" if features.learner is None else "learned": (features.measure_, BLUE)}
    if isinstance(features.learner, AlignmentLearner):
        measures = {
            "prior (sample)": (features.candidates_, GRAY),
            "learned": (features.learned_, BLUE),
        }
    first, _ = next(iter(measures.values()))
    typical = np.median(np.linalg.norm(first.frequencies, axis=1)) or 1.0
    largest = largest_distance or 4 * np.sqrt(n_features) / typical
    distances = np.linspace(0, largest, 100)
    directions = rng.standard_normal((n_directions, n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)

    def profiles_of(kernel):
        origin = np.zeros((1, n_features))
        return np.stack([kernel(distances[:, None] * unit, origin)[:, 0] for unit in directions])

    for name, (measure, color) in measures.items():
        profiles = profiles_of(measure.kernel)
        low, high = np.quantile(profiles, [0.05, 0.95], axis=0)
        band = {"label": f"{name}: 90% of the directions", "alpha": 0.2, "linewidth": 0}
        ax.fill_between(distances, low, high, color=color, **band)
        ax.plot(distances, profiles.mean(axis=0), color=color, label=name)
    exact = profiles_of(features.prior_.kernel).mean(axis=0)
    dashes = {"color": "black", "linestyle": "--", "linewidth": 1}
    ax.plot(distances, exact, label="prior (exact)", **dashes)
    ax.set(xlabel="distance ‖x − z‖", ylabel="kernel k(x − z)", xlim=(0, largest))
    ax.legend()
    return ax


def _features(model, drawn):
    """Return features whose measure is one of frequencies."""
    features = last_step(model, drawn, SpectralFeatures)
    if not isinstance(features.measure_, FourierMeasure):
        raise TypeError(
            f"{drawn} draws frequencies, but the measure of {shortly(features)} is a "
            f"{type(features.measure_).__name__}. For harmonics, use plot_harmonics."
        )
    return features
