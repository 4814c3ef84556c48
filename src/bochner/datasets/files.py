"""Data sets by name: from the folder BOCHNER_DATA, from scikit-learn, or from OpenML."""

import hashlib
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from .._terminal.files import written_whole
from .catalog import CATALOG, Entry, OpenMLCopy

_MNIST_PAIRS = {"mnist17": (1, 7), "mnist49": (4, 9), "mnist56": (5, 6)}
_SHIPPED_WITH_SKLEARN = ("breast", "wdbc", "wine")


class DatasetNotFound(FileNotFoundError):
    """Error for a data set that is not available; the message states how to get it.

    Examples
    --------
    >>> issubclass(DatasetNotFound, FileNotFoundError)
    True
    """


def data_folder() -> Path | None:
    """Return the folder named by BOCHNER_DATA, or None if there is no such folder.

    Examples
    --------
    >>> folder = data_folder()
    >>> folder is None or folder.is_dir()
    True
    """
    folder = os.environ.get("BOCHNER_DATA")
    return Path(folder) if folder and Path(folder).is_dir() else None


def cache_folder() -> Path:
    """Return the folder of data sets from OpenML: BOCHNER_CACHE, by default ``~/.cache/bochner``.

    Examples
    --------
    >>> isinstance(cache_folder(), Path)
    True
    """
    return Path(os.environ.get("BOCHNER_CACHE", Path.home() / ".cache" / "bochner"))


def where(name: str) -> str:
    """Return the source of ``load(name)``: a file, scikit-learn, the cache, OpenML or nowhere.

    The values are "file", "scikit-learn", "cache", "OpenML" (by network) and "nowhere".

    Parameters
    ----------
    name : str
        Name of a data set.

    Examples
    --------
    >>> where("no_such_data")
    'nowhere'
    """
    stored = "mnist" if name in _MNIST_PAIRS else name
    if _file(stored) is not None:
        return "file"
    if stored in _SHIPPED_WITH_SKLEARN:
        return "scikit-learn"
    entry = CATALOG.get(stored)
    if entry is None or entry.openml is None:
        return "nowhere"
    return "cache" if _cached(stored).is_file() else "OpenML"


def load(name: str) -> Bunch:
    """Load the data set ``name`` as a Bunch.

    It has ``data`` (dense or CSR), ``target`` (class numbers, or regression targets) and ``source``
    (a sentence). Some sets also have ``y_binary`` (the paper's labels, ±1), ``n_train`` (the first
    rows are the official training part), ``class_names`` or ``feature_names``. Files of known data
    sets are checked against their checksums.

    ``"mnist17"``, ``"mnist49"`` and ``"mnist56"`` are pairs of digits, pixels divided by 255;
    ``"breast"`` is scikit-learn's breast cancer set with +1 for benign. With BOCHNER_OFFLINE set,
    OpenML is never used.

    Parameters
    ----------
    name : str
        Name of the data set.

    Examples
    --------
    >>> load("breast").data.shape
    (569, 30)
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_]+", name):
        raise ValueError(
            f"The name of a data set is letters, digits and underscores, got {name!r}. Write e.g. "
            "'mnist'."
        )
    if name in _MNIST_PAIRS:
        return _mnist_pair(*_MNIST_PAIRS[name])
    readers = {
        "file": _from_file,
        "scikit-learn": _from_sklearn,
        "cache": _from_openml,
        "OpenML": _from_openml,
    }
    if (place := where(name)) in readers:
        return readers[place](name)
    raise DatasetNotFound(_not_available(name) + ".")


def _not_available(name: str) -> str:
    folder = os.environ.get("BOCHNER_DATA")
    return (
        f"Data set {name!r} is not available: set BOCHNER_DATA to a folder with {name}.npz "
        f"(it is {folder!r} now); `bochner data` lists the known sets and their sources"
    )


def _file(name: str) -> Path | None:
    folder = data_folder()
    path = folder / f"{name}.npz" if folder else None
    return path if path is not None and path.is_file() else None


def _from_file(name: str) -> Bunch:
    path = _file(name)
    assert path is not None
    expected = CATALOG[name].sha256 if name in CATALOG else None
    return _read(path, f"{path.name} of the data folder", name, expected)


def contents_digest(arrays: Mapping[str, Any]) -> str:
    """Return the SHA-256 of names, types, shapes and values of arrays.

    The digest of the file would depend on the version of zlib that compressed it.
    """
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _read(path: Path, source: str, name: str = "", expected: str | None = None) -> Bunch:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except (zipfile.BadZipFile, ValueError, OSError, EOFError) as error:
        raise ValueError(
            f"{path} cannot be read as a .npz file of plain arrays: {error}"
        ) from error
    if expected is not None and (actual := contents_digest(arrays)) != expected:
        raise ValueError(
            f"{path} is damaged or another version: the sha256 of its arrays is {actual[:12]}…, "
            f"but that of {name!r} is {expected[:12]}…. Run: bochner data {name}."
        )
    if "X_indptr" in arrays:
        parts = (
            arrays.pop("X_data").astype("f4"),
            arrays.pop("X_indices").astype("i4"),
            arrays.pop("X_indptr"),
        )
        arrays["X"] = sp.csr_matrix(parts, shape=tuple(arrays.pop("X_shape")))
    for needed in ("X", "y"):
        if needed not in arrays:
            raise ValueError(
                f"{path} has no array {needed}, only {', '.join(sorted(arrays)) or 'nothing'}."
            )
    arrays = {key: value.item() if value.ndim == 0 else value for key, value in arrays.items()}
    return Bunch(data=arrays.pop("X"), target=arrays.pop("y"), source=source, **arrays)


def _from_sklearn(name: str) -> Bunch:
    from sklearn import datasets

    loader = "load_wine" if name == "wine" else "load_breast_cancer"
    fetched = getattr(datasets, loader)()
    data, target, class_names = fetched.data, fetched.target, fetched.target_names
    source = f"scikit-learn's {loader}"
    y_binary = 2 * target - 1  # Letarte et al. count benign tumors as +1
    if name == "wine":
        y_binary, class_names = np.where(target == 0, 1, -1), ["1", "2", "3"]
    elif name == "wdbc":
        # Gautheron et al. used the KEEL copy: three decimals, +1 for malignant.
        data, target, y_binary, class_names = np.round(data, 3), 1 - target, -y_binary, ["B", "M"]
        source += ", rounded to three decimals like the KEEL copy"
    names = {"class_names": np.array(class_names), "feature_names": np.array(fetched.feature_names)}
    return Bunch(data=data, target=target, y_binary=y_binary, **names, source=source)


def _mnist_pair(low: int, high: int) -> Bunch:
    """Return all images of two digits in MNIST's order: first the lower (−1), then the other."""
    mnist = load("mnist")
    rows = np.concatenate(
        [np.flatnonzero(mnist.target == low), np.flatnonzero(mnist.target == high)]
    )
    target = (mnist.target[rows] == high).astype(np.int64)
    return Bunch(
        data=mnist.data[rows].astype(np.float32) / np.float32(255),
        target=target,
        y_binary=2 * target - 1,
        class_names=np.array([str(low), str(high)]),
        source=f"{mnist.source}, digits {low} and {high}, divided by 255",
    )


def _cached(name: str) -> Path:
    return cache_folder() / f"{name}.npz"


def _from_openml(name: str) -> Bunch:
    entry = CATALOG[name]
    copy = entry.openml
    assert copy is not None
    path = _cached(name)
    source = f"OpenML {copy.name!r}, version {copy.version}"
    if not path.is_file():
        if os.environ.get("BOCHNER_OFFLINE"):
            raise DatasetNotFound(
                f"{_not_available(name)}. OpenML has it, but BOCHNER_OFFLINE is set; "
                "`bochner reproduce --download` downloads it."
            )
        write_archive(path, _fetched(name, entry, copy))
    return _read(path, source)


def _fetched(name: str, entry: Entry, copy: OpenMLCopy) -> dict[str, Any]:
    """Return the arrays of an OpenML data set in the order and with the labels of the papers."""
    from sklearn import datasets

    try:
        fetched = datasets.fetch_openml(
            copy.name, version=copy.version, as_frame=False, parser="liac-arff", cache=False
        )
    except Exception as error:
        raise DatasetNotFound(
            f"{_not_available(name)}. {copy.name!r} version {copy.version} could not be fetched "
            f"from OpenML ({type(error).__name__}: {error})."
        ) from error
    X = np.asarray(fetched.data, dtype=np.float64)[:, copy.dropped_columns :]
    if X.shape != entry.shape:
        raise ValueError(
            f"OpenML {copy.name!r} version {copy.version} has shape {X.shape}, but {name!r} must "
            f"have {entry.shape}: it is not the data set of the paper. Set BOCHNER_DATA to a "
            f"folder with {name}.npz."
        )
    labels = np.asarray(fetched.target, dtype=str)
    class_names, target = np.unique(labels, return_inverse=True)
    arrays: dict[str, Any] = {"X": X, "y": target, "class_names": class_names}
    if copy.positive:
        arrays["y_binary"] = np.where(np.isin(labels, copy.positive), 1, -1)
    if copy.n_train is not None:
        arrays["n_train"] = np.int64(copy.n_train)
    if name == "mnist":
        arrays |= {"X": X.astype(np.uint8), "y": labels.astype(np.uint8)}
    return arrays


def write_archive(path: Path, arrays: dict[str, Any]) -> None:
    """Write a file completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as beside, beside.open("wb") as file:
        np.savez_compressed(file, **arrays)
