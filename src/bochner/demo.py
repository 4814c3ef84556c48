"""The main job in miniature: learn kernels on data that ships with scikit-learn, and look at the result.

``make demo`` runs this; it prints a table and writes a picture to ``demo-output/``.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ._files import written_whole
from ._progress import track
from .certificates import certify
from .features import SpectralFeatures
from .learners import JointDescent, OptimalAlignment, PacBayes

SIZES = (5, 10, 20, 50)
TABLE_SIZE = 20
SEEDS = range(3)
PLAIN, BAYES, ALIGNED, JOINT = "random features", "PacBayes", "OptimalAlignment", "JointDescent"
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


def features(method: str, n_components: int, seed: int) -> SpectralFeatures:
    """``n_components`` frequencies, drawn or learned."""
    if method == PLAIN:
        return SpectralFeatures(n_components=n_components, random_state=seed)
    if method == JOINT:
        return SpectralFeatures(learner=JointDescent(), n_components=n_components, random_state=seed)
    learner = PacBayes(beta=1.0) if method == BAYES else OptimalAlignment(radius=10.0)
    return SpectralFeatures(learner=learner, n_candidates=5000, n_components=n_components, random_state=seed)


def runs(names: Any) -> Iterator[tuple[str, str, int, int]]:
    """(data set, method, number of frequencies, seed) of every model that is fitted."""
    for name in names:
        for seed in SEEDS:
            yield name, "exact RBF-SVM", 0, seed
            for method in COLORS:
                for size in SIZES:
                    yield name, method, size, seed


def measure_accuracies(data: dict[str, tuple[np.ndarray, np.ndarray]]) -> tuple[dict, list[str]]:
    """{(data set, method, size): accuracies over the seeds}, and a certified sentence for each data set."""
    accuracies: dict[tuple[str, str, int], list[float]] = {}
    certificates = []
    everything = list(runs(data))
    for name, method, size, seed in track(everything, "learning kernels", total=len(everything)):
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
    columns = [*COLORS, "exact RBF-SVM"]
    lines = [" " * 15 + "".join(f"{column:>18}" for column in columns)]
    for name in names:
        cells = []
        for column in columns:
            scores = accuracies[name, column, 0 if column == "exact RBF-SVM" else TABLE_SIZE]
            cells.append(f"{100 * np.mean(scores):>11.1f} ± {100 * np.std(scores):3.1f} ")
        lines.append(f"{name:<15}" + "".join(cells))
    return "\n".join(lines)


def picture(accuracies: dict, data: dict[str, tuple[np.ndarray, np.ndarray]]) -> Any:
    """Accuracy against the number of frequencies, one panel for each data set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.8), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(data)), data, strict=True):
        exact = 100 * np.mean(accuracies[name, "exact RBF-SVM", 0])
        axes.axhline(exact, color="black", linestyle="--", linewidth=1, label="exact RBF-SVM")
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
    data = data_sets()
    say = (lambda *_: None) if as_json else print
    say(f"Kernels learned from data, compared at equal size ({TABLE_SIZE} frequencies, {len(SEEDS)} random splits).")
    accuracies, certificates = measure_accuracies(data)
    say("Test accuracy, %:\n")
    say(table(accuracies, data))
    say(f"\nWhat is certain about the models of {JOINT}:")
    say("\n".join(f"  {sentence}" for sentence in certificates))
    path = None
    try:
        figure = picture(accuracies, data)
    except ImportError:
        print("\nNo picture: matplotlib is missing. Write: pip install 'bochner[plot]'", file=sys.stderr)
    else:
        path = Path(folder) / "accuracy.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as beside:
            figure.savefig(beside, dpi=150)
        say(f"\nPicture: {path}")
    seconds = time.perf_counter() - started
    say(f"{seconds:.0f} s in all.")
    if as_json:
        names = ("dataset", "method", "frequencies")
        rows = [dict(zip(names, key, strict=True)) | {"accuracy": scores} for key, scores in accuracies.items()]
        facts = {"results": rows, "certificates": certificates, "picture": path and str(path), "seconds": seconds}
        print(json.dumps(facts, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
