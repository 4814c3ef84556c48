"""What a learner did to a kernel: weights over frequencies, and the kernel itself."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..features import SpectralFeatures
from ..learners import AlignmentLearner
from ._canvas import given_or_new


def plot_weights(features: SpectralFeatures, ax: Any = None) -> Any:
    """Learned weights of the candidates against the length of their frequencies, relative to the prior's weights; returns the axes.

    The size of the kept ones shows how often they were drawn.

    Parameters
    ----------
    features : SpectralFeatures
        Fitted with a learner by alignment.
    ax : matplotlib axes, default None
        Where to draw; None makes a figure.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import PacBayes
    >>> X, y = load_iris(return_X_y=True)
    >>> plot_weights(SpectralFeatures(learner=PacBayes(), n_candidates=200, random_state=0).fit(X, y)).get_yscale()
    'log'
    """
    _check_learned(features)
    ax = given_or_new(ax)
    norms = np.linalg.norm(features.candidates_.frequencies, axis=1)
    prior = features.candidates_.weights
    ratios = features.learned_.weights / prior
    kept, times = np.unique(features.selected_, return_counts=True)
    # Weights below this are zero to the eye; on a logarithmic axis they would squeeze all others together.
    floor = max(ratios.max() * 1e-6, 1e-12)
    ax.scatter(norms, np.maximum(ratios, floor), s=6, color="tab:gray", alpha=0.5, linewidths=0, label="candidates")
    rings = {"s": 14 + 6 * np.minimum(times, 20), "facecolors": "none", "edgecolors": "tab:blue"}
    ax.scatter(norms[kept], np.maximum(ratios[kept], floor), label="kept", **rings)
    ax.axhline(1, color="black", linewidth=0.8, label="prior")
    ax.set(xlabel="length of the frequency ‖ω‖", ylabel="learned weight / prior weight", yscale="log")
    ax.legend()
    return ax


def plot_kernel_profile(
    features: SpectralFeatures,
    ax: Any = None,
    *,
    largest_distance: float | None = None,
    n_directions: int = 50,
    random_state: int = 0,
) -> Any:
    """The learned kernel against distance, over random directions, beside the prior's closed form.

    The line is the mean over directions, the band holds nine tenths of them: a wide band means that the learner has
    found directions that matter more than others.

    Parameters
    ----------
    features : SpectralFeatures
        Fitted with a learner by alignment.
    ax : matplotlib axes, default None
        Where to draw; None makes a figure.
    largest_distance : float, default None
        Where the curves end; None: where the prior's kernel has long fallen.
    n_directions : int, default 50
        Random directions.
    random_state : int, default 0
        For the directions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import PacBayes
    >>> X, y = load_iris(return_X_y=True)
    >>> features = SpectralFeatures(learner=PacBayes(), n_candidates=200, random_state=0).fit(X, y)
    >>> len(plot_kernel_profile(features, n_directions=5).lines)
    3
    """
    _check_learned(features)
    ax = given_or_new(ax)
    rng = np.random.default_rng(random_state)
    n_features = features.n_features_in_
    typical = np.median(np.linalg.norm(features.candidates_.frequencies, axis=1))
    largest = largest_distance or 4 * np.sqrt(n_features) / typical
    distances = np.linspace(0, largest, 100)
    directions = rng.standard_normal((n_directions, n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    origin = np.zeros((1, n_features))
    for measure, color, name in (
        (features.candidates_, "tab:gray", "prior, sampled"),
        (features.learned_, "tab:blue", "learned"),
    ):
        profiles = np.stack([measure.kernel(distances[:, None] * unit, origin)[:, 0] for unit in directions])
        low, high = np.quantile(profiles, [0.05, 0.95], axis=0)
        ax.fill_between(distances, low, high, color=color, alpha=0.2, linewidth=0)
        ax.plot(distances, profiles.mean(axis=0), color=color, label=name)
    exact = np.mean([features.prior_.kernel(distances[:, None] * unit, origin)[:, 0] for unit in directions], axis=0)
    ax.plot(distances, exact, color="black", linestyle="--", linewidth=1, label="prior, closed form")
    ax.set(xlabel="distance ‖x − z‖", ylabel="kernel k(x − z)", xlim=(0, largest))
    ax.legend()
    return ax


def _check_learned(features):
    if not isinstance(features, SpectralFeatures) or not isinstance(features.learner, AlignmentLearner):
        raise TypeError(
            f"There is nothing learned to show: got {features!r}. Fit SpectralFeatures with a learner by alignment, e.g. "
            "SpectralFeatures(learner=PacBayes(), n_candidates=1000).fit(X, y)."
        )
    check_is_fitted(features)
