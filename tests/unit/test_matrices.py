"""Matrices in place, against NumPy's own products, inverses and solutions."""

import time
from threading import Event, Thread

import numpy as np
import pytest

from bochner._loops import matrices

PRECISIONS = pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 2e-4), (np.float64, 1e-11)])


def lower_and_whole(dtype, size=700):
    """A symmetric matrix, and its lower half with noughts that must not be read above it; several
    tiles large.
    """
    rng = np.random.default_rng(size)
    root = rng.normal(size=(size, size + 20))
    whole = (root @ root.T / size + np.eye(size)).astype(dtype)
    return np.tril(whole) + np.triu(np.full_like(whole, np.nan), 1), whole


def columns_of(dtype, size=700, n_columns=9):
    return np.random.default_rng(1).normal(size=(size, n_columns)).astype(dtype)


@PRECISIONS
def test_products_of_the_lower_half_are_those_of_the_whole(dtype, rtol):
    lower, whole = lower_and_whole(dtype)
    product = matrices.symmetric_product(lower, columns_of(dtype))
    assert product.dtype == dtype
    np.testing.assert_allclose(
        product, whole.astype(float) @ columns_of(dtype), rtol=rtol, atol=rtol
    )


@PRECISIONS
def test_outer_products_are_added_in_the_lower_half(dtype, rtol):
    lower, whole = lower_and_whole(dtype)
    columns = columns_of(dtype)
    matrices.add_outer_products(lower, columns, -0.5, 0.25)
    expected = 0.25 * whole.astype(float) - 0.5 * columns.astype(float) @ columns.T
    np.testing.assert_allclose(np.tril(lower), np.tril(expected), rtol=rtol, atol=rtol)
    assert np.all(np.isnan(lower[np.triu_indices(700, 1)]))


@PRECISIONS
def test_inner_products_and_added_products(dtype, rtol):
    left, right = columns_of(dtype), columns_of(dtype, 300)
    np.testing.assert_allclose(
        matrices.inner_products(left), left.astype(float).T @ left, rtol=rtol, atol=1e2 * rtol
    )
    out = np.ones((700, 300), dtype)
    matrices.add_products(out, left, right)
    np.testing.assert_allclose(out, 1 + left.astype(float) @ right.T, rtol=rtol, atol=rtol)


@PRECISIONS
@pytest.mark.parametrize("transposed", [False, True])
def test_triangular_systems(dtype, rtol, transposed):
    lower, whole = lower_and_whole(dtype)
    assert matrices.factorize(lower)
    triangle = np.linalg.cholesky(whole.astype(float))
    np.testing.assert_allclose(np.tril(lower), triangle, rtol=rtol, atol=rtol)
    rows = np.ascontiguousarray(columns_of(dtype).T)
    expected = np.linalg.solve(triangle.T if transposed else triangle, rows.T.astype(float)).T
    matrices.solve_lower(lower, rows, transposed)
    np.testing.assert_allclose(rows, expected, rtol=rtol, atol=rtol)


@PRECISIONS
def test_inverses_and_determinants(dtype, rtol):
    lower, whole = lower_and_whole(dtype)
    assert matrices.invert(lower) == pytest.approx(
        np.linalg.slogdet(whole.astype(float))[1] / 2, rel=rtol
    )
    np.testing.assert_allclose(
        matrices.mirror(lower), np.linalg.inv(whole.astype(float)), rtol=rtol, atol=rtol
    )


@PRECISIONS
def test_what_is_not_positive_definite_has_no_inverse(dtype, rtol):
    indefinite = np.diag([1.0, -1.0, 2.0]).astype(dtype)
    assert not matrices.factorize(indefinite.copy())
    assert matrices.invert(indefinite.copy()) is None


@pytest.mark.long
def test_python_goes_on_while_a_matrix_is_factorized():
    """Another thread is never kept waiting for most of the call: LAPACK does not hold the
    interpreter's lock.
    """
    lower, _ = lower_and_whole(np.float64, 2000)
    ticks, done = [], Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(1e-4)

    ticking = Thread(target=tick)
    ticking.start()
    while not ticks:
        time.sleep(1e-3)
    begun = time.perf_counter()
    matrices.factorize(lower)
    ended = time.perf_counter()
    done.set()
    ticking.join()
    within = [begun, *(moment for moment in ticks if begun < moment < ended), ended]
    assert np.diff(within).max() < (ended - begun) / 2
