"""JointDescent: its gradient, its losses, every form of rows, and bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from bochner import Gaussian, JointDescent, SpectralFeatures
from bochner.learners.joint_descent import _CosineNetwork, shuffled_chunks


def ringed(n_rows, seed, n_features=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    return X, (np.cos(2 * X[:, 0] - X[:, 1]) > 0.2).astype(int), rng


def test_learned_frequencies_beat_random_ones(seed):
    X, y, _ = ringed(1500, seed)
    X_test, y_test, _ = ringed(3000, seed + 100)
    scores = []
    for learner in (JointDescent(n_epochs=20, frequency_decay=0.0), None):
        features = SpectralFeatures(Gaussian(0.5), learner, n_components=12, random_state=seed)
        head = LogisticRegression(C=100.0, max_iter=1000).fit(features.fit_transform(X, y), y)
        scores.append(head.score(features.transform(X_test), y_test))
    assert scores[0] > 0.95
    assert scores[0] > scores[1] + 0.05


@pytest.mark.parametrize("task", ["binary", "classes", "numbers"])
def test_gradient_against_finite_differences(task):
    """The first Adam direction is the sign of the gradient; compare it where the gradient is not tiny."""
    X, y, rng = ringed(50, 0)
    y = {"binary": y, "classes": rng.integers(3, size=50), "numbers": rng.normal(size=50)}[task]
    learner = JointDescent(loss="squared" if task == "numbers" else "log_loss", penalty=0.0)
    targets, residual = learner._targets(y, 50)
    network = _CosineNetwork(learner, Gaussian(0.5).sample(6, 4, rng), targets, residual)
    network.start(X, targets, rng)
    rows = X.astype(np.float32)
    gradients = {}
    for index, name in enumerate(("frequencies", "amplitudes", "intercepts")):
        adam = network.adam[index]
        adam.direction = lambda gradient, name=name: gradients.setdefault(name, gradient.copy()) * np.float32(0)
    learner.frequency_decay = 0.0
    network.step(rows, targets, 1.0)

    def loss(name, change):
        original = getattr(network, name)
        setattr(network, name, (original.astype(np.float64) + change))
        waves = network._waves(X)
        value = residual(waves @ network.amplitudes.astype(np.float64) + network.intercepts, targets)[0] / 50
        setattr(network, name, original)
        return value

    for name, gradient in gradients.items():
        direction = rng.normal(size=gradient.shape)
        numeric = (loss(name, 1e-5 * direction) - loss(name, -1e-5 * direction)) / 2e-5
        assert np.sum(gradient * direction) == pytest.approx(numeric, rel=2e-3, abs=1e-5)


def test_the_first_step_is_the_learning_rate_in_every_coordinate(seed):
    """Adam's first step is rate · g/|g| once both of its means are corrected for their start at zero."""
    X, y, rng = ringed(100, seed)
    start = Gaussian(0.5).sample(6, 4, rng)
    learner = JointDescent(n_epochs=1, batch_size=100, learning_rate=0.06, frequency_decay=0.0, start_scale=0.75)
    moves = np.abs(learner.learn(start, X, y, rng).frequencies - 0.75 * start.frequencies)
    size = (
        0.75 * np.median(np.abs(start.frequencies)) / 0.6745
    )  # the starting frequencies' deviation, from their median
    assert moves.max() == pytest.approx(0.06 * size, rel=2e-3)
    assert np.median(moves) == pytest.approx(0.06 * size, rel=2e-3)  # a slope near zero moves a little less


def test_the_mass_of_the_measure_only_scales_the_head(seed):
    """Rates and penalties refer to plain waves: four times the weights are the same waves, with half the amplitudes."""
    X, y, rng = ringed(200, seed)
    start = Gaussian(0.5).sample(6, 4, rng)
    learner = JointDescent(n_epochs=4, penalty=0.1)
    (one, first), (four, second) = (
        learner.learn_with_report(start.reweighted(mass * start.weights), X, y, np.random.default_rng(0))
        for mass in (1, 4)
    )
    np.testing.assert_allclose(four.frequencies, one.frequencies, atol=1e-4)
    np.testing.assert_allclose(second.amplitudes, first.amplitudes / 2, atol=1e-3 * np.abs(first.amplitudes).max())


@pytest.mark.parametrize("loss", ["log_loss", "squared"])
def test_the_loss_falls_and_the_head_fits_the_features(loss, seed):
    X, y, rng = ringed(800, seed)
    start = Gaussian(0.5).sample(15, 4, rng)
    measure, report = JointDescent(15, loss=loss, frequency_decay=0.0).learn_with_report(start, X, y, rng)
    assert report.losses[-1] < 0.6 * report.losses[0]
    scores = (measure.features(X) @ report.amplitudes + report.intercepts)[:, 0]
    threshold = 0.5 if loss == "squared" else 0.0
    assert np.mean((scores > threshold) == y) > 0.93
    assert len(measure) == 15
    assert measure.mass == pytest.approx(1)


def test_several_classes_and_outputs():
    X, y, rng = ringed(300, 0)
    start = Gaussian(0.5).sample(10, 4, rng)
    _, report = JointDescent(3).learn_with_report(start, X, np.array(["a", "b", "c"])[y + (X[:, 2] > 0)], rng)
    assert report.amplitudes.shape == (20, 3)
    _, report = JointDescent(3, loss="squared").learn_with_report(start, X, X[:, :2] ** 2, rng)
    assert report.amplitudes.shape == (20, 2)


@pytest.mark.parametrize("form", ["dense", "csr", "dask", "memmap"])
def test_an_epoch_sees_every_row_once(form, tmp_path, monkeypatch):
    monkeypatch.setattr("bochner.learners.joint_descent._CHUNK_BYTES", 4 * 4 * 60)
    X, _, rng = ringed(230, 0)
    rows = X
    if form == "csr":
        rows = sp.csr_array(X)
    elif form == "dask":
        rows = pytest.importorskip("dask.array").from_array(X, chunks=(70, 4))
    elif form == "memmap":
        rows = np.memmap(tmp_path / "rows", dtype=np.float64, shape=X.shape, mode="w+")
        rows[...] = X
    chunks = list(shuffled_chunks(rows, rng))
    assert len(chunks) == {"dense": 4, "csr": 1, "dask": 4, "memmap": 4}[form]
    numbers = np.concatenate([numbers for _, numbers in chunks])
    np.testing.assert_array_equal(np.sort(numbers), np.arange(230))
    assert not np.array_equal(numbers, np.arange(230))
    for chunk, numbers in chunks:
        dense = chunk.toarray() if sp.issparse(chunk) else chunk
        np.testing.assert_array_equal(dense, X[numbers].astype(np.float32))


def test_everything_stays_in_float32():
    X, y, rng = ringed(100, 0)
    learner = JointDescent()
    targets, residual = learner._targets(y, 100)
    network = _CosineNetwork(learner, Gaussian(0.5).sample(6, 4, rng), targets, residual)
    network.start(X, targets, rng)
    network.step(X[:32].astype(np.float32), targets[:32], 0.7)
    parts = (network.frequencies, network.amplitudes, network.intercepts, network.adam[0].mean, network.adam[0].square)
    assert {part.dtype for part in parts} == {np.dtype(np.float32)}


def test_an_interruption_keeps_the_frequencies_so_far(monkeypatch):
    X, y, rng = ringed(200, 0)
    learner = JointDescent(10)
    epoch = learner._epoch

    def interrupted(network, number, *rest):
        if number == 2:
            raise KeyboardInterrupt
        return epoch(network, number, *rest)

    monkeypatch.setattr(learner, "_epoch", interrupted, raising=False)
    with pytest.warns(UserWarning, match="Interrupted in epoch 3 of 10"):
        measure, report = learner.learn_with_report(Gaussian(0.5).sample(6, 4, rng), X, y, rng)
    assert report.interrupted
    assert len(report.losses) == 2
    assert np.all(np.isfinite(measure.frequencies))


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
    ("y", "message"), [(np.ones(20), "one class only"), (np.linspace(0, 1, 20), 'loss="squared"'), (None, "requires y")]
)
def test_bad_targets_are_explained(y, message):
    X, _, rng = ringed(20, 0)
    with pytest.raises(ValueError, match=message):
        JointDescent().learn(Gaussian().sample(3, 4, rng), X, y, rng)
