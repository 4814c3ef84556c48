"""Data sets stored as plain ``.npz`` files in the folder named by the environment variable BOCHNER_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch


def data_folder() -> Path | None:
    """The folder named by BOCHNER_DATA, or None when the variable is not set or names no folder."""
    folder = os.environ.get("BOCHNER_DATA")
    return Path(folder) if folder and Path(folder).is_dir() else None


def load(name: str) -> Bunch:
    """Data set ``name``: ``data`` (dense or CSR), ``target``, and whatever else the file holds (``y_binary``, ``n_train``…)."""
    folder = data_folder()
    path = folder / f"{name}.npz" if folder else None
    if path is None or not path.is_file():
        raise FileNotFoundError(
            f"Data set {name!r} is not at hand: set BOCHNER_DATA to a folder that holds {name}.npz "
            f"(it is {os.environ.get('BOCHNER_DATA')!r} now)."
        )
    with np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    if "X_indptr" in arrays:
        data = sp.csr_matrix(
            (arrays.pop("X_data").astype("f4"), arrays.pop("X_indices").astype("i4"), arrays.pop("X_indptr")),
            shape=tuple(arrays.pop("X_shape")),
        )
    else:
        data = arrays.pop("X")
    arrays = {key: value.item() if value.ndim == 0 else value for key, value in arrays.items()}
    return Bunch(data=data, target=arrays.pop("y"), **arrays)
