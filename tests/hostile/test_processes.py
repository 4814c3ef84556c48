"""Forks and threads: a fit in a child after one in the parent, and fits at the same time, end and
give the numbers that they give alone.
"""

import multiprocessing
import os
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed
from selection import long_except
from sklearn.base import clone

from bochner import JointDescent, MarginGame
from tests.conformance.registry import SMALL
from tests.hostile.attacks import data_for
from tests.hostile.test_interruptions import threads
from tests.hostile.verdicts import answers, is_equal

_SECONDS = 60


def fitted_answers(name):
    """Everything that an estimator says after a fit, as plain arrays."""
    estimator = SMALL[name]
    X, y = data_for(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = answers(clone(estimator).fit(X, y), X)
    return {
        method: values.toarray() if sp.issparse(values) else np.asarray(values)
        for method, values in found.items()
    }


def all_answers():
    return {name: fitted_answers(name) for name in SMALL}


def assert_same(found, expected):
    for name, methods in expected.items():
        for method, values in methods.items():
            # BLAS adds in another order where it has another number of threads, and searches follow
            # rounding.
            searching = any(
                isinstance(part, (JointDescent, MarginGame))
                for part in SMALL[name].get_params().values()
            )
            assert is_equal(found[name][method], values, searching), f"{name}.{method}"


@pytest.fixture(scope="module")
def alone():
    return all_answers()


def _send(connection):
    connection.send(all_answers())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_that_is_a_fork_fits_as_its_parent_did(alone):
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_send, args=(theirs,), daemon=True)
    child.start()
    theirs.close()
    try:
        assert ours.poll(_SECONDS), "the child hangs"
        assert_same(ours.recv(), alone)
        child.join(_SECONDS)
        assert child.exitcode == 0
    finally:
        child.kill()
    assert_same(
        {"SpectralRegressor": fitted_answers("SpectralRegressor")},
        {"SpectralRegressor": alone["SpectralRegressor"]},
    )


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.long)])
def test_workers_of_joblib_fit_as_one_does(alone, backend):
    before = threads()
    found = Parallel(n_jobs=2, backend=backend, timeout=_SECONDS)(
        delayed(fitted_answers)(name) for name in SMALL
    )
    assert_same(dict(zip(SMALL, found)), alone)
    assert threads() == before


def test_two_threads_fit_different_estimators_at_once(alone):
    before, found = threads(), {}
    names = list(SMALL)

    def work(own):
        found.update({name: fitted_answers(name) for name in own})

    workers = [
        threading.Thread(target=work, args=(own,), daemon=True) for own in (names[::2], names[1::2])
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(_SECONDS)
        assert not worker.is_alive(), "a thread hangs"
    assert_same(found, alone)
    assert threads() == before


# One for each way of reading rows.
READERS = (
    "SpectralRegressor",
    "SpectralFeatures",
    "SpectralRidge",
    "GBRFF2Classifier",
    "KernelMachine",
    "TableInputs",
)


@pytest.mark.parametrize("name", long_except(SMALL, *READERS))
def test_numbers_of_any_type_mean_the_same(name):
    """Types that hold the same whole numbers or truth values as float64 does."""
    estimator = SMALL[name]
    X, y = data_for(estimator)
    for plain, types in (
        (np.round(X), (np.int8, np.int16, ">i4", np.int64, np.float16, object)),
        (np.abs(np.round(X)), (np.uint8, np.uint64)),
        ((X > 0).astype(float), (bool, np.int8)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = answers(clone(estimator).fit(plain, y), plain)
            for kind in types:
                given = plain.astype(kind)
                for method, values in answers(clone(estimator).fit(given, y), given).items():
                    assert_close(values, expected[method], f"{method} of {np.dtype(kind)}")


def assert_close(found, expected, what):
    found, expected = (
        values.toarray() if sp.issparse(values) else np.asarray(values)
        for values in (found, expected)
    )
    if expected.dtype.kind == "f":
        precision = 1e-4 if found.dtype == np.float32 else 1e-9
        assert np.abs(found - expected).max() <= precision * max(1.0, np.abs(expected).max()), what
    else:
        assert np.array_equal(found, expected), what
