"""Checks of arguments: each kind of bad value is refused by a message of our own."""

import numpy as np
import pytest

from bochner import SpectralRidge
from bochner._checks import check_count, check_positive, check_share
from bochner.data.checks import check_weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -0.5, 1.0], "Negative values in sample_weight, such as -0.5 in row 1"),
        ([1.0, np.nan, 1.0], "nan in row 1"),
        ([0.0, 0.0, 0.0], "zero for every row"),
        ([1.0, 1.0], r"needs one number for each row, shape \(3,\)"),
        ([1.0, 1e101, 1.0], "largest sample_weight"),
        (["a", "b", "c"], "must hold numbers"),
    ],
)
@pytest.mark.parametrize("on_dask", [False, True])
def test_bad_weights_are_refused(weights, message, on_dask):
    if on_dask:
        da = pytest.importorskip("dask.array")
        weights = da.from_array(np.array(weights), chunks=2)
    with pytest.raises(ValueError, match=message):
        check_weights(weights, 3)


def test_one_weight_is_that_of_every_row():
    np.testing.assert_array_equal(check_weights(2, 3), [2.0, 2.0, 2.0])


@pytest.mark.parametrize("value", [1.5, 1, 0.0, -0.1])
def test_shares_lie_between_zero_and_one(value):
    with pytest.raises(ValueError, match="share must be"):
        check_share(value, "share")
    assert check_share(1, "share", allow_one=True) == 1


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan])
def test_positive_numbers_are_finite_and_above_zero(value):
    with pytest.raises(ValueError, match="alpha must be positive and finite"):
        check_positive(value, "alpha")
    assert check_positive(0.0, "alpha", allow_zero=True) == 0


def test_counts_have_a_minimum():
    assert check_count(2, "n", minimum=2) == 2
    with pytest.raises(ValueError, match="n must be at least 2, got 1"):
        check_count(1, "n", minimum=2)


@pytest.mark.parametrize("on_dask", [False, True])
def test_rows_of_another_width_are_refused(on_dask):
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = SpectralRidge(alpha=1.0, random_state=0).fit(X, X[:, 0])
    narrow = X[:, :2]
    if on_dask:
        narrow = pytest.importorskip("dask.array").from_array(narrow, chunks=10)
    with pytest.raises(ValueError, match="X has 2 features, but SpectralRidge is expecting 3"):
        model.predict(narrow)
