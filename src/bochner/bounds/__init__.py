"""Guarantees as pure functions that return a ``Bound``."""

from .bound import Bound

__all__ = ["Bound"]
