"""Laws that every learner keeps: rows may live anywhere, weights are repetitions, an interruption
is passed on.
"""

import pickle

import numpy as np
import pytest
from cases import LEARNERS, SEARCHING
from selection import long_except

from bochner import Gaussian, SpectralFeatures
from bochner.data import repetitions
from bochner.learners import Learner

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
TARGETS = {
    "two classes": X[:, 0] > 0.2,
    "three classes": np.array(["a", "b", "c"])[np.digitize(X[:, 1], [-0.5, 0.5])],
    "values": np.cos(X[:, 0] + X[:, 2]),
    "outputs": X[:, :2] ** 2,
}


def features(learner, **changes):
    settings = {
        "n_candidates": 40,
        "n_components": 8,
        "selection": "top",
        "random_state": 0,
    } | changes
    return SpectralFeatures(Gaussian("scale"), learner, **settings)


def targets_of(learner):
    return (
        TARGETS
        if getattr(learner, "loss", "auto") == "auto"
        else {"three classes": TARGETS["three classes"]}
    )


def cases(learners):
    return [(name, kind) for name, learner in learners.items() for kind in targets_of(learner)]


# All kinds of targets for one learner, and one kind for the others, are among the quick tests.
QUICK = [case for case in cases(LEARNERS) if "PacBayes" in case or "three classes" in case]
QUICK_CASES = long_except(cases(LEARNERS), *QUICK)
# Quick tests of the margin game on blocks, files and Dask are in unit/test_batches.py.
QUICK_SUMS = long_except(cases(LEARNERS), *(one for one in QUICK if "MarginGame" not in one[0]))


@pytest.mark.parametrize("case", QUICK_SUMS, ids=" of ".join)
def test_rows_may_live_anywhere(case, tmp_path):
    name, kind = case
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    mapped = np.memmap(tmp_path / "rows", mode="w+", shape=X.shape, dtype=np.float64)
    mapped[...] = X
    whole = features(LEARNERS[name]).fit(X, TARGETS[kind])
    for rows, block_size in (
        (X, 17),
        (mapped, "auto"),
        (mapped, 17),
        (da.from_array(X, chunks=(80, 2)), "auto"),
    ):
        with dask.config.set(scheduler="synchronous"):
            other = features(LEARNERS[name], block_size=block_size).fit(rows, TARGETS[kind])
        np.testing.assert_allclose(other.transform(X), whole.transform(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize("case", QUICK_CASES, ids=" of ".join)
def test_weights_are_repetitions(case, monkeypatch):
    name, kind = case
    monkeypatch.setattr(repetitions, "FEW_ROWS", 0)  # what is merged is equal whatever the formula
    counts = np.random.default_rng(1).integers(4, size=150)
    if kind == "three classes":
        counts[TARGETS[kind] == "b"] = 0  # a class of weight zero is no class
    repeated = np.repeat(np.arange(150), counts)
    weighted = features(LEARNERS[name]).fit(X, TARGETS[kind], counts)
    plain = features(LEARNERS[name]).fit(X[repeated], TARGETS[kind][repeated])
    np.testing.assert_allclose(weighted.transform(X), plain.transform(X), rtol=0, atol=1e-8)
    ignoring = features(LEARNERS[name]).fit(X, TARGETS[kind])
    assert np.abs(weighted.measure_.kernel(X) - ignoring.measure_.kernel(X)).max() > 1e-3


@pytest.mark.parametrize("name", LEARNERS)
def test_weights_of_any_size_count_and_wrong_ones_are_refused(name):
    learner, start, y = (
        LEARNERS[name],
        Gaussian(0.5).sample(20, 3, np.random.default_rng(0)),
        TARGETS["two classes"],
    )
    learned = learner.learn(start, X, y, np.random.default_rng(0), weights=np.full(150, 0.5))
    assert learned.measure.mass == pytest.approx(1)
    for wrong, message in (
        (-np.ones(150), "Negative"),
        (np.zeros(150), "zero"),
        (np.ones(3), "shape"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.learn(start, X, y, np.random.default_rng(0), weights=wrong)


@pytest.mark.parametrize(
    "name", long_except(LEARNERS | SEARCHING, "PacBayes", "OptimalAlignment", "PacBayesLangevin")
)
def test_a_fitted_learner_survives_a_pickle_and_a_seed_says_everything(name):
    learner = (LEARNERS | SEARCHING)[name]
    assert isinstance(learner, Learner)
    fitted = features(learner).fit(X, TARGETS["three classes"])
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
    second = features(learner).fit(X, TARGETS["three classes"])
    np.testing.assert_array_equal(second.transform(X), fitted.transform(X))


@pytest.mark.parametrize("name", SEARCHING)
def test_a_whole_number_makes_a_generator(name):
    start = Gaussian(0.5).sample(20, 3, np.random.default_rng(0))
    runs = [
        SEARCHING[name].learn(start, X, X[:, 0] > 0, rng).measure
        for rng in (3, np.random.default_rng(3))
    ]
    np.testing.assert_array_equal(runs[0].frequencies, runs[1].frequencies)


@pytest.mark.parametrize("name", LEARNERS | SEARCHING)
def test_an_interruption_is_passed_on_and_leaves_the_old_model(name, monkeypatch):
    fitted = features((LEARNERS | SEARCHING)[name]).fit(X, TARGETS["two classes"])
    before, state = fitted.transform(X), dict(vars(fitted))
    calls = []

    def interrupted(block, *arguments):
        calls.append(block)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return original(block, *arguments)

    from bochner.data import LocalRows

    original = LocalRows._on_block
    monkeypatch.setattr(LocalRows, "_on_block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fitted.set_params(block_size=20).fit(X[:, :2], TARGETS["three classes"])
    monkeypatch.undo()
    assert fitted.n_features_in_ == 3
    assert {key for key in vars(fitted) if vars(fitted)[key] is not state.get(key)} == {
        "block_size"
    }
    np.testing.assert_array_equal(fitted.transform(X), before)
