"""Row sums over blocks, threads and storages: where the rows are changes nothing."""

import os
import signal
import threading
import time
import weakref
from functools import partial
from queue import SimpleQueue

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from bochner._loops.blocks import fourier_sums_block
from bochner._loops.threads import (
    ordered_map,
    thread_count,
    threads_for_matrices,
    threads_for_rows_only,
)
from bochner.data import Block, LocalRows, as_rows, batches, rows
from bochner.data.rows import blocks_of
from bochner.learners.alignment import fourier_sums, potential, potential_and_gradient
from bochner.measures.fourier import FourierMeasure

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2500, 4))
SIGNAL = RNG.normal(size=(2500, 2))
MEASURE = FourierMeasure(RNG.normal(size=(30, 4)), np.ones(30))
WHOLE = (SIGNAL.T @ np.exp(1j * X @ MEASURE.frequencies.T))[:, None]
WHOLE = np.concatenate([WHOLE.real, WHOLE.imag], axis=1)


@pytest.mark.parametrize("block_size", ["auto", 1, 7, 999, 2500, 10_000])
def test_sums_do_not_depend_on_the_block_size(block_size):
    np.testing.assert_allclose(
        fourier_sums(MEASURE, as_rows(X, block_size), SIGNAL), WHOLE, atol=1e-10
    )


def test_one_thread_and_two_give_the_same_bits():
    two = fourier_sums(MEASURE, X, SIGNAL)
    with threadpool_limits(1):
        assert thread_count() == 1
        one = fourier_sums(MEASURE, X, SIGNAL)
    np.testing.assert_array_equal(one, two)


def test_blocks_cover_the_rows_once_within_the_budget():
    for n_rows in (1, 255, 256, 1000, 4096, 100_000):
        for row_bytes in (0, 8, 100_000, 2 * rows.BLOCK_BYTES):
            blocks = blocks_of(n_rows, row_bytes)
            assert [i for b in blocks for i in (b.start, b.stop)][1:-1:2] == [
                b.start for b in blocks[1:]
            ]
            assert blocks[0].start == 0
            assert blocks[-1].stop == n_rows
            largest = max(b.stop - b.start for b in blocks)
            assert largest == 1 or largest * row_bytes <= rows.BLOCK_BYTES


def test_sparse_rows_and_memory_maps_give_the_same_sums(tmp_path):
    np.save(tmp_path / "X.npy", X)
    for mode in ("r", "r+", "c"):
        mapped = np.load(tmp_path / "X.npy", mmap_mode=mode)
        np.testing.assert_allclose(fourier_sums(MEASURE, mapped, SIGNAL), WHOLE, atol=1e-10)
    np.testing.assert_allclose(fourier_sums(MEASURE, sp.csr_matrix(X), SIGNAL), WHOLE, atol=1e-10)


def test_changes_to_a_copy_on_write_map_survive(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="c")
    mapped[:] = 1.0
    fourier_sums(MEASURE, mapped, SIGNAL)
    assert np.all(mapped == 1.0)


def test_results_written_to_a_memory_map_reach_the_file(tmp_path):
    out = np.lib.format.open_memmap(
        tmp_path / "out.npy", mode="w+", dtype=np.float64, shape=(2500, 60)
    )
    MEASURE.features(X, out=out)
    out.flush()
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), MEASURE.features(X))


def test_float32_partial_sums_are_added_in_float64():
    ones = np.ones((3_000_000, 1), dtype=np.float32)
    total = as_rows(ones).sum(partial(np.sum, axis=0))
    assert total.dtype == np.float64
    assert total[0] == 3_000_000


def test_tuples_of_statistics_are_added_one_by_one():
    total, count = as_rows(X).sum(_total_and_count)
    np.testing.assert_allclose(total, X.sum(axis=0), atol=1e-10)
    assert count == 2500


def _total_and_count(block):
    return block.sum(axis=0), np.float64(len(block))


def test_the_first_block_is_not_overwritten_by_the_sum():
    pieces = np.ones((1000, 3))
    as_rows(pieces, 250).sum(lambda block: block[0])
    assert np.all(pieces == 1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_non_finite_numbers_are_named_before_any_work(bad, storage):
    broken = X.copy()
    broken[1234, 2] = bad
    kind = "NaN" if np.isnan(bad) else "infinity"
    with pytest.raises(
        ValueError, match=f"Input X contains {kind}: first in column 2, in row 1234"
    ):
        as_rows(storage(broken))
    as_rows(storage(X))


def test_numbers_whose_sum_overflows_are_finite():
    as_rows(np.full((1000, 2), 1e308))


def test_blas_threads_are_restored_even_from_many_threads():
    before = [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]
    workers = [threading.Thread(target=lambda: fourier_sums(MEASURE, X, SIGNAL)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [
        info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"
    ] == before


def test_an_error_in_a_block_reaches_the_caller():
    def fail(block):
        raise ZeroDivisionError("inside a block")

    with pytest.raises(ZeroDivisionError, match="inside"):
        as_rows(X).sum(fail)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("failing", [0, 7, 19])
def test_an_error_in_any_block_of_a_map_arrives(n_threads, failing, monkeypatch):
    monkeypatch.setattr(rows, "SHARED_BYTES", 0)
    numbers = np.arange(20.0)[:, None]

    def fail(block, out):
        time.sleep(0.001)
        if block[0, 0] == failing:
            raise IndexError("inside")  # also what an empty queue raises

    with threadpool_limits(n_threads, user_api="blas"), pytest.raises(IndexError, match="inside"):
        LocalRows(numbers, 1).map(fail, 1)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs POSIX signals")
def test_an_interruption_stops_the_remaining_blocks(monkeypatch):
    monkeypatch.setattr(rows, "SHARED_BYTES", 0)
    # A shell's background jobs start with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    done = []

    def slow(block, out):
        done.append(1)
        if len(done) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

    try:
        with pytest.raises(KeyboardInterrupt):
            LocalRows(X, 1).map(slow, 4)
    finally:
        signal.signal(signal.SIGINT, before)
    assert 0 < len(done) < 2000


@pytest.mark.parametrize("kept_bytes", [0, 2**27])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_potential_and_gradient_agree_with_finite_differences(kept_bytes, storage, monkeypatch):
    monkeypatch.setattr("bochner.learners.alignment._KEPT_PROJECTION_BYTES", kept_bytes)
    signs = [1.0, -0.5]
    value, gradient = potential_and_gradient(MEASURE, storage(X), SIGNAL, signs)
    waves = SIGNAL.T @ np.exp(1j * X @ MEASURE.frequencies.T)
    np.testing.assert_allclose(value, signs @ np.abs(waves) ** 2, rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(potential(MEASURE, X, SIGNAL, signs), value, rtol=1e-10, atol=1e-8)
    step = 1e-6
    for feature in range(4):
        shift = step * np.eye(4)[feature]
        above = potential(
            FourierMeasure(MEASURE.frequencies + shift, MEASURE.weights), X, SIGNAL, signs
        )
        below = potential(
            FourierMeasure(MEASURE.frequencies - shift, MEASURE.weights), X, SIGNAL, signs
        )
        # Central differences: error step² · third derivative, below 1e-5 of the largest slope here.
        np.testing.assert_allclose(
            gradient[:, feature], (above - below) / (2 * step), atol=1e-5 * np.abs(gradient).max()
        )


def test_fourier_sums_block_can_travel_between_processes():
    import pickle

    block = pickle.loads(pickle.dumps(Block(fourier_sums_block, MEASURE.frequencies, row_bytes=3)))
    assert block.row_bytes == 3
    np.testing.assert_allclose(block(X, SIGNAL), WHOLE, atol=1e-10)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_tasks_come_back_in_order_and_errors_after_all_have_ended(n_threads):
    begun, ended, failing = [], [], -1

    def square(k):
        begun.append(k)
        time.sleep(0.001 * (k % 3))
        if k == failing:
            raise ZeroDivisionError(f"task {failing}")
        ended.append(k)
        return k * k

    with threadpool_limits(n_threads, user_api="blas"):
        for n in (50, 5, 2, 1, 0):
            assert list(ordered_map(square, range(n))) == [k * k for k in range(n)]
        for failing in (0, 7, 49):
            begun.clear(), ended.clear()
            with pytest.raises(ZeroDivisionError, match=f"task {failing}"):
                list(ordered_map(square, range(50)))
            assert sorted(begun) == sorted([*ended, failing])
            assert len(begun) <= failing + 1 + 2 * n_threads


@pytest.mark.parametrize("n_threads", [2, 3])
def test_results_that_nobody_takes_keep_the_others_waiting(n_threads):
    begun = []
    with threadpool_limits(n_threads, user_api="blas"):
        results = ordered_map(begun.append, range(100))
        next(results)
        time.sleep(0.05)
        assert len(begun) <= 2 * n_threads + 1
        results.close()
        n_begun = len(begun)
        time.sleep(0.02)
        assert len(begun) == n_begun


@pytest.mark.parametrize("n_threads", [2, 3])
def test_an_error_while_adding_leaves_no_thread_waiting(n_threads, monkeypatch):
    from bochner._loops import threads

    def fail(total, part):
        raise MemoryError("no room for the sum")

    monkeypatch.setattr(rows, "add_parts", fail)
    blas = threadpool_limits(n_threads, user_api="blas")
    with blas, pytest.raises(MemoryError) as kept:  # and the traceback with it, as a debugger does
        LocalRows(X, 1).sum(lambda block: block.sum(axis=0))
    n_helpers = min(n_threads, len(os.sched_getaffinity(0))) - 1
    together, places = threading.Barrier(n_helpers + 1), SimpleQueue()
    threads._call_in_helpers(lambda: places.put(together.wait(2)), n_helpers)
    places.put(together.wait(2))
    assert sorted(places.get(timeout=2) for _ in range(n_helpers + 1)) == list(range(n_helpers + 1))
    del kept


def test_a_helper_that_wakes_up_late_keeps_nothing_alive():
    from bochner._loops import threads

    class Work:
        def __call__(self, k):
            return k

    go_on = threading.Event()
    with threadpool_limits(2, user_api="blas"):
        if thread_count() < 2:
            pytest.skip("one core: nobody to wake up")
        list(ordered_map(Work(), range(4)))  # helpers are there
        threads._call_in_helpers(go_on.wait, threads._n_helpers)  # and busy
        work = Work()
        kept = weakref.ref(work)
        assert list(ordered_map(work, range(4))) == [0, 1, 2, 3]
        del work
        assert kept() is None
        go_on.set()


def test_an_interruption_while_threads_are_given_back_does_not_keep_them(monkeypatch):
    from bochner._loops import threads

    def interrupted():
        raise KeyboardInterrupt

    with threadpool_limits(2, user_api="blas"):
        allowed = thread_count()
        with monkeypatch.context() as patch:
            patch.setattr(threads, "_restore_blas_threads", interrupted)
            with pytest.raises(KeyboardInterrupt), threads.single_threaded_blas():
                pass
        assert thread_count() == allowed
        with threads.single_threaded_blas():
            assert thread_count() == 1
        assert thread_count() == allowed


def test_rows_keep_their_threads_where_blas_has_one():
    with threadpool_limits(2, user_api="blas"):
        allowed = thread_count()
        with threads_for_rows_only():
            assert thread_count() == allowed
            assert all(
                pool["num_threads"] == 1 for pool in threadpool_info() if pool["user_api"] == "blas"
            )
            together = threading.Barrier(
                allowed
            )  # passed only if as many threads as that are at work at once
            assert sorted(ordered_map(lambda _: together.wait(5), range(allowed))) == list(
                range(allowed)
            )
        assert thread_count() == allowed


def test_blocks_are_balanced_between_two_and_four_threads():
    sizes = [block.stop - block.start for block in blocks_of(20_000)]
    assert len(sizes) % 4 == 0
    assert max(sizes) - min(sizes) <= len(sizes)


def test_a_block_function_that_needs_much_memory_gets_small_blocks():
    sizes = []
    LocalRows(X).sum(
        Block(
            lambda block: np.float64(sizes.append(len(block)) or 0),
            row_bytes=rows.BLOCK_BYTES // 10,
        )
    )
    assert sum(sizes) == len(X)
    assert max(sizes) <= 10


def test_no_rows_have_a_sum_of_zero():
    np.testing.assert_array_equal(
        fourier_sums(MEASURE, LocalRows(X[:0]), SIGNAL[:0]), np.zeros((2, 2, 30))
    )


def test_entries_of_a_sparse_matrix_that_are_given_twice_are_added():
    twice = sp.csr_matrix((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 4))
    np.testing.assert_allclose(
        MEASURE.features(twice), MEASURE.features(np.array([[3.0, 0, 0, 0]])), atol=1e-12
    )
    assert twice.nnz == 2, "the caller's matrix is left as it was"


@pytest.mark.parametrize("storage", ["array", "sparse", "map"])
def test_batches_give_each_row_once(storage, tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "STREAMED_BYTES", 2**14)
    np.save(tmp_path / "X.npy", X)
    source = {
        "array": X,
        "sparse": sp.csr_matrix(X),
        "map": np.load(tmp_path / "X.npy", mmap_mode="r"),
    }[storage]
    seen = []
    for block, places, numbers in as_rows(source).batches(64, np.random.default_rng(0)):
        taken = block[places]
        np.testing.assert_array_equal(taken.toarray() if sp.issparse(taken) else taken, X[numbers])
        seen.extend(numbers)
    assert sorted(seen) == list(range(len(X)))
    assert seen != sorted(seen)


@pytest.mark.parametrize("storage", ["array", "sparse", "map"])
def test_taken_rows_are_the_rows(storage, tmp_path):
    np.save(tmp_path / "X.npy", X)
    source = {
        "array": X,
        "sparse": sp.csr_matrix(X),
        "map": np.load(tmp_path / "X.npy", mmap_mode="r"),
    }[storage]
    numbers = np.array([0, 5, 5, 1000, 2499])
    taken = as_rows(source).take(numbers)
    np.testing.assert_array_equal(taken.toarray() if sp.issparse(taken) else taken, X[numbers])
    assert as_rows(source).sample(10).shape == (10, 4)


def test_small_matrices_have_one_thread_of_blas_and_large_ones_all():
    with threadpool_limits(2):
        before = thread_count()
        with threads_for_matrices(9.9e8):
            assert thread_count() == 1
        with threads_for_matrices(1e9):
            assert thread_count() == before
        assert thread_count() == before
