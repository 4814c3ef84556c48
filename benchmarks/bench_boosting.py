"""Boosting and joint descent against their peers: LightGBM, a plain NumPy/SciPy GBRFF2, and the
floors of matrix products.

``rows()`` yields (what, ratio, target, note): our time over the peer's, both measured in turn in
this process. One thread is process CPU time, two threads wall time. ``python
benchmarks/bench_boosting.py [quick]`` prints the table.
"""

import inspect
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import fmin_l_bfgs_b, fminbound
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from bochner import FourierBoostingClassifier, Gaussian, GBRFF2Classifier, JointDescent

warnings.filterwarnings("ignore", message="X does not have valid feature names")


def plain_gbrff2(X, y, n_rounds, gamma, rng):
    """Algorithm 3 as one writes it with NumPy and SciPy: bounded scalar search for the phase,
    L-BFGS for the frequency.
    """
    scores = np.full(len(y), 0.5 * np.log((1 + y.mean()) / (1 - y.mean())))
    start = scores[0]
    atoms = []
    for _ in range(n_rounds):
        weights = np.exp(-y * scores)
        signal = y * weights
        frequency = rng.normal(size=X.shape[1]) * np.sqrt(2 * gamma)
        angle = X @ frequency
        phase = fminbound(
            lambda b: np.exp(-signal * np.cos(angle - b)).mean(),  # noqa: B023
            -np.pi,
            np.pi,
            xtol=1e-2,
        )

        def objective(w):
            angle = X @ w - phase  # noqa: B023
            losses = np.exp(-signal * np.cos(angle))  # noqa: B023
            return losses.mean(), (signal * losses * np.sin(angle)) @ X / len(X)  # noqa: B023

        frequency, _, _ = fmin_l_bfgs_b(objective, frequency, maxiter=10)
        h = np.cos(X @ frequency - phase)
        edge, total = (y * h) @ weights, weights.sum()
        alpha = 0.5 * np.log((total + edge) / (total - edge))
        scores += alpha * h
        atoms.append((frequency, phase, alpha))
    return start, atoms


def _accuracy_of(start, atoms, X, y):
    scores = start + sum(alpha * np.cos(X @ frequency - phase) for frequency, phase, alpha in atoms)
    return np.mean((scores >= 0) == (y > 0))


def _timed(function, clock):
    begun = clock()
    result = function()
    return clock() - begun, result


def gbrff2_row(n=100_000, n_rounds=20, repeats=3):
    """GBRFF2 against the plain version, same data, same number of rounds."""
    X, y = make_classification(n + 20_000, n_features=20, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    sign = 2.0 * y - 1
    model = GBRFF2Classifier(
        n_rounds=n_rounds, prior=Gaussian(1 / 20), calibrated=False, random_state=0
    )
    with threadpool_limits(1):
        GBRFF2Classifier(n_rounds=1, random_state=0).fit(X[:n], y[:n])
        ours, plain, accuracies = [], [], []
        for seed in range(repeats):
            ours.append(_timed(lambda: model.fit(X[:n], y[:n]), time.process_time)[0])
            seconds, fitted = _timed(
                lambda seed=seed: plain_gbrff2(
                    X[:n], sign[:n], n_rounds, 1 / 20, np.random.default_rng(seed)
                ),
                time.process_time,
            )
            plain.append(seconds)
            accuracies.append(_accuracy_of(*fitted, X[n:], y[n:]))
        accuracy = model.score(X[n:], y[n:])
    note = f"{n_rounds} rounds, {min(ours):.2f} s; accuracy {100 * accuracy:.2f}, plain {100 * np.mean(accuracies):.2f}"
    return f"GBRFF2 fit / NumPy+SciPy version, n={n}, d=20", min(ours) / min(plain), "<= 0.33", note


def small_gbrff2_rows(sizes=(150, 300, 700, 2000), widths=(5, 20, 60), n_rounds=100, repeats=7):
    """GBRFF2 against the plain version on small tables, where what lies between kernels decides;
    CPU time, best of both.
    """
    with threadpool_limits(1):
        for d in widths:
            for n in sizes:
                X, y = make_classification(
                    n, n_features=d, n_informative=4, n_redundant=0, random_state=1
                )
                X = (X - X.mean(axis=0)) / X.std(axis=0)
                model = GBRFF2Classifier(
                    n_rounds=n_rounds, prior=Gaussian(1 / d), calibrated=False, random_state=0
                ).fit(X, y)
                ours, plain = [], []
                for seed in range(repeats):
                    rng = np.random.default_rng(seed)
                    ours.append(_timed(partial(model.fit, X, y), time.process_time)[0])
                    peer = partial(plain_gbrff2, X, 2.0 * y - 1, n_rounds, 1 / d, rng)
                    plain.append(_timed(peer, time.process_time)[0])
                note = f"{n_rounds} rounds, {1e3 * min(ours):.0f} ms"
                yield (
                    f"GBRFF2 fit / NumPy+SciPy version, n={n}, d={d}",
                    min(ours) / min(plain),
                    "<= 1.0",
                    note,
                )


def gradient_row(n=1_000_000, repeats=7):
    """Value and gradient of a round's objective against the one product X w that no method can
    avoid.
    """
    from bochner.boosting.gbrff2 import objective_of
    from bochner.boosting.gbrff_base import in_few_blocks

    rng = np.random.default_rng(0)
    X, signal, frequency = rng.normal(size=(n, 20)), rng.normal(size=n), rng.normal(size=20)
    rows, counts = in_few_blocks(X), np.ones(n)
    objective = objective_of(rows, signal, counts, 0.3, 0.0)
    with threadpool_limits(1):
        objective_of(in_few_blocks(X[:9000]), signal[:9000], counts[:9000], 0.3, 0.0)(frequency)
        ours, floor = [], []
        for _ in range(repeats):
            ours.append(_timed(lambda: objective(frequency), time.process_time)[0])
            floor.append(_timed(lambda: X @ frequency, time.process_time)[0])
    return (
        f"value and gradient / one X @ w, n={n}, d=20",
        min(ours) / min(floor),
        "<= 1.6",
        f"{1e3 * min(ours):.1f} ms",
    )


def descent_row(n_threads, repeats=3):
    """JointDescent against the two matrix products of each of its steps, the frequencies' turns and
    their gradient.
    """
    rng = np.random.default_rng(0)
    n, d, n_frequencies, learner = 10_000, 512, 100, JointDescent()
    X = rng.normal(size=(n, d))
    y = np.cos(X[:, :8].sum(axis=1)) + 0.3 * rng.normal(size=n) > 0.2
    start = Gaussian(0.5 / d).sample(n_frequencies, d, rng)
    batch = X[: learner.batch_size].astype(np.float32)
    frequencies, turns = (
        start.frequencies.astype(np.float32),
        np.empty((len(batch), n_frequencies), np.float32),
    )
    gradient = np.empty_like(frequencies)

    def products():
        for _ in range(learner.n_epochs * -(-n // len(batch))):
            np.matmul(batch, frequencies.T, out=turns)
            np.matmul(turns.T, batch, out=gradient)

    clock = time.process_time if n_threads == 1 else time.perf_counter
    with threadpool_limits(n_threads):
        JointDescent(n_epochs=1).learn(start, X, y, rng)
        times = [
            (_timed(lambda: learner.learn(start, X, y, rng), clock)[0], _timed(products, clock)[0])
            for _ in range(repeats)
        ]
    ours, floor = np.min(times, axis=0)
    where = f"n={n}, d={d}, {n_frequencies} frequencies, {n_threads} thread{'s' * (n_threads > 1)}"
    return (
        f"JointDescent fit / its matrix products, {where}",
        ours / floor,
        "<= 2" if n_threads == 1 else "",
        f"{ours:.2f} s",
    )


def lightgbm_rows(n, n_threads, n_seeds, target):
    """Fit and predict, 100 rounds against 100 trees of 31 leaves, on make_classification with 20
    columns.
    """
    from lightgbm import LGBMClassifier

    clock = time.process_time if n_threads == 1 else time.perf_counter
    fit_ratios, predict_ratios, differences, seconds = [], [], [], []
    with threadpool_limits(n_threads):
        for seed in range(n_seeds):
            X, y = make_classification(n + 20_000, n_features=20, random_state=seed)
            X, X_test, y, y_test = X[:n], X[n:], y[:n], y[n:]
            ours = FourierBoostingClassifier(random_state=0)
            peer = LGBMClassifier(n_estimators=100, num_leaves=31, n_jobs=n_threads, verbose=-1)
            if seed == 0:
                FourierBoostingClassifier(n_rounds=3, random_state=0).fit(
                    X[:5000], y[:5000]
                ).predict(X[:100])
            own_fit, own_predict, peer_fit, peer_predict = [], [], [], []
            for _ in range(1 if n > 200_000 else 2):
                own_fit.append(_timed(lambda o=ours, X=X, y=y: o.fit(X, y), clock)[0])
                peer_fit.append(_timed(lambda p=peer, X=X, y=y: p.fit(X, y), clock)[0])
            for _ in range(40):
                time.sleep(
                    0.02
                )  # for some milliseconds after a call LightGBM's threads keep the cores busy, waiting
                took, own = _timed(lambda o=ours, X=X_test: o.predict(X), clock)
                own_predict.append(took)
                time.sleep(0.02)
                took, other = _timed(lambda p=peer, X=X_test: p.predict(X), clock)
                peer_predict.append(took)
            fit_ratios.append(min(own_fit) / min(peer_fit))
            predict_ratios.append(min(own_predict) / min(peer_predict))
            differences.append(100 * (np.mean(own == y_test) - np.mean(other == y_test)))
            seconds.append(min(own_fit))
    where = f"n={n}, d=20, {n_threads} thread{'s' * (n_threads > 1)}"
    note = f"accuracy {np.mean(differences):+.2f} points (target >= -0.2), {n_seeds} data seeds, {np.mean(seconds):.2f} s"
    yield (
        f"FourierBoostingClassifier fit / LightGBM, {where}",
        float(np.median(fit_ratios)),
        target,
        note,
    )
    yield f"predict 20000 rows / LightGBM, {where}", float(np.median(predict_ratios)), "<= 0.15", ""


def _memory():
    """(peak resident memory, pages of files now resident) in MB; not ru_maxrss, which a child
    inherits from a large parent.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return tuple(int(fields[name].split()[0]) / 1024 for name in ("VmHWM", "RssFile"))


# Each in a process of its own that imports nothing of the other.
_FIT = """
from pathlib import Path
import numpy as np
{memory}
mode = None if {mapped} == 0 else "r"
X, y = np.load("{folder}/X.npy", mmap_mode=mode), np.load("{folder}/y.npy")
if "{kind}" == "ours":
    from bochner import FourierBoostingClassifier
    FourierBoostingClassifier(n_rounds=3, random_state=0).fit(X[:5000], y[:5000])
    model = FourierBoostingClassifier(random_state=0)
else:
    from lightgbm import LGBMClassifier
    model = LGBMClassifier(n_estimators=100, num_leaves=31, n_jobs=2, verbose=-1)
before, _ = _memory()
model.fit(X, y)
print(before, *_memory())
"""


def memory_rows(n=1_000_000):
    """Peak memory of a process that reads the data and fits, from an array and from a memory-mapped
    file.
    """
    with tempfile.TemporaryDirectory() as folder:
        X, y = make_classification(n, n_features=20, random_state=0)
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        measured = {}
        for kind in ("ours", "LightGBM"):
            for mapped in (0, 1):
                code = _FIT.format(
                    memory=inspect.getsource(_memory), folder=folder, kind=kind, mapped=mapped
                )
                done = subprocess.run(
                    [sys.executable, "-c", code], capture_output=True, text=True, check=True
                )
                measured[kind, mapped] = [float(number) for number in done.stdout.split()]
    (before, ours, our_files), (before_peer, peer, peer_files) = (
        measured["ours", 0],
        measured["LightGBM", 0],
    )
    yield (
        f"peak memory of a fit without pages of files / LightGBM, n={n}",
        (ours - our_files) / (peer - peer_files),
        "<= 1.0",
        f"{ours - our_files:.0f} against {peer - peer_files:.0f} MB; the fit itself "
        f"{ours - before:.0f} against "
        f"{peer - before_peer:.0f} MB",
    )
    yield (
        f"the same with pages of files, most of them LLVM's program code, n={n}",
        ours / peer,
        "<= 1.0",
        f"{ours:.0f} against {peer:.0f} MB",
    )
    (_, ours, _), (_, peer, _) = measured["ours", 1], measured["LightGBM", 1]
    yield (
        f"peak resident memory of a fit from a memory-mapped file / LightGBM, n={n}",
        ours / peer,
        "<= 1.0",
        f"{ours:.0f} against {peer:.0f} MB, pages of files included",
    )


def rows(quick=False):
    """All lines of the table; ``quick`` leaves out a million rows."""
    yield gbrff2_row()
    yield from small_gbrff2_rows()
    yield gradient_row()
    yield descent_row(1)
    yield descent_row(2)
    for n_threads in (1, 2):
        yield from lightgbm_rows(10_000, n_threads, 5, "<= 0.7")
        yield from lightgbm_rows(100_000, n_threads, 5, "<= 0.35")
        if not quick:
            yield from lightgbm_rows(1_000_000, n_threads, 5, "<= 0.15")
    if not quick:
        yield from memory_rows()


if __name__ == "__main__":
    for what, ratio, target, note in rows(quick="quick" in sys.argv[1:]):
        print(f"{what:70s} {ratio:6.3f}  (target {target})  {note}", flush=True)
