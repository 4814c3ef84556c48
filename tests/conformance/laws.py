"""Helpers of the laws: data for an estimator, its answers, and rows in files and on Dask."""

from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from registry import REGISTRY
from sklearn.base import is_classifier

from bochner import (
    AscentPeaks,
    CertifiedClassifier,
    JointDescent,
    LandmarkFeatures,
    LangevinPeaks,
    MarginGame,
    OperatorRidgeClassifier,
    SpectralClassifier,
    open_rows,
)
from bochner.data import LocalRows
from bochner.tables.read import streaming
from bochner.tabular.preparation import PreparedData

N_ROWS = 90
# Costs of classes are kept apart from counts of rows: a certificate, and what is held or left out,
# counts rows and not costs.
SEPARATE_COSTS = (CertifiedClassifier, OperatorRidgeClassifier, SpectralClassifier)
# Whose weights are those of repeated rows only where equal rows are merged before: rows are drawn
# by number, or a search follows rounding.
NEEDS_MERGED_ROWS = (
    LandmarkFeatures,
    CertifiedClassifier,
    JointDescent,
    AscentPeaks,
    LangevinPeaks,
)


def data_for(estimator, n_rows=N_ROWS, n_features=3, seed=0):
    """Return rows and a target for the estimator.

    Rows lie on a grid of halves, so that sparse, float32 and float64 rows have the same values.
    """
    rng = np.random.default_rng(seed)
    X = np.round(2 * rng.normal(size=(n_rows, n_features))) / 2
    signal = np.sin(X[:, 0]) + X[:, 1] / 2
    target = target_of(estimator)
    if target == "outputs":
        return X, np.column_stack([signal, np.cos(X[:, 0])])
    if target == "values":
        return X, signal + 0.1 * rng.normal(size=n_rows)
    names = np.array(["low", "middle", "upper"])
    return X, names[np.searchsorted([-0.5, 0.5], signal)]


def target_of(estimator):
    """Return the target of the registry; features whose learner has a squared loss need values."""
    learner = estimator.get_params(deep=False).get("learner")
    squared = getattr(learner, "loss", "") == "squared"
    return "values" if squared else REGISTRY[type(estimator).__name__].target


def seeded(estimator):
    """With a number for every seed, so that two fits of equal data are equal."""
    names = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
    return estimator.set_params(**dict.fromkeys(names, 0))


def follows_rounding(estimator, storage):
    """Return True if the fit depends on the order of batches or on rounding.

    Batches of stored rows have another order; a local search in float32 depends on the rounding of
    sparse products.
    """
    parts = [type(part) for part in estimator.get_params().values()]
    return (JointDescent in parts and storage != "blocks") or (
        MarginGame in parts and storage == "sparse"
    )


def answers(fitted, X):
    """Return {method: answer for X} of a fitted estimator; lazy answers are computed."""
    methods = ["predict"] if hasattr(fitted, "predict") else ["transform"]
    methods += ["decision_function", "predict_proba"] if is_classifier(fitted) else []
    said = {name: getattr(fitted, name)(X) for name in methods if hasattr(fitted, name)}
    return {
        name: value.compute() if hasattr(value, "compute") else value
        for name, value in said.items()
    }


def assert_same(found, expected, rtol=1e-9, atol=1e-9):
    """Equal answers; labels exactly, numbers up to rounding."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if np.asarray(value).dtype.kind in "fiu":
            np.testing.assert_allclose(found[name], value, rtol=rtol, atol=atol, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], value, err_msg=name)


def stored(X, storage, folder):
    """Return the rows as a memory map, sparse, on Dask or of a Parquet file."""
    if storage == "map":
        np.save(folder / "X.npy", X)
        return np.load(folder / "X.npy", mmap_mode="r")
    if storage == "sparse":
        return sp.csr_matrix(X)
    if storage == "dask":
        import dask.array as da

        return da.from_array(X, chunks=(40, 2))
    if storage == "parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        table = pa.table({f"x{j}": column for j, column in enumerate(X.T)})
        parquet.write_table(table, folder / "X.parquet", row_group_size=40)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(streaming, "_HELD_BYTES", 0)  # a memory map, however few the rows
            return open_rows(folder / "X.parquet")
    return X


def on_cluster(X, y):
    """Rows and targets in partitions of their own lengths, some of them without any rows."""
    import dask.array as da

    rows = [X[:0], X[:40], X[:0], X[40:]]
    return da.concatenate([da.from_array(part, chunks=-1) for part in rows]), da.from_array(
        y, chunks=(25, *y.shape[1:])
    )


def parts_of(estimator):
    """The estimator, its parameters, and theirs; what None stands for too."""
    parts = [estimator, *estimator.get_params().values()]
    peaks = [part._component("peaks") for part in parts if isinstance(part, MarginGame)]
    return parts + peaks


class Failure(Exception):
    """An error that bochner does not raise."""


@contextmanager
def failing_after(n_calls, monkeypatch, error):
    """Raise ``error`` in this context when the rows have been read ``n_calls`` times.

    Rows of a tabular model are prepared once, and selected from these.
    With ``error=None`` the reads are only counted, in the list that is returned.
    """
    seen = []
    with monkeypatch.context() as patch:
        watched_methods = [
            *((LocalRows, name) for name in ("sum", "map", "take", "batches", "assert_finite")),
            (PreparedData, "take"),
        ]
        for kind, name in watched_methods:
            original = getattr(kind, name)

            def watched(self, *arguments, _original=original, **keywords):
                if error is not None and len(seen) >= n_calls:
                    raise error
                seen.append(1)
                return _original(self, *arguments, **keywords)

            patch.setattr(kind, name, watched)
        yield seen
