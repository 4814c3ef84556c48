"""Means over rows with replaced columns against evaluations of every row."""

import numpy as np
import pytest
from selection import long_except

from bochner import Anova, Cauchy, Gaussian, Laplace
from bochner.expansions import Expansion, KernelExpansion, dependence
from bochner.expansions.dependence import GroupValues, partial_dependence
from bochner.expansions.leaves import LeafExpansion, LeafTree
from bochner.priors import WithCategories

GROUPS = [np.array([0]), np.array([1, 3]), np.array([2]), np.array([4])]
PAIRS = [(0, 1), (3, 1), (2, 3)]


def kernels(prior, rng, n_points=20, n_outputs=2):
    points = rng.normal(size=(n_points, 5)).round(1)
    points[:, 4] = rng.integers(0, 3, n_points)
    return KernelExpansion(
        prior,
        points,
        rng.normal(size=(n_points, n_outputs)),
        rng.normal(size=(5, n_outputs)),
        rng.normal(size=n_outputs),
    )


def leaves(prior, rng):
    """Leaves of two to three splits, two of which are by columns of one group."""
    tree = LeafTree(
        np.array([0, 1, 3, -1, -1, -1, 2, -1, -1]),
        np.array([0.1, -0.2, 0.3, 0, 0, 0, 0.0, 0, 0], np.float32),
        np.array([[1, 6], [2, 3], [4, 5], [2, 2], [0, 0], [1, 1], [7, 8], [3, 3], [4, 4]]),
    )
    return LeafExpansion(tree, tuple(kernels(prior, rng) for _ in range(5)))


def functions():
    rng = np.random.default_rng(0)
    waves = rng.normal(size=(30, 5)), rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    return {
        "anova": kernels(Anova(weight=[1.0, 0.5, 0.0, 2.0, 1.0]), rng),
        "codes": kernels(WithCategories(Laplace(0.3), (4,)), rng),
        "one output": kernels(Gaussian(0.2), rng, n_outputs=1),
        "far points": kernels(Gaussian(90.0), rng),
        "not a product": kernels(Cauchy(0.7), rng),
        "waves": Expansion(*waves, np.ones(2), rng.normal(size=(5, 2))),
        "waves without slopes": Expansion(*waves, np.ones(2)),
        "leaves": leaves(Anova(), rng),
        "leaves, not a product": leaves(Cauchy(0.7), rng),
    }


def rows(rng, n_rows):
    Z = rng.normal(size=(n_rows, 5)).round(1)
    Z[:, 4] = rng.integers(0, 3, n_rows)
    return Z


def mean_with(f, Z, columns, values):
    """The definition: replace the columns of all rows, evaluate, average."""
    means = []
    for value in values:
        replaced = Z.copy()
        replaced[:, columns] = value[columns]
        means.append(f.evaluate(replaced).mean(axis=0))
    return np.array(means)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("name", list(functions()))
def test_means_are_those_of_evaluated_rows(name, blocks, monkeypatch):
    if blocks:
        monkeypatch.setattr(dependence, "_BLOCK_BYTES", 8 * 4 * 9 * 7)
        monkeypatch.setattr(dependence, "_ROWS_AT_ONCE", 3)
        monkeypatch.setattr(dependence, "_VALUES_AT_ONCE", 3)
        monkeypatch.setattr(dependence, "_PAIRS_AT_ONCE", 20)
        monkeypatch.setattr(dependence, "_LARGEST_TABLE", 0)
    f, rng = functions()[name], np.random.default_rng(1)
    Z, values = rows(rng, 9), rows(rng, 8)
    singles, doubles = partial_dependence(f, Z, GroupValues.of(values, GROUPS), PAIRS)
    for g, columns in enumerate(GROUPS):
        np.testing.assert_allclose(singles[g], mean_with(f, Z, columns, values), atol=1e-10)
    for p, (g, h) in enumerate(PAIRS):
        columns = np.concatenate([GROUPS[g], GROUPS[h]])
        np.testing.assert_allclose(doubles[p], mean_with(f, Z, columns, values), atol=1e-10)


@pytest.mark.parametrize("name", long_except(list(functions()), "anova", "leaves"))
def test_without_pairs_singles_are_the_same(name):
    f, rng = functions()[name], np.random.default_rng(2)
    own = GroupValues.of(rows(rng, 6), GROUPS)
    Z = rows(rng, 15)
    singles, doubles = partial_dependence(f, Z, own, [])
    assert doubles.shape == (0, 6, singles.shape[2])
    np.testing.assert_allclose(singles, partial_dependence(f, Z, own, PAIRS)[0], atol=1e-12)
