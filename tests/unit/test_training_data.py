"""TrainingData: equal rows are merged, held out together, and drawn with their targets."""

import numpy as np

from bochner.data import LocalRows, repetitions
from bochner.data.targets import Labels, Values
from bochner.data.training import TrainingData


def of_values(X, y, weights=None):
    X = np.asarray(X, dtype=float)
    return TrainingData(LocalRows(X), Values.of(np.asarray(y, dtype=float)), weights)


def repeated(n_rows=200, n_distinct=50, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n_distinct, 3)), rng.normal(size=n_distinct)
    drawn = rng.integers(0, n_distinct, size=n_rows)
    return of_values(X[drawn], y[drawn]), drawn


# --- distinct -------------------------------------------------------------------------------------


def test_distinct_rows_have_summed_weights_and_know_the_given_rows():
    data = of_values([[2.0], [1.0], [2.0], [3.0]], [0, 1, 0, 2], np.array([1.0, 2.0, 0.5, 0.0]))
    distinct = data.distinct()
    np.testing.assert_array_equal(distinct.rows.source, [[1.0], [2.0]])
    np.testing.assert_array_equal(distinct.target.rows, [[1.0], [0.0]])
    np.testing.assert_array_equal(distinct.weights, [2.0, 1.5])
    np.testing.assert_array_equal(distinct.original_numbers(np.array([0, 1])), [1, 0])
    np.testing.assert_array_equal(distinct.for_original_rows(np.array([5.0, 7.0])), [7, 5, 7, 0])


def test_weights_and_repetitions_have_the_same_distinct_rows():
    data, drawn = repeated()
    once, counts = np.unique(drawn, return_counts=True)
    first = np.array([np.flatnonzero(drawn == number)[0] for number in once])
    weighted = TrainingData(data.take(first).rows, data.target.take(first), counts.astype(float))
    a, b = data.distinct(), weighted.distinct()
    np.testing.assert_array_equal(a.rows.source, b.rows.source)
    np.testing.assert_array_equal(a.target.rows, b.target.rows)
    np.testing.assert_array_equal(a.weights, b.weights)


def test_equal_inputs_with_different_targets_stay_two_rows():
    assert len(of_values([[1.0], [1.0]], [0, 1], np.array([2.0, 1.0])).distinct()) == 2


def test_counts_are_summed_beside_weights():
    labels = Labels.of(["a", "a", "b"])
    rows = LocalRows(np.array([[1.0], [1.0], [0.0]]))
    distinct = TrainingData(rows, labels, np.array([2.0, 4.0, 3.0]), np.ones(3) * 2).distinct()
    np.testing.assert_array_equal(distinct.weights, [3.0, 6.0])
    np.testing.assert_array_equal(distinct.counts, [2.0, 4.0])


def test_different_rows_keep_their_order_unless_another_one_is_requested():
    data = of_values([[2.0], [1.0]], [0, 1], np.ones(2))
    assert data.distinct().rows is data.rows
    assert data.distinct().weights is None
    np.testing.assert_array_equal(data.distinct(in_order=True).rows.source, [[1.0], [2.0]])


def test_large_tables_are_returned_unchanged(monkeypatch):
    data = of_values(np.zeros((40, 1)), np.zeros(40))
    assert len(data.distinct()) == 1
    monkeypatch.setattr(repetitions, "FEW_ROWS", 39)
    assert data.distinct() is data
