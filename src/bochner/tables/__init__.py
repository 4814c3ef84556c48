"""A model for a table of one's own: read, fit with held-out judgment, save, load, predict."""

from .fitting import TableModel, fit_table
from .model_file import ModelFileError, load_model, save_model
from .reading import TableError, read_table

__all__ = ["ModelFileError", "TableError", "TableModel", "fit_table", "load_model", "read_table", "save_model"]
