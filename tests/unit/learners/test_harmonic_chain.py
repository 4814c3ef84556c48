"""The Markov chain over harmonics: it mixes to λ ∝ exp(β v), and plays the margin game."""

import numpy as np
import pytest
from selection import long_except

from bochner import HarmonicChain, HarmonicPeaks, MarginGame, SpectralFeatures
from bochner.datasets import sphere_checkerboard
from bochner.learners.game import exhaustive
from bochner.learners.game.harmonic_chain import _Seen, log_acceptance
from bochner.measures import harmonic as harmonics
from bochner.measures.harmonic import (
    basis_size,
    harmonic_columns,
    harmonic_count,
    harmonic_indices,
    sphere_area,
    spherical_harmonics,
)


def sphere(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.sign(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)), rng


def exact_law(X, signal, max_degree, beta):
    """λ ∝ exp(β v), v = |S| Σ_k (Σ_i a_ik Y(x_i))² / Σ_k (Σ_i |a_ik|)², harmonic by harmonic."""
    basis = spherical_harmonics(X, max_degree)
    heights = np.array(
        [sphere_area(X.shape[1]) * np.sum((column @ signal) ** 2) for column in basis.T]
    )
    heights /= np.sum(np.sum(np.abs(signal), axis=0) ** 2)
    chances = np.exp(beta * heights)
    return chances / chances.sum()


@pytest.mark.parametrize(("d", "max_degree", "beta"), [(2, 5, 3.0), (3, 3, 8.0), (4, 2, 10.0)])
def test_walkers_end_with_the_chances_of_the_law(d, max_degree, beta, seed):
    X, y, rng = sphere(60, d, seed)
    signal = np.column_stack([y, rng.normal(size=60)])
    chances = exact_law(X, signal, max_degree, beta)
    assert chances.max() > 2 * chances.min()  # a law that is worth a test
    n_walkers = 4000
    chain = HarmonicChain(
        max_degree=max_degree, n_walkers=n_walkers, n_steps=80, beta=beta, draw=True, top=n_walkers
    )
    drawn = chain.prepare(None, X).find(signal, rng)
    counts = np.zeros(len(chances))
    places = {tuple(index): k for k, index in enumerate(harmonic_indices(d, max_degree))}
    for index, weight in zip(drawn.indices, drawn.weights):
        counts[places[tuple(index)]] = weight * n_walkers
    assert counts.sum() == pytest.approx(n_walkers)
    z = (counts - n_walkers * chances) / np.sqrt(n_walkers * chances * (1 - chances))
    assert np.abs(z).max() < 5


def test_steps_are_in_detailed_balance():
    """λ(a) P(a → b) = λ(b) P(b → a), P = (1/3)(1/N_b) acceptance, for all pairs of neighboring
    degrees; and pinned numbers.
    """
    assert np.exp(log_acceptance(2.0, -0.5, 5 / 3)) == pytest.approx(5 / 3 * np.exp(-1.0))
    assert log_acceptance(2.0, 0.5, 3 / 5) == 0.0
    rng = np.random.default_rng(0)
    for low in range(4):
        v, beta = rng.random(2), 3.0
        n = [harmonic_count(3, low), harmonic_count(3, low + 1)]
        up = np.exp(log_acceptance(beta, v[1] - v[0], n[1] / n[0])) / n[1]
        down = np.exp(log_acceptance(beta, v[0] - v[1], n[0] / n[1])) / n[0]
        assert np.exp(beta * v[0]) * up == pytest.approx(np.exp(beta * v[1]) * down)


@pytest.mark.parametrize("kept", [True, False])
def test_the_highest_harmonics_are_found_like_by_a_look_at_all(kept, seed, monkeypatch):
    X, y, rng = sphere(200, 3, seed)
    if not kept:
        monkeypatch.setattr(exhaustive, "_KEPT_BASIS_BYTES", 0)
    every = HarmonicPeaks(max_degree=6, top=3).prepare(None, X).find(y[:, None], rng)
    chain = (
        HarmonicChain(max_degree=6, n_walkers=50, n_steps=200, top=3)
        .prepare(None, X)
        .find(y[:, None], rng)
    )
    assert sorted(map(tuple, chain.indices)) == sorted(map(tuple, every.indices))
    np.testing.assert_allclose(chain.weights, 1 / 3)


@pytest.mark.long
@pytest.mark.parametrize("draw", long_except([False, True], False))
def test_the_game_can_be_played_by_a_chain(draw):
    ball, new = sphere_checkerboard(600, 0), sphere_checkerboard(2000, 1)
    game = MarginGame(
        n_rounds=60, peaks=HarmonicChain(max_degree=12, n_walkers=30, n_steps=60, draw=draw)
    )
    features = SpectralFeatures(learner=game, random_state=0).fit(ball.data, ball.target)
    certificate = features.report_.certificate
    assert not certificate.exact
    assert "chain" in certificate.scope
    assert features.measure_.mass == pytest.approx(1)
    again = SpectralFeatures(learner=game, random_state=0).fit(ball.data, ball.target)
    np.testing.assert_array_equal(again.measure_.indices, features.measure_.indices)
    from sklearn.linear_model import RidgeClassifier

    model = RidgeClassifier(1e-2).fit(features.transform(ball.data), ball.target)
    assert model.score(features.transform(new.data), new.target) > 0.75


def test_a_chain_evaluates_only_the_proposed_harmonics(monkeypatch):
    """In R^20 all 2 877 875 harmonics up to degree 8 would take 4 GiB for 200 rows."""
    evaluated = []

    def counted(X, indices):
        evaluated.append(len(X) * len(indices))
        return harmonic_columns(X, indices)

    monkeypatch.setattr(harmonics, "harmonic_columns", counted)
    X, y, rng = sphere(200, 20, 0)
    chain = HarmonicChain(max_degree=8, n_walkers=5, n_steps=6, top=3).prepare(None, X)
    found = chain.find(y[:, None], rng)
    assert len(found) == 3
    assert found.indices[:, 0].max() <= 8
    assert sum(evaluated) <= 200 * 5 * (6 + 1)
    with pytest.raises(ValueError, match="2877875 harmonics"):
        HarmonicPeaks(max_degree=8).prepare(None, X)


def test_the_heights_that_a_chain_compares_are_potentials(seed):
    """v = |S| (Σ_i a_i Y(x_i))² / (Σ_i |a_i|)² of every harmonic of degree at most 2, without a
    kept basis.
    """
    X, y, _ = sphere(100, 12, seed)
    chain = HarmonicChain(max_degree=10).prepare(None, X)
    assert chain.kept is None
    numbers = np.arange(basis_size(12, 2))
    basis = spherical_harmonics(X, 2)
    expected = sphere_area(12) * (y @ basis) ** 2 / np.sum(np.abs(y)) ** 2
    np.testing.assert_allclose(_Seen(chain, y).at(numbers[::-1])[::-1], expected, atol=1e-12)
    np.testing.assert_array_equal(chain.indices(numbers), harmonic_indices(12, 2))


def test_a_game_is_played_where_the_basis_cannot_be_held():
    X, y, _ = sphere(60, 20, 0)
    game = MarginGame(n_rounds=3, peaks=HarmonicChain(max_degree=8, n_walkers=4, n_steps=4))
    features = SpectralFeatures(learner=game, random_state=0).fit(X, y)
    assert features.transform(X).shape == (60, len(features.measure_))
    assert 0 < features.report_.certificate.upper < np.inf


def test_too_many_harmonics_to_number_are_refused():
    X, _, _ = sphere(20, 60, 0)
    with pytest.raises(ValueError, match="Lower max_degree"):
        HarmonicChain(max_degree=30).prepare(None, X)


def test_wrong_parameters_are_refused():
    X, _, _ = sphere(20, 3, 0)
    for chain, message in (
        (HarmonicChain(max_degree=-1), "max_degree"),
        (HarmonicChain(n_steps=0), "n_steps"),
        (HarmonicChain(beta=-1.0), "beta"),
        (HarmonicChain(draw=True, top=30), "need as many walkers"),
    ):
        with pytest.raises(ValueError, match=message):
            chain.prepare(None, X)
