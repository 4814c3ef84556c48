"""JointDescent: its losses, rates and weights, every form of rows, and bad input."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from bochner import FourierMeasure, Gaussian, HarmonicMeasure, JointDescent, TargetSimilarity
from bochner.data import repetitions
from bochner.data.targets import Labels, Values
from bochner.losses import Hinge, Huber, Logistic, Loss, Squared


def ringed(n_rows, seed, n_features=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    return X, (np.cos(2 * X[:, 0] - X[:, 1]) > 0.2).astype(int), rng


def test_learned_frequencies_beat_random_ones(seed):
    X, y, _ = ringed(1500, seed)
    X_test, y_test, _ = ringed(3000, seed + 100)
    scores = []
    start = Gaussian(0.5).sample(12, 4, np.random.default_rng(seed))
    learner = JointDescent(n_epochs=20, frequency_decay=0.0)
    for measure in (learner.learn(start, X, y, np.random.default_rng(seed)).measure, start):
        head = LogisticRegression(C=100.0, max_iter=1000).fit(measure.features(X), y)
        scores.append(head.score(measure.features(X_test), y_test))
    assert scores[0] > 0.95
    assert scores[0] > scores[1] + 0.05


def test_the_first_step_is_the_learning_rate_in_every_coordinate(seed):
    """Adam's first step is rate · g/|g| once both of its means are corrected for their start at
    zero.
    """
    X, y, rng = ringed(100, seed)
    start = Gaussian(0.5).sample(6, 4, rng)
    learner = JointDescent(
        n_epochs=1, batch_size=100, learning_rate=0.06, frequency_decay=0.0, start_scale=0.75
    )
    moves = np.abs(learner.learn(start, X, y, rng).measure.frequencies - 0.75 * start.frequencies)
    size = (
        0.75 * np.median(np.abs(start.frequencies)) / 0.6745
    )  # the starting frequencies' deviation, from their median
    assert moves.max() == pytest.approx(0.06 * size, rel=2e-3)
    assert np.median(moves) == pytest.approx(
        0.06 * size, rel=2e-3
    )  # a slope near zero moves a little less


def test_the_mass_of_the_measure_does_not_change_the_function(seed):
    """Rates and penalties refer to plain waves: four times the weights are the same waves with the
    same amplitudes.
    """
    X, y, rng = ringed(200, seed)
    start = Gaussian(0.5).sample(6, 4, rng)
    learner = JointDescent(n_epochs=4, penalty=0.1)
    one, four = (
        learner.learn(start.reweighted(mass * start.weights), X, y, np.random.default_rng(0))
        for mass in (1, 4)
    )
    np.testing.assert_allclose(four.measure.frequencies, one.measure.frequencies, atol=1e-4)
    first, second = one.report.expansion, four.report.expansion
    np.testing.assert_allclose(second.cosine, first.cosine, atol=1e-3 * np.abs(first.cosine).max())


def test_the_head_ends_where_its_penalized_loss_has_no_slope(seed):
    """With frequencies at rest the head minimizes mean ½(f − y)² + ½ Σ_j (penalty / share_j)
    ‖a_j‖², share_j = w_j / mean w.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    weights = np.array([0.1, 0.3, 0.6])
    learner = JointDescent(
        n_epochs=500,
        batch_size=100,
        learning_rate=0.0,
        frequency_decay=0.0,
        penalty=0.5,
        start_scale=1.0,
        loss="squared",
    )
    start = FourierMeasure(rng.normal(size=(3, 2)), weights)
    f = learner.learn(start, X, y, rng).report.expansion
    np.testing.assert_allclose(f.frequencies, start.frequencies, atol=1e-6)
    residual = f.evaluate(X)[:, 0] - y
    angles, penalty = X @ start.frequencies.T, 0.5 * weights.mean() / weights
    slopes = [
        np.cos(angles).T @ residual / 100 + penalty * f.cosine[:, 0],
        np.sin(angles).T @ residual / 100 + penalty * f.sine[:, 0],
    ]
    assert np.abs(slopes).max() < 1e-3
    assert abs(residual.mean()) < 1e-3


@pytest.mark.parametrize("loss", ["log_loss", "squared"])
def test_the_loss_falls_and_the_head_fits_the_features(loss, seed):
    X, y, rng = ringed(800, seed)
    start = Gaussian(0.5).sample(15, 4, rng)
    learned = JointDescent(n_epochs=15, loss=loss, frequency_decay=0.0).learn(start, X, y, rng)
    measure, report = learned.measure, learned.report
    assert report.losses[-1] < 0.6 * report.losses[0]
    scores = report.expansion.evaluate(X)[:, 0]
    np.testing.assert_array_equal(report.expansion.frequencies, measure.frequencies)
    threshold = 0.5 if loss == "squared" else 0.0
    assert np.mean((scores > threshold) == y) > 0.93
    assert len(measure) == 15
    assert measure.mass == pytest.approx(1)


def test_several_classes_and_outputs():
    X, y, rng = ringed(300, 0)
    start = Gaussian(0.5).sample(10, 4, rng)
    report = (
        JointDescent(n_epochs=3)
        .learn(start, X, np.array(["a", "b", "c"])[y + (X[:, 2] > 0)], rng)
        .report
    )
    assert report.expansion.cosine.shape == (10, 3)
    report = JointDescent(n_epochs=3, loss="squared").learn(start, X, X[:, :2] ** 2, rng).report
    assert report.expansion.cosine.shape == (10, 2)


@pytest.mark.parametrize("form", ["csr", "dask", "memmap", "float32", "fortran"])
def test_rows_of_every_form_learn_as_well(form, tmp_path):
    X, y, _ = ringed(600, 0)
    rows = {"csr": sp.csr_array, "float32": np.float32, "fortran": np.asfortranarray}.get(
        form, lambda rows: rows
    )(X)
    if form == "dask":
        rows = pytest.importorskip("dask.array").from_array(X, chunks=(250, 4))
    elif form == "memmap":
        rows = np.memmap(tmp_path / "rows", dtype=np.float64, shape=X.shape, mode="w+")
        rows[...] = X
    start = Gaussian(0.5).sample(12, 4, np.random.default_rng(1))
    losses = [
        JointDescent(n_epochs=10).learn(start, r, y, np.random.default_rng(2)).report.losses
        for r in (X, rows)
    ]
    if form in ("float32", "fortran"):
        np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
    assert losses[1][-1] < 0.7 * losses[1][0]


@pytest.mark.parametrize("most_merged", [0, 4000])
def test_weights_are_repetitions(most_merged, monkeypatch):
    """One batch of all rows, so that the order does not matter: equal to repeated rows, in start
    and descent.
    """
    monkeypatch.setattr(repetitions, "FEW_ROWS", most_merged)
    X, y, rng = ringed(150, 0)
    counts = rng.integers(0, 4, size=150)
    start = Gaussian(0.5).sample(8, 4, rng)
    learner = JointDescent(n_epochs=10, batch_size=1000)
    weighted = learner.learn(start, X, y, np.random.default_rng(0), weights=counts)
    repeated = learner.learn(
        start, X.repeat(counts, axis=0), y.repeat(counts), np.random.default_rng(0)
    )
    np.testing.assert_allclose(weighted.report.losses, repeated.report.losses, rtol=1e-4)
    np.testing.assert_allclose(
        weighted.measure.frequencies, repeated.measure.frequencies, atol=1e-3
    )
    ignored = learner.learn(start, X, y, np.random.default_rng(0))
    assert np.abs(ignored.measure.frequencies - weighted.measure.frequencies).max() > 0.01


def test_heavy_atoms_take_the_longer_steps_and_atoms_without_weight_none():
    """Adam's first step is the rate itself: frequencies by learning_rate · size, amplitudes by
    √(w_j / mean w).
    """
    X, y, rng = ringed(100, 0)
    start = FourierMeasure(rng.normal(size=(4, 4)), np.array([0.0, 1.0, 1.0, 4.0]))
    still = JointDescent(
        n_epochs=1,
        batch_size=100,
        learning_rate=0.0,
        frequency_decay=0.0,
        start_scale=1.0,
        amplitude_rate=0.0,
    )
    moved = clone(still).set_params(amplitude_rate=0.05)
    before, after = (
        learner.learn(start, X, y, np.random.default_rng(0)).report.expansion
        for learner in (still, moved)
    )
    steps = np.abs(after.cosine - before.cosine)[:, 0]
    np.testing.assert_allclose(steps, 0.05 * np.sqrt(start.weights / 1.5), rtol=1e-3, atol=1e-7)
    np.testing.assert_array_equal(after.frequencies, before.frequencies.astype(np.float32))
    fast = clone(still).set_params(learning_rate=0.06)
    steps = np.abs(
        fast.learn(start, X, y, np.random.default_rng(0)).measure.frequencies - before.frequencies
    )
    size = np.median(np.abs(start.frequencies)) / 0.6745
    np.testing.assert_allclose(steps[1:], 0.06 * size, rtol=1e-2)
    np.testing.assert_array_equal(steps[0], 0)


def test_decay_and_penalty_shrink_what_they_are_for():
    """One step: a decay of 0.1 takes a tenth of the frequencies; a penalty above all turns each
    amplitude towards zero.
    """
    X, y, rng = ringed(100, 0)
    start = Gaussian(0.5).sample(6, 4, rng)
    still = JointDescent(
        n_epochs=1,
        batch_size=100,
        learning_rate=0.0,
        start_scale=0.5,
        amplitude_rate=0.0,
        frequency_decay=0.0,
    )
    before = still.learn(start, X, y, np.random.default_rng(0)).report.expansion
    np.testing.assert_allclose(before.frequencies, 0.5 * start.frequencies, rtol=1e-6)
    decayed = (
        clone(still)
        .set_params(frequency_decay=0.1)
        .learn(start, X, y, np.random.default_rng(0))
        .report.expansion
    )
    np.testing.assert_allclose(decayed.frequencies, 0.9 * before.frequencies, rtol=1e-6)
    np.testing.assert_array_equal(decayed.cosine, before.cosine)
    held = (
        clone(still)
        .set_params(penalty=1e6, amplitude_rate=0.01)
        .learn(start, X, y, np.random.default_rng(0))
    )
    np.testing.assert_allclose(
        held.report.expansion.sine, before.sine - 0.01 * np.sign(before.sine), rtol=1e-3
    )


def test_auto_is_the_loss_that_the_target_asks_for():
    X, y, rng = ringed(200, 0)
    start = Gaussian(0.5).sample(6, 4, rng)

    def frequencies(target, **settings):
        return (
            JointDescent(n_epochs=2, **settings)
            .learn(start, X, target, np.random.default_rng(0))
            .measure.frequencies
        )

    words, numbers = np.array(["no", "yes"])[y], y + 0.5
    np.testing.assert_array_equal(frequencies(words), frequencies(y, loss="log_loss"))
    np.testing.assert_array_equal(frequencies(numbers), frequencies(numbers, loss="squared"))
    several = np.column_stack([numbers, X[:, 0]])
    np.testing.assert_array_equal(frequencies(several), frequencies(several, loss="squared"))
    # Whole numbers that nobody called values are labels, unless the learner says that it wants
    # numbers.
    np.testing.assert_array_equal(
        frequencies(Values.of(y), loss="squared"), frequencies(y, loss="squared")
    )
    assert np.any(frequencies(Values.of(y)) != frequencies(y))


def test_an_interruption_is_not_caught(monkeypatch):
    X, y, rng = ringed(200, 0)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("bochner.learners.descent.loop._Steps.take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        JointDescent(n_epochs=10).learn(Gaussian(0.5).sample(6, 4, rng), X, y, rng)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_epochs": 0}, "n_epochs"),
        ({"batch_size": 0}, "batch_size"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"start_scale": 0.0}, "start_scale"),
        ({"loss": "hinge"}, "loss must be one of"),
    ],
)
def test_bad_parameters_are_named(settings, message):
    X, y, rng = ringed(20, 0)
    with pytest.raises(ValueError, match=message):
        JointDescent(**settings).learn(Gaussian().sample(3, 4, rng), X, y, rng)


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({}, np.ones(20, int), "only 1 class"),
        (
            {"loss": "log_loss"},
            np.linspace(0, 1, 20),
            "needs labels, got a target of type Values, or write loss",
        ),
        (
            {"loss": "squared"},
            TargetSimilarity.of_labels(["a", "b"] * 10),
            "needs numbers or labels, but y is a Target",
        ),
        ({}, None, "requires y"),
    ],
)
def test_bad_targets_are_explained(settings, y, message):
    X, _, rng = ringed(20, 0)
    with pytest.raises(ValueError, match=message):
        JointDescent(**settings).learn(Gaussian().sample(3, 4, rng), X, y, rng)


def test_atoms_that_are_no_frequencies_are_refused():
    X, y, rng = ringed(20, 0)
    with pytest.raises(TypeError, match="needs a FourierMeasure, got HarmonicMeasure"):
        JointDescent().learn(HarmonicMeasure(np.array([[1, 0]]), np.ones(1)), X, y, rng)


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge(0.5), Huber(np.array([1.0]))])
def test_a_loss_may_be_an_object(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(np.cos(X[:, 0]) > 0.5, 1.0, -1.0)
    start = Gaussian(1.0).sample(10, 2, rng)
    target = Labels.of(y) if isinstance(loss, Logistic | Hinge) else Values.of(y)
    learned = JointDescent(n_epochs=5, loss=loss).learn(start, X, target, 0)
    assert learned.report.losses[-1] < learned.report.losses[0]
    name = {Squared: "squared", Logistic: "log_loss"}.get(type(loss))
    if name is not None:
        same = JointDescent(n_epochs=5, loss=name).learn(start, X, target, 0)
        np.testing.assert_array_equal(learned.measure.frequencies, same.measure.frequencies)


def test_a_loss_of_your_own_is_minimized():
    @dataclass(frozen=True)
    class Quartic(Loss):
        def values(self, targets, scores):
            return np.sum((scores - targets) ** 4, axis=1)

        def derivatives(self, targets, scores):
            return 4 * (scores - targets) ** 3, 12 * (scores - targets) ** 2 + 0.1

        def start(self, targets, weights):
            return np.average(targets, axis=0, weights=weights)

    X = np.random.default_rng(0).normal(size=(200, 2))
    learner = JointDescent(n_epochs=5, loss=Quartic())
    learned = learner.learn(Gaussian(1.0).sample(10, 2, 0), X, np.cos(X[:, 0]), 0)
    assert learned.report.losses[-1] < learned.report.losses[0]
