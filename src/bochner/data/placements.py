"""The same rows in memory, in a memory map and on Dask, for conformance checks."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from .rows import as_rows


def placements(X: np.ndarray) -> Iterator[tuple[str, Any]]:
    """Yield a name and X in short blocks, in a memory map, and on Dask if it is installed.

    Each is valid until the next one. Dask computes in the current thread.
    """
    yield "short blocks", as_rows(X, block_size=17)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, X)
        yield "a memory map", np.load(path, mmap_mode="r")
    try:
        import dask
        import dask.array as da
    except ImportError:
        return
    with dask.config.set(scheduler="synchronous"):
        yield "Dask", da.from_array(X, chunks=(-(-len(X) // 2), X.shape[1]))
