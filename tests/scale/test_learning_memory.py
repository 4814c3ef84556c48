"""Learning touches rows in blocks: memory stays far below the n x N matrices that the formulas are
written with.
"""

import tracemalloc

import numpy as np
import pytest

from bochner import (
    CurlFree,
    FourierBoostingClassifier,
    Gaussian,
    JointEpochs,
    LandmarkFeatures,
    OperatorRidge,
    PacBayes,
    SpectralFeatures,
    SpectralRidge,
    alignment_losses,
)
from bochner.data import batches

MB = 2**20


def peak_megabytes(function):
    """Largest memory allocated during the call (numpy reports its arrays), above what was there
    before.
    """
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        function()
        return (tracemalloc.get_traced_memory()[1] - before) / MB
    finally:
        tracemalloc.stop()


def test_losses_of_many_candidates_need_no_matrix_of_them():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 40)), rng.integers(2, size=4000)
    measure = Gaussian(0.1).sample(10_000, 40, rng)
    alignment_losses(measure.take(slice(0, 5)), X, y)  # compile
    # One cosine matrix would take 305 MB.
    assert peak_megabytes(lambda: alignment_losses(measure, X, y)) < 60


def test_learning_from_a_memory_map_and_from_dask_is_learning_from_the_array(tmp_path):
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 5)), rng.integers(3, size=3000)
    file = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float64, shape=X.shape)
    file[:] = X
    file.flush()
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    settings = {"n_candidates": 300, "n_components": 20, "random_state": 0}
    whole = SpectralFeatures(Gaussian(0.2), PacBayes(2.0), **settings).fit(X, y)
    for rows in (mapped, da.from_array(X, chunks=(700, 5))):
        other = SpectralFeatures(Gaussian(0.2), PacBayes(2.0), **settings).fit(rows, y)
        np.testing.assert_allclose(
            other.learned_.weights, whole.learned_.weights, rtol=0, atol=1e-12
        )
        np.testing.assert_array_equal(other.selected_, whole.selected_)


def test_similarities_to_many_landmarks_are_made_in_tiles():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 10)), rng.integers(2, size=4000)
    fitted = LandmarkFeatures(
        Gaussian(0.1), n_landmarks=100, n_components=64, landmarks="random", random_state=0
    )
    fitted.fit(X, y)
    out = np.empty((4000, 100))
    # The cosines of all landmarks would take 195 MB.
    assert peak_megabytes(lambda: fitted.transform(X, out=out)) < 50


def mapped_rows(folder, n_rows, n_features):
    """Return rows of normal numbers in a memory map."""
    X = np.random.default_rng(0).normal(size=(n_rows, n_features)).astype(np.float32)
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def test_transform_of_a_memory_map_holds_only_blocks(tmp_path):
    X = mapped_rows(tmp_path, 40_000, 64)
    model = SpectralFeatures(Gaussian(0.1), n_components=100, random_state=0).fit(X[:1000])
    out = np.lib.format.open_memmap(
        tmp_path / "out.npy", mode="w+", dtype=np.float32, shape=(40_000, 200)
    )
    model.transform(X[:1000])  # compile
    # The rows take 10 MB and their features 31 MB.
    assert peak_megabytes(lambda: model.transform(X, out=out)) < 8
    assert peak_megabytes(lambda: model.fit(X)) < 8


@pytest.mark.parametrize("kind", ["operator", "spectral"])
def test_a_ridge_never_holds_the_feature_matrix(kind, tmp_path):
    X = mapped_rows(tmp_path, 20_000, 5)
    y = np.zeros((len(X), 5))
    y[:, 0] = 1.0
    if kind == "operator":
        model = OperatorRidge(
            CurlFree(Gaussian(gamma=1.0)), n_components=100, alpha=1.0, random_state=0
        )
    else:
        features = SpectralFeatures(Gaussian(gamma=1.0), n_components=100)
        model = SpectralRidge(features, alpha=[0.1, 1.0], random_state=0)
    model.fit(X[:1000], y[:1000]).predict(X[:1000])  # compile
    # The features of all rows would take 31 MB in float64; of the operator five times as much.
    assert peak_megabytes(lambda: model.fit(X, y).predict(X)) < 20


def test_boosting_of_a_memory_map_holds_a_sample_and_a_window(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "WINDOW_NUMBERS", 2**18)  # a window of 1 MB
    X = mapped_rows(tmp_path, 50_000, 128)
    y = np.array(X[:, 0] + X[:, 1] > 0)
    model = FourierBoostingClassifier(
        n_rounds=2, epochs=JointEpochs(1), n_pilots=1, max_rows=1000, random_state=0
    )
    model.fit(X[:2000], y[:2000])  # compile
    # The rows take 24 MB.
    assert peak_megabytes(lambda: model.fit(X, y)) < 12
