"""Fits on a file of many rows: seconds, the second thread's share, memory beyond the first lines, and how time grows with the rows.

    python benchmarks/large_files.py [--rows 1e5 1e6 1e7] [--columns 20] [--folder DIR] [--threads 1 2] [NAME ...]

Rows are float32 in a memory map; each fit runs in a process of its own, after one on 2000 rows that compiles.  Growth is the peak of resident memory
beyond that of the process before the fit, so pages of the file that are not given back count.  Floors: reading the file once (sum of all numbers), and the
product of all rows with 100 frequencies by BLAS.  LightGBM reads the same map where it is installed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

FITS = {
    "floor: one sum of all numbers": "lambda X, y: sum(float(X[i:i + 4096].sum()) for i in range(0, len(X), 4096))",
    "floor: 100 frequencies by BLAS": "lambda X, y: sum(len(X[i:i + 4096] @ W) for i in range(0, len(X), 4096))",
    "SpectralFeatures, PacBayes of 1000": "SpectralFeatures(learner=PacBayes(), n_candidates=1000, n_components=100, random_state=0).fit",
    "SpectralRidge, 100 frequencies": "SpectralRidge(SpectralFeatures(n_components=100), alpha=1.0, random_state=0).fit",
    "SpectralLogistic, 100 frequencies": "SpectralLogistic(SpectralFeatures(n_components=100), random_state=0).fit",
    "MarginGame, 10 rounds": "SpectralFeatures(learner=MarginGame(n_rounds=10), random_state=0).fit",
    "JointDescent, one epoch": "SpectralFeatures(learner=JointDescent(n_epochs=1), n_components=100, random_state=0).fit",
    "FourierBoostingClassifier": "FourierBoostingClassifier(random_state=0).fit",
    "SpectralClassifier": "SpectralClassifier(random_state=0).fit",
    "LightGBM": "LGBMClassifier(verbose=-1, n_jobs=THREADS, random_state=0).fit",
}
PROGRAM = """
import json, resource, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from bochner import *
from threadpoolctl import threadpool_limits
try:
    from lightgbm import LGBMClassifier
except ImportError:
    LGBMClassifier = None
path, labels, THREADS = sys.argv[1], sys.argv[2], int(sys.argv[3])
X, y = np.load(path, mmap_mode="r"), np.load(labels)
W = np.random.default_rng(0).normal(size=(X.shape[1], 100)).astype(np.float32)
with threadpool_limits(THREADS):
    ({fit})(np.array(X[:2000]), y[:2000])
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    before, begun, cpu = peak(), time.perf_counter(), time.process_time()
    ({fit})(X, y)
print(json.dumps([time.perf_counter() - begun, time.process_time() - cpu, peak() - before]))
"""


def write_rows(n_rows, n_columns, folder):
    """A file of rows and one of labels, which depend on waves; written in pieces, and kept."""
    paths = Path(folder) / f"rows_{n_rows}_{n_columns}.npy", Path(folder) / f"labels_{n_rows}_{n_columns}.npy"
    if not all(path.exists() for path in paths):
        rng = np.random.default_rng(0)
        frequencies, shifts = rng.normal(size=(n_columns, 6)) / np.sqrt(n_columns), rng.uniform(0, 6, size=6)
        X = np.lib.format.open_memmap(paths[0], "w+", np.float32, (n_rows, n_columns))
        y = np.empty(n_rows, np.int8)
        for start in range(0, n_rows, 2**16):
            piece = rng.normal(size=(min(2**16, n_rows - start), n_columns)).astype(np.float32)
            X[start : start + len(piece)] = piece
            scores = np.cos(2 * piece @ frequencies + shifts).sum(axis=1) + 0.5 * rng.normal(size=len(piece))
            y[start : start + len(piece)] = scores > 0
        X.flush()
        np.save(paths[1], y)
    return paths


def measured(fit, paths, n_threads):
    """(seconds, CPU seconds, bytes beyond the peak before), or None where a library is missing or the fit fails."""
    command = [sys.executable, "-c", PROGRAM.replace("{fit}", fit), *map(str, paths), str(n_threads)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
        return None
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of the names of fits; all by default")
    parser.add_argument("--rows", nargs="+", type=float, default=[1e5, 1e6, 1e7])
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--folder", help="where the files are kept; a temporary one by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sizes = sorted(int(n) for n in options.rows)
        files = {n: write_rows(n, options.columns, options.folder or folder) for n in sizes}
        print(
            f"| fit | rows | {' | '.join(f'seconds, {t} thread(s)' for t in options.threads)} | CPU ns a row | growth, MB | exponent |"
        )
        print("|---" * (5 + len(options.threads)) + "|")
        for name, fit in FITS.items():
            if options.names and not any(part.lower() in name.lower() for part in options.names):
                continue
            last = None
            for n in sizes:
                found = [measured(fit, files[n], n_threads) for n_threads in options.threads]
                if None in found:
                    break
                cpu = found[0][1]
                exponent = "" if last is None else f"{np.log(cpu / last[1]) / np.log(n / last[0]):.2f}"
                seconds = " | ".join(f"{one[0]:.2f}" for one in found)
                growth = max(one[2] for one in found) / 1e6
                print(f"| {name} | {n:.0e} | {seconds} | {1e9 * cpu / n:.0f} | {growth:.0f} | {exponent} |", flush=True)
                last = n, cpu


if __name__ == "__main__":
    main()
