"""FourierBoostingRegressor against LightGBM on a folder of real tables, both with their defaults:
RMSE and fit time.

``BOCHNER_TABLES=folder python benchmarks/boosting_tables.py`` prints one line for each table of
values (see ``arena.py``): our RMSE over LightGBM's, geometric mean over its splits, and our time
over LightGBM's, one thread each, CPU time. We see the frame through ``TableInputs``, LightGBM its
categories and missing values as they are. Defaults were chosen on the tables marked "chosen", in
alphabetical order the first, third, ..., and judged on the others.
"""

import time
import warnings

import numpy as np
from arena import load_table, split_rows, tables
from lightgbm import LGBMRegressor
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from bochner import FourierBoostingRegressor, TableInputs

warnings.filterwarnings("ignore", message="X does not have valid feature names")


def rmse_and_seconds(model, frame, y, train, test):
    """Root mean squared error on the test rows, and CPU seconds of the fit."""
    begun = time.process_time()
    model.fit(frame.iloc[train], y[train])
    seconds = time.process_time() - begun
    return np.sqrt(np.mean((model.predict(frame.iloc[test]) - y[test]) ** 2)), seconds


def n_splits(name):
    """Return the splits that a mean needs: 3 below 2000 rows, 2 below 10 000, else 1."""
    n = tables()[name]["n"]
    return 3 if n < 2000 else 2 if n < 10_000 else 1


def ratios(name):
    """(RMSE, time, LightGBM's time): the first two relative to LightGBM, means over the splits of a
    table.
    """
    frame, y, task = load_table(name)
    found = []
    for seed in range(n_splits(name)):
        rows = split_rows(y, task, seed)
        ours = make_pipeline(TableInputs(), FourierBoostingRegressor(random_state=seed))
        peer = LGBMRegressor(n_jobs=1, random_state=seed, verbose=-1)
        (our_error, our_seconds), (error, seconds) = (
            rmse_and_seconds(model, frame, y, *rows) for model in (ours, peer)
        )
        found.append((our_error / error, our_seconds / seconds, seconds))
    return np.exp(np.mean(np.log(found), axis=0))


def geometric_mean(values):
    """exp of the mean logarithm."""
    return float(np.exp(np.mean(np.log(values))))


def main():
    """Print the table and its means."""
    names = sorted(name for name, entry in tables().items() if entry["task"] == "regression")
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        FourierBoostingRegressor(n_rounds=3, random_state=0).fit(
            rng.normal(size=(5000, 3)), rng.normal(size=5000)
        )
        found = {}
        for k, name in enumerate(names):
            found[name] = error, seconds, peer = ratios(name)
            part = "judged" if k % 2 else "chosen"
            print(
                f"{name:20s} {part}  RMSE x{error:.3f}  time x{seconds:5.1f} of {peer:.2f} s",
                flush=True,
            )
    for label, part in (("chosen", names[::2]), ("judged", names[1::2]), ("all", names)):
        errors, times, _ = zip(*(found[name] for name in part))
        wins = sum(error < 1 for error in errors)
        print(
            f"{label}: {len(part)} tables, RMSE x{geometric_mean(errors):.3f} (better on {wins}), "
            f"time x{geometric_mean(times):.1f}"
        )


if __name__ == "__main__":
    main()
