"""The tabular models beside boosted trees of other libraries, untuned, on a folder of real tables.

    BOCHNER_TABLES=folder python benchmarks/arena.py [--rows N] [--tables NAME ...] [--lines FILE]

prints the comparison as a table in Markdown.  With ``--lines`` every fit is kept as a line of FILE,
fits that are there are not repeated, and the table is that of all lines.  ``--tables`` without a
name fits nothing:

    python benchmarks/arena.py --lines benchmarks/arena.jsonl --tables > benchmarks/arena.md

The folder holds a Parquet file for each table, with the target in the column ``target``, and
``index.json``: a list of {"name", "task" ("classification" or "regression"), "n"}.  Without a
folder, tables of scikit-learn are used.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from sklearn import datasets
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from bochner import SpectralClassifier, SpectralRegressor, __version__
from bochner.tables.evaluate.baselines import catboost, histogram_trees, installed, lightgbm

OURS = "front door"
TIE = 0.002
STAND_INS = {
    "iris": ("classification", 150),
    "wine": ("classification", 178),
    "breast_cancer": ("classification", 569),
    "diabetes": ("regression", 442),
}


def tables():
    """Return what is known of each table, by name."""
    folder = os.environ.get("BOCHNER_TABLES")
    if folder is None:
        return {name: {"name": name, "task": task, "n": n} for name, (task, n) in STAND_INS.items()}
    index = Path(folder) / "index.json"
    if not index.is_file():
        raise FileNotFoundError(f"BOCHNER_TABLES={folder} has no index.json; give another folder.")
    return {entry["name"]: entry for entry in json.loads(index.read_text(encoding="utf-8"))}


def load_table(name):
    """Return a frame, its target (text or floats) and the task."""
    task, folder = tables()[name]["task"], os.environ.get("BOCHNER_TABLES")
    if folder is None:
        bunch = getattr(datasets, f"load_{name}")(as_frame=True)
        frame, target = bunch.data, bunch.target
    else:
        frame = pd.read_parquet(Path(folder) / f"{name}.parquet")
        target = frame.pop("target")
        text = [name for name, kind in frame.dtypes.items() if not is_numeric_dtype(kind)]
        frame = frame.astype(dict.fromkeys(text, "category"))
    y = np.asarray(target.astype(str if task == "classification" else float))
    return frame, y.astype(str) if task == "classification" else y, task


def split_rows(y, task, seed, most_rows=10_000):
    """Return training and test rows: 75/25, stratified for classes, at most so many of each."""
    strata, rows = y if task == "classification" else None, np.arange(len(y))
    train, test = train_test_split(rows, test_size=0.25, random_state=seed, stratify=strata)
    if len(train) > most_rows:
        strata = None if strata is None else y[train]
        train = train_test_split(train, train_size=most_rows, random_state=seed, stratify=strata)[0]
    if len(test) > most_rows:
        test = np.random.default_rng(seed).permutation(test)[:most_rows]
    return train, np.sort(test)


def front_door(X, classify, seed):
    return (SpectralClassifier if classify else SpectralRegressor)(random_state=seed)


def catboost_on_one_thread(X, classify, seed):
    return catboost(X, classify, seed).set_params(model__thread_count=1)


LEARNERS = {
    OURS: front_door,
    "CatBoost": catboost_on_one_thread,
    "LightGBM": lightgbm,
    "HistGradientBoosting": histogram_trees,
}


def measured(learner, frame, y, task, train, test):
    """Return the scores on the test rows, and the CPU seconds of the fit on one thread."""
    model, X_test = LEARNERS[learner](frame, task == "classification", 0), frame.iloc[test]
    with threadpool_limits(1):
        begun = time.process_time()
        model.fit(frame.iloc[train], y[train])
        seconds = {"fit seconds": time.process_time() - begun, "version": __version__}
        if task == "regression":
            return {"r2": r2_score(y[test], model.predict(X_test))} | seconds
        classes, shares = np.unique(y[train]), np.asarray(model.predict_proba(X_test), dtype=float)
    shares = np.maximum(shares, 1e-9)
    shares /= shares.sum(axis=1, keepdims=True)
    known = np.isin(y[test], classes)
    return {
        "accuracy": accuracy_score(y[test], classes[shares.argmax(axis=1)]),
        "log loss": log_loss(y[test][known], shares[known], labels=classes),
    } | seconds


def pairs(lines, rival, quantity):
    """Return (our line, the rival's) for each table and number of rows with this score of both."""
    found = {OURS: {}, rival: {}}
    for one in lines:
        if one["learner"] in found and quantity in one:
            found[one["learner"]][one["table"], one["rows"]] = one
    return [(one, found[rival][key]) for key, one in found[OURS].items() if key in found[rival]]


def gains(lines, rival, quantity):
    """Return our score minus the rival's, table by table; of log-loss the rival's minus ours."""
    sign = -1 if quantity == "log loss" else 1
    both = pairs(lines, rival, quantity)
    return np.array([sign * (one[quantity] - other[quantity]) for one, other in both])


def number(value):
    """Return three decimals with a sign, without the zero before the point."""
    return f"{value:+.3f}".replace("0.", ".", 1)


def mean(found):
    return number(found.mean())


def mean_and_error(found):
    error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
    return f"{mean(found)} ± {number(error)[1:]}"


def mean_error_and_median(found):
    return f"{mean_and_error(found)} ({number(np.median(found))})"


COLUMNS = {
    "accuracy": ("accuracy, mean ± se", mean_and_error),
    "log loss": ("log-loss gain", mean),
    "r2": ("R², mean ± se (median)", mean_error_and_median),
}


def time_ratio(lines, rival, quantity):
    both = pairs(lines, rival, quantity)
    ratios = [one["fit seconds"] / max(other["fit seconds"], 1e-3) for one, other in both]
    return f"×{np.median(ratios):.2g}" if ratios else "–"


def row(lines, rival):
    """Return the cells of one rival; dashes where no table has a score of both."""
    sizes = [len(pairs(lines, rival, quantity)) for quantity in ("accuracy", "r2")]
    cells = [f"{rival} ({sizes[0]} + {sizes[1]})"]
    for quantity, (_, text) in COLUMNS.items():
        found = gains(lines, rival, quantity)
        counts = [np.sum(found > TIE), np.sum(np.abs(found) <= TIE), np.sum(found < -TIE)]
        cells += [text(found), "/".join(map(str, counts))] if len(found) else ["–", "–"]
    times = [time_ratio(lines, rival, quantity) for quantity in ("accuracy", "r2")]
    return [*cells, " / ".join(times)]


def page(lines):
    """Return the table in Markdown, and the versions of our lines."""
    heads = [f"{OURS} − (tables with classes + with values)"]
    heads += [text for head, _ in COLUMNS.values() for text in (head, "w/t/l")]
    rows = [[*heads, "fit time, classes / values"], ["---"] * (len(heads) + 1)]
    learners = dict.fromkeys(one["learner"] for one in lines)
    rows += [row(lines, rival) for rival in learners if rival != OURS]
    versions = sorted({one["version"] for one in lines if one["learner"] == OURS})
    texts = ["| " + " | ".join(cells) + " |" for cells in rows]
    return "\n".join([*texts, "", f"Version of bochner: {', '.join(versions) or 'none'}."]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000, help="training rows at most")
    parser.add_argument("--tables", nargs="*", metavar="NAME", help="all of the folder by default")
    parser.add_argument("--lines", type=Path, metavar="FILE", help="keep every fit, and go on")
    options = parser.parse_args()
    lines = []
    if options.lines and options.lines.is_file():
        lines = [json.loads(line) for line in options.lines.read_text().splitlines()]
    done = {(one["table"], one["learner"], one["rows"]) for one in lines}
    learners = [name for name in LEARNERS if name in (OURS, "HistGradientBoosting", *installed())]
    for name in tables() if options.tables is None else options.tables:
        frame, y, task = load_table(name)
        train, test = split_rows(y, task, 0, options.rows)
        for learner in learners:
            key = {"table": name, "learner": learner, "rows": len(train)}
            if tuple(key.values()) in done:
                continue
            lines.append(key | measured(learner, frame, y, task, train, test))
            text = json.dumps(lines[-1])
            print(text, file=sys.stderr, flush=True)
            if options.lines:
                with options.lines.open("a") as file:
                    file.write(text + "\n")
    sys.stdout.write(page(lines))


if __name__ == "__main__":
    main()
