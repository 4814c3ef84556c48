"""Number of times a memory map is read: once for the check of its numbers, then once for each pass
of the algorithm.
"""

import numpy as np
import pytest
from selection import long_except

from bochner import (
    AscentPeaks,
    FourierBoostingClassifier,
    Gaussian,
    JointDescent,
    LandmarkFeatures,
    MarginGame,
    OperatorRidge,
    OperatorRidgeClassifier,
    PacBayes,
    SpectralFeatures,
    SpectralLogistic,
    SpectralRidge,
)
from bochner.data import LocalRows, batches
from bochner.data import rows as rows_module
from bochner.data.maps import is_mapped

N_ROWS = 20_000
# Passes that look for NaN and infinity before any work.
CHECK = 1
PRIOR = Gaussian(0.1)


def ridge(**parameters):
    return SpectralRidge(
        SpectralFeatures(PRIOR, n_components=10), **{"alpha": 1.0, "random_state": 0} | parameters
    )


def learned(learner, **parameters):
    return SpectralFeatures(PRIOR, learner=learner, n_components=10, random_state=0, **parameters)


@pytest.fixture
def mapped(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 6)).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    return np.load(tmp_path / "rows.npy", mmap_mode="r"), (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.fixture
def passes(monkeypatch):
    """A function that says how often an action reads all rows; each block that was read is given
    back, but for looks at some rows.
    """
    read = [0]
    give_back, take = rows_module.release_pages, LocalRows.take

    def counted(array, rows):
        read[0] += len(array[rows]) if is_mapped(array) else 0
        give_back(array, rows)

    def looked(self, numbers):
        before = read[0]
        taken = take(self, numbers)
        read[0] = before + (len(numbers) if is_mapped(self.source) else 0)
        return taken

    monkeypatch.setattr(rows_module, "release_pages", counted)
    monkeypatch.setattr(batches, "release_pages", counted)
    monkeypatch.setattr(LocalRows, "take", looked)

    def of(action):
        read[0] = 0
        action()
        return read[0] / N_ROWS

    return of


def test_maps_and_predictions_read_once_after_the_check(mapped, passes):
    X, y = mapped
    memory = np.array(X)
    for model in (ridge(), OperatorRidge(n_components=10, alpha=1.0, random_state=0)):
        model.fit(memory, y.astype(float))
        assert passes(lambda model=model: model.predict(X)) == 1 + CHECK
    for model in (learned(PacBayes()), LandmarkFeatures(PRIOR, n_landmarks=5, random_state=0)):
        model.fit(memory, y)
        assert passes(lambda model=model: model.transform(X)) == 1 + CHECK
    model = SpectralLogistic(SpectralFeatures(PRIOR, n_components=10), random_state=0).fit(
        memory, y
    )
    assert passes(lambda: model.predict_proba(X)) == 1 + CHECK
    assert passes(lambda: model.score(X, y)) == 1 + CHECK


def test_fits_by_sums_read_once_after_the_check(mapped, passes):
    X, y = mapped
    assert passes(lambda: learned(PacBayes()).fit(X, y)) == 1 + CHECK
    assert passes(lambda: ridge().fit(X, y.astype(float))) == 1 + CHECK
    # A bandwidth from the data is one pass more; a choice by leave-one-out errors is two, one of
    # them to find copies.
    by_scale = SpectralRidge(alpha=1.0, random_state=0)
    assert passes(lambda: by_scale.fit(X, y.astype(float))) == pytest.approx(2 + CHECK, abs=0.1)
    assert passes(lambda: ridge(alpha=[0.1, 1.0]).fit(X, y.astype(float))) == 3 + CHECK
    # One for the sums, one to find copies, one for the scores that the temperature of the
    # probabilities is found by.
    classifier = OperatorRidgeClassifier(
        features=SpectralFeatures(n_components=10), alpha=1.0, random_state=0
    )
    assert passes(lambda: classifier.set_params(kernel__prior=PRIOR).fit(X, y)) == 3 + CHECK


def test_newton_reads_once_a_step(mapped, passes):
    X, y = mapped
    model = SpectralLogistic(SpectralFeatures(PRIOR, n_components=10), random_state=0)
    assert passes(lambda: model.fit(X, y)) == pytest.approx(model.n_iter_ + CHECK, abs=0.01)


def test_the_game_reads_twice_a_round(mapped, passes):
    X, y = mapped
    few, many = (
        passes(
            lambda n=n: learned(
                MarginGame(n_rounds=n, peaks=AscentPeaks(search_rows=200), certificate=False)
            ).fit(X, y)
        )
        for n in (2, 7)
    )
    assert many - few == pytest.approx(5 * 2, abs=5 * 0.02)
    assert few <= 2 * 2 + 1.1


def test_descent_reads_once_an_epoch(mapped, passes):
    X, y = mapped
    few, many = (passes(lambda n=n: learned(JointDescent(n_epochs=n)).fit(X, y)) for n in (1, 3))
    assert many - few == 2
    assert few <= 2.6  # the check, an epoch, and 10 000 rows for the start


def test_boosting_reads_a_few_times(mapped, passes):
    X, y = mapped
    assert passes(lambda: FourierBoostingClassifier(n_rounds=5, random_state=0).fit(X, y)) <= 12


@pytest.mark.parametrize("value", long_except([np.nan, np.inf], np.nan))
def test_numbers_that_are_not_finite_are_named_before_any_result(value, tmp_path, monkeypatch):
    monkeypatch.setattr(rows_module, "LARGEST_BLOCK", 400)  # so that few rows are several blocks
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), rng.integers(2, size=2000)
    fitted = [
        ridge().fit(X, y),
        learned(PacBayes()).fit(X, y),
        LandmarkFeatures(PRIOR, random_state=0).fit(X, y),
    ]
    X[1501, 2] = X[1700, 1] = value
    np.save(tmp_path / "rows.npy", X)
    spoiled = np.load(tmp_path / "rows.npy", mmap_mode="r")
    word = "NaN" if np.isnan(value) else "infinity"
    message = f"contains {word}: first in column 2, in row 1501, counted from 0"
    out = np.zeros((2000, fitted[1].measure_.n_columns))
    actions = [
        lambda: fitted[0].predict(spoiled),
        lambda: fitted[1].transform(spoiled, out=out),
        lambda: fitted[2].transform(spoiled),
        lambda: ridge().fit(spoiled, y),
        lambda: SpectralRidge(random_state=0).fit(spoiled, y),
        lambda: learned(PacBayes()).fit(spoiled, y),
        lambda: SpectralFeatures(PRIOR).fit(spoiled),
        lambda: SpectralFeatures(PRIOR).fit(X[:100]).partial_fit(spoiled),
        lambda: LandmarkFeatures(PRIOR, similarity="exact", landmarks="random", random_state=0).fit(
            spoiled, y
        ),
        lambda: SpectralLogistic(random_state=0).fit(spoiled, y),
        lambda: learned(JointDescent(n_epochs=1)).fit(spoiled, y),
    ]
    for action in actions:
        with pytest.raises(ValueError, match=message):
            action()
    assert not out.any()
