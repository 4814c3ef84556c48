"""Tables from files: CSV, TSV or Parquet through pandas, with errors that a user can act on."""

from pathlib import Path
from typing import Any

from .._text import one_line

_SUFFIXES = (".csv", ".tsv", ".tab", ".parquet", ".pq")


class TableError(ValueError):
    """A table or a request about it makes no sense; the message says what to change."""


def load_table(path: str | Path) -> Any:
    """The table in a file as a pandas DataFrame with at least one row; column names become strings.

    Text is read as UTF-8, and as Latin-1 where that fails.  A ``.csv`` file whose header has semicolons or tabs but no comma
    is read with those.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise TableError(f"{path} is no table that can be read: the name must end in {', '.join(_SUFFIXES)}.")
    if not path.is_file():
        raise TableError(f"There is no file {path}.")
    frame = _parquet(path) if suffix in (".parquet", ".pq") else _text(path, suffix)
    if frame.shape[1] == 0 or len(frame) == 0:
        raise TableError(f"{path} holds no rows: {len(frame)} rows and {frame.shape[1]} columns were read.")
    frame.columns = [str(name) for name in frame.columns]
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise TableError(f"Column {twice!r} occurs twice in {path}; give each column its own name.")
    return frame


def import_pandas() -> Any:
    """pandas, or a sentence that says how to install it."""
    try:
        import pandas
    except ImportError:
        raise TableError("Tables need pandas, which is not installed: pip install 'bochner[table]'.") from None
    return pandas


def _text(path: Path, suffix: str) -> Any:
    pandas = import_pandas()
    separator = "\t" if suffix != ".csv" else _separator(path)
    for encoding in ("utf-8-sig", "latin-1"):
        try:
            # Numbers to the last bit, and a column of one type whatever its length.
            return pandas.read_csv(
                path, sep=separator, encoding=encoding, float_precision="round_trip", low_memory=False
            )
        except UnicodeDecodeError:
            continue
        except pandas.errors.EmptyDataError:
            raise TableError(f"{path} is empty: it needs a line of column names and lines of values.") from None
        except (pandas.errors.ParserError, ValueError) as error:
            raise TableError(f"{path} cannot be read as a table: {one_line(error)}") from None
    raise AssertionError("Latin-1 decodes every byte")


def _separator(path: Path) -> str:
    with path.open("rb") as file:
        header = file.readline(1_000_000)
    return "," if b"," in header else max((";", "\t", ","), key=lambda separator: header.count(separator.encode()))


def _parquet(path: Path) -> Any:
    pandas = import_pandas()
    try:
        return pandas.read_parquet(path)
    except ImportError:
        raise TableError(
            "Parquet files need pyarrow, which is not installed: pip install 'bochner[table]', or save the table as CSV."
        ) from None
    except Exception as error:  # pyarrow has its own family of errors
        raise TableError(f"{path} cannot be read as Parquet: {one_line(error)}") from None
