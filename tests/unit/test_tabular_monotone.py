"""``monotonic_cst``: against loops, exact monotonicity, missing cells, refusals."""

from itertools import product

import numpy as np
import pytest
from selection import long_except
from sklearn.base import clone

import bochner
from bochner import SpectralClassifier, SpectralRegressor
from bochner.learners import Evidence
from bochner.tabular.monotone import Rearrangement, column_nodes

pd = pytest.importorskip("pandas")
QUICK = {"evidence": Evidence(n_rows=80, n_iterations=2, standardize=False), "random_state": 0}


def table(n_rows=150, seed=0):
    """A frame whose columns a and b raise the score, with missing values in b."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=list("abc"))
    frame["kind"] = rng.choice(["x", "y", "z"], n_rows)
    score = np.tanh(frame["a"]) + 0.5 * frame["b"] + np.sin(2 * frame["c"])
    frame.loc[::8, "b"] = np.nan
    y = score.fillna(0) + (0.3 + 0.4 * (frame["c"] > 0)) * rng.normal(size=n_rows)
    return frame, y.to_numpy()


def values(kind, n_rows=150):
    X, y = table(n_rows)
    return X, {"numbers": y, "long tail": np.exp(2 * y), "classes": y > 0}[kind]


def fitted(kind, monotonic_cst, n_rows=150, **parameters):
    X, y = values(kind, n_rows)
    model = SpectralClassifier if kind == "classes" else SpectralRegressor
    return model(**QUICK, monotonic_cst=monotonic_cst, **parameters).fit(X, y)


def answers(model, X):
    """All results that must be monotone, (n_rows, n_results)."""
    if isinstance(model, SpectralClassifier):
        return np.column_stack([model.predict_proba(X)[:, 1], model.decision_function(X)])
    return np.column_stack([model.predict(X), model.predict_interval(X, 0.8)])


def read_off(surface, nodes, z):
    """Multilinear interpolation, corner by corner; only for tests."""
    total = 0.0
    places, shares = [], []
    for own, one in zip(nodes, z):
        k = int(np.clip(np.searchsorted(own, one, "right") - 1, 0, len(own) - 2))
        places.append(k)
        shares.append(np.clip((one - own[k]) / (own[k + 1] - own[k]), 0, 1))
    for corner in product([0, 1], repeat=len(nodes)):
        weight = np.prod([t if c else 1 - t for t, c in zip(shares, corner)])
        total = total + weight * surface[tuple(k + c for k, c in zip(places, corner))]
    return total


def rearranged_slowly(f, rearrangement, row):
    """One row at a time, one node at a time; only for tests."""
    nodes, columns = rearrangement.nodes, rearrangement.columns
    shape = tuple(map(len, nodes))
    surface = {}
    for place in product(*map(range, shape)):
        z = row.copy()
        for k, column in enumerate(columns):
            z[column] = nodes[k][place[k]]
        surface[place] = f(z[None])[0]
    n_outputs = len(surface[0,] if len(shape) == 1 else surface[0, 0])
    whole = np.array([surface[place] for place in product(*map(range, shape))])
    whole = whole.reshape(*shape, n_outputs)
    for axis, sign in enumerate(rearrangement.signs):
        whole = np.sort(sign * whole, axis=axis) * sign
    return read_off(whole, nodes, row[columns])


class Constant:
    """Scores that do not depend on the rows."""

    def __init__(self, scores):
        self.scores = scores

    def evaluate(self, Z):
        return self.scores


@pytest.fixture
def few_nodes(monkeypatch):
    monkeypatch.setattr("bochner.tabular.monotone._MOST_NODES", (12, 30, 40))


# Sizes of residuals depend on the row in tables of 150 rows, and do not in tables of 260.
@pytest.mark.parametrize(
    ("kind", "n_rows"), [("numbers", 150), ("long tail", 150), ("long tail", 260), ("classes", 150)]
)
@pytest.mark.parametrize("cst", [{"a": 1}, {"a": -1, "b": 1}], ids=["one", "two"])
def test_predictions_are_those_of_a_loop_over_rows_and_nodes(few_nodes, kind, n_rows, cst):
    model, plain = fitted(kind, cst, n_rows), fitted(kind, None, n_rows)
    X = table(8, seed=1)[0]
    X["b"] = np.linspace(-3, 3, 8)
    X.loc[0, "a"] = 40.0
    Z = plain.inputs_.transform(X)
    functions = {
        "classes": lambda Z: np.diff(plain.blend_.log_probabilities(Z)),
        "scores": plain.blend_.evaluate,
        "results": lambda Z: np.column_stack([plain._means(Z), plain._ends(Z, 0.8)[:, 0]]),
    }
    # With residuals of one size the scores are rearranged, on the scale of the target.
    what = "results" if kind != "classes" and plain.spread_.log_size is not None else "scores"
    f = functions["classes" if kind == "classes" else what]
    expected = np.array([rearranged_slowly(f, model._rearrangement, row) for row in Z])
    if kind == "classes":
        expected = np.column_stack([1 / (1 + np.exp(-expected)), expected])
    elif what == "scores":
        plain.blend_ = Constant(expected)
        expected = functions["results"](Z)
    np.testing.assert_allclose(answers(model, X), expected, rtol=1e-7, atol=1e-8)


def pairs(model, column, n_rows=400, seed=0):
    """Rows that differ in one column only, also outside the training range."""
    rng = np.random.default_rng(seed)
    low = table(n_rows, seed=2)[0].fillna({"b": 0.3})
    low[column] = rng.normal(size=n_rows) * 10 ** rng.uniform(-1, 1.5, n_rows)
    high = low.copy()
    high[column] += 10 ** rng.uniform(-6, 2, n_rows)
    return low, high


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("numbers", {}),
        ("long tail", {}),
        ("classes", {}),
        ("numbers", {"max_leaf_rows": 100}),
        ("classes", {"trees": True}),
    ],
    ids=str,
)
@pytest.mark.parametrize("cst", [{"a": 1}, {"a": 1, "c": -1}], ids=["one", "two"])
def test_no_pair_of_rows_violates_a_direction(few_nodes, kind, parameters, cst):
    model = fitted(kind, cst, 260 if "max_leaf_rows" in parameters else 150, **parameters)
    for column, sign in cst.items():
        low, high = pairs(model, column)
        rise = sign * (answers(model, high) - answers(model, low))
        tolerance = 0 if len(cst) == 1 else 1e-12 * np.abs(answers(model, low)).max()
        assert rise.min() >= -tolerance
        assert (rise > 0).mean() > 0.3


def test_without_a_direction_nothing_changes_and_plain_models_violate_it():
    X, _ = table()
    plain, zeros = fitted("numbers", None), fitted("numbers", [0, 0, 0, 0])
    assert zeros._rearrangement is None
    assert np.array_equal(plain.predict(X), zeros.predict(X))
    low, high = pairs(plain, "a")
    assert (answers(plain, high) - answers(plain, low)).min() < -0.01


def test_a_direction_changes_little_if_the_model_has_it_already():
    X, _ = table(600)
    model, plain = fitted("numbers", {"a": 1}, 600), fitted("numbers", None, 600)
    inside = X["a"].abs() < 1
    change = (model.predict(X) - plain.predict(X))[inside]
    assert np.sqrt(np.mean(change**2)) < 0.02 * np.std(plain.predict(X))


def test_a_missing_cell_is_not_rearranged_along_its_column():
    model, plain = fitted("numbers", {"b": -1}), fitted("numbers", None)
    X, _ = table()
    missing = X["b"].isna().to_numpy()
    same = np.isclose(model.predict(X), plain.predict(X), rtol=1e-12)
    assert same[missing].all()
    assert same[~missing].mean() < 0.1
    both, other = fitted("numbers", {"a": 1, "b": -1}), fitted("numbers", {"a": 1})
    both._rearrangement.nodes[0].setflags(write=True)
    assert len(other._rearrangement.nodes[0]) > len(both._rearrangement.nodes[0])
    low, high = X[missing].copy(), X[missing].copy()
    high["a"] += 0.7
    assert np.all(both.predict(high) >= both.predict(low))


def test_standard_deviations_and_labels_stay_consistent():
    X, _ = table()
    model, plain = fitted("numbers", {"a": 1}), fitted("numbers", None)
    assert np.array_equal(
        model.predict(X, return_std=True)[1], plain.predict(X, return_std=True)[1]
    )
    classes = fitted("classes", {"a": -1})
    shares = classes.predict_proba(X)
    assert np.array_equal(classes.predict(X), shares[:, 1] > 0.5)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    odds = np.log(shares[:, 1] / shares[:, 0])
    np.testing.assert_allclose(classes.decision_function(X), odds, rtol=1e-9)


# --- the rearrangement of any function ------------------------------------------------------------


def noisy(seed, monotone):
    """A rearrangement of two columns, and a function of both that is noise around ``monotone``."""
    rng = np.random.default_rng(seed)
    nodes = tuple(np.sort(rng.normal(size=n)) for n in (6, 5))
    table = monotone(*np.meshgrid(*nodes, indexing="ij"))
    table = table + rng.normal(size=(3, 6, 5))

    def replaced(Z, columns, values):
        some = Z[:, -1].astype(int)
        return table[some].reshape(len(some), -1).T[:, :, None]

    one, two = np.meshgrid(*nodes, indexing="ij")
    Z = np.concatenate(
        [np.column_stack([one.ravel(), two.ravel(), np.full(30, k)]) for k in range(3)]
    )
    signs = np.array([1, -1])
    none = np.array([-1, -1])
    return Rearrangement(np.array([0, 1]), signs, none, nodes), Z, replaced, table


class OneTerm:
    """A blend of one member with one kernel, for the size of blocks."""

    members = ("k",)


@pytest.mark.parametrize("seed", range(5))
def test_sorting_twice_changes_nothing_and_comes_closer_to_a_monotone_truth(seed):
    def truth(a, b):
        return a - 0.5 * b

    rearrangement, Z, replaced, table = noisy(seed, truth)
    once = rearrangement.apply(Z, None, replaced, OneTerm())[:, 0].reshape(table.shape)
    assert np.all(np.diff(once, axis=1) >= 0)
    assert np.all(np.diff(once, axis=2) <= 0)
    for k in range(3):
        assert np.array_equal(np.sort(once[k].ravel()), np.sort(table[k].ravel()))

    def again(Z, columns, values):
        some = Z[:, -1].astype(int)
        return once[some].reshape(len(some), -1).T[:, :, None]

    twice = rearrangement.apply(Z, None, again, OneTerm())[:, 0].reshape(table.shape)
    assert np.array_equal(once, twice)
    exact = truth(*np.meshgrid(*rearrangement.nodes, indexing="ij"))
    for power in (1, 2, 4):
        assert np.sum(np.abs(once - exact) ** power) <= np.sum(np.abs(table - exact) ** power)


def test_infinite_bounds_stay_infinite():
    rearrangement, Z, *_ = noisy(0, lambda a, b: a)

    def infinite(Z, columns, values):
        return np.stack([np.full((30, len(Z)), end) for end in (-np.inf, np.inf)], axis=-1)

    ends = rearrangement.apply(Z + 0.01, None, infinite, OneTerm())
    assert np.array_equal(ends, np.tile([-np.inf, np.inf], (len(Z), 1)))


def test_nodes_are_all_values_or_quantiles_that_cover_both_ends():
    z = np.array([3.0, 1.0, 1.0, 2.0])
    assert column_nodes(z, np.ones(4), 5).tolist() == [1, 2, 3]
    z = np.random.default_rng(0).standard_t(5, 3000)
    nodes = column_nodes(z, np.ones(3000), 65)
    assert 40 < len(nodes) <= 65
    assert {z.min(), z.max()} <= set(nodes) <= set(z)
    repeated = column_nodes(np.repeat(z[:500], 3), np.ones(1500), 65)
    assert np.array_equal(repeated, column_nodes(z[:500], np.full(500, 3.0), 65))


# --- other ways of working ------------------------------------------------------------------------


def test_arrays_frames_weights_clones_and_files_give_the_same(tmp_path):
    X, y = values("numbers")
    X = X.drop(columns="kind")
    weights = np.repeat([1.0, 2.0], 75)
    by_name = SpectralRegressor(**QUICK, monotonic_cst={"a": 1}).fit(X, y, weights)
    by_place = clone(by_name).set_params(monotonic_cst=[1, 0, 0]).fit(X.to_numpy(), y, 3 * weights)
    expected = by_name.predict(X)
    np.testing.assert_allclose(by_place.predict(X.to_numpy()), expected, rtol=1e-9)
    pytest.importorskip("skops")
    bochner.save(by_name, tmp_path / "m.skops")
    assert np.array_equal(bochner.load(tmp_path / "m.skops").predict(X), expected)
    again = by_name.set_params(monotonic_cst=None).fit(X, y, weights)
    assert again._rearrangement is None


@pytest.mark.parametrize("collection", long_except(["array", "frame"], "array"))
def test_rows_on_dask_give_the_same(collection):
    dask_array, frames = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    X, y = values("numbers")
    X = X.drop(columns="kind")
    model = SpectralRegressor(**QUICK, monotonic_cst=[1, 0, -1]).fit(X, y)
    if collection == "array":
        model = clone(model).fit(X.to_numpy(), y)
        rows = dask_array.from_array(X.to_numpy(), chunks=(60, 3))
        expected = model.predict(X.to_numpy())
    else:
        rows, expected = frames.from_pandas(X, npartitions=2), model.predict(X)
    np.testing.assert_allclose(np.asarray(model.predict(rows)), expected, rtol=1e-9)
    np.testing.assert_allclose(
        np.asarray(clone(model).fit(rows, y).predict(rows)), expected, rtol=1e-6
    )


def test_blocks_of_few_rows_give_the_same(monkeypatch):
    model, X = fitted("long tail", {"a": 1, "b": 1}), table(40, seed=1)[0]
    X = pd.concat([X, X.assign(a=X["a"] + 1), X[:7].assign(a=0.0)])
    expected = answers(model, X)
    monkeypatch.setattr("bochner.tabular.monotone._BLOCK_BYTES", 2_000_000)
    sizes = []
    apply = Rearrangement._sorted
    monkeypatch.setattr(
        Rearrangement, "_sorted", lambda *given: sizes.append(given[-1]) or apply(*given)
    )
    np.testing.assert_allclose(answers(model, X), expected, rtol=1e-9)
    assert 1 <= min(sizes) < 20


def test_a_column_that_was_constant_in_training_is_ignored():
    X, y = values("numbers")
    X["same"] = 1.0
    model = SpectralRegressor(**QUICK, monotonic_cst={"same": 1}).fit(X, y)
    assert model._rearrangement is None


@pytest.mark.parametrize(
    ("cst", "message"),
    [
        ({"d": 1}, "the column 'd', which X does not have. The columns are 'a', 'b', 'c', 'kind'"),
        ({"kind": 1}, "'kind', which is a category without an order"),
        ({"a": 2}, "must be -1, 0 or 1 for each column, got 2 for 'a'"),
        ({"a": "up"}, "got 'up' for 'a'"),
        ({"a": True}, "got True for 'a'"),
        ([1, 0], "has 2 entries, but X has 4 columns"),
        ("increasing", "has 1 entries, but X has 4 columns"),
    ],
)
def test_directions_that_are_not_possible_are_refused(cst, message):
    X, y = values("numbers", 30)
    with pytest.raises(ValueError, match=message):
        SpectralRegressor(**QUICK, monotonic_cst=cst).fit(X, y)


def test_several_outputs_and_classes_names_of_arrays_and_four_columns_are_refused():
    y = values("numbers", 30)[1]
    Z = np.random.default_rng(0).normal(size=(30, 4))
    for model, cst, target, message in (
        (SpectralRegressor, [1, 0, 0, 0], np.column_stack([y, y]), "needs one output, but y has 2"),
        (SpectralClassifier, [1, 0, 0, 0], np.arange(30) % 3, "two classes, but y has 3"),
        (SpectralRegressor, {"a": 1}, y, "X is an array without names"),
        (SpectralRegressor, [1, 1, -1, 1], y, "has 4 columns with a direction, but at most 3"),
    ):
        with pytest.raises(ValueError, match=message):
            model(**QUICK, monotonic_cst=cst).fit(Z, target)
    with pytest.raises(ValueError, match="which is a category"):
        SpectralRegressor(**QUICK, monotonic_cst=[1, 0, 0, 0], categorical_features=[0]).fit(Z, y)


def test_explanations_of_the_function_before_are_refused():
    model = fitted("numbers", {"a": 1})
    X = table(5)[0]
    for method in (model.effects, model.input_gradient):
        with pytest.raises(TypeError, match="before monotonic_cst is applied"):
            method(X)
    pytest.importorskip("skl2onnx")
    from bochner.export import to_onnx

    for one in (model, fitted("classes", {"a": 1})):
        with pytest.raises(TypeError, match="An ONNX graph would describe the model before"):
            to_onnx(one, X=X)
