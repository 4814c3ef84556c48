"""Peak searches: gradients, planted frequencies, brute force in one dimension, and what the penalty
is for.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from bochner import (
    AscentPeaks,
    CandidatePeaks,
    Gaussian,
    HarmonicPeaks,
    LangevinPeaks,
    QuasiNewtonPeaks,
)
from bochner.data import as_rows
from bochner.learners.game.peaks import Landscape

SEARCHES = {
    "ascent": AscentPeaks(n_walkers=40, n_steps=30),
    "ascent polished": AscentPeaks(n_walkers=40, polish=20),
    "langevin": LangevinPeaks(n_walkers=60, n_steps=60),
    "quasi-newton": QuasiNewtonPeaks(n_walkers=30),
}


def planted(n_rows, n_features, seed, length=2.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    frequency = rng.normal(size=n_features)
    frequency *= length / np.linalg.norm(frequency)
    return X, np.cos(X @ frequency + 0.4), frequency, rng


@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_gradient_of_the_landscape_against_finite_differences(penalty):
    X, signal, _, rng = planted(60, 4, 0)
    landscape = Landscape(as_rows(X), np.column_stack([signal, rng.normal(size=60)]), penalty, 1.7)
    frequencies = rng.normal(size=(3, 4))
    heights, gradients = landscape.climb(frequencies)
    np.testing.assert_allclose(heights, landscape.values(frequencies), rtol=1e-12)
    for k in range(4):
        shift = 1e-6 * np.eye(4)[k]
        numeric = (
            landscape.values(frequencies + shift) - landscape.values(frequencies - shift)
        ) / 2e-6
        np.testing.assert_allclose(gradients[:, k], numeric, atol=1e-8)


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("n_features", [1, 5])
def test_a_planted_frequency_is_recovered(name, n_features, seed):
    X, signal, frequency, rng = planted(1500, n_features, seed)
    start = Gaussian(gamma=1.0).sample(50, n_features, rng)
    found = SEARCHES[name].prepare(start, X).find(signal, rng)
    nearest = min(np.linalg.norm(found.frequencies[0] - sign * frequency) for sign in (1, -1))
    # The peak of cos² sampled at n points has width about 1, and is known to about 1/√n of it.
    assert nearest < 5 / np.sqrt(len(X))
    assert found.mass == 1


def test_the_highest_peak_in_one_dimension_is_the_brute_force_one(seed):
    X, _, _, rng = planted(200, 1, seed)
    signal = rng.normal(size=200)
    grid = np.linspace(0, 6, 4001)[:, None]
    landscape = Landscape(as_rows(X), signal, 0.0, 1.0)
    found = (
        AscentPeaks(n_walkers=200, n_steps=20, penalty=0.0, polish=20)
        .prepare(Gaussian(gamma=4.0).sample(100, 1, rng), X)
        .find(signal, rng)
    )
    assert landscape.values(found.frequencies)[0] > landscape.values(grid).max() - 1e-6


def test_top_peaks_are_distinct_even_up_to_sign(seed):
    X, signal, _, rng = planted(300, 3, seed)
    found = (
        AscentPeaks(n_walkers=60, top=5)
        .prepare(Gaussian(gamma=1.0).sample(50, 3, rng), X)
        .find(signal, rng)
    )
    assert 1 < len(found) <= 5
    np.testing.assert_allclose(found.weights, 1 / len(found))
    waves = np.exp(1j * X @ found.frequencies.T)
    alike = np.maximum(np.abs(waves.conj().T @ waves), np.abs(waves.T @ waves)) ** 2 / 300**2
    assert alike[~np.eye(len(found), dtype=bool)].max() < 0.96


def test_the_penalty_removes_peaks_of_pure_noise(seed):
    """Random labels in many dimensions: unpenalized peaks are high, and far out; penalized ones are
    neither.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2000, 100)).astype(np.float32)
    noise = rng.choice([-1.0, 1.0], size=2000)
    start = Gaussian(gamma="median").resolved(X).sample(50, 100, rng)
    heights, norms = [], []
    for penalty in (0.0, "auto"):
        bound = AscentPeaks(n_steps=20, penalty=penalty).prepare(start, X)
        peak = bound.find(noise, rng).frequencies
        heights.append(Landscape(as_rows(X), noise, 0.0, 1.0).values(peak)[0])
        norms.append(np.linalg.norm(peak) / bound.radius)
    assert heights[1] < 0.7 * heights[0]
    assert norms[1] < 0.7 * norms[0]


def test_langevin_noise_has_the_corrected_scale():
    """On a flat landscape only the noise moves: its variance is 2 step temperature per step, not 2
    temperature / step.
    """
    rng = np.random.default_rng(0)
    landscape = Landscape(as_rows(np.ones((4, 2000))), np.zeros(4), 0.0, 1.0)
    search = LangevinPeaks(n_walkers=5, n_steps=1, step=0.01, temperature=3.0)
    starts = np.zeros((5, 2000))
    recorded = []
    climb = landscape.climb
    landscape.climb = lambda w: (recorded.append(w), climb(w))[1]
    search._move(landscape, starts, rng)
    variance = recorded[1].var()
    error = 2 * 0.01 * 3.0 * np.sqrt(2 / recorded[1].size)
    assert abs(variance - 2 * 0.01 * 3.0) < 5 * error


@pytest.mark.parametrize("step", ["auto", 1e-6, 0.3])
def test_automatic_temperature_gives_noise_of_half_the_mean_drift(step, seed):
    """√E‖noise‖² = ½ mean ‖ζ∇v‖ for every step ζ; "auto" is a drift of R/20."""
    rng = np.random.default_rng(seed)
    X, radius = rng.normal(size=(50, 40)), 3.0
    landscape = Landscape(as_rows(X), rng.normal(size=50), 0.0, radius)
    starts, recorded = rng.normal(size=(300, 40)), []
    climb = landscape.climb
    landscape.climb = lambda frequencies: (recorded.append(frequencies), climb(frequencies))[1]
    LangevinPeaks(n_walkers=300, n_steps=1, step=step)._move(landscape, starts, rng)
    gradients = climb(starts)[1]
    slope = np.mean(np.linalg.norm(gradients, axis=1))
    drift = (radius / 20 / slope if step == "auto" else step) * gradients
    noise = recorded[1] - starts - drift
    expected = 0.5 * np.mean(np.linalg.norm(drift, axis=1))
    z = (np.mean(noise**2) * 40 / expected**2 - 1) / np.sqrt(2 / noise.size)
    assert abs(z) < 5


@pytest.mark.parametrize("form", ["csr", "float32", "dask"])
def test_every_form_of_rows_finds_the_same_peak(form):
    X, signal, frequency, rng = planted(800, 3, 1)
    forms = {"csr": sp.csr_matrix, "float32": lambda a: a.astype(np.float32)}
    if form == "dask":
        da = pytest.importorskip("dask.array")
        rows = da.from_array(X, chunks=(300, 3))
    else:
        rows = forms[form](X)
    start = Gaussian(gamma=1.0).sample(50, 3, rng)
    found = (
        AscentPeaks(n_walkers=40, n_steps=30).prepare(start, rows).find(signal, rng).frequencies[0]
    )
    assert min(np.linalg.norm(found - frequency), np.linalg.norm(found + frequency)) < 0.15


def test_many_rows_are_searched_on_a_sample_of_them():
    X, signal, frequency, rng = planted(5000, 3, 2)
    bound = AscentPeaks(n_walkers=40, n_steps=30, search_rows=800).prepare(
        Gaussian(gamma=1.0).sample(50, 3, rng), X
    )
    assert bound.all_rows is None
    assert bound._read(bound.rows.spread(800)).shape == (800, 3)
    found = bound.find(signal, rng).frequencies[0]
    assert min(np.linalg.norm(found - frequency), np.linalg.norm(found + frequency)) < 0.3


def test_candidates_are_searched_exhaustively(seed):
    X, signal, _, rng = planted(100, 2, seed)
    start = Gaussian(gamma=1.0).sample(30, 2, rng)
    heights = np.abs(np.exp(1j * start.frequencies @ X.T) @ signal) ** 2
    found = CandidatePeaks(top=3).prepare(start, X).find(signal, rng)
    np.testing.assert_array_equal(found.frequencies, start.frequencies[np.argsort(-heights)[:3]])
    assert CandidatePeaks().prepare(start, X).largest_potential(signal) == pytest.approx(
        heights.max()
    )


def test_candidates_have_the_automatic_penalty_of_the_other_searches(seed):
    """0.3 d/n, at most 0.03, times ‖ω‖²/R², R² = 1.5 median ‖ω‖², from heights of at most one."""
    X, signal, _, rng = planted(100, 2, seed)
    start = Gaussian(gamma=1.0).sample(30, 2, rng)
    norms = np.sum(start.frequencies**2, axis=1)
    heights = (
        np.abs(np.exp(1j * start.frequencies @ X.T) @ signal) ** 2 / np.sum(np.abs(signal)) ** 2
    )
    for weights, penalty in ((None, 0.006), (np.full(100, 2.0), 0.003), (np.full(100, 0.1), 0.03)):
        lowered = heights - penalty * norms / (1.5 * np.median(norms))
        bound = CandidatePeaks(top=30, penalty="auto").prepare(start, X, weights)
        found = bound.find(signal, rng)
        np.testing.assert_array_equal(found.frequencies, start.frequencies[np.argsort(-lowered)])
        assert AscentPeaks().prepare(start, X, weights).penalty == pytest.approx(penalty)
        assert bound.largest_potential(signal) == pytest.approx(
            heights.max() * np.sum(np.abs(signal)) ** 2
        )


@pytest.mark.parametrize("mode", ["harmonic", "zonal"])
def test_harmonic_search_agrees_with_the_kernel_of_what_it_finds(mode, seed):
    """aᵀ K a for the kernel of the peak is the height of the peak, and no other peak is higher."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    signal = rng.normal(size=50)
    bound = HarmonicPeaks(max_degree=6, mode=mode).prepare(None, X)
    found = bound.find(signal, rng)
    assert signal @ found.kernel(X) @ signal == pytest.approx(
        bound.largest_potential(signal), rel=1e-10
    )
    np.testing.assert_allclose(bound.kept_features(found), found.features(X), atol=1e-13)
    bound.basis = None  # rows too many to keep: the same by row sums
    assert bound.largest_potential(signal) == pytest.approx(
        signal @ found.kernel(X) @ signal, rel=1e-10
    )
    assert len(found) == (1 if mode == "harmonic" else 2 * found.indices[0, 0] + 1)


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (AscentPeaks(n_walkers=0), "n_walkers"),
        (AscentPeaks(n_steps=0), "n_steps"),
        (AscentPeaks(top=0), "top"),
        (AscentPeaks(penalty=-1.0), "penalty"),
        (LangevinPeaks(step=0.0), "step"),
        (LangevinPeaks(temperature=-1.0), "temperature"),
        (CandidatePeaks(top=0), "top"),
        (CandidatePeaks(penalty=-1.0), "penalty"),
        (HarmonicPeaks(mode="both"), "mode"),
        (HarmonicPeaks(max_degree=-1), "max_degree"),
        (HarmonicPeaks(max_degree=10_000), "harmonics.*GiB"),
    ],
)
def test_bad_parameters_are_named(search, message):
    X = np.eye(3).repeat(100, axis=0)
    with pytest.raises(ValueError, match=message):
        search.prepare(Gaussian().sample(5, 3, np.random.default_rng(0)), X)


def test_searches_are_parameter_objects():
    for search in [*SEARCHES.values(), CandidatePeaks(), HarmonicPeaks()]:
        assert clone(search).get_params() == search.get_params()
