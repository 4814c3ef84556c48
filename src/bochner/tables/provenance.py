"""Where a model comes from: the version, the day, and a fingerprint of the table."""

import datetime
import hashlib
from typing import Any

from .reading import needed


def provenance(frame: Any) -> dict[str, Any]:
    """Facts by which a page can be traced back."""
    import bochner

    made = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return {"version": bochner.__version__, "made": made, "fingerprint": fingerprint(frame), "command": None}


def fingerprint(frame: Any) -> str:
    """SHA-256 over the names and the values of all columns, in their order: another table, or a changed one, has another.

    >>> import pandas as pd
    >>> fingerprint(pd.DataFrame({"a": [1, 2]})) == fingerprint(pd.DataFrame({"a": [1, 2]}))
    True
    >>> fingerprint(pd.DataFrame({"a": [1, 2]})) == fingerprint(pd.DataFrame({"a": [2, 1]}))
    False
    """
    hashed, of_values = hashlib.sha256(), needed("pandas").util.hash_array
    for name in frame.columns:
        hashed.update(repr(str(name)).encode())
        values = frame[name].to_numpy()
        if values.dtype.kind not in "iufbMm":  # texts, and whatever else objects may be
            values = frame[name].astype(str).to_numpy(dtype=object)
        hashed.update(of_values(values).tobytes())
    return hashed.hexdigest()
