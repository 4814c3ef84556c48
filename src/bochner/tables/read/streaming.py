"""``open_rows``: numbers of a table file, copied once into a memory map, to use as X."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from ..._terminal.progress import track
from ...data import LocalRows, as_rows, assert_finite, release_scratches, scratch
from ..columns.names import column_named
from .dialects import TextOptions
from .pieces import Table, rows_at_once
from .reading import checked_source, open_table, rephrased_errors
from .sources import SUFFIXES, Source, suffix_of

# Bytes of numbers that stay in memory.
_HELD_BYTES = 2**25


class TableRows(LocalRows):
    """Rows of numbers of a table: an array, or a memory map in a temporary file.

    ``names`` are those of the columns; ``notes`` lists decisions about the file, e.g. lines skipped
    before its header.
    """

    def __init__(
        self, numbers: np.ndarray, names: list[str], notes: list[str], y: np.ndarray | None
    ):
        super().__init__(numbers)
        self.names, self.notes, self._y = names, notes, y

    @property
    def y(self) -> np.ndarray:
        """The target column, in memory."""
        if self._y is None:
            raise ValueError("No target was named; write open_rows(path, target='its column').")
        return self._y

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.source, dtype=dtype, copy=copy)


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

    ``load_table`` reads the same files in the same way. A ``.npy`` file is mapped into memory as it
    is. Of other files, numbers of more than 32 MiB are copied into a temporary file, which is
    mapped into memory and deleted with the rows. It needs 8 bytes per number (4 if all columns are
    float32); ``TMPDIR`` names its folder. Every estimator accepts these rows, and
    ``np.asarray(rows)`` is the mapped array.

    ``rows.names`` are the columns of the features. ``rows.notes`` lists decisions about a text
    file, e.g. lines skipped before its header.

    Parameters
    ----------
    path : str or path
        File to read; the ending of its name decides the format.
    columns : list of str, default None
        Columns of numbers, in the order of the features; None selects all but the target.
    target : str, default None
        Column that is not a feature: ``rows.y``, an array in memory.
    sep : str, default None
        Separator of the fields of a text file; None detects it, as for all options below.
    decimal : str, default None
        Decimal mark of a text file, "." or ",".
    encoding : str, default None
        Encoding of a text file, e.g. "latin-1".
    skip_rows : int, default None
        Number of lines to skip at the beginning of a text file.
    header : bool, default None
        True if the first line of a text file holds the names of the columns, False if it holds
        values.

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
        message = f"path must name a file, got {path!r}. Write e.g. open_rows('table.parquet')."
        raise TypeError(message)
    if isinstance(columns, str):
        raise TypeError(
            f"columns must be a list of names, got {columns!r}. Write columns=[{columns!r}]."
        )
    path = Path(path)
    is_array = path.suffix.lower() == ".npy"
    if not is_array and suffix_of(path) not in SUFFIXES:
        endings = ", ".join(SUFFIXES)
        raise ValueError(f"open_rows reads {endings} and .npy files, got {fspath(path)!r}.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {fspath(path)!r}.")
    if is_array:
        if columns is not None or target is not None:
            raise ValueError(
                "A .npy file has no column names: leave out columns and target, and pass y "
                "separately."
            )
        return as_rows(np.load(path, mmap_mode="r"))
    options = TextOptions(sep, decimal, encoding, skip_rows, header)
    source = checked_source(path, options)
    with rephrased_errors(source):
        table = open_table(source, options)
    target = None if target is None else column_named(target, table.types)
    if columns is None:
        names = [name for name in table.types if name != target]
    else:
        names = [column_named(name, table.types) for name in columns]
    texts = [name for name in names if table.types[name].kind not in "iufb"]
    if texts:
        raise ValueError(
            f"Column {texts[0]!r} of {path.name} does not hold numbers, which bochner needs here. "
            "Leave it out by columns=[...], or encode it first."
        )
    if not names:
        raise ValueError(f"{path.name} has no column of features left. Name some by columns=[...].")
    numbers, y = _copied(source, table, names, target, path.name)
    return TableRows(numbers, names, list(table.attrs.get("notes", ())), y)


def _copied(
    source: Source, table: Table, names: list[str], target: str | None, file: str
) -> tuple[np.ndarray, np.ndarray | None]:
    """Copy columns of numbers into an array or a memory map, and the target into an array."""
    dtype = np.float32 if all(table.types[name] == np.float32 for name in names) else np.float64
    numbers = scratch((table.n_rows, len(names)), dtype, _HELD_BYTES)
    targets, start = [], 0
    pieces = _pieces(source, table.selected([*names, *([] if target is None else [target])]))
    n_pieces = -(-table.n_rows // rows_at_once(len(table.types)))
    # Closed even if a traceback keeps a reference to it: it has the file and a bar.
    with closing(track(pieces, f"copying {file}", n_pieces)) as shown:
        for frame in shown:
            part = numbers[start : start + len(frame)]
            for j, name in enumerate(names):
                part[:, j] = frame[name].to_numpy(dtype)
            assert_finite(part, names=names, first_row=start, place=f" of {file}")
            if target is not None:
                targets.append(_vector(frame[target]))
            start += len(frame)
            release_scratches()
    return numbers, np.concatenate(targets) if targets else None


def _pieces(source: Source, table: Table) -> Iterator[Any]:
    with rephrased_errors(source):
        yield from table.pieces()


def _vector(column: Any) -> np.ndarray:
    """Return a column as an array, with None for missing texts."""
    values = column.to_numpy()
    if values.dtype != object:
        return values
    return column.astype(object).where(column.notna(), None).to_numpy()
