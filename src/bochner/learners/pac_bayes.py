"""PacBayes: the pseudo-posterior over frequencies."""

from typing import Any

import numpy as np
from scipy.special import logsumexp, rel_entr

from .._checks import check_positive
from ..bounds import second_order
from .base import AlignmentLearner, AlignmentReport

# Fixed before any data is read, so that the choice among them adds ln(25) to the bound.
BETA_GRID = tuple(float(beta) for beta in np.logspace(-3, 3, 25))
CHOICE_DELTA = 0.05


def gibbs_weights(
    prior_weights: np.ndarray, losses: np.ndarray, beta: float, n_samples: float
) -> np.ndarray:
    r"""Pseudo-posterior over frequencies (Letarte et al. 2019, Eq. 19).

    .. math:: Q_m \propto P_m \exp(-\beta \sqrt{n}\, \hat L(\omega_m))

    β = 0 returns the prior, β = ∞ the frequencies of least loss. Among all distributions Q
    minimizes Q·L̂ + KL(Q ‖ P) / (β √n).

    Parameters
    ----------
    prior_weights : array (n_atoms,)
        P; its mass is kept.
    losses : array (n_atoms,) or (n_posteriors, n_atoms)
        L̂, or rows of them.
    beta : float
        β, the strength of the data.
    n_samples : float
        n, the number or the weight of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> gibbs_weights(np.array([0.5, 0.5]), np.array([0.2, 0.4]), beta=1.0, n_samples=100).round(3)
    array([0.881, 0.119])
    """
    prior_weights, losses = _aligned(prior_weights, losses, in_rows=np.ndim(losses) == 2)
    n_samples = check_positive(n_samples, "n_samples")
    if beta != np.inf:
        beta = check_positive(beta, "beta", allow_zero=True)
    mass = prior_weights.sum()
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior_weights)
    gaps = losses - losses[..., prior_weights > 0].min(axis=-1, keepdims=True)
    if beta == np.inf:
        log_weights = np.where(gaps == 0, log_prior, -np.inf)
    else:
        log_weights = log_prior - beta * np.sqrt(n_samples) * gaps
    return mass * np.exp(log_weights - logsumexp(log_weights, axis=-1, keepdims=True))


def _aligned(prior_weights, values, in_rows=False):
    prior_weights = np.asarray(prior_weights, dtype=np.float64)
    values = np.asarray(values, dtype=np.float64)
    if prior_weights.ndim != 1 or prior_weights.shape != values.shape[in_rows:]:
        raise ValueError(
            f"Got {prior_weights.shape} weights and {values.shape} losses; each frequency needs "
            "one of each."
        )
    if np.any(prior_weights < 0) or not np.any(prior_weights > 0):
        raise ValueError("Prior weights must be non-negative and not all zero.")
    if not np.all(np.isfinite(values)):
        raise ValueError("Losses must be finite, got NaN or infinity.")
    return prior_weights, values


def check_beta(beta: Any, allow_zero: bool) -> None:
    """Validate the strength of the data: a number or "bound"."""
    if not isinstance(beta, str):
        check_positive(beta, "beta", allow_zero=allow_zero)
    elif beta != "bound":
        raise ValueError(f"beta must be a non-negative number or 'bound', got {beta!r}.")


class PacBayes(AlignmentLearner):
    """Weights Q_m ∝ P_m exp(−β √n L̂(ω_m)), which minimize a PAC-Bayes bound.

    See Letarte et al. 2019.

    Parameters
    ----------
    beta : float or "bound", default 1.0
        Strength of the data; 1 is t = √n in Theorem 3, for which the bound converges. ``"bound"``
        selects the one of 25 values between 1e-3 and 1e3 with the smallest bound; no validation
        data is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> learned = PacBayes(beta=1.0).learn(Gaussian().sample(50, 2, rng), X, X[:, 0] > 0)
    >>> bool(learned.report.empirical(learned.measure.weights) < learned.report.losses.mean())
    True
    """

    def __init__(self, beta: float | str = 1.0):
        self.beta = beta

    def check_parameters(self) -> None:
        check_beta(self.beta, allow_zero=True)

    def weigh(self, prior_weights, losses, n_samples):
        if not isinstance(self.beta, str):
            weights = gibbs_weights(prior_weights, losses, self.beta, n_samples)
            return AlignmentReport(losses, prior_weights, weights, n_samples, float(self.beta))
        tried = np.stack(
            [gibbs_weights(prior_weights, losses, beta, n_samples) for beta in BETA_GRID]
        )
        pairs = zip(tried, BETA_GRID, strict=True)
        best = np.argmin(
            [self._bound_values(*pair, prior_weights, losses, n_samples) for pair in pairs], axis=0
        )
        weights = np.take_along_axis(tried, best[None, ..., None], axis=0)[0]
        beta = np.array(BETA_GRID)[best] if np.ndim(losses) > 1 else BETA_GRID[best]
        return AlignmentReport(losses, prior_weights, weights, n_samples, beta, len(BETA_GRID))

    @staticmethod
    def _bound_values(weights, beta, prior_weights, losses, n_samples):
        """Return ``bound`` for many rows of weights; it is linear in loss and divergence."""
        mass, t = prior_weights.sum(), beta * np.sqrt(n_samples)
        divergence = np.sum(rel_entr(weights, prior_weights), axis=-1) / mass
        rest = second_order(
            0.0, 0.0, int(n_samples), delta=CHOICE_DELTA, t=t, n_tried=len(BETA_GRID)
        ).value
        return np.sum(weights * losses, axis=-1) / mass + divergence / t + rest

    def deviation_scale(self, report):
        beta = np.where(np.equal(report.tradeoff, 0), 1.0, report.tradeoff)
        return beta * np.sqrt(report.n_samples)
