"""Ridges with their defaults on a folder of real tables, against a peer of scikit-learn: RMSE and
log-loss.

``BOCHNER_TABLES=folder python benchmarks/ridge_tables.py`` prints one line for each table (see
``arena.py``), of at most 2000 training rows through ``TableInputs``: our error with the defaults
and with those of before (100 frequencies, ridge 1), and scikit-learn's ``RBFSampler`` of as many
columns before ``RidgeCV``, all relative to gradient boosted trees. Defaults were chosen on the
tables marked "chosen", in alphabetical order the first, third, ..., and judged on the others.
"""

import warnings

import numpy as np
from arena import load_table, split_rows, tables
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from bochner import OperatorRidgeClassifier, SpectralFeatures, SpectralRidge, TableInputs

warnings.filterwarnings("ignore")
MOST_ROWS = 2000


def regressors():
    """By name; the last is what the others are compared with."""
    return {
        "now": SpectralRidge(random_state=0),
        "before": SpectralRidge(SpectralFeatures(n_components=100), alpha=1.0, random_state=0),
        "RBFSampler": make_pipeline(
            RBFSampler(gamma="scale", n_components=1000, random_state=0),
            RidgeCV(np.logspace(-6, 2, 25)),
        ),
        "trees": HistGradientBoostingRegressor(random_state=0),
    }


def classifiers():
    """By name; the last is what the others are compared with."""
    return {
        "now": OperatorRidgeClassifier(random_state=0),
        "before": OperatorRidgeClassifier(n_components=100, alpha=1.0, random_state=0),
        "RBFSampler": make_pipeline(
            RBFSampler(gamma="scale", n_components=1000, random_state=0),
            LogisticRegressionCV(
                Cs=[1.0, 30.0, 1000.0], cv=3, scoring="neg_log_loss", max_iter=200
            ),
        ),
        "trees": HistGradientBoostingClassifier(random_state=0),
    }


def errors(name):
    """RMSE, or log-loss, of each model on the test rows of a table."""
    frame, y, task = load_table(name)
    train, test = (part[:MOST_ROWS] for part in split_rows(y, task, 0))
    test = test[np.isin(y[test], y[train])] if task == "classification" else test
    inputs = TableInputs().fit(frame.iloc[train], y[train])
    X, X_test = (
        np.asarray(inputs.transform(frame.iloc[part]), dtype=float) for part in (train, test)
    )
    found = {}
    for kind, model in (classifiers() if task == "classification" else regressors()).items():
        model.fit(X, y[train])
        if task == "classification":
            found[kind] = log_loss(y[test], model.predict_proba(X_test), labels=model.classes_)
        else:
            found[kind] = float(np.sqrt(np.mean((model.predict(X_test) - y[test]) ** 2)))
    return found


def main():
    """Print the table and its geometric means."""
    for task, measure in (("regression", "RMSE"), ("classification", "log-loss")):
        names = sorted(name for name, entry in tables().items() if entry["task"] == task)
        ratios = {}
        for number, name in enumerate(names):
            with threadpool_limits(1):
                found = errors(name)
            ratios[name] = {
                kind: error / found["trees"] for kind, error in found.items() if kind != "trees"
            }
            part = "judged" if number % 2 else "chosen"
            said = "  ".join(f"{kind} x{ratio:.3f}" for kind, ratio in ratios[name].items())
            print(f"{name:20s} {part}  {measure} against trees: {said}", flush=True)
        for label, part in (("chosen", names[::2]), ("judged", names[1::2])):
            means = {
                kind: np.exp(np.mean([np.log(ratios[name][kind]) for name in part]))
                for kind in ratios[names[0]]
            }
            wins = sum(ratios[name]["now"] < ratios[name]["before"] for name in part)
            said = ", ".join(f"{kind} x{mean:.3f}" for kind, mean in means.items())
            print(
                f"{label}: {len(part)} tables, {measure} against trees: {said}; better than before "
                f"on {wins}"
            )


if __name__ == "__main__":
    main()
