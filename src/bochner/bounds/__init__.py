"""Guarantees as pure functions that return a ``Bound``."""

from .alignment import (
    chi_square,
    corollary_2,
    f_divergence,
    first_order,
    kl_divergence,
    landmark,
    power_divergence,
    second_order,
)
from .bound import Bound
from .margin import competitive_ratio, margin, margin_objective, margin_regret, potential_deviation
from .operator import (
    ApproximationConstants,
    log_failure_probability,
    operator_uniform,
    promised_components,
)
from .risk import binomial_tail, empirical_bernstein, pac_bayes_kl

__all__ = [
    "ApproximationConstants",
    "Bound",
    "binomial_tail",
    "chi_square",
    "competitive_ratio",
    "corollary_2",
    "empirical_bernstein",
    "f_divergence",
    "first_order",
    "kl_divergence",
    "landmark",
    "log_failure_probability",
    "margin",
    "margin_objective",
    "margin_regret",
    "operator_uniform",
    "pac_bayes_kl",
    "potential_deviation",
    "power_divergence",
    "promised_components",
    "second_order",
]
