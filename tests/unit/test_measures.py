"""Measures: a finite set of weighted atoms is a kernel."""

import dataclasses

import numpy as np
import pytest

from bochner import FourierMeasure, concatenate

RNG = np.random.default_rng(0)
MEASURE = FourierMeasure(RNG.normal(size=(12, 3)), RNG.random(12))
X, Z = RNG.normal(size=(9, 3)), RNG.normal(size=(5, 3))


def pairwise_kernel(measure, X, Z):
    """The definition, pair by pair; only for tests."""
    return np.array(
        [
            [
                sum(
                    w * np.cos(f @ (x - z))
                    for f, w in zip(measure.frequencies, measure.weights, strict=True)
                )
                for z in Z
            ]
            for x in X
        ]
    )


def test_features_reproduce_the_kernel_of_the_measure_exactly():
    expected = pairwise_kernel(MEASURE, X, Z)
    np.testing.assert_allclose(MEASURE.kernel(X, Z), expected, atol=1e-13)
    np.testing.assert_allclose(MEASURE.features(X) @ MEASURE.features(Z).T, expected, atol=1e-13)
    np.testing.assert_allclose(np.diag(MEASURE.kernel(X)), MEASURE.mass, rtol=1e-13)


def test_float32_rows_stay_float32_and_cost_little_accuracy():
    single = MEASURE.kernel(X.astype(np.float32), Z.astype(np.float32))
    assert single.dtype == np.float32
    assert MEASURE.features(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single, MEASURE.kernel(X, Z), atol=1e-6 * MEASURE.mass)


def test_a_measure_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        MEASURE.weights = np.ones(12)
    with pytest.raises(ValueError, match="read-only"):
        MEASURE.weights[0] = 3
    own = np.ones((2, 3))
    measure = FourierMeasure(own, [1, 1])
    own[0, 0] = 5  # the caller's array stays the caller's
    with pytest.raises(ValueError, match="read-only"):
        measure.frequencies[0, 0] = 3


def test_concatenation_adds_kernels():
    other = FourierMeasure(RNG.normal(size=(4, 3)), RNG.random(4))
    both = concatenate([MEASURE, other])
    np.testing.assert_allclose(
        both.kernel(X, Z), MEASURE.kernel(X, Z) + other.kernel(X, Z), atol=1e-13
    )
    assert both.mass == pytest.approx(MEASURE.mass + other.mass)
    with pytest.raises(ValueError, match="no measures"):
        concatenate([])
    with pytest.raises(TypeError, match="one kind"):
        concatenate([MEASURE, "a kernel"])


def test_merging_joins_duplicates_and_opposite_frequencies():
    frequencies = np.array([[1.0, -2], [-1, 2], [0, 3], [0, -3], [-0.0, 3], [0, 0], [4, 4]])
    measure = FourierMeasure(frequencies, [1, 2, 3, 4, 5, 6, 0])
    merged = measure.merged()
    np.testing.assert_allclose(np.sort(merged.weights), [3, 6, 12])
    points = RNG.normal(size=(6, 2))
    np.testing.assert_allclose(merged.kernel(points), measure.kernel(points), atol=1e-12)
    assert len(FourierMeasure(frequencies, np.zeros(7)).merged()) == 1


@pytest.mark.parametrize("selection", ["multinomial", "systematic"])
def test_resampling_keeps_the_kernel_on_average(selection, seed):
    """z-scores of the mean resampled kernel against the measure's own."""
    draws = np.array(
        [
            MEASURE.resampled(20, rng, selection).kernel(X, Z)
            for rng in np.random.default_rng(seed).spawn(400)
        ]
    )
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.abs((draws.mean(axis=0) - MEASURE.kernel(X, Z)) / error).max() < 5


def test_systematic_resampling_rounds_each_weight_up_or_down(seed):
    rng = np.random.default_rng(seed)
    chosen = MEASURE.resampled(50, rng, "systematic").merged()
    expected = 50 * MEASURE.weights / MEASURE.mass
    counts = np.zeros(12)
    for frequency, weight in zip(chosen.frequencies, chosen.weights, strict=True):
        counts[np.flatnonzero((MEASURE.frequencies == frequency).all(axis=1))[0]] = (
            weight * 50 / MEASURE.mass
        )
    assert np.all(counts >= np.floor(expected) - 1e-9)
    assert np.all(counts <= np.ceil(expected) + 1e-9)


def test_resampling_never_draws_an_atom_of_weight_zero(seed):
    measure = FourierMeasure(np.arange(5.0)[:, None], [0, 1, 0, 1e-300, 0])
    drawn = measure.resampled(1000, np.random.default_rng(seed))
    assert set(drawn.frequencies[:, 0]) <= {1.0, 3.0}
    assert drawn.mass == pytest.approx(1)


def test_take_keeps_frequencies_and_weights_together():
    part = MEASURE.take([3, 1])
    np.testing.assert_array_equal(part.frequencies, MEASURE.frequencies[[3, 1]])
    np.testing.assert_array_equal(part.weights, MEASURE.weights[[3, 1]])
    assert len(part) == 2


@pytest.mark.parametrize(
    ("frequencies", "weights", "message"),
    [
        (np.ones(3), np.ones(3), "2 dimension"),
        (np.ones((3, 2)), np.ones(2), "2 weights for 3 atoms"),
        (np.ones((3, 2)), [1, -1, 1], "non-negative"),
        (np.full((3, 2), np.nan), np.ones(3), "finite"),
        (np.ones((3, 2)), [1, np.inf, 1], "finite"),
        (np.ones((0, 2)), np.ones(0), "at least one atom"),
    ],
)
def test_impossible_measures_are_refused(frequencies, weights, message):
    with pytest.raises(ValueError, match=message):
        FourierMeasure(frequencies, weights)


def test_bad_calls_say_what_is_needed():
    with pytest.raises(TypeError, match="real numbers"):
        FourierMeasure(np.ones((3, 2), dtype=complex), np.ones(3))
    with pytest.raises(ValueError, match="3 features"):
        MEASURE.features(np.ones((4, 2)))
    with pytest.raises(ValueError, match=r"needs \(9, 24\)"):
        MEASURE.features(X, out=np.empty((9, 23)))
    with pytest.raises(ValueError, match="contains NaN"):
        MEASURE.features([[0.0, np.nan, 1.0]])
    with pytest.raises(ValueError, match="contains infinity"):
        MEASURE.kernel(np.full((2, 3), np.inf))
    with pytest.raises(ValueError, match="one space"):
        MEASURE.kernel(X, Z[:, :2])
    with pytest.raises(ValueError, match="mass zero"):
        FourierMeasure([[1.0]], [0.0]).resampled(3, np.random.default_rng(0))
    with pytest.raises(ValueError, match="selection must be one of"):
        MEASURE.resampled(3, np.random.default_rng(0), "bootstrap")
    with pytest.raises(ValueError, match="n_atoms must be at least 1"):
        MEASURE.resampled(0, np.random.default_rng(0))
