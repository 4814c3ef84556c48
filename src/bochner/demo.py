"""The main job in miniature: models for tables that ship with scikit-learn, then what learning a kernel does; and a look at both.

``make demo`` runs this; it prints two tables and writes two pictures to ``demo-output/``.
"""

import importlib.util
import json
import os
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_circles
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from ._files import written_whole
from ._progress import track
from ._text import aligned
from .certificates import certify
from .features import SpectralFeatures
from .front_door import SpectralClassifier, SpectralRegressor
from .learners import JointDescent, OptimalAlignment, PacBayes
from .plots import plot_effects
from .plots._canvas import panels

# Frames name the columns of pictures; without the extras there are arrays, and no pictures.
_HAS_FRAMES = importlib.util.find_spec("pandas") is not None
SIZES = (5, 10, 20, 50)
TABLE_SIZE = 20
SEEDS = range(3)
PLAIN, BAYES, ALIGNED, JOINT = "random features", "PacBayes", "OptimalAlignment", "JointDescent"
EXACT = "exact RBF-SVM"
OURS, TREES = "front door", "gradient-boosted trees"
COLORS = {PLAIN: "#888888", BAYES: "#1b7fbd", ALIGNED: "#e08214", JOINT: "#2a9d5c"}

# {name: (X, y, {column: model})}; a column of the printed table is (method,) or (method, number of frequencies).
Problems = dict[str, tuple[Any, Any, dict[tuple, Any]]]


def tables() -> Problems:
    """Three tables, each with our model for any table, trees, and an RBF kernel machine, all untuned."""
    on_scale = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    values = {(OURS,): SpectralRegressor(), (TREES,): HistGradientBoostingRegressor(), (EXACT,): _scaled(on_scale)}
    labels = {(OURS,): SpectralClassifier(), (TREES,): HistGradientBoostingClassifier(), (EXACT,): _scaled(SVC())}
    return {
        "breast cancer, accuracy": (*load_breast_cancer(return_X_y=True), labels),
        "wine, accuracy": (*load_wine(return_X_y=True), labels),
        "diabetes, R²": (*load_diabetes(return_X_y=True, as_frame=_HAS_FRAMES, scaled=False), values),
    }


def data_sets() -> Problems:
    """Two data sets of scikit-learn, and two rings hidden among eight columns of noise, with linear models on frequencies, drawn or learned."""
    learners = {PLAIN: None, BAYES: PacBayes(beta=1.0), ALIGNED: OptimalAlignment(radius=10.0), JOINT: JointDescent()}
    models: dict[tuple, Any] = {(EXACT, 0): _scaled(SVC())}
    for (method, learner), size in product(learners.items(), SIZES):
        n_candidates = 5000 if method in (BAYES, ALIGNED) else None
        features = SpectralFeatures(learner=learner, n_candidates=n_candidates, n_components=size)
        models[method, size] = _scaled(features, LogisticRegression(C=30.0, max_iter=2000))
    rings, labels = make_circles(1000, noise=0.1, factor=0.6, random_state=0)
    noise = np.random.default_rng(0).normal(size=(1000, 8))
    return {
        "breast cancer": (*load_breast_cancer(return_X_y=True), models),
        "digits": (*load_digits(return_X_y=True), models),
        "hidden rings": (np.hstack([rings, noise]), labels, models),
    }


def _scaled(*steps):
    return make_pipeline(StandardScaler(), *steps)


def measured(data: Problems, description: str) -> tuple[dict[tuple, list[float]], dict[tuple, Any]]:
    """{(name, *column): test scores over the seeds}, and {(name, *column, seed): (model, X_train, X_test, y_test)}."""
    scores: dict[tuple, list[float]] = {}
    fits = {}
    runs = [(name, seed, column) for name, (_, _, models) in data.items() for seed in SEEDS for column in models]
    for name, seed, column in track(runs, description):
        X, y, models = data[name]
        model = clone(models[column])
        model.set_params(**{key: seed for key in model.get_params() if key.endswith("random_state")})
        strata = y if is_classifier(model) else None
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=strata, random_state=seed)
        scores.setdefault((name, *column), []).append(model.fit(X_train, y_train).score(X_test, y_test))
        fits[name, *column, seed] = model, X_train, X_test, y_test
    return scores, fits


def scores_text(scores: dict[tuple, list[float]], data: Problems, columns: list[tuple]) -> str:
    """Mean and spread over the splits, in percent."""
    found = {name: [100 * np.array(scores[name, *column]) for column in columns] for name in data}
    rows = [[name, *(f"{s.mean():.1f} ± {s.std():.1f}" for s in row)] for name, row in found.items()]
    return aligned(["", *(method for method, *_ in columns)], rows)


def certified(fit: tuple[Any, Any, Any, Any]) -> str:
    """What the held-out rows prove about a model."""
    model, _, X_test, y_test = fit
    bound = certify(model, X_test, y_test, delta=0.05)
    return (
        f"{bound.empirical:.1%} of {len(y_test)} held-out rows wrong; with 95 % confidence "
        f"at most {bound.value:.1%} of new rows."
    )


def picture(accuracies: dict[tuple, list[float]], data: Problems) -> Any:
    """Accuracy against the number of frequencies, one panel for each data set."""
    figure, axes = panels(list(data), size=(3.7, 3.8))
    for name, axis in axes.items():
        axis.axhline(100 * np.mean(accuracies[name, EXACT, 0]), color="black", linestyle="--", linewidth=1, label=EXACT)
        for method, color in COLORS.items():
            scores = 100 * np.array([accuracies[name, method, size] for size in SIZES])
            axis.plot(SIZES, scores.mean(axis=1), "o-", color=color, label=method, markersize=4)
            axis.fill_between(SIZES, scores.min(axis=1), scores.max(axis=1), color=color, alpha=0.15, linewidth=0)
        axis.set(xscale="log", xlabel="frequencies", title=f"{name} ({data[name][0].shape[1]} columns)")
        axis.set_xticks(SIZES, [str(size) for size in SIZES])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    figure.axes[0].set_ylabel("test accuracy, %")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return figure


def main(folder: str | os.PathLike[str] = "demo-output", as_json: bool = False) -> int:
    """Run the demo; returns an exit code."""
    started = time.perf_counter()
    say = (lambda *_: None) if as_json else print
    say(f"Models that need no tuning: SpectralClassifier and SpectralRegressor, {len(SEEDS)} random splits.")
    say("Test scores, %:\n")
    rows = tables()
    scores, fits = measured(rows, "models for tables")
    say(scores_text(scores, rows, [(OURS,), (TREES,), (EXACT,)]))
    say(f"\nKernels learned from data, compared at equal size ({TABLE_SIZE} frequencies, {len(SEEDS)} random splits).")
    data = data_sets()
    accuracies, learned = measured(data, "learning kernels")
    say("Test accuracy, %:\n")
    say(scores_text(accuracies, data, [*((method, TABLE_SIZE) for method in COLORS), (EXACT, 0)]))
    say(f"\nWhat is certain about the models of {JOINT}:")
    certificates = [f"{name}: {certified(learned[name, JOINT, TABLE_SIZE, SEEDS[0]])}" for name in data]
    say("\n".join(f"  {sentence}" for sentence in certificates))
    paths = []
    try:
        model, X_train, *_ = fits["diabetes, R²", OURS, SEEDS[-1]]
        figures = {"effects.png": plot_effects(model, X_train), "accuracy.png": picture(accuracies, data)}
    except ImportError:
        print("\nNo picture: matplotlib is missing. Write: pip install 'bochner[plot]'", file=sys.stderr)
    else:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            paths.append(Path(folder) / name)
            with written_whole(paths[-1]) as beside:
                figure.savefig(beside, dpi=150)
        say("\nPictures: " + ", ".join(map(str, paths)))
    seconds = time.perf_counter() - started
    say(f"{seconds:.0f} s in all.")
    if as_json:
        names = ("dataset", "method", "frequencies")
        facts = {
            "tables": [{"table": name, "method": method, "scores": found} for (name, method), found in scores.items()],
            "results": [dict(zip(names, key)) | {"accuracy": found} for key, found in accuracies.items()],
            "certificates": certificates,
            "pictures": list(map(str, paths)),
            "seconds": seconds,
        }
        print(json.dumps(facts, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
