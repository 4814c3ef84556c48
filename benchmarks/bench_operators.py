"""Speed of the ridges: against the exact operator-valued kernel, scikit-learn, and the bare matrix
product.

Run ``OMP_NUM_THREADS=1 python benchmarks/bench_operators.py``; times are CPU seconds of one
process, the contenders interleaved.
"""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
from scipy.linalg.blas import dsyrk
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from bochner import (
    CurlFree,
    Decomposable,
    Gaussian,
    OperatorKernelRidge,
    OperatorRidge,
    SpectralFeatures,
    SpectralRidge,
    simplex_code,
)
from bochner.datasets import gradient_field, load

_MILLION = """
import numpy as np
from bochner import CurlFree, Gaussian, OperatorRidge
from bochner.datasets import gradient_field
field = gradient_field(1_000_000, 0)
X, Y = field.data, field.target
OperatorRidge(CurlFree(Gaussian(gamma=2.5)), n_components=500, alpha=10.0, random_state=0).fit(X, Y)
# VmHWM and not ru_maxrss, which a process inherits from the one that started it.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def cpu_seconds(functions, repetitions):
    """The smallest CPU time of each function over interleaved repetitions."""
    best = [np.inf] * len(functions)
    for _ in range(repetitions):
        for index, function in enumerate(functions):
            start = time.process_time()
            function()
            best[index] = min(best[index], time.process_time() - start)
    return best


def rows():
    """Yield (what, ratio, target, note)."""
    yield from exact_against_features()
    yield from normal_equations()
    yield linear_time()
    yield million_rows()


def exact_against_features(n_train=12_000):
    """MNIST, D = 1000, one ridge, float64: features against the exact kernel, ours and
    scikit-learn's (the same solution).
    """
    data = load("mnist")
    X = data.data[:n_train] / 127.5 - 1
    codes = simplex_code(10).T[data.target[:n_train]]
    kernel = Decomposable(Gaussian(gamma=1 / 800))
    features = OperatorRidge(kernel, n_components=1000, alpha=0.1, random_state=0)
    exact = OperatorKernelRidge(kernel, alpha=0.1)
    exact_ridge = KernelRidge(kernel="rbf", gamma=1 / 800, alpha=0.1)
    fast, slow, theirs = cpu_seconds(
        [lambda model=model: model.fit(X, codes) for model in (features, exact, exact_ridge)], 1
    )
    size = f"MNIST, N = {n_train}, D = 1000"
    yield (
        f"OperatorKernelRidge over OperatorRidge, {size}",
        slow / fast,
        ">= 10",
        f"{slow:.1f} s against {fast:.2f} s",
    )
    yield (
        f"scikit-learn's KernelRidge over OperatorRidge, {size}",
        theirs / fast,
        "",
        f"{theirs:.1f} s against {fast:.2f} s",
    )


def normal_equations(n_rows=50_000, n_features=20, n_components=500):
    """SpectralRidge.fit against a bare SYRK of its features and against RBFSampler + Ridge, per
    feature produced.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    y = np.sin(X[:, 0])
    ridge = SpectralRidge(
        SpectralFeatures(Gaussian(gamma=0.05), n_components=n_components, random_state=0), alpha=1.0
    )
    block = rng.normal(size=(1024, 2 * n_components))

    def syrk():
        gram = np.zeros((2 * n_components, 2 * n_components), order="F")
        for _ in range(-(-n_rows // 1024)):
            gram = dsyrk(1.0, block.T, beta=1.0, c=gram, overwrite_c=1)

    def sampler_and_ridge():
        Ridge().fit(
            RBFSampler(gamma=0.05, n_components=2 * n_components, random_state=0).fit_transform(X),
            y,
        )

    ours, floor, theirs = cpu_seconds([lambda: ridge.fit(X, y), syrk, sampler_and_ridge], 3)
    size = f"n = {n_rows}, d = {n_features}, 2D = {2 * n_components}, float64"
    yield (
        f"SpectralRidge.fit over bare SYRK, {size}",
        ours / floor,
        "<= 1.4",
        f"{ours:.2f} s against {floor:.2f} s",
    )
    yield (
        f"RBFSampler + Ridge over SpectralRidge.fit, {size}",
        theirs / ours,
        ">= 2.8",
        f"{theirs:.2f} s against {ours:.2f} s",
    )


def linear_time():
    """Exponent of the fit's time between 1e3 and 1e5 rows, curl-free field in 5 dimensions, D =
    300.
    """
    field = gradient_field(100_000, 0)
    X, Y = field.data, field.target
    sizes = np.array([1_000, 10_000, 100_000])
    model = OperatorRidge(
        CurlFree(Gaussian(gamma=2.5)), n_components=300, alpha=1.0, random_state=0
    )
    times = cpu_seconds([lambda n=n: model.fit(X[:n], Y[:n]) for n in sizes], 2)
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    return (
        "exponent of OperatorRidge's time in N, 1e3 to 1e5",
        exponent,
        "<= 1.1",
        ", ".join(f"{t:.2f} s" for t in times),
    )


def million_rows():
    """Peak memory of a process that makes a million rows of the 5-D field and fits them."""
    printed = subprocess.run(
        [sys.executable, "-c", _MILLION], check=True, capture_output=True, text=True
    ).stdout
    gigabytes = int(printed.strip()) * 1024 / 1e9
    return (
        "peak memory of N = 1e6, 5-D curl-free field, D = 500 (GB)",
        gigabytes,
        "<= 2",
        "data included",
    )


if __name__ == "__main__":
    for what, ratio, target, note in rows():
        print(f"{what:75s} {ratio:8.2f}  target {target:8s} {note}", flush=True)
