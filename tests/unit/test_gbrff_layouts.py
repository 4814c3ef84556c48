"""GBRFF1 and GBRFF2 depend neither on the order of the rows nor on the container that holds them."""

import numpy as np
import pytest
import scipy.sparse as sp
from selection import long_except
from sklearn.base import clone

from bochner import GBRFF1Classifier, GBRFF2Classifier
from bochner.boosting import gbrff1, gbrff2, gbrff_base

pd = pytest.importorskip("pandas")

MODELS = {
    "GBRFF2": GBRFF2Classifier(n_rounds=4, random_state=0),
    "GBRFF2 with rephase": GBRFF2Classifier(
        n_rounds=4, rephase=True, calibrated=False, random_state=0
    ),
    "GBRFF1": GBRFF1Classifier(n_rounds=2, max_iterations=4, random_state=0),
    "GBRFF1 with one coordinate": GBRFF1Classifier(
        n_rounds=4, n_components=1, landmark=0, calibrated=False, random_state=0
    ),
}
every_model = pytest.mark.parametrize("name", MODELS)


def problem(n_rows, n_features=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n_rows) > 0


def in_a_file(X, path, order="C"):
    np.save(path, np.asarray(X, order=order))
    return np.load(path, mmap_mode="r")


@every_model
@pytest.mark.parametrize("dtype", long_except([np.float64, np.float32], np.float32))
def test_every_container_gives_the_same_model_to_the_last_bit(name, dtype, tmp_path):
    X, y = problem(300)
    X, Z = X.astype(dtype), np.random.default_rng(1).normal(size=(50, 8))
    expected = clone(MODELS[name]).fit(X, y)
    containers = {
        "Fortran order": np.asfortranarray(X),
        "strides": np.repeat(X, 2, axis=1)[:, ::2],
        "frame": pd.DataFrame(X).set_axis(list("abcdefgh"), axis=1),
        "file": in_a_file(X, tmp_path / "C.npy"),
        "file in Fortran order": in_a_file(X, tmp_path / "F.npy", "F"),
        "CSR": sp.csr_array(X),
    }
    for container, rows in containers.items():
        found = clone(MODELS[name]).fit(rows, y)
        points = pd.DataFrame(Z, columns=list("abcdefgh")) if container == "frame" else Z
        np.testing.assert_allclose(
            found.decision_function(points), expected.decision_function(Z), 1e-12, 1e-12
        )
        for attribute in ("frequencies", "cosine", "sine"):
            same, other = (getattr(model.expansion_, attribute) for model in (expected, found))
            np.testing.assert_array_equal(other, same, err_msg=f"{container}: {attribute}")
        assert found.slope_ == expected.slope_


@pytest.mark.parametrize("kept_bytes", [0, 2**28])
@every_model
def test_many_rows_in_memory_and_in_files_give_the_same_model(
    name, kept_bytes, tmp_path, monkeypatch
):
    """Rows beyond one block: the blocks depend on the shape alone."""
    monkeypatch.setattr(gbrff_base, "SMALL", 256)
    monkeypatch.setattr(gbrff_base, "_BLOCK_NUMBERS", 1000)
    monkeypatch.setattr(gbrff1, "_KEPT_BYTES", kept_bytes)
    monkeypatch.setattr(gbrff2, "_FEW_NUMBERS", 0)
    monkeypatch.setattr(gbrff2, "_FEW_TURNS", 100)
    X, y = problem(300)
    model = clone(MODELS[name]).set_params(n_rounds=2)
    expected = clone(model).fit(X, y)
    for rows in (np.asfortranarray(X), in_a_file(X, tmp_path / "rows.npy")):
        found = clone(model).fit(rows, y)
        np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))


@every_model
def test_alternating_classes_give_the_model_of_shuffled_rows(name):
    """From 16 384 rows on, every second row would be of one class."""
    X, y = problem(17_500, n_features=3)
    positive, negative = np.flatnonzero(y), np.flatnonzero(~y)
    n_pairs = min(len(positive), len(negative))
    assert n_pairs > 2**13
    alternating = np.column_stack([positive[:n_pairs], negative[:n_pairs]]).ravel()
    shuffled = np.random.default_rng(1).permutation(alternating)
    model = clone(MODELS[name]).set_params(n_rounds=2, max_iterations=2, calibrated=False)
    scores = [
        clone(model).fit(X[order], y[order]).decision_function(X)
        for order in (alternating, shuffled)
    ]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-7, atol=1e-7)
