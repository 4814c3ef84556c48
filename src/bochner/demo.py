"""Scores on tables of scikit-learn, and a figure of effects in ``demo-output/`` (``make demo``)."""

import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from ._terminal.files import written_whole
from ._terminal.progress import track
from ._terminal.text import aligned
from .plots import plot_effects
from .tabular import SpectralClassifier, SpectralRegressor

# Frames have the column names of the figure; without pandas there are arrays, and no figure.
_HAS_FRAMES = importlib.util.find_spec("pandas") is not None
SEEDS = range(3)
OURS, TREES, EXACT = "bochner", "gradient-boosted trees", "exact RBF-SVM"
DIABETES = "diabetes, R²"


def tables() -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    """Return (X, y, {method: model}) of three tables; all models are untuned."""
    exact = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    ours, trees = SpectralRegressor(), HistGradientBoostingRegressor()
    values = {OURS: ours, TREES: trees, EXACT: _scaled(exact)}
    ours, trees = SpectralClassifier(), HistGradientBoostingClassifier()
    labels = {OURS: ours, TREES: trees, EXACT: _scaled(SVC())}
    return {
        "breast cancer, accuracy": (*load_breast_cancer(return_X_y=True), labels),
        "wine, accuracy": (*load_wine(return_X_y=True), labels),
        DIABETES: (*load_diabetes(return_X_y=True, as_frame=_HAS_FRAMES, scaled=False), values),
    }


def _scaled(model):
    return make_pipeline(StandardScaler(), model)


def measured() -> tuple[dict[tuple[str, str], list[float]], Any]:
    """Return {(table, method): test scores}, and the last diabetes model with its rows."""
    scores: dict[tuple[str, str], list[float]] = {}
    data = tables()
    runs = [(name, seed, method) for name in data for seed in SEEDS for method in data[name][2]]
    for name, seed, method in track(runs, "models for tables"):
        X, y, models = data[name]
        model = clone(models[method])
        seeds = [key for key in model.get_params() if key.endswith("random_state")]
        model.set_params(**dict.fromkeys(seeds, seed))
        strata = y if is_classifier(model) else None
        parts = train_test_split(X, y, test_size=0.3, stratify=strata, random_state=seed)
        X_train, X_test, y_train, y_test = parts
        score = model.fit(X_train, y_train).score(X_test, y_test)
        scores.setdefault((name, method), []).append(score)
        if (name, method) == (DIABETES, OURS):
            shown = model, X_train
    return scores, shown


def scores_text(scores: dict[tuple[str, str], list[float]]) -> str:
    """Return mean and spread over the splits, in percent."""
    methods = (OURS, TREES, EXACT)
    rows = []
    for name in dict.fromkeys(name for name, _ in scores):
        of_methods = [100 * np.array(scores[name, method]) for method in methods]
        rows.append([name, *(f"{one.mean():.1f} ± {one.std():.1f}" for one in of_methods)])
    return aligned(["", *methods], rows)


def main(folder: str | os.PathLike[str] = "demo-output", as_json: bool = False) -> int:
    """Run the demo and return an exit code."""
    started = time.perf_counter()
    say = (lambda *_: None) if as_json else print
    say(f"SpectralClassifier and SpectralRegressor without tuning, {len(SEEDS)} random splits.")
    say("Test scores, %:\n")
    scores, shown = measured()
    say(scores_text(scores))
    path = Path(folder) / "effects.png"
    try:
        figure = plot_effects(*shown)
    except ImportError:
        figure = None
        message = "\nNo figure: matplotlib is not installed: pip install 'bochner[plot]'"
        print(message, file=sys.stderr)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as beside:
            figure.savefig(beside, dpi=150)
        say(f"\nFigure: {path}")
    seconds = time.perf_counter() - started
    say(f"Time: {seconds:.0f} s.")
    if as_json:
        rows = [
            {"table": table, "method": method, "scores": values}
            for (table, method), values in scores.items()
        ]
        pictures = [] if figure is None else [str(path)]
        print(json.dumps({"tables": rows, "pictures": pictures, "seconds": seconds}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
