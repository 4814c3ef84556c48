"""Descent over rows of a cluster: by messages for each batch, or on rows brought here; the same
digits as in memory.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from selection import long_except

from bochner.data import BatchPlan, as_rows, batches
from bochner.data.dask import batches as dask_batches
from bochner.data.dask import rows as dask_rows
from bochner.expansions.waves import Expansion
from bochner.learners.descent.gradients import WaveParameters
from bochner.learners.descent.loop import Descent, run_together
from bochner.losses import Logistic, Multinomial, Squared

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

N_ROWS, N_EPOCHS = 3001, 2
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_ROWS, 3)).astype(np.float32)
SIGNS = np.where(X[:, :1] * X[:, 1:2] > 0, 1, -1).astype(np.float32)
ONE_HOT = np.eye(3, dtype=np.float32)[np.digitize(X[:, 0], [-0.4, 0.4])]
WEIGHTS = RNG.uniform(0.5, 2.0, size=N_ROWS)
APART = np.arange(5, N_ROWS, 17)


@pytest.fixture
def many_shards(monkeypatch):
    """Twenty shards in two groups and a half, and several windows, as of millions of rows."""
    monkeypatch.setattr(batches, "SLICE_ROWS", 32)
    monkeypatch.setattr(batches, "WINDOW_NUMBERS", 3 * 1500)
    monkeypatch.setattr(batches, "FEWEST_TOGETHER", 64)


def there(values, size=700):
    return da.from_array(
        values, chunks=(size, *([2] if values.shape[1:] == (3,) else values.shape[1:]))
    )


def start(n_outputs, seed=1):
    rng = np.random.default_rng(seed)
    amplitudes = rng.normal(size=(2, 9, n_outputs))
    return Expansion(
        rng.normal(size=(9, 3)), *amplitudes, np.zeros(n_outputs), np.zeros((3, n_outputs))
    )


def descend(rows, targets, loss, penalties=(0.01,), weights=None, **settings):
    """The expansions that descents of these penalties reach, from one start and by one seed."""
    parameters = [WaveParameters.of(start(targets.shape[1])) for _ in penalties]
    rates = parameters[0].like(0.02, 0.02, 0.01, 0.02)
    descents = [
        Descent(loss, N_EPOCHS, 640, rates, penalties=rates.like(amplitudes=p)) for p in penalties
    ]
    return run_together(
        descents,
        parameters,
        as_rows(rows),
        targets,
        np.random.default_rng(2),
        weights=weights,
        excluded=APART,
        **settings,
    )


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        for name in ("frequencies", "cosine", "sine", "slopes", "intercept"):
            np.testing.assert_array_equal(
                getattr(one.expansion, name), getattr(other.expansion, name), err_msg=name
            )
        np.testing.assert_array_equal(one.losses, other.losses)


@pytest.mark.parametrize("n_threads", long_except([1, 3, 100], 3))
@pytest.mark.usefixtures("many_shards")
def test_shards_in_bundles_of_any_size_have_the_digits_of_memory(n_threads, monkeypatch):
    monkeypatch.setattr(dask_rows, "FEW_BYTES", 0)
    monkeypatch.setattr(dask_batches, "worker_threads", lambda: n_threads)
    plan = BatchPlan.of(N_ROWS, 3, 640, N_ROWS - len(APART), 0)
    assert (plan.n_shards, plan.n_windows > 1) == (20, True)
    epochs = as_rows(there(X)).epochs(plan, APART, SIGNS)
    assert len(epochs.bundles) == {1: 3, 3: 5, 100: 20}[n_threads]
    expected = descend(X, SIGNS, Logistic(), weights=WEIGHTS)
    assert_same(descend(there(X), SIGNS, Logistic(), weights=WEIGHTS), expected)


@pytest.mark.parametrize("few_bytes", [0, 2**28])
@pytest.mark.parametrize(("targets", "loss"), [(ONE_HOT, Multinomial()), (SIGNS, Squared())])
@pytest.mark.usefixtures("many_shards")
def test_rows_brought_here_and_rows_of_workers_have_the_digits_of_memory(
    targets, loss, few_bytes, monkeypatch
):
    monkeypatch.setattr(dask_rows, "FEW_BYTES", few_bytes)
    epochs = as_rows(there(X)).epochs(BatchPlan.of(N_ROWS, 3, 640, N_ROWS, 0), APART, SIGNS)
    assert isinstance(epochs, dask_batches.DaskShards) == (few_bytes == 0)
    found = descend(there(X), targets, loss, (0.01, 0.1), WEIGHTS)
    assert_same(found, descend(X, targets, loss, (0.01, 0.1), WEIGHTS))


def test_sparse_partitions_are_put_together():
    sparse = np.where(np.abs(X) > 0.5, X, 0)
    parts = da.from_array(sparse, chunks=(700, 3)).map_blocks(sp.csr_matrix)
    assert_same(descend(parts, SIGNS, Logistic()), descend(sp.csr_array(sparse), SIGNS, Logistic()))


@pytest.mark.parametrize("place", [np.asarray, there])
def test_descents_side_by_side_are_those_alone(place, monkeypatch):
    monkeypatch.setattr(dask_rows, "FEW_BYTES", 0)
    rows, penalties = place(X), (0.01, 0.5)
    both = descend(rows, SIGNS, Logistic(), penalties)
    for one, penalty in zip(both, penalties, strict=True):
        assert_same([one], descend(X, SIGNS, Logistic(), [penalty]))
    assert np.ptp([one.losses[-1] for one in both]) > 1e-4


def test_a_descent_there_keeps_its_best_epoch_and_ends_when_told_to():
    seen = []

    def held_out(expansion):
        return float(
            len(expansion.intercept) * (1 + len(seen))
        )  # every epoch is worse than the start

    (kept,) = descend(
        there(X),
        SIGNS,
        Logistic(),
        held_out=held_out,
        after_epoch=lambda reached: seen.append(reached) or True,
    )
    assert len(seen) == 1
    np.testing.assert_array_equal(
        kept.expansion.frequencies, start(1).frequencies.astype(np.float32)
    )
    assert np.any(seen[0].expansion.frequencies != kept.expansion.frequencies)


def test_bad_rows_are_named_by_the_worker_that_puts_them_together():
    broken = X.copy()
    broken[2000, 1] = np.nan
    with pytest.raises(ValueError, match="NaN: first in column 1, in row 2000"):
        descend(there(broken), SIGNS, Logistic())
