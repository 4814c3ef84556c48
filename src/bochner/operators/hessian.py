"""−∇∇ᵀ k for every prior that has one: the curl-free kernel, from which all vector-field kernels
follow.
"""

from functools import singledispatch

import numpy as np
from scipy.special import gamma as gamma_function
from scipy.special import kve

from ..priors import (
    Anova,
    Cauchy,
    Gaussian,
    Matern,
    RationalQuadratic,
    Sinc,
    SpectralMixture,
    SpectralPrior,
)


@singledispatch
def negative_hessian(
    prior: SpectralPrior, X: np.ndarray, Z: np.ndarray, space: np.ndarray
) -> np.ndarray:
    """Return −∂²k(x − z)/∂δ_a∂δ_b for a, b in ``space``, (n_samples, n_other_samples, p, p)."""
    raise NotImplementedError(
        "The exact kernel of a vector field needs second derivatives of its prior, which are not "
        "known for "
        f"{type(prior).__name__}. Use random features, OperatorRidge(CurlFree(prior)), or their "
        "kernel, "
        "CurlFree(prior).sample(1000, n_features, rng).kernel(X); or a prior such as Gaussian or "
        "Matern(nu=2.5)."
    )


@negative_hessian.register(Gaussian)
@negative_hessian.register(Matern)
@negative_hessian.register(RationalQuadratic)
def _radial(prior, X, Z, space):
    lengths = prior._lengths(X.shape[1])
    squared_distances = np.zeros((len(X), len(Z)))
    for j, length in enumerate(lengths):
        squared_distances += ((X[:, j, None] - Z[:, j]) / length) ** 2
    slope, bend = profile_slopes(prior, squared_distances)
    differences = (X[:, None, space] - Z[None, :, space]) / lengths[space] ** 2
    hessian = -4 * bend[:, :, None, None] * differences[:, :, :, None] * differences[:, :, None, :]
    hessian[:, :, np.arange(len(space)), np.arange(len(space))] -= (
        2 * slope[:, :, None] / lengths[space] ** 2
    )
    return hessian


@singledispatch
def profile_slopes(prior: SpectralPrior, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivative of the kernel as a function of q = ‖(x − z) / lengths‖²."""
    raise NotImplementedError(type(prior).__name__)


@profile_slopes.register(Gaussian)
def _gaussian_slopes(prior, q):
    value = np.exp(-q / 2)
    return -value / 2, value / 4


@profile_slopes.register(RationalQuadratic)
def _rational_quadratic_slopes(prior, q):
    alpha = float(prior.alpha)
    base = 1 + q / (2 * alpha)
    value = base**-alpha
    return -value / base / 2, (alpha + 1) / (4 * alpha) * value / base**2


@profile_slopes.register(Matern)
def _matern_slopes(prior, q):
    """With z = √(2νq), dM_ν/dz = −z/(2(ν − 1)) M_{ν−1} and dz/dq = ν/z: slopes are profiles of
    lower orders.

    For ν <= 2 the second derivative is infinite at zero, but only δδᵀ times it is used, which
    vanishes there: zero is put.
    """
    nu = float(prior.nu)
    z_squared = 2 * nu * q
    slope = -nu / (2 * (nu - 1)) * Matern(nu=nu - 1)._profile(z_squared / (2 * (nu - 1)))
    if nu > 2:
        return slope, nu**2 / (4 * (nu - 1) * (nu - 2)) * Matern(nu=nu - 2)._profile(
            z_squared / (2 * (nu - 2))
        )
    near = z_squared < 1e-24
    z = np.sqrt(np.where(near, 1.0, z_squared))
    bend = 2 ** (1 - nu) / gamma_function(nu) * nu**2 * z ** (nu - 2) * kve(2 - nu, z) * np.exp(-z)
    return slope, np.where(near, 0.0, bend)


@negative_hessian.register(Cauchy)
@negative_hessian.register(Sinc)
def _product(prior, X, Z, space):
    """The kernel is Π_j f(r_j δ_j): differentiate one or two of its factors and multiply by the
    others.
    """
    rates = prior._rates(X.shape[1])
    arguments = [rate * (X[:, j, None] - Z[:, j]) for j, rate in enumerate(rates)]
    return _product_hessian([factor_derivatives(prior, u) for u in arguments], rates, space)


@negative_hessian.register(Anova)
def _anova(prior, X, Z, space):
    """Factors (1 + w κ) / (1 + w), κ(u) = e⁻ᵘ (1 + u) or e⁻ᵘ (1 + u + u²/3): of ν = 1/2 there are
    no second derivatives.
    """
    kernel = prior.compiled(X.shape[1])
    derivatives = []
    for j, (rate, weight) in enumerate(zip(kernel.rates, kernel.weights, strict=True)):
        u = rate * (X[:, j, None] - Z[:, j])
        t = np.abs(u)
        decay = weight / (1 + weight) * np.exp(-t)
        if kernel.order == 1:
            value, first, second = 1 + t, -u, t - 1
        else:
            value, first, second = 1 + t + t**2 / 3, -u * (1 + t) / 3, (t**2 - t - 1) / 3
        derivatives.append((1 / (1 + weight) + decay * value, decay * first, decay * second))
    return _product_hessian(derivatives, kernel.rates, space)


def _product_hessian(derivatives, rates, space):
    """−∂²/∂δ_a∂δ_b Π_j f_j(r_j δ_j) from (f, f', f'') of each column."""
    n_samples, n_others = derivatives[0][0].shape
    hessian = np.empty((n_samples, n_others, len(space), len(space)))
    for a, i in enumerate(space):
        for b, j in enumerate(space[: a + 1]):
            orders = np.zeros(len(rates), dtype=int)
            orders[i] += 1
            orders[j] += 1
            product = -rates[i] * rates[j] * np.ones((n_samples, n_others))
            for factors, order in zip(derivatives, orders, strict=True):
                product = product * factors[order]
            hessian[:, :, a, b] = hessian[:, :, b, a] = product
    return hessian


@singledispatch
def factor_derivatives(
    prior: SpectralPrior, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f, f' and f'' of the kernel of one coordinate at rate 1."""
    raise NotImplementedError(type(prior).__name__)


@factor_derivatives.register(Cauchy)
def _cauchy_derivatives(prior, u):
    value = 1 / (1 + u**2)
    return value, -2 * u * value**2, (6 * u**2 - 2) * value**3


@factor_derivatives.register(Sinc)
def _sinc_derivatives(prior, u):
    # Near zero the quotients cancel; there the series to u⁶ is exact to 1e-13.
    near = np.abs(u) < 0.05
    safe = np.where(near, 1.0, u)
    square = u**2
    value = np.sinc(u / np.pi)
    first = np.where(
        near,
        -u / 3 * (1 - square / 10 * (1 - square / 28 * (1 - square / 54))),
        (np.cos(safe) - np.sin(safe) / safe) / safe,
    )
    second = np.where(
        near, -1 / 3 + square / 10 - square**2 / 168 + square**3 / 6480, -value - 2 * first / safe
    )
    return value, first, second


@negative_hessian.register(SpectralMixture)
def _mixture(prior, X, Z, space):
    """Each part is exp(−½ Σ s²δ²) cos(μ·δ)."""
    hessian = np.zeros((len(X), len(Z), len(space), len(space)))
    differences = X[:, None, :] - Z[None, :, :]
    for weight, mean, scale in zip(*prior._parts(X.shape[1]), strict=True):
        envelope = (
            weight * np.exp(-0.5 * np.sum((scale * differences) ** 2, axis=2))[:, :, None, None]
        )
        phase = differences @ mean
        cosine, sine = np.cos(phase)[:, :, None, None], np.sin(phase)[:, :, None, None]
        pull = scale[space] ** 2 * differences[:, :, space]
        squares = pull[:, :, :, None] * pull[:, :, None, :]
        crossed = pull[:, :, :, None] * mean[space] + mean[space][:, None] * pull[:, :, None, :]
        fixed = np.diag(scale[space] ** 2) + np.outer(mean[space], mean[space])
        hessian += envelope * ((fixed - squares) * cosine - crossed * sine)
    return hessian
