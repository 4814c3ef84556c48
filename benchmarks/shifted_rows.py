"""Coverage on rows unlike the training rows, and what wider intervals for novel rows would do.

    BOCHNER_TABLES=folder python benchmarks/shifted_rows.py [--seeds 3]

Training rows have values below the 70 % quantile in the most important column of numbers. "Ordinary"
test rows are like them, "shifted" rows are those above. For each rule the table shows coverage at
level 0.9 and the mean width relative to the intervals of the model, then the share of rows whose
novelty is above .95. Means over tables and seeds.
"""

import argparse
import warnings

import numpy as np
from arena_tables import load_table
from sklearn.model_selection import train_test_split

from bochner import SpectralRegressor

TABLES = ("concrete", "real_estate", "wizmir", "medical_cost", "boston2", "grid_stability")
MOST_ROWS = 3000
# Normal quantile of two-sided level .9.
Z = 1.645


def rules(model, rows, half_widths):
    """Half-widths of the model, and wider ones for rows far from the training rows."""
    prepared, neighbors = model.inputs_.transform(rows), model._neighbors
    none = np.zeros((len(rows), model.n_features_in_), dtype=bool)
    nearest = neighbors.distances(prepared, none).min(axis=1)
    usual = np.quantile(neighbors.own_distances, 0.95)
    novelty, beyond = model.novelty(rows), np.maximum(nearest / usual, 1.0)
    lost = np.maximum(np.exp(-2 * usual) - np.exp(-2 * nearest), 0.0)
    return {
        "as they are": half_widths,
        "x (1 + 10 max(novelty - .9, 0))": half_widths * (1 + 10 * np.maximum(novelty - 0.9, 0.0)),
        "x sqrt(distance / its 95 % quantile)": half_widths * np.sqrt(beyond),
        "x distance / its 95 % quantile": half_widths * beyond,
        "+ variance 1 - k² of a Gaussian process": np.hypot(half_widths, Z * np.sqrt(lost)),
    }


def coverages(name, seed):
    frame, y, _ = load_table(name)
    some = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
    frame, y = frame.iloc[some].reset_index(drop=True), y[some]
    importances = SpectralRegressor(random_state=seed).fit(frame, y).feature_importances_
    is_number = [
        frame[column].dtype.kind == "f" and frame[column].nunique() > 9 for column in frame
    ]
    column = frame.columns[np.argmax(np.where(is_number, importances, -1.0))]
    is_low = (frame[column] < frame[column].quantile(0.7)).to_numpy()
    train, ordinary = train_test_split(np.flatnonzero(is_low), test_size=0.25, random_state=seed)
    model = SpectralRegressor(random_state=seed).fit(frame.iloc[train], y[train])
    scale, found = model.target_scale_, {}
    for kind, numbers in (("ordinary", ordinary), ("shifted", np.flatnonzero(~is_low))):
        rows = frame.iloc[numbers]
        ends = scale.forward(model.predict_interval(rows, 0.9))
        center, half_widths = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / 2
        missed = np.abs(scale.forward(y[numbers, None])[:, 0] - center)
        novel = np.mean(model.novelty(rows) > 0.95)
        for rule, wide in rules(model, rows, half_widths).items():
            covered = np.mean(missed <= wide)
            found[kind, rule] = covered, wide.mean() / half_widths.mean(), novel
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore")
    each = [coverages(name, seed) for name in TABLES for seed in seeds]
    print("| rows | intervals | coverage | width | novel |\n|---|---|---|---|---|")
    for kind, rule in each[0]:
        means = np.mean([found[kind, rule] for found in each], axis=0)
        print(f"| {kind} | {rule} | {' | '.join(f'{value:.3f}' for value in means)} |")


if __name__ == "__main__":
    main()
