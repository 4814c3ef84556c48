"""Invariants of operator-valued kernels and ridges, for any numbers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bochner import (
    CurlFree,
    Decomposable,
    DivergenceFree,
    FourierMeasure,
    Gaussian,
    Helmholtz,
    OperatorRidge,
    graph_output_matrix,
    simplex_code,
)
from bochner.expansions.waves import Expansion
from bochner.operators import learned_output_matrix

numbers = st.floats(-5, 5, allow_subnormal=False)
seeds = st.integers(0, 2**31)


@st.composite
def fields(draw, kernel):
    """A measure of the kernel with arbitrary frequencies, zero included, and arbitrary parameters."""
    d = draw(st.integers(2, 5))
    frequencies = draw(arrays(np.float64, (draw(st.integers(1, 6)), d), elements=numbers))
    measure = kernel(Gaussian()).lift(FourierMeasure(frequencies, np.ones(len(frequencies))))
    theta = draw(arrays(np.float64, measure.n_columns, elements=numbers))
    return measure, theta, draw(arrays(np.float64, (4, d), elements=numbers))


@given(fields(CurlFree))
@settings(deadline=None, max_examples=60)
def test_curl_free_fields_have_a_symmetric_jacobian_whatever_the_weights(drawn):
    measure, theta, X = drawn
    field = Expansion.of(measure.scalar, measure.expand(theta))
    jacobian = field.jacobian(X)
    scale = 1 + field.derivative().amplitudes.sum()
    assert np.abs(jacobian - jacobian.transpose(0, 2, 1)).max() <= 1e-14 * scale


@given(fields(DivergenceFree))
@settings(deadline=None, max_examples=60)
def test_divergence_free_fields_have_divergence_zero_whatever_the_weights(drawn):
    measure, theta, X = drawn
    field = Expansion.of(measure.scalar, measure.expand(theta))
    scale = 1 + field.derivative().amplitudes.sum()
    assert np.abs(field.divergence(X)).max() <= 1e-14 * scale


@given(fields(Helmholtz))
@settings(deadline=None, max_examples=40)
def test_half_curl_free_and_half_divergence_free_is_half_the_laplacian(drawn):
    measure, _, _ = drawn
    squares = np.sum(measure.scalar.frequencies**2, axis=1)
    expected = 0.5 * squares[:, None, None] * np.eye(measure.n_features)
    np.testing.assert_allclose(measure.operators(), expected, atol=1e-12)


@given(st.integers(2, 30))
@settings(deadline=None)
def test_corners_of_the_simplex_are_equally_far_and_sum_to_zero(n_classes):
    code = simplex_code(n_classes)
    np.testing.assert_allclose(code.sum(axis=1), 0, atol=1e-12)
    distances = np.sum((code[:, :, None] - code[:, None, :]) ** 2, axis=0)[
        ~np.eye(n_classes, dtype=bool)
    ]
    np.testing.assert_allclose(distances, 2 * n_classes / (n_classes - 1), atol=1e-12)


@given(st.integers(2, 6), seeds, st.floats(0.01, 10))
@settings(deadline=None, max_examples=40)
def test_graph_matrices_are_kernels_and_ignore_self_loops(size, seed, ridge):
    rng = np.random.default_rng(seed)
    graph = rng.exponential(size=(size, size))
    graph = graph + graph.T
    for value in (0.0, ridge):
        matrix = graph_output_matrix(graph, value)
        assert np.linalg.eigvalsh(matrix)[0] > -1e-10 * np.abs(matrix).max()
        np.testing.assert_allclose(
            graph_output_matrix(graph + np.diag(rng.exponential(size=size)), value), matrix
        )


@given(st.integers(1, 5), st.integers(3, 40), seeds)
@settings(deadline=None, max_examples=40)
def test_learning_the_output_matrix_never_lowers_the_likelihood(n_outputs, n_samples, seed):
    rng = np.random.default_rng(seed)
    features, targets = rng.normal(size=(n_samples, 8)), rng.normal(size=(n_samples, n_outputs))
    targets += features[:, :1]
    values, vectors = np.linalg.eigh(features.T @ features)
    projections = vectors.T @ features.T @ targets
    matrix, history = learned_output_matrix(
        np.maximum(values, 0), projections, targets.T @ targets, n_samples, tolerance=0.0
    )
    assert np.all(np.diff(history) >= -1e-7 * np.abs(history[1:]))
    assert np.linalg.eigvalsh(matrix)[0] >= -1e-10
    np.testing.assert_allclose(np.trace(matrix), n_outputs)


@given(seeds, st.floats(-3, 3), st.floats(-3, 3))
@settings(deadline=None, max_examples=20)
def test_ridges_are_linear_in_the_outputs_and_turn_with_them(seed, a, b):
    rng = np.random.default_rng(seed)
    X, Y, other = rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    rotation = np.linalg.qr(rng.normal(size=(2, 2)))[0]

    def fitted(kernel, targets):
        return (
            OperatorRidge(kernel, n_components=10, alpha=0.5, random_state=0)
            .fit(X, targets)
            .predict(X)
        )

    for kernel in (CurlFree(Gaussian(0.5)), Decomposable(Gaussian(0.5), np.diag([1.0, 2.0]))):
        mixed = fitted(kernel, a * Y + b * other)
        np.testing.assert_allclose(
            mixed, a * fitted(kernel, Y) + b * fitted(kernel, other), atol=1e-8
        )
    matrix = np.diag([1.0, 2.0])
    turned = fitted(Decomposable(Gaussian(0.5), rotation @ matrix @ rotation.T), Y @ rotation.T)
    np.testing.assert_allclose(
        turned, fitted(Decomposable(Gaussian(0.5), matrix), Y) @ rotation.T, atol=1e-8
    )


@given(seeds)
@settings(deadline=None, max_examples=20)
def test_a_larger_ridge_never_fits_the_training_rows_better(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(25, 2)), rng.normal(size=(25, 2))
    for kernel in (DivergenceFree(Gaussian(0.5)), Decomposable(Gaussian(0.5))):
        errors = [
            np.sum(
                (
                    OperatorRidge(kernel, n_components=15, alpha=alpha, random_state=0)
                    .fit(X, Y)
                    .predict(X)
                    - Y
                )
                ** 2
            )
            for alpha in (1e-3, 1e-1, 1.0, 100.0)
        ]
        assert np.all(np.diff(errors) >= -1e-9)
