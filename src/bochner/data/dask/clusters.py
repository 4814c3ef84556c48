"""Connection to a Dask cluster: compute, persist, free memory, and a lost scheduler."""

import os
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

# Share of the free memory that persisted rows may use.
_PERSISTED_SHARE = 0.5

# Signals are sent with the tasks that need them, and Dask would warn of the size of the graph.
_LARGE_GRAPHS = {"distributed.admin.large-graph-warning-threshold": "1 TB"}


def computed(*collections: Any) -> tuple:
    """Call ``dask.compute``; raise ConnectionError if the scheduler is lost."""
    import dask

    with with_the_scheduler(), _large_graphs():
        return dask.compute(*collections)


def persisted(*collections: Any) -> tuple:
    """Call ``dask.persist``, see ``computed``."""
    import dask

    with with_the_scheduler(), _large_graphs():
        return dask.persist(*collections)


def sent(arrays: list[np.ndarray]) -> list:
    """Send arrays of this process to the workers, and return them as delayed objects.

    If a worker dies, the scheduler sends its arrays to another one.
    """
    import dask

    return list(persisted(*(dask.delayed(array, pure=False, traverse=False) for array in arrays)))


def _large_graphs() -> Any:
    """Return settings of distributed, which must have been imported to keep its other defaults."""
    import dask

    return nullcontext() if _client() is None else dask.config.set(_LARGE_GRAPHS)


@contextmanager
def with_the_scheduler() -> Iterator[None]:
    """Raise ConnectionError if the scheduler is lost inside the block."""
    client = _client()
    address = None if client is None else client.scheduler.address
    try:
        yield
    except (CancelledError, OSError) as error:
        if client is None or client.status == "running":  # an error of a task, or cancelled
            raise
        raise ConnectionError(
            f"The connection to Dask's scheduler at {address} was lost, and with it the results "
            "on the cluster; the model is as it was before this call. Start a scheduler, connect "
            "a new distributed.Client, create X and y again and repeat the call, or give "
            "X.compute() if it fits into memory."
        ) from error


def has_room(n_bytes: float) -> bool:
    """Return True if the cluster, or else this machine, has room for so many more bytes."""
    client = _client()
    if client is None:
        return n_bytes <= _PERSISTED_SHARE / 2 * _local_memory()
    with with_the_scheduler():
        # The scheduler lists some workers only.
        listed = client.scheduler_info()["workers"].values()
        room = [
            max((w["memory_limit"] or np.inf) - w["metrics"].get("memory", 0), 0) for w in listed
        ]
        return bool(room) and n_bytes <= _PERSISTED_SHARE * np.mean(room) * len(client.nthreads())


def worker_threads() -> int:
    """Return the number of simultaneous tasks of the cluster, or else of this machine."""
    client = _client()
    if client is None:
        return os.cpu_count() or 1
    with with_the_scheduler():
        return max(1, sum(client.nthreads().values()))


def is_persisted(X: Any) -> bool:
    """Return True if workers hold all partitions of an array, so that a pass reads no storage."""
    if _client() is None:
        return False
    from distributed.client import futures_of

    return len(futures_of(X)) >= X.npartitions


def _client():
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


def _local_memory():
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # unknown on this system
        return 0


def warn_of_rereading(n_bytes: float) -> None:
    """Warn that each pass reads the rows again."""
    warnings.warn(
        f"The rows on the cluster, {n_bytes / 1e9:.3g} GB, are read several times and there is "
        "no room to keep them: they are computed again for every pass. Add workers, or write the "
        "rows to storage that is quick to read.",
        stacklevel=2,
    )
