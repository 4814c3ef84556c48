"""Ridges to choose from, and the choice between them."""

import numpy as np
import pytest

from bochner.solvers.choice import chosen_ridge, ridges


def test_auto_is_eight_decades_of_the_scale_from_the_largest_on():
    alphas = ridges("auto", 3.0)
    assert len(alphas) == 25
    np.testing.assert_allclose(alphas[[0, -1]], [300, 3e-6])
    np.testing.assert_allclose(alphas[1:] / alphas[:-1], 10 ** (-1 / 3))


def test_ridges_that_are_given_have_no_scale():
    np.testing.assert_array_equal(ridges([1.0, 10], 3.0), [1, 10])
    with pytest.raises(ValueError, match="alpha must be"):
        ridges("large")


def test_the_largest_ridge_is_chosen_from_errors_that_are_equal_up_to_rounding():
    alphas = np.array([0.01, 10.0, 1.0, 0.1])
    assert chosen_ridge(alphas, np.array([1.0, 2.0, 1 + 1e-9, 1.0])) == 1
    assert chosen_ridge(alphas, np.array([0.5, 2.0, 1.0, 1.0])) == 0.01
