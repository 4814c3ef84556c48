"""Coverage of the intervals of ``SpectralRegressor`` with repeated rows and with weights.

    python benchmarks/interval_coverage.py [--rows 300 4500 12000] [--seeds 3]

The target is the first of two columns plus noise of the same variance. The table shows the share of
4000 new rows that lie within intervals of level 0.9, for each kind of repetition or weights, as one
number per seed. Aim: .86 to .94.
"""

import argparse

import numpy as np

from bochner import SpectralRegressor


def sample(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    return X, X[:, 0] + rng.normal(size=n_rows)


def half_repeated(X, y, rng):
    half = len(X) // 2
    return np.vstack([X, X[:half]]), np.append(y, y[:half]), None


KINDS = {
    "plain table": lambda X, y, rng: (X, y, None),
    "all rows twice": lambda X, y, rng: (np.tile(X, (2, 1)), np.tile(y, 2), None),
    "weight 1000 for all": lambda X, y, rng: (X, y, np.full(len(y), 1000.0)),
    "half of the rows repeated": half_repeated,
    "weights from U(.5, 3)": lambda X, y, rng: (X, y, rng.uniform(0.5, 3, len(y))),
    "survey weights, 1000 exp(N(0, .5²))": lambda X, y, rng: (
        X,
        y,
        1000 * np.exp(0.5 * rng.normal(size=len(y))),
    ),
}


def coverage(kind, n_rows, seed):
    """Return the share of new rows within their intervals."""
    X, y = sample(n_rows, seed)
    model = SpectralRegressor(random_state=seed).fit(
        *KINDS[kind](X, y, np.random.default_rng(seed + 1))
    )
    X_new, y_new = sample(4000, seed + 1000)
    lower, upper = model.predict_interval(X_new, level=0.9).T
    return np.mean((lower <= y_new) & (y_new <= upper))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 4500, 12_000])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print("| rows given | " + " | ".join(f"{n} rows" for n in options.rows) + " |")
    print("|---" * (1 + len(options.rows)) + "|")
    for kind in KINDS:
        cells = [
            " ".join(f"{coverage(kind, n, seed):.3f}" for seed in range(options.seeds))
            for n in options.rows
        ]
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
