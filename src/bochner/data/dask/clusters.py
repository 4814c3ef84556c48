"""The cluster behind Dask's collections: what is asked of it, the room it has, and what is said
when it is gone.
"""

import os
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

# Data that is passed over more than once may take this share of the memory that is left.
_HELD_SHARE = 0.5


# One number per row travels with the tasks that need it.  Dask would warn of the size.
_LARGE_GRAPHS = {"distributed.admin.large-graph-warning-threshold": "1 TB"}


def computed(*collections: Any) -> tuple:
    """``dask.compute``; a scheduler that is lost meanwhile is told in a sentence."""
    import dask

    with with_the_scheduler(), _large_graphs():
        return dask.compute(*collections)


def persisted(*collections: Any) -> tuple:
    """``dask.persist``, see ``computed``."""
    import dask

    with with_the_scheduler(), _large_graphs():
        return dask.persist(*collections)


def sent(arrays: list[np.ndarray]) -> list:
    """Return arrays of this process as delayed objects that workers hold.

    If a worker dies, the scheduler sends its arrays to another one.
    """
    import dask

    return list(persisted(*(dask.delayed(array, pure=False, traverse=False) for array in arrays)))


def _large_graphs() -> Any:
    """Settings of distributed, which must have been imported before: its own defaults would be lost
    otherwise.
    """
    import dask

    return nullcontext() if _client() is None else dask.config.set(_LARGE_GRAPHS)


@contextmanager
def with_the_scheduler() -> Iterator[None]:
    """Work that needs the scheduler to the end: tasks that were cancelled because it is gone are a
    lost connection.
    """
    client = _client()
    address = None if client is None else client.scheduler.address
    try:
        yield
    except (CancelledError, OSError) as error:
        if (
            client is None or client.status == "running"
        ):  # cancelled by somebody, or an error of a task
            raise
        raise ConnectionError(
            f"The connection to Dask's scheduler at {address} was lost, and with it what the "
            "cluster had computed, while the model "
            "is as it was before this call: start a scheduler, connect a new distributed.Client, "
            "make X and y again and repeat the call, "
            "or give X.compute() where it fits into memory."
        ) from error


def has_room(n_bytes: float) -> bool:
    """Whether the cluster, or without one this machine, can hold so many bytes more."""
    client = _client()
    if client is None:
        return n_bytes <= _HELD_SHARE / 2 * _memory_here()
    with with_the_scheduler():
        # Some workers stand for all.
        listed = client.scheduler_info()["workers"].values()
        room = [
            max((w["memory_limit"] or np.inf) - w["metrics"].get("memory", 0), 0) for w in listed
        ]
        return bool(room) and n_bytes <= _HELD_SHARE * np.mean(room) * len(client.nthreads())


def worker_threads() -> int:
    """Tasks that run at the same time on the cluster, or without one here."""
    client = _client()
    if client is None:
        return os.cpu_count() or 1
    with with_the_scheduler():
        return max(1, sum(client.nthreads().values()))


def is_persisted(X: Any) -> bool:
    """Whether workers hold what the partitions of an array are made of, so that a pass reads no
    storage.
    """
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


def _memory_here():
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # a system that does not tell
        return 0


def warn_of_rereading(n_bytes: float) -> None:
    warnings.warn(
        f"The rows on the cluster, {n_bytes / 1e9:.3g} GB, are passed over several times and there "
        "is no room to hold them: they are "
        "computed again for every pass. Add workers, or write them to storage that is quick to "
        "read.",
        stacklevel=2,
    )
