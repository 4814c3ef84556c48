"""Tables from files: CSV, TSV or Parquet through pandas, with errors that a user can act on."""

from importlib import import_module
from pathlib import Path
from typing import Any

from .._text import one_line

_SUFFIXES = (".csv", ".tsv", ".tab", ".parquet", ".pq")


class TableError(ValueError):
    """A table or a request about it makes no sense; the message says what to change."""


def load_table(path: str | Path) -> Any:
    r"""The table in a file as a pandas DataFrame with at least one row; column names become strings.

    Text is read as UTF-8, and as Latin-1 where that fails.  A ``.csv`` file whose header has semicolons or tabs but no comma
    is read with those.

    Parameters
    ----------
    path : str or path
        The file; its ending says of which kind it is.

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
    path, suffix = Path(path), Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise TableError(f"{path} is no table that can be read: the name must end in {', '.join(_SUFFIXES)}.")
    if not path.is_file():
        raise TableError(f"There is no file {path}.")
    pandas, kind = needed("pandas"), "Parquet" if suffix in (".parquet", ".pq") else "a table"
    try:
        frame = pandas.read_parquet(path) if kind == "Parquet" else _text(path)
    except ImportError:
        raise TableError(
            "Parquet files need pyarrow, which is not installed: pip install 'bochner[table]', or save the table as CSV."
        ) from None
    except pandas.errors.EmptyDataError:
        raise TableError(f"{path} is empty: it needs a line of column names and lines of values.") from None
    except Exception as error:  # pyarrow has its own family of errors
        raise TableError(f"{path} cannot be read as {kind}: {one_line(error)}") from None
    if frame.shape[1] == 0 or len(frame) == 0:
        raise TableError(f"{path} holds no rows: {len(frame)} rows and {frame.shape[1]} columns were read.")
    frame.columns = [str(name) for name in frame.columns]
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise TableError(f"Column {twice!r} occurs twice in {path}; give each column its own name.")
    return frame


def needed(package: str) -> Any:
    """A package that comes with an extra of ours, or a sentence that says how to install it."""
    try:
        return import_module(package)
    except ImportError:
        raise TableError(f"Tables need {package}, which is not installed: pip install 'bochner[table]'.") from None


def _text(path: Path) -> Any:
    with path.open("rb") as file:
        header = file.readline(1_000_000)
    separator = "," if b"," in header else max((";", "\t", ","), key=lambda mark: header.count(mark.encode()))
    if path.suffix.lower() != ".csv":
        separator = "\t"
    options = {"sep": separator, "low_memory": False}  # a column has one type, however long it is
    try:
        return needed("pandas").read_csv(path, encoding="utf-8-sig", **options)
    except UnicodeDecodeError:
        return needed("pandas").read_csv(path, encoding="latin-1", **options)
