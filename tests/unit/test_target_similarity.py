"""Similarities of targets as low-rank factors, and costs of classes."""

import numpy as np

from bochner.data.targets import Labels, TargetSimilarity


def test_equal_labels_are_alike_and_others_opposite():
    found = TargetSimilarity.of_labels(["a", "b", "c", "a"])
    expected = 2 * np.eye(3)[[0, 1, 2, 0]] @ np.eye(3)[[0, 1, 2, 0]].T - 1
    np.testing.assert_allclose(found.gram(), expected, atol=1e-14)
    np.testing.assert_allclose(found.trace, 4)


def test_labels_without_a_class_weight_cost_one():
    costs = Labels.of(["a", "b", "c", "a"]).costs({"a": 3.0})
    np.testing.assert_array_equal(costs, [3.0, 1.0, 1.0, 3.0])


def test_a_similarity_of_low_rank_is_factorized_exactly():
    factors = np.random.default_rng(0).normal(size=(12, 3))
    gram = factors @ factors.T
    found = TargetSimilarity.of_gram(gram)
    assert found.factors.shape == (12, 3)
    np.testing.assert_allclose(found.gram(), gram, atol=1e-12)
