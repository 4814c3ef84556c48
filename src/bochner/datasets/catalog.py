"""Catalog of known data sets: checksums, copies on OpenML, and recipes; from catalog.toml."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class OpenMLCopy:
    """Copy of a data set on OpenML: name, version, and the labels that the papers call +1."""

    name: str
    version: int
    positive: Sequence[str] = ()
    dropped_columns: int = 0
    n_train: int | None = None


@dataclass(frozen=True)
class Recipe:
    """Published files of a data set, and rules that make its archive from them.

    ``catalog.toml`` explains the fields.
    """

    source: str
    files: Sequence[str] = ()
    missing: str = ""
    read: str = "text"
    label: int = -1
    classes: Sequence[str] = ()
    positive: Sequence[int] = (1,)
    columns: str = ""
    excluded: int = 0
    dropped: int = 0
    outputs: int = 0
    dtype: str = ""


@dataclass(frozen=True)
class Entry:
    """Known data set; ``sha256`` is that of the arrays of ``<name>.npz``, None if unknown."""

    shape: tuple[int, int]
    sha256: str | None = None
    openml: OpenMLCopy | None = None
    recipe: Recipe = Recipe("unknown")


def _entry(shape, sha256=None, openml=None, **recipe):
    copy = OpenMLCopy(**openml) if openml else None
    return Entry(tuple(shape), sha256, copy, Recipe(**recipe))


_TEXT = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
CATALOG = {name: _entry(**facts) for name, facts in tomllib.loads(_TEXT).items()}
