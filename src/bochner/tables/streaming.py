"""Rows of files in pieces, in place of X: the tables that ``load_table`` reads, without loading them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from .._compute import ColumnFile, FileRows, ParquetColumns, as_rows
from .dialects import TextOptions
from .names import column_named
from .pieces import Table
from .reading import checked_source, in_sentences, table_behind
from .sources import COMPRESSIONS, PARQUET, SUFFIXES, suffix_of


def open_rows(
    path: str | PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    target: str | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    skip_rows: int | None = None,
    header: bool | None = None,
) -> Any:
    r"""Open the rows of a file for ``fit``, ``predict`` and ``transform`` in place of X.

    The file is read in pieces and is never in memory as a whole.  It may be any file that
    ``load_table`` reads, and is read in the same way, or a ``.npy`` file, which is mapped into memory.
    Parquet is decoded and text is parsed once per pass.  Descent, which needs rows in random order,
    and GBRFF, which passes over them many times, copy the numbers into a temporary file first.
    Methods that need all rows at once raise an error, except for memory maps.

    ``rows.notes`` lists decisions about a text file, e.g. lines skipped before its header.

    Parameters
    ----------
    path : str or path
        File to read; the ending of its name says what it holds.
    columns : list of str, default None
        Columns of numbers, in the order of the features; None selects all but the target.
    target : str, default None
        Column that is not a feature: ``rows.y``, which is read into memory when first used.
    sep : str, default None
        Separator of the fields of a text file; None finds it, as for all options below.
    decimal : str, default None
        Decimal mark of a text file, "." or ",".
    encoding : str, default None
        Encoding of a text file, e.g. "latin-1".
    skip_rows : int, default None
        Number of lines to skip at the beginning of a text file.
    header : bool, default None
        True if the first line of a text file holds the names of the columns, False if it holds values.

    Examples
    --------
    >>> import tempfile
    >>> from bochner import SpectralRidge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "table.csv")
    ...     _ = file.write_text("size;age;price\n1,5;2;3\n2,5;1;4\n3,5;5;8\n")
    ...     rows = open_rows(file, target="price")
    ...     model = SpectralRidge(random_state=0).fit(rows, rows.y)
    ...     model.predict(rows).shape
    (3,)
    """
    if not isinstance(path, str | PathLike):
        raise TypeError(f"path must name a file, got {path!r}. Write e.g. open_rows('table.parquet').")
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got {columns!r}. Write columns=[{columns!r}].")
    path = Path(path)
    is_array = path.suffix.lower() == ".npy"
    if not is_array and suffix_of(path) not in SUFFIXES:
        raise ValueError(f"open_rows reads {', '.join(SUFFIXES)} and .npy files, got {fspath(path)!r}.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {fspath(path)!r}.")
    if is_array:
        if columns is not None or target is not None:
            raise ValueError("A .npy file has no column names: leave out columns and target, and pass y separately.")
        return as_rows(np.load(path, mmap_mode="r"))
    options = TextOptions(sep, decimal, encoding, skip_rows, header)
    is_parquet = suffix_of(path) in PARQUET and path.suffix.lower() not in COMPRESSIONS
    file = ParquetColumns(path) if is_parquet and options == TextOptions() else _TableColumns(path, options)
    if columns is not None:
        columns = [column_named(name, file.numeric) for name in columns]
    return FileRows(file, columns, None if target is None else column_named(target, file.numeric))


class _TableColumns(ColumnFile):
    """Columns of a table as ``load_table`` reads them; a first pass finds the types of all columns."""

    def __init__(self, path: Path, options: TextOptions):
        self.path, self._source = path, checked_source(path, options)
        with in_sentences(self._source):
            self._table: Table = table_behind(self._source, options)
        self.notes = self._table.attrs.get("notes", ())
        self.numeric = {name: kind.kind in "iufb" for name, kind in self._table.types.items()}

    def dtype_of(self, names):
        return np.float64

    def n_rows(self):
        return self._table.n_rows

    def pieces(self, names, size):
        table = self._table
        kinds = {name: table.types[name] for name in names}
        declared = {name: kind for name, kind in table.declared.items() if name in kinds}
        selected = replace(table, read=partial(table.read, columns=list(kinds)), declared=declared, types=kinds)
        start = 0
        with in_sentences(self._source):
            for frame in selected.pieces():
                for first in range(0, len(frame), size):
                    part = frame.iloc[first : first + size]
                    yield start, {name: _vector(part[name]) for name in kinds}
                    start += len(part)


def _vector(column):
    """Return a column as an array, with None for missing texts."""
    if column.dtype.kind in "iufbMm":
        return column.to_numpy()
    return column.astype(object).where(column.notna(), None).to_numpy()
