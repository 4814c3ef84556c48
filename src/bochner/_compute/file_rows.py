"""Rows of a file that is read in pieces, from its beginning to its end, once a pass: what is larger than memory needs no cluster."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .dask_rows import as_rows
from .maps import release_pages, scratch
from .rows import STREAMED_BYTES, LocalRows, Rows, add_parts

_ENDINGS = {".parquet": "Parquet", ".pq": "Parquet", ".csv": "CSV", ".tsv": "CSV"}


def open_rows(path: str | PathLike[str], columns: Sequence[str] | None = None, *, target: str | None = None) -> Any:
    r"""The rows of a file, for ``fit``, ``predict`` and ``transform`` in place of X; read in pieces, never whole in memory.

    A Parquet file (``.parquet``, ``.pq``) is read by pieces of its row groups and decoded once a pass, a text file (``.csv``, ``.tsv``,
    with a header) is parsed once a pass, and a ``.npy`` file is mapped into memory.  Text and Parquet need pyarrow.  Descent, which meets
    rows in random order, and GBRFF, which passes over them many times a round, copy their numbers into a temporary file first.  Methods that want all rows at once refuse such rows; those
    of a memory map they take.

    Parameters
    ----------
    path : str or path
        The file; its ending says of which kind it is.
    columns : list of str, default None
        Columns of numbers, in the order of the features; None takes all but the target.
    target : str, default None
        A column that is no feature: it is read into memory when ``rows.y`` is first asked for.

    Examples
    --------
    >>> import tempfile
    >>> from bochner import SpectralRidge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "table.csv")
    ...     _ = file.write_text("size,age,price\n1,2,3\n2,1,4\n3,5,8\n")
    ...     rows = open_rows(file, target="price")
    ...     model = SpectralRidge(random_state=0).fit(rows, rows.y)
    ...     model.predict(rows).shape
    (3,)
    """
    if not isinstance(path, str | PathLike):
        raise TypeError(f"path must name a file, got {path!r}. Write e.g. open_rows('table.parquet').")
    ending = Path(path).suffix.lower()
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got {columns!r}. Write columns=[{columns!r}].")
    if ending == ".npy":
        if columns is not None or target is not None:
            raise ValueError("A .npy file has no names of columns: leave out columns and target, and give y by itself.")
        return as_rows(np.load(path, mmap_mode="r"))
    if ending not in _ENDINGS:
        raise ValueError(f"open_rows reads {', '.join(_ENDINGS)} and .npy files, got {fspath(path)!r}.")
    kind = _ParquetFile if _ENDINGS[ending] == "Parquet" else _TextFile
    return FileRows(kind(Path(path)), columns, target)


class FileRows(Rows):
    """Named columns of a file as rows of numbers; missing and infinite ones are refused as they are met."""

    is_local = False  # a look at some rows costs a pass
    block_size: int | str = "auto"

    def __init__(self, file: "_ColumnFile", columns: Sequence[str] | None, target: str | None):
        self.file, self.target = file, target
        asked = [*(columns or ()), *([] if target is None else [target])]
        strangers = [name for name in asked if name not in file.numeric]
        if strangers:
            raise ValueError(
                f"{file.path.name} has no column {strangers[0]!r}; its columns are {list(file.numeric)[:20]}."
            )
        self.names = [name for name in file.numeric if name != target] if columns is None else list(columns)
        texts = [name for name in self.names if not file.numeric[name]]
        if texts:
            raise ValueError(
                f"Column {texts[0]!r} of {file.path.name} holds no numbers; bochner needs real numbers. Leave it out by columns=[...], or "
                "encode it first."
            )
        if not self.names:
            raise ValueError(f"{file.path.name} has no column of features left. Name some by columns=[...].")
        self._dtype = file.dtype_of(self.names)
        self._n_rows = file.n_rows(self.names)
        if not self._n_rows:
            raise ValueError(f"{file.path.name} has no rows; give at least one.")

    @property
    def shape(self) -> tuple[int, int]:
        return self._n_rows, len(self.names)

    @property
    def dtype(self) -> Any:
        return self._dtype

    @cached_property
    def y(self) -> np.ndarray:
        """The target column, in memory."""
        if self.target is None:
            raise ValueError("No target was named; write open_rows(path, target='its column').")
        return np.concatenate([part[self.target] for _, part in self.file.pieces([self.target], 2**20)])

    @property
    def source(self) -> NoReturn:
        """Nothing that anyone else could read."""
        raise self._refusal()

    def __array__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        raise self._refusal()

    def _refusal(self):
        # The name of Dask is for those who look for rows that are elsewhere.
        return TypeError(
            f"{self.file.path.name} is read in pieces, like a Dask array, but all of its rows are needed at once here. Load them, e.g. with "
            "bochner.load_table, or use SpectralFeatures, SpectralRidge or SpectralLogistic."
        )

    def sum(self, block, *signals):
        total = None
        for rows, piece in self._pieces():
            total = add_parts(total, piece.sum(block, *(signal[rows] for signal in signals)))
        return total

    def map(self, block, n_columns=None, *, dtype=None, out=None, signals=()):
        shape = (len(self),) if n_columns is None else (len(self), n_columns)
        if out is None:
            out = np.empty(shape, self.dtype if dtype is None else dtype)
        elif out.shape != shape:
            raise ValueError(f"out has shape {out.shape}, but the result for X needs {shape}.")
        for rows, piece in self._pieces():
            piece.map(block, n_columns, out=out[rows], signals=[signal[rows] for signal in signals])
        return out

    def take(self, numbers):
        taken = np.empty((len(numbers), self.n_features), self.dtype)
        for rows, piece in self._pieces():
            first, last = np.searchsorted(numbers, [rows.start, rows.stop])
            taken[first:last] = piece.source[numbers[first:last] - rows.start]
            if last == len(numbers):
                break
        return taken

    def batches(self, size, rng, kept=None):
        return self._copy.batches(size, rng, kept)

    def held(self, signal):
        return signal

    def epochs(self, plan, apart, *signals):
        return self._copy.epochs(plan, apart, *signals)

    @cached_property
    def _copy(self) -> LocalRows:
        """The numbers in a temporary file, in memory where they are few: for those who meet rows in random order, many times."""
        numbers = scratch(self.shape, self.dtype, STREAMED_BYTES)
        for rows, piece in self._pieces():
            numbers[rows] = piece.source
            release_pages(numbers, rows)
        return LocalRows(numbers)

    def at_hand(self):
        return self._copy

    def assert_all_finite(self):
        for _ in self._pieces():
            pass

    def _pieces(self) -> Iterator[tuple[slice, LocalRows]]:
        """(numbers of the rows, the rows) of each piece of a pass, checked for finite numbers."""
        size = max(256, STREAMED_BYTES // (np.dtype(self.dtype).itemsize * len(self.names)))
        n_read = 0
        for start, part in self.file.pieces(self.names, size):
            columns = [part[name] for name in self.names]
            block = np.empty((len(columns[0]), len(columns)), self.dtype)
            for j, column in enumerate(columns):
                block[:, j] = column
            piece = LocalRows(block, self.block_size)
            piece.assert_finite(names=self.names, place=f" from row {start} of {self.file.path.name} on")
            n_read += len(block)
            yield slice(start, start + len(block)), piece
        if n_read != len(self):
            raise ValueError(
                f"{self.file.path.name} had {len(self)} rows and now has {n_read}: it was changed meanwhile."
            )


class _ColumnFile(ABC):
    """A file of named columns; ``numeric`` says of each whether it holds numbers."""

    numeric: dict[str, bool]

    def __init__(self, path: Path):
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise ImportError(
                f"Reading {path.name} in pieces needs pyarrow, which is not installed: pip install 'bochner[table]'."
            ) from None
        if not path.is_file():
            raise FileNotFoundError(f"There is no file {fspath(path)!r}.")
        self.path = path
        self.schema = self._read_schema()
        self.numeric = {field.name: _is_numeric(field.type) for field in self.schema}

    def dtype_of(self, names: Sequence[str]) -> Any:
        """float32 where all columns are."""
        single = all(str(self.schema.field(name).type) == "float" for name in names)
        return np.float32 if single else np.float64

    def pieces(self, names: Sequence[str], size: int) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        """(number of its first row, its columns) of pieces of at most ``size`` rows, in their order."""
        import pyarrow as pa

        start = 0
        try:
            for part in self._batches(list(dict.fromkeys(names)), size):
                yield start, {name: _vector(part.column(name), self.numeric[name]) for name in part.schema.names}
                start += part.num_rows
        except pa.ArrowInvalid as error:
            raise ValueError(f"{self.path.name} cannot be read: {str(error).splitlines()[0]}") from None

    @abstractmethod
    def n_rows(self, names: Sequence[str]) -> int:
        """The number of rows."""

    @abstractmethod
    def _read_schema(self) -> Any: ...

    @abstractmethod
    def _batches(self, names: list[str], size: int) -> Iterator[Any]: ...


class _ParquetFile(_ColumnFile):
    def _open(self):
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return parquet.ParquetFile(self.path, pre_buffer=False)  # else all row groups are fetched at once
        except (pa.ArrowInvalid, OSError) as error:
            raise ValueError(f"{self.path.name} is no Parquet file: {str(error).splitlines()[0]}") from None

    def _read_schema(self):
        with self._open() as file:
            return file.schema_arrow

    def n_rows(self, names):
        with self._open() as file:
            return file.metadata.num_rows

    def _batches(self, names, size):
        with self._open() as file:
            yield from file.iter_batches(size, columns=names)


class _TextFile(_ColumnFile):
    def _open(self, names=None, size=2**20):
        from pyarrow import csv

        separated = csv.ParseOptions(delimiter="\t" if self.path.suffix.lower() == ".tsv" else ",")
        # Types come from the beginning of the file: what begins with whole numbers may go on with others.
        types = None if names is None else {name: "float64" for name in names if self.numeric[name]}
        converted = csv.ConvertOptions(include_columns=names, column_types=types)
        return csv.open_csv(self.path, csv.ReadOptions(block_size=size), separated, converted)

    def _read_schema(self):
        import pyarrow as pa

        try:
            with self._open() as reader:
                return reader.schema
        except pa.ArrowInvalid as error:
            raise ValueError(f"{self.path.name} cannot be read as a table: {str(error).splitlines()[0]}") from None

    def n_rows(self, names):
        return sum(len(part[names[0]]) for _, part in self.pieces(names[:1], 2**20))

    def _batches(self, names, size):
        with self._open(names, size=2**24) as reader:
            for whole in reader:
                yield from (whole.slice(first, size) for first in range(0, whole.num_rows, size))


def _is_numeric(kind):
    from pyarrow import types

    return types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_null(kind)


def _vector(column, numeric):
    """A column of Arrow as a vector; missing numbers are NaN, missing texts None."""
    values = column.to_numpy(zero_copy_only=False)
    return values.astype(np.float64) if numeric and values.dtype.kind == "O" else values
