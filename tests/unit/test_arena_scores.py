"""The comparison with other libraries: scores of predictions, and the choice of a configuration."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

pd = pytest.importorskip("pandas")

import arena_learners as learners


def test_auc_is_the_mean_of_one_class_against_the_others():
    y = np.array(["a", "b", "c", "a", "b", "c"])
    predicted = np.array(
        [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.1, 0.6, 0.3], [0.3, 0.4, 0.3]]
        + [[0.2, 0.2, 0.6]]
    )
    found = learners.scores(y, predicted, np.array(["a", "b", "c"]))
    # a: pairs (a, other) in order, ties half: .8 beats all 4, .1 ties with one .1: 4.5 of 8.
    # b: .5 and .4 against .1 .2 .6 .2: 3 of 4 each. c: .7 and .6 against at most .3: all.
    assert found["auc"] == pytest.approx((4.5 / 8 + 6 / 8 + 1) / 3)
    assert found["accuracy"] == pytest.approx(5 / 6)
    assert found["log loss"] == pytest.approx(
        -np.mean(np.log([0.8, 0.5, 0.7, 0.1, 0.4, 0.6])), rel=1e-12
    )


def test_a_test_class_without_training_rows_is_an_error_of_accuracy_only():
    y, predicted = np.array(["a", "b", "c"]), np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    found = learners.scores(y, predicted, np.array(["a", "b"]))
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["log loss"] == pytest.approx(-np.mean(np.log([0.9, 0.8])))


def test_predictions_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="not all finite"):
        learners.scores(np.ones(2), np.array([1.0, np.nan]), None)


def test_tuning_takes_the_better_configuration():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.random(300)})
    y = np.sin(12 * X["x"].to_numpy())
    space = {"max_depth": [1]}
    learner = learners.Learner(lambda *_: DecisionTreeRegressor(max_depth=2), space=space)
    assert learners.best_parameters(learner, X, y, False, 0, 2) == {}
    space["max_depth"] = [9]
    assert learners.best_parameters(learner, X, y, False, 0, 2) == {"max_depth": 9}
