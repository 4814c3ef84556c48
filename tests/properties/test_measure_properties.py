"""Invariants of measures, for whatever hypothesis comes up with."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bochner import FourierMeasure

FINITE = st.floats(-10, 10, allow_subnormal=False)


@st.composite
def measures(draw):
    n_atoms, n_features = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    frequencies = draw(arrays(np.float64, (n_atoms, n_features), elements=FINITE))
    weights = draw(arrays(np.float64, n_atoms, elements=st.floats(0, 5)))
    return FourierMeasure(frequencies, weights)


@st.composite
def measures_and_points(draw):
    measure = draw(measures())
    return measure, draw(arrays(np.float64, (4, measure.n_features), elements=FINITE))


@settings(deadline=None, max_examples=50)
@given(measures_and_points())
def test_kernel_is_symmetric_bounded_by_the_mass_and_positive(case):
    measure, X = case
    gram = measure.kernel(X)
    np.testing.assert_allclose(gram, gram.T, atol=1e-12)
    assert np.all(np.abs(gram) <= measure.mass * (1 + 1e-12) + 1e-12)
    assert np.linalg.eigvalsh(gram).min() >= -1e-10 * (1 + measure.mass)


@settings(deadline=None, max_examples=50)
@given(measures_and_points())
def test_kernel_ignores_the_sign_of_a_frequency(case):
    measure, X = case
    mirrored = FourierMeasure(-measure.frequencies, measure.weights)
    np.testing.assert_allclose(mirrored.kernel(X), measure.kernel(X), atol=1e-12)


@settings(deadline=None, max_examples=50)
@given(measures_and_points())
def test_merging_changes_neither_kernel_nor_mass_and_merging_twice_nothing(case):
    measure, X = case
    merged = measure.merged()
    np.testing.assert_allclose(merged.kernel(X), measure.kernel(X), atol=1e-10)
    np.testing.assert_allclose(merged.mass, measure.mass, atol=1e-12)
    assert len(merged.merged()) == len(merged) <= len(measure)


@settings(deadline=None, max_examples=50)
@given(
    measures(),
    st.integers(1, 20),
    st.sampled_from(["multinomial", "systematic"]),
    st.integers(0, 2**32 - 1),
)
def test_resampling_keeps_the_mass(measure, n_atoms, selection, seed):
    if measure.mass == 0:
        return
    drawn = measure.resampled(n_atoms, np.random.default_rng(seed), selection)
    assert len(drawn) == n_atoms
    np.testing.assert_allclose(drawn.mass, measure.mass, rtol=1e-12, atol=1e-300)
