"""Effects, importances, members and probabilities of the tabular models."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.metrics import log_loss
from tabular_samples import QUICK, table

from bochner import Anova, SpectralClassifier, SpectralRegressor

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def regressor():
    X, y = table()
    return SpectralRegressor(evidence=QUICK, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def classifier():
    X, y = table()
    return SpectralClassifier(evidence=QUICK, random_state=0).fit(X, np.digitize(y, [0.0, 1.5]))


def test_effects_add_up_to_the_prediction_and_are_named(regressor, classifier):
    X, _ = table()
    effects = regressor.effects(X[:30])
    np.testing.assert_allclose(effects.total(), regressor.predict(X[:30]), atol=1e-8)
    assert effects.names == ("size", "kind", "flag", "day")
    assert effects.main.shape == (30, 4)
    assert effects.pair_names[0] == ("size", "kind")
    assert {effects.strongest(3)[k][0] for k in range(3)} == {"size", "kind", "flag"}
    of_classes = classifier.effects(X[:30], max_order=1)
    logs = classifier.decision_function(X[:30])
    np.testing.assert_allclose(of_classes.total(), logs, atol=1e-8)
    assert of_classes.pairs.shape == (30, 0, 3)


def test_main_effects_of_an_additive_target_are_found(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(300, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    model = SpectralRegressor(Anova(), random_state=0).fit(X, y)
    effects = model.effects(X[:100])
    for j, truth in enumerate([np.sin(2 * X[:100, 0]), X[:100, 1] ** 2]):
        assert np.corrcoef(effects.main[:, j], truth)[0, 1] > 0.99
    assert np.std(effects.rest) + np.std(effects.pairs) < 0.1 * np.std(y)


def test_importances_are_the_printed_formula_and_find_the_columns(regressor):
    importances = regressor.feature_importances_
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1)
    assert importances[3] < 0.02
    points = regressor._background
    others = np.roll(points, len(points) // 2, axis=0)
    changed = points.copy()
    changed[:, 0], changed[:, 3] = (
        others[:, 0],
        others[:, 3],
    )  # the number and whether it is missing
    assert list(regressor.inputs_.get_feature_names_out()[[0, 3]]) == [
        "size",
        "missingindicator_size",
    ]
    change = np.sum((regressor.blend_.evaluate(changed) - regressor.blend_.evaluate(points)) ** 2)
    total = 0.0
    for j in range(4):
        swapped = np.where(regressor.inputs_.sources_ == j, others, points)
        total += np.sum(
            (regressor.blend_.evaluate(swapped) - regressor.blend_.evaluate(points)) ** 2
        )
    assert importances[0] == pytest.approx(change / total)


def test_three_of_thirty_columns_are_told_apart(seed):
    X, y = make_friedman1(250, 30, random_state=seed)
    X, y = X, 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    model = SpectralRegressor(random_state=0).fit(X, y)
    assert model.feature_importances_[:3].sum() > 0.9
    weights = model.members_[0].prior.weight
    assert weights[3:].max() < weights[:3].min()


def test_members_print_as_a_table_and_go_into_a_frame(regressor):
    text = repr(regressor.members_)
    assert text.splitlines()[0].split()[:3] == ["name", "weight", "held_out_error"]
    assert [line.split()[0] for line in text.splitlines()[2:]] == ["anova", "laplace", "gaussian"]
    frame = pd.DataFrame(regressor.members_)
    assert frame["weight"].sum() == pytest.approx(1)
    assert "leave-one-out" in regressor.path_


def test_probabilities_are_calibrated_and_beat_shares():
    X, y = make_classification(700, 6, n_informative=4, flip_y=0.2, random_state=1)
    model = SpectralClassifier(evidence=QUICK, random_state=0).fit(X[:300], y[:300])
    probabilities = model.predict_proba(X[300:])
    assert log_loss(y[300:], probabilities) < 0.6
    sure = probabilities.max(axis=1)
    assert abs(np.mean(model.predict(X[300:]) == y[300:]) - sure.mean()) < 0.06


def test_nearly_separable_classes_get_steep_probabilities():
    X, y = load_iris(return_X_y=True)
    model = SpectralClassifier(random_state=0).fit(X[y < 2], y[y < 2])
    assert model.predict_proba(X[y < 2]).max(axis=1).min() > 0.99
