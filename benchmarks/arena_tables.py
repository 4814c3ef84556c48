"""Tables of the benchmark: their rows, splits and halves."""

import json
import os
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from sklearn import datasets
from sklearn.model_selection import train_test_split

STAND_INS = {
    "iris": ("classification", 150),
    "wine": ("classification", 178),
    "breast_cancer": ("classification", 569),
    "diabetes": ("regression", 442),
}
# Tables that serve learning curves only: files of BOCHNER_DATA, and a generated table.
DATA_FILES = {
    "covertype_93k": "classification",
    "adult": "classification",
    "bankmarketing": "classification",
    "uci_kin40k": "regression",
    "california": "regression",
}
GENERATED = "generated_million"
GENERATED_ROWS = 1_333_334  # three quarters are a million
CURVE_TABLES = [*DATA_FILES, "shuttle", "flights_delay", "movies_rating", "nls_wage", GENERATED]
CURVE_ROWS = [1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
MOST_TEST_ROWS = 10_000


def tables():
    """Return the entry of each table of the folder, by name."""
    folder = os.environ.get("BOCHNER_TABLES")
    if folder is None:
        return {name: {"name": name, "task": task, "n": n} for name, (task, n) in STAND_INS.items()}
    index = Path(folder) / "index.json"
    if not index.is_file():
        raise FileNotFoundError(f"BOCHNER_TABLES={folder} has no index.json; give another folder.")
    return {entry["name"]: entry for entry in json.loads(index.read_text(encoding="utf-8"))}


def curve_tables():
    """Return the names of the tables for learning curves whose rows are on this machine."""
    files = Path(os.environ.get("BOCHNER_DATA", "/nonexistent"))
    found = {name for name in DATA_FILES if (files / f"{name}.npz").is_file()}
    found |= {GENERATED, *tables()}
    return [name for name in CURVE_TABLES if name in found]


def load_table(name):
    """Return a frame, its target (text or floats) and the task."""
    if name == GENERATED:
        return *generated_table(GENERATED_ROWS), "regression"
    folder = os.environ.get("BOCHNER_TABLES")
    if name in DATA_FILES:
        task = DATA_FILES[name]
        with np.load(Path(os.environ["BOCHNER_DATA"]) / f"{name}.npz") as arrays:
            frame, target = pd.DataFrame(arrays["X"]).add_prefix("x"), pd.Series(arrays["y"])
    elif folder is None:
        task = tables()[name]["task"]
        bunch = getattr(datasets, f"load_{name}")(as_frame=True)
        frame, target = bunch.data, bunch.target
    else:
        task = tables()[name]["task"]
        frame = pd.read_parquet(Path(folder) / f"{name}.parquet")
        target = frame.pop("target")
        text = [name for name, kind in frame.dtypes.items() if not is_numeric_dtype(kind)]
        frame = frame.astype(dict.fromkeys(text, "category"))
    y = np.asarray(target.astype(str if task == "classification" else float))
    return frame, y.astype(str) if task == "classification" else y, task


def generated_table(n_rows, seed=0):
    """Return twenty uniform columns and values that depend on eight of them.

    A smooth part, the first function of Friedman (1991), and two steps, each of which suits one
    kind of model: 10 sin(π x0 x1) + 20 (x2 − 1/2)² + 10 x3 + 5 x4 + 5 [x5 > .7]
    − 5 [x6 < .3 and x7 > .5] + noise of variance one.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 20))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y += 10 * X[:, 3] + 5 * X[:, 4] + 5 * (X[:, 5] > 0.7)
    y -= 5 * ((X[:, 6] < 0.3) & (X[:, 7] > 0.5))
    return pd.DataFrame(X).add_prefix("x"), y + rng.normal(size=n_rows)


def split_rows(y, task, seed, most_rows=10_000):
    """Return training and test rows: 75/25, stratified for classes, at most so many of each."""
    strata, rows = y if task == "classification" else None, np.arange(len(y))
    train, test = train_test_split(rows, test_size=0.25, random_state=seed, stratify=strata)
    if len(train) > most_rows:
        strata = None if strata is None else y[train]
        train = train_test_split(train, train_size=most_rows, random_state=seed, stratify=strata)[0]
    if len(test) > MOST_TEST_ROWS:
        test = np.random.default_rng(seed).permutation(test)[:MOST_TEST_ROWS]
    return train, np.sort(test)


def n_splits(n_rows):
    """Return how many splits give a mean worth a comparison."""
    return 3 if n_rows < 2000 else 2 if n_rows < 10_000 else 1


def half(name):
    """Return ``chosen`` if the table may serve the choice of defaults, else ``reported``."""
    return "reported" if zlib.crc32(name.encode()) % 2 else "chosen"


def curve_sizes(n_train):
    """Return the numbers of training rows of a learning curve; the last has all, up to a million."""
    most = min(n_train, CURVE_ROWS[-1])
    return [rows for rows in CURVE_ROWS if rows < most] + [most]
