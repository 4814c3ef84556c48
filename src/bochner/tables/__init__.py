"""A model for a table of one's own: read, fit with held-out judgment, save, load, predict."""

from .columns.reader import ColumnReader
from .fitting import TableModel, fit_table
from .model_file import ModelFileError, load, save
from .read.reading import TableError, load_table
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
