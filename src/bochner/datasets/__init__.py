"""Data sets, each a scikit-learn Bunch."""

from .files import data_folder, load

__all__ = ["data_folder", "load"]
