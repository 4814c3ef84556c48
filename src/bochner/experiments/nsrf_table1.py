"""Accuracy against the number of features on image pairs: random features, OKRFF, the margin game, joint descent."""

import time
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.model_selection import train_test_split

from .._compute import Block, as_rows, gram_block
from ..alignment import potential
from ..datasets import load
from ..features import SpectralFeatures
from ..learners import JointDescent, MarginGame, divergence_ball_weights
from ..learners.margin_game import averaged
from ..measures import FourierMeasure
from ..plots._canvas import panels
from ..priors import Gaussian
from ._results import Case, Figure, Results, chosen, every, listed

PAPER = "Bullins, Zhang & Zhang 2018, Not-So-Random Features, Table 1"
CLAIM = "About 100 features of the margin game beat random features and OKRFF (LKRF) with 5000, on every pair."
NEEDS = ["cifar10_hog", "mnist"]
DEVIATIONS = [
    "The table's numbers are an image in the paper's text and were not available; the claim is the text's.",
    "The final classifier is ridge on ±1 labels, its penalty chosen on a fifth of the training rows, the same for every "
    "method; the paper uses an ℓ1-SVM at C = 1.  An SVM on 5000 dense columns is what takes the time, not what decides.",
    "Random features and OKRFF choose their bandwidth (and divergence) on the same fifth; game and joint descent take the "
    "median heuristic and choose nothing.",
]

PAIRS = {"automobile/truck": ("cifar10_hog", 1, 9), "mnist 4/9": ("mnist", 4, 9), "mnist 5/6": ("mnist", 5, 6)}
_N_CANDIDATES = 20_000


def cases(scale: str) -> list[Case]:
    """One case for each pair, method and seed; a case covers all numbers of features."""
    if scale == "smoke":
        methods = ["rff", "okrff", "game", "joint"]
        return every(pair=["automobile/truck"], seed=[0], n_train=[500], counts=[[10, 20]], method=methods)
    planned = []
    for pair, (name, _, _) in PAIRS.items():
        # Ten seeds as in the paper; the quick scale spends its seeds where they decide.
        learned, fixed = (10, 10) if scale == "paper" else (3, 1) if name == "mnist" else (5, 2)
        for methods, n_seeds, counts in (
            (["game", "joint"], learned, [20, 50, 100, 200]),
            (["rff", "okrff"], fixed, [100, 1000, 5000]),
        ):
            planned += every(pair=[pair], method=methods, seed=range(n_seeds), n_train=[None], counts=[counts])
    return planned


def run(case: Case, rng: np.random.Generator) -> Case:
    """Test accuracy by number of features (two to a frequency), and the CPU seconds that learning took."""
    X, y, X_test, y_test = pair_rows(case["pair"])
    if case["n_train"] is not None:
        rows = rng.choice(len(X), case["n_train"], replace=False)
        X, y = X[rows], y[rows]
    measures, seconds, chosen = _METHODS[case["method"]](X, y, case["counts"], rng)
    accuracy = {str(m): ridge_accuracy(measures[m], X, y, X_test, y_test, rng) for m in case["counts"]}
    return {"accuracy": accuracy, "seconds": {str(m): seconds[m] for m in case["counts"]}, "chosen": chosen}


def verdict(results: Results) -> tuple[str, str]:
    """Holds when the game at 100 features is above both baselines at 5000 on each of the three pairs."""
    told, won = [], []
    for pair in PAIRS:
        scores: dict[str, list[float]] = {}
        for method, count in (("rff", "5000"), ("okrff", "5000"), ("game", "100"), ("joint", "100")):
            for _, result in chosen(results, pair=pair, method=method, n_train=None):
                if count in result["accuracy"]:
                    scores.setdefault(f"{method} {count}:", []).append(100 * result["accuracy"][count])
        mean = {name: float(np.mean(values)) for name, values in scores.items()}
        if len(mean) == 4:
            told.append(f"{pair} {listed(mean)}")
            won.append(mean["game 100:"] > max(mean["rff 5000:"], mean["okrff 5000:"]))
    if not all(won):  # one pair is enough to refute "on every pair"
        return "does not hold", f"not on {won.count(False)} of {len(won)} pairs; {'; '.join(told)}"
    if len(won) < len(PAIRS):
        why = f"{len(won)} of {len(PAIRS)} pairs have both baselines at 5000 features and the game at 100."
        return "cannot tell", why
    return "holds", "; ".join(told)


def figure(results: Results) -> Figure:
    """Mean and spread of the accuracy against the number of features, one panel for each pair."""
    fig, axes = panels([pair for pair in PAIRS if chosen(results, pair=pair)], size=(4.5, 3.6))
    names = {"rff": "random features", "okrff": "OKRFF", "game": "MarginGame", "joint": "JointDescent"}
    for pair, axis in axes.items():
        for method, name in names.items():
            runs = [r["accuracy"] for _, r in chosen(results, pair=pair, method=method)]
            if runs:
                counts = sorted(map(int, runs[0]))
                values = 100 * np.array([[r[str(m)] for m in counts] for r in runs])
                axis.errorbar(counts, values.mean(axis=0), values.std(axis=0), marker="o", capsize=2, label=name)
        axis.set(xlabel="number of features", xscale="log")
    first = next(iter(axes.values()))
    first.set_ylabel("test accuracy (%)")
    first.legend(loc="lower right")
    return fig


def pair_rows(pair: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test rows of two classes, scaled to [0, 1] and centered on the training mean, as float32."""
    name, low, high = PAIRS[pair]
    data = load(name)
    parts = []
    for rows in (slice(0, data.n_train), slice(data.n_train, None)):
        labels = data.target[rows]
        kept = (labels == low) | (labels == high)
        parts += [data.data[rows][kept].astype(np.float32) / 255, np.where(labels[kept] == low, 1, -1)]
    X, y, X_test, y_test = parts
    center = X.mean(axis=0)
    return X - center, y, X_test - center, y_test


def ridge_accuracy(
    measure: FourierMeasure, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, rng: Any
) -> float:
    """Test accuracy of ridge on the features, its penalty chosen on a fifth of the training rows."""
    fitted, held = train_test_split(np.arange(len(X)), test_size=0.2, random_state=int(rng.integers(2**31)))
    features = measure.features(X)
    penalties = [0.003, 0.03, 0.3, 3.0]
    coefficients = _ridge(features[fitted], y[fitted], penalties)
    scores = [np.mean(np.sign(features[held] @ w[:-1] + w[-1]) == y[held]) for w in coefficients]
    best = penalties[int(np.argmax(scores))]
    (w,) = _ridge(features, y, [best])
    return float(np.mean(np.sign(measure.features(X_test) @ w[:-1] + w[-1]) == y_test))


def _ridge(features, y, penalties):
    """argmin Σ (y − f)² + penalty ‖w‖², with an intercept, for each penalty."""
    mean, target = features.mean(axis=0, dtype=np.float64), y.mean()
    # Summed in float64 block by block: a float32 sum over all rows would not stay positive definite at small penalties.
    gram, moment = as_rows(features).sum(Block(gram_block, np.asarray), y - target)
    gram -= len(y) * np.outer(mean, mean)
    solutions = []
    for penalty in penalties:
        system = gram + penalty * np.eye(len(gram))
        w = scipy.linalg.solve(system, moment[:, 0], assume_a="pos", overwrite_a=True)
        solutions.append(np.append(w, target - mean @ w).astype(features.dtype))
    return solutions


def _random_features(X, y, counts, rng):
    scale = _best_scale(X, y, rng)
    return {m: _draws(X, scale, m // 2, rng) for m in counts}, dict.fromkeys(counts, 0.0), {"scale": scale}


def _optimal_alignment(X, y, counts, rng):
    """OKRFF with the χ² ball: the scale is that of random features, the divergence its own choice."""
    scale = _best_scale(X, y, rng)
    started = time.process_time()
    n_candidates = min(_N_CANDIDATES, 40 * len(X))
    candidates = _draws(X, scale, n_candidates, rng)
    scores = potential(candidates, X, y.astype(np.float64))
    seconds = time.process_time() - started

    def learned(radius, m):
        weighted = FourierMeasure(candidates.frequencies, divergence_ball_weights(candidates.weights, scores, radius))
        return weighted.resampled(m // 2, rng).merged()

    radius = _best_on_held_out(learned, [0.5, 5.0, 50.0], X, y, rng)
    return {m: learned(radius, m) for m in counts}, dict.fromkeys(counts, seconds), {"scale": scale, "radius": radius}


def _best_on_held_out(build, settings, X, y, rng, count=1000):
    """The setting whose measure of ``count`` features scores best on a fifth of at most 5000 training rows."""
    rows = rng.permutation(len(X))[:5000]
    cut = len(rows) // 5
    held, fitted = rows[:cut], rows[cut:]
    scores = [ridge_accuracy(build(s, count), X[fitted], y[fitted], X[held], y[held], rng) for s in settings]
    return settings[int(np.argmax(scores))]


def _best_scale(X, y, rng):
    return _best_on_held_out(lambda s, m: _draws(X, s, m // 2, rng), [1.0, 2.0, 3.0, 4.0], X, y, rng)


def _draws(X, scale, n_atoms, rng):
    """Draws for an RBF kernel of bandwidth ``scale`` times the median distance."""
    prior = Gaussian(gamma="median").resolved(X)
    return Gaussian(gamma=prior.gamma / scale**2).sample(n_atoms, X.shape[1], rng)


def _margin_game(X, y, counts, rng):
    """One game; the first rounds of it are the game with fewer features."""
    prior = Gaussian(gamma="median").resolved(X).sample(max(counts) // 2, X.shape[1], rng)
    wanted, plays, measures, seconds = sorted(m // 2 for m in counts), [], {}, {}
    started = time.process_time()
    for played in MarginGame(wanted[-1], certificate=False).rounds(prior, X, y, rng):
        plays.append(played.peaks)
        if played.number in wanted:
            measures[2 * played.number] = averaged(plays)
            seconds[2 * played.number] = time.process_time() - started
    return measures, seconds, {}


def _joint_descent(X, y, counts, rng):
    measures, seconds = {}, {}
    for m in counts:
        started = time.process_time()
        features = SpectralFeatures(Gaussian(gamma="median"), JointDescent(), n_components=m // 2, random_state=rng)
        measures[m] = features.fit(X, y).measure_
        seconds[m] = time.process_time() - started
    return measures, seconds, {}


_METHODS = {"rff": _random_features, "okrff": _optimal_alignment, "game": _margin_game, "joint": _joint_descent}
