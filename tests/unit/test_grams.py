"""Compiled Gram matrices and their slopes against the plain formulas, at every width of the
columns.
"""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from bochner import Anova, Gaussian, Laplace, Matern
from bochner._loops import grams
from bochner._loops.grams import GAUSSIAN, ProductKernel, RadialKernel, skinny_product

POLYNOMIALS = {0: lambda t: 1.0, 1: lambda t: 1 + t, 2: lambda t: 1 + t + t**2 / 3}


def matern(order, t):
    return POLYNOMIALS[order](t) * np.exp(-t)


def product_formula(kernel, X, Z):
    """The definition, column by column; only for tests."""
    gram = np.ones((len(X), len(Z)))
    for j, rate in enumerate(kernel.rates):
        factor = matern(
            kernel.order, rate * np.abs(X[:, j, None].astype(float) - Z[:, j].astype(float))
        )
        gram *= (
            factor
            if kernel.weights is None
            else (1 + kernel.weights[j] * factor) / (1 + kernel.weights[j])
        )
    return gram


def radial_formula(kernel, X, Z):
    squares = sum((rate * (X[:, j, None] - Z[:, j])) ** 2 for j, rate in enumerate(kernel.rates))
    return (
        np.exp(-squares / 2) if kernel.order == GAUSSIAN else matern(kernel.order, np.sqrt(squares))
    )


def formula(kernel, X, Z):
    return (product_formula if isinstance(kernel, ProductKernel) else radial_formula)(kernel, X, Z)


def product(order, weighted, d=4, rate=1.0):
    rng = np.random.default_rng(order)
    weights = rng.uniform(0.05, 3.0, d) if weighted else None
    return ProductKernel(rate * np.linspace(0.3, 1.2, d), weights, order)


KERNELS = [product(0, True), product(1, True), product(2, True), product(0, False)]
KERNELS += [RadialKernel(np.linspace(0.3, 1.2, 4), order) for order in (GAUSSIAN, 0, 1, 2)]


def kernel_id(kernel):
    weighted = isinstance(kernel, ProductKernel) and kernel.weights is not None
    return f"{type(kernel).__name__} order {kernel.order}{' weighted' if weighted else ''}"


def rows(n, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("width", [1e-3, 1e-1, 1e1, 1e2, 1e3, 1e4])
@pytest.mark.parametrize(("order", "weighted"), [(0, True), (1, True), (2, True), (0, False)])
def test_products_are_exact_at_any_width_of_the_columns(order, weighted, width):
    X, Z = rows(37), rows(22, seed=1)
    spread = np.ptp(np.vstack([X, Z]), axis=0).max()
    kernel = product(order, weighted, rate=width / spread)
    Z[:5] = X[:5] + 1e-3 / width  # also neighbors, where wide columns still have something to say
    exact = product_formula(kernel, X, Z)
    np.testing.assert_allclose(kernel.gram(X, Z), exact, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(
        kernel.gram(X), product_formula(kernel, X, X), rtol=1e-11, atol=1e-13
    )
    single = kernel.gram(X.astype(np.float32), Z.astype(np.float32))
    assert single.dtype == np.float32
    rounded = product_formula(kernel, X.astype(np.float32), Z.astype(np.float32))
    np.testing.assert_allclose(
        single, rounded, atol=3e-6 + 1e-7 * width
    )  # t itself is rounded to float32


@pytest.mark.parametrize("kernel", KERNELS, ids=kernel_id)
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 131])
def test_symmetric_and_rectangular_matrices_of_all_sizes(kernel, n):
    X, Z = rows(n), rows(7, seed=1)
    exact = formula(kernel, X, X)
    gram = kernel.gram(X)
    np.testing.assert_allclose(gram, exact, atol=1e-14)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_array_equal(np.tril(kernel.gram(X, lower=True)), np.tril(gram))
    np.testing.assert_allclose(kernel.gram(X, Z), formula(kernel, X, Z), atol=1e-14)
    np.testing.assert_allclose(kernel.gram(X, X), exact, atol=1e-14)  # the same object
    np.testing.assert_allclose(kernel.gram(X[:0], Z), np.empty((0, 7)))


@pytest.mark.parametrize("kernel", KERNELS[:3] + KERNELS[-2:], ids=kernel_id)
def test_columns_beyond_one_tile_and_an_offset(kernel):
    X = rows(1100) + 1e6
    gram = kernel.gram(X)
    np.testing.assert_allclose(gram[:, ::50], formula(kernel, X, X[::50]), atol=1e-9)
    np.testing.assert_allclose(kernel.gram(X[:3], X), gram[:3], atol=1e-9)
    np.testing.assert_allclose(gram[1030:1060], gram[:, 1030:1060].T, atol=0)


@pytest.mark.parametrize("order", [GAUSSIAN, 0, 1, 2])
def test_many_columns_take_matrix_products_and_say_the_same(order):
    X = rows(90, 60)
    X[3] = X[70]
    kernel = RadialKernel(np.full(60, 0.1), order)
    # √s of two equal rows is the square root of rounding: 1e-7 where the kernel has a corner there.
    np.testing.assert_allclose(
        kernel.gram(X), radial_formula(kernel, X, X), atol=1e-7 if order == 0 else 1e-13
    )
    np.testing.assert_array_equal(np.diag(kernel.gram(X)), 1)


@pytest.mark.parametrize("kernel", KERNELS, ids=kernel_id)
@pytest.mark.parametrize("wide", [False, True])
def test_slopes_are_the_derivatives_of_the_contracted_matrix(kernel, wide):
    X = rows(70)
    if wide:
        X *= 100.0 if isinstance(kernel, ProductKernel) and kernel.weights is not None else 1.0
        X[:40, 0] *= 30
    pull = np.random.default_rng(1).normal(size=(70, 70))
    pull = pull + pull.T
    rate_slopes, weight_slopes = kernel.slopes(X, kernel.gram(X, lower=True), np.tril(pull))

    def contracted(rates, weights):
        parts = (
            (rates, weights, kernel.order)
            if isinstance(kernel, ProductKernel)
            else (rates, kernel.order)
        )
        return np.sum(pull * formula(type(kernel)(*parts), X, X))

    weights = kernel.weights if isinstance(kernel, ProductKernel) else None
    step = 1e-5
    for j in range(4):
        up, down = np.exp(step * np.eye(4)[j]), np.exp(-step * np.eye(4)[j])
        numeric = contracted(kernel.rates * up, weights) - contracted(kernel.rates * down, weights)
        assert rate_slopes[j] == pytest.approx(numeric / (2 * step), rel=1e-6, abs=1e-7)
        if weights is not None:
            numeric = contracted(kernel.rates, weights * up) - contracted(
                kernel.rates, weights * down
            )
            assert weight_slopes[j] == pytest.approx(numeric / (2 * step), rel=1e-6, abs=1e-7)
    assert (weight_slopes is None) == (weights is None)
    single = X.astype(np.float32)
    pull32 = np.tril(pull).astype(np.float32)
    rough, _ = kernel.slopes(single, kernel.gram(single, lower=True), pull32)
    np.testing.assert_allclose(rough, rate_slopes, rtol=1e-3, atol=1e-3)


def test_slopes_and_grams_do_not_depend_on_threads():
    X = rows(600)
    pull = np.tril(rows(600, 600, seed=2))
    for kernel in (KERNELS[1], KERNELS[-1]):
        results = []
        for n_threads in (1, 2):
            with threadpool_limits(n_threads):
                results.append((kernel.gram(X), kernel.slopes(X, kernel.gram(X), pull.copy())[0]))
        np.testing.assert_array_equal(results[0][0], results[1][0])
        # Those of radial kernels end in a product by BLAS, which adds up in its own order.
        np.testing.assert_allclose(
            results[0][1], results[1][1], rtol=0 if isinstance(kernel, ProductKernel) else 1e-12
        )


@pytest.mark.parametrize(
    "prior",
    [
        Laplace(gamma=[0.1, 0.5, 1.0, 2.0]),
        Anova(nu=2.5, weight=[0.0, 1.0, 2.0, 0.1]),
        Gaussian(gamma=[0.1, 0.5, 1.0, 2.0]),
        Matern(nu=0.5, length_scale=2.0),
        Matern(nu=2.5, length_scale=[1.0, 2.0, 3.0, 4.0]),
    ],
    ids=repr,
)
def test_the_compiled_kernel_of_a_prior_is_its_kernel(prior):
    X, Z = rows(40), rows(9, seed=3)
    np.testing.assert_allclose(
        prior.compiled(4).gram(X, Z), prior.kernel(X, Z), rtol=1e-12, atol=1e-13
    )


def test_laplace_equals_the_product_of_its_factors():
    X = rows(50)
    prior = Laplace(gamma=0.7)
    exact = np.prod([prior._factor(0.7 * (X[:, j, None] - X[:, j])) for j in range(4)], axis=0)
    np.testing.assert_allclose(prior.kernel(X), exact, rtol=1e-12)


def test_priors_without_a_compiled_kernel_say_so():
    assert Matern(nu=2.2).compiled(3) is None


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("n_numbers", [0, 2])
def test_indicator_columns_are_products_and_slopes_like_all_others(
    order, weighted, n_numbers, monkeypatch
):
    if not weighted and order:
        return
    rng = np.random.default_rng(order)
    X = np.column_stack(
        [1.5 * (rng.random((60, 50)) < 0.3), rng.normal(size=(60, n_numbers)), np.full(60, 2.0)]
    )
    Z = np.column_stack(
        [1.5 * (rng.random((9, 50)) < 0.3), rng.normal(size=(9, n_numbers)), np.full(9, 2.0)]
    )
    rates = rng.uniform(0.1, 1.0, X.shape[1])
    weights = rng.uniform(0.1, 2.0, X.shape[1]) if weighted else None
    kernel = ProductKernel(rates, weights, order)
    pull = rng.normal(size=(60, 60))
    pull = pull + pull.T
    found = [
        kernel.gram(X),
        kernel.gram(X, Z),
        *kernel.slopes(X, kernel.gram(X, lower=True), pull.copy()),
    ]
    monkeypatch.setattr(grams, "_TWO_VALUED", 10**9)
    expected = [
        kernel.gram(X),
        kernel.gram(X, Z),
        *kernel.slopes(X, kernel.gram(X, lower=True), pull.copy()),
    ]
    for one, other in zip(found, expected, strict=True):
        if other is None:
            assert one is None
        else:
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 2, 4, 7, 49])
@pytest.mark.parametrize("size", [1, 5, 64, 331])
def test_products_with_few_columns_are_those_of_the_upper_left_block(size, n_columns, dtype):
    rng = np.random.default_rng(size)
    matrix = rng.normal(size=(333, 333)).astype(dtype)
    matrix += matrix.T.copy()
    vectors = rng.normal(size=(n_columns, size)).astype(dtype)
    product = skinny_product(matrix, vectors)
    assert product.dtype == dtype
    precision = 1e-4 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(product, vectors @ matrix[:size, :size], atol=precision)
