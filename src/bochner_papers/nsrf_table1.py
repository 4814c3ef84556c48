"""Accuracy against the number of features on image pairs, for four methods.

The methods are random features, OKRFF, the margin game, and joint descent.
"""

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from bochner.datasets import load
from bochner.features.spectral import SpectralFeatures
from bochner.learners import (
    AscentPeaks,
    JointDescent,
    LangevinPeaks,
    MarginGame,
    divergence_ball_weights,
)
from bochner.learners.alignment import potential
from bochner.learners.game.margin_game import averaged
from bochner.measures.fourier import FourierMeasure
from bochner.plots._canvas import panels
from bochner.priors import Gaussian

from .runner.results import Case, Figure, Results, chosen, every

PAPER = "Bullins, Zhang & Zhang 2018, Not-So-Random Features, Table 1"
CLAIM = (
    "At equal numbers of features the margin game has a higher test accuracy than random features "
    "and OKRFF (LKRF) on every pair, by most where features are few; on automobile/truck about "
    "100 of its features are above both with 5000; with the paper's search for peaks as with ours."
)
NEEDS = ["cifar10_hog", "mnist"]
DEVIATIONS = [
    "The table's numbers are an image in the paper's text and were not available; the claim is the "
    "text's. Of its pairs only automobile/truck is known; "
    "cat/dog and deer/horse, MNIST 4/9 and 5/6 are ours.",
    "The classifier is the paper's ℓ1-SVM with C = 1, the same for every method, here liblinear's, "
    "on features of norm one, with a penalized intercept. Random features and OKRFF choose their "
    "bandwidth "
    "(and divergence) on a fifth of the training rows; games and joint descent take the median "
    "heuristic and choose nothing.",
    "The peaks of 'game' are searched by our ascent from the starting points of Appendix A.1. "
    "'algorithm 1' is the paper's search from the same points, 500 chains of 100 steps on all "
    "rows and the best peak of each; 'langevin' takes the ten best, which the appendix allows. "
    "Its penalty on long frequencies is ours and that of the authors' code.",
    "Held-out rows choose among the baselines' bandwidths with much noise: a grid whose smallest "
    "was the median gave 84.9 % with 5000 random features on automobile/truck, today's 84.5 %.",
    "Scale quick: three seeds where the paper has ten; automobile/truck, cat/dog and MNIST 4/9; "
    "the game and joint descent up to 1000 features on automobile/truck and 200 elsewhere, "
    "langevin up to 100 on automobile/truck alone. Scale paper: ten seeds of automobile/truck, "
    "where the first three of the game and of joint descent go up to 5000 features, langevin and "
    "algorithm 1 up to 100; three seeds of the four pairs that are ours.",
]
TRIED = (
    "With our search for peaks every comparison holds by two standard errors. So it does with the "
    "paper's at ten peaks a search, but against the random features of a narrower grid the lead "
    "of 100 of its features over 5000 was 0.4 ± 0.3 points. With one peak a search, as Algorithm 1 "
    "is printed, 20 features lead by as much; 100 take half a CPU hour for three seeds and were "
    "not run."
)

PAIRS = {
    "automobile/truck": ("cifar10_hog", 1, 9),
    "cat/dog": ("cifar10_hog", 3, 5),
    "mnist 4/9": ("mnist", 4, 9),
    "mnist 5/6": ("mnist", 5, 6),
    "deer/horse": ("cifar10_hog", 4, 7),
}
VARIED = "automobile/truck"  # the pair of the paper's left table, whose number of features varies
BASELINES = ("rff", "okrff")
GAMES = {
    "game": "our search",
    "langevin": "Langevin, ten peaks a search",
    "algorithm 1": "Langevin, one peak a search",
}
# Bandwidths that the baselines choose from, times the median distance.
_SCALES = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0]
_N_CANDIDATES = 20_000


def cases(scale: str) -> list[Case]:
    """Return one case for each pair, method and seed; a case covers all numbers of features."""
    if scale == "smoke":
        methods = ["rff", "okrff", "game", "joint"]
        tiny = every(pair=[VARIED], seed=[0], n_train=[500], counts=[[10, 20]], method=methods)
        return [_with_scales(case) for case in tiny]
    few, planned = [20, 50, 100, 200], []
    whole = scale == "paper"
    for pair in PAIRS if whole else list(PAIRS)[:3]:
        known = pair == VARIED
        many, fixed = ([*few, 1000], [*few, 1000, 5000]) if known else (few, few)
        for seed in range(10 if whole and known else 3):
            learned = fixed if whole and seed < 3 else many  # games of 2500 rounds for three seeds
            counts = {"game": learned, "joint": learned, "rff": fixed, "okrff": fixed}
            if known:
                counts["langevin"] = [20, 100]
            if known and whole:  # ten times as long, so that 20 features are a case of their own
                planned += [
                    {
                        "pair": pair,
                        "method": "algorithm 1",
                        "seed": seed,
                        "n_train": None,
                        "counts": [m],
                    }
                    for m in (20, 100)
                ]
            planned += [
                {"pair": pair, "method": method, "seed": seed, "n_train": None, "counts": some}
                for method, some in counts.items()
            ]
    return [_with_scales(case) for case in planned]


def _with_scales(case):
    return case | ({"scales": _SCALES} if case["method"] in BASELINES else {})


_SEEDS_RUN = {"algorithm 1": 3, "langevin": 3}


def left_out(case: Case) -> bool:
    """100 features with one peak a search, ten CPU minutes a seed; five of ten seeds and two more
    pairs of ours, half an hour.
    """
    of_others = case["seed"] >= _SEEDS_RUN.get(case["method"], 5)
    long = case["method"] == "algorithm 1" and case["counts"] == [100]
    return of_others or long or case["pair"] in list(PAIRS)[3:]


def run(case: Case, rng: np.random.Generator) -> Case:
    """Return test accuracy by number of features (two per frequency), and CPU seconds to learn."""
    X, y, X_test, y_test = pair_rows(case["pair"])
    if case["n_train"] is not None:
        rows = rng.choice(len(X), case["n_train"], replace=False)
        X, y = X[rows], y[rows]
    settings = {"scales": case["scales"]} if "scales" in case else {}
    measures, seconds, chosen = _METHODS[case["method"]](X, y, case["counts"], rng, **settings)
    accuracy = {str(m): svm_accuracy(measures[m], X, y, X_test, y_test) for m in case["counts"]}
    return {
        "accuracy": accuracy,
        "seconds": {str(m): seconds[m] for m in case["counts"]},
        "chosen": chosen,
    }


def verdict(results: Results) -> tuple[str, str]:
    """ "Our method reliably outperforms these baselines, most significantly in the regime of few
    features", and "to outperform both RBF-RF and LKRF with 5000 features, our method only needs ~
    100 features". Holds when on every pair the game is above both baselines at every number of
    features up to 1000 that all have, and its lead is larger at the fewest than at the most of
    these, and on automobile/truck its 100 features are above both at 5000; with our search and, on
    automobile/truck, with the paper's; each difference by two standard errors over at least three
    seeds. A difference the other way by as much refutes; anything between cannot tell.
    """
    results = chosen(results, n_train=None)  # on the whole training rows
    scores = {
        pair: {m: found for m in (*GAMES, *BASELINES) if (found := _scores(results, pair, m))}
        for pair in PAIRS
    }
    pairs = [pair for pair in PAIRS if {"game", *BASELINES} <= scores[pair].keys()]
    if len(pairs) < 3:
        return "cannot tell", f"{len(pairs)} pairs were run with all methods; it takes three."
    against: list[str] = []
    doubtful: list[str] = []
    told: dict[str, list[str]] = {}
    for game, words in GAMES.items():
        if game not in scores[VARIED]:
            doubtful.append(f"{words}: not run")
        for pair in [pair for pair in pairs if game in scores[pair]]:
            for name, difference in _compared(scores[pair], game, pair).items():
                if difference is None:
                    doubtful.append(f"{words}, {name}: fewer than three seeds")
                    continue
                lead, error = difference
                if lead <= 2 * error:
                    text = f"{words}, {name} {lead:+.1f} ± {error:.1f}"
                    (against if lead < -2 * error else doubtful).append(text)
                told.setdefault(words, []).append(f"{name} {lead:+.1f}")
    why = [f"refuted: {', '.join(against)}"] * bool(against)
    why += [f"within two standard errors or not run: {', '.join(doubtful)}"] * bool(doubtful)
    why += ["game minus the better baseline, points of accuracy"]
    why += [f"{words}: {', '.join(leads)}" for words, leads in told.items()]
    return ("does not hold" if against else "cannot tell" if doubtful else "holds"), "; ".join(why)


def _compared(scores, game, pair):
    """Return {comparison: (difference, standard error)} of a game with the better baseline.

    The last one is that of its lead at the fewest and at the most features. None stands for fewer
    than three seeds.
    """
    common = sorted(m for m in scores[game] if m <= 1000 and all(m in scores[b] for b in BASELINES))
    found = {f"{pair} at {m}": _difference(scores, game, m, m) for m in common}
    first, last = found[f"{pair} at {common[0]}"], found[f"{pair} at {common[-1]}"]
    if pair == VARIED:
        found[f"{pair} 100 for 5000"] = _difference(scores, game, 100, 5000)
    if len(common) > 1 and None not in (first, last):
        shrinks = float(first[0] - last[0]), float(np.hypot(first[1], last[1]))
        found[f"{pair} lead at {common[0]} less that at {common[-1]}"] = shrinks
    return found


def _scores(results, pair, method):
    """Return {number of features: accuracies in percent over the seeds}.

    Some seeds may have more features than others.
    """
    found: dict[int, list[float]] = {}
    for _, result in chosen(results, pair=pair, method=method):
        for count, accuracy in result["accuracy"].items():
            found.setdefault(int(count), []).append(100 * accuracy)
    return found


def _difference(scores, game, ours, theirs):
    """Return a game at ``ours`` features minus the better baseline at ``theirs``.

    The standard error comes second; None with fewer than three seeds of one.
    """
    values = [scores[game].get(ours, []), *(scores[b].get(theirs, []) for b in BASELINES)]
    if min(map(len, values)) < 3:
        return None
    of_game, best = values[0], max(values[1:], key=np.mean)
    error = np.sqrt(sum(np.var(v, ddof=1) / len(v) for v in (of_game, best)))
    return float(np.mean(of_game) - np.mean(best)), float(error)


def figure(results: Results) -> Figure:
    """Mean and spread of the accuracy against the number of features, one panel for each pair."""
    fig, axes = panels([pair for pair in PAIRS if chosen(results, pair=pair)], size=(4.5, 3.6))
    names = {
        "rff": "random features",
        "okrff": "OKRFF",
        "game": "MarginGame",
        "langevin": "MarginGame, Langevin",
        "joint": "JointDescent",
        "algorithm 1": "MarginGame, Langevin, one peak",
    }
    for pair, axis in axes.items():
        ticks: set[int] = set()
        for k, (method, name) in enumerate(
            names.items()
        ):  # one color a method, also where another was not run
            scores = dict(sorted(_scores(results, pair, method).items()))
            if scores:
                means, spreads = (
                    [f(values) for values in scores.values()] for f in (np.mean, np.std)
                )
                look = {"color": f"C{k}", "marker": "o", "capsize": 2, "label": name}
                axis.errorbar(list(scores), means, spreads, **look)
                ticks.update(scores)
        axis.set(xlabel="number of features", xscale="log")
        axis.set_xticks(sorted(ticks), labels=[str(m) for m in sorted(ticks)])
        axis.minorticks_off()
    first = next(iter(axes.values()))
    first.set_ylabel("test accuracy (%)")
    first.legend(loc="lower right")
    return fig


def pair_rows(pair: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return training and test rows of two classes as float32.

    They are scaled to [0, 1] and centered on the training mean.
    """
    name, low, high = PAIRS[pair]
    data = load(name)
    parts = []
    for rows in (slice(0, data.n_train), slice(data.n_train, None)):
        labels = data.target[rows]
        kept = (labels == low) | (labels == high)
        parts += [
            data.data[rows][kept].astype(np.float32) / 255,
            np.where(labels[kept] == low, 1, -1),
        ]
    X, y, X_test, y_test = parts
    center = X.mean(axis=0)
    return X - center, y, X_test - center, y_test


def svm_accuracy(
    measure: FourierMeasure, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray
) -> float:
    """Return the test accuracy of the ℓ1-SVM with C = 1 on the features."""
    machine = LinearSVC(loss="hinge", C=1.0, random_state=0)
    # liblinear's own limit of 1000 iterations, for every method alike.
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        machine.fit(measure.features(X).astype(np.float64), y)
    return float(machine.score(measure.features(X_test).astype(np.float64), y_test))


def _random_features(X, y, counts, rng, scales):
    scale = _best_scale(scales, X, y, rng)
    return (
        {m: _draws(X, scale, m // 2, rng) for m in counts},
        dict.fromkeys(counts, 0.0),
        {"scale": scale},
    )


def _optimal_alignment(X, y, counts, rng, scales):
    """Learn OKRFF with the χ² ball, at the scale of random features."""
    scale = _best_scale(scales, X, y, rng)
    started = time.process_time()
    n_candidates = min(_N_CANDIDATES, 40 * len(X))
    candidates = _draws(X, scale, n_candidates, rng)
    scores = potential(candidates, X, y.astype(np.float64))
    seconds = time.process_time() - started

    def learned(radius, m):
        weighted = FourierMeasure(
            candidates.frequencies, divergence_ball_weights(candidates.weights, scores, radius)
        )
        return weighted.resampled(m // 2, rng).merged()

    radius = _best_on_held_out(learned, [0.5, 5.0, 50.0], X, y, rng)
    return (
        {m: learned(radius, m) for m in counts},
        dict.fromkeys(counts, seconds),
        {"scale": scale, "radius": radius},
    )


def _best_on_held_out(build, settings, X, y, rng, count=1000):
    """Return the setting whose measure of ``count`` features scores best on held-out rows.

    These are a fifth of at most 5000 training rows.
    """
    rows = rng.permutation(len(X))[:5000]
    cut = len(rows) // 5
    held, fitted = rows[:cut], rows[cut:]
    scores = [
        svm_accuracy(build(s, count), X[fitted], y[fitted], X[held], y[held]) for s in settings
    ]
    return settings[int(np.argmax(scores))]


def _best_scale(scales, X, y, rng):
    return _best_on_held_out(lambda s, m: _draws(X, s, m // 2, rng), scales, X, y, rng)


def _draws(X, scale, n_atoms, rng):
    """Draw frequencies for an RBF kernel of bandwidth ``scale`` times the median distance."""
    prior = Gaussian(gamma="median").resolved(X)
    return Gaussian(gamma=prior.gamma / scale**2).sample(n_atoms, X.shape[1], rng)


def _margin_game(X, y, counts, rng, peaks=None):
    """Play one game; its first rounds are the game with fewer features."""
    prior = Gaussian(gamma="median").resolved(X).sample(500, X.shape[1], rng)
    peaks = AscentPeaks() if peaks is None else peaks
    wanted, plays, measures, seconds = sorted(m // 2 for m in counts), [], {}, {}
    started = time.process_time()
    for played in MarginGame(
        n_rounds=wanted[-1] // peaks.top, peaks=peaks, certificate=False
    ).rounds(prior, X, y, rng):
        plays.append(played.peaks)
        so_far = played.number * peaks.top
        if so_far in wanted:
            measures[2 * so_far] = averaged(plays)
            seconds[2 * so_far] = time.process_time() - started
    return measures, seconds, {}


def _langevin_game(X, y, counts, rng, top=10):
    """Play with Algorithm 1 of the paper, which takes the ``top`` best peaks of each search."""
    return _margin_game(X, y, counts, rng, LangevinPeaks(n_walkers=500, n_steps=100, top=top))


def _joint_descent(X, y, counts, rng):
    measures, seconds = {}, {}
    for m in counts:
        started = time.process_time()
        features = SpectralFeatures(
            Gaussian(gamma="median"), JointDescent(), n_components=m // 2, random_state=rng
        )
        measures[m] = features.fit(X, y).measure_
        seconds[m] = time.process_time() - started
    return measures, seconds, {}


_METHODS: dict[str, Callable[..., Any]] = {
    "rff": _random_features,
    "okrff": _optimal_alignment,
    "game": _margin_game,
    "langevin": _langevin_game,
    "algorithm 1": partial(_langevin_game, top=1),
    "joint": _joint_descent,
}
