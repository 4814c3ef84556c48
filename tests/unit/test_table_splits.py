"""Splits of tables and thresholds of two classes, on rows small enough to count."""

import numpy as np
import pytest

from bochner.tables.evaluate.copies import Observations
from bochner.tables.evaluate.splitting import SplitSpec, split_rows
from bochner.tables.evaluate.thresholds import ThresholdSpec, cheapest_threshold

pd = pytest.importorskip("pandas")


def different(n_rows):
    return Observations(np.arange(n_rows))


def test_the_last_quarter_in_time_is_held_out():
    order = np.random.default_rng(0).permutation(40)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(order, unit="D")
    frame = pd.DataFrame({"day": days, "x": np.arange(40.0)})
    split = split_rows(
        SplitSpec("time", "day"), frame, np.arange(40.0), False, 0, ".", different(40)
    )
    assert set(order[split.test]) == set(range(30, 40))
    assert set(order[split.train]) == set(range(30))


def test_whole_groups_are_held_out():
    groups = np.repeat(np.arange(12), 5)
    frame = pd.DataFrame({"who": [f"g{k}" for k in groups], "x": np.arange(60.0)})
    split = split_rows(
        SplitSpec("group", "who"), frame, np.arange(60.0), False, 0, ".", different(60)
    )
    assert len(split.test) == 15
    assert not set(groups[split.train]) & set(groups[split.test])


@pytest.mark.parametrize(("costs", "lowest", "highest"), [("1,10", 0.0, 0.3), ("10,1", 0.6, 0.9)])
def test_a_threshold_is_lower_if_false_negatives_cost_more(costs, lowest, highest):
    scores, is_positive = np.array([0.1, 0.3, 0.6, 0.9]), np.array([False, True, False, True])
    threshold = cheapest_threshold(scores, is_positive, ThresholdSpec.of(f"cost:{costs}"))
    assert lowest < threshold <= highest


def test_rows_of_equal_score_are_on_one_side_of_a_threshold():
    scores, is_positive = np.array([0.6, 0.6, 0.1]), np.array([True, False, False])
    # Only a threshold between two equal scores would cost nothing; calling none positive costs 1.
    assert cheapest_threshold(scores, is_positive, ThresholdSpec.of("cost:10,1")) > 0.6
