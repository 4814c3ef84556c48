"""Speed of kernel learning: alignment losses of many candidates, and the landmark map.

python benchmarks/bench_learning.py
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from bochner import Gaussian, LandmarkFeatures, alignment_losses
from bochner.datasets import load


def rows() -> Iterator[tuple[str, float, str, str]]:
    """(what, ratio, target, note); ratios of process CPU time on one thread, measured in turns."""
    with threadpool_limits(1):
        yield from alignment_rows()
        yield from landmark_rows()


def alignment_rows() -> Iterator[tuple[str, float, str, str]]:
    data = load("mnist49")
    X, y = (
        data.data[:: len(data.data) // 8268][:8268],
        data.y_binary[:: len(data.data) // 8268][:8268],
    )
    for dtype in (np.float32, np.float64):
        X_typed = X.astype(dtype)
        measure = Gaussian(0.01).sample(20_000, X.shape[1], np.random.default_rng(0))
        frequencies = measure.frequencies.astype(dtype)
        one_hot = (y[:, None] == np.unique(y)).astype(dtype)

        def matrices(X_typed=X_typed, frequencies=frequencies, one_hot=one_hot):
            """The cosine and sine matrices, then the sums of the two classes."""
            projection = X_typed @ frequencies.T
            sums = np.stack(
                [np.einsum("ic,ij->cj", one_hot, wave(projection)) for wave in (np.cos, np.sin)]
            )
            n = len(y)
            energy = 2 * np.sum(sums**2, axis=(0, 1)) - np.sum(sums.sum(axis=1) ** 2, axis=0)
            return 0.5 - (energy - n) / (2 * n * (n - 1))

        def pieces(X_typed=X_typed, frequencies=frequencies):
            """The same for ±1 labels, by matrix products and in pieces that fit in a cache."""
            sums = np.zeros((2, len(frequencies)))
            for start in range(0, len(frequencies), 500):
                projection = X_typed @ frequencies[start : start + 500].T
                sums[0, start : start + 500] = y.astype(X_typed.dtype) @ np.cos(projection)
                sums[1, start : start + 500] = y.astype(X_typed.dtype) @ np.sin(projection)
            n = len(y)
            return n / (2 * (n - 1)) - np.sum(sums**2, axis=0) / (2 * n * (n - 1))

        def product(X_typed=X_typed, frequencies=frequencies):
            for start in range(0, len(frequencies), 500):
                X_typed @ frequencies[start : start + 500].T

        def fused(X_typed=X_typed, measure=measure):
            return alignment_losses(measure, X_typed, y)

        alignment_losses(measure.take(slice(0, 10)), X_typed[:10], y[:10])  # compile
        np.testing.assert_allclose(fused(), matrices(), atol=1e-4 if dtype == np.float32 else 1e-10)
        np.testing.assert_allclose(fused(), pieces(), atol=1e-4 if dtype == np.float32 else 1e-10)
        ours, theirs, tuned, floor = in_turns(fused, matrices, pieces, product, repetitions=2)
        size = f"mnist49, n = {len(y)}, d = 784, N = 20000, {dtype.__name__}"
        yield (
            f"alignment losses against cos and sin matrices ({size})",
            theirs / ours,
            ">= 2.8",
            f"{ours:.1f} s",
        )
        yield (
            f"the same against pieces of them and BLAS ({size})",
            tuned / ours,
            ">= 1",
            "a tuned peer",
        )
        yield (
            f"alignment losses over the bare matrix product ({size})",
            ours / floor,
            "<= 1.3" if dtype == np.float32 else "",
            "",
        )


def landmark_rows() -> Iterator[tuple[str, float, str, str]]:
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        X, y = rng.normal(size=(10_000, 30)).astype(dtype), rng.integers(2, size=10_000)
        fitted = LandmarkFeatures(
            Gaussian(0.05), n_landmarks=200, landmarks="random", random_state=0
        ).fit(X, y)
        triples = [
            (point.astype(dtype), omega.astype(dtype), q.astype(dtype))
            for point, omega, q in zip(
                fitted.landmarks_, fitted.expansion_.frequencies, fitted.report_.weights
            )
        ]

        def loop(X=X, triples=triples):
            return np.stack(
                [np.cos((X - point) @ omega.T) @ q for point, omega, q in triples], axis=1
            )

        def fused(X=X, fitted=fitted):
            return fitted.transform(X)

        np.testing.assert_allclose(fused(), loop(), atol=1e-3 if dtype == np.float32 else 1e-10)
        ours, theirs = in_turns(fused, loop, repetitions=3)
        size = f"200 landmarks x 64, n = 10000, d = 30, {dtype.__name__}"
        yield (
            f"landmark map against a loop ({size})",
            theirs / ours,
            ">= 5" if dtype == np.float64 else "",
            f"{ours:.2f} s",
        )


def in_turns(*functions: Callable[[], object], repetitions: int) -> list[float]:
    """Least process CPU time of each function, one after the other in every repetition."""
    times = [[] for _ in functions]
    for _ in range(repetitions):
        for function, taken in zip(functions, times):
            start = time.process_time()
            function()
            taken.append(time.process_time() - start)
    return [min(taken) for taken in times]
