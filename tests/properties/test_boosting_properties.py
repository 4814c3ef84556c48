"""Invariants of boosting that hold for any data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner import FourierBoostingClassifier, FourierBoostingRegressor, Gaussian, GBRFF2Classifier
from bochner.boosting import gbrff2
from bochner.boosting.gbrff_base import bound_minimizer
from bochner.boosting.rounds import QuadraticModel

seeds = st.integers(0, 2**32 - 1)


def data(seed, n_rows=40, n_features=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_features)) * np.exp(rng.normal(size=n_features)), rng


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_the_step_never_raises_the_exponential_loss(seed):
    rng = np.random.default_rng(seed)
    agreement, weights = rng.uniform(-1, 1, size=30), np.exp(3 * rng.normal(size=30))
    alpha = bound_minimizer(agreement, weights)
    assert np.sum(weights * np.exp(-alpha * agreement)) <= np.sum(weights) * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(seeds, st.floats(0.3, 6), st.floats(-np.pi, np.pi), st.booleans())
def test_a_phase_is_never_worse_than_the_grid_or_the_phase_before(seed, spread, drawn, in_blocks):
    """On all rows, in any order: here all rows of the first class come first."""
    rng = np.random.default_rng(seed)
    turns, counts = rng.normal(size=120), rng.integers(1, 3, size=120).astype(float)
    signal = np.sort(np.sign(rng.normal(size=120)) * np.exp(spread * rng.normal(size=120)))

    def losses(phases):
        # As in the kernels, the exponential goes on as its tangent beyond 60.
        exponents = -signal * np.cos(np.pi * turns - np.atleast_1d(phases)[:, None])
        return (np.exp(np.minimum(exponents, 60)) * (1 + np.maximum(exponents - 60, 0))) @ counts

    fine = np.linspace(-np.pi, np.pi, 2001)
    best = fine[losses(fine).argmin()]  # heavy rows leave minima narrower than the grid
    grid = np.linspace(-np.pi, np.pi, 64, endpoint=False)
    with pytest.MonkeyPatch.context() as patch:
        if in_blocks:
            patch.setattr(gbrff2, "_FEW_TURNS", 0)
        for before in (drawn, best):
            found = gbrff2.best_phase(turns, signal, counts, incoming=before)
            assert losses(found) <= min(losses(grid).min(), losses(before)) * (1 + 1e-9)


@settings(max_examples=25, deadline=None)
@given(seeds, st.floats(0.1, 10))
def test_gain_falls_with_the_ridge_and_is_never_negative(seed, ridge):
    X, rng = data(seed)
    angle = X @ rng.normal(size=3)
    gradient, curvature = rng.normal(size=(40, 2)), rng.uniform(0.01, 1, size=(40, 2))
    gains = [
        QuadraticModel(gradient, curvature, r).solve(angle[None])[2].gain[0]
        for r in (ridge, 2 * ridge)
    ]
    assert gains[0] >= gains[1] >= 0


@settings(max_examples=10, deadline=None)
@given(seeds, st.floats(0.01, 100), st.floats(-50, 50))
def test_regression_follows_the_units_of_the_target(seed, scale, shift):
    X, rng = data(seed)
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=len(X))
    plain = FourierBoostingRegressor(n_rounds=5, random_state=0).fit(X, y).predict(X)
    moved = (
        FourierBoostingRegressor(n_rounds=5, random_state=0).fit(X, scale * y + shift).predict(X)
    )
    np.testing.assert_allclose(
        moved, scale * plain + shift, rtol=1e-5, atol=1e-5 * (scale + abs(shift))
    )


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_fit_does_not_depend_on_units_of_the_columns(seed):
    X, rng = data(seed)
    y = X[:, 0] * X[:, 1] > 0
    if y.all() or not y.any():
        return
    units, origin = np.exp(rng.normal(size=3)), rng.normal(size=3)
    one = FourierBoostingClassifier(n_rounds=5, random_state=0).fit(X, y).decision_function(X)
    other = FourierBoostingClassifier(n_rounds=5, random_state=0).fit(X * units + origin, y)
    np.testing.assert_allclose(
        other.decision_function(X * units + origin), one, rtol=1e-4, atol=1e-4
    )


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_swapping_the_labels_flips_gbrff2(seed):
    X, _ = data(seed)
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1, 0)
    if y.all() or not y.any():
        return
    one = (
        GBRFF2Classifier(n_rounds=4, prior=Gaussian(0.5), random_state=0)
        .fit(X, y)
        .decision_function(X)
    )
    other = GBRFF2Classifier(n_rounds=4, prior=Gaussian(0.5), random_state=0).fit(X, 1 - y)
    # The best phase moves by half a turn; the same waves come out with the other sign.
    np.testing.assert_allclose(other.decision_function(X), -one, rtol=1e-2, atol=1e-2)
