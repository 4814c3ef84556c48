"""Trees that split rows into leaves, against recursive medians, and functions of several leaves."""

import pickle

import numpy as np
import pytest
from export_samples import assert_close, graph_of, run
from selection import long_except

from bochner import Anova, Gaussian, KernelExpansion, Laplace, SpectralMixture
from bochner.expansions import leaves as leaves_module
from bochner.expansions.leaves import LeafExpansion, LeafTree, column_scales

D = 4


def mixed_rows(n=400, seed=0):
    """Numbers, whole numbers, a rare value, and a constant."""
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=n), rng.integers(0, 4, n), rng.random(n) < 0.06, np.ones(n)
    return np.column_stack(columns).astype(np.float32)


def recursive_medians(Z, rows, scales, most_rows):
    """The rows of the leaves, by trying every threshold of every column; only for tests."""
    if len(rows) <= most_rows:
        return [rows]
    spreads, n = [scales[j] * np.std(Z[rows, j].astype(np.float64)) for j in range(D)], len(rows)
    best = None
    for j in sorted(range(D), key=lambda j: -spreads[j]):
        distinct = np.unique(Z[rows, j])
        if spreads[j] == 0 or len(distinct) < 2:
            continue
        n_below = [int(np.sum(Z[rows, j] < value)) for value in distinct[1:]]
        k = int(np.argmin([abs(below - n / 2) for below in n_below]))
        smaller = min(n_below[k], n - n_below[k])
        if best is None or smaller > best[0]:
            best = smaller, j, distinct[k + 1]
        if smaller >= max(0.1 * n, 20):
            best = smaller, j, distinct[k + 1]
            break
    if best is None or best[0] < 20:
        return [rows]
    _, j, value = best
    left, right = rows[Z[rows, j] < value], rows[Z[rows, j] >= value]
    return [
        leaf for side in (left, right) for leaf in recursive_medians(Z, side, scales, most_rows)
    ]


@pytest.mark.parametrize("scales", [[1, 1, 1, 1], [0.1, 1, 5, 1], [0, 1, 1, 1], [0, 0, 1, 0]])
def test_leaves_are_those_of_recursive_medians(scales, seed):
    Z, scales = mixed_rows(seed=seed), np.array(scales, dtype=float)
    for most_rows in (40, 100, 399):
        tree, leaves = LeafTree.grown(Z, scales, most_rows)
        expected = recursive_medians(Z, np.arange(400), scales, most_rows)
        assert tree.n_leaves == len(leaves) == len(expected)
        for k, (rows, others) in enumerate(zip(leaves, expected)):
            np.testing.assert_array_equal(rows, others)
            assert np.all(tree.leaves(Z)[rows] == k)


@pytest.mark.parametrize("split_rows", [20_000, 60])
def test_leaves_of_different_rows_are_balanced_and_not_too_large(split_rows, monkeypatch, seed):
    """Also if a split is chosen from some of the rows."""
    monkeypatch.setattr(leaves_module, "_SPLIT_ROWS", split_rows)
    Z = np.random.default_rng(seed).normal(size=(1600, D)).astype(np.float32)
    tree, leaves = LeafTree.grown(Z, np.ones(D), 100)
    np.testing.assert_array_equal(np.sort(np.concatenate(leaves)), np.arange(1600))
    sizes = [len(rows) for rows in leaves]
    assert max(sizes) <= 100
    if split_rows > 1600:
        assert sizes == [100] * 16
    for k, rows in enumerate(leaves):
        assert np.all(tree.leaves(Z[rows]) == k)


def test_few_rows_and_equal_rows_are_one_leaf():
    Z = mixed_rows(100)
    for rows in (Z, np.repeat(Z[:1], 300, axis=0), np.zeros((300, D), np.float32)):
        tree, leaves = LeafTree.grown(rows, np.ones(D), 100)
        assert tree.n_leaves == 1
        np.testing.assert_array_equal(leaves[0], np.arange(len(rows)))
        np.testing.assert_array_equal(tree.leaves(Z), np.zeros(100))


@pytest.mark.parametrize("n_odd, n_leaves", [(1, 1), (19, 1), (20, 2), (30, 2), (31, 2)])
def test_a_leaf_has_at_least_twenty_rows(n_odd, n_leaves):
    Z = np.zeros((300, 2), np.float32)
    Z[:n_odd, 0] = 1.0
    tree, leaves = LeafTree.grown(Z, np.ones(2), 290)
    assert tree.n_leaves == n_leaves
    assert min(map(len, leaves)) == (n_odd if n_leaves == 2 else 300)


def test_an_increasing_function_of_a_column_does_not_change_its_splits():
    Z = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    bent = Z.copy()
    bent[:, 0] = np.exp(2 * Z[:, 0])
    for scales in ([1.0, 0.0], [1.0, 1e-9]):
        _, leaves = LeafTree.grown(Z, np.array(scales), 40)
        _, others = LeafTree.grown(bent, np.array(scales), 40)
        assert len(leaves) == len(others)
        for rows, same in zip(leaves, others):
            np.testing.assert_array_equal(rows, same)


def test_only_products_of_columns_and_scales_count():
    Z, units = mixed_rows(), np.array([8.0, 0.25, 2.0, 1.0], np.float32)
    _, leaves = LeafTree.grown(Z, np.array([1.0, 0.5, 3.0, 1.0]), 50)
    _, others = LeafTree.grown(Z * units, np.array([1.0, 0.5, 3.0, 1.0]) / units, 50)
    for rows, same in zip(leaves, others, strict=True):
        np.testing.assert_array_equal(rows, same)


def test_rows_beside_a_threshold_are_rounded_as_in_training():
    one, next_one = np.float32(1.0), np.nextafter(np.float32(1.0), np.float32(2.0))
    Z = np.repeat([one, next_one], 30)[:, None]
    tree, leaves = LeafTree.grown(Z, np.ones(1), 30)
    assert tree.thresholds.dtype == np.float32
    assert [len(rows) for rows in leaves] == [30, 30]
    np.testing.assert_array_equal(tree.leaves(Z), np.repeat([0, 1], 30))
    beside = np.array([[1 + 1e-9], [float(next_one) - 1e-9], [np.inf], [-np.inf]])
    np.testing.assert_array_equal(tree.leaves(beside), [0, 1, 1, 0])


def test_scales_are_the_falls_of_the_kernel_over_a_short_distance():
    rates = np.array([4.0, 1.0, 0.25])
    expected = np.sqrt(1 - np.exp(-rates * 0.1**2)) / 0.1
    np.testing.assert_allclose(column_scales(Gaussian(rates), 3), expected)
    np.testing.assert_allclose(column_scales(Gaussian(rates), 3), np.sqrt(rates), rtol=0.02)
    heavy = SpectralMixture([2.0, 1.0], np.zeros((2, 3)), np.sqrt(2 * rates) * np.ones((2, 1)))
    np.testing.assert_allclose(column_scales(heavy, 3), expected)
    anova = column_scales(Anova(length_scale=[1.0, 2.0, 1.0], weight=[1.0, 1.0, 0.0]), 3)
    assert anova[0] / anova[1] == pytest.approx(2, rel=0.05)
    assert anova[2] == 0


# --- functions ------------------------------------------------------------------------------------


def rows_in_leaves(n=200):
    return np.random.default_rng(5).normal(size=(n, D)).astype(np.float32)


def function(prior, n_outputs=2, dtype=np.float64, most_rows=60):
    """A function of four leaves with sums of different lengths."""
    Z = rows_in_leaves()
    tree, leaves = LeafTree.grown(Z, np.array([1.0, 0.7, 0.5, 0.3]), most_rows)
    rng = np.random.default_rng(1)
    expansions = [
        KernelExpansion(
            prior,
            Z[rows[: 20 + 3 * k]],
            rng.normal(size=(20 + 3 * k, n_outputs)).astype(dtype),
            rng.normal(size=(D, n_outputs)),
            rng.normal(size=n_outputs),
        )
        for k, rows in enumerate(leaves)
    ]
    return LeafExpansion(tree, tuple(expansions))


def by_leaf(f, Z, name, *arguments):
    """Return the answers of the function of each row's own leaf, row by row."""
    answers = [
        getattr(f.expansions[leaf], name)(row[None], *arguments)[0]
        for leaf, row in zip(f.tree.leaves(Z), Z)
    ]
    return np.stack(answers)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_and_derivatives_are_those_of_the_leaf(dtype):
    f, Z = function(Laplace(0.3), dtype=dtype), rows_in_leaves().astype(np.float64)
    assert len(f) == 20 + 23 + 26 + 29
    assert f.prior is f.expansions[0].prior
    atol = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(f.evaluate(Z), by_leaf(f, Z, "evaluate"), atol=atol)
    for side in (-1, 0, 1):
        np.testing.assert_allclose(
            f.jacobian(Z, side), by_leaf(f, Z, "jacobian", side), atol=10 * atol
        )
    assert f.evaluate(Z.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("prior", [Anova(), Gaussian(0.4)], ids=repr)
def test_derivatives_inside_leaves_are_differences(prior):
    f, Z, step = function(prior), rows_in_leaves().astype(np.float64) + 0.01, 1e-5
    inside = np.ones(len(Z), dtype=bool)
    for e in step * np.eye(D):
        inside &= (f.tree.leaves(Z + e) == f.tree.leaves(Z)) & (
            f.tree.leaves(Z - e) == f.tree.leaves(Z)
        )
    assert np.sum(inside) > 150
    for j, e in enumerate(step * np.eye(D)):
        numeric = (f.evaluate(Z + e) - f.evaluate(Z - e)) / (2 * step)
        np.testing.assert_allclose(f.jacobian(Z)[inside, :, j], numeric[inside], atol=1e-6)


def test_leaves_without_rows_one_row_and_no_rows():
    f, Z = function(Anova()), rows_in_leaves()
    last = Z[f.tree.leaves(Z) == 3]
    assert len(set(f.tree.leaves(Z))) == 4
    expected = f.expansions[3].evaluate(last)
    np.testing.assert_allclose(f.evaluate(last), expected, atol=1e-5)
    np.testing.assert_allclose(f.evaluate(last[:1]), expected[:1], atol=1e-5)
    assert f.evaluate(Z[:0]).shape == (0, 2)
    assert f.jacobian(Z[:0]).shape == (0, 2, D)


def test_rows_are_in_a_leaf_if_all_its_conditions_hold():
    f, Z = function(Anova()), rows_in_leaves()
    leaves = f.tree.leaves(Z)
    for leaf in range(f.tree.n_leaves):
        inside = [(Z[:, j] > cut) == is_right for j, cut, is_right in f.tree.conditions(leaf)]
        np.testing.assert_array_equal(np.all(inside, axis=0), leaves == leaf)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("dtype", long_except([np.float32, np.float64], np.float64))
def test_the_graph_is_the_function(dtype, n_outputs):
    f, Z = function(Anova(), n_outputs), rows_in_leaves().astype(dtype)
    graph = graph_of(f.onnx, D, dtype)
    last = Z[f.tree.leaves(Z) == 3]  # the other leaves have no rows
    for rows in (Z, last, last[:1], np.full((3, D), 100.0, dtype)):
        (value,) = run(graph, rows, dtype).values()
        assert_close(value, f.evaluate(rows.astype(np.float64)), dtype)


def test_the_graph_rounds_rows_beside_a_threshold():
    f = function(Gaussian(0.1))
    root, threshold = f.tree.columns[0], f.tree.thresholds[0]
    rows = np.zeros((2, D))
    rows[:, root] = np.float64(threshold) + np.array([1e-10, 1e-3])
    (value,) = run(graph_of(f.onnx, D, np.float64), rows, np.float64).values()
    assert f.tree.leaves(rows)[0] < f.tree.leaves(rows)[1]
    assert_close(value, f.evaluate(rows), np.float64)


def test_one_leaf_is_the_sum_of_kernels_and_pickles():
    f, Z = function(Anova(), most_rows=500), rows_in_leaves().astype(np.float64)
    (only,) = f.expansions
    for one in (f, pickle.loads(pickle.dumps(f))):
        np.testing.assert_array_equal(one.evaluate(Z), only.evaluate(Z))
