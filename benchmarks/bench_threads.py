"""What the second thread is worth: seconds with one thread over seconds with two, taking turns in
one run, the best of several turns of each.

The note holds the same ratio of a matrix product, measured in the same turns (what the machine
gives to two threads at that moment), and the CPU time of two threads over that of one (above one:
threads that wait or do more). `python benchmarks/bench_threads.py [NAME ...]` measures some.
"""

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
from measure import machine_facts, table
from threadpoolctl import threadpool_limits

from bochner import (
    Evidence,
    FourierBoostingClassifier,
    Gaussian,
    GBRFF1Classifier,
    GBRFF2Classifier,
    JointDescent,
    LandmarkFeatures,
    MarginGame,
    Matern,
    OperatorRidge,
    PacBayes,
    SpectralFeatures,
    SpectralLogistic,
    SpectralRidge,
)

# Rows of a pass, and of what looks at a sample; turns of each side.
N_ROWS, N_FEW, N_TURNS = 200_000, 20_000, 5
# Where the work is a pass over rows.
PASS = ">= 1.6"
NEVER_SLOWER = ">= 1"


def samples(n_rows, dtype=np.float32):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 20), dtype=np.float32).astype(dtype)
    values = np.cos(X[:, 0] + X[:, 1]) + 0.5 * X[:, 2]
    return X, values, (values > 0.3).astype(int)


def cases() -> dict[str, tuple[Callable[[], object], str]]:
    """What is measured, and how much the second thread should bring."""
    X, values, labels = samples(N_ROWS)
    X64 = X.astype(np.float64)
    few, few_values, few_labels = samples(N_FEW)
    features = SpectralFeatures(n_components=100, random_state=0).fit(X[:100])
    out = np.empty((N_ROWS, 200), np.float32)
    landmarks = LandmarkFeatures(n_landmarks=50, random_state=0).fit(few, few_labels)
    ridge = SpectralRidge(SpectralFeatures(n_components=100), alpha=1.0, random_state=0).fit(
        few, few_values
    )
    gram = Matern(nu=1.5, length_scale=np.full(20, 3.0)).compiled(20)
    two_outputs = np.stack([values, -values], axis=1)
    return {
        "transform": (lambda: features.transform(X, out=out), PASS),
        "SpectralRidge.predict": (lambda: ridge.predict(X), PASS),
        "PacBayes": (_features(PacBayes(), X, labels, 500), PASS),
        "SpectralRidge, float32": (_ridge(100, X, values), PASS),
        "SpectralRidge, float64": (_ridge(100, X64, values), PASS),
        "SpectralRidge, 500 frequencies": (_ridge(500, few, few_values), PASS),
        "OperatorRidge": (
            lambda: OperatorRidge(n_components=100, alpha=1.0, random_state=0).fit(X, two_outputs),
            PASS,
        ),
        "SpectralLogistic": (
            lambda: SpectralLogistic(SpectralFeatures(n_components=100), random_state=0).fit(
                X, labels
            ),
            PASS,
        ),
        "LandmarkFeatures.fit": (
            lambda: LandmarkFeatures(n_landmarks=50, landmarks="random", random_state=0).fit(
                X, labels
            ),
            PASS,
        ),
        "LandmarkFeatures.transform": (lambda: landmarks.transform(X), PASS),
        "MarginGame, 5 rounds": (_features(MarginGame(n_rounds=5), X, labels, 100), PASS),
        # Steps of a few hundred rows, as here by default, are done before a second thread has woken
        # up.
        "JointDescent, one epoch, batches of 391": (
            _features(JointDescent(n_epochs=1), X, labels, 100),
            NEVER_SLOWER,
        ),
        "JointDescent, one epoch, batches of 4096": (
            _features(JointDescent(n_epochs=1, batch_size=4096), X, labels, 100),
            PASS,
        ),
        "FourierBoostingClassifier": (
            lambda: FourierBoostingClassifier(random_state=0).fit(X, labels),
            PASS,
        ),
        "GBRFF1Classifier": (
            lambda: GBRFF1Classifier(random_state=0).fit(few, few_labels),
            NEVER_SLOWER,
        ),
        "GBRFF2Classifier": (
            lambda: GBRFF2Classifier(random_state=0).fit(few, few_labels),
            NEVER_SLOWER,
        ),
        "Evidence's Gram matrix, 4000 rows": (lambda: gram.gram(few[:4000]), PASS),
        "Evidence": (
            lambda: Evidence(n_rows=1000).learn(
                Gaussian(0.05), few, few_values, np.random.default_rng(0)
            ),
            NEVER_SLOWER,
        ),
    }


def _ridge(n_components, X, y):
    model = SpectralRidge(SpectralFeatures(n_components=n_components), alpha=1.0, random_state=0)
    return lambda: model.fit(X, y)


def _features(learner, X, y, n_components):
    model = SpectralFeatures(learner=learner, n_components=n_components, random_state=0)
    return lambda: model.fit(X, y)


def rows(names: tuple[str, ...] = ()) -> Iterator[tuple[str, float, str, str]]:
    """(what, seconds of one thread over those of two, target, note)."""
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 1000, 1000))

    def product():
        np.matmul(left, right)

    for name, (work, target) in cases().items():
        if names and not any(part.lower() in name.lower() for part in names):
            continue
        seconds, cpu = in_turns({"work": work, "product": product})
        gain, control = (seconds[what, 1] / seconds[what, 2] for what in ("work", "product"))
        note = f"{seconds['work', 1]:.2f} s; matrix product {control:.2f}; CPU of two {cpu['work', 2] / cpu['work', 1]:.2f}"
        yield name, gain, target, note


def in_turns(actions):
    """Least wall and CPU seconds of each action with one thread and with two."""
    seconds = {(what, n): np.inf for what in actions for n in (1, 2)}
    cpu = dict(seconds)
    for turn in range(N_TURNS + 1):
        for what, action in actions.items():
            for n_threads in (1, 2):
                time.sleep(
                    0.2
                )  # threads of BLAS stay awake for a while, and would take part in what comes next
                with threadpool_limits(n_threads):
                    begun, used = time.perf_counter(), time.process_time()
                    action()
                    taken = time.perf_counter() - begun, time.process_time() - used
                if turn:  # the first compiles and touches memory
                    key = what, n_threads
                    seconds[key], cpu[key] = min(seconds[key], taken[0]), min(cpu[key], taken[1])
    return seconds, cpu


if __name__ == "__main__":
    print("\n".join(machine_facts()))
    print(table(rows(tuple(sys.argv[1:]))))
