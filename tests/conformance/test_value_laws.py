"""Laws of values: every measure is a kernel, every expansion is a function of any rows."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EXPANSIONS, MEASURES, expansion
from laws import stored

from bochner import (
    CurlFree,
    Expansion,
    Gaussian,
    HarmonicMeasure,
    KernelExpansion,
    Laplace,
    concatenate,
)
from bochner.expansions.waves import ExpansionStack

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
UNIT = X / np.linalg.norm(X, axis=1, keepdims=True)


every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES.keys())


def points_for(measure):
    return UNIT if isinstance(measure, HarmonicMeasure) else X


def gram(measure):
    return measure.kernel(points_for(measure)[:7])


@every_measure
def test_kernels_add_up(measure):
    halves = [measure.take(slice(0, 2)), measure.take(slice(2, None))]
    np.testing.assert_allclose(gram(halves[0]) + gram(halves[1]), gram(measure), atol=1e-12)
    np.testing.assert_allclose(gram(concatenate(halves)), gram(measure), atol=1e-12)
    assert concatenate(halves).mass == pytest.approx(measure.mass)


@every_measure
def test_weights_scale_the_kernel(measure):
    np.testing.assert_allclose(
        gram(measure.reweighted(3 * measure.weights)), 3 * gram(measure), atol=1e-12
    )
    np.testing.assert_allclose(
        gram(replace(measure, weights=2 * measure.weights)), 2 * gram(measure), atol=1e-12
    )
    with pytest.raises(ValueError, match="non-negative"):
        measure.reweighted(-measure.weights)
    with pytest.raises(ValueError, match="each atom needs one"):
        measure.reweighted(measure.weights[:-1])


@every_measure
def test_merging_equal_atoms_keeps_the_kernel(measure):
    double = concatenate([measure, measure])
    merged = double.merged()
    assert len(merged) == len(measure)
    np.testing.assert_allclose(gram(merged), 2 * gram(measure), atol=1e-12)


@every_measure
@pytest.mark.parametrize("selection", ["multinomial", "systematic"])
def test_resampling_is_right_on_average(measure, selection, seed):
    rng = np.random.default_rng(seed)
    draws = np.array([gram(measure.resampled(40, rng, selection)) for _ in range(60)])
    spread = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - gram(measure)) <= 5 * spread + 1e-12)
    assert measure.resampled(40, rng, selection).mass == pytest.approx(measure.mass)


@every_measure
def test_features_multiply_to_the_kernel(measure):
    points = points_for(measure)[:7]
    features = measure.features(points)
    product = (
        features @ features.T
        if features.ndim == 2
        else np.einsum("iac,jbc->ijab", features, features)
    )
    np.testing.assert_allclose(product, gram(measure), atol=1e-12)


@every_measure
def test_values_are_frozen_and_travel(measure):
    with pytest.raises(ValueError, match="read-only"):
        measure.weights[0] = 1
    again = pickle.loads(pickle.dumps(measure))
    np.testing.assert_array_equal(gram(again), gram(measure))


def by_hand(f, X):
    """The definition, wave by wave."""
    values = np.tile(f.intercept, (len(X), 1))
    for j in range(len(f)):
        angle = X @ f.frequencies[j]
        values += np.outer(np.cos(angle), f.cosine[j]) + np.outer(np.sin(angle), f.sine[j])
    return values if f.slopes is None else values + X @ f.slopes


every_expansion = pytest.mark.parametrize("f", EXPANSIONS.values(), ids=EXPANSIONS.keys())


@every_expansion
@pytest.mark.parametrize("storage", ["array", "map", "sparse", "dask"])
def test_values_are_the_sum_of_waves_wherever_rows_are(f, storage, tmp_path):
    values = f.evaluate(stored(X, storage, tmp_path))
    if storage == "dask":
        values = values.compute()
    np.testing.assert_allclose(values, by_hand(f, X), atol=1e-12)
    single = f.evaluate(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, by_hand(f, X), atol=1e-4)


@every_expansion
def test_derivatives_are_those_of_the_values(f):
    step = 1e-6
    jacobian = f.jacobian(X)
    for b in range(3):
        shift = step * np.eye(3)[b]
        numeric = (by_hand(f, X + shift) - by_hand(f, X - shift)) / (2 * step)
        np.testing.assert_allclose(jacobian[:, :, b], numeric, atol=1e-7)
    np.testing.assert_allclose(
        f.relevance(X), np.mean(np.sum(jacobian**2, axis=1), axis=0), rtol=1e-10
    )
    np.testing.assert_allclose(f.jacobian(sp.csr_matrix(X)), jacobian, atol=1e-12)


def test_divergence_is_the_trace_of_the_jacobian():
    f = expansion(3)
    np.testing.assert_allclose(
        f.divergence(X), np.trace(f.jacobian(X), axis1=1, axis2=2), atol=1e-12
    )
    flat = expansion(2)
    twisted = flat.divergence(X, space=[2, 0])
    np.testing.assert_allclose(
        twisted, flat.jacobian(X)[:, 0, 2] + flat.jacobian(X)[:, 1, 0], atol=1e-12
    )
    with pytest.raises(ValueError, match="one output per direction"):
        flat.divergence(X)


@every_expansion
def test_expansions_change_as_functions_do(f):
    shift, scale = np.array([0.3, -1.0, 2.0]), np.array([0.5, 2.0, -1.5])
    np.testing.assert_allclose(
        f.after_scaling(shift, scale).evaluate(X), by_hand(f, (X - shift) * scale), atol=1e-11
    )
    matrix = np.random.default_rng(3).normal(size=(f.n_outputs, 4))
    np.testing.assert_allclose(f.mixed(matrix).evaluate(X), by_hand(f, X) @ matrix, atol=1e-12)
    np.testing.assert_allclose(f.rescaled(2.0, -3.0).evaluate(X), 2 - 3 * by_hand(f, X), atol=1e-12)
    np.testing.assert_allclose(
        f.take([0, 2] if len(f) else []).evaluate(X), by_hand(f.take([0, 2] if len(f) else []), X)
    )
    stages = list(f.staged(X, 4))
    assert len(stages) == -(-len(f) // 4)
    if stages:
        np.testing.assert_allclose(stages[0], by_hand(f.take(slice(0, 4)), X), atol=1e-12)
        np.testing.assert_allclose(stages[-1], by_hand(f, X), atol=1e-12)


def test_phases_and_linear_models_give_the_same_function():
    f = expansion(2, slopes=False)
    np.testing.assert_allclose(
        Expansion.of_phases(f.frequencies, f.amplitudes, f.phases, f.intercept).evaluate(X),
        by_hand(f, X),
        atol=1e-12,
    )
    measure = MEASURES["Fourier"]
    coefficients = RNG.normal(size=(24, 2))
    expected = measure.features(X) @ coefficients + [1.0, 2.0]
    np.testing.assert_allclose(
        Expansion.of(measure, coefficients, [1.0, 2.0]).evaluate(X), expected, atol=1e-12
    )


def test_reprs_fit_on_one_line():
    measure = Gaussian().sample(500, 3, 0)
    assert repr(measure) == "FourierMeasure(500 atoms, 3 features, mass 1.0)"
    expansion = Expansion.of(measure, np.ones((1000, 2)))
    stack = ExpansionStack(np.ones((4, 5, 3)), np.ones((4, 5)), np.ones((2, 4, 5)))
    sums = KernelExpansion(Laplace(), *map(np.ones, [(9, 3), (9, 1), (3, 1), (1,)]))
    harmonics = HarmonicMeasure.zonal([0, 1], [0.5, 0.5], 3)
    values = expansion, stack, sums, sums.effects(np.eye(3)), harmonics
    lines = [*map(repr, values), repr(CurlFree().lift(measure))]
    assert all("\n" not in line and len(line) < 80 for line in lines), lines
