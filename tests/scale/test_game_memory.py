"""Many rows: the search sees a sample, dual updates are streamed, and memory beyond the blocks is a
few numbers for each row.
"""

import tracemalloc

import numpy as np
import pytest

from bochner import AscentPeaks, Gaussian, JointDescent, MarginGame, SpectralFeatures

MB = 2**20


@pytest.fixture
def rows_on_disk(tmp_path):
    n_rows = 200_000
    X = np.lib.format.open_memmap(
        tmp_path / "rows.npy", mode="w+", dtype=np.float32, shape=(n_rows, 30)
    )
    rng = np.random.default_rng(0)
    for start in range(0, n_rows, 50_000):
        X[start : start + 50_000] = rng.normal(size=(50_000, 30))
    y = np.where(np.cos(X[:, 0] + X[:, 1]) > 0.2, 1, -1)
    X.flush()
    return np.load(tmp_path / "rows.npy", mmap_mode="r"), y


@pytest.mark.parametrize(
    "learner",
    [
        pytest.param(
            MarginGame(n_rounds=3, peaks=AscentPeaks(search_rows=5000)), marks=pytest.mark.long
        ),
        JointDescent(n_epochs=1, batch_size=1024),
    ],
)
def test_memory_does_not_hold_the_features_of_all_rows(learner, rows_on_disk):
    X, y = rows_on_disk
    features = SpectralFeatures(Gaussian(0.1), learner, n_components=100, random_state=0)
    features.fit(X[:1000], y[:1000])  # compile and import before measuring
    tracemalloc.start()
    features.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The features of all rows would be 160 MB, in float32.  The game keeps about ten numbers for
    # each row (16 MB) and fits its machine on 32 MB of features; joint descent shuffles the rows
    # themselves (24 MB, twice).
    assert peak < 150 * MB
    assert len(features.measure_) == (3 if isinstance(learner, MarginGame) else 100)
