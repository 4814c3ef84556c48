"""Standardization of columns in FourierBoosting*: large offsets, extreme units, constant columns."""

import numpy as np
import pytest

from bochner import FourierBoostingClassifier, FourierBoostingRegressor
from bochner.boosting.fitting import standardization_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
SIGNAL = np.sin(2 * X[:, 0]) + X[:, 1] / 2
ONES = np.ones(len(X))


@pytest.mark.parametrize("offset", [1e15, -1e15])
def test_columns_with_a_large_offset_are_learned_from(offset):
    """Near 1e15 floats lie 0.125 apart, which is little beside a deviation of 100."""
    moved = 100 * X + offset
    plain = FourierBoostingRegressor(n_rounds=40, random_state=0).fit(X, SIGNAL)
    model = FourierBoostingRegressor(n_rounds=40, random_state=0).fit(moved, SIGNAL)
    assert model.score(moved, SIGNAL) > plain.score(X, SIGNAL) - 0.01 > 0.9
    classifier = FourierBoostingClassifier(n_rounds=40, random_state=0).fit(moved, SIGNAL > 0)
    assert classifier.score(moved, SIGNAL > 0) > 0.95


def test_joint_epochs_learn_from_columns_with_a_large_offset():
    points = RNG.normal(size=(4500, 2))
    target = np.sin(2 * points[:, 0]) + points[:, 1] / 2
    moved = 100 * points + 1e15
    assert (
        FourierBoostingRegressor(n_rounds=20, random_state=0)
        .fit(moved, target)
        .score(moved, target)
        > 0.9
    )


def test_identifiers_beyond_the_integers_of_float64_are_learned_from():
    ids = 2**53 + 2 * RNG.permutation(len(X))
    target = (ids - ids.min()) / len(X)
    model = FourierBoostingRegressor(n_rounds=10, random_state=0).fit(ids[:, None], target)
    assert model.score(ids[:, None], target) > 0.9


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e200, 1e300])
def test_extreme_units_do_not_change_the_fit(unit):
    plain = FourierBoostingRegressor(n_rounds=5, random_state=0).fit(X, SIGNAL).predict(X)
    scaled = (
        FourierBoostingRegressor(n_rounds=5, random_state=0).fit(unit * X, SIGNAL).predict(unit * X)
    )
    np.testing.assert_allclose(scaled, plain, atol=1e-6)


def test_columns_beyond_float64_are_refused_by_number():
    tiny, huge = X.copy(), X.copy()
    tiny[:, 2] *= 1e-310
    huge[:, 1] = 1.7e308 * np.sign(X[:, 1])
    with pytest.raises(
        ValueError, match=r"column 2 differ by at most .*e-310, .* Scale the columns"
    ):
        FourierBoostingRegressor().fit(tiny, SIGNAL)
    with pytest.raises(
        ValueError, match=r"column 1 differ by more than the largest float64\. Divide"
    ):
        FourierBoostingRegressor().fit(huge, SIGNAL)


def test_standardization_is_the_weighted_mean_and_deviation_of_the_rows_that_count():
    weights = RNG.integers(0, 3, size=len(X)).astype(float)
    points = X * [1.0, 5.0, 0.1] + [7.0, -3.0, 0.0]
    points[weights == 0] = 1e6
    found = standardization_of(points, weights)
    repeated = np.repeat(points, weights.astype(int), axis=0)
    np.testing.assert_allclose(found.shift, repeated.mean(axis=0), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(1 / found.scale, repeated.std(axis=0), rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e15, 1e-310])
def test_columns_that_differ_by_rounding_are_constant(value):
    rounded = value * (1 + np.finfo(float).eps * RNG.integers(-3, 4, size=len(X)))
    found = standardization_of(np.column_stack([X[:, 0], np.full(len(X), value), rounded]), ONES)
    assert found.scale[0] > 0
    np.testing.assert_array_equal(found.scale[1:], 0)
    assert found.shift[1] == value
