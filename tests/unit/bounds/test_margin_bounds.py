"""The guarantees of the margin game: what they say in numbers, and simulations that the printed
forms fail.
"""

import numpy as np
import pytest

from bochner import CandidatePeaks, FourierMeasure, Gaussian, MarginGame, bounds, game_equilibrium
from bochner.data import as_rows
from bochner.data.targets import Labels
from bochner.learners.game.duals import make_dual
from bochner.learners.game.margin_game import dual_gradient, feature_sums


def small_problem(seed, n_rows=12):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_rows, 1))
    y = np.where(np.cos(2 * X[:, 0]) > 0, 1, -1)
    y[:2] = 1, -1
    return X, y, Gaussian(2.0).sample(40, 1, rng), rng


def test_the_gradient_bound_holds_where_the_printed_one_fails():
    """Separable data and α = C: ‖g‖ grows like n √n, and the printed (1 + 2C) √n does not."""
    X = np.repeat([[0.0], [np.pi]], 20, axis=0)
    y = np.repeat([1.0, -1.0], 20)
    dual = make_dual("hinge", Labels.of(y), 1.0)
    alpha = np.ones((40, 1))
    peak = FourierMeasure(np.array([[1.0]]), np.array([1.0]))
    sums = feature_sums(peak, as_rows(X), dual.signal(alpha))
    norm = np.linalg.norm(dual_gradient(dual, peak, as_rows(X), alpha, sums))
    assert norm > 10 * (1 + 2) * np.sqrt(40)
    assert norm <= dual.gradient_bound


def test_regret_bound_covers_the_gap_of_played_games(seed):
    X, y, atoms, rng = small_problem(seed)
    exact = game_equilibrium(atoms, X, y, n_iterations=60, ratio=0.98).report
    gaps = []
    for n_rounds in (20, 400):
        learner = MarginGame(n_rounds=n_rounds, peaks=CandidatePeaks(), step="theory")
        report = learner.learn(atoms, X, y, rng).report
        gap = report.certificate.upper - exact.lower
        assert gap <= bounds.margin_regret(12, n_rounds).value
        gaps.append(gap)
    assert gaps[-1] < gaps[0]


def test_alternate_form_bounds_the_objective(seed):
    X, y, atoms, rng = small_problem(seed)
    start = atoms
    sums, heights, plays = [], [], []
    for played in MarginGame(n_rounds=100, peaks=CandidatePeaks(), step="theory").rounds(
        start, X, y, rng
    ):
        sums.append(played.dual_weights.sum())
        heights.append(played.potential)
        plays.append(played)
    bound = bounds.margin_objective(sums, heights, 12)
    report = (
        MarginGame(n_rounds=100, peaks=CandidatePeaks(), step="theory")
        .learn(start, X, y, rng)
        .report
    )
    assert bound.valid
    assert report.certificate.upper <= bound.value
    assert bound.empirical == pytest.approx(np.mean([p.value for p in plays]))
    assert not bounds.margin_objective(sums, heights, 12, form="paper").valid


def test_margin_regret_in_numbers():
    safe = bounds.margin_regret(10, 100, C=2.0, search_error=0.5)
    assert safe.value == pytest.approx(0.25 + 1.5 * 2 * 10 * 21 / 10)
    printed = bounds.margin_regret(10, 100, C=2.0, form="paper")
    assert printed.value == pytest.approx(3 * (2 + 8) * 10 / 40)
    assert not printed.valid
    assert "form='safe'" in printed.reason


def test_competitive_ratio_in_numbers():
    assert bounds.competitive_ratio(0.5, 0.1) == pytest.approx(0.995)
    assert bounds.competitive_ratio(1e6, 1.0) == 0.0


def test_margin_bound_in_numbers_and_the_price_of_choosing_a_threshold():
    margins = np.r_[np.full(90, 0.6), np.full(10, 0.05)]
    one = bounds.margin(margins, 0.5, 2.0, 3.0, mass=0.25, delta=0.1)
    assert one.empirical == pytest.approx(0.1)
    assert one.complexity == pytest.approx(
        38 / 0.5 * np.sqrt(0.25 / 100) + 3 * np.sqrt(np.log(20) / 100)
    )
    several = bounds.margin(margins, [0.5, 0.01], 2.0, 3.0, mass=0.25, delta=0.1)
    free = bounds.margin(margins, [0.5, 0.01], 2.0, 3.0, mass=0.25, delta=0.1, form="paper")
    assert one.value < several.value
    assert free.complexity == pytest.approx(
        36 / 0.5 * np.sqrt(0.25 / 100) + 3 * np.sqrt(np.log(20) / 100)
    )
    assert not free.valid
    assert "union bound" in free.reason
    printed = bounds.margin(margins, 0.5, 2.0, 3.0, form="paper")
    assert not printed.valid
    assert "union bound" not in printed.reason


def test_the_margin_bound_is_above_the_rademacher_complexity_of_narrow_kernels(seed):
    """E sup_{‖ω‖ <= R_ω} |Σ_i σ_i exp(iω·x_i)| / n is about .82/√n at R_ω R_x = .1, not at most
    .3/√n as printed.
    """
    rng = np.random.default_rng(seed)
    n, radius, delta = 400, 0.1, 0.05
    X, grid = rng.uniform(-1, 1, size=n), np.linspace(0, radius, 21)
    signs = rng.choice([-1.0, 1.0], size=(2000, n))
    suprema = np.abs(signs @ np.exp(1j * np.outer(X, grid))).max(axis=1) / n
    mean, error = suprema.mean(), suprema.std() / np.sqrt(len(suprema))

    def claimed(form):
        bound = bounds.margin(np.ones(n), 2.0, radius, 1.0, delta=delta, form=form)  # 2/θ = 1
        return bound.complexity - 3 * np.sqrt(np.log(2 / delta) / n)

    assert mean + 5 * error < claimed("safe")
    assert claimed("safe") == pytest.approx(1.3 / np.sqrt(n))
    assert mean - 5 * error > claimed("paper")
    assert abs(mean - 0.82 / np.sqrt(n)) < 5 * error + 0.02 / np.sqrt(n)


def test_potential_deviation_is_where_the_probability_is_delta():
    bound = bounds.potential_deviation(10**5, 3, 4.0, 1.5, delta=0.01)
    epsilon, n = bound.value, 10**5
    log_probability = np.log(2) + 3 * np.log(24 * 6 / epsilon) - n * (epsilon / 2 - 1 / n) ** 2 / 8
    assert log_probability == pytest.approx(np.log(0.01), rel=1e-6)
    printed = bounds.potential_deviation(10**5, 3, 4.0, 1.5, delta=0.01, form="paper").value
    assert 8 * 1.5**2 * 4**4 * (
        3 * np.log(8 / printed) + np.log(100)
    ) / printed**2 == pytest.approx(n, rel=1e-6)


def test_empirical_potential_is_biased_by_one_over_n_and_stays_within_the_bound(seed):
    """E[v/n²] = (1 − 1/n) v_ideal + 1/n, which the paper takes for v_ideal."""
    rng = np.random.default_rng(seed)
    n, omega = 10, 1.3

    def draw(size):
        X = rng.uniform(-1, 1, size=size)
        return X, np.where(rng.random(size) < 0.7, np.sign(X), -np.sign(X))

    X, y = draw((20_000, n))
    potentials = np.abs(np.sum(y * np.exp(1j * omega * X), axis=1)) ** 2 / n**2
    ideal = (0.4 * (1 - np.cos(omega)) / omega) ** 2  # |E[y exp(iωx)]|² = (0.4 ∫₀¹ sin ωx)²
    error = potentials.std() / np.sqrt(len(potentials))
    assert abs(potentials.mean() - ((1 - 1 / n) * ideal + 1 / n)) < 5 * error
    assert abs(potentials.mean() - ideal) > 10 * error
    grid = np.linspace(0, 3, 61)
    X, y = draw(2000)
    ideals = np.r_[0.0, (0.4 * (1 - np.cos(grid[1:])) / grid[1:]) ** 2]
    measured = np.abs(np.exp(1j * np.outer(grid, X)) @ y) ** 2 / 2000**2
    assert np.abs(measured - ideals).max() < bounds.potential_deviation(2000, 1, 3.0, 1.0).value


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.margin_regret(0, 10), "n_samples"),
        (lambda: bounds.margin_regret(10, 10, form="printed"), "form"),
        (lambda: bounds.margin_objective([1.0], [1.0, 2.0], 5), "one of each"),
        (lambda: bounds.margin_objective([np.nan], [1.0], 5), "dual_sums must be finite"),
        (lambda: bounds.margin_objective([1.0], [-1.0], 5), "potentials must be at least 0"),
        (lambda: bounds.margin([0.5, np.nan], 0.5, 1.0, 1.0), "margins must be finite"),
        (lambda: bounds.margin(np.ones(5), [0.5, np.nan], 1.0, 1.0), "thresholds must be finite"),
        (lambda: bounds.margin(np.ones((5, 1)), 0.5, 1.0, 1.0), "margins must be a vector"),
        (lambda: bounds.competitive_ratio(np.nan, 1.0), "gap"),
        (lambda: bounds.margin(np.ones((2, 2)), 0.5, 1.0, 1.0), "vector"),
        (lambda: bounds.margin(np.ones(5), [0.0], 1.0, 1.0), "thresholds must be positive"),
        (lambda: bounds.margin(np.ones(5), 0.5, 1.0, 1.0, delta=1.5), "delta"),
        (lambda: bounds.potential_deviation(10, 0, 1.0, 1.0), "n_features"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
