"""Spherical harmonics: orthonormality by exact quadrature, the addition theorem, poles, and the
measure over them.
"""

import numpy as np
import pytest
from scipy.special import eval_gegenbauer, roots_gegenbauer

from bochner import HarmonicMeasure, arc_cosine_kernel, spherical_harmonics
from bochner.measures import harmonic as module
from bochner.measures.harmonic import (
    basis_size,
    harmonic_columns,
    harmonic_count,
    harmonic_indices,
    sphere_area,
)

DIMENSIONS = [(2, 9), (3, 12), (4, 6), (5, 4)]


def sphere_quadrature(n_features, degree):
    """Points and weights that integrate polynomials of this degree over the sphere exactly,
    dimension by dimension.
    """
    n_angles = degree + 1
    angles = 2 * np.pi * np.arange(n_angles) / n_angles
    points, weights = (
        np.column_stack([np.cos(angles), np.sin(angles)]),
        np.full(n_angles, 2 * np.pi / n_angles),
    )
    for k in range(3, n_features + 1):
        t, u = roots_gegenbauer(degree // 2 + 1, (k - 2) / 2)
        lower = np.sqrt(1 - t**2)[:, None, None] * points
        points = np.concatenate(
            [lower, np.broadcast_to(t[:, None, None], (*lower.shape[:2], 1))], axis=2
        )
        points, weights = points.reshape(-1, k), np.outer(u, weights).ravel()
    return points, weights


def unit_rows(n_rows, n_features, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_rows, n_features))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize(("n_features", "max_degree"), DIMENSIONS)
def test_harmonics_are_orthonormal_by_quadrature(n_features, max_degree):
    points, weights = sphere_quadrature(n_features, 2 * max_degree)
    Y = spherical_harmonics(points, max_degree)
    np.testing.assert_allclose(weights.sum(), sphere_area(n_features), rtol=1e-13)
    np.testing.assert_allclose(Y.T @ (weights[:, None] * Y), np.eye(Y.shape[1]), atol=1e-12)


@pytest.mark.parametrize(("n_features", "max_degree"), DIMENSIONS[1:])
def test_addition_theorem(n_features, max_degree):
    X, Z = unit_rows(7, n_features), unit_rows(5, n_features, seed=1)
    left, right = spherical_harmonics(X, max_degree), spherical_harmonics(Z, max_degree)
    degrees = harmonic_indices(n_features, max_degree)[:, 0]
    order = (n_features - 2) / 2
    for degree in range(max_degree + 1):
        sums = left[:, degrees == degree] @ right[:, degrees == degree].T
        gegenbauer = eval_gegenbauer(degree, order, X @ Z.T) / eval_gegenbauer(degree, order, 1.0)
        scale = harmonic_count(n_features, degree) / sphere_area(n_features)
        np.testing.assert_allclose(sums, scale * gegenbauer, atol=1e-12)


@pytest.mark.parametrize(("n_features", "max_degree"), [*DIMENSIONS, (3, 40), (8, 3), (20, 2)])
def test_single_harmonics_are_columns_of_the_basis(n_features, max_degree):
    X = unit_rows(6, n_features)
    X[0] = np.eye(n_features)[-1]  # a pole: all but the last coordinate vanish
    X[1] = -np.eye(n_features)[0]
    columns = harmonic_columns(X, harmonic_indices(n_features, max_degree))
    np.testing.assert_allclose(columns, spherical_harmonics(X, max_degree), atol=1e-10)


def test_single_harmonics_are_orthonormal_where_the_basis_cannot_be_held(seed):
    """Mean of |S| Y_a Y_b over random points of the sphere in R^20, in units of its standard error."""
    rng = np.random.default_rng(seed)
    X = unit_rows(20_000, 20, seed)
    indices = np.array(
        [[degree, rng.integers(harmonic_count(20, degree))] for degree in (0, 1, 2, 3, 5, 8, 8)]
    )
    columns = np.sqrt(sphere_area(20)) * harmonic_columns(X, indices)
    products = columns[:, :, None] * columns[:, None]
    errors = products.std(axis=0) / np.sqrt(len(X))
    errors[0, 0] = 1e-12  # the constant has no variance
    assert np.abs((products.mean(axis=0) - np.eye(len(indices))) / errors).max() < 5


def test_features_of_few_harmonics_do_not_build_the_basis(monkeypatch):
    """In R^20 there are 2 877 875 harmonics up to degree 8, 22 MB for each row."""

    def refuse(X, max_degree):
        raise AssertionError("the whole basis is built")

    X = unit_rows(50, 20)
    measure = HarmonicMeasure(np.array([[8, 2_000_000], [3, 100]]), np.array([0.25, 0.75]))
    dense = HarmonicMeasure(np.array([[2, 1], [3, 0]]), np.array([0.4, 0.6]))
    expected = dense.features(unit_rows(10, 3))
    monkeypatch.setattr(module, "harmonics_by_degree", refuse)
    columns = harmonic_columns(X, measure.indices) * np.sqrt(sphere_area(20) * measure.weights)
    np.testing.assert_allclose(measure.features(X), columns, rtol=1e-12)
    assert basis_size(20, 8) == 2_877_875
    with pytest.raises(AssertionError, match="whole basis"):
        HarmonicMeasure.zonal([1, 2], [0.5, 0.5], 3).features(unit_rows(10, 3))
    few = HarmonicMeasure(np.array([[9, 3]]), np.ones(1))
    monkeypatch.undo()
    np.testing.assert_allclose(
        few.features(unit_rows(10, 3))[:, 0] / np.sqrt(4 * np.pi),
        spherical_harmonics(unit_rows(10, 3), 9)[:, 84],
        atol=1e-12,
    )
    np.testing.assert_allclose(dense.features(unit_rows(10, 3)), expected, atol=1e-13)


def test_high_degree_is_finite_and_accurate_at_the_poles():
    poles = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
    Y = spherical_harmonics(poles, 120)
    degrees = harmonic_indices(3, 120)[:, 0]
    energies = np.array([np.bincount(degrees, weights=row**2) for row in Y])
    np.testing.assert_allclose(
        energies, np.tile((2 * np.arange(121) + 1) / (4 * np.pi), (3, 1)), rtol=1e-11
    )


def test_counts_of_the_printed_and_the_true_formula():
    assert harmonic_count(3, 3) == 7
    assert [harmonic_count(2, degree) for degree in range(4)] == [1, 2, 2, 2]
    assert basis_size(3, 30) == 961
    for n_features, max_degree in [(2, 4), (3, 5), (6, 3)]:
        assert basis_size(n_features, max_degree) == len(harmonic_indices(n_features, max_degree))
    assert spherical_harmonics(unit_rows(2, 3), 0).shape == (2, 1)


def test_rotating_the_data_leaves_degree_energies_unchanged():
    X = unit_rows(50, 4)
    signal = np.random.default_rng(1).normal(size=50)
    rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 4)))[0]
    degrees = harmonic_indices(4, 6)[:, 0]

    def energies(points):
        return np.bincount(degrees, weights=(signal @ spherical_harmonics(points, 6)) ** 2)

    np.testing.assert_allclose(energies(X @ rotation.T), energies(X), rtol=1e-10)


def test_features_reproduce_the_kernel_and_zonal_kernels_are_rotation_invariant():
    X = unit_rows(20, 3)
    single = HarmonicMeasure(np.array([[2, 1], [4, 0], [2, 1]]), np.array([0.2, 0.5, 0.3]))
    Phi = single.features(X)
    np.testing.assert_allclose(Phi @ Phi.T, single.kernel(X), atol=1e-13)
    assert len(single.merged()) == 2
    np.testing.assert_allclose(single.merged().kernel(X), single.kernel(X), atol=1e-13)

    zonal = HarmonicMeasure.zonal([1, 4], [0.25, 0.75], 3)
    np.testing.assert_allclose(np.diag(zonal.kernel(X)), 1.0, atol=1e-12)
    rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    np.testing.assert_allclose(zonal.kernel(X @ rotation.T), zonal.kernel(X), atol=1e-12)
    assert (
        np.abs(single.kernel(X @ rotation.T) - single.kernel(X)).max() > 0.1
    )  # and single harmonics are not


def test_mean_of_the_diagonal_over_the_sphere_is_the_mass():
    measure = HarmonicMeasure(np.array([[3, 2], [5, 0]]), np.array([0.4, 0.6]))
    points, weights = sphere_quadrature(3, 10)
    diagonal = np.sum(measure.features(points) ** 2, axis=1)
    assert weights @ diagonal / weights.sum() == pytest.approx(1.0, abs=1e-12)


def test_float32_in_float32_out_and_out_is_used():
    X = unit_rows(10, 3).astype(np.float32)
    measure = HarmonicMeasure(np.array([[2, 1]]), np.array([1.0]))
    assert spherical_harmonics(X, 3).dtype == np.float32
    out = np.empty((10, 1), np.float32)
    assert measure.features(X, out=out) is out
    np.testing.assert_allclose(out, measure.features(X.astype(np.float64)), atol=1e-5)


def test_a_dask_array_gives_the_same_features():
    da = pytest.importorskip("dask.array")
    X = unit_rows(40, 3)
    measure = HarmonicMeasure(np.array([[2, 1], [3, 0]]), np.array([0.5, 0.5]))
    lazy = measure.features(da.from_array(X, chunks=(15, 2)))
    np.testing.assert_allclose(lazy.compute(), measure.features(X), atol=1e-14)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1.0, 0.0], [0.0, 0.0]]), "row 1 of X has norm 0"),
        (np.array([[1.0, 0.0], [3.0, 4.0]]), "row 1 of X has norm 5.*Normalize first"),
        (np.array([[1.0, np.nan]]), "unit rows|contains NaN"),
        (np.ones((3, 1)), "at least 2 features"),
    ],
)
def test_rows_off_the_sphere_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        spherical_harmonics(X, 3)
    with pytest.raises(ValueError, match=message):
        HarmonicMeasure(np.array([[1, 0]]), np.array([1.0])).features(X)


def test_a_basis_too_large_for_memory_is_named_before_it_is_allocated():
    with pytest.raises(
        ValueError, match=r"max_degree=40 in 30 dimensions means \d+ harmonics.*GiB"
    ):
        spherical_harmonics(unit_rows(3, 30), 40)


@pytest.mark.parametrize(
    ("indices", "weights", "message"),
    [
        (np.array([[1.5, 0.0]]), [1.0], "non-negative integers"),
        (np.array([[1, -1]]), [1.0], "non-negative integers"),
        (np.array([[1, 0]]), [1.0, 2.0], "each atom needs one"),
        (np.array([[1, 0]]), [-1.0], "non-negative"),
    ],
)
def test_bad_measures_are_refused(indices, weights, message):
    with pytest.raises(ValueError, match=message):
        HarmonicMeasure(indices, np.array(weights))


def test_an_atom_that_does_not_exist_in_this_dimension_is_refused():
    with pytest.raises(ValueError, match="degree 2 has 5 harmonics"):
        HarmonicMeasure(np.array([[2, 5]]), np.array([1.0])).features(unit_rows(2, 3))


def test_arc_cosine_kernel_is_the_expectation_of_rectified_products(seed):
    """k(x, z) = 2 E[max(w·x, 0) max(w·z, 0)], w ~ N(0, I) (Cho & Saul 2009, Eq. 1)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4, 3))
    hidden = np.maximum(rng.normal(size=(200_000, 3)) @ X.T, 0)
    samples = 2 * hidden[:, :, None] * hidden[:, None, :]
    error = samples.std(axis=0) / np.sqrt(len(samples))
    assert np.abs((samples.mean(axis=0) - arc_cosine_kernel(X)) / error).max() < 5
