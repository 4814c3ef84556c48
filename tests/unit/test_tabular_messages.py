"""Bad input has its own message, and hard input a model."""

import numpy as np
import pytest
from selection import long_except
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tabular_samples import regression, short_choice_of_ranks, table  # noqa: F401

from bochner import Evidence, Matern, Sinc, SpectralClassifier, SpectralRegressor

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("short_choice_of_ranks")
QUICK = Evidence(n_rows=60, n_iterations=2, standardize=False)


@pytest.fixture(scope="module")
def regressor():
    X, y = table()
    return SpectralRegressor(evidence=QUICK, random_state=0).fit(X, y)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_few_rows_are_enough(n):
    X, y = regression(n)
    assert np.all(np.isfinite(SpectralRegressor(random_state=0).fit(X, y).predict(X)))
    labels = np.arange(n) % 2
    if n > 2:
        assert np.all(
            np.isfinite(SpectralClassifier(random_state=0).fit(X, labels).predict_proba(X))
        )


@pytest.mark.parametrize("n", [2, 30])
def test_one_row_of_each_class_is_refused(n):
    X, _ = regression(n)
    with pytest.raises(
        ValueError, match=f"at least 2 rows of some class, but each of the {n} classes has only one"
    ):
        SpectralClassifier().fit(X, np.arange(n))
    weights = np.ones(n)
    weights[0] = 0  # a row that takes no part
    with pytest.raises(ValueError, match="at least 2"):
        SpectralClassifier().fit(X, np.maximum(np.arange(n), 1), weights)


def test_more_columns_than_rows_duplicates_constants_and_empty_columns():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 100)), rng.normal(size=20)
    model = SpectralRegressor(evidence=QUICK, random_state=0)
    assert np.all(np.isfinite(clone(model).fit(X, y).predict(X)))
    same = np.ones((20, 3))
    np.testing.assert_allclose(clone(model).fit(same, y).predict(same), y.mean(), atol=1e-6)
    np.testing.assert_allclose(clone(model).fit(X, np.full(20, 3.0)).predict(X), 3.0)
    holes = np.column_stack([X[:, 0], np.full(20, np.nan), np.ones(20)])
    np.testing.assert_allclose(
        clone(model).fit(holes, y).predict(holes),
        clone(model).fit(X[:, :1], y).predict(X[:, :1]),
        rtol=1e-6,
    )
    labels = np.arange(20) % 3
    single = labels.copy()
    single[0] = 9  # a class of one row
    classes = SpectralClassifier(evidence=QUICK, random_state=0).fit(X, single)
    np.testing.assert_allclose(classes.predict_proba(X).sum(axis=1), 1)
    assert list(classes.classes_) == [0, 1, 2, 9]
    np.testing.assert_allclose(
        SpectralClassifier(evidence=QUICK, random_state=0).fit(same, labels).predict_proba(same)[0],
        np.bincount(labels) / 20,
        atol=0.05,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.array([0.0, np.nan] * 10)}, "NaN"),
        ({"y": np.array([0.0, np.inf] * 10)}, "infinity"),
        ({"y": np.zeros(7)}, "inconsistent"),
        ({"X": np.ones((1, 2)), "y": np.ones(1)}, "at least 2 rows"),
        ({"X": np.full((20, 2), np.inf)}, "infinity"),
        ({"y": None}, "None"),
    ],
    ids=lambda v: str(v)[:30],
)
def test_bad_data_is_refused_with_a_reason(change, message):
    data = {"X": np.random.default_rng(0).normal(size=(20, 2)), "y": np.arange(20.0)} | change
    for model in (SpectralRegressor(), SpectralClassifier()):
        with pytest.raises(ValueError, match=message):
            model.fit(**data)
        with pytest.raises(NotFittedError):
            model.predict(data["X"])


def test_one_class_and_values_are_refused_by_the_classifier():
    X, y = regression(20)
    with pytest.raises(ValueError, match="only 1 class: 'a'"):
        SpectralClassifier().fit(X, ["a"] * 20)
    with pytest.raises(ValueError, match="SpectralRegressor"):
        SpectralClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"priors": ()}, "priors is empty"),
        ({"priors": (1,)}, "priors must be priors"),
        ({"priors": Sinc()}, "needs the method `with_rates`"),
        ({"priors": Matern(nu=0.8)}, "needs the method `_slopes`"),
        ({"evidence": 5}, "evidence must be"),
        ({"categorical_features": "all"}, "from_dtype"),
        ({"max_leaf_rows": 0}, "max_leaf_rows"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = regression(20)
    with pytest.raises((TypeError, ValueError), match=message):
        SpectralRegressor(**parameters).fit(X, y)


def test_columns_that_changed_are_named(regressor):
    X, _ = table()
    with pytest.raises(ValueError, match="feature names"):
        regressor.predict(X.drop(columns="kind"))
    with pytest.raises(ValueError, match="feature names"):
        regressor.predict(X.assign(new=1.0))
    with pytest.raises(
        ValueError, match="'size' is read as numbers, but holds values such as 'large'"
    ):
        regressor.predict(X.assign(size="large"))
    with pytest.raises(ValueError, match="'kind' held categories such as 'a'"):
        regressor.predict(X.assign(kind=3.5))
    with pytest.warns(UserWarning, match="'kind': 'unseen'"):
        assert np.all(np.isfinite(regressor.predict(X.assign(kind="unseen"))))


# --- for every kind of table and both models ------------------------------------------------------

KINDS = ["pandas", "polars", "numpy"]
every_kind = pytest.mark.parametrize("kind", long_except(KINDS, "pandas"))
MODELS = [SpectralRegressor, SpectralClassifier]


def as_kind(frame, kind):
    """A frame as it is, as one of polars, or its numbers as an array."""
    if kind == "polars":
        return pytest.importorskip("polars").from_pandas(frame)
    return frame.select_dtypes(["number", "bool"]).to_numpy() if kind == "numpy" else frame


def small_table(n=40):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.normal(size=n), "b": rng.normal(size=n), "kind": rng.choice(["x", "y", "z"], n)}
    )
    return frame, frame["a"].to_numpy() + 0.1 * rng.normal(size=n)


def answers(model, X):
    return model.predict_proba(X) if isinstance(model, SpectralClassifier) else model.predict(X)


@every_kind
@pytest.mark.parametrize("model_class", MODELS)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.nan, "NaN|missing values"),
        (np.inf, "infinity"),
        (None, "NaN|missing values"),
        (pd.NA, "NaN|missing values"),
    ],
    ids=str,
)
def test_bad_targets_are_refused_and_the_old_model_is_kept(bad, message, model_class, kind):
    frame, y = small_table()
    X, good = (
        as_kind(frame, kind),
        np.where(y > 0, 1.0, 0.0) if model_class is SpectralClassifier else y,
    )
    model = model_class(evidence=QUICK, random_state=0).fit(X, good)
    before = answers(model, X)
    target = np.array(good, dtype=object if bad is None or bad is pd.NA else float)
    target[3] = bad
    with pytest.raises(ValueError, match=message):
        model.fit(X, target)
    np.testing.assert_array_equal(answers(model, X), before)


def test_labels_with_missing_texts_are_refused():
    frame, y = small_table()
    labels = pd.Series(np.where(y > 0, "yes", "no"), dtype="string")
    labels[3] = pd.NA
    with pytest.raises(ValueError, match="with missing values"):
        SpectralClassifier(evidence=QUICK).fit(frame, labels)


@every_kind
@pytest.mark.parametrize("model_class", MODELS)
@pytest.mark.parametrize(
    "case",
    ["constant", "empty", "one column", "class of one", "few", "wide", "repeated", "same rows"],
)
def test_hard_tables_are_fitted(case, model_class, kind):
    frame, y = small_table()
    if case == "constant":
        frame = frame.assign(c=1.0, d="same")
    elif case == "empty":
        frame = frame.assign(c=np.nan, d=None)
    elif case == "one column":
        frame = frame[["a"]]
    elif case == "few":
        frame, y = frame[:3], y[:3]
    elif case == "wide":
        frame, y = (
            pd.DataFrame(np.random.default_rng(1).normal(size=(15, 60))).add_prefix("c"),
            y[:15],
        )
    elif case == "repeated":
        frame, y = pd.concat([frame] * 4, ignore_index=True), np.tile(y, 4)
    elif case == "same rows":
        frame = pd.concat([frame[:1]] * 40, ignore_index=True)
    target = y
    if model_class is SpectralClassifier:
        target = np.where(y > np.median(y), "high", "low").astype(object)
        target[0] = "rare" if case == "class of one" else target[0]
    X = as_kind(frame, kind)
    model = model_class(evidence=QUICK, random_state=0).fit(X, target)
    found = answers(model, X)
    assert np.all(np.isfinite(found))
    if model_class is SpectralClassifier:
        np.testing.assert_allclose(found.sum(axis=1), 1)
    else:
        assert not np.any(np.isnan(model.predict_interval(X)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model_class", MODELS)
@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_huge_and_tiny_columns_and_targets_are_only_units(size, model_class):
    frame, y = small_table()
    target = np.where(y > 0, "high", "low") if model_class is SpectralClassifier else y
    plain = answers(model_class(evidence=QUICK, random_state=0).fit(frame, target), frame)
    scaled = frame.assign(a=frame["a"] * size, b=frame["b"] * size)
    model = model_class(evidence=QUICK, random_state=0).fit(scaled, target)
    np.testing.assert_allclose(answers(model, scaled), plain, rtol=1e-4, atol=1e-4)
    if model_class is SpectralRegressor:
        model = SpectralRegressor(evidence=QUICK, random_state=0).fit(frame, size * y)
        np.testing.assert_allclose(model.predict(frame) / size, plain, rtol=1e-4, atol=1e-4)
        low, high = model.predict_interval(frame).T
        assert np.all(low < high)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model_class", MODELS)
def test_values_of_all_sizes_in_one_column_or_target_are_taken(model_class):
    frame, y = small_table()
    target = np.where(y > 0, "high", "low") if model_class is SpectralClassifier else y
    spanning = frame.assign(b=np.logspace(-300, 300, 40))
    model = model_class(evidence=QUICK, random_state=0)
    assert np.all(np.isfinite(answers(model.fit(spanning, target), spanning)))
    if model_class is SpectralRegressor:
        assert np.all(np.isfinite(model.fit(frame, np.logspace(-300, 300, 40)).predict(frame)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model_class", MODELS)
def test_columns_that_are_not_those_of_the_fit_are_refused_and_unseen_levels_taken(
    model_class, kind
):
    frame, y = small_table()
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(40), unit="D")
    target = np.where(y > 0, "high", "low") if model_class is SpectralClassifier else y
    model = model_class(evidence=QUICK, random_state=0).fit(as_kind(frame, kind), target)
    if kind == "numpy":
        with pytest.raises(ValueError, match=r"X has 1 features, but Spectral.* is expecting 2"):
            model.predict(np.ones((3, 1)))
        with pytest.raises(ValueError, match=r"X holds texts.*Give a pandas or polars frame"):
            model.predict(np.array([["a", "b"]]))
        with pytest.raises(ValueError, match="infinity"):
            model.predict(np.full((3, 2), np.inf))
        return
    for changed, message in (
        (frame.drop(columns="b"), "now missing:\n- b"),
        (frame.assign(new=1.0), "unseen at fit time:\n- new"),
        (frame[["b", "a", "kind", "day"]], "same order"),
        (frame.assign(b="text"), "'b' is read as numbers, but holds values such as 'text'"),
        (
            frame.assign(b=frame["day"]),
            "'b' held numbers while fitting, but now holds dates such as 2020-01-01",
        ),
        (
            frame.assign(day=3.5),
            r"'day' held dates while fitting, but now holds numbers such as 3\.5",
        ),
        (
            frame.assign(kind=3.5),
            r"'kind' held categories such as 'x' while fitting, but now holds numbers such as 3\.5",
        ),
        (
            frame.assign(kind=True),
            "'kind' held categories such as 'x' while fitting, but now holds numbers such as True",
        ),
        (
            frame.assign(kind=frame["day"]),
            "'kind' held categories such as 'x' while fitting, but now holds dates",
        ),
        (frame[:0], "0 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(as_kind(changed, kind))
    for taken in (
        frame.assign(kind="unseen"),
        frame.assign(a=np.nan, b=np.nan, kind=None, day=pd.NaT),
        frame.assign(day=np.nan),
    ):
        assert np.all(np.isfinite(answers(model, as_kind(taken, kind))))


@pytest.mark.parametrize("model_class", MODELS)
def test_texts_in_arrays_and_in_targets_of_values_are_refused(model_class):
    with pytest.raises(ValueError, match=r"X holds texts.*categorical_features"):
        model_class().fit(np.array([["a", "b"]] * 5), np.arange(5) % 2)
    if model_class is SpectralRegressor:
        with pytest.raises(
            ValueError, match=r"SpectralRegressor needs numbers in y.*Use a classifier"
        ):
            model_class().fit(np.random.default_rng(0).normal(size=(5, 2)), list("abcde"))
