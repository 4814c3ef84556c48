"""``bochner fit`` and ``bochner predict`` on a table of a million rows, from CSV and from Parquet:
seconds, CPU seconds, peak memory.

    python benchmarks/big_tables.py [--rows 1000000] [--folder DIR] [--no-baselines] [csv] [parquet]

Twenty columns of a generated table: seventeen numbers, a date, a category of thirty levels, an
amount in dollars; two classes. Each command runs in a process of its own, and its peak is the most
that the system saw resident. Aim: minutes on two cores, and less than 3 GB.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

AIM_BYTES = 3e9
# Runs the command, then says what it took: the peak of this very process, and its CPU seconds.
_COMMAND = """
import resource, sys
from bochner.cli import main
from bochner.tables.provenance import peak_bytes
code = main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
print("took", code, used.ru_utime + used.ru_stime, peak_bytes(), file=sys.stderr)
"""


def write_tables(n_rows, folder, kinds):
    """The generated table as files of these kinds; those that are there already stay."""
    paths = {kind: Path(folder) / f"big_{n_rows}.{kind}" for kind in kinds}
    if all(path.exists() for path in paths.values()):
        return paths
    rng = np.random.default_rng(0)
    X, y = make_classification(
        n_rows,
        n_features=17,
        n_informative=8,
        n_redundant=2,
        flip_y=0.02,
        weights=[0.8],
        random_state=0,
    )
    frame = pd.DataFrame(X.round(4), columns=[f"x{k}" for k in range(17)])
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(1500, size=n_rows), "D")
    frame["day"] = days.strftime("%d/%m/%Y")
    frame["kind"] = np.array([f"kind {k}" for k in range(30)])[rng.integers(30, size=n_rows)]
    frame["price"] = [f"${value:,.2f}" for value in np.exp(rng.normal(7, 1, size=n_rows))]
    frame["target"] = np.array(["no", "yes"])[y]
    for kind, path in paths.items():
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path, index=False)
    return paths


def measured(*arguments):
    """(seconds, CPU seconds, peak bytes) of a command."""
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.perf_counter() - begun
    code, cpu, peak = next(
        line for line in done.stderr.splitlines() if line.startswith("took")
    ).split()[1:]
    if code != "0":
        sys.exit(done.stderr)
    return seconds, float(cpu), float(peak)


def main():
    """One line for each command."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("kinds", nargs="*", default=["csv", "parquet"])
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--folder")
    options.add_argument("--no-baselines", action="store_true")
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = Path(options.folder or own)
        paths = write_tables(options.rows, folder, options.kinds)
        print("| command | seconds | CPU seconds | peak GB | below 3 GB |\n|---|---|---|---|---|")
        for kind, path in paths.items():
            model, out = folder / f"{kind}.skops", folder / f"predicted.{kind}"
            fit = [
                "fit",
                path,
                "--target",
                "target",
                "--out",
                model,
                *["--no-baselines"] * options.no_baselines,
            ]
            for command in (fit, ["predict", model, path, "--proba", "--out", out]):
                seconds, cpu, peak = measured(*command)
                size = os.path.getsize(path) / 1e6
                name = f"{command[0]} {options.rows} x 20, {kind} of {size:.0f} MB"
                print(
                    f"| {name} | {seconds:.0f} | {cpu:.0f} | {peak / 1e9:.2f} | {peak < AIM_BYTES} "
                    "|",
                    flush=True,
                )


if __name__ == "__main__":
    main()
