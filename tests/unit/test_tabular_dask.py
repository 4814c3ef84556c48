"""Tabular models on rows that outgrow memory: collections of Dask and files."""

import warnings
from functools import cache

import numpy as np
import pytest
from selection import long_except
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from tabular_samples import few_waves, regression, short_choice_of_ranks  # noqa: F401
from test_dask_travel import watched  # noqa: F401

from bochner import Anova, Evidence, SpectralClassifier, SpectralRegressor, open_rows
from bochner.data import repetitions
from bochner.data.dask import tables as dask_tables
from bochner.data.dask.tables import DaskTable
from bochner.data.tables import open_table
from bochner.data.targets import Values
from bochner.learners.descent import joint_descent
from bochner.tables.read import streaming
from bochner.tabular import fitting, preparation, waves
from bochner.tabular.preparation import TableData, prepare_columns

pd = pytest.importorskip("pandas")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

QUICK = Evidence(n_rows=80, n_iterations=3, standardize=False)
SETTINGS = {"priors": Anova(), "evidence": QUICK, "max_leaf_rows": 100, "random_state": 0}
N = 700
X, SIGNAL = regression(N)
NAMES = np.array(["low", "middle", "upper"])[np.digitize(SIGNAL, [-0.5, 0.5])]
CASES = {
    "values": (SpectralRegressor(**SETTINGS), SIGNAL),
    "a long tail": (SpectralRegressor(**SETTINGS), np.exp(SIGNAL)),
    "two outputs": (SpectralRegressor(**SETTINGS), np.column_stack([SIGNAL, X[:, 0]])),
    "two classes": (SpectralClassifier(**SETTINGS, class_weight="balanced"), SIGNAL > 0.5),
    "three classes": (SpectralClassifier(**SETTINGS), NAMES),
}
every_case = pytest.mark.parametrize("name", long_except(CASES, "values", "three classes"))
pytestmark = [
    pytest.mark.filterwarnings("error::RuntimeWarning"),
    pytest.mark.usefixtures("few_waves", "short_choice_of_ranks", "in_this_thread"),
]


@pytest.fixture
def in_this_thread():
    """Run the tasks of Dask one after another."""
    with dask.config.set(scheduler="synchronous"):
        yield


@cache
def fitted_in_memory(name):
    """Return the model of a case that was fitted to arrays in memory."""
    estimator, y = CASES[name]
    return clone(estimator).fit(X, y)


def there(values, size=250):
    """In partitions of different lengths, columns cut too."""
    parts = da.from_array(
        values,
        chunks=(size, *([3] if values.ndim == 2 and values.shape[1] > 3 else values.shape[1:])),
    )
    return da.concatenate([parts[:200], parts[200:]])


def said(model, X):
    if isinstance(model, SpectralClassifier):
        names = ("predict", "predict_proba", "decision_function", "scores")
        return {name: getattr(model, name)(X) for name in names}
    mean, deviation = model.predict(X, return_std=True)
    return {"predict": mean, "deviation": deviation, "interval": model.predict_interval(X, 0.8)}


def said_in_parts(model, X, lengths):
    """Scores of kernels are sums in float32, whose last digits depend on how many rows are
    predicted at once.
    """
    stops = np.cumsum(lengths)
    parts = [said(model, X[stop - size : stop]) for stop, size in zip(stops, lengths) if size]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def assert_says(found, expected, atol=1e-6):
    for name, value in expected.items():
        answer = found[name].compute() if isinstance(found[name], da.Array) else found[name]
        if np.asarray(value).dtype.kind == "f":
            np.testing.assert_allclose(answer, value, atol=atol, rtol=atol, err_msg=name)
        else:
            np.testing.assert_array_equal(answer, value, err_msg=name)


# --- arrays ---------------------------------------------------------------------------------------


@every_case
def test_the_model_on_a_cluster_is_that_of_arrays_and_answers_are_lazy(name, watched):  # noqa: F811
    estimator, y = CASES[name]
    here = fitted_in_memory(name)
    model = clone(estimator).fit(there(X), there(y, 350))
    assert "many rows" in model.path_
    assert_says(said(model, X), said(here, X))
    before = watched.tasks
    answers = said(model, there(X))
    assert all(isinstance(answer, da.Array) for answer in answers.values())
    assert watched.tasks == before
    assert_says(answers, said_in_parts(model, X, there(X).chunks[0]), atol=1e-12)
    predicted = model.predict(there(X)).compute()
    score = accuracy_score if isinstance(model, SpectralClassifier) else r2_score
    assert model.score(there(X), there(y, 350)) == pytest.approx(score(y, predicted), abs=1e-12)


@pytest.mark.long
def test_unknown_lengths_empty_partitions_targets_here_and_single_precision():
    estimator, y = CASES["three classes"]
    single = X.astype(np.float32)
    here = clone(estimator).fit(single, y)
    mask = np.ones(N + 250, dtype=bool)
    mask[100:350] = False  # partitions without rows
    more = np.empty((N + 250, 4), np.float32)
    more[mask], more[~mask] = single, np.nan
    unknown = da.from_array(more, chunks=(125, 4))[da.from_array(mask, chunks=125)]
    model = clone(estimator).fit(unknown, y)
    assert_says(said(model, single), said(here, single))
    assert model.scores(unknown).dtype == np.float32


@pytest.mark.parametrize("kind", long_except(["values", "three classes"], "three classes"))
def test_weights_there_are_those_here(kind):
    estimator, y = CASES[kind]
    weights = np.random.default_rng(2).uniform(0.1, 0.9, size=N)
    here = clone(estimator).fit(X, y, sample_weight=weights)
    model = clone(estimator).fit(there(X), there(y), sample_weight=there(weights, 150))
    assert_says(said(model, X), said(here, X), atol=1e-5)
    # rows without a weight are as if they were not there
    weights[::3], wild = 0, y.copy()
    wild[::3] = np.max(y) if kind == "values" else "other"
    model = clone(estimator).fit(there(X), there(wild), sample_weight=there(weights, 150))
    if kind == "three classes":
        assert model.classes_.tolist() == ["low", "middle", "upper"]
    assert model.score(X, y) > 0.6


def test_missing_numbers_of_a_cluster_are_filled_as_here():
    gaps = X.copy()
    gaps[::5, 0] = np.nan
    estimator, y = CASES["values"]
    model = clone(estimator).fit(there(gaps), there(y))
    here = clone(estimator).fit(gaps, y)
    assert_says(said(model, gaps), said(here, gaps))
    assert_says(
        said(model, there(gaps)), said_in_parts(model, gaps, there(gaps).chunks[0]), atol=1e-12
    )


def test_few_rows_of_a_cluster_are_brought_here():
    model = clone(CASES["values"][0]).fit(there(X[:90]), there(SIGNAL[:90]))
    here = clone(model).fit(X[:90], SIGNAL[:90])
    assert model.path_ == here.path_
    assert_says(said(model, X), said(here, X), atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(
    "name", long_except(["values", "two classes", "three classes"], "three classes")
)
def test_a_row_comes_to_the_client_once_with_prepared_columns(name, watched, monkeypatch):  # noqa: F811
    """With four times the rows, each further row comes in float32, and a few numbers of it."""
    monkeypatch.setattr(preparation, "_SAMPLE_ROWS", N)
    monkeypatch.setattr(repetitions, "_HELD_OUT", (100, 100))
    monkeypatch.setattr(joint_descent, "_START_ROWS", 200)
    monkeypatch.setattr(waves, "_FEW_WAVES", 4)
    monkeypatch.setattr(waves, "_EPOCHS", (1, 1))
    estimator, y = CASES[name]
    wide, travelled = np.hstack([X] * 10), []
    for copies in (1, 4):
        before = watched.bytes
        rows, targets = there(np.tile(wide, (copies, 1))), there(np.concatenate([y] * copies))
        clone(estimator).fit(rows, targets).score(rows, targets)
        travelled.append(watched.bytes - before)
    # Rows have 40 numbers each.
    assert travelled[1] - travelled[0] <= 3 * N * (40 * 4 + 20 * 8)


@pytest.mark.parametrize("place", [there, pytest.param(np.asarray, marks=pytest.mark.long)])
def test_held_out_rows_take_no_part_in_the_descent(place, monkeypatch):
    seen, solve = [], fitting.solve_descending
    monkeypatch.setattr(
        fitting, "solve_descending", lambda *given: seen.append(given) or solve(*given)
    )
    clone(CASES["values"][0]).fit(place(X), place(SIGNAL))
    data, _, evaluation, _ = seen[0]
    held = data.rows.take(np.flatnonzero(data.weights == 0))
    np.testing.assert_allclose(np.sort(held, axis=0), np.sort(evaluation.Z, axis=0), atol=1e-6)


@pytest.mark.parametrize("place", [np.asarray, there])
@pytest.mark.parametrize("sample", [N, 300])
def test_rows_as_given_are_those_that_were_prepared(place, sample, monkeypatch):
    """Prepared rows are sorted: so are the rows of the table from which ranks are computed."""
    monkeypatch.setattr(preparation, "_SAMPLE_ROWS", sample)
    table = open_table(SpectralRegressor(), place(X), reset=True)
    data = TableData(table, Values.of(SIGNAL), np.ones(N))
    prepared = prepare_columns("from_dtype", data, True, 100, np.random.default_rng(0), ())
    assert len(prepared.data) == sample
    rows = prepared.table.take(np.arange(sample))
    np.testing.assert_allclose(prepared.inputs.transform(rows), prepared.data.Z)
    np.testing.assert_allclose(rows, X[prepared.data.numbers])


@pytest.mark.long
@pytest.mark.parametrize("n_bytes", [0, 4 * 4 * 300])
def test_prepared_rows_that_do_not_fit_into_memory_are_in_a_file(n_bytes, monkeypatch):
    """Few partitions come to the client at once."""
    estimator, y = CASES["values"]
    expected = clone(estimator).fit(there(X), there(y))
    monkeypatch.setattr(dask_tables, "PREPARED_BYTES", n_bytes)
    prepared = DaskTable(SpectralRegressor(), there(X), False).prepared(expected.inputs_)
    assert isinstance(prepared.source, np.memmap)
    np.testing.assert_allclose(prepared.source, expected.inputs_.transform(X), rtol=1e-6)
    model = clone(estimator).fit(there(X), there(y))
    assert_says(said(model, X), said(expected, X), atol=1e-12)


@pytest.mark.long
def test_trees_of_rows_on_dask_are_those_of_arrays():
    estimator, y = CASES["three classes"]
    model = clone(estimator).set_params(trees=True, n_jobs=1).fit(there(X), there(y))
    here = clone(model).fit(X, y)
    assert model.members_[-1].name == "trees"
    assert_says(said(model, X), said(here, X))


# --- frames ---------------------------------------------------------------------------------------


def table(n=N, seed=0):
    """Numbers, texts, categories with and without an order, truth values, dates, missing values; a
    target of them.
    """
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": rng.choice(["a", "b", "c"], size=n),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "top"], size=n), ["low", "mid", "top"], ordered=True
            ),
            "group": pd.Categorical(rng.choice(["x", "y"], size=n)),
            "flag": rng.random(n) < 0.3,
            "code": rng.integers(0, 4, size=n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
        }
    )
    y = (
        frame["size"]
        + 2 * (frame["kind"] == "b")
        - frame["flag"]
        + frame["grade"].cat.codes / 2
        + 0.1 * rng.normal(size=n)
    )
    frame.loc[::9, "size"] = np.nan
    frame.loc[::7, "kind"] = None
    return frame, y


@pytest.mark.parametrize("kind", long_except(["values", "labels"], "labels"))
def test_frames_of_a_cluster_are_read_as_those_of_pandas(kind):
    frame, y = table()
    y = y if kind == "values" else pd.Series(np.where(y > 0.5, "yes", "no"))
    estimator = (SpectralRegressor if kind == "values" else SpectralClassifier)(**SETTINGS)
    here = clone(estimator).fit(frame, y)
    model = clone(estimator).fit(
        dd.from_pandas(frame, npartitions=3), dd.from_pandas(y, npartitions=2)
    )
    assert model.feature_names_in_.tolist() == list(frame)
    assert (
        model.inputs_.get_feature_names_out().tolist()
        == here.inputs_.get_feature_names_out().tolist()
    )
    assert_says(said(model, frame), said(here, frame))
    rows = dd.from_pandas(frame, npartitions=2)
    rows = dd.concat(
        [rows, rows.partitions[0].query("size > 100")]
    )  # no rows, of a length that nobody knows
    assert_says(
        said(model, rows),
        said_in_parts(model, frame, rows.map_partitions(len).compute()),
        atol=1e-12,
    )
    assert isinstance(model.predict(rows), da.Array)
    assert model.score(rows, y.to_numpy()) == pytest.approx(model.score(frame, y), abs=1e-3)


def test_named_categories_sorted_by_level_and_levels_that_nobody_saw():
    frame, y = table()
    frame = frame.sort_values("code", ignore_index=True)
    model = SpectralRegressor(**SETTINGS, categorical_features=["kind", "code", "grade", "group"])
    here = clone(model).fit(frame, y)
    model.fit(dd.from_pandas(frame, npartitions=3), y.to_numpy())
    assert_says(said(model, frame), said(here, frame))
    strange = frame.assign(
        code=frame["code"].where(frame["code"] > 1, 77),
        kind=frame["kind"].where(frame["kind"] != "a", "new"),
    )
    assert_says(
        said(model, dd.from_pandas(strange, npartitions=3)), said(model, strange), atol=1e-3
    )


def test_arrays_of_a_cluster_with_named_categories():
    codes = np.column_stack([X[:, :3], np.arange(N) // 100])
    model = SpectralRegressor(**SETTINGS, categorical_features=[3])
    here = clone(model).fit(codes, SIGNAL)
    assert_says(said(model.fit(there(codes), SIGNAL), codes), said(here, codes))
    assert_says(said(model, there(codes)), said(here, codes), atol=1e-3)


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        pytest.param({"max_leaf_rows": 1000}, marks=pytest.mark.long),
        pytest.param({"trees": True, "n_jobs": 1}, marks=pytest.mark.long),
    ],
)
def test_the_model_of_a_file_is_that_of_arrays(settings, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(streaming, "_HELD_BYTES", 0)
    pd.DataFrame(X, columns=list("abcd")).to_parquet(tmp_path / "X.parquet")
    model = clone(CASES["values"][0]).set_params(**settings)
    rows, here = open_rows(tmp_path / "X.parquet"), clone(model).fit(X, SIGNAL)
    np.testing.assert_array_equal(model.fit(rows, SIGNAL).predict(rows), here.predict(X))
    assert model.score(rows, SIGNAL) == here.score(X, SIGNAL)
    with pytest.raises(ValueError, match="X has 3 features, but SpectralRegressor is expecting 4"):
        model.predict(open_rows(tmp_path / "X.parquet", ["a", "b", "c"]))


# --- what is wrong is said ------------------------------------------------------------------------


def broken(values, place, value):
    values = values.copy()
    values[place] = value
    return values


@pytest.mark.parametrize(
    ("kind", "rows", "target", "message"),
    [
        ("values", X, broken(SIGNAL, 300, np.nan), "Input y contains NaN"),
        ("values", X, broken(SIGNAL, 300, np.inf), "Input y contains infinity"),
        ("values", X, NAMES, "needs numbers in y"),
        ("values", X, SIGNAL[1:], "inconsistent numbers of samples: X has 700 rows, y 699"),
        ("three classes", X, broken(SIGNAL, 300, np.nan), "Input y contains NaN or infinity"),
        ("three classes", X, SIGNAL, "Use SpectralRegressor for values"),
        (
            "three classes",
            X,
            np.full(N, "one"),
            "needs at least 2 classes, but y has only 1 class: 'one'",
        ),
        (
            "values",
            broken(X, (300, 2), np.inf),
            SIGNAL,
            "infinity: first in column 2, in row 50 of partition 2",
        ),
        (
            "values",
            X.astype(str),
            SIGNAL,
            "Arrays are read as numbers, but X is a Dask array of dtype <U",
        ),
        ("values", X[:, 0], SIGNAL, "X must be two-dimensional"),
        ("values", X[:1], SIGNAL[:1], "at least 2 rows, got n_samples = 1"),
    ],
)
def test_bad_input_of_a_cluster_is_refused_in_a_sentence(kind, rows, target, message):
    rows = there(rows) if len(rows) > 1 else da.from_array(rows)
    with pytest.raises(ValueError, match=message):
        clone(CASES[kind][0]).fit(rows, da.from_array(target, chunks=(120,)))


def test_what_needs_rows_here_says_so():
    estimator, y = CASES["values"]
    model = clone(estimator).fit(there(X), there(y))
    for look in (model.effects, model.shapley, model.input_gradient):
        with pytest.raises(TypeError, match="need rows in memory, but X is on a cluster"):
            look(there(X))
    with pytest.raises(ValueError, match="X has 3 features, but SpectralRegressor is expecting 4"):
        model.predict(there(X[:, :3]))
    with pytest.raises(ValueError, match="infinity: first in column 2, in row 50 of partition 2"):
        model.predict(there(broken(X, (300, 2), np.inf))).compute()


def test_other_columns_of_a_frame_are_refused_before_any_work():
    frame, y = table()
    model = SpectralRegressor(**SETTINGS).fit(dd.from_pandas(frame, npartitions=3), y.to_numpy())
    for other, message in [
        (frame.drop(columns="size"), "feature names should match"),
        (frame.rename(columns={"size": "weight"}), "feature names should match"),
        (frame.assign(day=1.5), "'day' held dates while fitting, but now holds numbers"),
        (frame.assign(kind=3), "'kind' held objects while fitting, but now holds numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.predict(dd.from_pandas(other, npartitions=2))
    with pytest.raises(
        ValueError, match="'size' is read as numbers, but holds values such as 'many'"
    ):
        model.predict(dd.from_pandas(frame.assign(size="many"), npartitions=2)).compute()


def test_sparse_partitions_are_taken_as_numbers():
    import scipy.sparse as sp

    small = np.where(np.abs(X) > 0.5, X, 0.0)
    sparse = there(small).rechunk((100, 4)).map_blocks(sp.csr_matrix)
    model = clone(CASES["values"][0]).fit(sparse, SIGNAL)
    here = clone(model).fit(small, SIGNAL)
    assert_says(said(model, small), said(here, small))


def test_partitions_are_taken_and_mapped_one_by_one():
    rows = DaskTable(SpectralRegressor(), there(X), False)
    numbers = np.array([0, 5, 199, 200, 201, 699])
    np.testing.assert_array_equal(rows.take(numbers), X[numbers])
    np.testing.assert_array_equal(rows.map(lambda part: 2 * part, 4, X.dtype).compute(), 2 * X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rows.map(np.negative, 4, np.float32).dtype == np.float32
