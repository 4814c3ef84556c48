"""Guarantees on a risk: means of bounded losses on held-out rows, and randomized predictors."""

from typing import Any

import numpy as np
from scipy.special import rel_entr
from scipy.stats import beta

from .._checks import check_count, check_positive, check_share
from .bound import Bound, check_divergence, check_rate, check_vector


def binomial_tail(n_errors: int, n_samples: int, *, delta: float = 0.05) -> Bound:
    """Return the largest error rate that gives at most this many errors with probability δ.

    The bound is exact: it is the limit of Clopper and Pearson (1934).

    Parameters
    ----------
    n_errors : int
        Errors that were made.
    n_samples : int
        Rows, independent and new to the predictor.
    delta : float, default 0.05
        Probability δ that the bound fails.

    Examples
    --------
    >>> binomial_tail(0, 100).value.__round__(4)
    0.0295
    """
    n_samples = check_count(n_samples, "n_samples")
    n_errors = check_count(n_errors, "n_errors", minimum=0)
    if n_errors > n_samples:
        raise ValueError(f"Got {n_errors} errors among {n_samples} rows.")
    check_share(delta, "delta", example=0.05)
    value, rate = 1.0, n_errors / n_samples
    if n_errors < n_samples:
        value = float(beta.ppf(1 - delta, n_errors + 1, n_samples - n_errors))
    return Bound(value, rate, value - rate, 1 - delta)


def empirical_bernstein(losses: Any, largest: float = 1.0, *, delta: float = 0.05) -> Bound:
    """Bound the mean of bounded losses by their variance (Maurer and Pontil 2009, Theorem 4).

    The bound is the mean plus √(2 V ln(2/δ) / n) + 7 M ln(2/δ) / (3 (n − 1)). V is the variance of
    the n losses, divided by n − 1, and M is the largest loss.

    Parameters
    ----------
    losses : array (n_samples,)
        Between 0 and ``largest``; of rows that are independent and new to the predictor.
    largest : float, default 1.0
        M, fixed before the losses were seen.
    delta : float, default 0.05
        Probability δ that the bound fails.

    Examples
    --------
    >>> import numpy as np
    >>> round(empirical_bernstein(np.full(1000, 0.2)).value, 4)
    0.2086
    """
    losses = check_vector(losses, "losses")
    largest = check_positive(largest, "largest")
    check_share(delta, "delta", example=0.05)
    n_samples = check_count(len(losses), "the number of losses", minimum=2)
    if losses.min() < 0 or losses.max() > largest:
        raise ValueError(
            f"Losses lie between {losses.min():.3g} and {losses.max():.3g}, outside "
            f"[0, {largest:.3g}]: the bound holds for bounded losses only. Clip them, or give a "
            "larger range."
        )
    log_term = np.log(2 / delta)
    complexity = np.sqrt(2 * losses.var(ddof=1) * log_term / n_samples) + 7 * largest * log_term / (
        3 * (n_samples - 1)
    )
    return Bound.of(losses.mean(), complexity, delta)


def pac_bayes_kl(
    empirical: float, divergence: float, n_samples: int, *, delta: float = 0.05, n_tried: int = 1
) -> Bound:
    """Bound the risk R of a randomized predictor (Maurer 2004).

    It solves kl(R̂ ‖ R) <= (KL(Q ‖ P) + ln(2 √n / δ)) / n for R.

    Parameters
    ----------
    empirical : float
        R̂, the mean loss of the posterior Q on the rows; losses lie in [0, 1].
    divergence : float
        KL(Q ‖ P) of the posterior from a prior that has not seen the rows.
    n_samples : int
        Number n of rows.
    delta : float, default 0.05
        Probability δ that the bound fails, for any posterior.
    n_tried : int, default 1
        Number of priors from which the best was selected after seeing the data. This adds
        ln(n_tried) to the divergence.

    Examples
    --------
    >>> round(pac_bayes_kl(0.1, 3.0, 1000).value, 3)
    0.148
    """
    n_samples = check_count(n_samples, "n_samples")
    check_share(delta, "delta", example=0.05)
    check_count(n_tried, "n_tried")
    empirical, divergence = check_rate(empirical), check_divergence(divergence)
    value = inverse_binary_kl(empirical, pac_bayes_budget(divergence, n_samples, delta, n_tried))
    return Bound(value, empirical, value - empirical, 1 - delta)


def pac_bayes_budget(divergence: Any, n_samples: int, delta: float, n_tried: int = 1) -> Any:
    """Return the bound on kl(R̂ ‖ R), (KL(Q ‖ P) + ln(2 n_tried √n / δ)) / n."""
    return (divergence + np.log(2 * np.sqrt(n_samples) * n_tried / delta)) / n_samples


def inverse_binary_kl(empirical: float, budget: float) -> float:
    """Return the largest r with kl(empirical ‖ r) <= budget, by bisection to the last digit.

    kl is the divergence of two Bernoulli distributions.
    """
    rates = np.array([check_rate(empirical)])
    return float(inverse_binary_kls(rates, check_divergence(budget, "budget"))[0])


def inverse_binary_kls(empirical: np.ndarray, budgets: np.ndarray | float) -> np.ndarray:
    """Return ``inverse_binary_kl`` for each rate."""
    low, high = empirical, np.ones_like(empirical)
    while True:
        middle = (low + high) / 2
        between = (low < middle) & (middle < high)
        if not between.any():
            return high  # rounded up
        allowed = _binary_kl(empirical, middle) <= budgets
        low, high = (
            np.where(between & allowed, middle, low),
            np.where(between & ~allowed, middle, high),
        )


def _binary_kl(p, q):
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)
