"""OptimalAlignment: the best-aligned kernel within a divergence ball around the prior."""

import numpy as np

from .._checks import check_positive
from .._estimator import keyword_only_from
from ..bounds import f_divergence, power_divergence
from ..bounds.alignment import check_mu
from .base import AlignmentLearner, AlignmentReport
from .pac_bayes import _aligned


def divergence_ball_weights(
    prior_weights: np.ndarray, scores: np.ndarray, radius: float, mu: float = 2.0
) -> np.ndarray:
    r"""Maximize Q·scores over distributions with D_μ(Q ‖ P) <= radius.

    See Sinha and Duchi 2016; Letarte et al. 2019, Eqs. 17–18.

    .. math:: D_\mu(Q \| P) = \sum_m P_m (Q_m / P_m)^\mu - 1

    With g_m = max a − a_m the optimal ratio is Q_m / P_m ∝ (1 − g_m / τ)_+^{1/(μ−1)} for one number
    τ, found by bisection: the divergence falls from its maximum to 0 as τ grows.

    Parameters
    ----------
    prior_weights : array (n_atoms,)
        P; its mass is kept.
    scores : array (n_atoms,)
        Scores of the atoms; an increasing affine change of them changes nothing.
    radius : float
        The largest divergence from the prior.
    mu : float, default 2.0
        Order μ of the divergence, above 1.

    Examples
    --------
    >>> import numpy as np
    >>> divergence_ball_weights(np.full(4, 0.25), np.arange(4.0), radius=0.1).round(3)
    array([0.144, 0.215, 0.285, 0.356])
    """
    prior_weights, scores = _aligned(prior_weights, scores)
    radius, mu = check_positive(radius, "radius", allow_zero=True), check_mu(mu)
    mass = prior_weights.sum()
    held = np.flatnonzero(prior_weights > 0)
    prior = prior_weights[held] / mass
    gaps = scores[held].max() - scores[held]
    # Gaps this small are rounding of the scores.
    ties = gaps <= 4 * np.finfo(float).eps * np.max(np.abs(scores[held]))
    with np.errstate(over="ignore"):
        largest_radius = prior[ties].sum() ** (1 - mu) - 1
    weights = np.zeros(len(prior_weights))
    if radius == 0 or np.all(ties):
        weights[held] = prior
    elif radius >= largest_radius:
        weights[held[ties]] = prior[ties] / prior[ties].sum()
    else:
        weights[held] = prior * _ratio_on_sphere(prior, gaps / gaps.max(), radius, mu)
    return mass * weights


def _ratio_on_sphere(prior, gaps, radius, mu):
    """Return Q / P with D_μ = radius, not above it; ``gaps`` are in [0, 1]."""
    low, high = float(gaps[gaps > 0].min()), 2.0
    while _divergence(_ratio(prior, gaps, high, mu), prior, mu) > radius:
        high *= 2
    low = min(low, high / 2)
    while high / low > 1 + 1e-14:
        middle = np.sqrt(low * high)
        if not low < middle < high:
            break
        if _divergence(_ratio(prior, gaps, middle, mu), prior, mu) > radius:
            low = middle
        else:
            high = middle
    return _ratio(prior, gaps, high, mu)


def _ratio(prior, gaps, tau, mu):
    inside = gaps < tau
    ratio = np.zeros(len(gaps))
    ratio[inside] = np.exp(np.log1p(-gaps[inside] / tau) / (mu - 1))
    return ratio / (prior @ ratio)


def _divergence(ratio, prior, mu):
    # Term by term, not P·r^μ − 1: for small radii the rounding of a sum near one would dominate.
    with np.errstate(over="ignore"):
        return float(prior @ (ratio**mu - 1))


@keyword_only_from("0.4", old_order=("radius", "mu"))
class OptimalAlignment(AlignmentLearner):
    """Kernel of best alignment among those with D_μ(Q ‖ P) <= radius (Sinha and Duchi 2016).

    Parameters
    ----------
    radius : float, default 1.0
        Largest divergence from the prior: 0 keeps it, and above N^{μ−1} − 1 (equal prior weights)
        only the best frequency remains. Sinha and Duchi bound ‖Q − P‖² instead; for N equal prior
        weights and μ = 2 their ρ is radius / N.
    mu : float, default 2.0
        Order of the divergence, above 1; 2 is chi-square. Near 1 the weights become those of
        ``PacBayes``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import SpectralFeatures
    >>> X, y = load_iris(return_X_y=True)
    >>> sizes = {"n_candidates": 200, "n_components": 20}
    >>> features = SpectralFeatures(learner=OptimalAlignment(radius=0.5), **sizes, random_state=0)
    >>> features = features.fit(X, y)
    >>> features.transform(X).shape
    (150, 40)
    """

    def __init__(self, *, radius: float = 1.0, mu: float = 2.0):
        self.radius = radius
        self.mu = mu

    def check_parameters(self) -> None:
        check_positive(self.radius, "radius", allow_zero=True)
        check_mu(self.mu)

    def weigh(self, prior_weights, losses, n_samples):
        weights = np.apply_along_axis(
            lambda row: divergence_ball_weights(prior_weights, -row, self.radius, self.mu),
            -1,
            losses,
        )
        return AlignmentReport(losses, prior_weights, weights, n_samples, float(self.radius))

    def _bound(self, report, weights, empirical, **settings):
        if settings["form"] == "kl":
            return super()._bound(report, weights, empirical, **settings)
        divergence = power_divergence(weights, report.prior_weights, self.mu)
        return f_divergence(empirical, divergence, int(report.n_samples), mu=self.mu, **settings)
