"""Where a model comes from: the version, the day, and a fingerprint of the table; and what it took."""

import datetime
import hashlib
import re
import sys
import time
from pathlib import Path
from typing import Any

from sklearn.utils import gen_batches

from ..data import release_scratches
from .read.reading import needed

_ROWS_AT_ONCE = 2**20


def provenance(frame: Any) -> dict[str, Any]:
    """Facts by which a page can be traced back."""
    import bochner

    made = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return {
        "version": bochner.__version__,
        "made": made,
        "fingerprint": fingerprint(frame),
        "command": None,
    }


def fingerprint(frame: Any) -> str:
    """SHA-256 over the names and the values of all columns, in their order: another table, or a
    changed one, has another.

    >>> import pandas as pd
    >>> fingerprint(pd.DataFrame({"a": [1, 2]})) == fingerprint(pd.DataFrame({"a": [1, 2]}))
    True
    >>> fingerprint(pd.DataFrame({"a": [1, 2]})) == fingerprint(pd.DataFrame({"a": [2, 1]}))
    False
    """
    hashed, of_values = hashlib.sha256(), needed("pandas").util.hash_array
    for name in frame.columns:
        hashed.update(repr(str(name)).encode())
        for rows in gen_batches(max(len(frame), 1), _ROWS_AT_ONCE):
            column = frame[name].iloc[rows]
            values = column.to_numpy()
            if values.dtype.kind not in "iufbMm":  # texts, and whatever else objects may be
                values = column.astype(str).to_numpy(dtype=object)
            hashed.update(of_values(values).tobytes())
        release_scratches()
    return hashed.hexdigest()


def cost_since(started: float) -> dict[str, Any]:
    """Seconds since that moment of ``time.perf_counter``, and the most memory that this process has
    had, in bytes, None where it is not told.
    """
    return {"seconds": round(time.perf_counter() - started, 2), "peak_bytes": peak_bytes()}


def peak_bytes() -> int | None:
    """The most memory that this process has had resident."""
    status = Path("/proc/self/status")
    if (
        status.exists()
    ):  # what the resource module says is inherited from the process that started this one
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        return 1024 * int(found[1]) if found else None
    try:
        import resource
    except ImportError:  # Windows
        return None
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else 1024 * used
