"""Read tables from files and standard input: CSV, Parquet, JSON lines, also compressed."""

import errno
import gzip
import json
import lzma
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ..._terminal.text import one_line
from ..columns.written_numbers import COMMA, POINT
from ..errors import TableError, needed
from .dialects import WHITESPACE, TextOptions, numbered_note, unique_names
from .encodings import BinaryContent, undecodable_byte
from .pieces import Table, rows_at_once, table_of
from .sources import Source
from .text_files import TextFile

_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def load_table(
    path: str | Path,
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    skip_rows: int | None = None,
    header: bool | None = None,
) -> Any:
    r"""Read the table in a file (``"-"``: standard input) as a pandas DataFrame.

    The ending of the name decides the format: text (``.csv``, ``.txt``, ``.tsv``, ``.tab``,
    ``.data``, ``.dat``), Parquet (``.parquet``, ``.pq``), or one JSON object per line (``.jsonl``,
    ``.ndjson``, ``.json``, which may also be a list of objects).  It may be followed by ``.gz``,
    ``.bz2``, ``.xz`` or ``.zst``.  Blanks at both ends of column names are removed.

    The separator, decimal mark, encoding and header of a text file are detected.
    Comments (``#``) and other lines before the header are skipped.  ``frame.attrs["notes"]`` lists
    such decisions; ``frame.attrs["decimal"]`` is the decimal mark, if the file decides it.

    Parameters
    ----------
    path : str or path
        File to read; the ending of its name decides the format.
    sep : str, default None
        Separator of the fields of a text file; a space stands for runs of spaces and tabs.
    decimal : str, default None
        Decimal mark of a text file, "." or ",".
    encoding : str, default None
        Encoding of a text file, e.g. "latin-1".
    skip_rows : int, default None
        Number of lines to skip at the beginning of a text file; None finds it.
    header : bool, default None
        True if the first line of a text file holds the names of the columns, False if it holds
        values. None decides by the content. Columns without names are called column_1, column_2,
        ...

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
    return read_file(path, TextOptions(sep, decimal, encoding, skip_rows, header))


def read_file(path: str | Path, options: TextOptions) -> Any:
    """Return the table in a file as one frame."""
    source = checked_source(path, options)
    with rephrased_errors(source):
        return open_table(source, options).whole()


def read_pieces(
    path: str | Path, options: TextOptions, *, verbatim: Sequence[str] = ()
) -> Iterator[tuple[Any, Any]]:
    """Iterate over pieces of a table: pairs of frames with some rows each.

    The first frame has the types of the whole table. If a text file has a column in ``verbatim``,
    the second frame has texts as they are written in the file. Otherwise it is the first one.
    """
    source = checked_source(path, options)
    with rephrased_errors(source):
        table = open_table(source, options)
        if source.kind() == "text" and not table.types.keys().isdisjoint(verbatim):
            as_written = table.read({}, dtype=str, keep_default_na=False)
            yield from zip(table.pieces(), as_written, strict=True)
        else:
            yield from ((frame, frame) for frame in table.pieces())


def checked_source(path: str | Path, options: TextOptions) -> Source:
    """Validate the options and return the file."""
    _check_options(options)
    needed("pandas")
    source = Source(path)
    kind = source.kind()
    given = (options.sep, options.decimal, options.encoding, options.skip_rows, options.header)
    if kind != "text" and any(option is not None for option in given):
        raise TableError(
            "Options for the separator, decimal mark, encoding, header and lines to skip are for "
            f"text files; {source.name} is {kind}."
        )
    return source


def open_table(source: Source, options: TextOptions) -> Table:
    """Return the table in a file, after a pass that finds the types of its columns."""
    kind = source.kind()
    if kind == "text":
        table = _text_table(source, options)
    else:
        table = table_of(partial(_parquet_pieces if kind == "Parquet" else _json_pieces, source))
    if table.n_rows == 0 or not table.types:
        raise TableError(
            f"{source.name} holds no rows: {table.n_rows} rows and {len(table.types)} columns."
        )
    return table


def _text_table(source, options):
    """Return the table in a text file.

    If an encoding detected from the beginning cannot decode a later byte, detect it again from
    letters of the whole file.
    """
    ways = [TextFile.detect, TextFile.detect_from_letters]
    for detect in ways[:1] if options.encoding else ways:
        text = detect(source, options)
        try:
            return table_of(text.pieces, text.whole_column)
        except UnicodeDecodeError:
            encoding = text.dialect.encoding
    raise TableError(_undecodable(source, encoding, options.encoding is not None))


def _undecodable(source, encoding, given):
    with source.opened() as stream:
        place = undecodable_byte(stream, encoding)
    where = ""
    if place is not None:
        where = f": byte {place[0]} ({place[1]:#04x}, in line {place[2]}) cannot be decoded"
    hint = "Leave out --encoding" if given else "Give its encoding, e.g. --encoding cp1252"
    return f"{source.name} is not written in the encoding {encoding.upper()}{where}. {hint}."


@contextmanager
def rephrased_errors(source: Source) -> Iterator[None]:
    """Turn errors of other packages about a file into a ``TableError`` of one sentence."""
    try:
        yield
    except TableError:
        raise
    except ImportError:
        raise TableError(
            "Parquet and .zst files need pyarrow, which is not installed: pip install "
            "'bochner[table]', or save the table as CSV."
        ) from None
    except BinaryContent as error:
        raise TableError(
            f"{source.name} is not text: {error}. Save the table as CSV or Parquet."
        ) from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile):
        message = f"{source.name} is damaged: it cannot be decompressed completely."
        raise TableError(message) from None
    except RecursionError:
        raise TableError(
            f"{source.name} is not a table: its objects are nested too deeply."
        ) from None
    except UnicodeError:  # JSON, which has one encoding
        raise TableError(_undecodable(source, "utf-8", False)) from None
    except Exception as error:  # pyarrow raises errors of many types
        if isinstance(error, OSError) and error.errno in _NO_ROOM:  # of a temporary file
            raise
        message = f"{source.name} cannot be read as {source.kind()}: {one_line(error)}"
        raise TableError(message) from None


def with_unique_names(frame: Any) -> Any:
    """Return the frame with distinct column names, without blanks at their ends.

    The second ``a`` is called ``a.1``, as pandas does when reading a file.
    """
    written = [str(name).strip() for name in frame.columns]
    names = unique_names(written)
    if names == list(frame.columns):
        return frame
    renamed = frame.set_axis(names, axis=1)
    if note := numbered_note(written, names):
        renamed.attrs["notes"] = [*frame.attrs.get("notes", []), *note]
    return renamed


def _check_options(options):
    sep, decimal = options.sep, options.decimal
    if sep is not None and sep != WHITESPACE and len(sep) != 1:
        raise TableError(
            f"A separator is one character, got {sep!r}. Use e.g. --sep ';', tab or space."
        )
    if decimal not in (None, POINT, COMMA):
        raise TableError(f"The decimal mark is '.' or ',', got {decimal!r}.")
    if sep is not None and sep == decimal:
        raise TableError(f"The separator and the decimal mark cannot both be {sep!r}.")
    if options.skip_rows is not None and options.skip_rows < 0:
        raise TableError(f"The number of lines to skip is at least 0, got {options.skip_rows}.")
    if options.encoding is not None:
        try:
            "".encode(options.encoding)
        except LookupError:
            raise TableError(
                f"There is no encoding {options.encoding!r}. Use e.g. --encoding latin-1."
            ) from None


def _json_pieces(source: Source, declared: Mapping[str, Any], columns: Any = None) -> Iterator[Any]:
    """Iterate over frames; names that a line does not have are missing values."""
    pandas = needed("pandas")
    records = _json_records(source)
    some = list(islice(records, 1))
    n_rows = rows_at_once(len(some[0]) if some else 1)
    some += islice(records, n_rows - 1)
    yield with_unique_names(pandas.DataFrame(some))
    while some := list(islice(records, n_rows)):
        yield with_unique_names(pandas.DataFrame(some))


def _json_records(source):
    for k, record in enumerate(_json_entries(source), 1):
        if not isinstance(record, dict):
            raise TableError(
                f"Entry {k} of {source.name} is not a JSON object: write each row as "
                '{"column": value, …}.'
            )
        yield record


def _json_entries(source):
    """Iterate over the entries of a list, or over the lines."""
    start = source.beginning()[0].decode("utf-8-sig", errors="ignore").lstrip()
    if start.startswith("["):
        with source.opened() as stream:
            yield from json.loads(stream.read().decode("utf-8-sig"))
        return
    is_empty = True
    with source.lines("utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    record = json.loads(line)
                except ValueError as error:
                    raise TableError(
                        f"Line {number} of {source.name} is not a JSON object: {one_line(error)}"
                    ) from None
                is_empty = False
                yield record
    if is_empty:
        raise TableError(f"{source.name} is empty: it needs one JSON object per line.")


def _parquet_pieces(
    source: Source, declared: Mapping[str, Any], columns: Any = None
) -> Iterator[Any]:
    """Iterate over frames; an index with a name becomes a column."""
    pandas, parquet = needed("pandas"), needed("pyarrow.parquet")
    content = source.seekable()
    # With pre_buffer, all row groups would be read at once.
    with parquet.ParquetFile(content, pre_buffer=False) as file:
        names = file.schema_arrow.names
        index = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
        is_named_range = any(isinstance(one, dict) and one.get("name") is not None for one in index)
        n_rows = rows_at_once(len(names))
        if is_named_range or file.metadata.num_rows <= n_rows:
            yield with_unique_names(_named_index(pandas.read_parquet(content)))
            return
        some = None
        # Columns that would be renamed cannot be selected.
        if columns is not None and len({name.strip() for name in names}) == len(names):
            some = [name for name in names if name.strip() in columns or name in index]
        for batch in file.iter_batches(n_rows, columns=some):
            frame = needed("pyarrow").Table.from_batches([batch]).to_pandas()
            yield with_unique_names(_named_index(frame))


def _named_index(frame: Any) -> Any:
    """Turn an index that has a name into columns."""
    return frame.reset_index(drop=all(name is None for name in frame.index.names))
