"""Confidence bands of effects: posterior standard deviations of linear functionals.

An effect is a linear functional L of the fitted function. Each kernel member is the posterior mean
of a Gaussian process with covariance s² κ and a free intercept. The noise of a row has variance
s² ridge / weight, and κ includes the linear part. The posterior variance of the effect is
s² (L L' κ − (c; 0)ᵀ M⁻¹ (c; 0)). Here c = L κ(·, rows), and M is the matrix of the solved system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtri

from ..expansions.dependence import GroupValues, Pairs
from ..expansions.kernels import KernelExpansion
from ..expansions.replacements import ProductReplacements
from ..solvers.dual import CholeskySystem, kernel_matrix
from .blending import Blend


@dataclass(frozen=True, eq=False)
class KernelSystem:
    """The system that a kernel member solves.

    Parameters
    ----------
    linear : array (n_columns,)
        Weights of z_j z'_j / n_columns in the kernel of the fit.
    ridge : float
    row_weights : array (n_rows,)
    """

    linear: np.ndarray
    ridge: float
    row_weights: np.ndarray


@dataclass(frozen=True, eq=False)
class Bands:
    """Half-widths of pointwise confidence bands, in the shapes of main effects and pairs."""

    level: float
    main: np.ndarray
    pairs: np.ndarray

    def first_output(self) -> Bands:
        """Return the bands of the first output, without an axis of outputs."""
        return Bands(self.level, self.main[..., 0], self.pairs[..., 0])


def check_level(level: Any) -> None:
    """Raise an error unless ``level`` is a probability between 0 and 1."""
    if not (isinstance(level, Real) and 0 < float(level) < 1):
        raise ValueError(f"level must lie between 0 and 1, got {level!r}. Write e.g. level=0.9.")


def effect_bands(
    blend: Blend,
    systems: Sequence[KernelSystem],
    background: np.ndarray,
    own: GroupValues,
    pairs: Pairs,
    unit: np.ndarray,
    level: float,
) -> Bands:
    """Return the bands of the effects of ``unit`` times a blend of kernel members.

    The standard deviations of members are added: their errors have the same sign.
    """
    main: Any = 0.0
    doubles: Any = 0.0
    for weight, f, system in zip(blend.weights, blend.members, systems, strict=True):
        assert isinstance(f, KernelExpansion)
        posterior = EffectPosterior(f, system, background, own)
        one = [posterior.main(g)[own.codes[g]] for g in range(len(own.groups))]
        two = [posterior.pair(g, h) for g, h in pairs]
        main = main + weight * np.stack(one, axis=1)
        doubles = doubles + weight * np.reshape(two, (len(pairs), *one[0].shape)).swapaxes(0, 1)
    reach = ndtri((1 + level) / 2) * unit
    return Bands(level, reach * main, reach * doubles)


class EffectPosterior:
    """Posterior standard deviations of the effects of one member."""

    def __init__(
        self, f: KernelExpansion, system: KernelSystem, background: np.ndarray, own: GroupValues
    ):
        n_columns, dual = f.points.shape[1], f.coefficients.astype(np.float64)
        self.linear = system.linear / n_columns
        self.points, self.background, self.own = f.points.astype(np.float64), background, own
        gram = kernel_matrix(f.prior, self.linear, self.points)
        noise = system.ridge / system.row_weights
        # yᵀ C y / n: coefficients are C y, targets minus the intercept (K + noise) C y. A row of
        # weight 2 counts as two observations.
        squares = np.sum(dual * (gram @ dual + noise[:, None] * dual), axis=0)
        self.variance = squares / system.row_weights.sum()
        self.system = CholeskySystem(gram, system.row_weights, system.ridge, True)
        # Factors with the points (no rows: one factor at a time), and those between the background
        # rows.
        self.of_points = ProductReplacements(f, background[:0], own.groups)
        zeros = np.zeros((len(background), 1)), np.zeros((n_columns, 1)), np.zeros(1)
        among = KernelExpansion(f.prior, background, *zeros)
        self.among = ProductReplacements(among, background, own.groups)
        product = np.ones((len(background), len(self.points)))
        for g in range(len(own.groups)):
            product *= self.of_points.factor(g, background)
        self.product = product

    def main(self, group: int) -> np.ndarray:
        """Return the standard deviations at distinct values of a group, (n_distinct, n_outputs)."""
        values, columns, among = self.own[group], self.own.groups[group], self.among
        shift = values[:, columns] - self.background[:, columns].mean(axis=0)
        linear = self.linear[columns]
        cross = self.of_points.factor(group, values) * self._rest(group) - self._rest()
        cross += (shift * linear) @ self.points[:, columns].T
        # The mean over pairs of background rows of (1 − a − a' + F) K, a the factor between a value
        # and a row, F that between two rows, and K the product of all other factors.
        a, K = among.factor(group, values), among.rest([group])
        prior = K.sum() - 2 * a @ K.sum(axis=0) + among.product.sum()
        return self._deviation(cross, prior / len(K) ** 2 + shift**2 @ linear)

    def pair(self, first: int, second: int) -> np.ndarray:
        """Return the standard deviations at all values of a pair, (n_values, n_outputs)."""
        values, among, of_points = self.own.values, self.among, self.of_points
        cross = of_points.own([first, second], values) * self._rest(first, second) + self._rest()
        for g in (first, second):
            cross -= of_points.factor(g, values) * self._rest(g)
        # As for a main effect, of (1 − a − a' + F) (1 − b − b' + G) K.
        a, b = among.factor(first, values), among.factor(second, values)
        K = among.rest([first, second])
        with_first, with_second = among.rest([second]), among.rest([first])
        prior = K.sum() + with_first.sum() + with_second.sum() + among.product.sum()
        prior = prior - 2 * (a + b - a * b) @ K.sum(axis=0) + 2 * np.sum((a @ K) * b, axis=1)
        prior -= 2 * (a @ with_second.sum(axis=0) + b @ with_first.sum(axis=0))
        return self._deviation(cross, prior / len(K) ** 2)

    def _rest(self, *groups):
        """Return the mean over the background of the product of other factors, (n_points,)."""
        rest = self.product
        for g in groups:
            rest = rest / self.of_points.factor(g, self.background)
        return rest.mean(axis=0)

    def _deviation(self, cross, prior):
        """Return s √(prior − (c; 0)ᵀ M⁻¹ (c; 0)) for the rows c of ``cross``."""
        flat = self.system.flat
        half = solve_triangular(self.system.factor[0], cross.T, lower=True, check_finite=False)
        posterior = prior - np.sum(half**2, axis=0) + (cross @ flat) ** 2 / flat.sum()
        return np.sqrt(np.maximum(posterior, 0.0)[:, None] * self.variance)
