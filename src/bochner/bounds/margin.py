"""Guarantees of the margin game (Bullins et al. 2018), as printed and as proved."""

from typing import Any

import numpy as np

from .._checks import check_choice, check_count, check_positive, check_share
from .bound import Bound, check_vector


def margin_regret(
    n_samples: int, n_rounds: int, C: float = 1.0, *, search_error: float = 0.0, form: str = "safe"
) -> Bound:
    r"""Bound the regret of the game's objective after T rounds (Theorem 4.1), with certainty.

    .. math:: \max_\alpha F(\alpha, \bar\lambda) - \min_\lambda \max_\alpha F
        \le \bar\varepsilon / 2 + 3 G D / (2 \sqrt T)

    D = C √n is the diameter of the dual set, and G = √n (1 + Cn) is the largest gradient. The plays
    have mass one, and the steps are D / (G √t). The printed bound 3 (C + 2C²) n / (4 √T) assumes
    |Σ_i y_i α_i exp(i ω·x_i)| <= C. This sum can be n C, so the printed bound can be violated.

    Parameters
    ----------
    n_samples : int
        Number n of rows.
    n_rounds : int
        Rounds T that were played.
    C : float, default 1.0
        Weight of the loss.
    search_error : float, default 0.0
        ε̄, the mean difference between the highest peaks and those of the search.
    form : "safe" or "paper", default "safe"
        Proved, or as printed.

    Examples
    --------
    >>> forms = [margin_regret(100, 10_000, form=form).value for form in ("safe", "paper")]
    >>> round(forms[0], 1), round(forms[1], 2)
    (151.5, 2.25)
    """
    n, T = check_count(n_samples, "n_samples"), check_count(n_rounds, "n_rounds")
    C = check_positive(C, "C")
    error = check_positive(search_error, "search_error", allow_zero=True) / 2
    check_choice(form, "form", ("safe", "paper"))
    if form == "safe":
        return Bound.of(error, 1.5 * C * n * (1 + C * n) / np.sqrt(T))
    reason = "the printed gradient bound (1 + 2C)√n does not hold; use form='safe'"
    return Bound.of(error, 3 * (C + 2 * C**2) * n / (4 * np.sqrt(T)), form=form, reason=reason)


def margin_objective(
    dual_sums: Any, potentials: Any, n_samples: int, C: float = 1.0, *, form: str = "safe"
) -> Bound:
    r"""Bound the game's objective by the heights of its peaks (Theorem 4.1), with certainty.

    .. math:: \max_\alpha F(\alpha, \bar\lambda)
        \le \overline{1^\top \alpha_t} - \bar v / 2 + 3 G D / (2 \sqrt T)

    The printed form, ρ + … with ρ the smallest potential, has another sign and another scale.

    Parameters
    ----------
    dual_sums : array (n_rounds,)
        1ᵀα_t of each round.
    potentials : array (n_rounds,)
        v_t of each round.
    n_samples, C, form : see ``margin_regret``

    Examples
    --------
    >>> margin_objective([1.0, 1.2], [0.5, 0.3], 10).empirical.__round__(3)
    0.9
    """
    sums = check_vector(dual_sums, "dual_sums")
    heights = check_vector(potentials, "potentials", smallest=0.0)
    if sums.shape != heights.shape:
        raise ValueError(
            f"Got {sums.shape} dual sums and {heights.shape} potentials; need one of each for "
            "every round."
        )
    regret = margin_regret(n_samples, len(sums), C, form=form).complexity
    if form == "safe":
        return Bound.of(sums.mean() - heights.mean() / 2, regret)
    reason = "the printed form has the wrong sign and scale; use form='safe'"
    return Bound.of(heights.min(), regret, form=form, reason=reason)


def competitive_ratio(gap: float, best_margin: float) -> float:
    """Lower bound 1 − gap · M*² of margin / best margin M* (Corollary 4.2).

    The printed 1 − gap is this for M* = 1, and is true whenever M* <= 1.

    Parameters
    ----------
    gap : float
        Difference between the game's objective and the best one.
    best_margin : float
        M*, the largest that any measure reaches.

    Examples
    --------
    >>> round(competitive_ratio(0.5, 0.1), 3)
    0.995
    """
    gap = check_positive(gap, "gap", allow_zero=True)
    best_margin = check_positive(best_margin, "best_margin")
    return max(0.0, 1 - gap * best_margin**2)


def margin(
    margins: Any,
    thresholds: Any,
    frequency_radius: float,
    data_radius: float,
    *,
    mass: float = 1.0,
    delta: float = 0.05,
    form: str = "safe",
) -> Bound:
    r"""Bound the error of a machine ‖w‖ <= 1 on a *learned* shift-invariant kernel (Theorem 4.3).

    .. math:: \Pr[y f \le 0] \le \frac1n \#\{y_i f_i \le \theta\}
              + \frac{6 R_\omega R_x + 2}{\theta} \sqrt{R_\lambda / n} + 3 \sqrt{\ln(2K/\delta) / n}

    The theorem covers machines f(x) = ⟨w, φ(x)⟩ without an intercept. ``thresholds`` θ must be
    fixed before the data are seen. The bound holds for the best of K thresholds, by a union bound;
    the paper minimizes over all θ without one (K = 1).

    The Rademacher complexity is at most (3 R_ω R_x + 1) √(R_λ / n). The summand 1 is
    E|Σ_i σ_i| / √n, the value at ω = 0, where all cosines are one. The printed bound lacks it.

    Parameters
    ----------
    margins : array (n_samples,)
        y_i f(x_i), divided by ‖w‖ when that is above one.
    thresholds : float or array
        θ, one or several, fixed before the data were seen.
    frequency_radius : float
        R_ω, the largest norm of a frequency.
    data_radius : float
        R_x, the largest norm of a point.
    mass : float, default 1.0
        R_λ, the largest mass of the learned measure.
    delta : float, default 0.05
        Probability δ that the bound fails.
    form : "safe" or "paper", default "safe"
        Proved, or as printed.

    Examples
    --------
    >>> import numpy as np
    >>> margin(np.full(10**6, 0.5), [0.25, 0.5], frequency_radius=2.0, data_radius=1.0).valid
    True
    """
    margins = check_vector(margins, "margins")
    thetas = check_vector(np.atleast_1d(thresholds), "thresholds")
    if not np.all(thetas > 0):
        raise ValueError(
            f"thresholds must be positive, got {thresholds!r}. Write e.g. thresholds=[0.1, 0.5]."
        )
    check_choice(form, "form", ("safe", "paper"))
    delta = check_share(delta, "delta", example=0.05)
    radius = check_positive(frequency_radius, "frequency_radius") * check_positive(
        data_radius, "data_radius"
    )
    n = len(margins)
    union = 1 if form == "paper" else len(thetas)
    empirical = np.array([np.mean(margins <= theta) for theta in thetas])
    rademacher = 3 * radius if form == "paper" else 3 * radius + 1  # times √(R_λ / n)
    complexity = 2 * rademacher / thetas * np.sqrt(check_positive(mass, "mass") / n)
    complexity += 3 * np.sqrt(np.log(2 * union / delta) / n)
    best = int(np.argmin(empirical + complexity))
    reason = ""
    if form == "paper":
        reason = "the printed complexity 6 R_ω R_x / θ leaves out 2 / θ"
        if len(thetas) > 1:
            reason += f", and the best of {len(thetas)} thresholds needs a union bound"
        reason += "; use form='safe'"
    return Bound.of(empirical[best], complexity[best], delta, form, reason)


def potential_deviation(
    n_samples: int,
    n_features: int,
    frequency_radius: float,
    data_radius: float,
    *,
    delta: float = 0.05,
    form: str = "safe",
) -> Bound:
    r"""Bound |v(ω)/n² − v_ideal(ω)| over ‖ω‖ <= R_ω, for unweighted labels (Theorem 4.4).

    The bound is the smallest ε for which the theorem's probability is at most δ:

    .. math:: 2 (24 R_x R_\omega / \varepsilon)^d \exp(-n (\varepsilon/2 - 1/n)^2 / 8)

    The 1/n is the bias E[v/n²] = (1 − 1/n) v_ideal + 1/n. Another row and label change v/n² by at
    most 4/n. The printed n = 8 R_x² R_ω⁴ (d ln(2R_ω/ε) + ln(1/δ)) / ε² lacks both, and the factor
    two for both sides.

    Parameters
    ----------
    n_samples : int
        Number n of rows.
    n_features : int
        Their dimension d.
    frequency_radius, data_radius, delta, form : see ``margin``

    Examples
    --------
    >>> few, many = (potential_deviation(n, 2, 3.0, 1.0).value for n in (10**4, 10**5))
    >>> many < few
    True
    """
    n, d = check_count(n_samples, "n_samples"), check_count(n_features, "n_features")
    frequency_radius = check_positive(frequency_radius, "frequency_radius")
    data_radius = check_positive(data_radius, "data_radius")
    check_choice(form, "form", ("safe", "paper"))
    log_delta = np.log(check_share(delta, "delta", example=0.05))

    def log_probability(epsilon):
        if form == "paper":
            rate = n * epsilon**2 / (8 * data_radius**2 * frequency_radius**4)
            return d * np.log(2 * frequency_radius / epsilon) - rate
        net = d * max(0.0, np.log(24 * data_radius * frequency_radius / epsilon))
        return np.log(2) + net - n * max(0.0, epsilon / 2 - 1 / n) ** 2 / 8

    low, high = 1e-12, 1.0
    while log_probability(high) > log_delta:
        high *= 2
    while high / low > 1 + 1e-12:
        middle = np.sqrt(low * high)
        low, high = (middle, high) if log_probability(middle) > log_delta else (low, middle)
    missing = "the printed form lacks the bias, both sides and changes of a label; use form='safe'"
    return Bound.of(0.0, high, delta, form, missing if form == "paper" else "")
