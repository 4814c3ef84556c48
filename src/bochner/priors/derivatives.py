"""Gradients and Hessians of radial kernels and of product kernels."""

import numpy as np

from .._loops.grams import ProductKernel

# The ν whose Matérn kernels are an exponential times a polynomial, and its degree.
MATERN_ORDERS = {0.5: 0, 1.5: 1, 2.5: 2}


def matern_profile(t, order):
    """Return e⁻ᵗ, e⁻ᵗ (1 + t) or e⁻ᵗ (1 + t + t²/3), for arrays and for tensors of ONNX graphs."""
    decay = np.exp(-t)
    if order == 0:
        return decay
    return decay * (1.0 + t) if order == 1 else decay * (1.0 + t + t * t / 3.0)


def squared_distances(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return ‖x − z‖² for all pairs of rows, by differences: products would cancel."""
    return sum((left[:, j, None] - right[:, j]) ** 2 for j in range(left.shape[1]))


def radial_gradient(left, right, steepness, coefficients, rates):
    """Return ∂/∂x Σ_i c_i f(s_i), s_i = ‖r (x − z_i)‖², (n_samples, n_outputs, n_features).

    ``left`` and ``right`` are r x and r z, ``steepness`` is f'(s) for all pairs.
    """
    gradient = np.empty((len(left), coefficients.shape[1], left.shape[1]))
    for k, own in enumerate(coefficients.T.astype(np.float64)):
        pull = steepness * own
        gradient[:, k] = 2 * rates * (left * pull.sum(axis=1)[:, None] - pull @ right)
    return gradient


def product_gradient(kernel: ProductKernel, X, points, coefficients, side):
    """Return ∂/∂x Σ_i c_i k(x, z_i), (n_samples, n_outputs, n_features).

    The derivative of a product is the product times the logarithmic derivative of one factor. At a
    kink, ``side`` selects the derivative from below (-1), above (1) or their mean (0).
    """
    gram = kernel.gram(X, points)
    gradient = np.empty((len(X), coefficients.shape[1], X.shape[1]))
    for j, rate in enumerate(kernel.rates):
        t = rate * np.abs(X[:, j, None] - points[:, j])
        value = matern_profile(t, kernel.order)
        downward = np.exp(-t) * (
            1.0 if kernel.order == 0 else t if kernel.order == 1 else t * (1 + t) / 3
        )
        # Without weights a factor exp(−t) is its own slope, also where both underflow.
        ratio = (
            1.0
            if kernel.weights is None
            else kernel.weights[j] * downward / (1 + kernel.weights[j] * value)
        )
        signs = np.sign(X[:, j, None] - points[:, j])
        gradient[:, :, j] = (
            gram * ratio * (-rate * np.where(signs == 0, side, signs))
        ) @ coefficients
    return gradient


def product_hessian(derivatives, rates, columns):
    """Return −∂²/∂δ_a∂δ_b Π_j f_j(r_j δ_j) from (f, f', f'') of each column."""
    n_samples, n_others = derivatives[0][0].shape
    hessian = np.empty((n_samples, n_others, len(columns), len(columns)))
    for a, i in enumerate(columns):
        for b, j in enumerate(columns[: a + 1]):
            orders = np.zeros(len(rates), dtype=int)
            orders[i] += 1
            orders[j] += 1
            product = -rates[i] * rates[j] * np.ones((n_samples, n_others))
            for factors, order in zip(derivatives, orders, strict=True):
                product = product * factors[order]
            hessian[:, :, a, b] = hessian[:, :, b, a] = product
    return hessian
