"""Reasons why no theorem holds for a fit: weighted rows, and priors that depend on the rows."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..measures.fourier import FourierMeasure
from ..priors import SpectralPrior


def weights_caveat(weights: np.ndarray | None) -> str:
    """Return why no theorem holds for rows with these weights; "" if there are none."""
    return "" if weights is None else "weighted rows are not an independent sample"


def prior_caveat(prior: SpectralPrior | None) -> str:
    """Return why no theorem holds with this prior, which must not depend on the rows, or ""."""
    if isinstance(prior, FourierMeasure):
        return learned_caveat(prior)
    if prior is None:
        return (
            "the default prior takes its bandwidth from the data; give a prior with a number, "
            "e.g. Gaussian(gamma=1.0)"
        )
    for name, value in prior.get_params().items():
        if isinstance(value, str):
            return (
                f"{name}={value!r} takes the bandwidth from the data; give a number chosen without "
                "these rows"
            )
    return learned_caveat(prior)


def learned_caveat(owner: Any) -> str:
    """Return why no theorem holds if ``owner`` is or has a prior or measure that was learned.

    The result is "" if there is none.
    """
    parts = owner.get_params(deep=True).values() if isinstance(owner, BaseEstimator) else ()
    for value in (owner, *parts):
        if isinstance(value, FourierMeasure):
            if value.learned:
                return (
                    "the measure given as prior was learned; if that was on data without these "
                    "rows, write dataclasses.replace(measure, learned=False)"
                )
        elif isinstance(value, SpectralPrior) and value._learned:
            name = type(value).__name__
            return (
                "the prior was learned by Evidence or PacBayesGaussian; if that was on data "
                f"without these rows, write a new prior {name}(...) with the learned numbers"
            )
    return ""
