"""Random choices among rows: of the right size and law, one by one for rows that count several
times.
"""

import numpy as np
import pytest

from bochner.data.repetitions import equal_keys
from bochner.data.targets import Labels
from bochner.data.training import members, split_counts, split_observations


def test_split_counts_take_copies_one_by_one(seed):
    counts = np.array([1.0, 5.0, 0.4, 2.5, 0.0])
    first, second = split_counts(counts, 0.5, np.random.default_rng(seed))
    np.testing.assert_allclose(first + second, counts)
    assert first[1] == int(first[1])
    assert min(first.sum(), second.sum()) > 0
    many, _ = split_counts(np.full(4, 1000.0), 0.25, np.random.default_rng(seed))
    assert many.sum() == 1000
    assert np.max(np.abs(many - 250)) < 5 * np.sqrt(1000 * 0.25 * 0.75)


@pytest.mark.parametrize(
    ("n_rows", "share", "n_first"),
    [(6, 0.5, 3), (7, 0.5, 3), (100, 0.3, 30), (3, 0.01, 1), (3, 0.99, 2)],
)
def test_parts_of_rows_that_count_once_have_their_sizes(n_rows, share, n_first, seed):
    first, second = split_counts(np.ones(n_rows), share, np.random.default_rng(seed))
    assert set(first) | set(second) <= {0.0, 1.0}
    assert (first.sum(), second.sum()) == (n_first, n_rows - n_first)


def test_every_pair_of_rows_is_as_likely():
    """Of all ways to put two of five rows into the first part, none is preferred: a chi-square of
    ten cells.
    """
    rng, found = np.random.default_rng(0), np.zeros((5, 5))
    n_draws = 800
    for _ in range(n_draws):
        first, _ = split_counts(np.ones(5), 0.4, rng)
        found[tuple(np.flatnonzero(first))] += 1
    cells = found[np.triu_indices(5, 1)]
    assert cells.sum() == n_draws
    assert np.sum((cells - n_draws / 10) ** 2 / (n_draws / 10)) < 9 + 5 * np.sqrt(2 * 9)


def test_members_are_the_rows_of_each_code_that_have_a_weight():
    codes, weights = np.array([2, 0, 2, 1, 0, 2]), np.array([1.0, 0.0, 2.0, 1.0, 3.0, 0.0])
    assert [own.tolist() for own in members(codes, 4, 6, None)] == [[1, 4], [3], [0, 2, 5], []]
    assert [own.tolist() for own in members(codes, 4, 6, weights)] == [[4], [3], [0, 2], []]
    assert [own.tolist() for own in members(None, 1, 6, weights)] == [[0, 2, 3, 4]]


def test_copies_are_in_one_part_and_stand_for_one_observation(seed):
    rng = np.random.default_rng(seed)
    inputs = rng.integers(20, size=60).astype(float)
    equal = equal_keys(inputs, Labels.of(inputs % 2))
    first, second, observations = split_observations(
        np.ones(60), equal, False, 0.5, np.random.default_rng(seed)
    )
    np.testing.assert_array_equal(first + second, 1)
    in_first = set(inputs[first > 0])
    assert in_first.isdisjoint(inputs[second > 0])
    n_inputs = len(np.unique(inputs))
    assert len(in_first) == n_inputs // 2
    assert observations.sum() == n_inputs - n_inputs // 2
    assert not np.any(observations[first > 0])
    # Merged rows with the count of their copies are split alike: whole.
    counts = np.bincount(np.unique(inputs, return_inverse=True)[1]).astype(float)
    first, second, observations = split_observations(
        counts, equal, True, 0.5, np.random.default_rng(seed)
    )
    np.testing.assert_array_equal(np.sort([first, second], axis=0), [np.zeros(n_inputs), counts])
    np.testing.assert_array_equal(observations, second > 0)


def test_ties_are_split_one_by_one_and_pairs_of_copies_of_ties_together(seed):
    rng = np.random.default_rng(seed)
    inputs, labels = rng.integers(4, size=100).astype(float), rng.integers(2, size=100)
    equal = equal_keys(np.tile(inputs, 2), Labels.of(np.tile(labels, 2)))
    assert equal.are_ties
    assert equal.unit == 2
    _, sizes = np.unique(equal.split_groups(), return_counts=True)
    assert sizes.tolist() == [2] * 100
    first, second, observations = split_observations(
        np.ones(200), equal, False, 0.5, np.random.default_rng(seed)
    )
    assert (first.sum(), second.sum(), observations.sum()) == (100, 100, 50)
    groups = equal.groups
    assert np.all(np.bincount(groups, first) % 2 == 0)
    merged = np.bincount(groups).astype(float)
    first, second, observations = split_observations(
        merged, equal, True, 0.5, np.random.default_rng(seed)
    )
    assert (first.sum(), second.sum(), observations.sum()) == (100, 100, 50)
    assert np.sum((first > 0) & (second > 0)) > 0
