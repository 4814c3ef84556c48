"""Shapley values of functions that are sums of products over groups of columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import numpy as np
from sklearn.utils import gen_batches

from .._loops.lazy import shapley as kernels
from .._loops.threads import ordered_map
from .kernels import KernelExpansion
from .replacements import ProductReplacements
from .waves import Expansion

# Rows that are explained together, and memory for their factors and those of the background.
_ROWS, _FACTOR_BYTES = 64, 2**26
# Largest error of a quadrature, as a share of the largest product of factors.
_TOLERANCE = 1e-14


def shapley_contributions(
    f: KernelExpansion | Expansion,
    X: np.ndarray,
    background: np.ndarray,
    groups: Sequence[np.ndarray],
) -> np.ndarray:
    r"""Return the Shapley values of groups of columns at rows X, (n_rows, n_groups, n_outputs).

    They explain f(x) minus its mean over the rows of ``background``. Take f(z) = intercept +
    z·slopes + Re Σ_i a_i Π_g factor_gi(z_g). The average over all orders of the groups is then an
    integral of a polynomial (Owen 1972), which Gauss-Legendre quadrature integrates:

    .. math:: \phi_j = \sum_i a_i \frac1L \sum_l (p_j - q_j)
        \int_0^1 \prod_{k \neq j} ((1 - t) q_k + t p_k) \, dt,

    Here p_k = factor_ki(x_k) and q_k = factor_ki(x_lk). The linear part adds slopes·(x_j − mean
    x_lj). ⌈n_groups / 2⌉ nodes are exact. Fewer are used if the error is proved to be below the
    rounding errors.
    """
    values = np.zeros((len(X), len(groups), f.n_outputs))
    for rows in gen_batches(len(X), _ROWS):
        values[rows] = _of_block(f, X[rows], background, groups)
    if f.slopes is not None:
        apart = X - background.mean(axis=0)
        for g, columns in enumerate(groups):
            values[:, g] += apart[:, columns] @ f.slopes[columns]
    return values


def _of_block(f, X, background, groups):
    """Return the contributions of the sum of products at some rows."""
    rows = np.concatenate([X, background]).astype(np.float64)
    # Rows with equal cells in a group get equal factors, to the last digit.
    cells = [
        np.unique(rows[:, columns], axis=0, return_index=True, return_inverse=True)[1:]
        for columns in groups
    ]
    is_wave, lanes = isinstance(f, Expansion), kernels.LANES
    rule = _quadrature(len(groups), is_wave)
    values = np.zeros((len(X), len(groups), f.n_outputs))
    n_terms = lanes * max(1, int(_FACTOR_BYTES / (8 * lanes * len(groups) * len(rows))))
    for terms in gen_batches(len(f), n_terms):
        product = ProductReplacements(f.take(terms), rows[:1], groups)
        n_used = len(product.coefficients)
        shape = len(rows), len(groups), -(-n_used // lanes) * lanes
        factors = np.ones(shape, np.complex128 if is_wave else np.float64)
        for g, (first, inverse) in enumerate(cells):
            factors[:, g, :n_used] = product.factor(g, rows[first])[inverse.ravel()]
        row_gains = partial(_gains, factors[len(X) :], rule, product.coefficients)
        values += np.stack(list(ordered_map(row_gains, factors[: len(X)])))
    return values / len(background)


def _gains(others, rule, coefficients, own):
    """Return the contributions of some terms at one row, summed over the background."""
    gains = np.empty_like(own)
    kernels.shapley_gains(own, others, *rule, gains)
    return (gains[:, : len(coefficients)] @ coefficients).real


@cache
def _quadrature(n_groups: int, is_wave: bool) -> tuple[np.ndarray, ...]:
    """Return numbers of nodes, the spread that each is enough for, and nodes and weights.

    The spread is S = Σ_k |p_k − q_k| / max(|p_k|, |q_k|), and s is the share of one factor in it.
    Take the ellipse with foci 0 and 1 and the sum ρ of half axes (in units of ½), and let c =
    (ρ + 1/ρ) / 2. On it a factor of a kernel is at most max(p, q) (1 + s (c − 1) / 2). So the
    integrand is at most exp(S (c − 1) / 2) times the largest product, and exp(S c / 2) for waves.
    The error of n nodes is at most 8/3 ρ^(−2n) / (1 − ρ^(−2)) times that: n nodes integrate the
    series in T_k exactly up to k = 2n − 1, and |T_k| <= 1.
    """
    most = max(1, -(-n_groups // 2))
    sizes = np.unique(np.ceil(1.1 ** np.arange(np.ceil(np.log(most) / np.log(1.1)) + 1)))
    sizes = np.unique(np.minimum(sizes, most)).astype(np.intp)
    rho = np.exp(np.geomspace(1e-3, 20.0, 500))
    growth = (rho + 1 / rho) / 2 - (0.0 if is_wave else 1.0)
    falls = 2 * sizes[:, None] * np.log(rho) + np.log(3 / 8 * (1 - rho**-2) * _TOLERANCE)
    limits = np.max(2 * falls / growth, axis=1)
    nodes, weights = np.zeros((2, len(sizes), most))
    for row, size in enumerate(sizes):
        places, shares = np.polynomial.legendre.leggauss(size)
        nodes[row, :size], weights[row, :size] = (1 + places) / 2, shares / 2
    return sizes, limits, nodes, weights
