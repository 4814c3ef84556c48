"""The toy data: shapes, labels, and the laws that define them."""

import numpy as np
import pytest

from bochner import datasets

LABELLED = [
    datasets.swiss,
    datasets.circles,
    datasets.board,
    datasets.windmill,
    datasets.sphere_checkerboard,
    datasets.toy_landmarks,
    datasets.toy_bands,
]
FIELDS = [datasets.curl_free_field, datasets.divergence_free_field, datasets.gradient_field]


@pytest.mark.parametrize("make", LABELLED + FIELDS, ids=lambda make: make.__name__)
def test_same_seed_same_data(make):
    first, again, other = make(40, 7), make(40, np.random.default_rng(7)), make(40, 8)
    assert first.data.shape[0] == len(first.target) == 40
    np.testing.assert_array_equal(first.data, again.data)
    np.testing.assert_array_equal(first.target, again.target)
    assert not np.array_equal(first.data, other.data)


@pytest.mark.parametrize("make", LABELLED + FIELDS, ids=lambda make: make.__name__)
def test_sizes_are_checked(make):
    with pytest.raises(ValueError, match="n_samples must be at least"):
        make(0)
    with pytest.raises(TypeError, match="n_samples must be an integer"):
        make(2.5)


@pytest.mark.parametrize("make", LABELLED, ids=lambda make: make.__name__)
def test_classes_are_balanced(make, seed):
    target = make(4000, seed).target
    assert set(np.unique(target)) == {-1, 1}
    assert abs(np.mean(target)) < 5 / np.sqrt(4000)


def test_noiseless_rings_and_rolls_lie_on_their_curves():
    rings = datasets.circles(400, 0, noise=0)
    np.testing.assert_allclose(np.linalg.norm(rings.data, axis=1), np.repeat([1, 2, 3, 4], 100))
    roll = datasets.swiss(400, 0, noise=0)
    radius = np.linalg.norm(roll.data, axis=1) / np.where(roll.target == -1, 1, 0.9)
    np.testing.assert_allclose(
        roll.data[:, 0] / np.linalg.norm(roll.data, axis=1), np.cos(radius), atol=1e-12
    )
    assert radius.min() >= 1.5 * np.pi
    assert radius.max() <= 4.5 * np.pi


def test_the_board_alternates():
    board = datasets.board(500, 0)
    cells = np.floor(board.data).astype(int)
    np.testing.assert_array_equal(board.target == -1, (cells[:, 0] % 2) == (cells[:, 1] % 2))
    assert np.all((board.data >= 0) & (board.data < 4))


@pytest.mark.parametrize("n_bands", [2, 4, 5])
def test_bands_alternate_along_the_diagonal_of_the_square(n_bands):
    clean = datasets.toy_bands(500, 0, n_bands=n_bands, noise=0)
    assert np.abs(clean.data).max() <= 1
    band = np.floor(n_bands * (clean.data.sum(axis=1) + 2) / 4).astype(
        int
    )  # corners (−1, −1) and (1, 1) are its ends
    np.testing.assert_array_equal(np.bincount(band), 500 // n_bands)
    np.testing.assert_array_equal(clean.target, np.where(band % 2 == 0, -1, 1))
    noisy = datasets.toy_bands(500, 0, n_bands=n_bands, noise=0.2)
    spread = np.std(noisy.data - clean.data) / (2 * np.sqrt(2) / n_bands)
    assert abs(spread - 0.2) < 5 * 0.2 / np.sqrt(2 * 1000)
    with pytest.raises(ValueError, match="n_bands must be at least 2"):
        datasets.toy_bands(n_bands=1)


def test_the_windmill_is_uniform_and_turns(seed):
    mill = datasets.windmill(20_000, seed)
    squares = np.sum(mill.data**2, axis=1)  # uniform on [0, 1] when points are uniform in the disc
    assert abs(squares.mean() - 0.5) < 5 * np.sqrt(1 / 12 / 20_000)
    turned = np.arctan2(mill.data[:, 1], mill.data[:, 0]) + np.pi / 3
    np.testing.assert_array_equal(np.where(np.sin(3 * turned) > 0, 1, -1), -mill.target)
    assert not np.array_equal(
        datasets.windmill(50, 0, arms=8, twist=8.0).target, datasets.windmill(50, 0).target
    )


def test_the_sphere_board_is_even(seed):
    sphere = datasets.sphere_checkerboard(2000, seed)
    np.testing.assert_allclose(np.linalg.norm(sphere.data, axis=1), 1)
    x, y, z = -sphere.data.T
    mirrored = np.where(np.sin(4 * np.arctan2(y, x)) * np.sin(3 * np.arccos(z)) > 0, 1, -1)
    np.testing.assert_array_equal(mirrored, sphere.target)


def jacobian(field, X, step=1e-5):
    """Central differences of a field given as a function, (n, outputs, inputs)."""
    columns = []
    for k in range(X.shape[1]):
        shift = np.zeros(X.shape[1])
        shift[k] = step
        columns.append((field(X + shift) - field(X - shift)) / (2 * step))
    return np.stack(columns, axis=2)


def test_the_plane_field_is_the_gradient_of_its_potential():
    bunch = datasets.curl_free_field(50, 0)
    slopes = jacobian(lambda X: datasets.plane_potential(X)[0][:, None], bunch.data)[:, 0]
    np.testing.assert_allclose(slopes, bunch.target, atol=1e-6)
    np.testing.assert_allclose(datasets.plane_potential(bunch.data)[0], bunch.potential)


def test_the_turned_field_has_no_divergence():
    def turned(X):
        gradient = datasets.plane_potential(X)[1]
        return np.column_stack([gradient[:, 1], -gradient[:, 0]])

    bunch = datasets.divergence_free_field(50, 0)
    np.testing.assert_allclose(turned(bunch.data), bunch.target)
    slopes = jacobian(turned, bunch.data)
    np.testing.assert_allclose(np.trace(slopes, axis1=1, axis2=2), 0, atol=1e-6)
    assert np.abs(slopes).max() > 1


def test_the_random_gradient_field_has_the_variance_of_its_kernel(seed):
    # With θ ~ N(0, I), each coordinate of ∇f has variance E ω² = 1/ℓ² over draws of the function.
    length_scale, n_draws = 0.4, 300
    draws = [
        datasets.gradient_field(
            1, 1000 * seed + i, length_scale=length_scale, n_components=200
        ).target[0]
        for i in range(n_draws)
    ]
    squares = np.square(draws) * length_scale**2
    error = (
        np.sqrt(2 / squares.size) * 1.5
    )  # coordinates of one draw are nearly independent; a margin for that
    assert abs(squares.mean() - 1) < 5 * error


def test_noise_is_added_to_the_targets_only(seed):
    clean, noisy = (
        datasets.curl_free_field(2000, seed),
        datasets.curl_free_field(2000, seed, noise=0.5),
    )
    np.testing.assert_array_equal(clean.data, noisy.data)
    spread = np.std(noisy.target - clean.target)
    assert abs(spread - 0.5) < 5 * 0.5 / np.sqrt(2 * 4000)
