"""Errors of random features of operator-valued kernels (Brault et al. 2016, Theorem 10).

At practical numbers of frequencies, the bounds of the theorem are large.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from .._checks import check_choice, check_count, check_positive, check_share
from .bound import Bound


@dataclass(frozen=True)
class ApproximationConstants:
    """Constants of Theorem 10 for a kernel K(δ) = E cos(ω·δ) A(ω).

    Parameters
    ----------
    n_features : int
        d, the dimension of δ.
    n_outputs : int
        p, the size of A.
    variance : float
        b, which bounds D ‖V[K̃(δ)]‖ for all δ.
    slope : float
        σ_p = √E‖ω‖²‖A(ω)‖².
    orlicz : float
        The ψ₁ norm of ‖A(ω)‖.
    sup_norm : float
        The size of the kernel, ‖K(0)‖.

    Examples
    --------
    >>> from bochner import Decomposable, Gaussian
    >>> from bochner.operators import approximation_constants
    >>> approximation_constants(Decomposable(Gaussian(gamma=0.5)), n_features=2).sup_norm
    1.0
    """

    n_features: int
    n_outputs: int
    variance: float
    slope: float
    orlicz: float
    sup_norm: float

    def __post_init__(self) -> None:
        for name in ("n_features", "n_outputs"):
            check_count(getattr(self, name), name)
        for name in ("variance", "slope", "orlicz", "sup_norm"):
            check_positive(getattr(self, name), name)


def log_failure_probability(
    constants: ApproximationConstants,
    n_components: int,
    error: float,
    diameter: float,
    *,
    form: str = "safe",
) -> float:
    """Return the log of the bound on P(sup ‖K̃ − K‖ >= error) on a set of this diameter.

    Above 0 the bound says nothing. Two constants of ``form="safe"`` differ from the printed ones:

    - With m = 4 (‖‖A‖‖_ψ1 + ‖K‖_∞), ū is 2m log(2^{3/2} m²/b), which does not depend on the unit of
      the kernel.  The printed (m/b)² does.
    - Bernstein's inequality (Eq. 10) holds for εū <= 2(e − 1) b and is applied at ε/2.  So its case
      ends at εū = 4(e − 1) b.  Printed is 2(e − 1) b.

    Parameters
    ----------
    constants : ApproximationConstants
        From ``bochner.operators.approximation_constants(kernel, n_features)``.
    n_components : int
        Number of frequencies D.
    error : float
        ε, a value of sup ‖K̃ − K‖.
    diameter : float
        Diameter of the set of points.
    form : "safe" or "paper", default "safe"
        Proved, or as printed.

    Examples
    --------
    >>> constants = ApproximationConstants(2, 1, variance=0.5, slope=1.4, orlicz=1.4, sup_norm=1.0)
    >>> few, many = (log_failure_probability(constants, n, 0.1, 2.0) for n in (10**5, 10**6))
    >>> many < few
    True
    """
    check_choice(form, "form", ("safe", "paper"))
    check_count(n_components, "n_components", minimum=0)
    check_positive(error, "error")
    check_positive(diameter, "diameter")
    d, p, b = constants.n_features, constants.n_outputs, constants.variance
    m = 4 * (constants.orlicz + constants.sup_norm)
    ratio = m**2 / b if form == "safe" else (m / b) ** 2
    u = 2 * m * np.log(2**1.5 * ratio)
    half = d / 2
    log_constant = (
        np.log(p)
        + np.log(half ** (-d / (d + 2)) + half ** (2 / (d + 2)))
        + (6 * d + 2) / (d + 2) * np.log(2)
    )
    log_cover = log_constant + 2 / (1 + 2 / d) * np.log(constants.slope * diameter / error)
    if error * u <= (4 if form == "safe" else 2) * (math.e - 1) * b:
        return float(log_cover - error**2 * n_components / (8 * (d + 2) * (b + error * u / 6)))
    return float(log_cover - error * n_components / ((d + 2) * (math.e - 1) * u))


def operator_uniform(
    constants: ApproximationConstants,
    n_components: int,
    diameter: float,
    *,
    confidence: float = 0.95,
    form: str = "safe",
) -> Bound:
    """Bound sup ‖K̃ − K‖ over points in a set of this diameter, with probability ``confidence``.

    Parameters
    ----------
    constants, n_components, diameter, form : see ``log_failure_probability``
    confidence : float, default 0.95
        Probability that the bound holds.

    Examples
    --------
    >>> constants = ApproximationConstants(2, 1, variance=0.5, slope=1.4, orlicz=1.4, sup_norm=1.0)
    >>> bool(operator_uniform(constants, 10**6, 2.0).value < 0.1)
    True
    """
    check_count(n_components, "n_components")
    log_delta = np.log1p(-check_share(confidence, "confidence", example=0.95))

    def excess(log_error):
        return (
            log_failure_probability(constants, n_components, np.exp(log_error), diameter, form=form)
            - log_delta
        )

    # The bound decreases in the error, with a jump between the two cases of the theorem. The root
    # is the error at which it falls below δ.
    low = high = np.log(constants.sup_norm)
    while excess(low) < 0:
        low -= 5
    while excess(high) > 0:
        high += 5
    # The root may lie on the wrong side of the jump, by the tolerance.
    error = float(np.exp(brentq(excess, low, high, xtol=1e-12) + 4e-12))
    reason = ""
    if error >= constants.sup_norm:
        reason = "true but useless: larger than the kernel itself at this number of frequencies"
    if (
        form == "paper"
        and error < operator_uniform(constants, n_components, diameter, confidence=confidence).value
    ):
        reason = (
            "below what can be proved: the printed ū and the printed case split are too small; use "
            "form='safe'"
        )
        return Bound(error, 0.0, error, confidence, form, False, reason)
    return Bound(error, 0.0, error, confidence, form, True, reason)


def promised_components(
    constants: ApproximationConstants,
    error: float,
    diameter: float,
    *,
    confidence: float = 0.95,
    form: str = "safe",
) -> int:
    """Return the number of frequencies for which Theorem 10 bounds the error by ``error``.

    Parameters
    ----------
    constants, error, diameter, form : see ``log_failure_probability``
    confidence : float, default 0.95
        Probability that the error is not exceeded.

    Examples
    --------
    >>> constants = ApproximationConstants(2, 1, variance=0.5, slope=1.4, orlicz=1.4, sup_norm=1.0)
    >>> n_components = promised_components(constants, 0.1, 2.0)
    >>> bool(operator_uniform(constants, n_components, 2.0).value <= 0.1)
    True
    """
    log_delta = np.log1p(-check_share(confidence, "confidence", example=0.95))
    # The logarithm is linear in D: two values give the line, far apart so that their difference
    # keeps its digits.
    far = 2**30
    at_zero = log_failure_probability(constants, 0, error, diameter, form=form)
    slope = (at_zero - log_failure_probability(constants, far, error, diameter, form=form)) / far
    return max(1, int(np.ceil((at_zero - log_delta) / slope)))
