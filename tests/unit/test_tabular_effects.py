"""Effects of the whole blend against scikit-learn's partial dependence, and their invariants."""

import numpy as np
import pytest
from selection import long_except
from sklearn.inspection import partial_dependence
from tabular_samples import few_waves, short_choice_of_ranks  # noqa: F401

from bochner import Evidence, SpectralClassifier, SpectralRegressor
from bochner.tabular import effects as effects_module
from bochner.tabular.trees import TreeMember

pd = pytest.importorskip("pandas")
QUICK = Evidence(n_rows=80, n_iterations=2, standardize=False)
COMMON = {"evidence": QUICK, "random_state": 0}
pytestmark = pytest.mark.usefixtures("few_waves", "short_choice_of_ranks")


def table(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n_rows), "b": rng.integers(0, 4, n_rows) * 1.0})
    X["few"] = rng.choice(["x", "y", "z"], n_rows)
    X["gaps"] = np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(size=n_rows))
    X["same"] = 1.0
    y = np.sin(2 * X["a"]) + X["b"] * (X["few"] == "x") + 0.1 * rng.normal(size=n_rows)
    return X, y


def classes(y, n_classes=2):
    return np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))


# Name: a fitted model and its table, the argument ``output``, and the method of scikit-learn.
def case(name):
    if name == "leaves":
        X, y = table(215)
        return SpectralRegressor(max_leaf_rows=100, **COMMON).fit(X, y), X, "auto", "auto"
    X, y = table(70)
    if name in ("log-odds", "probability", "three classes"):
        target = classes(y, 3 if name == "three classes" else 2)
        method = "decision_function" if name == "log-odds" else "predict_proba"
        output = "log-odds" if name == "log-odds" else "probability"
        return SpectralClassifier(**COMMON).fit(X, target), X, output, method
    if name == "log scale":
        model = SpectralRegressor(**COMMON).fit(X, np.exp(2 * y))
        assert model.target_scale_.kind == "log"
        return model, X, "auto", "auto"
    if name == "trees":
        X, y = table(150)
        model = SpectralRegressor(trees=True, **COMMON).fit(X, y + 5 * (X["gaps"] > 0.3))
        assert isinstance(model.blend_.members[-1], TreeMember)
        return model, X, "auto", "auto"
    y = np.column_stack([y, y**2]) if name == "two outputs" else y
    return SpectralRegressor(**COMMON).fit(X, y), X, "auto", "auto"


NAMES = ["values", "log scale", "log-odds", "probability", "three classes", "two outputs"]
NAMES += ["leaves", "trees"]


@pytest.mark.parametrize("name", NAMES)
def test_effects_are_the_partial_dependence_of_scikit_learn(name):
    model, X, output, method = case(name)
    grids = {"a": np.array([-1.0, 0.3]), "b": np.arange(3.0), "few": np.array(["x", "z"], object)}
    # Rows of all combinations of the values.
    rows = X.iloc[np.zeros(12, dtype=int)].reset_index(drop=True)
    places = np.indices((2, 3, 2)).reshape(3, -1)
    for (column, values), place in zip(grids.items(), places):
        rows[column] = values[place]
    effects = model.effects(rows, output=output)

    def average(columns):
        found = partial_dependence(
            model, X, columns, custom_values={c: grids[c] for c in columns}, method="brute",
            response_method=method, categorical_features=["few"],
        )["average"]  # fmt: skip
        index = tuple(places[list(grids).index(column)] for column in columns)
        return np.moveaxis(found[(slice(None), *index)], 0, -1)

    def shaped(values):
        return values if values.ndim > 1 else values[:, None]

    mean = np.atleast_1d(effects.constant)
    singles = {column: average([column]) for column in grids}
    for column, expected in singles.items():
        main = shaped(effects.main[:, effects.names.index(column)])
        np.testing.assert_allclose(main, expected - mean, atol=2e-5)
    expected = average(["b", "few"]) - singles["b"] - singles["few"] + mean
    pair = shaped(effects.pairs[:, effects.pair_names.index(("b", "few"))])
    np.testing.assert_allclose(pair, expected, atol=4e-5)
    if name in ("log-odds", "probability", "three classes"):
        whole = getattr(model, method)
    else:
        whole = model.predict
    values = whole(X)[:, 1] if name == "probability" else whole(X)
    np.testing.assert_allclose(effects.constant, values.mean(axis=0), atol=2e-5)
    values = whole(rows)[:, 1] if name == "probability" else whole(rows)
    np.testing.assert_allclose(effects.total(), values, atol=2e-5)


@pytest.mark.parametrize("name", long_except(NAMES, "values", "log-odds"))
def test_main_effects_do_not_depend_on_the_order_or_the_pairs(name):
    model, X, output, _ = case(name)
    X = X[:6]
    whole = model.effects(X, output=output)
    single = model.effects(X, max_order=1, output=output)
    some = model.effects(X, output=output, pairs=[("few", "a"), ("b", "few")])
    assert single.pair_names == ()
    assert some.pair_names == (("few", "a"), ("b", "few"))
    for effects in (single, some):
        np.testing.assert_allclose(effects.main, whole.main, atol=1e-9)
        np.testing.assert_allclose(effects.constant, whole.constant)
        np.testing.assert_allclose(effects.total(), whole.total(), atol=1e-9)
    places = [whole.pair_names.index(pair) for pair in (("a", "few"), ("b", "few"))]
    np.testing.assert_allclose(some.pairs, whole.pairs[:, places], atol=1e-9)
    assert "same" not in whole.names


def test_blocks_of_background_rows_change_nothing(monkeypatch):
    model, X, output, _ = case("three classes")
    whole = model.effects(X[:4], output=output)
    monkeypatch.setattr(effects_module, "_FACTOR_BYTES", 1)
    blocks = model.effects(X[:4], output=output)
    np.testing.assert_allclose(blocks.main, whole.main, atol=1e-12)
    np.testing.assert_allclose(blocks.pairs, whole.pairs, atol=1e-12)


def test_a_step_of_ten_is_an_effect_of_ten():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.tile(["x", "y"], 100), "b": rng.normal(size=200)})
    model = SpectralRegressor(random_state=0).fit(X, 10 * (X["a"] == "y") + X["b"])
    effects = model.effects(X)
    view = effects.main[:, 0]
    np.testing.assert_allclose(view, np.where(X["a"] == "y", 5, -5), atol=0.15)
    assert np.std(effects.main[:, 1] - X["b"]) < 0.1
    assert effects.rest_share < 1e-9


def test_an_additive_target_has_small_pairs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    effects = SpectralRegressor(random_state=0).fit(X, y).effects(X)
    assert np.std(effects.main[:, 0]) > 0.6
    assert np.abs(effects.pairs).mean() < 0.03
    assert effects.rest_share < 1e-3


def test_the_background_is_spread_over_all_rows():
    """300 rows are fewer than two for each row of the background."""
    X, y = table(300)
    model = SpectralRegressor(**COMMON).fit(X, y)
    Z = model.blend_.members[0].points
    assert model._background.shape == (256, Z.shape[1])
    np.testing.assert_array_equal(model._background[[0, -1]], Z[[0, -1]])


def test_effects_on_the_scale_of_the_target_are_linear():
    model, X, _, _ = case("log scale")
    effects = model.effects(X[:5], output="scale")
    scores = model.blend_.evaluate(model.inputs_.transform(X[:5]))
    expected = model.target_scale_.center + model.target_scale_.unit * scores
    np.testing.assert_allclose(effects.total(), expected[:, 0], atol=1e-9)
    assert effects.output == "log(y)"
    assert model.effects(X[:5], max_order=1).output == "prediction"


def test_effects_as_a_frame_and_as_text():
    model, X, _, _ = case("values")
    effects = model.effects(X[:4])
    frame = effects.to_frame()
    assert list(frame.columns[[0, 1, 5, -1]]) == ["constant", "a", "a × b", "rest"]
    np.testing.assert_allclose(frame.sum(axis=1), model.predict(X[:4]), atol=1e-8)
    assert repr(effects).startswith("TableEffects(prediction: 4 columns, 6 pairs, rest ")
    share = np.var(effects.rest) / np.var(model.predict(X[:4]))
    assert effects.rest_share == pytest.approx(share)
    assert effects.strongest(1)[0][0] == "a"
    assert effects.strongest(1)[0][1] == pytest.approx(effects.main[:, 0].std())


def test_several_outputs_are_a_second_level_of_columns():
    model, X, output, _ = case("three classes")
    effects = model.effects(X[:4], output=output)
    frame = effects.to_frame()
    assert frame.shape == (4, 3 * (1 + 4 + 6 + 1))
    np.testing.assert_array_equal(frame["a"].to_numpy(), effects.main[:, 0])
    totals = frame.T.groupby(level=1).sum().T
    np.testing.assert_allclose(totals, model.predict_proba(X[:4]), atol=1e-8)
    assert model.effects(X[:4], max_order=1).output == "log-probability"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_order": 3}, "max_order must be 1"),
        ({"output": "log-odds"}, 'output must be "prediction" or "scale"'),
        ({"pairs": [("a", "a")]}, "two different columns that the model uses, got"),
        ({"pairs": [("a", "nothing")]}, "two different columns"),
        ({"pairs": ["ab"]}, "two different columns"),
        ({"pairs": [("a", "b")], "max_order": 1}, "Write max_order=2"),
        ({"level": 1.0}, "level must lie between 0 and 1"),
    ],
)
def test_arguments_are_refused(arguments, message, values):
    model, X = values
    with pytest.raises(ValueError, match=message):
        model.effects(X, **arguments)


@pytest.fixture(scope="module")
def values():
    X, y = table(60)
    return SpectralRegressor(**COMMON).fit(X, y), X


@pytest.mark.parametrize("name", ["log scale", "log-odds", "leaves", "trees"])
def test_bands_are_refused_in_a_sentence(name):
    model, X, _, _ = case(name)
    with pytest.raises(ValueError, match="Confidence bands need a regressor on a linear scale"):
        model.effects(X, level=0.9)


def test_a_classifier_refuses_the_outputs_of_a_regressor():
    model, X, _, _ = case("log-odds")
    with pytest.raises(ValueError, match='output must be "log-odds" or "probability"'):
        model.effects(X, output="prediction")
