"""Models for tables: read files, fit and evaluate, save, load, predict."""

from .columns.reader import ColumnReader
from .errors import TableError
from .fitting import TableModel, fit_table
from .model_file import ModelFileError, load, save
from .read.reading import load_table
from .read.streaming import open_rows

__all__ = [
    "ColumnReader",
    "ModelFileError",
    "TableError",
    "TableModel",
    "fit_table",
    "load",
    "load_table",
    "open_rows",
    "save",
]
