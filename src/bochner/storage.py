"""Which types of ours a skops file may hold: parameter objects, estimators and frozen values, whoever adds them."""

import os
from dataclasses import is_dataclass
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator

# NumPy's own, which skops leaves to its users: a name for the type of an array's numbers.
_PLAIN = frozenset({"numpy.dtype"})


def trusted_types(path: str | os.PathLike[str]) -> list[str]:
    """The types in a skops file that skops does not know but that are ours; the others are left out.

    ``skops.io.load(path, trusted=trusted_types(path))`` loads a model of this library and refuses a file that brings more along.
    """
    import skops.io

    return [name for name in skops.io.get_untrusted_types(file=path) if is_ours(name)]


def is_ours(name: str) -> bool:
    """Whether this is the name of a class of bochner that stores nothing but its fields.

    >>> is_ours("bochner.measures.FourierMeasure"), is_ours("bochner.export.to_onnx"), is_ours("os.system")
    (True, False, False)
    """
    if name in _PLAIN:
        return True
    module, _, attribute = name.rpartition(".")
    if module.split(".")[0] != __package__:
        return False
    try:
        found: Any = vars(import_module(module)).get(attribute)
    except ImportError:
        return False
    if not isinstance(found, type) or found.__module__ != module:
        return False
    frozen = is_dataclass(found) and found.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return issubclass(found, BaseEstimator) or frozen
