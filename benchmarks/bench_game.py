"""Speed of the peak search and the margin game: ratios against a bare matrix product and against
the authors' scheme.

Each ratio is measured in one run on one thread, in CPU time, the two sides taking turns.
``python benchmarks/bench_game.py`` prints the table; rows on images need BOCHNER_DATA.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from bochner import AscentPeaks, FourierMeasure, Gaussian, JointDescent, LangevinPeaks, MarginGame
from bochner.datasets import data_folder
from bochner.learners.alignment import potential_and_gradient


def cpu_seconds(action: Callable[[], object]) -> float:
    started = time.process_time()
    action()
    return time.process_time() - started


def interleaved(
    left: Callable[[], object], right: Callable[[], object], n_turns: int = 7
) -> tuple[float, float]:
    """Smallest CPU time of each, taking turns; a first turn warms up."""
    left(), right()
    times = [(cpu_seconds(left), cpu_seconds(right)) for _ in range(n_turns)]
    return min(t[0] for t in times), min(t[1] for t in times)


def potential_row() -> tuple[str, float, str, str]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 512)).astype(np.float32)
    W = rng.normal(size=(500, 512)).astype(np.float32)
    measure, signal = FourierMeasure(W, np.ones(500)), rng.normal(size=10_000)

    def products():
        P = X @ W.T
        return P.T @ X

    ours, floor = interleaved(lambda: potential_and_gradient(measure, X, signal), products)
    return (
        "potential and gradient / two matrix products",
        ours / floor,
        "<= 1.2",
        "n=1e4 d=512 m=500 float32",
    )


def linearity_rows() -> Iterator[tuple[str, float, str, str]]:
    """Eight times the rows, or walkers, should take at most eight times as long (plus a tenth)."""
    rng = np.random.default_rng(0)
    prior = Gaussian(0.05).sample(100, 20, rng)

    def one_round(n_rows, n_walkers):
        X = rng.normal(size=(n_rows, 20)).astype(np.float32)
        y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
        search = AscentPeaks(n_walkers=n_walkers, search_rows=10**9)
        learner = MarginGame(n_rounds=2, peaks=search, certificate=False)
        return lambda: learner.learn(prior, X, y, np.random.default_rng(0))

    large, small = interleaved(one_round(160_000, 20), one_round(20_000, 20), n_turns=3)
    yield "two rounds, 8 times the rows", large / small, "<= 8.8", "n=1.6e5 / 2e4, d=20"
    large, small = interleaved(one_round(20_000, 320), one_round(20_000, 40), n_turns=3)
    yield "two rounds, 8 times the walkers", large / small, "<= 8.8", "m=320 / 40, n=2e4"


def authors_rows() -> Iterator[tuple[str, float, str, str]]:
    """100 features on CIFAR-10 automobile/truck: one Langevin peak a round (two rounds measured, 50
    extrapolated) / ours.
    """
    from bochner_papers.nsrf_table1 import pair_rows

    X, y, _, _ = pair_rows("automobile/truck")
    rng = np.random.default_rng(0)
    prior = Gaussian(gamma="median").resolved(X).sample(50, X.shape[1], rng)
    theirs = MarginGame(
        n_rounds=2, peaks=LangevinPeaks(n_walkers=500, n_steps=100, polish=0), certificate=False
    )
    ours = {
        "MarginGame(50)": MarginGame(n_rounds=50, certificate=False),
        "MarginGame(17, AscentPeaks(10, top=3))": MarginGame(
            n_rounds=17, peaks=AscentPeaks(n_walkers=10, top=3), certificate=False
        ),
        "JointDescent()": JointDescent(),
    }
    MarginGame(n_rounds=1, certificate=False).learn(prior, X, y, rng)
    extrapolated = 25 * cpu_seconds(lambda: theirs.learn(prior, X, y, rng))
    for name, learner in ours.items():
        seconds = min(
            cpu_seconds(lambda learner=learner: learner.learn(prior, X, y, rng)) for _ in range(2)
        )
        note = f"{extrapolated:.0f} s (2 of 50 rounds measured, the rest extrapolated) / {seconds:.2f} s, n=1e4 d=512"
        yield f"authors' scheme / {name}, 100 features", extrapolated / seconds, ">= 20", note


def rows() -> Iterator[tuple[str, float, str, str]]:
    """(what, ratio, target, note); the target is empty where there is none."""
    with threadpool_limits(1):
        yield potential_row()
        yield from linearity_rows()
        if data_folder() is not None:
            yield from authors_rows()


if __name__ == "__main__":
    for what, ratio, target, note in rows():
        print(f"{what:70s} {ratio:8.2f}  (target {target})  {note}", flush=True)
