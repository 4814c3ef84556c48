r"""Guarantees on the alignment loss of a learned kernel (Letarte et al. 2019), and divergences.

Each function adds a complexity to ``empirical`` = Σ_m Q_m L̂(ω_m); the result holds with
probability 1 − ``delta`` over the sample, for all posteriors Q at once, if the prior P and t do
not depend on the sample.

``form="kl"`` (Theorems 1 and 3) bounds the binary divergence kl(L̂ ‖ L) instead of L − L̂. It has no
t, and is mostly tighter. For pairs it solves kl(L̂ ‖ L) <= (KL(Q ‖ P) + ln(2 √N / δ)) / N for L with
N = ⌊n/2⌋. For a fixed frequency L̂ is the mean, over all permutations of the rows, of means of N
independent losses in [0, 1]. The function exp(N kl(· ‖ L)) is convex, so that its expectation at L̂
is at most that at one such mean, which is at most 2 √N (Maurer 2004). The rest of the proof is that
of ``pac_bayes_kl``. One point against m random rows has m independent losses, and N = m.

``form="safe"`` (default) can be proved, ``form="paper"`` is printed in the paper. They differ:

- Theorems 1 and 3 and Corollary 2 are printed with t²/(2n). Hoeffding's lemma gives t²/(8n) for
  losses in [0, 1], and for pairs, averaged over permutations into ⌊n/2⌋ independent ones,
  t²/(8 ⌊n/2⌋). The safe form is tighter.
- Theorem 4 is printed with moments of order μ, but Hölder's inequality needs order μ / (μ − 1).
  For μ > 2 the printed form is false: a simulation in the tests violates it.
- Theorem 4 and Corollary 5 use Var L̂ <= 1/(4n). A row enters 2 (n − 1) ordered pairs, so bounded
  differences give 1/n; the variance of a U-statistic of order 2 gives 1/(2n), reached at n = 2.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import rel_entr

from .._checks import check_choice, check_count, check_positive, check_share
from .bound import ROUNDING, Bound, check_divergence, check_rate, check_vector
from .risk import pac_bayes_kl


def kl_divergence(posterior: np.ndarray, prior: np.ndarray) -> float:
    """Return KL(Q ‖ P) = Σ_m Q_m ln(Q_m / P_m) of weights scaled to mass one.

    Parameters
    ----------
    posterior : array (n_atoms,)
        Q, not negative.
    prior : array (n_atoms,)
        P, not negative.

    Examples
    --------
    >>> round(kl_divergence([0.5, 0.5], [0.25, 0.75]), 3)
    0.144
    """
    posterior, prior = _distributions(posterior, prior)
    return max(float(np.sum(rel_entr(posterior, prior))), 0.0)


def power_divergence(posterior: np.ndarray, prior: np.ndarray, mu: float = 2.0) -> float:
    """Return D_μ(Q ‖ P) = Σ_m P_m (Q_m / P_m)^μ − 1 of weights scaled to mass one.

    μ = 2 is the chi-square divergence.

    Parameters
    ----------
    posterior, prior : see ``kl_divergence``
    mu : float, default 2.0
        The order μ, above 1.

    Examples
    --------
    >>> round(power_divergence([0.5, 0.5], [0.25, 0.75]), 3)
    0.333
    """
    mu = check_mu(mu)
    posterior, prior = _distributions(posterior, prior)
    if np.any(posterior[prior == 0] > 0):
        return np.inf
    positive = prior > 0
    # Ratios are divided by the largest one: (Q/P)^μ itself overflows for large μ.
    ratio = posterior[positive] / prior[positive]
    largest = ratio.max()
    return max(float(largest**mu * np.sum(prior[positive] * (ratio / largest) ** mu)) - 1, 0.0)


def _distributions(posterior, prior):
    """Validate two vectors of weights over the same hypotheses, and scale them to mass one."""
    posterior = check_vector(posterior, "posterior", smallest=0.0)
    prior = check_vector(prior, "prior", smallest=0.0)
    if posterior.shape != prior.shape:
        raise ValueError(
            f"posterior {posterior.shape} and prior {prior.shape} must be vectors over the same "
            "hypotheses."
        )
    if not (np.any(posterior) and np.any(prior)):
        raise ValueError("posterior and prior need a positive weight each, got only zeros.")
    return posterior / posterior.sum(), prior / prior.sum()


def first_order(
    empirical: float,
    divergence: float,
    n_samples: int,
    *,
    delta: float = 0.05,
    t: float | None = None,
    in_sample: bool = True,
    form: str = "safe",
) -> Bound:
    """Theorem 1: one point x_i against m random rows, (KL + t²/(8 m) + ln(1/δ)) / t.

    Parameters
    ----------
    empirical : float
        Σ_m Q_m L̂^i(ω_m), the mean loss of the learned weights.
    divergence : float
        KL(Q ‖ P) of the weights from the prior's.
    n_samples : int
        Number n of rows.
    delta : float, default 0.05
        Probability δ that the bound fails.
    t : float, default None
        Fixed before the data were seen; None is √n. ``form="kl"`` has none.
    in_sample : bool, default True
        A point of the sample is compared with m = n − 1 rows, any other point with m = n.
    form : "safe", "paper" or "kl", default "safe"
        Proved, as printed, or by the binary divergence.

    Examples
    --------
    >>> round(first_order(0.3, 1.5, 100).value, 3)
    0.762
    """
    # A union over one point.
    return landmark(
        empirical, divergence, n_samples, 1, delta=delta, t=t, in_sample=in_sample, form=form
    )


def landmark(
    empirical: float,
    divergence: float,
    n_samples: int,
    n_landmarks: int,
    *,
    delta: float = 0.05,
    t: float | None = None,
    in_sample: bool = True,
    independent: bool = True,
    form: str = "safe",
) -> Bound:
    """Theorem 1 for several points at once (union bound): ln(n_landmarks / δ) for ln(1 / δ).

    Parameters
    ----------
    empirical, divergence, n_samples, t, in_sample, form : see ``first_order``
        For the weights of one landmark.
    n_landmarks : int
        Number of bounds that hold at once.
    delta : float, default 0.05
        Probability δ that any of them fails.
    independent : bool, default True
        True if the choice of the landmarks does not depend on the values of the sample: random
        rows, or points of another sample, but not centroids of a clustering. Rows chosen by any
        rule are independent if ``n_landmarks`` counts all n.

    Examples
    --------
    >>> landmark(0.3, 1.5, 100, n_landmarks=5).value > first_order(0.3, 1.5, 100).value
    True
    """
    empirical, divergence, n_samples, t = _checked(
        empirical, divergence, n_samples, delta, t, form, has_kl=True
    )
    n_landmarks = check_count(n_landmarks, "n_landmarks")
    n_rows = n_samples - 1 if in_sample else n_samples
    reason = (
        ""
        if independent
        else "the landmarks depend on the values of the whole sample (e.g. k-means centroids)"
    )
    if form == "kl":
        bound = pac_bayes_kl(empirical, divergence, n_rows, delta=delta, n_tried=n_landmarks)
        return replace(bound, form=form, valid=not reason, reason=reason)
    spread = t**2 / ((2 if form == "paper" else 8) * n_rows)
    complexity = (divergence + spread + np.log(n_landmarks / delta)) / t
    return Bound.of(empirical, complexity, delta, form, reason)


def corollary_2(
    empirical: float,
    divergence: float,
    n_samples: int,
    *,
    delta: float = 0.05,
    t: float | None = None,
    form: str = "safe",
) -> Bound:
    """Corollary 2: all pairs, (2/t) (KL + t²/(8(n − 1)) + ln((n + 1)/δ)).

    It is a union bound over n bounds of Theorem 1.

    Parameters
    ----------
    empirical, divergence, n_samples, delta : see ``second_order``
    t : float, default None
        Fixed before the data were seen; None is √(n ln n).
    form : "safe" or "paper", default "safe"
        Proved, or as printed.

    Examples
    --------
    >>> round(corollary_2(0.3, 1.5, 100).complexity, 3)
    0.903
    """
    empirical, divergence, n_samples, root = _checked(
        empirical, divergence, n_samples, delta, None, form
    )
    t = root * np.sqrt(np.log(n_samples)) if t is None else check_positive(t, "t")
    spread = t**2 / ((2 if form == "paper" else 8) * (n_samples - 1))
    complexity = 2 / t * (divergence + spread + np.log((n_samples + 1) / delta))
    return Bound.of(empirical, complexity, delta, form)


def second_order(
    empirical: float,
    divergence: float,
    n_samples: int,
    *,
    delta: float = 0.05,
    t: float | None = None,
    n_tried: int = 1,
    form: str = "safe",
) -> Bound:
    """Theorem 3: all pairs as a U-statistic, (KL + t²/(8 ⌊n/2⌋) + ln(n_tried/δ)) / t.

    Parameters
    ----------
    empirical : float
        Σ_m Q_m L̂(ω_m), the mean loss of the learned weights.
    divergence : float
        KL(Q ‖ P) of the weights from the prior's.
    n_samples : int
        Number n of rows.
    delta : float, default 0.05
        Probability δ that the bound fails.
    t : float, default None
        Fixed before the data were seen; None is √n. ``form="kl"`` has none.
    n_tried : int, default 1
        Number of values of t, or of priors, fixed before the data were seen, from which the best
        was selected.
    form : "safe", "paper" or "kl", default "safe"
        Proved, as printed, or by the binary divergence.

    Examples
    --------
    >>> second_order(0.4, 1.0, 10_000).value.__round__(3)
    0.442
    >>> second_order(0.4, 1.0, 10_000, form="kl").value.__round__(4)
    0.4295
    """
    empirical, divergence, n_samples, t = _checked(
        empirical, divergence, n_samples, delta, t, form, has_kl=True
    )
    n_tried = check_count(n_tried, "n_tried")
    if form == "kl":
        bound = pac_bayes_kl(empirical, divergence, n_samples // 2, delta=delta, n_tried=n_tried)
        return replace(bound, form=form)
    spread = t**2 / (2 * n_samples if form == "paper" else 8 * (n_samples // 2))
    return Bound.of(empirical, (divergence + spread + np.log(n_tried / delta)) / t, delta, form)


def f_divergence(
    empirical: float,
    divergence: float,
    n_samples: int,
    *,
    mu: float = 2.0,
    delta: float = 0.05,
    form: str = "safe",
) -> Bound:
    """Theorem 4: all pairs, with D_μ(Q ‖ P) = Σ P (Q/P)^μ − 1 for KL.

    Safe: (D_μ + 1)^{1/μ} (M / δ)^{1 − 1/μ}, where M bounds the moment of order μ' = μ / (μ − 1) of
    L̂ − L: 1/(2n) for μ <= 2, (2n)^{−μ'/2} for μ >= 2. Printed for μ <= 2 it is looser, hence true,
    from n = 4^{(μ−1)/(2−μ)} rows on.

    Parameters
    ----------
    empirical, n_samples, delta : see ``second_order``
    form : "safe" or "paper", default "safe"
        Proved, or as printed.
    divergence : float
        D_μ(Q ‖ P) of the weights from the prior's.
    mu : float, default 2.0
        The order μ, above 1.

    Examples
    --------
    >>> round(f_divergence(0.3, 2.0, 100, mu=1.5).complexity, 3)
    0.965
    """
    empirical, divergence, n_samples, _ = _checked(
        empirical, divergence, n_samples, delta, None, form
    )
    mu = check_mu(mu)
    spread = (divergence + 1) ** (1 / mu)
    if mu <= 2:
        safe = spread * (1 / (2 * n_samples * delta)) ** (1 - 1 / mu)
    else:
        safe = spread * (2 * n_samples) ** -0.5 * (1 / delta) ** (1 - 1 / mu)
    if form == "safe":
        return Bound.of(empirical, safe, delta, form)
    moment = (
        (1 / (2 * np.sqrt(n_samples))) ** (mu - 1)
        if mu <= 2
        else (1 / (4 * n_samples)) ** (1 - 1 / mu)
    )
    printed = moment * spread * (1 / delta) ** (1 - 1 / mu)
    reason = ""
    if mu > 2:
        reason = (
            "as printed the theorem is false for mu > 2: Hölder's inequality needs the moment "
            "mu / (mu − 1)"
        )
    elif printed < safe:
        reason = (
            "below what can be proved: the printed constant 1/(4n) rests on a variance bound that "
            "is not true; 1/(2n) is"
        )
    return Bound.of(empirical, printed, delta, form, reason)


def chi_square(
    empirical: float, divergence: float, n_samples: int, *, delta: float = 0.05, form: str = "safe"
) -> Bound:
    """Corollary 5: √((χ² + 1) / (2nδ)), printed with 4n: Theorem 4 at μ = 2.

    Parameters
    ----------
    empirical, n_samples, delta, form : see ``f_divergence``
    divergence : float
        χ²(Q ‖ P) of the weights from the prior's.

    Examples
    --------
    >>> round(chi_square(0.3, 2.0, 100, delta=0.1).complexity, 3)
    0.387
    """
    return f_divergence(empirical, divergence, n_samples, mu=2.0, delta=delta, form=form)


def check_mu(mu: float) -> float:
    """Validate the order of a power divergence: a finite number above 1."""
    mu = check_positive(mu, "mu")
    if mu <= 1:
        raise ValueError(
            f"mu must be above 1, got {mu}: at 1 the divergence vanishes. Write e.g. mu=2.0."
        )
    return mu


def of_any_losses(theorem: Any, empirical: float, *arguments: Any, **settings: Any) -> Bound:
    """Apply a theorem to a mean of alignment losses, with ``valid=False`` if it is outside [0, 1].

    Losses of similarities |λ| > 1 and of weighted pairs can be, and no theorem covers them.
    """
    inside = min(max(float(empirical), 0.0), 1.0)
    bound = theorem(inside, *arguments, **settings)
    if abs(empirical - inside) <= ROUNDING:
        return bound
    reason = f"the theorem needs losses between 0 and 1, and their mean is {empirical:.3g}"
    return replace(
        bound,
        value=empirical + bound.complexity,
        empirical=float(empirical),
        valid=False,
        reason=reason,
    )


def _checked(empirical, divergence, n_samples, delta, t, form, has_kl=False):
    """Validate the arguments that all theorems share; t is √n unless given."""
    n_samples = check_count(n_samples, "n_samples", minimum=2)
    check_share(delta, "delta", example=0.05)
    check_choice(form, "form", ("safe", "paper", "kl") if has_kl else ("safe", "paper"))
    if form == "kl" and t is not None:
        raise ValueError(f"form='kl' has no parameter t, got t={t!r}. Write t=None.")
    t = np.sqrt(n_samples) if t is None else check_positive(t, "t")
    return check_rate(empirical), check_divergence(divergence), n_samples, t
