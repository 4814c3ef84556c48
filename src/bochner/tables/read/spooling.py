"""Frames whose columns are in temporary files, for tables that are larger than memory.

Numbers and codes of categories are memory maps, texts are arrays of Arrow in mapped files. A file
is deleted with its column. Only one column at a time is in memory.
"""

import tempfile
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...data import mapped_bytes, release_scratches, scratch

# Cells of a frame that stays in memory: 256 MiB of numbers.
HELD_CELLS = 2**25


def is_large(n_rows: int, n_columns: int) -> bool:
    """Return True if a frame of this shape is stored in files."""
    return n_rows * n_columns > HELD_CELLS


def frame_of(columns: Iterable[tuple[str, Any]], index: Any, n_columns: int) -> Any:
    """Build a frame column by column; columns of a large frame are stored in files."""
    import pandas

    large = is_large(len(index), n_columns)
    kept = {}
    for name, column in columns:
        kept[name] = _stored(column) if large else column
        if large:
            release_scratches()
    frame = pandas.DataFrame(kept, copy=False)
    frame.index = index  # set_axis of pandas 2 copies all columns into memory
    return frame


def rows_of(frame: Any, numbers: np.ndarray) -> Any:
    """Return ``frame.iloc[numbers]``, stored in files if it is large."""
    if not is_large(len(numbers), frame.shape[1]):
        return frame.iloc[numbers]
    # Without index, which is built once for the frame.
    columns = ((name, frame[name].reset_index(drop=True).iloc[numbers]) for name in frame.columns)
    selected = frame_of(columns, frame.index.take(numbers), frame.shape[1])
    selected.attrs |= frame.attrs
    return selected


def _stored(column):
    """Return a column stored in a file, or in memory if files cannot hold its type."""
    import pandas

    column = pandas.Series(column, copy=False)
    buffer = column_buffer(column.dtype, len(column), True)
    buffer.append(column)
    return buffer.column()


def column_buffer(kind: Any, n_rows: int, large: bool) -> Any:
    """Return a buffer for a column of this type: ``append`` pieces, then call ``column``."""
    import pandas

    if isinstance(kind, np.dtype) and kind.kind in "iufbMm":
        return _Numbers(kind, n_rows, large)
    if large and isinstance(kind, pandas.CategoricalDtype):
        return _Levels(kind, n_rows)
    if large and isinstance(kind, pandas.StringDtype) and kind.storage == "pyarrow":
        return _Texts(kind)
    return _Pieces()


class _Numbers:
    def __init__(self, kind, n_rows, large):
        self.values, self.n_filled = scratch((n_rows,), kind, 0 if large and n_rows else np.inf), 0

    def append(self, column):
        self.values[self.n_filled : self.n_filled + len(column)] = column.to_numpy()
        self.n_filled += len(column)

    def column(self):
        return self.values.view(np.ndarray)  # pandas would pass on the memory map itself


class _Levels:
    def __init__(self, kind, n_rows):
        self.kind = kind
        sizes = (np.int8, np.int16, np.int32, np.int64)
        smallest = next(one for one in sizes if len(kind.categories) <= np.iinfo(one).max)
        self.codes = _Numbers(np.dtype(smallest), n_rows, True)

    def append(self, column):
        self.codes.append(column.cat.codes)

    def column(self):
        import pandas

        return pandas.Categorical.from_codes(self.codes.column(), dtype=self.kind, validate=False)


class _Texts:
    """Texts in the format of Arrow."""

    def __init__(self, kind):
        import pyarrow

        self.kind, self.arrow = kind, pyarrow
        self.type = self.arrow.large_string()
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by column()
        self.writer = self.arrow.ipc.new_file(self.file, self.arrow.schema([("texts", self.type)]))

    def append(self, column):
        texts = self.arrow.array(column.array, type=self.type, from_pandas=True)
        for part in texts.chunks if isinstance(texts, self.arrow.ChunkedArray) else [texts]:
            self.writer.write_batch(self.arrow.record_batch([part], names=["texts"]))

    def column(self):
        import pandas

        self.writer.close()
        with self.file:
            content = self.arrow.py_buffer(mapped_bytes(self.file))
        texts = self.arrow.ipc.open_file(content).read_all().column("texts")
        return pandas.arrays.ArrowStringArray(texts, dtype=self.kind)


class _Pieces:
    """Columns in memory: objects, nullable numbers, times with a zone."""

    def __init__(self):
        self.pieces = []

    def append(self, column):
        self.pieces.append(column)

    def column(self):
        import pandas

        whole = pandas.concat(self.pieces, ignore_index=True)
        self.pieces.clear()
        return whole
