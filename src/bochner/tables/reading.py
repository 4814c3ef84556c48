"""Tables from files and standard input: CSV in its dialects, Parquet, JSON lines, compressed or not, with errors that a user can act on."""

import bz2
import errno
import gzip
import io
import json
import lzma
import re
import shutil
import sys
import tempfile
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from .._text import one_line
from .dialects import BinaryContent, Dialect, dialect_of
from .pieces import Table, rows_at_once, table_of
from .written_numbers import COMMA, POINT

STANDARD_INPUT = "-"
_TEXT, _TABS, _PARQUET, _JSON = (".csv", ".txt"), (".tsv", ".tab"), (".parquet", ".pq"), (".jsonl", ".ndjson", ".json")
_SUFFIXES = (*_TEXT, *_TABS, *_PARQUET, *_JSON)
_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
# What compressed files begin with; that of bzip2 goes on after a digit.
_GZIP, _XZ, _ZSTANDARD, _BZIP2 = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", re.compile(rb"BZh[1-9]1AY&SY")
_BEGINNING = 2**18
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


class TableError(ValueError):
    """A table or a request about it makes no sense; the message says what to change."""


def needed(package: str) -> Any:
    """A package that comes with an extra of ours, or a sentence that says how to install it."""
    try:
        return import_module(package)
    except ImportError:
        raise TableError(f"Tables need {package}, which is not installed: pip install 'bochner[table]'.") from None


def load_table(
    path: str | Path, *, sep: str | None = None, decimal: str | None = None, encoding: str | None = None
) -> Any:
    r"""The table in a file (``"-"``: standard input) as a pandas DataFrame with at least one row and column names that differ.

    The name's ending says what it is: text (``.csv``, ``.txt``, ``.tsv``, ``.tab``), Parquet (``.parquet``, ``.pq``), or one JSON
    object a line (``.jsonl``, ``.ndjson``, ``.json``, which may also be a list of objects); behind it ``.gz``, ``.bz2``, ``.xz`` or
    ``.zst``.  Of text, the encoding, the separator and the decimal mark are told from its beginning where they are not given;
    ``frame.attrs["decimal"]`` says which decimal mark the file told of, ``frame.attrs["notes"]`` what was changed.

    Parameters
    ----------
    path : str or path
        The file; its ending says of which kind it is.
    sep : str, default None
        What stands between the fields of a text file.
    decimal : str, default None
        The decimal mark of a text file, "." or ",".
    encoding : str, default None
        The encoding of a text file, e.g. "latin-1".

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "table.csv")
    ...     _ = file.write_text("size;kind\n1;a\n2;b\n")
    ...     load_table(file).columns.tolist()
    ['size', 'kind']
    """
    return read_file(path, sep, decimal, encoding)[0]


def read_file(
    path: str | Path,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    *,
    doubtful_decimal: str = POINT,
    verbatim: Sequence[str] = (),
) -> tuple[Any, Any]:
    """As ``load_table``, with ``doubtful_decimal`` where a file does not tell; and the table once more for columns that are carried over.

    With names in ``verbatim``, that of a text file has every value as it is written: 007 is no 7.
    """
    source = _checked_source(path, sep, decimal, encoding)
    with _in_sentences(source, encoding):
        table, written = _table(source, sep, decimal, encoding, doubtful_decimal)
        frame = with_different_names(table.whole() if isinstance(table, Table) else table)
        if written is None or not any(name in frame.columns for name in verbatim):
            return frame, frame
        return frame, with_different_names(needed("pandas").concat(written(), ignore_index=True))


def read_pieces(
    path: str | Path,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    *,
    doubtful_decimal: str = POINT,
    verbatim: Sequence[str] = (),
) -> Iterator[tuple[Any, Any]]:
    """What ``read_file`` gives, some rows at a time, in frames that have the types of the whole: no more than a piece is in memory."""
    source = _checked_source(path, sep, decimal, encoding)
    with _in_sentences(source, encoding):
        table, written = _table(source, sep, decimal, encoding, doubtful_decimal)
        if not isinstance(table, Table):
            table, frames = None, iter([with_different_names(table)])
        else:
            frames = table.pieces()
        as_written = None
        for frame in frames:
            if as_written is None and written is not None and any(name in frame.columns for name in verbatim):
                as_written = written()
            yield frame, frame if as_written is None else next(as_written)


def _checked_source(path, sep, decimal, encoding):
    _check_options(sep, decimal, encoding)
    needed("pandas")
    source = _Source(path)
    kind = source.kind()
    if kind != "text" and (sep or decimal or encoding):
        raise TableError(f"A separator, decimal mark or encoding is for text files; {source.name} is {kind}.")
    return source


def _table(source, sep, decimal, encoding, doubtful_decimal):
    """(a frame where it is one piece, else a ``Table``; for text files what gives the pieces as they are written)."""
    kind, written = source.kind(), None
    if kind != "text":
        table = table_of(partial(_parquet_pieces if kind == "Parquet" else _json_pieces, source))
    else:
        beginning, complete = source.beginning()
        dialect = dialect_of(beginning, complete, sep or source.separator(), decimal, encoding)
        # Letters that are no UTF-8 may come late in a file; every byte is a letter of Latin-1.
        encodings = [dialect.encoding] if encoding else [dialect.encoding, "cp1252", "latin-1"]
        for name in encodings:
            read = partial(_text_pieces, source, dialect, dialect.decimal or doubtful_decimal, name)
            try:
                table = table_of(read, partial(_whole_column, read))
            except UnicodeDecodeError:
                if name == encodings[-1]:
                    raise
                continue
            written = partial(read, {}, dtype=str, keep_default_na=False)
            break
    if not isinstance(table, Table) and 0 in table.shape:
        raise TableError(f"{source.name} holds no rows: {len(table)} rows and {table.shape[1]} columns were read.")
    return table, written


@contextmanager
def _in_sentences(source, encoding):
    """What other packages say of files that they cannot read, as one sentence of ours."""
    errors = needed("pandas").errors
    try:
        yield
    except TableError:
        raise
    except ImportError:
        raise TableError(
            "Parquet and .zst files need pyarrow, which is not installed: pip install 'bochner[table]', or save the table as CSV."
        ) from None
    except errors.EmptyDataError:
        raise TableError(f"{source.name} is empty: it needs a line of column names and lines of values.") from None
    except BinaryContent as error:
        raise TableError(f"{source.name} is no text: {error}. Save the table as CSV or Parquet.") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile):
        raise TableError(f"{source.name} is damaged: it cannot be decompressed to its end.") from None
    except errors.ParserError as error:
        raise TableError(f"{source.name} cannot be read: {_in_words(str(error))}") from None
    except RecursionError:
        raise TableError(f"{source.name} is no table: objects are nested in it deeper than can be read.") from None
    except UnicodeError:
        hint = "leave --encoding out to have it found" if encoding else "save it so"
        raise TableError(f"{source.name} is not written in the encoding {encoding or 'UTF-8'}; {hint}.") from None
    except Exception as error:  # pyarrow has its own family of errors
        if (
            isinstance(error, OSError) and error.errno in _NO_ROOM
        ):  # for a temporary file: nothing is wrong with this one
            raise
        raise TableError(f"{source.name} cannot be read as {source.kind()}: {one_line(error)}") from None


def with_different_names(frame: Any) -> Any:
    """The frame with column names that are texts and differ: the second ``a`` is ``a.1``, as pandas reads it from a file."""
    names, taken = [], set()
    for given in frame.columns:
        name, k = str(given), 0
        while name in taken:
            k += 1
            name = f"{given}.{k}"
        taken.add(name)
        names.append(name)
    twice = [name for name, given in zip(names, frame.columns) if name != str(given)]
    if names == list(frame.columns):
        return frame
    renamed = frame.set_axis(names, axis=1)
    if twice:
        note = f"Column names that occur again got a number: {', '.join(map(repr, twice[:8]))}."
        renamed.attrs["notes"] = [*frame.attrs.get("notes", []), note]
    return renamed


def _check_options(sep, decimal, encoding):
    if sep is not None and len(sep) != 1:
        raise TableError(f"A separator is one character, got {sep!r}. Write e.g. --sep ';' (or tab).")
    if decimal not in (None, POINT, COMMA):
        raise TableError(f"The decimal mark is '.' or ',', got {decimal!r}.")
    if sep is not None and sep == decimal:
        raise TableError(f"The separator and the decimal mark cannot both be {sep!r}.")
    if encoding is not None:
        try:
            "".encode(encoding)
        except LookupError:
            raise TableError(f"There is no encoding {encoding!r}. Write e.g. --encoding latin-1.") from None


class _Source:
    """Bytes of a file or of standard input, decompressed, from their beginning as often as they are asked for."""

    def __init__(self, path: str | Path):
        if str(path) == STANDARD_INPUT:
            self.name, self._suffix = "Standard input", ""
            self._folder = tempfile.TemporaryDirectory()  # goes with this object
            self._path = Path(self._folder.name, "table")
            with self._path.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
            return
        path = Path(path)
        self.name, self._path = str(path), path
        suffixes = [suffix.lower() for suffix in path.suffixes]
        if suffixes and suffixes[-1] in _COMPRESSIONS:
            suffixes.pop()
        self._suffix = suffixes[-1] if suffixes else ""
        if self._suffix not in _SUFFIXES:
            endings = f"{', '.join(_SUFFIXES)}, behind it {', '.join(_COMPRESSIONS)} or nothing"
            raise TableError(f"{path} is no table that can be read: the name must end in {endings}.")
        if not path.is_file():
            raise TableError(f"There is no file {path}.")

    def kind(self) -> str:
        if self._suffix:
            return "Parquet" if self._suffix in _PARQUET else "JSON" if self._suffix in _JSON else "text"
        start = self.beginning()[0]
        return "Parquet" if start.startswith(b"PAR1") else "JSON" if start.lstrip()[:2] in (b'{"', b"[{") else "text"

    def separator(self) -> str | None:
        """What the name promises."""
        return "\t" if self._suffix in _TABS else None

    def opened(self) -> Any:
        raw: Any = self._path.open("rb")
        start = raw.read(16)
        raw.seek(0)
        if start.startswith(_GZIP):
            return gzip.GzipFile(fileobj=raw)
        if start.startswith(_XZ):
            return lzma.LZMAFile(raw)
        if _BZIP2.match(start):
            return bz2.BZ2File(raw)
        if start.startswith(_ZSTANDARD):
            return needed("pyarrow").CompressedInputStream(raw, "zstd")
        return raw

    def seekable(self) -> io.BytesIO | Path:
        with self.opened() as stream:
            if isinstance(stream, io.BufferedReader):
                return self._path
            return io.BytesIO(stream.read())

    def beginning(self) -> tuple[bytes, bool]:
        """The first bytes, and whether these are all."""
        with self.opened() as stream:
            content = stream.read(_BEGINNING + 1)
        return content[:_BEGINNING], len(content) <= _BEGINNING


def _text_pieces(
    source: _Source, dialect: Dialect, decimal: str, encoding: str, declared: Mapping[str, Any], **types: Any
) -> Iterator[Any]:
    pandas = needed("pandas")
    options: dict[str, Any] = {
        "sep": dialect.separator,
        "decimal": decimal,
        "low_memory": False,  # a column of a piece has one type
        "skipinitialspace": True,
        "index_col": False if dialect.closed else None,
        "chunksize": rows_at_once(dialect.n_columns),
        "dtype": dict(declared) or None,
    } | types
    attrs: dict[str, Any] = {"decimal": dialect.decimal} if dialect.decimal else {}
    with (
        source.opened() as stream,
        _without_warnings(),
        pandas.read_csv(stream, encoding=encoding, **options) as reader,
    ):
        while True:
            with _without_warnings():
                piece = next(reader, None)
            if piece is None:
                return
            if dialect.n_surplus > 1 and not dialect.closed:
                n_fields = piece.shape[1] + dialect.n_surplus
                raise TableError(
                    f"{source.name} cannot be read: its lines have {n_fields} fields, but its header has {piece.shape[1]}."
                )
            if dialect.n_surplus == 1 and not dialect.closed:
                note = "The lines have one field more than the header: the first one is taken as names of rows."
                attrs["notes"] = [note]
            piece = piece.reset_index(drop=True)
            piece.attrs |= attrs
            yield piece


def _without_warnings() -> Any:
    return warnings.catch_warnings(action="ignore", category=needed("pandas").errors.ParserWarning)


def _whole_column(read, name):
    """One column, all of its values at once."""
    return next(read({}, usecols=[name], chunksize=2**62))[name]


def _in_words(error: str) -> str:
    """What pandas says of lines that it cannot split, without its own words."""
    ragged = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", error)
    if ragged:
        expected, line, saw = ragged.groups()
        return f"line {line} has {saw} fields, but the lines before it have {expected}. Put quotes around values that hold the separator."
    unclosed = re.search(r"EOF inside string starting at row (\d+)", error)
    if unclosed:
        return f"a quotation mark that opens in line {int(unclosed[1]) + 1} is never closed."
    return one_line(ValueError(error.replace("Error tokenizing data. C error: ", "")))


def _json_pieces(source: _Source, declared: Mapping[str, Any]) -> Iterator[Any]:
    """A list of objects, or one object a line; a name that a line lacks is a missing value."""
    pandas = needed("pandas")
    records, first = _json_records(source), 1
    while True:
        some = list(islice(records, 1))
        some += islice(records, rows_at_once(len(some[0]) if some and isinstance(some[0], dict) else 1) - 1)
        stranger = next((k for k, record in enumerate(some, first) if not isinstance(record, dict)), None)
        if stranger is not None:
            raise TableError(
                f'Entry {stranger} of {source.name} is no JSON object: each row is written as {{"column": value, …}}.'
            )
        if not some and first > 1:
            return
        yield pandas.DataFrame(some)
        if not some:
            return
        first += len(some)


def _json_records(source):
    with source.opened() as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="\n") as text:
        start = source.beginning()[0].decode("utf-8-sig", errors="ignore").lstrip()
        if not start and not text.read().strip():
            raise TableError(f"{source.name} is empty: it needs one JSON object a line.")
        if start.startswith("["):
            yield from json.loads(text.read())
            return
        for number, line in enumerate(text, 1):
            if line.strip():
                try:
                    record = json.loads(line)
                except ValueError as error:
                    raise TableError(f"Line {number} of {source.name} is no JSON object: {one_line(error)}") from None
                yield record


def _parquet_pieces(source: _Source, declared: Mapping[str, Any]) -> Iterator[Any]:
    """The index that has a name is a column like others; one that is no column of the file is told by the whole alone."""
    pandas, parquet = needed("pandas"), needed("pyarrow.parquet")
    content = source.seekable()
    with parquet.ParquetFile(content, pre_buffer=False) as file:  # else all row groups are fetched at once
        known = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
        counted = any(isinstance(index, dict) and index.get("name") is not None for index in known)
        n_columns, n_rows = len(file.schema_arrow.names), file.metadata.num_rows
        if counted or n_rows <= rows_at_once(n_columns):
            yield _named_index(pandas.read_parquet(content))
            return
        for batch in file.iter_batches(rows_at_once(n_columns)):
            frame = needed("pyarrow").Table.from_batches([batch]).to_pandas()
            yield with_different_names(_named_index(frame))


def _named_index(frame: Any) -> Any:
    """The index of a Parquet file that has a name is a column like others."""
    return frame.reset_index() if any(name is not None for name in frame.index.names) else frame.reset_index(drop=True)
