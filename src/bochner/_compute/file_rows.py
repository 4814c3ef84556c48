"""Rows of a file that is read in pieces, once per pass: data larger than memory without a cluster."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .maps import release_pages, scratch
from .rows import STREAMED_BYTES, LocalRows, Rows, add_parts


class FileRows(Rows):
    """Named columns of a file as rows of numbers; missing and infinite ones raise an error when read.

    ``notes`` lists decisions about the file, e.g. lines skipped before its header.
    """

    is_local = False  # reading some rows takes a pass over the file
    block_size: int | str = "auto"

    def __init__(self, file: "ColumnFile", columns: Sequence[str] | None, target: str | None):
        self.file, self.target, self.notes = file, target, list(file.notes)
        self._n_rows = file.n_rows()
        if not self._n_rows:
            raise ValueError(f"{file.path.name} has no rows; give at least one.")
        self.names = [name for name in file.numeric if name != target] if columns is None else list(columns)
        texts = [name for name in self.names if not file.numeric[name]]
        if texts:
            raise ValueError(
                f"Column {texts[0]!r} of {file.path.name} does not hold numbers, which bochner needs here. "
                "Leave it out by columns=[...], or encode it first."
            )
        if not self.names:
            raise ValueError(f"{file.path.name} has no column of features left. Name some by columns=[...].")
        self._dtype = file.dtype_of(self.names)

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


class ColumnFile(ABC):
    """A file of named columns; ``numeric`` is True for each that holds numbers."""

    path: Path
    numeric: dict[str, bool]
    notes: Sequence[str] = ()

    @abstractmethod
    def dtype_of(self, names: Sequence[str]) -> Any:
        """Return the common type of columns of numbers."""

    @abstractmethod
    def pieces(self, names: Sequence[str], size: int) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        """Iterate over pieces of at most ``size`` rows: the number of the first row, and the columns."""

    @abstractmethod
    def n_rows(self) -> int:
        """Return the number of rows."""


class ParquetColumns(ColumnFile):
    """Columns of a Parquet file, decoded by pieces of its row groups."""

    def __init__(self, path: Path):
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise ImportError(
                f"Reading {path.name} in pieces needs pyarrow, which is not installed: pip install 'bochner[table]'."
            ) from None
        self.path = path
        with self._open() as file:
            self._schema = file.schema_arrow
        self._stored = {field.name.strip(): field.name for field in self._schema}
        self.numeric = {field.name.strip(): _is_numeric(field.type) for field in self._schema}

    def dtype_of(self, names):
        """Return float32 if all columns have it, else float64."""
        single = all(str(self._schema.field(self._stored[name]).type) == "float" for name in names)
        return np.float32 if single else np.float64

    def n_rows(self):
        with self._open() as file:
            return file.metadata.num_rows

    def pieces(self, names, size):
        import pyarrow as pa

        start = 0
        try:
            with self._open() as file:
                for part in file.iter_batches(size, columns=list({self._stored[name] for name in names})):
                    yield start, {name: _vector(part.column(self._stored[name]), self.numeric[name]) for name in names}
                    start += part.num_rows
        except pa.ArrowInvalid as error:
            raise ValueError(f"{self.path.name} cannot be read: {str(error).splitlines()[0]}") from None

    def _open(self):
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return parquet.ParquetFile(self.path, pre_buffer=False)  # else all row groups are fetched at once
        except (pa.ArrowInvalid, OSError) as error:
            raise ValueError(f"{self.path.name} is no Parquet file: {str(error).splitlines()[0]}") from None


def _is_numeric(kind):
    from pyarrow import types

    return types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_null(kind)


def _vector(column, numeric):
    """A column of Arrow as a vector; missing numbers are NaN, missing texts None."""
    values = column.to_numpy(zero_copy_only=False)
    return values.astype(np.float64) if numeric and values.dtype.kind == "O" else values
