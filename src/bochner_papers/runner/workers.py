"""Worker processes that run cases; each is limited to its share of the cores."""

import hashlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from bochner._terminal.progress import listening
from bochner.datasets import DatasetNotFound

from .catalog import as_json, case_key, import_experiment

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@dataclass(frozen=True)
class Task:
    """Case to run, and the name or path of the module of its experiment."""

    module: str
    case: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """Outcome of a task: a ``result``, or an ``error``.

    ``skipped`` is true if a data set or the package of a baseline was not available.
    """

    task: Task
    result: dict[str, Any] | None
    seconds: float
    error: str = ""
    trace: str = ""
    skipped: bool = False


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_tasks(
    tasks: Iterable[Task], n_jobs: int, *, download: bool = False
) -> Generator[Outcome, None, None]:
    """Yield outcomes in the order of their completion; closing the iterator ends the workers.

    A worker that dies (out of memory, a crash in compiled code) costs its case only: the case
    fails, another worker starts.
    """
    waiting = deque(tasks)
    n_jobs = min(n_jobs, len(waiting))
    context = multiprocessing.get_context("spawn")
    running: dict[Connection, tuple[Any, Task, float]] = {}
    try:
        with _environment(n_jobs, download):
            for _ in range(n_jobs):
                _assign(running, *_start_worker(context), waiting)
            while running:
                for connection in wait(list(running)):
                    assert isinstance(connection, Connection)
                    process, task, started = running.pop(connection)
                    try:
                        outcome = connection.recv()
                    except (EOFError, ConnectionResetError):
                        process.join()
                        error = _exit_message(process.exitcode)
                        outcome = Outcome(task, None, time.monotonic() - started, error)
                        connection.close()
                        if waiting:
                            process, connection = _start_worker(context)
                    if waiting:
                        _assign(running, process, connection, waiting)
                    else:
                        connection.close()
                    yield outcome
    finally:
        for connection, (process, _, _) in running.items():
            process.terminate()
            connection.close()


def _start_worker(context: Any) -> tuple[Any, Connection]:
    """Start a worker, and return it with the connection to it."""
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs,), daemon=True)
    process.start()
    theirs.close()  # so that the worker's death is seen as the end of the stream
    return process, ours


def _assign(running: dict, process: Any, connection: Connection, waiting: deque[Task]) -> None:
    task = waiting.popleft()
    running[connection] = (process, task, time.monotonic())
    with suppress(OSError):  # a worker that is already dead: reading from it will say so
        connection.send(task)


def _exit_message(exit_code: int | None) -> str:
    """Return a sentence on why a worker ended."""
    cause = f"exit code {exit_code}"
    if exit_code and exit_code < 0:
        cause = f"signal {signal.Signals(-exit_code).name}"
    return (
        f"the worker process died ({cause}); with SIGKILL, memory most likely ran out: "
        "try fewer --jobs"
    )


@contextmanager
def _environment(n_jobs: int, download: bool) -> Iterator[None]:
    """Set the variables that workers inherit: threads, and permission to use the network."""
    share = str(max(1, available_cores() // max(n_jobs, 1)))
    wanted = dict.fromkeys(_THREAD_VARIABLES, share) | {"BOCHNER_OFFLINE": "" if download else "1"}
    before = {name: os.environ[name] for name in wanted if name in os.environ}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name in wanted:
            os.environ.pop(name, None)
        os.environ.update(before)


def _work(connection: Connection) -> None:
    """Run cases and send their outcomes until the other end closes."""
    # Ctrl-C reaches all processes of the terminal; the parent ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    with suppress(EOFError, OSError), listening(lambda _: False):  # the only bar is the parent's
        while True:
            connection.send(_outcome(connection.recv()))


def _die_with_parent() -> None:
    """Exit when the parent dies, so that orphaned workers do not run on."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _outcome(task: Task) -> Outcome:
    started = time.perf_counter()
    try:
        module = import_experiment(task.module)
        result = as_json(module.run(dict(task.case), case_rng(task)))
        if not isinstance(result, dict):
            raise TypeError(f"run must return a dictionary, got {type(result).__name__}")
        return Outcome(task, result, time.perf_counter() - started)
    except Exception as error:
        seconds, message = time.perf_counter() - started, f"{type(error).__name__}: {error}"
        skipped = isinstance(error, DatasetNotFound | ModuleNotFoundError)
        return Outcome(task, None, seconds, message, traceback.format_exc(), skipped)


def case_rng(task: Task) -> np.random.Generator:
    """Return a generator that depends only on the experiment and the case."""
    is_path = task.module.endswith(".py")
    name = Path(task.module).stem if is_path else task.module.rpartition(".")[2]
    digest = hashlib.sha256(f"{name} {case_key(task.case)}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))
