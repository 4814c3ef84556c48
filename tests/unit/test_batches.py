"""Batches of descent are those of the plan, wherever the rows live; what is learned from them does
not depend on where.
"""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from selection import long_except

from bochner import (
    AscentPeaks,
    CandidatePeaks,
    EarlyStopping,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    Gaussian,
    JointDescent,
    JointEpochs,
    MarginGame,
    SpectralFeatures,
)
from bochner._loops.blocks import fourier_sums_block
from bochner._loops.wave_kernels import few_fourier_sums
from bochner.data import BatchPlan, LocalRows, as_rows, batches
from bochner.learners.descent.gradients import BatchGradient, Standardization, WaveParameters
from bochner.learners.game import duals
from bochner.losses import Logistic, Multinomial, Squared

N_ROWS = 5003
PLACES = ["map", "dask"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4)).astype(np.float32)
    return X, np.cos(X[:, 0] + X[:, 1]) + 0.1 * rng.normal(size=N_ROWS)


def at(place, X, folder):
    """The same rows elsewhere; partitions that no shard knows of, of rows and of columns."""
    if place == "map":
        np.save(folder / "X.npy", X)
        return np.load(folder / "X.npy", mmap_mode="r")
    if place == "csr":
        return sp.csr_array(X)
    return pytest.importorskip("dask.array").from_array(X, chunks=((700, 1, 2302, 2000), 2))


@pytest.fixture
def short_windows(monkeypatch):
    """So that a few thousand rows are several windows of several runs, as millions are."""
    monkeypatch.setattr(batches, "WINDOW_NUMBERS", 4 * 1500)
    monkeypatch.setattr(batches, "FEWEST_TOGETHER", 64)


def met(rows, plan, epoch, apart, numbers):
    """(row numbers, sum of the rows) of each batch, as told by the block function."""

    def block(source, places, numbers):
        taken = source[places]
        present = np.zeros(N_ROWS)
        present[numbers[:, 0]] += 1
        return (
            present,
            np.asarray(taken.sum(axis=0), dtype=np.float64).ravel(),
            np.array(float(len(places))),
        )

    return [batch(block) for batch in rows.epochs(plan, apart, numbers)(epoch)]


@pytest.mark.usefixtures("short_windows")
@pytest.mark.parametrize("batch_size", [100, 512, 1400, 10**6])
@pytest.mark.parametrize("place", ["array", "csr", *PLACES])
def test_each_kept_row_is_met_once_in_an_epoch(place, batch_size, data, tmp_path):
    X = data[0]
    kept = np.arange(N_ROWS) % 5 > 0
    apart = np.flatnonzero(~kept)
    plan = BatchPlan.of(N_ROWS, 4, batch_size, kept.sum(), 7)
    rows = as_rows(X if place == "array" else at(place, X, tmp_path))
    seen = met(rows, plan, 3, apart, np.arange(N_ROWS)[:, None])
    assert len(seen) == plan.n_steps
    np.testing.assert_array_equal(sum(present for present, _, _ in seen), kept)
    for present, sums, size in seen:
        assert present.sum() == size <= 1.1 * batch_size
        np.testing.assert_allclose(sums, present @ X.astype(np.float64), atol=1e-4)
    here = met(LocalRows(X), plan, 3, apart, np.arange(N_ROWS)[:, None])
    for mine, theirs in zip(seen, here, strict=True):
        np.testing.assert_array_equal(mine[0], theirs[0])
    later = met(LocalRows(X), plan, 4, apart, np.arange(N_ROWS)[:, None])
    assert batch_size > N_ROWS or not np.array_equal(later[0][0], here[0][0])


def test_the_number_of_steps_is_bounded_and_shards_follow_from_the_rows_alone():
    for n_rows in (10, 10**4, 10**6, 10**8):
        plan = BatchPlan.of(n_rows, 20, 128, n_rows, 0)
        assert plan.n_steps <= 1.01 * batches.MOST_STEPS
        assert plan.shard(0).start == 0
        assert plan.shard(plan.n_shards - 1).stop == n_rows
        assert all(plan.shard(s).stop == plan.shard(s + 1).start for s in range(plan.n_shards - 1))


def test_epochs_and_seeds_have_orders_of_their_own():
    orders = {}
    for seed in (0, 1):
        plan = BatchPlan.of(1000, 4, 128, 1000, seed)
        assert plan.n_windows == 1
        orders |= {(seed, epoch): tuple(plan.window(epoch, 0, 0)[1]) for epoch in (0, 1)}
    assert len(set(orders.values())) == 4
    assert tuple(BatchPlan.of(1000, 4, 128, 1000, 1).window(1, 0, 0)[1]) == orders[1, 1]


@pytest.mark.parametrize("loss", [Logistic(), Squared(), Multinomial()], ids=repr)
def test_the_gradient_of_many_rows_is_the_sum_over_their_chunks(loss):
    """More rows than a chunk has, some more than once, weighted and standardised; against
    differences of the loss in float64.
    """
    rng = np.random.default_rng(0)
    n_outputs = 3 if isinstance(loss, Multinomial) else 1
    parameters = WaveParameters(5, 4, n_outputs, np.float64)
    parameters.vector[...] = 0.5 * rng.normal(size=len(parameters.vector))
    X, places = rng.normal(size=(2000, 4)), rng.integers(2000, size=1300)
    targets = {
        1: rng.choice([-1.0, 1.0], size=(1300, 1)),
        3: np.eye(3)[rng.integers(3, size=1300)],
    }[n_outputs]
    weights = rng.uniform(size=(1300, 1))
    standardization = Standardization(rng.normal(size=4), rng.uniform(0.5, 2, size=4))
    gradient = pickle.loads(
        pickle.dumps(BatchGradient(parameters, loss, standardization, with_losses=True))
    )
    total, n_rows, slopes = gradient(X, places, targets, weights)
    assert n_rows == 1300

    def by_hand(vector):
        moved = parameters.like()
        moved.vector[...] = vector
        scores = moved.expansion(True).evaluate(
            (X[places] - standardization.shift) * standardization.scale
        )
        return float(loss.values(targets, scores) @ weights[:, 0])

    assert total == pytest.approx(by_hand(parameters.vector))
    for k in range(0, len(parameters.vector), 3):
        step = 1e-6 * np.eye(len(parameters.vector))[k]
        difference = (by_hand(parameters.vector + step) - by_hand(parameters.vector - step)) / 2e-6
        assert slopes[k] == pytest.approx(difference, rel=1e-5, abs=1e-4)


@pytest.mark.usefixtures("short_windows")
def test_a_window_comes_from_all_over_its_shard():
    """Rows in the order of their labels, or of time, are mixed in each batch."""
    plan = BatchPlan.of(N_ROWS, 4, 128, N_ROWS, 0)
    assert plan.n_windows > 2
    places, order = plan.window(0, 0, 0)
    assert np.ptp(places) > 0.5 * N_ROWS
    assert np.count_nonzero(np.diff(places) > 1) > 20  # runs
    assert abs(np.corrcoef(places[order], np.arange(len(order)))[0, 1]) < 0.1


@pytest.mark.usefixtures("short_windows")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["two classes", "three classes", "values", "weighted"])
def test_joint_descent_is_the_same_wherever_the_rows_are(place, kind, data, tmp_path):
    X, value = data
    y = {"values": value, "three classes": np.digitize(value, [-0.3, 0.5])}.get(
        kind, (value > 0.2).astype(int)
    )
    weights = np.random.default_rng(1).uniform(0.5, 2, N_ROWS) if kind == "weighted" else None
    start = Gaussian(0.3).sample(10, 4, np.random.default_rng(2))
    learner = JointDescent(n_epochs=2, batch_size=700)
    here, there = (
        learner.learn(start, rows, y, np.random.default_rng(3), weights)
        for rows in (X, at(place, X, tmp_path))
    )
    np.testing.assert_allclose(
        there.measure.frequencies, here.measure.frequencies, rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(there.report.losses, here.report.losses, rtol=1e-10)


@pytest.mark.usefixtures("short_windows")
@pytest.mark.parametrize("place", ["csr", *PLACES])
@pytest.mark.parametrize("Booster", [FourierBoostingClassifier, FourierBoostingRegressor])
def test_boosting_is_the_same_wherever_the_rows_are(place, Booster, data, tmp_path):
    X, value = data
    y = value if Booster is FourierBoostingRegressor else value > 0.2
    settings = {
        "n_rounds": 4,
        "max_rows": 1000,
        "epochs": JointEpochs(2),
        "stopping": EarlyStopping(fraction=0.1),
    }
    here, there = (
        Booster(random_state=0, **settings).fit(rows, y).expansion_
        for rows in (X, at(place, X, tmp_path))
    )
    np.testing.assert_allclose(there.frequencies, here.frequencies, rtol=0, atol=1e-10)
    np.testing.assert_allclose(there.amplitudes, here.amplitudes, rtol=0, atol=1e-10)


def test_boosted_classifiers_answer_lazily(data):
    da = pytest.importorskip("dask.array")
    X, value = data
    model = FourierBoostingClassifier(n_rounds=3, random_state=0).fit(
        X, np.where(value > 0.2, "up", "down")
    )
    rows = da.from_array(X, chunks=(1000, 4))
    for method in ("predict", "predict_proba", "decision_function"):
        lazy, expected = getattr(model, method)(rows), getattr(model, method)(X)
        assert isinstance(lazy, da.Array)
        assert lazy.dtype == expected.dtype
        if method == "predict":
            np.testing.assert_array_equal(lazy.compute(), expected)
        else:
            np.testing.assert_allclose(lazy.compute(), expected, atol=1e-6)
    np.testing.assert_array_equal(
        model.predict(X), np.where(model.decision_function(X) >= 0, "up", "down")
    )
    assert model.score(rows, np.where(value > 0.2, "up", "down")) > 0.5


# --- the margin game ------------------------------------------------------------------------------


GAMES = {
    "hinge": {},
    "squared hinge": {"loss": "squared_hinge", "step": "theory"},
    "squared": {"loss": "squared"},
    "alternating": {"projection": "alternating"},
    "candidates": {"peaks": CandidatePeaks()},
}


@pytest.mark.parametrize(
    "case",
    long_except(
        [f"{name} on {place}" for name in GAMES for place in PLACES],
        "hinge on dask",
        "squared hinge on map",
        "candidates on map",
    ),
)
def test_the_margin_game_is_the_same_in_blocks_and_wherever_the_rows_are(
    case, data, tmp_path, monkeypatch
):
    name, place = case.split(" on ")
    settings = GAMES[name]
    X, value = data[0].astype(np.float64), data[1]
    y = value if settings.get("loss") == "squared" else np.digitize(value, [-0.3, 0.5])
    learner = MarginGame(n_rounds=2, **({"peaks": AscentPeaks(search_rows=1000)} | settings))
    start = Gaussian(0.3).sample(10, 4, np.random.default_rng(2))
    found = []
    for rows, many in ((X, 10**6), (X, 512), (at(place, X, tmp_path), 512)):
        monkeypatch.setattr(duals, "_MANY_ROWS", many)
        found.append(learner.learn(start, rows, y, np.random.default_rng(3)))
    whole, *others = found
    for other in others:
        np.testing.assert_allclose(
            other.measure.frequencies, whole.measure.frequencies, rtol=0, atol=1e-10
        )
        np.testing.assert_allclose(other.report.values, whole.report.values, rtol=1e-10)
        assert other.report.certificate.lower == pytest.approx(
            whole.report.certificate.lower, rel=1e-8
        )
        assert other.report.certificate.upper == pytest.approx(
            whole.report.certificate.upper, rel=1e-8
        )
        np.testing.assert_allclose(other.report.dual_weights, whole.report.dual_weights, atol=1e-10)


class CountedRows(LocalRows):
    """Rows that know how often they were read as a whole."""

    n_passes = 0

    def sum(self, *arguments):
        CountedRows.n_passes += 1
        return super().sum(*arguments)

    def map(self, *arguments, **settings):
        CountedRows.n_passes += 1
        return super().map(*arguments, **settings)


def test_a_round_of_the_margin_game_reads_the_rows_twice(data, monkeypatch):
    monkeypatch.setattr(duals, "_MANY_ROWS", 512)
    X, value = data
    passes = []
    for n_rounds in (2, 7):
        CountedRows.n_passes = 0
        learner = MarginGame(
            n_rounds=n_rounds, peaks=AscentPeaks(search_rows=1000), certificate=False
        )
        start = Gaussian(0.3).sample(10, 4, np.random.default_rng(2))
        learner.learn(start, CountedRows(X), value > 0.2, np.random.default_rng(3))
        passes.append(CountedRows.n_passes)
    assert passes[1] - passes[0] == 2 * 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_at_few_frequencies_are_those_of_many(dtype):
    rng = np.random.default_rng(0)
    X, signal, frequencies = (
        rng.normal(size=(40_000, 3)).astype(dtype),
        rng.normal(size=(40_000, 2)),
        rng.normal(size=(5, 3)),
    )
    expected = fourier_sums_block(frequencies, X, signal)
    np.testing.assert_allclose(
        few_fourier_sums(frequencies, X, signal),
        expected,
        atol=1e-2 if dtype == np.float32 else 1e-9,
    )
    by_hand = signal.T @ np.exp(1j * X.astype(np.float64) @ frequencies.T)
    np.testing.assert_allclose(
        expected,
        np.stack([by_hand.real, by_hand.imag], axis=1),
        atol=0.1 if dtype == np.float32 else 1e-9,
    )


def test_features_learned_by_a_game_on_a_cluster_transform_there(data):
    da = pytest.importorskip("dask.array")
    X, value = data[0][:2000], data[1][:2000]
    rows = da.from_array(X, chunks=(1000, 4))
    features = SpectralFeatures(
        Gaussian(0.3), MarginGame(n_rounds=2), n_components=10, random_state=0
    ).fit(rows, value > 0.2)
    assert isinstance(features.transform(rows), da.Array)
