"""Collections of Dask: every form gives NumPy's model, bad ones the sentences of arrays, and y and predictions stay where they are."""

import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor

from bochner import (
    Gaussian,
    LandmarkFeatures,
    OperatorRidge,
    OperatorRidgeClassifier,
    OptimalAlignment,
    PacBayes,
    SmoothScaler,
    SpectralFeatures,
    SpectralRidge,
    TargetSimilarity,
    alignment_losses,
)
from bochner._compute import as_rows, dask_inputs, dask_rows, entries, fold, read_column, rows_of_code
from bochner._compute.dask_inputs import group_bounds, group_sizes
from bochner.targets import Labels, Values, as_target

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

N = 5000  # more than the rows that are compared with each other
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
SIGNAL = np.sin(X[:, 0]) + X[:, 1] / 2
NAMES = np.array(["low", "middle", "upper"])[np.searchsorted([-0.5, 0.5], SIGNAL)]
TWO = np.column_stack([SIGNAL, np.cos(X[:, 0])])

SETTINGS = {"n_components": 8, "n_candidates": 40}
CASES = {
    "plain": (SpectralFeatures(n_components=8), NAMES),
    "PacBayes": (SpectralFeatures(learner=PacBayes(), **SETTINGS), NAMES),
    "PacBayes of values": (SpectralFeatures(learner=PacBayes("bound"), **SETTINGS), SIGNAL),
    "OptimalAlignment": (SpectralFeatures(learner=OptimalAlignment(), **SETTINGS), TWO),
    "landmarks": (LandmarkFeatures(n_landmarks=6, n_components=8), NAMES),
    "random landmarks": (LandmarkFeatures(n_landmarks=6, n_components=8, landmarks="random"), NAMES),
    "landmarks of values": (LandmarkFeatures(n_landmarks=6, n_components=8, landmarks="random"), SIGNAL),
    "ridge": (SpectralRidge(SpectralFeatures(n_components=20), alpha=[0.1, 1.0]), SIGNAL),
    "ridge on learned features": (SpectralRidge(SpectralFeatures(learner=PacBayes(), **SETTINGS)), SIGNAL),
    "operator ridge": (OperatorRidge(n_components=20, fit_intercept=True), TWO),
    "classifier": (OperatorRidgeClassifier(n_components=20), NAMES),
    "classifier of two": (OperatorRidgeClassifier(n_components=20, class_weight="balanced"), SIGNAL > 0.5),
}
every_case = pytest.mark.parametrize("name", CASES)


def chunked(values, size):
    return da.from_array(values, chunks=(size, *values.shape[1:]))


def with_gaps(values):
    """Partitions without rows at the beginning, in between and at the end."""
    none = values[:0]
    parts = [none, values[:700], none, none, values[700:4000], values[4000:], none]
    return da.concatenate([da.from_array(part, chunks=-1) for part in parts])


def of_unknown_length(values):
    return chunked(values, 900)[da.from_array(np.ones(N, bool), chunks=900)]


def frame(values):
    columns = list("abcdef")[: values.shape[1]] if values.ndim == 2 else None
    table = pd.Series(values) if columns is None else pd.DataFrame(values, columns=columns)
    return dd.from_pandas(table, npartitions=4 if values.ndim == 2 else 3)


FORMS = {
    "other chunks": (lambda X: da.from_array(X, chunks=(1300, 3)), lambda y: chunked(y, 700)),
    "gaps": (with_gaps, with_gaps),
    "unknown lengths": (of_unknown_length, of_unknown_length),
    "frame": (frame, frame),
    "sparse": (lambda X: chunked(X, 1300).map_blocks(sp.csr_matrix), lambda y: chunked(y, 1300)),
    "many partitions": (lambda X: chunked(X, 40), lambda y: chunked(y, 40)),
    "y in memory": (lambda X: chunked(X, 1300), lambda y: y),
}


def fitted(name, X=X, y=None, **keywords):
    estimator, target = CASES[name]
    return clone(estimator).set_params(random_state=0).fit(X, target if y is None else y, **keywords)


def said(model, X):
    methods = ["transform"] if hasattr(model, "transform") else ["predict"]
    methods += ["predict_proba", "decision_function"] if is_classifier(model) else []
    return {method: getattr(model, method)(X) for method in methods}


@pytest.fixture(scope="module")
def in_memory():
    return {name: fitted(name) for name in CASES}


@every_case
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:Dask currently has limited support")
def test_every_form_gives_the_model_of_the_array(name, form, in_memory):
    rows, column = FORMS[form][0](X), FORMS[form][1](CASES[name][1])
    model, reference = fitted(name, rows, column), in_memory[name]
    for method, expected in said(reference, X).items():
        found = said(model, rows)[method]
        assert isinstance(found, da.Array), f"{method} is not lazy"
        assert found.shape == expected.shape
        if expected.dtype.kind == "f":
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found.compute(), expected, rtol=1e-10, atol=1e-10)
        else:
            np.testing.assert_array_equal(found.compute(), expected)
    if is_classifier(model) or is_regressor(model):
        assert model.score(rows, column) == pytest.approx(reference.score(X, CASES[name][1]), abs=1e-12)
    if is_regressor(model):
        for found, expected in zip(
            model.predict(rows, return_std=True), reference.predict(X, return_std=True), strict=True
        ):
            np.testing.assert_allclose(found.compute(), expected, rtol=1e-10, atol=1e-10)
        left_out = model.leave_one_out(rows, column)
        np.testing.assert_allclose(left_out.compute(), reference.leave_one_out(X, CASES[name][1]), atol=1e-10)


@every_case
def test_weights_on_a_cluster(name):
    weights = RNG.integers(0, 3, size=N).astype(float)
    expected = fitted(name, sample_weight=weights)
    model = fitted(name, chunked(X, 1300), chunked(CASES[name][1], 700), sample_weight=chunked(weights, 900))
    for method, values in said(expected, X).items():
        found = said(model, X)[method]
        if values.dtype.kind == "f":
            np.testing.assert_allclose(found, values, rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_array_equal(found, values)
    if is_classifier(model) or is_regressor(model):
        there = model.score(chunked(X, 1300), chunked(CASES[name][1], 700), sample_weight=weights)
        assert there == pytest.approx(expected.score(X, CASES[name][1], weights), abs=1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.append(np.ones(N - 1), np.nan), "must be finite"),
        (np.append(np.ones(N - 1), np.inf), "must be finite"),
        (np.append(np.ones(N - 1), -2.0), "Negative values in sample_weight, such as -2"),
        (np.zeros(N), "zero for every row"),
        (np.full(N, 1e200), "counts as h rows"),
        (np.ones(N - 1), r"shape \(4999,\), but needs one number for each row"),
        (np.full(N, "1"), "must hold numbers"),
    ],
)
@pytest.mark.parametrize("name", ["PacBayes", "ridge", "classifier", "random landmarks"])
def test_bad_weights_of_a_cluster_are_refused(name, weights, message):
    with pytest.raises(ValueError, match=message):
        fitted(name, chunked(X, 700), chunked(CASES[name][1], 700), sample_weight=chunked(weights, 900))


def test_scores_of_constant_targets_are_those_of_scikit_learn():
    model = SpectralRidge(SpectralFeatures(n_components=3), random_state=0).fit(X, SIGNAL)
    constant = np.column_stack([np.ones(N), SIGNAL])
    both = OperatorRidge(n_components=3, random_state=0).fit(X, TWO)
    assert both.score(chunked(X, 1300), constant) == pytest.approx(both.score(X, constant), abs=1e-12)
    assert model.score(chunked(X, 1300), np.zeros(N)) == model.score(X, np.zeros(N)) == 0.0


# --- what travels, and how many tasks there are -----------------------------------------------------------------------


class Watched:
    """A scheduler that notes how many bytes come back to who asked, and how many tasks were run."""

    def __init__(self, monkeypatch):
        self.bytes, self.tasks, self._held = 0, 0, threading.local()
        persist = dask.base.persist

        def holding(*collections, **keywords):
            self._held.now = True
            try:
                return persist(*collections, **keywords)
            finally:
                self._held.now = False

        monkeypatch.setattr(dask, "persist", holding)
        monkeypatch.setattr(dask.base, "persist", holding)

    def __call__(self, graph, keys, **keywords):
        from dask.sizeof import sizeof

        graph = dict(graph.__dask_graph__() if hasattr(graph, "__dask_graph__") else graph)
        self.tasks += len(graph)
        results = dask.get(graph, keys)
        if not getattr(self._held, "now", False):
            self.bytes += sizeof(results)
        return results


@pytest.fixture
def watched(monkeypatch):
    watching = Watched(monkeypatch)
    with dask.config.set(scheduler=watching):
        yield watching


@every_case
def test_neither_rows_nor_targets_come_to_the_client(name, watched):
    """Three times the rows, the same bytes: only statistics travel."""
    estimator, y = CASES[name]
    if isinstance(estimator, LandmarkFeatures) and estimator.landmarks == "kmeans":
        pytest.skip("centroids are those of up to 50 000 rows of a class, which come to the client")
    travelled = []
    for copies in (1, 3):
        before = watched.bytes
        rows, column = chunked(np.tile(X, (copies, 1)), 500), chunked(np.concatenate([y] * copies), 700)
        model = clone(estimator).set_params(random_state=0).fit(rows, column)
        if not isinstance(model, LandmarkFeatures):  # which draws rows by their weights, here
            model.fit(rows, column, sample_weight=chunked(np.ones(len(rows)), 900))
        if hasattr(model, "score"):
            model.score(rows, column)
        travelled.append(watched.bytes - before)
    assert travelled[1] <= 1.05 * travelled[0] + 20_000
    assert travelled[1] < 0.4 * 3 * X.nbytes


@every_case
def test_predictions_are_made_when_they_are_asked_for(name, in_memory, watched):
    before = watched.tasks
    said(in_memory[name], chunked(X, 500))
    assert watched.tasks == before


def test_the_tasks_of_a_pass_are_bounded(watched):
    def tasks(n_partitions):
        rows = as_rows(da.zeros((2**14, 2), chunks=(2**14 // n_partitions, 2)), held=True)
        column = read_column(da.zeros(2**14, chunks=2**14 // n_partitions))
        rows.assert_all_finite()
        before = watched.tasks
        rows.sum(_count, column)
        return watched.tasks - before

    assert tasks(2048) <= tasks(64) * 1.1 < 500


def _count(block, *_):
    return np.array(float(block.shape[0]))


def test_targets_are_held_in_the_groups_of_their_rows(watched):
    rows, y = chunked(X, 10), chunked(SIGNAL, 10)
    target = Values.of(y, N, gather=False)
    assert target.rows.chunks[0] == group_sizes(rows.chunks[0])
    assert len(target.rows.chunks[0]) == 64


# --- sums do not depend on the cluster --------------------------------------------------------------------------------


def test_groups_cover_all_partitions_and_have_rows():
    for lengths in ([5], [0, 5], [5, 0], [0, 0, 3, 0, 4, 0], [1] * 1000, [0, 7] * 500, list(RNG.integers(0, 9, 3000))):
        bounds = group_bounds(lengths)
        assert bounds[0] == 0
        assert bounds[-1] == len(lengths)
        assert np.all(np.diff(bounds) > 0)
        sizes = group_sizes(lengths)
        assert sum(sizes) == sum(lengths)
        assert min(sizes) > 0
        assert len(sizes) <= 64
    many = group_sizes([10_000] * 2000)
    assert max(many) <= 2 * min(many)
    assert len(group_sizes([2**20] * 1000)) == 250


def test_held_or_read_again_and_any_scheduler_give_the_same_bits(monkeypatch):
    def total():
        return as_rows(chunked(X, 30), held=True).sum(_moments, chunked(SIGNAL, 100))

    expected = total()
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_array_equal(total(), expected)
    monkeypatch.setattr(dask_rows, "has_room", lambda n_bytes: False)
    np.testing.assert_array_equal(total(), expected)


def _moments(block, signal):
    return block.T @ np.column_stack([block, signal])


def test_rows_without_room_are_read_again_with_one_warning(monkeypatch):
    reads = []

    def read(block):
        if len(block):
            reads.append(len(block))
        return block

    source = chunked(X, 2500).map_blocks(read, meta=np.empty((0, 0)))
    rows = as_rows(source, held=True)
    for _ in range(3):
        rows.sum(_count)
    rows.take(np.array([0, 4000]))
    assert sum(reads) == N
    monkeypatch.setattr(dask_rows, "has_room", lambda n_bytes: False)
    rows = as_rows(source, held=True)
    rows.sum(_count)
    with pytest.warns(UserWarning, match="computed again for every pass"):
        rows.sum(_count)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows.sum(_count)
    assert sum(reads) == 4 * N


def test_room_is_a_share_of_the_memory_here(monkeypatch):
    monkeypatch.setattr(dask_inputs, "_memory_here", lambda: 1000)
    assert dask_inputs.has_room(250)
    assert not dask_inputs.has_room(251)


# --- columns ----------------------------------------------------------------------------------------------------------


def test_columns_are_folded_and_looked_up_where_they_are():
    codes = RNG.integers(0, 3, size=200).astype(np.uint8)
    there = da.from_array(codes, chunks=(30,))
    gaps = da.concatenate([there[:0], there[:50], there[:0], there[50:]])
    numbers = np.array([150, 3, 3, 77])
    ranks = np.array([5, 0, 17])
    for column in (there, gaps):
        assert fold(len, _plus, column) == 200
        np.testing.assert_array_equal(entries(column, numbers), codes[numbers])
        for code in range(3):
            expected = np.flatnonzero(codes == code)[ranks]
            np.testing.assert_array_equal(rows_of_code(column, code, ranks), expected)


def _plus(left, right):
    return left + right


def test_targets_of_a_cluster_say_what_those_in_memory_say():
    for y in (NAMES, SIGNAL, TWO, (SIGNAL > 0), np.round(SIGNAL), np.round(SIGNAL).astype(int), NAMES.astype(object)):
        here, there = as_target(y, N), as_target(chunked(y, 700), N, gather=False)
        assert type(there) is type(here)
        a, b = here.similarity(), there.similarity()
        np.testing.assert_allclose(b.factors.compute(), a.factors, atol=1e-14)
        assert b.trace == pytest.approx(a.trace)
        assert b.largest == pytest.approx(a.largest)
        if isinstance(here, Labels):
            np.testing.assert_array_equal(there.classes, here.classes)
            np.testing.assert_array_equal(there.here().codes, here.codes)
            np.testing.assert_array_equal(there.corners().compute(), here.corners())
        else:
            np.testing.assert_array_equal(there.here().rows, here.rows)


def test_whole_numbers_of_many_levels_are_values_there_too():
    y = np.arange(N)
    with pytest.warns(UserWarning, match="5000 different whole numbers"):
        assert isinstance(as_target(chunked(y, 700), N, gather=False), Values)


def test_a_similarity_of_a_cluster_gives_the_losses_of_arrays():
    measure = Gaussian().sample(10, 4, np.random.default_rng(0))
    factors = RNG.normal(size=(N, 2))
    expected = alignment_losses(measure, X, TargetSimilarity(factors))
    there = TargetSimilarity(chunked(factors, 700))
    np.testing.assert_allclose(alignment_losses(measure, chunked(X, 900), there), expected, atol=1e-12)


# --- bad input says what it says in memory ----------------------------------------------------------------------------


def spoilt(values, value, *place):
    other = values.copy()
    other[place] = value
    return other


LEARNING = [name for name in CASES if name != "plain"]


@pytest.mark.parametrize("name", LEARNING)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_number_that_is_none_in_y_is_refused(name, value):
    estimator, y = CASES[name]
    if y.dtype.kind != "f":
        y = Labels.of(y).codes.astype(float)
    with pytest.raises(ValueError, match=r"Input y contains (NaN|infinity)"):
        clone(estimator).fit(chunked(X, 700), chunked(spoilt(y, value, 1234), 900))


@pytest.mark.parametrize("name", LEARNING)
def test_masked_and_missing_targets_are_refused(name):
    y = CASES[name][1]
    mask = np.zeros(y.shape, bool)
    mask[77] = True
    with pytest.raises(ValueError, match="Input y contains masked values"):
        fitted(name, chunked(X, 700), da.ma.masked_array(chunked(y, 900), chunked(mask, 900)))
    if y.dtype.kind == "U":
        with pytest.raises(ValueError, match="with missing values"):
            fitted(name, chunked(X, 700), chunked(spoilt(y.astype(object), None, 7), 900))


@pytest.mark.parametrize("name", LEARNING)
@pytest.mark.parametrize("length", [N - 1, N + 5])
def test_targets_of_another_length_are_refused(name, length):
    y = np.resize(CASES[name][1], (length, *CASES[name][1].shape[1:]))
    for column in (y, chunked(y, 700), of_unknown(y)):
        with pytest.raises(ValueError, match=f"inconsistent numbers of samples: X has 5000 rows, y {length}"):
            fitted(name, chunked(X, 900), column)


def of_unknown(values):
    return chunked(values, 900)[da.from_array(np.ones(len(values), bool), chunks=900)]


@every_case
def test_a_number_that_is_none_in_x_is_named_by_partition_and_column(name, in_memory):
    broken = spoilt(X, np.nan, 1234, 2)
    place = "first in column 2, in row 234 of partition 1, counted from 0"
    with pytest.raises(ValueError, match=place):
        fitted(name, chunked(broken, 1000))
    for lazy in said(in_memory[name], chunked(broken, 1000)).values():
        with pytest.raises(ValueError, match=place):
            lazy.compute()
    table = dd.from_pandas(pd.DataFrame(broken, columns=list("abcd")), npartitions=5)
    with pytest.raises(ValueError, match="first in column 'c', in row 234 of partition 1"):
        fitted(name, table)


def test_columns_that_are_no_numbers_are_named():
    table = pd.DataFrame(X, columns=list("abcd"))
    for column in (pd.Categorical(NAMES), NAMES):
        mixed = dd.from_pandas(table.assign(kind=column), npartitions=3)
        with pytest.raises(ValueError, match=r"Column 'kind' of the Dask frame X holds .*get_dummies"):
            SpectralRidge().fit(mixed, SIGNAL)
    with pytest.raises(ValueError, match="got a series"):
        SpectralRidge().fit(dd.from_pandas(table["a"], npartitions=3), SIGNAL)
    with pytest.raises(TypeError, match="X is a Bag of Dask"):
        SpectralRidge().fit(pytest.importorskip("dask.bag").from_sequence([1, 2]), SIGNAL)


def test_names_of_columns_are_kept_and_compared():
    table = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=3)
    model = fitted("ridge", table, SIGNAL)
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table.rename(columns={"a": "z"}))
    model.predict(table)
    fitted_again = model.fit(chunked(X, 700), SIGNAL)
    assert not hasattr(fitted_again, "feature_names_in_")


def test_missing_numbers_of_pandas_own_types_are_refused():
    table = pd.DataFrame(X, columns=list("abcd")).astype("Float64")
    whole = fitted("ridge", dd.from_pandas(table, npartitions=3), SIGNAL)
    np.testing.assert_allclose(whole.predict(X), fitted("ridge").predict(X), atol=1e-10)
    table.loc[10, "b"] = pd.NA
    with pytest.raises(ValueError, match="contains NaN: first in column 'b', in row 10 of partition 0"):
        fitted("ridge", dd.from_pandas(table, npartitions=3), SIGNAL)


def test_series_of_texts_and_categories_are_labels():
    for series in (pd.Series(NAMES), pd.Series(NAMES).astype("category"), pd.Series(NAMES).astype(object)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fitted("classifier", chunked(X, 700), dd.from_pandas(series, npartitions=4))
        assert model.classes_.tolist() == ["low", "middle", "upper"]
        np.testing.assert_array_equal(model.predict(chunked(X, 700)).compute(), fitted("classifier").predict(X))


def test_scalers_work_on_rows_in_memory():
    for rows in (chunked(X, 700), ZarrLike()):
        with pytest.raises(TypeError, match="SmoothScaler works on rows in memory"):
            SmoothScaler().fit(rows)


def test_no_rows_at_all_are_refused():
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        fitted("ridge", da.zeros((0, 4)), SIGNAL[:0])


def test_continuous_targets_are_no_labels():
    with pytest.raises(ValueError, match="Unknown label type"):
        fitted("classifier", chunked(X, 700), chunked(SIGNAL, 900))
    with pytest.raises(ValueError, match="has only 1 class"):
        fitted("classifier", chunked(X, 700), chunked(np.full(N, "a"), 900))


def test_masked_rows_are_refused():
    masked = np.ma.masked_array(X, X > 3)
    assert masked.mask.any()
    for rows in (masked, da.from_array(masked, chunks=(700, 4))):
        with pytest.raises(ValueError, match="Input X contains masked values"):
            fitted("ridge", rows, SIGNAL)


# --- other libraries --------------------------------------------------------------------------------------------------


def test_tables_of_arrow_and_polars_keep_their_names():
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    columns = dict(zip("abcd", X.T, strict=True))
    for table in (pa.table(columns), pl.DataFrame(columns)):
        model = fitted("ridge", table)
        assert list(model.feature_names_in_) == list("abcd")
        np.testing.assert_allclose(model.predict(table), fitted("ridge").predict(X), atol=1e-12)


class ZarrLike:
    """What an array of zarr shows: it lives in a module of that name, has chunks, and gives slices."""

    shape, dtype, ndim, chunks = X.shape, X.dtype, 2, (1000, 4)

    def __init__(self):
        self.largest = 0

    def __getitem__(self, rows):
        self.largest = max(self.largest, len(X[rows]))
        return X[rows]


ZarrLike.__module__ = "zarr.core.array"


def test_zarr_is_read_block_by_block():
    source = ZarrLike()
    model = fitted("ridge", source)
    np.testing.assert_allclose(model.predict(source).compute(), fitted("ridge").predict(X), atol=1e-10)
    assert source.largest == 1000
