"""Closed-form Gram matrices on arrays of the array API standard: plain products over columns, and functions of distances."""

from typing import Any

import numpy as np

from .grams import GAUSSIAN, ProductKernel, RadialKernel


def tensor_gram(xp: Any, kernel: ProductKernel | RadialKernel, X: Any, Z: Any) -> Any:
    """k(x, z), (n_samples, n_other_samples), where X and Z are and in their precision."""
    if isinstance(kernel, RadialKernel):
        return _profile(xp, _squares(xp, kernel.rates, X, Z), kernel.order)
    if kernel.weights is None:
        exponent = sum(_times(xp, X, Z, j, rate) for j, rate in enumerate(kernel.rates))
        return xp.exp(-exponent)
    gram = xp.ones((X.shape[0], Z.shape[0]), dtype=X.dtype, device=X.device)
    for j, (rate, weight) in enumerate(zip(kernel.rates, kernel.weights, strict=True)):
        gram = gram * (1 + float(weight) * _matern(xp, _times(xp, X, Z, j, rate), kernel.order)) / (1 + float(weight))
    return gram


def _times(xp, X, Z, j, rate):
    return float(rate) * xp.abs(X[:, j, None] - Z[None, :, j])


def _squares(xp, rates, X, Z):
    """Squared distances, by products of rows around their mean, which cancel less."""
    rates = xp.asarray(np.array(rates), dtype=X.dtype, device=X.device)
    center = xp.mean(Z, axis=0)
    left, right = (X - center) * rates, (Z - center) * rates
    squares = xp.sum(left**2, axis=1)[:, None] + xp.sum(right**2, axis=1)[None, :] - 2 * left @ right.T
    return xp.where(squares > 0, squares, xp.zeros_like(squares))


def _profile(xp, squares, order):
    return xp.exp(-squares / 2) if order == GAUSSIAN else _matern(xp, xp.sqrt(squares), order)


def _matern(xp, times, order):
    decay = xp.exp(-times)
    if order == 0:
        return decay
    return decay * (1 + times if order == 1 else 1 + times + times**2 / 3)
