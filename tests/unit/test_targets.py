"""y is read once: what is a label, what is a value, and what is refused."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import DataConversionWarning

from bochner import (
    JointDescent,
    MarginGame,
    OptimalAlignment,
    SpectralFeatures,
    SpectralLogistic,
    SpectralRidge,
    TargetSimilarity,
)
from bochner.data.simplex import simplex_code
from bochner.data.targets import Labels, Values, as_target, regressed


def test_labels_are_codes_signs_corners_and_labels_again():
    labels = Labels.of(["b", "a", "c", "b"])
    assert labels.classes.tolist() == ["a", "b", "c"]
    assert labels.codes.tolist() == [1, 0, 2, 1]
    np.testing.assert_array_equal(labels.one_hot(), [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(
        labels.signs(), [[-1, 1, -1], [1, -1, -1], [-1, -1, 1], [-1, 1, -1]]
    )
    np.testing.assert_allclose(labels.corners(), simplex_code(3).T[[1, 0, 2, 1]])
    assert labels.decode([2, 0]).tolist() == ["c", "a"]
    assert labels.take([0, 3]).codes.tolist() == [1, 1]


def test_two_classes_have_one_column_of_signs():
    np.testing.assert_array_equal(Labels.of([5, 3, 5]).signs(), [[1], [-1], [1]])


def test_values_keep_the_shape_they_came_in():
    flat, columns = Values.of([1, 2, 3]), Values.of([[1.0], [2.0]])
    assert flat.rows.shape == (3, 1)
    assert flat.rows.dtype == np.float64
    assert flat.as_given(np.zeros((3, 1))).shape == (3,)
    assert columns.as_given(np.zeros((2, 1))).shape == (2, 1)


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        ([0, 1, 1, 0], Labels),
        (["x", "y", "x", "y"], Labels),
        ([True, False, True, True], Labels),
        ([0.5, 1.0, 2.0, 3.0], Values),
        ([[1, 2], [3, 4], [5, 6], [7, 8]], Values),
        (TargetSimilarity(np.ones((4, 1))), TargetSimilarity),
    ],
)
def test_where_nobody_says_the_type_decides(y, kind):
    assert isinstance(as_target(y, 4), kind)


def test_whole_numbers_of_many_levels_are_values_with_a_warning():
    y = np.arange(50) % 40
    with pytest.warns(
        UserWarning, match="40 different whole numbers in 50 rows and is read as values"
    ):
        assert isinstance(as_target(y, 50), Values)
    assert isinstance(as_target(y, 50, kind="labels"), Labels)
    assert isinstance(as_target(y, 50, kind="values"), Values)
    assert isinstance(
        as_target(np.repeat(np.arange(26), 100), 2600), Labels
    )  # letters of an alphabet


@pytest.mark.parametrize(
    "learner", [OptimalAlignment(), JointDescent(n_epochs=3), MarginGame(n_rounds=5)], ids=repr
)
@pytest.mark.filterwarnings("error")
def test_a_regressor_means_values_also_where_they_are_whole_numbers(learner):
    """Diabetes has 214 levels of whole numbers: learned as classes, R² fell from .45 to .27."""
    X, y = load_diabetes(return_X_y=True)
    X = X / X.std(axis=0)
    models = [
        SpectralRidge(SpectralFeatures(learner=learner, n_components=20), random_state=0).fit(
            X, target
        )
        for target in (y.astype(int), y + 0.0)
    ]
    np.testing.assert_allclose(models[0].predict(X), models[1].predict(X), rtol=1e-6)
    fractions = SpectralRidge(
        SpectralFeatures(learner=learner, n_components=20), random_state=0
    ).fit(X, y + 1e-7 * X[:, 0])
    assert models[0].score(X, y) == pytest.approx(fractions.score(X, y), abs=0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Labels.of(None, 3, owner="Machine"),
            "Machine requires y to be passed, but the target y is None",
        ),
        (
            lambda: Labels.of([1, 1], fewest=2, owner="Machine"),
            "Machine needs at least 2 classes, but y has only 1 class: 1",
        ),
        (lambda: Labels.of([1, 2], 3), "X has 3 rows, y 2"),
        (lambda: Labels.of([[1, 2], [2, 1]]), "one label per row"),
        (lambda: Labels.of([0.5, 1.7], advice="Write a."), "y is continuous.*Write a."),
        (lambda: Labels.of(np.array(["a", 1], dtype=object)), "y mixes int, str"),
        (lambda: Labels.of(np.array(["a", None], dtype=object)), "missing values"),
        (lambda: Labels.of(np.array(["a", np.nan], dtype=object)), "missing values"),
        (lambda: Labels.of([1.0, np.nan]), "NaN or infinity"),
        (lambda: Labels.of(["a", "z"], classes=["a", "b"]), r"labels \['z'\], but classes="),
        (lambda: Values.of([1.0, np.inf]), "infinity"),
        (lambda: Values.of(["a", "b"]), "could not convert"),
        (lambda: Values.of(np.zeros((2, 2, 2))), "one column per output|dim 3"),
        (lambda: as_target([1, 2], 2, kind="numbers"), "target must be one of"),
        (lambda: as_target(Values.of([1.0, 2.0]), 3), "X has 3 rows, y 2"),
    ],
)
def test_refusals_name_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_column_of_labels_is_taken_with_scikit_learns_warning():
    with pytest.warns(DataConversionWarning):
        assert Labels.of([["a"], ["b"]]).codes.tolist() == [0, 1]


def test_the_squared_loss_is_about_values_or_corners_and_whole_numbers_only_where_nobody_called_them_labels():
    digits = np.array([0, 7, 3, 7, 0])
    corners = simplex_code(3).T[[0, 2, 1, 2, 0]]
    np.testing.assert_array_equal(regressed(Values.of(digits)), digits[:, None])
    np.testing.assert_array_equal(regressed(as_target(digits, 5)), digits[:, None])
    np.testing.assert_allclose(regressed(as_target(digits, 5, kind="labels")), corners)
    np.testing.assert_allclose(regressed(Labels.of(digits)), corners)
    np.testing.assert_allclose(regressed(as_target(digits.astype(str), 5)), corners)
    with pytest.raises(ValueError, match="needs numbers or labels"):
        regressed(TargetSimilarity.of_labels(digits))


@pytest.mark.parametrize(
    "learner",
    [JointDescent(n_epochs=2, loss="squared"), MarginGame(n_rounds=3, loss="squared")],
    ids=repr,
)
def test_a_classifiers_labels_have_no_order_in_a_learner_of_squares(learner):
    """Renamed classes are the same problem: the frequencies learned inside a classifier follow the
    partition of the rows alone.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.searchsorted([-0.5, 0.5], np.sin(X[:, 0]))
    found = []
    for names in ([0, 1, 2], [5, 60, 700]):  # other numbers in the same order
        model = SpectralLogistic(SpectralFeatures(learner=learner, n_components=5), random_state=0)
        found.append(model.fit(X, np.array(names)[y]).measure_.frequencies)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
