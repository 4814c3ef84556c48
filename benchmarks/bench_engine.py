"""The numeric kernels against their floor (the bare matrix product) and against the obvious ways to
do the same.
"""

import subprocess
import sys
import time
from functools import partial

import numpy as np
from measure import best_times, machine_facts, one_thread, table
from sklearn.kernel_approximation import RBFSampler

from bochner import FourierMeasure
from bochner._loops.blocks import features_block
from bochner.data import Block, LocalRows
from bochner.learners.alignment import fourier_sums, potential_and_gradient

DTYPES = (np.float32, np.float64)


def gram_block(features, X):
    """Return Φᵀ Φ of one block, Φ = ``features(X)``."""
    block = features(X)
    return (np.matmul(block.T, block).astype(np.float64),)


def data(n_rows, n_features, n_atoms, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32).astype(dtype)
    frequencies = rng.standard_normal((n_atoms, n_features)) / np.sqrt(n_features)
    return (
        X,
        FourierMeasure(frequencies, np.full(n_atoms, 1 / n_atoms)),
        frequencies.astype(dtype).T,
    )


def feature_map():
    targets = {
        (784, np.float32): ("<= 1.2", ">= 2.5"),
        (784, np.float64): ("<= 1.2", ">= 4"),
        (20, np.float32): ("<= 1.1", ">= 7"),
        (20, np.float64): ("<= 1.1", ">= 12"),
    }
    for n_rows, n_features, n_atoms in ((20_000, 784, 1000), (100_000, 20, 500)):
        for dtype in DTYPES:
            X, measure, columns = data(n_rows, n_features, n_atoms, dtype)
            out = np.empty((n_rows, 2 * n_atoms), dtype)
            wide = np.concatenate([columns, columns], axis=1)
            sampler = RBFSampler(n_components=2 * n_atoms, random_state=0).fit(X[:10])
            with one_thread():
                seconds = best_times(
                    {
                        "bochner": partial(measure.features, X, out=out),
                        "gemm": partial(np.matmul, X, columns),
                        "gemm, as many columns": partial(np.matmul, X, wide, out=out),
                        "RBFSampler": partial(sampler.transform, X),
                    }
                )
            gemm, peer = targets[n_features, dtype]
            name = f"feature map, d = {n_features}, {dtype.__name__}"
            yield (
                f"{name} / bare GEMM",
                seconds["bochner"] / seconds["gemm"],
                gemm,
                "X @ W, result allocated",
            )
            ratio = seconds["bochner"] / seconds["gemm, as many columns"]
            yield f"{name} / GEMM of the output's size", ratio, "", "X @ [W, W] into the same `out`"
            ratio = seconds["RBFSampler"] / seconds["bochner"]
            yield f"RBFSampler.transform / {name}", ratio, peer, "same number of columns"


def two_threads():
    for dtype in DTYPES:
        X, measure, _ = data(20_000, 784, 1000, dtype)
        out = np.empty((20_000, 2000), dtype)

        def single(measure=measure, X=X, out=out):
            with one_thread():
                measure.features(X, out=out)

        seconds = best_times(
            {"one": single, "two": partial(measure.features, X, out=out)},
            repetitions=7,
            clock=time.perf_counter,
        )
        name = f"feature map, d = 784, {dtype.__name__}: one thread / all threads"
        yield name, seconds["one"] / seconds["two"], ">= 1.6", "wall time"


def class_sums():
    for dtype in DTYPES:
        X, measure, columns = data(10_000, 784, 20_000, dtype)
        labels = np.random.default_rng(1).integers(0, 10, 10_000)
        one_hot = np.eye(10, dtype=dtype)[labels]

        def einsum(X=X, columns=columns, one_hot=one_hot):
            projection = X @ columns
            return np.einsum("ik,ij->kj", one_hot, np.cos(projection)), np.einsum(
                "ik,ij->kj", one_hot, np.sin(projection)
            )

        with one_thread():
            engines = {
                "bochner": partial(fourier_sums, measure, X, one_hot),
                "gemm": partial(np.matmul, X, columns),
            }
            seconds = best_times(engines, repetitions=2)
            seconds |= best_times({"einsum": einsum}, repetitions=1)
        name = f"class sums, N = 20000, {dtype.__name__}"
        yield (
            f"{name} / bare GEMM",
            seconds["bochner"] / seconds["gemm"],
            "<= 1.3" if dtype == np.float32 else "",
            "10 classes",
        )
        yield (
            f"cos/sin + einsum / {name}",
            seconds["einsum"] / seconds["bochner"],
            ">= 2.8",
            "10 classes",
        )
    yield (
        "class sums: extra memory in units of 150 MB",
        class_sums_memory() / (150 * 2**20),
        "<= 1",
        "peak resident growth",
    )


def class_sums_memory():
    """Peak resident growth of the class sums in a fresh process, in bytes."""
    program = """
import sys
import numpy as np
sys.path.insert(0, "benchmarks")
from bench_engine import data
from bochner.learners.alignment import fourier_sums
X, measure, _ = data(10_000, 784, 20_000, np.float32)
one_hot = np.eye(10, dtype=np.float32)[np.arange(10_000) % 10]
fourier_sums(measure.take(slice(0, 2000)), X, one_hot)
def peak():  # VmHWM and not ru_maxrss, which a process inherits from the one that started it
    return 1024 * int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
before = peak()
fourier_sums(measure, X, one_hot)
print(peak() - before)
"""
    return int(
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
    )


def potential():
    for dtype in DTYPES:
        X, measure, columns = data(10_000, 512, 500, dtype)
        signal = np.sign(X[:, 0])
        pull = np.empty((10_000, 500), dtype)
        with one_thread():
            seconds = best_times(
                {
                    "bochner": partial(potential_and_gradient, measure, X, signal),
                    "two gemms": lambda X=X, columns=columns, pull=pull: (X @ columns, pull.T @ X),
                }
            )
        name = f"potential and gradient, m = 500, {dtype.__name__} / two GEMMs"
        yield name, seconds["bochner"] / seconds["two gemms"], "<= 1.2", "n = 10000, d = 512"


def normal_equations():
    for dtype in DTYPES:
        X, measure, _ = data(100_000, 20, 500, dtype)
        features = partial(features_block, measure.frequencies, measure.weights)
        stored = measure.features(X)
        with one_thread():
            seconds = best_times(
                {
                    "bochner": partial(
                        LocalRows(X).sum, Block(gram_block, features, row_bytes=1000 * X.itemsize)
                    ),
                    "syrk": partial(LocalRows(stored).sum, Block(gram_block, np.asarray)),
                },
                repetitions=3,
            )
        name = f"normal matrix, d = 20, 2D = 1000, {dtype.__name__} / SYRK alone"
        yield (
            name,
            seconds["bochner"] / seconds["syrk"],
            "<= 1.4",
            "features made and summed block by block",
        )


def import_time():
    code = "import time, sklearn; a = time.process_time(); import bochner; print(time.process_time() - a)"
    added = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3))
    yield (
        "seconds of CPU that `import bochner` adds to `import sklearn`",
        added,
        "<= 0.8",
        "kernels load at their first use",
    )


def rows():
    """All ratios of the engine."""
    for part in (feature_map, two_threads, class_sums, potential, normal_equations, import_time):
        yield from part()


if __name__ == "__main__":
    print("\n".join(machine_facts()), table(rows()), sep="\n\n")
