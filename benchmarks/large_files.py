"""Fits on a file of many rows: rows a second, memory beyond the start, and how the cost grows with
the rows.

    python benchmarks/large_files.py [--rows 1e5 1e6 5e6 1e7] [--columns 20] [--threads 1 2]
    [--folder DIR] [--again] [NAME ...]

Rows are float32 in a memory map; each fit runs in a process of its own, after one on a few rows
that compiles. What was measured is kept in `large_files.json` after each fit, so that an
interrupted run goes on where it was, and written as a table into `large_files.md`; `--again`
measures again. Growth is the peak of the process's own memory (not of pages of the file) beyond
that before the fit, looked at every 5 ms; "with pages" counts those of the file that are not given
back, too. The exponent is that of CPU time from the first size of 1e5 rows or more on. Floors: the
sum of all numbers of the file, and the product of all rows with 100 frequencies by BLAS. LightGBM
reads the same map where it is installed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import machine_facts

HERE = Path(__file__).parent
FITS = {
    "floor: one sum of all numbers": "lambda X, y: sum(float(X[i:i + 4096].sum()) for i in "
    "range(0, len(X), 4096))",
    "floor: 100 frequencies by BLAS": "lambda X, y: sum(len(X[i:i + 4096] @ W) for i in range(0, "
    "len(X), 4096))",
    "SpectralFeatures, PacBayes of 1000": "SpectralFeatures(learner=PacBayes(), n_candidates=1000, "
    "n_components=100, random_state=0).fit",
    "SpectralRidge, 100 frequencies": "SpectralRidge(SpectralFeatures(n_components=100), "
    "alpha=1.0, random_state=0).fit",
    "SpectralLogistic, 100 frequencies": "SpectralLogistic(SpectralFeatures(n_components=100), "
    "random_state=0).fit",
    "MarginGame, 10 rounds": "SpectralFeatures(learner=MarginGame(n_rounds=10), random_state=0).fit",
    "JointDescent, one epoch": "SpectralFeatures(learner=JointDescent(n_epochs=1), "
    "n_components=100, random_state=0).fit",
    "FourierBoostingClassifier": "FourierBoostingClassifier(random_state=0).fit",
    "SpectralClassifier": "SpectralClassifier(random_state=0).fit",
    "LightGBM": "LGBMClassifier(verbose=-1, n_jobs=THREADS, random_state=0).fit",
}
# Fits whose method has changed since they were measured: not in the summary before `--again`.
OUTDATED = {"SpectralClassifier"}
# Rows of the fit before, which compiles: as many as it takes to go the same way.
FIRST_ROWS = {"FourierBoostingClassifier": 20_000, "MarginGame, 10 rounds": 20_000}
PROGRAM = """
import json, sys, threading, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from bochner import *
from bochner.learners import *
from threadpoolctl import threadpool_limits
try:
    from lightgbm import LGBMClassifier
except ImportError:
    LGBMClassifier = None
path, labels, THREADS = sys.argv[1], sys.argv[2], int(sys.argv[3])
X, y = np.load(path, mmap_mode="r"), np.load(labels)
W = np.random.default_rng(0).normal(size=(X.shape[1], 100)).astype(np.float32)

def memory():
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return [1024 * int(lines[name].split()[0]) for name in ("RssAnon", "VmRSS")]

def watch(done, peaks):
    while not done.wait(0.005):
        peaks[:] = map(max, peaks, memory())

with threadpool_limits(THREADS):
    ({fit})(np.array(X[:{first}]), y[:{first}])
    before, done = memory(), threading.Event()
    peaks = list(before)
    watcher = threading.Thread(target=watch, args=(done, peaks))
    watcher.start()
    begun, cpu = time.perf_counter(), time.process_time()
    try:
        ({fit})(X, y)
        taken = time.perf_counter() - begun, time.process_time() - cpu
    finally:
        done.set()
        watcher.join()
print(json.dumps([*taken, *(p - b for p, b in zip(peaks, before))]))
"""


def write_rows(n_rows, n_columns, folder):
    """A file of rows and one of labels, which depend on waves; written in pieces, and kept."""
    paths = (
        Path(folder) / f"rows_{n_rows}_{n_columns}.npy",
        Path(folder) / f"labels_{n_rows}_{n_columns}.npy",
    )
    if not paths[1].exists():  # written last
        rng = np.random.default_rng(0)
        frequencies, shifts = (
            rng.normal(size=(n_columns, 6)) / np.sqrt(n_columns),
            rng.uniform(0, 6, size=6),
        )
        X = np.lib.format.open_memmap(paths[0], "w+", np.float32, (n_rows, n_columns))
        y = np.empty(n_rows, np.int8)
        for start in range(0, n_rows, 2**16):
            piece = rng.normal(size=(min(2**16, n_rows - start), n_columns)).astype(np.float32)
            X[start : start + len(piece)] = piece
            scores = np.cos(2 * piece @ frequencies + shifts).sum(axis=1) + 0.5 * rng.normal(
                size=len(piece)
            )
            y[start : start + len(piece)] = scores > 0
        X.flush()
        np.save(paths[1], y)
    return paths


def measured(name, paths, n_threads):
    """What a fit took, or the last line of its complaint."""
    program = PROGRAM.replace("{fit}", FITS[name]).replace(
        "{first}", str(FIRST_ROWS.get(name, 2000))
    )
    command = [sys.executable, "-c", program, *map(str, paths), str(n_threads)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {
            "failed": (done.stderr.strip().splitlines() or [f"ended by signal {-done.returncode}"])[
                -1
            ]
        }
    return dict(
        zip(("seconds", "cpu", "growth", "growth_with_pages"), json.loads(done.stdout), strict=True)
    )


class Kept:
    """Measurements by name, rows, columns and threads, in a file that is replaced after each."""

    def __init__(self, path):
        self.path = Path(path)
        self.records = json.loads(self.path.read_text())["measured"] if self.path.exists() else []

    def find(self, **key):
        """The measurement with this key, or None."""
        return next(
            (one for one in self.records if all(one[name] == value for name, value in key.items())),
            None,
        )

    def add(self, found, **key):
        """Keep a measurement in place of an earlier one with the same key."""
        self.records = [
            one for one in self.records if any(one[name] != value for name, value in key.items())
        ]
        self.records.append(key | found)
        replace_file(
            self.path,
            json.dumps({"machine": machine_facts(), "measured": self.records}, indent=1) + "\n",
        )


def replace_file(path, text):
    beside = path.with_name(path.name + ".part")
    beside.write_text(text)
    os.replace(beside, path)


def exponent(points):
    """How CPU time grows from the first size of 1e5 rows or more to the last: slope of its
    logarithm; None for fewer than two sizes.

    >>> exponent([(1e4, 5.0), (1e5, 2.0), (1e7, 200.0)])
    1.0
    """
    large = sorted(point for point in points if point[0] >= 1e5)
    if len(large) < 2:
        return None
    (first, least), (last, most) = large[0], large[-1]
    return float(np.log(most / least) / np.log(last / first))


def page(records, n_columns):
    """The table, a line for each fit and size."""
    head = [
        "fit",
        "rows",
        "seconds",
        "seconds, 2 threads",
        "rows/s",
        "CPU ns a row",
        "growth, MB",
        "with pages",
        "exponent",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    chosen = [one for one in records if one["columns"] == n_columns]
    for name in FITS:
        mine = sorted(
            (one for one in chosen if one["name"] == name),
            key=lambda one: (one["rows"], one["threads"]),
        )
        for n_rows in sorted({one["rows"] for one in mine}):
            here = {one["threads"]: one for one in mine if one["rows"] == n_rows}
            sound = {t: one for t, one in here.items() if "failed" not in one}
            if not sound:
                lines.append(
                    f"| {name} | {n_rows:.0e} | {next(iter(here.values()))['failed']} |" + " |" * 6
                )
                continue
            least = sound[min(sound)]
            points = [
                (one["rows"], one["cpu"])
                for one in mine
                if one["threads"] == min(sound) and one["rows"] <= n_rows and "failed" not in one
            ]
            grown = exponent(points)
            fastest = min(one["seconds"] for one in sound.values())
            cells = [
                name,
                f"{n_rows:.0e}",
                f"{sound[1]['seconds']:.2f}" if 1 in sound else "",
                f"{sound[2]['seconds']:.2f}" if 2 in sound else "",
                f"{n_rows / fastest:.2g}",
                f"{1e9 * least['cpu'] / n_rows:.0f}",
                *(
                    f"{max(one[what] for one in sound.values()) / 1e6:.0f}"
                    for what in ("growth", "growth_with_pages")
                ),
                "" if grown is None else f"{grown:.2f}",
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def summary(records, n_columns):
    """A line for each fit: seconds on two threads by number of rows, and memory of the largest."""
    sizes = (10**5, 10**6, 10**7)
    head = ["fit", *(f"{n_rows:.0e} rows" for n_rows in sizes), "memory, MB"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name in (name for name in FITS if name not in OUTDATED):
        sound = {
            one["rows"]: one
            for one in records
            if (one["name"], one["columns"], one["threads"]) == (name, n_columns, 2)
            and "failed" not in one
        }
        if sound:
            seconds = [f"{sound[n]['seconds']:.2f}" if n in sound else "" for n in sizes]
            growth = f"{sound[max(sound)]['growth'] / 1e6:.0f}"
            lines.append("| " + " | ".join([name, *seconds, growth]) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of the names of fits; all by default")
    parser.add_argument("--rows", nargs="+", type=float, default=[1e5, 1e6, 5e6, 1e7])
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument(
        "--folder", help="where the files of rows are kept; a temporary one by default"
    )
    parser.add_argument(
        "--out", type=Path, default=HERE / "large_files", help="results, without ending"
    )
    parser.add_argument("--again", action="store_true", help="measure again what is kept already")
    options = parser.parse_args()
    kept, sizes = Kept(options.out.with_suffix(".json")), sorted(int(n) for n in options.rows)
    wanted = [
        {"name": name, "rows": n, "columns": options.columns, "threads": t}
        for n in sizes
        for name in FITS
        for t in options.threads
        if not options.names or any(part.lower() in name.lower() for part in options.names)
    ]
    if not options.again:
        wanted = [key for key in wanted if "failed" in (kept.find(**key) or {"failed": ""})]
    with tempfile.TemporaryDirectory() as folder:
        for number, key in enumerate(wanted, 1):
            print(
                f"[{number}/{len(wanted)}] {key['name']}, {key['rows']:.0e} rows, {key['threads']} "
                "thread(s) …",
                file=sys.stderr,
            )
            begun = time.perf_counter()
            found = measured(
                key["name"],
                write_rows(key["rows"], key["columns"], options.folder or folder),
                key["threads"],
            )
            kept.add(found, **key)
            says = (
                found.get("failed") or f"{found['seconds']:.2f} s, {found['growth'] / 1e6:.0f} MB"
            )
            print(
                f"    {says} ({time.perf_counter() - begun:.0f} s in all)",
                file=sys.stderr,
                flush=True,
            )
            write_page(kept.records, options)
    write_page(kept.records, options)
    print(page(kept.records, options.columns))


def write_page(records, options):
    text = f"# Fits on large files, {options.columns} columns of float32\n\n{(__doc__ or '').strip()}\n\n"
    text += "  \n".join(machine_facts()) + f"\n\n{page(records, options.columns)}\n"
    replace_file(options.out.with_suffix(".md"), text)


if __name__ == "__main__":
    main()
