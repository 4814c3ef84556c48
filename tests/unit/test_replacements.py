"""Values with replaced columns against evaluations row by row."""

import numpy as np
import pandas as pd
import pytest
from selection import long_except

from bochner import SpectralClassifier, SpectralRegressor
from bochner.learners import Evidence
from bochner.tabular.replacing import BlendReplacements, column_groups

QUICK = Evidence(n_rows=80, n_iterations=2, standardize=False)


def table(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=list("abc"))
    frame["few"] = rng.choice(["x", "y", "z"], n_rows)
    frame["many"] = rng.integers(0, 30, n_rows).astype(str)
    score = np.sin(2 * frame["a"]) + frame["b"] * (frame["few"] == "x") + 0.1 * frame["c"]
    return frame, score + 0.3 * rng.normal(size=n_rows)


def models():
    X, y = table(260)
    classes = np.digitize(y, [-0.5, 0.7]).astype(str)
    common = {"evidence": QUICK, "random_state": 0}
    return {
        "values": lambda: SpectralRegressor(**common).fit(X, y),
        "trees": lambda: SpectralRegressor(trees=True, **common).fit(X, y),
        "leaves": lambda: SpectralRegressor(max_leaf_rows=100, **common).fit(X, y),
        "classes": lambda: SpectralClassifier(**common).fit(X, classes),
        "classes, leaves": lambda: SpectralClassifier(max_leaf_rows=100, **common).fit(
            X, classes == "1"
        ),
    }


def replaced_rows(Z, columns, values):
    rows = np.tile(Z, (len(values), 1))
    rows[:, columns] = np.repeat(values[:, columns], len(Z), axis=0)
    return rows


@pytest.mark.parametrize("name", long_except(list(models()), "values", "classes, leaves"))
def test_scores_of_replaced_columns_are_those_of_evaluated_rows(name):
    model = models()[name]()
    X = table(40, seed=1)[0]
    Z = model.inputs_.transform(X)
    Z, values = Z[:25], Z[25:]
    _, groups = column_groups(model.inputs_)
    both = BlendReplacements(model.blend_, Z, groups)
    for chosen in ([0], [3], [4], [1, 4], [0, 2]):
        rows = replaced_rows(Z, np.concatenate([groups[g] for g in chosen]), values)
        shape = len(values), len(Z), -1
        expected = model.blend_.evaluate(rows).reshape(shape)
        np.testing.assert_allclose(both.scores(chosen, values), expected, atol=3e-5)
        if isinstance(model, SpectralClassifier):
            expected = model.blend_.probabilities(rows).reshape(shape)
            np.testing.assert_allclose(both.probabilities(chosen, values), expected, atol=1e-4)
