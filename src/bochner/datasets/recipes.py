"""Recipes that build the archives of the catalog from the files that others publish."""

import gzip
import io
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .catalog import CATALOG, Recipe
from .files import DatasetNotFound, contents_digest, write_archive

# A table for each file, and names of columns if the files have them.
Tables = tuple[list[Any], list[str]]


def build(name: str, folder: str | Path, out: str | Path) -> Path:
    """Build ``out/name.npz`` from the published files in ``folder``, and return its path.

    The arrays must have the shape and the checksum of the catalog; otherwise nothing is written.
    Files may also be in a folder ``name`` within ``folder``, and compressed with the ending .gz.
    """
    entry, recipe = CATALOG[name], CATALOG[name].recipe
    if recipe.missing:
        raise DatasetNotFound(f"{name}.npz cannot be built: {recipe.missing}.")
    paths = [_published(Path(folder), name, file, recipe.source) for file in recipe.files]
    contents = [path.read_bytes() for path in paths]
    unpacked = [gzip.decompress(one) if one[:2] == b"\x1f\x8b" else one for one in contents]
    arrays = _arrays(recipe, *_READERS[recipe.read](unpacked))
    given, expected = str(arrays["X"].shape), str(entry.shape)
    if sp.issparse(X := arrays["X"]):
        arrays |= {"X_data": X.data.astype("u1"), "X_indices": X.indices.astype("u2")}
        arrays |= {"X_indptr": X.indptr.astype("i4"), "X_shape": np.array(X.shape)}
        del arrays["X"]
    if given == expected and entry.sha256 is not None:
        given, expected = contents_digest(arrays), entry.sha256
    if given != expected:
        raise ValueError(
            f"The arrays of {', '.join(map(str, paths))} have the shape or sha256 {given}, but "
            f"those of {name!r} have {expected}. Nothing was written. Give the version of "
            f"{recipe.source}."
        )
    write_archive(path := Path(out) / f"{name}.npz", arrays)
    return path


def _published(folder: Path, name: str, file: str, source: str) -> Path:
    names = [given + end for given in file.split("|") for end in ("", ".gz")]
    for path in (place / given for given in names for place in (folder, folder / name)):
        if path.is_file():
            return path
    raise DatasetNotFound(
        f"There is no {file.replace('|', ' or ')} in {folder} or in {folder / name}. Get it from "
        f"{source}."
    )


def _arrays(recipe: Recipe, tables: list[Any], names: list[str]) -> dict[str, Any]:
    """Return the arrays of an archive from tables with the columns of features and labels."""
    cells: Any = sp.vstack(tables) if sp.issparse(tables[0]) else np.concatenate(tables)
    names, numbers = names or recipe.columns.split(), range(cells.shape[1])
    targets = numbers[-recipe.outputs :] if recipe.outputs else [numbers[recipe.label]]
    features = [j for j in numbers[recipe.excluded + recipe.dropped :] if j not in targets]
    X, titles = cells[:, features], [names[j] for j in features] if names else []
    if cells.dtype.kind == "U":
        X, titles = _encoded(X, titles)
    arrays = {"X": X.astype(recipe.dtype) if recipe.dtype else _compact(X)}
    if titles:
        arrays["feature_names"] = np.array(titles)
    if recipe.excluded:
        arrays["X_dropped"] = _compact(cells[:, : recipe.excluded].astype(np.float64))
    if len(tables) > 1:
        arrays["n_train"] = np.int64(len(tables[0]))
    y = cells[:, targets].toarray() if sp.issparse(cells) else cells[:, targets]
    if not recipe.outputs:
        return arrays | _labels(recipe, y[:, 0])
    if recipe.outputs > 1:
        arrays["target_names"] = np.array([names[j] for j in targets])
    return arrays | {"y": _compact(y.astype(np.float64)[:, 0 if recipe.outputs == 1 else ...])}


def _encoded(cells: np.ndarray, titles: list[str]) -> tuple[np.ndarray, list[str]]:
    """Return the columns of numbers, then one indicator column for each level of the others.

    Levels are sorted. The level ``?``, a missing value, has no indicator.
    """
    numbers, words = [], []
    for j, column in enumerate(cells.T):
        title = titles[j] if titles else ""
        try:
            numbers.append((title, column.astype(np.float64)))
        except ValueError:
            levels = [level for level in np.unique(column) if level != "?"]
            words += [(f"{title}={level}", column == level) for level in levels]
    names, columns = zip(*numbers, *words)
    return np.column_stack(columns).astype(np.float64), list(names) if titles else []


def _compact(values: Any) -> Any:
    single = values.astype(np.float32)
    return single if (single != values).sum() == 0 else values


def _labels(recipe: Recipe, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Return class numbers in the order of the sorted labels, the paper's ±1, and the names."""
    try:
        labels = labels.astype(np.float64)
    except ValueError:
        labels = np.char.rstrip(labels, ".")  # adult.test ends its labels with a point
    y = np.unique(labels, return_inverse=True)[1] if recipe.classes else labels
    arrays = {"y": y.astype(np.uint8)}
    if recipe.positive:
        arrays["y_binary"] = np.where(np.isin(y, recipe.positive), 1, -1).astype(np.int8)
    if recipe.classes:
        arrays["class_names"] = np.array(list(recipe.classes))
    return arrays


def _text(contents: list[bytes], header: bool = False) -> Tables:
    """Read cells between commas, semicolons or blanks; lines of @, % and | are comments."""
    tables, names = list[Any](), list[str]()
    for content in contents:
        text = re.sub("[,;\"']", " ", content.decode("latin-1"))
        rows = [line for line in text.splitlines() if line.strip() and line[0] not in "@%|"]
        cells = np.loadtxt(rows, str, comments=None, ndmin=2)
        if header:
            declared = re.findall(r"(?im)^@attribute\s+(\S+)", text)
            names, cells = declared or list(cells[0]), cells if declared else cells[1:]
        tables.append(cells)
    return tables, names


def _california(contents: list[bytes]) -> Tables:
    """Read StatLib's table, and return the features of scikit-learn's copy."""
    cells = _text(contents)[0][0].astype(np.float64)
    east, north, age, rooms, bedrooms, people, households, income, value = cells.T
    rooms, bedrooms, occupants = rooms / households, bedrooms / households, people / households
    columns = [income, age, rooms, bedrooms, people, occupants, north, east, value / 100000.0]
    return [np.column_stack(columns)], []


def _svmlight(contents: list[bytes]) -> Tables:
    from sklearn.datasets import load_svmlight_file

    X, labels = load_svmlight_file(io.BytesIO(contents[0]), zero_based=False)
    return [sp.hstack([X, sp.csr_matrix(labels[:, None])], format="csr")], []


def _idx(contents: list[bytes]) -> Tables:
    """Read pairs of images and labels: a header of 16 or 8 bytes, then bytes."""
    images = [np.frombuffer(content, np.uint8, offset=16) for content in contents[::2]]
    labels = [np.frombuffer(content, np.uint8, offset=8) for content in contents[1::2]]
    return [np.column_stack([X.reshape(len(y), -1), y]) for X, y in zip(images, labels)], []


def _matlab(contents: list[bytes]) -> Tables:
    from scipy.io import loadmat

    content = loadmat(io.BytesIO(contents[0]))
    return [value for name, value in content.items() if not name.startswith("__")], []


def _winds(contents: list[bytes]) -> Tables:
    """Read place, month and both components of the wind, without missing values."""
    from scipy.io import netcdf_file

    with netcdf_file(io.BytesIO(contents[0]), mmap=False) as file:
        names = ("COADSX", "COADSY", "UWND", "VWND")
        x, y, u, v = (np.array(file.variables[name].data) for name in names)
    month, row, column = np.nonzero((u > -1e33) & (v > -1e33))  # -1e34 is a missing value
    east, at = np.where(x > 180, x - 360, x)[column], (month, row, column)
    return [np.column_stack([east, y[row], month + 1, u[at], v[at]])], []


_READERS: dict[str, Callable[[list[bytes]], Tables]] = {
    "text": _text,
    "california": _california,
    "header": partial(_text, header=True),
    "idx": _idx,
    "matlab": _matlab,
    "svmlight": _svmlight,
    "winds": _winds,
}
