"""Collections of Dask: every form gives NumPy's model, and bad ones the sentences of arrays."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from dask_samples import (
    CASES,
    NAMES,
    QUICK,
    RNG,
    SIGNAL,
    TWO,
    N,
    X,
    chunked,
    every_case,
    fitted,
    said,
)
from selection import long_except
from sklearn.base import clone, is_classifier, is_regressor

from bochner import (
    CertifiedClassifier,
    LandmarkFeatures,
    OperatorRidge,
    SmoothScaler,
    SpectralFeatures,
    SpectralRegressor,
    SpectralRidge,
)
from bochner.data.targets import Labels

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


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
    "many partitions": (lambda X: chunked(X, 200), lambda y: chunked(y, 200)),
    "y in memory": (lambda X: chunked(X, 1300), lambda y: y),
}


@pytest.fixture(scope="module")
def in_memory():
    return Fitted()


class Fitted(dict):
    """Models by their names, fitted when they are first asked for."""

    def __missing__(self, name):
        self[name] = fitted(name)
        return self[name]


# The quick tests read every form once, and let one estimator of each kind read partitions without
# rows.
EVERY_FORM = long_except(
    [(name, form) for form in FORMS for name in CASES],
    *((name, "gaps") for name in QUICK),
    *(("ridge", form) for form in FORMS),
)


@pytest.mark.parametrize("case", EVERY_FORM, ids=" from ".join)
@pytest.mark.filterwarnings("ignore:Dask currently has limited support")
def test_every_form_gives_the_model_of_the_array(case, in_memory):
    name, form = case
    rows, column = FORMS[form][0](X), FORMS[form][1](CASES[name][1])
    model, reference = fitted(name, rows, column), in_memory[name]
    if form == "sparse" and name.startswith(("JointDescent", "MarginGame")):
        reference = fitted(
            name, sp.csr_matrix(X)
        )  # descent in float32 follows the rounding of sparse products
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
        assert model.score(rows, column) == pytest.approx(
            reference.score(X, CASES[name][1]), abs=1e-12
        )
    if hasattr(model, "leave_one_out") and is_regressor(model):
        for found, expected in zip(
            model.predict(rows, return_std=True), reference.predict(X, return_std=True), strict=True
        ):
            np.testing.assert_allclose(found.compute(), expected, rtol=1e-10, atol=1e-10)
        left_out = model.leave_one_out(rows, column)
        np.testing.assert_allclose(
            left_out.compute(), reference.leave_one_out(X, CASES[name][1]), atol=1e-10
        )


@pytest.mark.parametrize("name", long_except(CASES, "ridge", "boosting"))
def test_weights_on_a_cluster(name):
    weights = RNG.integers(0, 3, size=N).astype(float)
    expected = fitted(name, sample_weight=weights)
    model = fitted(
        name, chunked(X, 1300), chunked(CASES[name][1], 700), sample_weight=chunked(weights, 900)
    )
    for method, values in said(expected, X).items():
        found = said(model, X)[method]
        if values.dtype.kind == "f":
            np.testing.assert_allclose(found, values, rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_array_equal(found, values)
    if is_classifier(model) or is_regressor(model):
        there = model.score(chunked(X, 1300), chunked(CASES[name][1], 700), sample_weight=weights)
        assert there == pytest.approx(expected.score(X, CASES[name][1], weights), abs=1e-12)


@pytest.mark.long
def test_landmarks_of_a_certificate_are_those_in_memory_with_weights_too():
    """They are learned from the first part, which comes here: weights must not choose others there."""
    weights = RNG.integers(0, 3, size=N).astype(float)
    model = CertifiedClassifier(
        LandmarkFeatures(n_landmarks=6, n_components=8, landmarks="random"), random_state=0
    )
    expected = clone(model).fit(X, NAMES, weights)
    found = clone(model).fit(chunked(X, 1300), chunked(NAMES, 700), chunked(weights, 900))
    np.testing.assert_array_equal(found.features_.landmarks_, expected.features_.landmarks_)
    np.testing.assert_allclose(
        found.decision_function(X), expected.decision_function(X), rtol=1e-8, atol=1e-8
    )
    assert found.gibbs_bound_.value == pytest.approx(expected.gibbs_bound_.value, rel=1e-8)


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
@pytest.mark.parametrize("name", long_except(["ridge", "classifier"], "ridge"))
def test_bad_weights_of_a_cluster_are_refused(name, weights, message):
    with pytest.raises(ValueError, match=message):
        fitted(
            name, chunked(X, 700), chunked(CASES[name][1], 700), sample_weight=chunked(weights, 900)
        )


def test_scores_of_constant_targets_are_those_of_scikit_learn():
    model = SpectralRidge(SpectralFeatures(n_components=3), random_state=0).fit(X, SIGNAL)
    constant = np.column_stack([np.ones(N), SIGNAL])
    both = OperatorRidge(n_components=3, random_state=0).fit(X, TWO)
    assert both.score(chunked(X, 1300), constant) == pytest.approx(
        both.score(X, constant), abs=1e-12
    )
    assert model.score(chunked(X, 1300), np.zeros(N)) == model.score(X, np.zeros(N)) == 0.0


# --- bad input says what it says in memory --------------------------------------------------------


def spoilt(values, value, *place):
    other = values.copy()
    other[place] = value
    return other


every_learner = pytest.mark.parametrize(
    "name", long_except(["PacBayes", "ridge", "boosting", "GBRFF2", "certified"], "ridge")
)


@every_learner
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_number_that_is_none_in_y_is_refused(name, value):
    estimator, y = CASES[name]
    if y.dtype.kind != "f":
        y = Labels.of(y).codes.astype(float)
    with pytest.raises(ValueError, match=r"Input y contains (NaN|infinity)"):
        clone(estimator).fit(chunked(X, 700), chunked(spoilt(y, value, 1234), 900))


@every_learner
def test_masked_and_missing_targets_are_refused(name):
    y = CASES[name][1]
    mask = np.zeros(y.shape, bool)
    mask[77] = True
    with pytest.raises(ValueError, match="Input y contains masked values"):
        fitted(name, chunked(X, 700), da.ma.masked_array(chunked(y, 900), chunked(mask, 900)))
    if y.dtype.kind == "U":
        with pytest.raises(ValueError, match="with missing values"):
            fitted(name, chunked(X, 700), chunked(spoilt(y.astype(object), None, 7), 900))


@every_learner
@pytest.mark.parametrize("length", [N - 1, N + 5])
def test_targets_of_another_length_are_refused(name, length):
    y = np.resize(CASES[name][1], (length, *CASES[name][1].shape[1:]))
    for column in (y, chunked(y, 700), of_unknown(y)):
        with pytest.raises(
            ValueError, match=f"inconsistent numbers of samples: X has 5000 rows, y {length}"
        ):
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
        with pytest.raises(
            ValueError, match=r"Column 'kind' of the Dask frame X holds .*get_dummies"
        ):
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
    with pytest.raises(
        ValueError, match="contains NaN: first in column 'b', in row 10 of partition 0"
    ):
        fitted("ridge", dd.from_pandas(table, npartitions=3), SIGNAL)


def test_series_of_texts_and_categories_are_labels():
    for series in (
        pd.Series(NAMES),
        pd.Series(NAMES).astype("category"),
        pd.Series(NAMES).astype(object),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fitted("classifier", chunked(X, 700), dd.from_pandas(series, npartitions=4))
        assert model.classes_.tolist() == ["low", "middle", "upper"]
        np.testing.assert_array_equal(
            model.predict(chunked(X, 700)).compute(), fitted("classifier").predict(X)
        )


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


# --- other libraries ------------------------------------------------------------------------------


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
    np.testing.assert_allclose(
        model.predict(source).compute(), fitted("ridge").predict(X), atol=1e-10
    )
    assert source.largest == 1000


# --- partitions that are not what Dask declares ---------------------------------------------------

ESTIMATORS = [
    SpectralRidge(SpectralFeatures(n_components=8, random_state=0)),
    SpectralRegressor(random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda part: part.drop(columns="b"), "lacks 'b': Dask declares the columns 'a', 'b'"),
        (lambda part: part[["b", "a"]], "has its columns in another order"),
        (lambda part: part.rename(columns={"b": "c"}), "lacks 'b' and adds 'c'"),
    ],
)
def test_a_partition_of_other_columns_is_refused(estimator, change, words):
    dask = pytest.importorskip("dask")
    frame = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["a", "b"])
    parts = [dask.delayed(frame[:30]), dask.delayed(change(frame[30:]))]
    there = dd.from_delayed(parts, meta=frame[:0], verify_meta=False)
    with pytest.raises(ValueError, match=f"Partition 1 of X {words}"):
        clone(estimator).fit(there, frame["a"].to_numpy())


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_a_partition_of_another_dtype_or_width_is_refused(estimator):
    dask = pytest.importorskip("dask")
    rows = RNG.normal(size=(60, 2))
    for other, words in (
        (rows[30:].astype(np.float32), "holds float32, but Dask declares float64"),
        (rows[30:, :1], "has 1 columns, but Dask declares 2"),
    ):
        parts = [dask.delayed(rows[:30]), dask.delayed(other)]
        there = da.concatenate([da.from_delayed(part, (30, 2), np.float64) for part in parts])
        with pytest.raises(ValueError, match=f"Partition 1 of X {words}"):
            clone(estimator).fit(there, rows[:, 0])
        with pytest.raises(ValueError, match=f"Partition 1 of X {words}"):
            clone(estimator).fit(rows, rows[:, 0]).predict(there).compute()
