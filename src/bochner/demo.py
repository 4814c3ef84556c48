"""The main job in miniature: models for tables that ship with scikit-learn, then what learning a kernel does; and a look at both.

``make demo`` runs this; it prints two tables and writes two pictures to ``demo-output/``.
"""

import json
import os
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
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

SIZES = (5, 10, 20, 50)
TABLE_SIZE = 20
SEEDS = range(3)
PLAIN, BAYES, ALIGNED, JOINT = "random features", "PacBayes", "OptimalAlignment", "JointDescent"
EXACT = "exact RBF-SVM"
OURS, TREES = "front door", "gradient-boosted trees"
COLORS = {PLAIN: "#888888", BAYES: "#1b7fbd", ALIGNED: "#e08214", JOINT: "#2a9d5c"}


def data_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Two data sets of scikit-learn, and two rings hidden among eight columns of noise."""
    rings, labels = make_circles(1000, noise=0.1, factor=0.6, random_state=0)
    noise = np.random.default_rng(0).normal(size=(1000, 8))
    return {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits": load_digits(return_X_y=True),
        "hidden rings": (np.hstack([rings, noise]), labels),
    }


def tables() -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    """{name: (X, y, {method: model})} of three tables: our models for any table, trees, and an RBF kernel machine, all untuned."""
    on_scale = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    values = {OURS: SpectralRegressor(), TREES: HistGradientBoostingRegressor(), EXACT: _scaled(on_scale)}
    labels = {OURS: SpectralClassifier(), TREES: HistGradientBoostingClassifier(), EXACT: _scaled(SVC())}
    return {
        "breast cancer, accuracy": (*load_breast_cancer(return_X_y=True), labels),
        "wine, accuracy": (*load_wine(return_X_y=True), labels),
        "diabetes, R²": (*load_diabetes(return_X_y=True, as_frame=True, scaled=False), values),
    }


def _scaled(model):
    return make_pipeline(StandardScaler(), model)


def measure_tables(data: dict[str, tuple[Any, Any, dict[str, Any]]]) -> tuple[dict[tuple[str, str], list[float]], Any]:
    """{(table, method): test scores over the seeds}, and the last model of ours with the rows it was fitted on."""
    scores: dict[tuple[str, str], list[float]] = {}
    kept = None
    for name, seed in track(list(product(data, SEEDS)), "models for tables"):
        X, y, models = data[name]
        strata = y if is_classifier(models[OURS]) else None
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=strata, random_state=seed)
        for method, model in models.items():
            if "random_state" in model.get_params():
                model.set_params(random_state=seed)
            scores.setdefault((name, method), []).append(model.fit(X_train, y_train).score(X_test, y_test))
        kept = models[OURS], X_train
    return scores, kept


def scores_text(scores: dict[tuple[str, str], list[float]]) -> str:
    """Mean and spread over the splits, in percent."""
    names, methods = (list(dict.fromkeys(parts)) for parts in zip(*scores))
    found = {name: [100 * np.array(scores[name, method]) for method in methods] for name in names}
    return aligned(
        ["", *methods], [[name, *(f"{s.mean():.1f} ± {s.std():.1f}" for s in row)] for name, row in found.items()]
    )


def features(method: str, n_components: int, seed: int) -> SpectralFeatures:
    """``n_components`` frequencies, drawn or learned."""
    learner: Any = {
        PLAIN: None,
        BAYES: PacBayes(beta=1.0),
        ALIGNED: OptimalAlignment(radius=10.0),
        JOINT: JointDescent(),
    }[method]
    n_candidates = 5000 if method in (BAYES, ALIGNED) else None
    return SpectralFeatures(learner=learner, n_candidates=n_candidates, n_components=n_components, random_state=seed)


def runs(names: Any) -> list[tuple[str, str, int, int]]:
    """(data set, method, number of frequencies, seed) of every model that is fitted."""
    models = [(EXACT, 0), *product(COLORS, SIZES)]
    return [(name, method, size, seed) for name, seed, (method, size) in product(names, SEEDS, models)]


def measure_accuracies(data: dict[str, tuple[np.ndarray, np.ndarray]]) -> tuple[dict, list[str]]:
    """{(data set, method, size): accuracies over the seeds}, and a certified sentence for each data set."""
    accuracies: dict[tuple[str, str, int], list[float]] = {}
    certificates = []
    for name, method, size, seed in track(runs(data), "learning kernels"):
        X_train, X_test, y_train, y_test = train_test_split(
            *data[name], test_size=0.3, stratify=data[name][1], random_state=seed
        )
        if size == 0:
            model = make_pipeline(StandardScaler(), SVC())
        else:
            head = LogisticRegression(C=10.0, max_iter=2000)
            model = make_pipeline(StandardScaler(), features(method, size, seed), head)
        score = model.fit(X_train, y_train).score(X_test, y_test)
        accuracies.setdefault((name, method, size), []).append(score)
        if (method, size, seed) == (JOINT, TABLE_SIZE, 0):
            bound = certify(model, X_test, y_test, delta=0.05)
            certificates.append(
                f"{name}: {bound.empirical:.1%} of {len(y_test)} held-out rows wrong; with 95 % confidence "
                f"at most {bound.value:.1%} of new rows."
            )
    return accuracies, certificates


def table(accuracies: dict, names: Any) -> str:
    """Test accuracy at equal size, as text."""
    sizes = dict.fromkeys(COLORS, TABLE_SIZE) | {EXACT: 0}
    found = {name: [100 * np.array(accuracies[name, *column]) for column in sizes.items()] for name in names}
    rows = [[name, *(f"{s.mean():.1f} ± {s.std():.1f}" for s in scores)] for name, scores in found.items()]
    return aligned(["", *sizes], rows)


def picture(accuracies: dict, data: dict[str, tuple[np.ndarray, np.ndarray]]) -> Any:
    """Accuracy against the number of frequencies, one panel for each data set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.8), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(data)), data, strict=True):
        exact = 100 * np.mean(accuracies[name, EXACT, 0])
        axes.axhline(exact, color="black", linestyle="--", linewidth=1, label=EXACT)
        for method, color in COLORS.items():
            scores = 100 * np.array([accuracies[name, method, size] for size in SIZES])
            axes.plot(SIZES, scores.mean(axis=1), "o-", color=color, label=method, markersize=4)
            axes.fill_between(SIZES, scores.min(axis=1), scores.max(axis=1), color=color, alpha=0.15, linewidth=0)
        axes.set(xscale="log", xlabel="frequencies", title=f"{name} ({data[name][0].shape[1]} columns)")
        axes.set_xticks(SIZES, [str(size) for size in SIZES])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("test accuracy, %")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return figure


def main(folder: str | os.PathLike[str] = "demo-output", as_json: bool = False) -> int:
    """Run the demo; returns an exit code."""
    started = time.perf_counter()
    say = (lambda *_: None) if as_json else print
    say(
        f"Models that need no tuning: SpectralClassifier and SpectralRegressor, {len(SEEDS)} random splits.\nTest scores, %:\n"
    )
    scores, (model, rows) = measure_tables(tables())
    say(scores_text(scores))
    data = data_sets()
    say(f"\nKernels learned from data, compared at equal size ({TABLE_SIZE} frequencies, {len(SEEDS)} random splits).")
    accuracies, certificates = measure_accuracies(data)
    say("Test accuracy, %:\n")
    say(table(accuracies, data))
    say(f"\nWhat is certain about the models of {JOINT}:")
    say("\n".join(f"  {sentence}" for sentence in certificates))
    paths = []
    try:
        figures = {"effects.png": plot_effects(model, rows), "accuracy.png": picture(accuracies, data)}
    except ImportError:
        print("\nNo picture: matplotlib is missing. Write: pip install 'bochner[plot]'", file=sys.stderr)
    else:
        for name, figure in figures.items():
            paths.append(Path(folder) / name)
            paths[-1].parent.mkdir(parents=True, exist_ok=True)
            with written_whole(paths[-1]) as beside:
                figure.savefig(beside, dpi=150)
        say("\nPictures: " + ", ".join(map(str, paths)))
    seconds = time.perf_counter() - started
    say(f"{seconds:.0f} s in all.")
    if as_json:
        names = ("dataset", "method", "frequencies")
        told = [dict(zip(names, key, strict=True)) | {"accuracy": found} for key, found in accuracies.items()]
        tables_told = [{"table": name, "method": method, "scores": found} for (name, method), found in scores.items()]
        facts = {
            "tables": tables_told,
            "results": told,
            "certificates": certificates,
            "pictures": list(map(str, paths)),
        }
        facts["seconds"] = seconds
        print(json.dumps(facts, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
