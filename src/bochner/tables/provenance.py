"""Origin and cost of a model: version, date, fingerprint of the table, time and memory."""

import datetime
import hashlib
import re
import sys
import time
from pathlib import Path
from typing import Any

from sklearn.utils import gen_batches

from ..data import release_scratches
from .errors import needed
from .facts import Cost, Provenance

_ROWS_AT_ONCE = 2**20


def provenance(frame: Any) -> Provenance:
    """Return the version, the date and the fingerprint of the table."""
    import bochner

    made = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Provenance(bochner.__version__, made, fingerprint(frame), None)


def fingerprint(frame: Any) -> str:
    """Return the SHA-256 of the names and values of all columns, in their order.

    >>> import pandas as pd
    >>> fingerprint(pd.DataFrame({"a": [1, 2]})) == fingerprint(pd.DataFrame({"a": [1, 2]}))
    True
    >>> fingerprint(pd.DataFrame({"a": [1, 2]})) == fingerprint(pd.DataFrame({"a": [2, 1]}))
    False
    """
    digest, hash_array = hashlib.sha256(), needed("pandas").util.hash_array
    for name in frame.columns:
        digest.update(repr(str(name)).encode())
        for rows in gen_batches(max(len(frame), 1), _ROWS_AT_ONCE):
            column = frame[name].iloc[rows]
            values = column.to_numpy()
            if values.dtype.kind not in "iufbMm":  # texts and other objects
                values = column.astype(str).to_numpy(dtype=object)
            digest.update(hash_array(values).tobytes())
        release_scratches()
    return digest.hexdigest()


def cost_since(started: float) -> Cost:
    """Return the seconds since ``started`` (of ``time.perf_counter``) and the peak memory."""
    return Cost(round(time.perf_counter() - started, 2), peak_bytes())


def peak_bytes() -> int | None:
    """Return the peak resident memory of this process, None if the system does not report it."""
    status = Path("/proc/self/status")
    if status.exists():  # the resource module would include the parent process
        match = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        return 1024 * int(match[1]) if match else None
    try:
        import resource
    except ImportError:  # Windows
        return None
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else 1024 * used
