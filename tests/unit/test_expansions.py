"""The expansion as a value: evaluation, stages, derivatives, and other expansions made of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner import Expansion


def expansion(n_outputs, rng, slopes=True):
    return Expansion(
        rng.normal(size=(20, 3)),
        rng.normal(size=(20, n_outputs)),
        rng.normal(size=(20, n_outputs)),
        rng.normal(size=n_outputs),
        rng.normal(size=(3, n_outputs)) if slopes else None,
    )


def by_definition(model, X):
    scores = np.tile(model.intercept, (len(X), 1))
    if model.slopes is not None:
        scores = scores + X @ model.slopes
    for w, a, b in zip(model.frequencies, model.cosine, model.sine):
        scores += np.outer(np.cos(X @ w), a) + np.outer(np.sin(X @ w), b)
    return scores


@pytest.mark.parametrize("n_outputs", [1, 4])
@pytest.mark.parametrize("slopes", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_evaluation_is_the_sum_of_waves(n_outputs, slopes, dtype, seed):
    rng = np.random.default_rng(seed)
    model = expansion(n_outputs, rng, slopes)
    X = rng.normal(size=(700, 3)).astype(dtype)
    result = model.evaluate(X)
    assert result.dtype == dtype
    np.testing.assert_allclose(
        result, by_definition(model, X), atol=1e-10 if dtype == np.float64 else 1e-4
    )
    again = Expansion.of_phases(model.frequencies, model.amplitudes, model.phases, model.intercept)
    bare = by_definition(again, X.astype(np.float64))
    np.testing.assert_allclose(
        bare if not slopes else bare + X @ model.slopes, by_definition(model, X), atol=1e-5
    )


def test_stages_take_and_extend():
    rng = np.random.default_rng(0)
    model = expansion(2, rng)
    X = rng.normal(size=(10, 3))
    stages = list(model.staged(X, atoms_per_round=5))
    assert len(stages) == 4
    np.testing.assert_allclose(stages[1], by_definition(model.take(slice(0, 10)), X))
    again = model.take(slice(0, 10)).extended(model.take(slice(10, 20)))
    np.testing.assert_allclose(again.evaluate(X), model.evaluate(X))


@pytest.mark.parametrize("slopes", [True, False])
def test_scaling_of_inputs_and_outputs(slopes):
    rng = np.random.default_rng(0)
    model, X = expansion(2, rng, slopes), rng.normal(size=(10, 3))
    shift, scale = rng.normal(size=3), rng.uniform(0.5, 2, size=3)
    np.testing.assert_allclose(
        model.after_scaling(shift, scale).evaluate(X), model.evaluate((X - shift) * scale)
    )
    outputs = np.array([3.0, -1.0]), np.array([2.0, 0.5])
    np.testing.assert_allclose(
        model.rescaled(*outputs).evaluate(X), outputs[0] + outputs[1] * model.evaluate(X)
    )


@pytest.mark.parametrize("slopes", [True, False])
def test_relevance_is_the_mean_squared_derivative(slopes):
    rng = np.random.default_rng(0)
    model, X = expansion(2, rng, slopes), rng.normal(size=(50, 3))
    steps = 1e-6 * np.eye(3)
    derivatives = [(model.evaluate(X + step) - model.evaluate(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(np.moveaxis(model.jacobian(X), 2, 0), derivatives, atol=1e-6)
    expected = [np.mean(np.sum(derivative**2, axis=1)) for derivative in derivatives]
    np.testing.assert_allclose(model.relevance(X), expected, rtol=1e-6)


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="5 frequencies and 1 outputs need"):
        Expansion(np.zeros((5, 2)), np.zeros((4, 1)), np.zeros((5, 1)), np.zeros(1))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_an_expansion_without_slopes_is_bounded_by_its_amplitudes(seed):
    rng = np.random.default_rng(seed)
    model = Expansion(
        rng.normal(size=(6, 2)), rng.normal(size=(6, 1)), rng.normal(size=(6, 1)), np.zeros(1)
    )
    far = 1e4 * rng.normal(size=(20, 2))
    assert np.all(np.abs(model.evaluate(far)) <= model.amplitudes.sum() + 1e-9)
