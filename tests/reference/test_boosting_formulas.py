"""The boosting paper's formulas, row by row and by brute force, against the fused passes."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime, fmin_l_bfgs_b, minimize

from bochner import Gaussian, GBRFF1Classifier, GBRFF2Classifier, PacBayes
from bochner.boosting import gbrff2
from bochner.boosting.gbrff1 import frequency_losses_block, landmark_block, random_row
from bochner.boosting.gbrff2 import best_phase, objective_of
from bochner.boosting.gbrff_base import bound_minimizer, in_few_blocks
from bochner.boosting.rounds import QuadraticModel
from bochner.data import LocalRows, as_rows
from bochner.losses import Exponential, Logistic, Multinomial, Squared
from bochner.measures.fourier import FourierMeasure


def frequency_objective(rows, signal, counts, phase, penalty, frequency):
    return objective_of(rows, signal, counts, phase, penalty)(frequency)


def log_odds(y):
    return 0.5 * np.log((1 + y.mean()) / (1 - y.mean()))


@pytest.fixture
def problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0.1, 1.0, -1.0)
    return X, y, rng


def slow_frequency_objective(X, signal, counts, phase, lam, frequency):
    total = 0.0
    for x, weight, count in zip(X, signal, counts):
        total += count * np.exp(-weight * np.cos(frequency @ x - phase))
    return lam * frequency @ frequency + total / sum(counts)


def test_frequency_objective_is_the_papers_sum_and_its_gradient(problem):
    X, y, rng = problem
    signal = y * np.exp(0.3 * rng.normal(size=len(y)))
    frequency, counts = rng.normal(size=3), rng.uniform(0, 3, size=len(y))
    value, gradient = frequency_objective(in_few_blocks(X), signal, counts, 0.4, 0.1, frequency)
    assert value == pytest.approx(
        slow_frequency_objective(X, signal, counts, 0.4, 0.1, frequency), rel=1e-12
    )
    numeric = approx_fprime(
        frequency, lambda w: slow_frequency_objective(X, signal, counts, 0.4, 0.1, w), 1e-7
    )
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_features", [1, 3, 15, 16, 33, 200])
def test_one_pass_over_short_and_long_rows_agrees_with_plain_sums(n_features, dtype):
    rng = np.random.default_rng(n_features)
    X = rng.normal(size=(4099, n_features)).astype(
        dtype
    )  # several tiles, and rows left over from groups of four
    signal, frequency = rng.normal(size=4099), rng.normal(size=n_features) / np.sqrt(n_features)
    value, gradient = frequency_objective(
        in_few_blocks(X), signal, np.ones(4099), 0.4, 0.0, frequency
    )
    angle = X.astype(np.float64) @ frequency - 0.4
    losses = np.exp(-signal * np.cos(angle))
    terms = (losses * signal * np.sin(angle))[:, None] * X
    # Each term is right to a few units of rounding, and the errors of n terms add up like a random
    # walk: √4099 = 64.
    precision = np.finfo(dtype).eps * 64
    np.testing.assert_allclose(value, losses.mean(), rtol=precision)
    np.testing.assert_allclose(
        gradient, terms.mean(axis=0), atol=precision * np.abs(terms).mean(axis=0).max()
    )


def rows_of(form, X, path):
    """Return rows that take one of the ways to the objective of a frequency."""
    if form == "Dask":
        return as_rows(pytest.importorskip("dask.array").from_array(X, chunks=(25, 3)))
    if form == "file":
        np.save(path / "X.npy", X)
        return LocalRows(np.load(path / "X.npy", mmap_mode="r"), block_size=7)
    if form == "sparse":
        return LocalRows(sp.csr_array(X))
    return in_few_blocks(X) if form == "small array" else LocalRows(X, block_size=7)


@pytest.mark.parametrize("penalty", [0.0, 0.1])
@pytest.mark.parametrize("form", ["small array", "blocks", "sparse", "file", "Dask"])
def test_every_form_of_the_objective_is_the_plain_sum(
    form, penalty, problem, tmp_path, monkeypatch
):
    X, y, rng = problem
    if form != "small array":
        monkeypatch.setattr(gbrff2, "_FEW_NUMBERS", 0)
    rows = rows_of(form, X, tmp_path)
    signal, counts = y * np.exp(0.3 * rng.normal(size=60)), rng.uniform(0, 3, size=60)
    frequency, phase = rng.normal(size=3), 0.4
    value, gradient = 0.0, np.zeros(3)
    for x, s, h in zip(X, signal, counts):
        angle = frequency @ x - phase
        value += h * np.exp(-s * np.cos(angle)) / counts.sum()
        gradient += h * np.exp(-s * np.cos(angle)) * s * np.sin(angle) * x / counts.sum()
    value += penalty * frequency @ frequency
    gradient += 2 * penalty * frequency
    found = gbrff2.objective_of(rows, signal, counts, phase, penalty)(frequency)
    assert found[0] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found[1], gradient, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        gbrff2.half_turns(rows, frequency), [x @ frequency / np.pi for x in X], atol=1e-14
    )


def test_heavy_rows_keep_value_and_gradient_finite_and_consistent():
    X = np.array([[0.0], [1.0], [2.0]])
    signal = np.array([1e4, -1e3, 1.0])
    value, gradient = frequency_objective(
        in_few_blocks(X), signal, np.ones(3), 0.3, 0.0, np.array([2.5])
    )
    assert np.isfinite(value)
    numeric = approx_fprime(
        np.array([2.5]),
        lambda w: frequency_objective(in_few_blocks(X), signal, np.ones(3), 0.3, 0.0, w)[0],
        1e-7,
    )
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4)


def test_landmark_loss_is_equation_9_and_each_frequency_carries_its_own_sine(problem):
    X, y, rng = problem
    signal = y * np.exp(0.3 * rng.normal(size=len(y)))
    frequencies, counts = rng.normal(size=(4, 3)), rng.uniform(0, 3, size=len(y))
    kernel = FourierMeasure(frequencies, np.ones(4))

    def equation_9(landmark):
        return sum(
            counts[i]
            * np.exp(-signal[i] * np.mean([np.cos(w @ (landmark - X[i])) for w in frequencies]))
            for i in range(len(X))
        )

    landmark = rng.normal(size=3)
    value, by_phase = landmark_block(kernel, frequencies @ landmark, X, signal, counts)
    assert value == pytest.approx(equation_9(landmark), rel=1e-12)
    numeric = approx_fprime(landmark, equation_9, 1e-7)
    np.testing.assert_allclose(frequencies.T @ by_phase, numeric, rtol=1e-5, atol=1e-4)
    kept = landmark_block(None, frequencies @ landmark, kernel.features(X), signal, counts)
    np.testing.assert_allclose(kept[1], by_phase, rtol=1e-12)


def test_frequency_losses_are_the_sums_of_equation_10(problem):
    X, y, rng = problem
    frequencies, landmark, counts = (
        rng.normal(size=(4, 3)),
        rng.normal(size=3),
        rng.uniform(0, 3, size=len(y)),
    )
    kernel = FourierMeasure(frequencies, np.ones(4))
    expected = [
        sum(counts[i] * np.exp(-y[i] * np.cos(w @ (landmark - X[i]))) for i in range(len(X)))
        for w in frequencies
    ]
    losses = frequency_losses_block(kernel, frequencies @ landmark, X, y, counts)
    np.testing.assert_allclose(losses, expected, rtol=1e-12)


@pytest.mark.parametrize("n_rows", [40, 700])
@pytest.mark.parametrize("in_blocks", [False, True])
def test_phase_is_the_global_minimum_by_brute_force(n_rows, in_blocks, seed, monkeypatch):
    if in_blocks:
        monkeypatch.setattr(gbrff2, "_FEW_TURNS", 0)
    rng = np.random.default_rng([seed, n_rows])
    grid = np.linspace(-np.pi, np.pi, 2001)
    for _ in range(5):
        turns, signal = 3 * rng.normal(size=n_rows), 3 * rng.normal(size=n_rows)
        counts = rng.integers(4, size=n_rows).astype(float)
        best = min(counts @ np.exp(-signal * np.cos(np.pi * turns - b)) for b in grid)
        found = counts @ np.exp(-signal * np.cos(np.pi * turns - best_phase(turns, signal, counts)))
        assert found <= best * (1 + 1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_few_rows_take_the_short_way_to_the_same_numbers(dtype, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X, signal, frequency = (
        rng.normal(size=(300, 7)).astype(dtype),
        2 * rng.normal(size=300),
        rng.normal(size=7),
    )
    rows, counts = in_few_blocks(X), rng.integers(3, size=300).astype(float)
    turns = gbrff2.half_turns(rows, frequency)
    value, gradient = gbrff2.objective_of(rows, signal, counts, 0.4, 0.1)(frequency)
    phase = best_phase(turns, signal, counts)
    monkeypatch.setattr(gbrff2, "_FEW_NUMBERS", 0)
    monkeypatch.setattr(gbrff2, "_FEW_TURNS", 512)
    np.testing.assert_array_equal(gbrff2.half_turns(rows, frequency), turns)
    value_in_blocks, gradient_in_blocks = gbrff2.objective_of(rows, signal, counts, 0.4, 0.1)(
        frequency
    )
    assert value == pytest.approx(value_in_blocks, rel=1e-12)
    np.testing.assert_allclose(
        gradient, gradient_in_blocks, rtol=1e-12 if dtype == np.float64 else 1e-5
    )
    monkeypatch.setattr(gbrff2, "_FEW_TURNS", 150)
    assert phase == pytest.approx(
        best_phase(turns, signal, counts), abs=1e-9 if dtype == np.float64 else 1e-4
    )


def test_frequencies_are_refined_as_scipy_does_and_not_where_it_would_end_at_once(seed):
    rng = np.random.default_rng(seed)
    X, signal, start, calls = rng.normal(size=(60, 3)), rng.normal(size=60), rng.normal(size=3), []

    def objective(w, scale=1.0):
        calls.append(w.copy())
        return slow_frequency_objective(X, scale * signal, np.ones(60), 0.3, 0.0, w), scale * (
            w - 1
        )

    def counted(w):
        return objective(w)

    expected = fmin_l_bfgs_b(counted, start, maxiter=4)[0]
    by_scipy = len(calls)
    np.testing.assert_array_equal(gbrff2.refined(counted, start, 4), expected)
    assert len(calls) == 2 * by_scipy  # the look at the start is not paid for twice
    assert gbrff2.refined(lambda w: objective(w, 1e-6), start, 4) is start
    np.testing.assert_array_equal(
        fmin_l_bfgs_b(lambda w: objective(w, 1e-6), start, maxiter=4)[0], start
    )


def test_step_minimizes_its_bound_and_the_texts_sign_raises_the_loss(problem):
    _, y, rng = problem
    h, w = rng.uniform(-1, 1, size=len(y)) * 0.5 + 0.4 * y, rng.uniform(0.1, 2, size=len(y))
    alpha = bound_minimizer(y * h, w)

    def bound(a):
        return np.sum((1 - y * h) / 2 * w) * np.exp(a) + np.sum((1 + y * h) / 2 * w) * np.exp(-a)

    assert bound(alpha) <= min(bound(alpha - 1e-3), bound(alpha + 1e-3))
    assert np.sum(w * np.exp(-alpha * y * h)) < np.sum(w) < np.sum(w * np.exp(alpha * y * h))


def test_one_round_of_gbrff2_without_refinement_is_the_best_phase_by_brute_force(problem):
    X, y, _ = problem
    model = GBRFF2Classifier(n_rounds=1, prior=Gaussian(0.5), max_iterations=0, random_state=0).fit(
        X, y
    )
    frequency, phase = model.expansion_.frequencies[0], model.expansion_.phases[0, 0]
    weights = np.exp(-y * log_odds(y))

    def objective(b):
        return np.mean(np.exp(-y * weights * np.cos(X @ frequency - b)))

    grid = np.linspace(-np.pi, np.pi, 20001)
    assert objective(phase) <= min(map(objective, grid)) * (1 + 1e-6)
    h = np.cos(X @ frequency - phase)
    alpha = 0.5 * np.log(np.sum((1 + y * h) * weights) / np.sum((1 - y * h) * weights))
    assert model.expansion_.amplitudes[0, 0] == pytest.approx(alpha, rel=1e-6)


def test_gbrff1_round_is_the_papers_weak_learner(problem):
    """One round written out: posterior weights (Eq. 10), prediction (Eq. 8), step (Algorithm 2,
    line 8).
    """
    X, y, _ = problem
    model = GBRFF1Classifier(
        n_rounds=1, n_components=5, prior=Gaussian(0.5), learner=PacBayes(2.0), random_state=1
    ).fit(X, y)
    expansion, landmark = model.expansion_, model.landmarks_[0]
    weights = np.exp(-y * log_odds(y))
    losses = [
        np.mean(np.exp(-y * weights * np.cos((landmark - X) @ w))) for w in expansion.frequencies
    ]
    q = np.exp(-2.0 * np.sqrt(len(y)) * np.array(losses))
    q /= q.sum()
    h = sum(q[j] * np.cos((landmark - X) @ w) for j, w in enumerate(expansion.frequencies))
    alpha = 0.5 * np.log(np.sum((1 + y * h) * weights) / np.sum((1 - y * h) * weights))
    np.testing.assert_allclose(expansion.amplitudes[:, 0], alpha * q, rtol=1e-6)
    np.testing.assert_allclose(model.decision_function(X), log_odds(y) + alpha * h, rtol=1e-8)


@pytest.mark.parametrize("loss", [Logistic(), Exponential(), Squared()], ids=repr)
def test_closed_form_is_the_optimum_of_the_quadratic_model(loss, problem):
    X, y, rng = problem
    gradient, curvature = loss.derivatives(y[:, None], rng.normal(size=(len(y), 1)))
    frequency = rng.normal(size=3)
    c, s = np.cos(X @ frequency), np.sin(X @ frequency)
    cosines, sines, fit = QuadraticModel(gradient, curvature, 0.7).solve(
        (X @ frequency / np.pi)[None]
    )
    np.testing.assert_allclose([cosines[0], sines[0]], [c, s], atol=1e-14)

    def model(amplitudes):
        f = amplitudes[0] * c + amplitudes[1] * s
        return gradient[:, 0] @ f + 0.5 * curvature[:, 0] @ f**2 + 0.35 * amplitudes @ amplitudes

    best = minimize(model, np.zeros(2), tol=1e-12)
    np.testing.assert_allclose([fit.cosine[0, 0], fit.sine[0, 0]], best.x, atol=1e-5)
    assert fit.gain[0] == pytest.approx(-best.fun, rel=1e-6)


def test_closed_form_of_several_outputs_is_each_output_on_its_own(problem):
    X, _, rng = problem
    labels = rng.integers(3, size=len(X))
    gradient, curvature = Multinomial().derivatives(np.eye(3)[labels], rng.normal(size=(len(X), 3)))
    turns = np.ascontiguousarray((X @ rng.normal(size=(3, 4))).T)
    together = QuadraticModel(gradient, curvature, 1.0).solve(turns)[2]
    gains = np.zeros(4)
    for k in range(3):
        alone = QuadraticModel(gradient[:, [k]], curvature[:, [k]], 1.0).solve(turns)[2]
        np.testing.assert_allclose(together.cosine[:, k], alone.cosine[:, 0], rtol=1e-12)
        gains += alone.gain
    np.testing.assert_allclose(together.gain, gains, rtol=1e-12)


def landmark_loss(X, y, weights, frequencies, landmark):
    """f(x) = (1/n) Σ exp(−ỹ_i (1/K) Σ_j cos ω_j·(x − x_i)), row by row (lines 3, 4 and 6 of
    Algorithm 2).
    """
    similarities = [np.mean([np.cos(w @ (landmark - x)) for w in frequencies]) for x in X]
    return np.mean(
        [np.exp(-sign * weight * h) for sign, weight, h in zip(y, weights, similarities)]
    )


@pytest.mark.parametrize("column", [0, 2])
def test_one_free_coordinate_is_the_best_of_its_period_by_brute_force(problem, column, seed):
    """Section 3.3: the other coordinates at zero, the free one the best in [−π/ω_c, π/ω_c]; round
    two on the weights of round one.
    """
    X, y, _ = problem
    settings = {"calibrated": False, "random_state": seed}
    model = GBRFF1Classifier(
        n_rounds=2, n_components=1, prior=Gaussian(0.4), landmark=column, **settings
    ).fit(X, y)
    frequencies, landmarks = model.expansion_.frequencies, model.landmarks_
    assert np.all(np.delete(landmarks, column, axis=1) == 0)
    scores = np.full(len(y), log_odds(y))
    for omega, landmark, stage in zip(frequencies, landmarks, model.staged_decision_function(X)):
        period = np.pi / abs(omega[column])
        assert abs(landmark[column]) <= period * (1 + 1e-12)
        weights = np.exp(-y * scores)
        places = np.linspace(-period, period, 801)[:, None] * np.eye(X.shape[1])[column]
        best = np.exp(-y * weights * np.cos((places[:, None] - X) @ omega)).mean(axis=1).min()
        assert best <= landmark_loss(X, y, weights, [omega], places[0]) * (1 + 1e-12)
        assert landmark_loss(X, y, weights, [omega], landmark) <= best * (1 + 1e-7)
        h = np.cos(X @ omega - omega @ landmark)
        scores = scores + bound_minimizer(y * h, weights) * h
        np.testing.assert_allclose(stage, scores, rtol=1e-9, atol=1e-9)


def test_with_one_frequency_a_free_coordinate_is_the_phase_of_gbrff2_before_its_frequency_moves(
    problem,
):
    X, y, _ = problem
    settings = {"n_rounds": 6, "prior": Gaussian(0.4), "calibrated": False, "random_state": 3}
    coordinate = GBRFF1Classifier(n_components=1, landmark=1, **settings).fit(X, y)
    phase = GBRFF2Classifier(max_iterations=0, **settings).fit(X, y)
    np.testing.assert_allclose(
        coordinate.decision_function(X), phase.decision_function(X), rtol=1e-8, atol=1e-8
    )


def test_one_free_coordinate_of_several_frequencies_descends_along_it(problem, seed):
    X, y, _ = problem
    settings = {
        "n_components": 4,
        "prior": Gaussian(0.4),
        "calibrated": False,
        "max_iterations": 200,
        "random_state": seed,
    }
    model = GBRFF1Classifier(n_rounds=1, landmark=1, **settings).fit(X, y)
    landmark, weights = model.landmarks_[0], np.exp(-y * log_odds(y))
    loss = [
        landmark_loss(X, y, weights, model.expansion_.frequencies, landmark + step * np.eye(3)[1])
        for step in (-1e-3, 0, 1e-3)
    ]
    assert loss[1] <= min(loss[0], loss[2])
    assert loss[1] < landmark_loss(X, y, weights, model.expansion_.frequencies, np.zeros(3))
    assert np.all(landmark[[0, 2]] == 0)
    assert landmark[1] != 0


def test_random_landmarks_are_training_rows_and_one_round_is_algorithm_2_without_its_line_6(
    problem, seed
):
    """The GBRFF0.5 of the authors' scripts: landmark a row, weights q by the pseudo-posterior, then
    the step.
    """
    X, y, _ = problem
    model = GBRFF1Classifier(
        n_rounds=3,
        n_components=5,
        prior=Gaussian(0.4),
        learner=PacBayes(2.0),
        landmark="random",
        calibrated=False,
        random_state=seed,
    ).fit(X, y)
    for landmark in model.landmarks_:
        assert np.abs(X - landmark).sum(axis=1).min() == 0
    assert len(np.unique(model.landmarks_, axis=0)) > 1
    frequencies, landmark, weights = (
        model.expansion_.frequencies[:5],
        model.landmarks_[0],
        np.exp(-y * log_odds(y)),
    )
    losses = np.array(
        [np.mean(np.exp(-y * weights * np.cos((landmark - X) @ w))) for w in frequencies]
    )
    q = np.exp(-2.0 * np.sqrt(len(y)) * losses)
    q /= q.sum()
    h = np.cos((landmark - X) @ frequencies.T) @ q
    first = next(iter(model.staged_decision_function(X)))
    np.testing.assert_allclose(first, log_odds(y) + bound_minimizer(y * h, weights) * h, rtol=1e-9)


def test_random_landmarks_are_drawn_as_often_as_rows_count(seed):
    counts, rows = np.array([0.0, 3.0, 1.0, 0.0, 4.0]), in_few_blocks(np.arange(5.0)[:, None])
    rng, n_draws = np.random.default_rng(seed), 4000
    drawn = np.bincount(
        [int(random_row(rows, counts, rng)[0]) for _ in range(n_draws)], minlength=5
    )
    shares = counts / counts.sum()
    assert np.all(drawn[shares == 0] == 0)
    z = (drawn - n_draws * shares)[shares > 0] / np.sqrt(n_draws * shares * (1 - shares))[
        shares > 0
    ]
    assert np.abs(z).max() < 5
