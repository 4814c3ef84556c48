"""Threads: their number, and a map that shares the items of a loop.

An interruption may occur between any two lines of the calling thread. It must not leave BLAS at one
thread, or a helper waiting for ever. So threads communicate only through ``SimpleQueue``, whose
steps are atomic; those of ``Condition`` and ``Future`` are not. Helpers end with the program. Waits
that an interruption may prolong have a time limit.
"""

import os
from collections import deque
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from threadpoolctl import ThreadpoolController

# Seconds that a thread waits for another one, which may have been interrupted.
_LONGEST_WAIT = 5.0
# Smallest factorization, in flops (20 ms of a core), for which BLAS uses several threads.
_SHARED_FLOPS = 1e9

_row_threads: ContextVar[int | None] = ContextVar("row_threads", default=None)
_controller = None
_blas_lock = Lock()
_blas_limits: list[int] = []  # of all open contexts; the smallest applies
_blas_threads_before: list = []  # (library, its number of threads) while there are limits


def thread_count():
    """Return the number of threads that BLAS may use now.

    It follows OMP_NUM_THREADS, ``threadpool_limits`` and joblib's workers.
    """
    if (kept := _row_threads.get()) is not None:
        return kept
    if _blas_threads_before and not _blas_limits:  # the reset of a limit was interrupted
        _restore_blas_threads()
    allowed = [library.num_threads for library in _blas_libraries()]
    return max(1, min([_core_count(), *allowed]))


def _core_count():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _blas_libraries():
    global _controller
    if _controller is None:  # scanning the libraries takes milliseconds
        _controller = ThreadpoolController().select(user_api="blas")
    return _controller.lib_controllers


def single_threaded_blas():
    """Limit BLAS to one thread while our own threads share the rows: both at once are slow."""
    return _limited_blas(1)


@contextmanager
def at_most_threads(n_threads: int | None):
    """Limit the threads for rows, BLAS and OpenMP: −1 for all cores, None for no limit.

    BLAS has one number of threads for the whole program: the smallest number of several
    simultaneous fits applies to all.
    """
    if n_threads is None:
        yield
        return
    n_threads = _core_count() if n_threads == -1 else min(n_threads, _core_count())
    with (
        _limited_blas(n_threads),
        ThreadpoolController().limit(limits=n_threads, user_api="openmp"),
    ):
        yield


@contextmanager
def _limited_blas(n_threads):
    with _blas_lock:
        if not _blas_threads_before:
            _blas_threads_before.extend(
                [(library, library.num_threads) for library in _blas_libraries()]
            )
        for library, _ in _blas_threads_before:
            library.set_num_threads(min([n_threads, *_blas_limits]))
        _blas_limits.append(n_threads)
    try:
        yield
    finally:
        with _blas_lock:
            _blas_limits.remove(n_threads)
        _restore_blas_threads()


def _restore_blas_threads():
    """Set BLAS to the smallest current limit, or to its former number of threads."""
    with _blas_lock:
        for library, n_threads in _blas_threads_before:
            library.set_num_threads(min(_blas_limits, default=n_threads))
        if not _blas_limits:
            _blas_threads_before.clear()


def threads_for_matrices(flops: float):
    """Limit BLAS to one thread for small factorizations, where two would wait for each other."""
    return nullcontext() if flops >= _SHARED_FLOPS else single_threaded_blas()


@contextmanager
def threads_for_rows_only():
    """Use all threads for blocks of rows, and one for BLAS, which also solves tiny problems."""
    # Helpers do not see the context variable, so that functions called by a block use one thread.
    token = _row_threads.set(thread_count())
    try:
        with single_threaded_blas():
            yield
    finally:
        _row_threads.reset(token)


@contextmanager
def threads_of_sklearn():
    """Limit BLAS while compiled loops of scikit-learn run, which limit it themselves.

    Their limit lies within ours, so that simultaneous fits do not reset each other's limits.
    OpenMP's threads do not survive a fork, and the child would wait for them for ever, so it has
    one.
    """
    with single_threaded_blas():
        if not _is_fork:
            yield
            return
        with ThreadpoolController().limit(limits=1, user_api="openmp"):
            yield


# --- helpers --------------------------------------------------------------------------------------

_requests: SimpleQueue = SimpleQueue()
_n_helpers = 0
_is_fork = False


def _forget_helpers():
    global _requests, _n_helpers, _is_fork
    _requests, _n_helpers, _is_fork = SimpleQueue(), 0, True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)  # threads do not survive a fork


def _call_in_helpers(work, n_helpers):
    """Let up to ``n_helpers`` threads call ``work()`` as soon as they are free.

    They are started once: a start takes as long as a thousand rows.
    """
    global _n_helpers
    while _n_helpers < n_helpers:
        _n_helpers += 1
        Thread(target=_serve, args=(_requests,), name=f"bochner_{_n_helpers}", daemon=True).start()
    for _ in range(n_helpers):
        _requests.put(work)


def _serve(requests):
    while True:
        requests.get()()


def ordered_map(function, items):
    """Map on several threads, including the calling one, with few results in memory.

    A thread gets its next item when it has finished the last one, so a thread that starts late
    costs little. After an error or an interruption, no other item is started, and the call waits
    for the running ones.
    """
    items = list(items)
    # BLAS has one thread meanwhile, so that functions called by a block start no helpers.
    n_threads = min(thread_count(), len(items))
    if n_threads <= 1:
        yield from map(function, items)
        return
    # Helpers get the function from the queue: one that starts late must not keep arrays alive.
    left = deque((k, partial(function, item)) for k, item in enumerate(items))
    room: SimpleQueue = SimpleQueue()
    finished: SimpleQueue = SimpleQueue()
    for _ in range(2 * n_threads):
        room.put(True)

    def help_out():
        try:
            while room.get(timeout=_LONGEST_WAIT):
                k, work = left.popleft()
                outcome: tuple
                try:
                    outcome = work(), None
                except BaseException as error:
                    outcome = None, error
                finished.put((k, *outcome))
                del work, outcome  # free their memory while waiting
        except (Empty, IndexError):
            return

    outcomes, n_own, n_received = {}, 0, 0
    with single_threaded_blas():
        try:
            _call_in_helpers(help_out, n_threads - 1)
            for wanted in range(len(items)):
                while wanted not in outcomes:
                    own = _next_of(left, room) if finished.empty() else None
                    if own is not None:
                        n_own += 1
                        outcomes[own[0]] = own[1](), None
                    else:
                        k, *outcome = finished.get()
                        n_received += 1
                        outcomes[k] = outcome
                result, error = outcomes.pop(wanted)
                if error is not None:
                    raise error
                room.put(True)
                yield result
        finally:
            n_dropped = 0
            while left:
                with suppress(IndexError):
                    left.pop()
                    n_dropped += 1
            for _ in range(n_threads - 1):
                room.put(False)
            with suppress(Empty):
                for _ in range(len(items) - n_own - n_received - n_dropped):
                    finished.get(timeout=_LONGEST_WAIT)


def _next_of(left, room):
    """Return the next item with its number, None if there is no room for its result or no item."""
    try:
        room.get_nowait()
        return left.popleft()
    except (Empty, IndexError):
        return None
