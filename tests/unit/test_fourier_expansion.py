"""The expansion as a value: evaluation, stages, gradients, and the compiled exponential."""

import numpy as np
import pytest

from bochner import FourierExpansion
from bochner._compute.boosting_kernels import exponential, phase_losses_block


def expansion(n_outputs, rng, slopes=True):
    return FourierExpansion(
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
    for w, b, a in zip(model.frequencies, model.phases, model.amplitudes):
        scores += a * np.cos((X @ w)[:, None] - b)
    return scores


@pytest.mark.parametrize("n_outputs", [1, 4])
@pytest.mark.parametrize("slopes", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_evaluation_is_the_sum_of_cosines(n_outputs, slopes, dtype, seed):
    rng = np.random.default_rng(seed)
    model = expansion(n_outputs, rng, slopes)
    X = rng.normal(size=(700, 3)).astype(dtype)
    result = model.evaluate(X)
    assert result.dtype == dtype
    np.testing.assert_allclose(result, by_definition(model, X), atol=1e-10 if dtype == np.float64 else 1e-4)


def test_stages_take_and_extend():
    rng = np.random.default_rng(0)
    model = expansion(2, rng)
    X = rng.normal(size=(10, 3))
    stages = [stage.copy() for stage in model.staged(X, atoms_per_round=5)]
    assert len(stages) == 4
    np.testing.assert_allclose(stages[1], by_definition(model.take(slice(0, 10)), X))
    rest = model.take(slice(10, 20))
    again = model.take(slice(0, 10)).extended(rest.frequencies, rest.phases, rest.amplitudes)
    np.testing.assert_allclose(again.evaluate(X), model.evaluate(X))


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="5 frequencies and 1 outputs need"):
        FourierExpansion(np.zeros((5, 2)), np.zeros((4, 1)), np.zeros((5, 1)), np.zeros(1))


@pytest.mark.parametrize(
    ("dtype", "low", "high", "error"), [(np.float64, -700, 59, 4e-16), (np.float32, -80, 59, 3e-7)]
)
def test_compiled_exponential_is_accurate_to_rounding(dtype, low, high, error):
    x = np.linspace(low, high, 200_001).astype(dtype)
    out = np.empty_like(x)
    exponential(x, out)
    np.testing.assert_allclose(out, np.exp(x.astype(np.float64)), rtol=error)


def test_phase_losses_and_derivatives(seed):
    rng = np.random.default_rng(seed)
    turns, signal = rng.normal(size=300), rng.normal(size=300)
    phases = np.linspace(-3, 3, 7)

    def total(b):
        return np.exp(-signal * np.cos(np.pi * turns - b)).sum()

    sums = phase_losses_block(phases, turns, signal)
    np.testing.assert_allclose(sums[0], [total(b) for b in phases], rtol=1e-12)
    np.testing.assert_allclose(sums[1], [(total(b + 1e-6) - total(b - 1e-6)) / 2e-6 for b in phases], atol=1e-4)
    second = [(total(b + 1e-4) - 2 * total(b) + total(b - 1e-4)) / 1e-8 for b in phases]
    np.testing.assert_allclose(sums[2], second, rtol=1e-3, atol=1e-2)
