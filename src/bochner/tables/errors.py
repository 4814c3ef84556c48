"""The error that tables raise, and imports of optional packages."""

from importlib import import_module
from typing import Any


class TableError(ValueError):
    """Invalid table or options; the message states what to change."""


def needed(package: str) -> Any:
    """Import a package of the extra ``table``, or raise an error that says how to install it."""
    try:
        return import_module(package)
    except ImportError:
        message = f"Tables need {package}, which is not installed: pip install 'bochner[table]'."
        raise TableError(message) from None
