"""Rows with missing cells or unknown levels: filled cells against averages over training rows.

    BOCHNER_TABLES=folder python benchmarks/missing_cells.py [--seeds 3] [--share 0.25]

Training rows are complete. A share of all cells of the test rows is blanked ("missing cells"), or a
share of the cells of one categorical column gets a text that training rows do not have ("unknown
levels", judged on these rows alone), or all test rows have levels that training rows do not have
("held-out levels"). Each line shows the results with medians in these cells (as in ONNX graphs),
then those of the models: R² and coverage at level 0.9 for values, accuracy and log-loss for
classes, as means over seeds.
"""

import argparse
import warnings

import numpy as np
from arena_tables import load_table, split_rows
from sklearn.metrics import log_loss

from bochner import SpectralClassifier, SpectralRegressor
from bochner.tabular.imputation import filled_cells

MISSING = ("concrete", "real_estate", "medical_cost", "wizmir", "boston2", "segment", "phoneme")
UNKNOWN = (
    *(("medical_cost", column) for column in ("smoker", "region", "sex")),
    *(("sacramento", column) for column in ("type", "city", "zip")),
)
HELD_OUT = (("sacramento", "city"), ("sacramento", "zip"))
MOST_ROWS = 3000


def blanked(frame, share, rng):
    hidden, frame = rng.random(frame.shape) < share, frame.copy()
    for j, name in enumerate(frame.columns):
        frame[name] = frame[name].mask(hidden[:, j])
    return frame


def results(model, frame, y):
    """R² and coverage of values, accuracy and log-loss of classes."""
    if isinstance(model, SpectralClassifier):
        shares = model.predict_proba(frame)
        right = model.classes_[shares.argmax(axis=1)] == y
        return right.mean(), log_loss(y, shares, labels=model.classes_)
    lower, upper = model.predict_interval(frame, 0.9).T
    return model.score(frame, y), np.mean((lower <= y) & (y <= upper))


def before_and_after(model, frame, y):
    with filled_cells():
        before = results(model, frame, y)
    return [*before, *results(model, frame, y)]


def fitted(frame, y, task, seed):
    cls = SpectralRegressor if task == "regression" else SpectralClassifier
    return cls(random_state=seed).fit(frame, y)


def with_missing_cells(name, seed, share):
    frame, y, task = load_table(name)
    train, test = split_rows(y, task, seed, MOST_ROWS)
    model = fitted(frame.iloc[train], y[train], task, seed)
    new = blanked(frame.iloc[test], share, np.random.default_rng(seed))
    return before_and_after(model, new, y[test])


def with_unknown_levels(name, column, seed, share):
    frame, y, task = load_table(name)
    train, test = split_rows(y, task, seed, MOST_ROWS)
    model = fitted(frame.iloc[train], y[train], task, seed)
    some = test[np.random.default_rng(seed).random(len(test)) < share]
    return before_and_after(model, frame.iloc[some].assign(**{column: "unknown"}), y[some])


def with_held_out_levels(name, column, seed, share):
    frame, y, task = load_table(name)
    texts = frame[column].astype(str).to_numpy()
    levels = np.unique(texts)
    held = np.random.default_rng(seed).choice(levels, int(share * len(levels)), replace=False)
    is_held = np.isin(texts, held)
    frame = frame.assign(**{column: texts})
    model = fitted(frame[~is_held], y[~is_held], task, seed)
    return before_and_after(model, frame[is_held], y[is_held])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--share", type=float, default=0.25)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    trials = [
        *(("missing cells", with_missing_cells, (name,)) for name in MISSING),
        *(("unknown levels", with_unknown_levels, names) for names in UNKNOWN),
        *(("held-out levels", with_held_out_levels, names) for names in HELD_OUT),
    ]
    print("| cells | table | filled | | averaged | |\n|---|---|---|---|---|---|")
    for cells, run, names in trials:
        each = [run(*names, seed, options.share) for seed in range(options.seeds)]
        means = " | ".join(f"{value:.3f}" for value in np.mean(each, axis=0))
        print(f"| {cells} | {' '.join(names)} | {means} |", flush=True)


if __name__ == "__main__":
    main()
