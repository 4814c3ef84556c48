"""The fused kernels against plain NumPy, and the sine and cosine against exact arithmetic."""

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp

from bochner._loops import blocks, kernels
from bochner._loops.blocks import (
    features_block,
    fourier_sums_block,
    potential_gradient_block,
)

DTYPES = [np.float32, np.float64]
# What rounding of the inputs to the kernels may cost: a few units in the last place of a number of
# size 1.
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


def exact_sincos(half_turns):
    """sin(πt), cos(πt) for the exact value of each float, in long double: the reduction below is
    exact.
    """
    exact = half_turns.astype(np.longdouble)
    nearest = np.rint(exact)
    angle = (exact - nearest) * np.longdouble("3.14159265358979323846264338327950288")
    sign = 1 - 2 * (nearest.astype(np.int64) & 1)
    return sign * np.sin(angle), sign * np.cos(angle)


@pytest.mark.parametrize(("dtype", "largest_error"), [(np.float32, 3e-7), (np.float64, 1e-15)])
def test_sincos_is_accurate_for_arguments_up_to_ten_thousand(dtype, largest_error, seed):
    limit = 1e4 / np.pi
    rng = np.random.default_rng(seed)
    special = np.concatenate([np.arange(-3000, 3000) / 4, [0.0, -0.0, limit, -limit, 1e-30]])
    half_turns = np.concatenate(
        [rng.uniform(-limit, limit, 200_000), rng.normal(size=50_000), special]
    ).astype(dtype)
    sines, cosines = np.empty_like(half_turns), np.empty_like(half_turns)
    kernels.sincos(half_turns, sines, cosines)
    exact_sines, exact_cosines = exact_sincos(half_turns)
    assert np.abs(sines - exact_sines).max() < largest_error
    assert np.abs(cosines - exact_cosines).max() < largest_error


def test_the_long_double_reference_agrees_with_mpmath():
    half_turns = np.random.default_rng(0).uniform(-3000, 3000, 50)
    sines, cosines = exact_sincos(half_turns)
    with mpmath.workdps(40):
        for t, s, c in zip(half_turns, sines, cosines, strict=True):
            assert abs(mpmath.sinpi(mpmath.mpf(float(t))) - mpmath.mpf(float(s))) < 1e-16
            assert abs(mpmath.cospi(mpmath.mpf(float(t))) - mpmath.mpf(float(c))) < 1e-16


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles of 16, so that a small problem crosses many tile edges."""
    monkeypatch.setattr(blocks, "TILE", 16)


def problem(dtype, sparse=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(37, 5)).astype(dtype)
    if sparse:
        X[rng.random(X.shape) < 0.6] = 0
    frequencies, weights = rng.normal(size=(21, 5)), rng.random(21)
    signal = rng.normal(size=(37, 3))
    signal[::4, 1] = 0  # zeros are skipped by the kernel
    return (sp.csr_matrix(X) if sparse else X), X, frequencies, weights, signal


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
class TestBlocks:
    def test_features_are_weighted_cosines_then_sines(self, dtype, sparse):
        X, dense, frequencies, weights, _ = problem(dtype, sparse)
        phases = dense.astype(float) @ frequencies.T
        expected = np.hstack([np.sqrt(weights) * np.cos(phases), np.sqrt(weights) * np.sin(phases)])
        got = features_block(frequencies, weights, X)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, atol=TOLERANCE[dtype])

    def test_features_into_a_strided_or_wider_output(self, dtype, sparse):
        X, _, frequencies, weights, _ = problem(dtype, sparse)
        expected = features_block(frequencies, weights, X)
        strided = np.zeros((37, 84), dtype)[:, ::2]
        np.testing.assert_array_equal(
            features_block(frequencies, weights, X, out=strided), expected
        )
        other = np.zeros((37, 42), np.float64 if dtype == np.float32 else np.float32)
        np.testing.assert_allclose(
            features_block(frequencies, weights, X, out=other), expected, atol=1e-6
        )

    def test_fourier_sums_are_the_plain_sums(self, dtype, sparse):
        X, dense, frequencies, _, signal = problem(dtype, sparse)
        waves = np.exp(1j * (dense.astype(float) @ frequencies.T))
        expected = signal.T @ waves
        sums = fourier_sums_block(frequencies, X, signal)
        assert sums.dtype == np.float64
        np.testing.assert_allclose(
            sums[:, 0] + 1j * sums[:, 1], expected, atol=30 * TOLERANCE[dtype]
        )
        kept = np.empty((37, 21), dtype)
        np.testing.assert_allclose(
            fourier_sums_block(frequencies, X, signal, kept), sums, atol=30 * TOLERANCE[dtype]
        )
        np.testing.assert_allclose(
            kept * np.pi, dense.astype(float) @ frequencies.T, atol=3 * TOLERANCE[dtype]
        )

    def test_potential_gradient_is_the_plain_sum(self, dtype, sparse):
        X, dense, frequencies, _, signal = problem(dtype, sparse)
        sums = np.random.default_rng(1).normal(size=(3, 2, 21))
        phases = dense.astype(float) @ frequencies.T
        pull = np.einsum("ik,ij,kj->ij", signal, np.cos(phases), sums[:, 1])
        pull -= np.einsum("ik,ij,kj->ij", signal, np.sin(phases), sums[:, 0])
        got = potential_gradient_block(frequencies, sums, X, signal)
        np.testing.assert_allclose(got, pull.T @ dense.astype(float), atol=100 * TOLERANCE[dtype])
        kept = np.empty((37, 21), dtype)
        fourier_sums_block(frequencies, X, signal, kept)
        again = potential_gradient_block(frequencies, sums, X, signal, kept)
        np.testing.assert_allclose(again, got, atol=100 * TOLERANCE[dtype])


def test_sincos_cannot_be_called_from_python():
    with pytest.raises(RuntimeError, match="compiled"):
        kernels._sincos(0.5)
