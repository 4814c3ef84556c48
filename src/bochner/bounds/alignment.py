r"""Guarantees on the alignment loss of a learned kernel (Letarte et al. 2019), and the divergences they are made of.

Each function adds a complexity to ``empirical`` = Σ_m Q_m L̂(ω_m); the result holds with probability 1 − ``delta`` over
the sample, for all posteriors Q at once, as long as the prior P and t were fixed without looking at the sample.

``form="safe"`` (default) is what can be proved, ``form="paper"`` what is printed.  Where they differ:

- Theorems 1 and 3 and Corollary 2 are printed with t²/(2n); Hoeffding's lemma gives t²/(8n) for losses in [0, 1], and
  for pairs, averaged over permutations into ⌊n/2⌋ independent ones, t²/(8 ⌊n/2⌋).  The safe form is tighter here.
- Theorem 4 is printed with moments of order μ, but Hölder's inequality needs order μ / (μ − 1).  Printed for μ > 2 it
  is false: a simulation in the tests violates it.
- Theorem 4 and Corollary 5 use Var L̂ <= 1/(4n).  A row enters 2 (n − 1) ordered pairs, so bounded differences give
  1/n here; the variance of a U-statistic of order 2 gives 1/(2n), reached at n = 2.
"""

import numpy as np
from scipy.special import rel_entr

from .._validation import check_choice, check_count, check_positive, check_share
from .bound import Bound


def kl_divergence(posterior: np.ndarray, prior: np.ndarray) -> float:
    """KL(Q ‖ P) = Σ_m Q_m ln(Q_m / P_m), of weights brought to mass one."""
    posterior, prior = _distributions(posterior, prior)
    return max(float(np.sum(rel_entr(posterior, prior))), 0.0)


def power_divergence(posterior: np.ndarray, prior: np.ndarray, mu: float = 2.0) -> float:
    """D_μ(Q ‖ P) = Σ_m P_m (Q_m / P_m)^μ − 1, of weights brought to mass one; μ = 2 is the chi-square divergence."""
    posterior, prior = _distributions(posterior, prior)
    if np.any(posterior[prior == 0] > 0):
        return np.inf
    held = prior > 0
    # Ratio by ratio around its largest value: (Q/P)^μ itself overflows for large μ.
    ratio = posterior[held] / prior[held]
    largest = ratio.max()
    return max(float(largest**mu * np.sum(prior[held] * (ratio / largest) ** mu)) - 1, 0.0)


def _distributions(posterior, prior):
    posterior, prior = np.asarray(posterior, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    if posterior.shape != prior.shape or posterior.ndim != 1:
        raise ValueError(
            f"posterior {posterior.shape} and prior {prior.shape} must be vectors over the same hypotheses."
        )
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
    """Theorem 1: one fixed point x_i against random rows; ``divergence`` is KL(Q ‖ P), t defaults to √n.

    A point of the sample has n − 1 rows to be compared with; one from elsewhere (``in_sample=False``) has n.
    """
    # A union over one point.
    return landmark(empirical, divergence, n_samples, 1, delta=delta, t=t, in_sample=in_sample, form=form)


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
    """Theorem 1 for ``n_landmarks`` points at once (union bound): ln(n_landmarks / δ) for ln(1 / δ).

    The landmarks must be chosen without looking at the values of the sample (``independent``): random rows, or points
    of another sample.  Centroids of a clustering are not; rows chosen by any rule are when ``n_landmarks`` counts all n.
    """
    n_samples, t = _check(n_samples, delta, t, form)
    n_landmarks = check_count(n_landmarks, "n_landmarks")
    n_rows = n_samples - 1 if in_sample else n_samples
    spread = t**2 / ((2 if form == "paper" else 8) * n_rows)
    complexity = (divergence + spread + np.log(n_landmarks / delta)) / t
    reason = "" if independent else "the landmarks depend on the values of the whole sample (e.g. k-means centroids)"
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
    """Corollary 2: all pairs, by a union over n first-order bounds; t defaults to √(n ln n)."""
    default_t = np.sqrt(n_samples * np.log(max(n_samples, 2)))
    n_samples, t = _check(n_samples, delta, default_t if t is None else t, form)
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
    """Theorem 3: all pairs as a U-statistic; ``divergence`` is KL(Q ‖ P), t defaults to √n.

    A t picked after seeing the data among ``n_tried`` values fixed before costs ln(n_tried) inside the bracket.

    >>> second_order(0.4, 1.0, 10_000).value.__round__(3)
    0.442
    """
    n_samples, t = _check(n_samples, delta, t, form)
    n_tried = check_count(n_tried, "n_tried")
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
    """Theorem 4: all pairs, with ``divergence`` = D_μ(Q ‖ P) = Σ P (Q/P)^μ − 1 for KL; any μ > 1.

    Safe: (D_μ + 1)^{1/μ} (M / δ)^{1 − 1/μ}, where M bounds the moment of order μ' = μ / (μ − 1) of L̂ − L: 1/(2n) for
    μ <= 2, (2n)^{−μ'/2} for μ >= 2.  Printed for μ <= 2 it is looser, hence true, from n = 4^{(μ−1)/(2−μ)} rows on.
    """
    n_samples, _ = _check(n_samples, delta, None, form)
    mu = check_mu(mu)
    spread = (divergence + 1) ** (1 / mu)
    if mu <= 2:
        safe = spread * (1 / (2 * n_samples * delta)) ** (1 - 1 / mu)
    else:
        safe = spread * (2 * n_samples) ** -0.5 * (1 / delta) ** (1 - 1 / mu)
    if form == "safe":
        return Bound.of(empirical, safe, delta, form)
    moment = (1 / (2 * np.sqrt(n_samples))) ** (mu - 1) if mu <= 2 else (1 / (4 * n_samples)) ** (1 - 1 / mu)
    printed = moment * spread * (1 / delta) ** (1 - 1 / mu)
    reason = ""
    if mu > 2:
        reason = "as printed the theorem is false for mu > 2: Hölder's inequality needs the moment mu / (mu − 1)"
    elif printed < safe:
        reason = "below what can be proved: the printed constant 1/(4n) rests on a variance bound that is not true; 1/(2n) is"
    return Bound.of(empirical, printed, delta, form, reason)


def chi_square(
    empirical: float, divergence: float, n_samples: int, *, delta: float = 0.05, form: str = "safe"
) -> Bound:
    """Corollary 5: √((χ² + 1) / (2nδ)), printed with 4n; ``divergence`` is χ²(Q ‖ P).  Theorem 4 at μ = 2."""
    return f_divergence(empirical, divergence, n_samples, mu=2.0, delta=delta, form=form)


def check_mu(mu: float) -> float:
    """The order of a power divergence: a finite number above 1."""
    mu = check_positive(mu, "mu")
    if mu <= 1:
        raise ValueError(f"mu must be above 1, got {mu}: at 1 the divergence vanishes. Write e.g. mu=2.0.")
    return mu


def _check(n_samples, delta, t, form):
    n_samples = check_count(n_samples, "n_samples", minimum=2)
    check_share(delta, "delta", example=0.05)
    check_choice(form, "form", ("safe", "paper"))
    return n_samples, np.sqrt(n_samples) if t is None else check_positive(t, "t")
