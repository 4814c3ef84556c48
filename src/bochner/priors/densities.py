"""Densities of the priors' spectra: ln p(ω) and its slope, for those who draw from what a density
is part of, or divide by it.
"""

from functools import singledispatch

import numpy as np
from scipy.special import gammaln, kve, logsumexp

from .._checks import check_positive
from .base import ProductPrior, RadialPrior, SpectralPrior
from .cauchy import Cauchy
from .gaussian import Gaussian
from .laplace import Laplace
from .matern import Matern
from .mixture import SpectralMixture
from .rational_quadratic import RationalQuadratic
from .sinc import Sinc


@singledispatch
def log_density(prior: SpectralPrior, frequencies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(ln p(ω), ∇ ln p(ω)) of the law that ``prior.sample`` draws from, (n_atoms,) and (n_atoms,
    n_features).

    Another prior registers its own with ``log_density.register``.
    """
    raise NotImplementedError(
        f"{type(prior).__name__} has no density over frequencies that is known here (that of Anova "
        "has none: its frequencies are zero with "
        "positive probability). Use Gaussian, Matern, RationalQuadratic, Laplace, Cauchy, Sinc or "
        "SpectralMixture, or register one with "
        "bochner.priors.densities.log_density.register."
    )


def _scaled(prior: RadialPrior, frequencies: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """q = ‖ω ℓ‖², its slope in ω, and the logarithm of what the lengths ℓ multiply a density with."""
    lengths = prior._lengths(frequencies.shape[1])
    scaled = frequencies * lengths
    return np.sum(scaled**2, axis=1), 2 * scaled * lengths, float(np.sum(np.log(lengths)))


@log_density.register(Gaussian)
def _gaussian(prior, frequencies):
    q, slope, volume = _scaled(prior, frequencies)
    return volume - frequencies.shape[1] / 2 * np.log(2 * np.pi) - q / 2, -slope / 2


@log_density.register(Matern)
def _matern(prior, frequencies):
    """A Student law with 2ν degrees of freedom."""
    nu, d = check_positive(prior.nu, "nu"), frequencies.shape[1]
    q, slope, volume = _scaled(prior, frequencies)
    constant = gammaln(nu + d / 2) - gammaln(nu) - d / 2 * np.log(2 * np.pi * nu) + volume
    return constant - (nu + d / 2) * np.log1p(q / (2 * nu)), -(nu + d / 2) / (2 * nu + q)[
        :, None
    ] * slope


@log_density.register(RationalQuadratic)
def _rational_quadratic(prior, frequencies):
    """A Gaussian law whose variance is Gamma(α, rate α): 2 α^α / Γ(α) (2π)^{−d/2} (q/2α)^{ν/2}
    K_ν(√(2αq)), ν = α − d/2.
    """
    alpha, d = check_positive(prior.alpha, "alpha"), frequencies.shape[1]
    q, slope, volume = _scaled(prior, frequencies)
    q = np.maximum(q, 1e-300)  # at zero itself the density may be infinite
    nu, s = alpha - d / 2, np.sqrt(2 * alpha * q)
    constant = (
        np.log(2) + alpha * np.log(alpha) - gammaln(alpha) - d / 2 * np.log(2 * np.pi) + volume
    )
    value = constant + nu / 2 * np.log(q / (2 * alpha)) + np.log(kve(nu, s)) - s
    return value, -(alpha / s * kve(nu - 1, s) / kve(nu, s))[:, None] * slope


def _product(prior: ProductPrior, frequencies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ω in units of the rates, and the rates."""
    rates = prior._rates(frequencies.shape[1])
    return frequencies / rates, rates


@log_density.register(Laplace)
def _laplace(prior, frequencies):
    """Independent Cauchy variables."""
    u, rates = _product(prior, frequencies)
    return -np.sum(np.log(np.pi * rates) + np.log1p(u**2), axis=1), -2 * u / (1 + u**2) / rates


@log_density.register(Cauchy)
def _cauchy(prior, frequencies):
    """Independent Laplace variables."""
    u, rates = _product(prior, frequencies)
    return -np.sum(np.log(2 * rates) + np.abs(u), axis=1), -np.sign(u) / rates


@log_density.register(Sinc)
def _sinc(prior, frequencies):
    """Uniform on a cube."""
    u, rates = _product(prior, frequencies)
    inside = np.all(np.abs(u) <= 1, axis=1)
    return np.where(inside, -np.sum(np.log(2 * rates)), -np.inf), np.zeros_like(frequencies)


@log_density.register(SpectralMixture)
def _mixture(prior, frequencies):
    weights, means, scales = prior._parts(frequencies.shape[1])
    if np.any(scales == 0):
        raise ValueError(
            "A SpectralMixture with a scale of zero has no density. Write a small positive scale."
        )
    z = (frequencies[:, None] - means) / scales
    with np.errstate(divide="ignore"):
        parts = np.log(weights / weights.sum()) - np.sum(
            np.log(scales) + z**2 / 2 + np.log(2 * np.pi) / 2, axis=2
        )
    total = logsumexp(parts, axis=1)
    shares = np.exp(parts - total[:, None])
    return total, -np.einsum("mq,mqd->md", shares, z / scales)
