"""Sums of kernels at points: values, derivatives by differences, and effects by brute force over
sets of columns.
"""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from bochner import (
    Anova,
    Cauchy,
    Gaussian,
    KernelExpansion,
    Laplace,
    Matern,
    RationalQuadratic,
    Sinc,
)

PRIORS = [
    Gaussian(gamma=[0.2, 0.5, 1.0, 0.1]),
    Matern(nu=0.5, length_scale=2.0),
    Matern(nu=1.5),
    Matern(nu=2.5, length_scale=[1.0, 2.0, 3.0, 0.5]),
    Laplace(gamma=[0.2, 0.5, 1.0, 0.1]),
    Anova(nu=0.5, weight=0.7),
    Anova(nu=1.5, length_scale=[1.0, 2.0, 3.0, 0.5], weight=[0.0, 0.5, 1.0, 3.0]),
    Anova(nu=2.5, weight=2.0),
]


def expansion(prior, n_points=30, n_outputs=2, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return KernelExpansion(
        prior,
        rng.normal(size=(n_points, d)),
        rng.normal(size=(n_points, n_outputs)),
        rng.normal(size=(d, n_outputs)),
        rng.normal(size=n_outputs),
    )


def rows(n=12, d=4):
    return np.random.default_rng(9).normal(size=(n, d))


@pytest.mark.parametrize("prior", [*PRIORS, Cauchy()], ids=repr)
def test_values_are_sums_of_kernels(prior):
    f, X = expansion(prior), rows()
    exact = f.intercept + X @ f.slopes + prior.kernel(X, f.points) @ f.coefficients
    np.testing.assert_allclose(f.evaluate(X), exact, atol=1e-12)
    np.testing.assert_array_equal(f.evaluate(sp.csr_matrix(X)), f.evaluate(X))
    single = f.evaluate(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, exact, atol=1e-5)


@pytest.mark.parametrize(
    "prior", [*PRIORS, Cauchy(1.4), Sinc(), Matern(nu=2.2), RationalQuadratic()], ids=repr
)
def test_derivatives_are_differences(prior):
    f, X = expansion(prior), rows()
    slopes, step = f.jacobian(X), 1e-5
    assert slopes.shape == (12, 2, 4)
    for j in range(4):
        numeric = (f.evaluate(X + step * np.eye(4)[j]) - f.evaluate(X - step * np.eye(4)[j])) / (
            2 * step
        )
        np.testing.assert_allclose(slopes[:, :, j], numeric, atol=1e-7)
    assert np.all(np.isfinite(f.jacobian(f.points)))  # at the corners too


@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize("prior", [Laplace(gamma=0.4), Anova(nu=0.5), Matern(nu=0.5)], ids=repr)
def test_at_a_kink_the_derivative_is_the_mean_of_both_sides(prior, precision):
    rng = np.random.default_rng(0)
    points = 0.1 * rng.integers(0, 6, size=(40, 2))  # tenths are not exact in either precision
    weights = rng.normal(size=(40, 1)).astype(precision)
    f = KernelExpansion(prior, points, weights, np.zeros((2, 1)), np.zeros(1))
    exact = KernelExpansion(
        prior, points, weights.astype(np.float64), np.zeros((2, 1)), np.zeros(1)
    )
    at, step = exact.evaluate(points), 1e-6
    for j in range(2):
        up, down = (exact.evaluate(points + move * step * np.eye(2)[j]) for move in (1, -1))
        for side, slope in ((0, (up - down) / 2), (1, up - at), (-1, at - down)):
            np.testing.assert_allclose(f.jacobian(points, side)[:, :, j], slope / step, atol=1e-4)


def test_blocks_of_rows_change_nothing(monkeypatch):
    f, X = expansion(PRIORS[6]), rows(40)
    values, slopes, effects = f.evaluate(X), f.jacobian(X), f.effects(X)
    monkeypatch.setattr("bochner.expansions.kernels._BLOCK_BYTES", 8 * 30 * 7)
    np.testing.assert_allclose(f.evaluate(X), values, atol=1e-12)
    np.testing.assert_allclose(f.jacobian(X), slopes, atol=1e-12)
    np.testing.assert_allclose(f.effects(X).pairs, effects.pairs, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_effects_of_anova_are_those_of_every_set_of_columns(nu, d):
    """Σ_S Π_{j ∈ S} w_j κ_j(x_j, z_ij) / Π (1 + w_j), set by set."""
    rng = np.random.default_rng(d)
    weights, lengths = rng.uniform(0, 2, d), rng.uniform(0.5, 2, d)
    f, X = expansion(Anova(nu=nu, length_scale=lengths, weight=weights), d=d), rows(d=d)
    factors = [
        w * Matern(nu=nu, length_scale=ell).kernel(X[:, [j]], f.points[:, [j]])
        for j, (w, ell) in enumerate(zip(weights, lengths))
    ]
    by_set = {
        columns: np.prod([np.ones((12, 30)), *(factors[j] for j in columns)], axis=0)
        @ f.coefficients
        / np.prod(1 + weights)
        for order in range(d + 1)
        for columns in combinations(range(d), order)
    }
    effects = f.effects(X)
    np.testing.assert_allclose(effects.constant, f.intercept + by_set[()][0], atol=1e-12)
    for j in range(d):
        np.testing.assert_allclose(
            effects.main[:, j], by_set[(j,)] + X[:, [j]] * f.slopes[j], atol=1e-12
        )
    assert [tuple(pair) for pair in effects.pair_columns] == list(combinations(range(d), 2))
    for p, pair in enumerate(combinations(range(d), 2)):
        np.testing.assert_allclose(effects.pairs[:, p], by_set[pair], atol=1e-12)
    higher = sum((by_set[columns] for columns in by_set if len(columns) > 2), np.zeros((12, 2)))
    np.testing.assert_allclose(effects.rest, higher, atol=1e-11)
    np.testing.assert_allclose(effects.total(), f.evaluate(X), atol=1e-11)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 1e3])
@pytest.mark.parametrize("max_order", [1, 2])
def test_effects_of_laplace_add_up_and_one_column_is_a_main_effect(gamma, max_order):
    f, X = expansion(Laplace(gamma=gamma)), rows()
    effects = f.effects(X, max_order)
    np.testing.assert_allclose(effects.total(), f.evaluate(X), atol=1e-9)
    assert effects.pairs.shape[1] == (6 if max_order == 2 else 0)
    # Where only one column differs between rows, the others' effects are the same in all of them.
    moved = np.repeat(X[:1], 5, axis=0)
    moved[:, 2] = np.arange(5.0)
    others = f.effects(moved, max_order).main[:, [0, 1, 3]]
    np.testing.assert_allclose(others, others[:1].repeat(5, axis=0), atol=1e-12)
    single = KernelExpansion(
        Laplace(gamma=gamma), f.points[:, :1], f.coefficients, f.slopes[:1], f.intercept
    )
    np.testing.assert_allclose(single.effects(X[:, :1], max_order).rest, 0, atol=1e-10)


def test_main_effects_of_laplace_have_mean_zero_over_the_points_up_to_the_slopes():
    f = expansion(Laplace(gamma=0.5))
    centered = KernelExpansion(f.prior, f.points, f.coefficients, np.zeros((4, 2)), f.intercept)
    np.testing.assert_allclose(centered.effects(f.points).main.mean(axis=0), 0, atol=1e-12)


def test_take_keeps_intercept_and_slopes():
    f, X = expansion(Gaussian()), rows()
    first, second = f.take(slice(0, 10)), f.take(np.arange(10, 30))
    assert (len(first), len(second), f.n_outputs) == (10, 20, 2)
    linear = f.intercept + X @ f.slopes
    np.testing.assert_allclose(
        first.evaluate(X) + second.evaluate(X) - linear, f.evaluate(X), atol=1e-12
    )


def test_refusals_say_what_is_needed():
    f = expansion(Matern(nu=0.8))
    with pytest.raises(TypeError, match="needs the method `_slopes`, which Matern does not define"):
        f.jacobian(rows())
    with pytest.raises(TypeError, match="needs the method `column_factor`"):
        expansion(Gaussian()).effects(rows())
    with pytest.raises(ValueError, match="max_order must be 1"):
        expansion(Laplace()).effects(rows(), 3)
    with pytest.raises(ValueError, match="has 4 features"):
        f.evaluate(rows(d=3))
    with pytest.raises(ValueError, match="Got coefficients of shape"):
        KernelExpansion(
            Gaussian(), np.zeros((3, 2)), np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(1)
        )
