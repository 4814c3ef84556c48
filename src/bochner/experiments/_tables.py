"""A folder of real tables, ``BOCHNER_TABLES``: one Parquet file each, its target in the column ``target``, and an index of them.

``index.json`` lists {"name", "task" ("classification" or "regression"), "n"} of each.  Where there is no folder, the tables that come with
scikit-learn stand in.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets as sklearn_datasets
from sklearn.model_selection import train_test_split

_SHARE_OF_TEST, _MOST_ROWS = 0.25, 10_000
_STAND_INS = {
    "iris": ("classification", 150),
    "wine": ("classification", 178),
    "breast_cancer": ("classification", 569),
    "diabetes": ("regression", 442),
}


@cache
def tables() -> dict[str, dict[str, Any]]:
    """What is known of each table, by name."""
    folder = os.environ.get("BOCHNER_TABLES")
    if folder is None:
        return {name: {"name": name, "task": task, "n": n} for name, (task, n) in _STAND_INS.items()}
    index = Path(folder) / "index.json"
    if not index.is_file():
        raise FileNotFoundError(f"BOCHNER_TABLES={folder} has no index.json; give a folder of tables, or unset it.")
    return {entry["name"]: entry for entry in json.loads(index.read_text(encoding="utf-8"))}


def load_table(name: str) -> tuple[Any, np.ndarray, str]:
    """A frame, its target (text or floats) and the task."""
    import pandas as pd

    task = tables()[name]["task"]
    folder = os.environ.get("BOCHNER_TABLES")
    if folder is None:
        bunch = getattr(sklearn_datasets, f"load_{name}")(as_frame=True)
        frame, target = bunch.data, bunch.target
    else:
        frame = pd.read_parquet(Path(folder) / f"{name}.parquet")
        target = frame.pop("target")
        text = [column for column in frame.columns if not pd.api.types.is_numeric_dtype(frame[column])]
        frame = frame.astype(dict.fromkeys(text, "category"))
    y = np.asarray(target.astype(str) if task == "classification" else target.astype(float))
    return frame, y.astype(str) if task == "classification" else y, task


def split_rows(y: np.ndarray, task: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows: 75/25, stratified for classes, at most 10 000 of each."""
    strata = y if task == "classification" else None
    train, test = train_test_split(np.arange(len(y)), test_size=_SHARE_OF_TEST, random_state=seed, stratify=strata)
    if len(train) > _MOST_ROWS:
        strata = None if strata is None else y[train]
        train = train_test_split(train, train_size=_MOST_ROWS, random_state=seed, stratify=strata)[0]
    if len(test) > _MOST_ROWS:
        test = np.random.default_rng(seed).permutation(test)[:_MOST_ROWS]
    return train, np.sort(test)


def n_splits(name: str) -> int:
    """Splits that give a mean worth comparing: 3 below 2000 rows, 2 below 10 000, else 1."""
    n = tables()[name]["n"]
    return 3 if n < 2000 else 2 if n < 10_000 else 1
