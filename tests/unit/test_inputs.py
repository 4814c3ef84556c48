"""Columns of real tables: clipped, filled in, told apart by type, and the same in every kind of
frame.
"""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from bochner.data.inputs import SmoothScaler, TableInputs

pd = pytest.importorskip("pandas")


def test_scaled_columns_are_the_printed_formula(seed):
    X = np.random.default_rng(seed).normal(2.0, 5.0, size=(200, 3))
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(
        SmoothScaler(clip=2.5).fit_transform(X), z / np.sqrt(1 + (z / 2.5) ** 2), atol=1e-12
    )


def test_one_wild_value_does_not_decide_a_linear_model(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=400)
    X[7, 1] = 1e6
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    clean = np.abs(X_test[:, 1]) < 1e3
    model = make_pipeline(SmoothScaler(), LinearRegression()).fit(X_train, y_train)
    assert model.score(X_test[clean], y_test[clean]) > 0.9


def test_two_values_are_a_gap_apart_and_constants_are_zero():
    X = np.column_stack([np.repeat([3.0, 700.0], [9, 1]), np.full(10, 5.0)])
    scaled = SmoothScaler(clip=1e9, gap=1.5).fit_transform(X)
    assert np.ptp(scaled[:, 0]) == pytest.approx(1.5)
    np.testing.assert_array_equal(scaled[:, 1], 0)


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e300])
def test_huge_and_tiny_units_change_nothing(size, seed):
    X = np.random.default_rng(seed).normal(size=(50, 2))
    np.testing.assert_allclose(
        SmoothScaler().fit_transform(size * X), SmoothScaler().fit_transform(X), rtol=1e-9
    )


def table():
    return pd.DataFrame(
        {
            "size": [1.0, 2.0, np.nan, 4.0, np.inf],
            "kind": ["a", "b", None, "a", "c"],
            "flag": [True, False, True, True, False],
            "day": pd.to_datetime(["2020-01-01", "2020-02-01", None, "2020-03-01", "2020-03-02"]),
            "count": pd.array([1, 2, None, 3, 3], dtype="Int64"),
            "rank": pd.Categorical(["x", "y", "x", "y", "y"]),
            "empty": [np.nan] * 5,
        }
    )


def test_columns_are_told_apart_by_their_type():
    inputs = TableInputs().fit(table())
    names = inputs.get_feature_names_out().tolist()
    assert names[:4] == ["size", "flag", "day", "count"]
    assert [name for name in names if name.startswith("missing")] == [
        f"missingindicator_{n}" for n in ("size", "day", "count")
    ]
    assert names[-5:] == ["kind_a", "kind_b", "kind_c", "kind_missing", "rank_y"]
    values = inputs.transform(table())
    assert values.shape == (5, len(names))
    assert np.all(np.isfinite(values))
    np.testing.assert_array_equal(values[:, names.index("kind_a")], [1.5, 0, 0, 1.5, 0])


def test_frames_of_pandas_and_polars_give_the_same():
    pl = pytest.importorskip("polars")
    plain = table().drop(columns=["count", "empty"])
    expected = TableInputs().fit(plain)
    other = TableInputs().fit(pl.from_pandas(plain))
    np.testing.assert_allclose(other.transform(pl.from_pandas(plain)), expected.transform(plain))
    assert other.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()


@pytest.mark.filterwarnings("error")
def test_unseen_levels_and_types_are_taken_without_a_word():
    inputs = TableInputs().fit(table())
    other = table().assign(kind=["zzz", 7, None, "a", "b"], size=[9.0, np.nan, 1.0, -np.inf, 0.0])
    values = inputs.transform(other)
    names = inputs.get_feature_names_out().tolist()
    assert np.all(values[:2, [k for k, name in enumerate(names) if name.startswith("kind")]] == 0)
    assert np.all(np.isfinite(values))


def test_many_levels_share_a_column():
    kinds = [f"k{k}" for k in range(40)] + ["often"] * 30
    inputs = TableInputs(max_levels=5).fit(pd.DataFrame({"kind": kinds}))
    assert len(inputs.get_feature_names_out()) == 5
    assert "kind_often" in inputs.get_feature_names_out()


def test_named_columns_of_an_array_are_categories():
    X = np.array([[1.0, 0.0], [2.0, 1.0], [5.0, 2.0], [1.0, 1.0]])
    assert TableInputs(categorical_features=[1]).fit_transform(X).shape == (4, 4)
    assert TableInputs(categorical_features=[False, True]).fit_transform(X).shape == (4, 4)
    with pytest.raises(
        ValueError, match=r"lists 5, but there is no such column\. The columns are 0, 1"
    ):
        TableInputs(categorical_features=[5]).fit(X)
    with pytest.raises(ValueError, match="a mask of 3 truth values, but there are 2 columns"):
        TableInputs(categorical_features=[False, True, True]).fit(X)
    with pytest.raises(ValueError, match="from_dtype"):
        TableInputs(categorical_features="all").fit(X)


@pytest.mark.parametrize("wish", [["zip"], [2], np.array([False, False, True]), ("zip", "town")])
def test_listed_columns_of_a_frame_add_to_those_of_text(wish):
    frame = pd.DataFrame({"size": [1.0, 2.0, 4.0, 3.0], "town": list("abca"), "zip": [7, 8, 9, 7]})
    inputs = TableInputs(categorical_features=wish).fit(frame)
    np.testing.assert_array_equal(inputs.is_category_, [False, True, True])
    assert inputs.transform(frame).shape == (4, 7)


def test_a_frame_whose_columns_have_integer_names_is_listed_by_name():
    frame = pd.DataFrame({1: [1.0, 2.0, 3.0], 0: [4.0, 5.0, 6.0]})
    np.testing.assert_array_equal(
        TableInputs(categorical_features=[0]).fit(frame).is_category_, [False, True]
    )


def test_all_columns_are_listed_if_one_is_not_found():
    frame = pd.DataFrame({f"c{k}": [0.0, 1.0, 2.0] for k in range(30)})
    with pytest.raises(
        ValueError,
        match=r"lists 'typo', but there is no such column. The columns are 'c0', .*'c29'\.",
    ):
        TableInputs(categorical_features=["typo"]).fit(frame)


@pytest.mark.parametrize("container", ["array", "pandas", "nullable", "polars", "unsigned"])
def test_integers_that_floats_cannot_tell_apart_stay_different(container):
    small = np.arange(12) ** 2
    large = small + 2**62
    if container == "array":
        X, plain = large[:, None], small[:, None]
    elif container == "unsigned":
        X, plain = (small.astype(np.uint64) + np.uint64(2**63))[:, None], small[:, None]
    elif container == "pandas":
        X, plain = pd.DataFrame({"id": large}), pd.DataFrame({"id": small})
    elif container == "nullable":
        X, plain = (
            pd.DataFrame({"id": pd.array([*v.tolist(), None], dtype="Int64")})
            for v in (large, small)
        )
    else:
        polars = pytest.importorskip("polars")
        X, plain = (polars.DataFrame({"id": [*v.tolist(), None]}) for v in (large, small))
    for ranks in (0.0, 0.5):
        inputs, expected = TableInputs(ranks=ranks).fit(X), TableInputs(ranks=ranks).fit(plain)
        np.testing.assert_array_equal(inputs.transform(X), expected.transform(plain))
        np.testing.assert_array_equal(inputs.slopes(X), expected.slopes(plain))


@pytest.mark.parametrize("offset, unit", [(1e15, 100.0), (0.0, 1e-310), (0.0, 1e305)])
def test_columns_of_a_huge_offset_or_of_extreme_size_are_scaled_like_others(offset, unit, seed):
    x = np.random.default_rng(seed).integers(-20, 20, size=200).astype(float)
    found = TableInputs().fit_transform((offset + unit * x)[:, None])
    np.testing.assert_allclose(found, TableInputs().fit_transform(x[:, None]), atol=2e-12)


def test_columns_that_are_missing_or_new_are_named():
    inputs = TableInputs().fit(table())
    with pytest.raises(ValueError, match="feature names"):
        inputs.transform(table().drop(columns="kind"))
    with pytest.raises(ValueError, match="0 rows"):
        inputs.transform(table().iloc[:0])


def test_dates_with_a_time_zone_are_days_too():
    days = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=9)})
    zoned = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=9, tz="UTC")})
    np.testing.assert_allclose(
        TableInputs().fit_transform(zoned), TableInputs().fit_transform(days)
    )
    plain = pd.DataFrame({"day": [d.date() for d in days["day"]]})
    inputs = TableInputs().fit(plain)
    np.testing.assert_allclose(inputs.transform(plain), TableInputs().fit_transform(days))


def test_columns_of_one_name_are_refused():
    with pytest.raises(ValueError, match="called a"):
        TableInputs().fit(pd.DataFrame(np.ones((3, 2)), columns=["a", "a"]))


def test_weights_count_like_repeated_rows_to_the_last_bit(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    X[rng.random((30, 3)) < 0.1] = np.nan
    weights = rng.integers(0, 4, size=30)
    weighted = TableInputs().fit(X, sample_weight=weights)
    longer = TableInputs().fit(X[rng.permutation(np.repeat(np.arange(30), weights))])
    np.testing.assert_array_equal(weighted.transform(X), longer.transform(X))


def test_a_constant_column_is_left_out_unless_it_is_all_there_is():
    X = np.column_stack([np.ones(5), np.arange(5.0)])
    assert TableInputs().fit(X).sources_.tolist() == [1]
    np.testing.assert_array_equal(TableInputs().fit_transform(X[:, :1]), np.zeros((5, 1)))


def test_medians_are_those_of_the_known_values(seed):
    values = np.random.default_rng(seed).normal(size=41)
    X = np.append(values, np.nan)[:, None]
    assert TableInputs().fit(X).medians_[0] == pytest.approx(np.median(values))
    assert TableInputs().fit(X[1:]).medians_[0] == pytest.approx(np.median(values[1:]))


# --- categories that have an order ----------------------------------------------------------------


def sizes(kind):
    """Small, medium and large shirts, a missing and an unused level among them."""
    levels, values = ["S", "M", "L", "XL"], ["M", "S", None, "L", "M", "S", "M"]
    if kind == "pandas":
        return pd.DataFrame(
            {"size": pd.Categorical(values, levels, ordered=True), "n": np.arange(7.0)}
        )
    pl = pytest.importorskip("polars")
    return pl.DataFrame({"size": pl.Series(values, dtype=pl.Enum(levels)), "n": np.arange(7.0)})


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_ordered_categories_are_indicators_and_ranks(kind):
    inputs = TableInputs().fit(sizes(kind))
    assert inputs.get_feature_names_out().tolist() == [
        "n", "order_size", "size_L", "size_M", "size_S", "size_missing"
    ]  # fmt: skip
    assert inputs.sources_.tolist() == [1, 0, 0, 0, 0, 0]
    ranks = pd.DataFrame({"rank": [1, 0, np.nan, 2, 1, 0, 1]})
    values = inputs.transform(sizes(kind))
    np.testing.assert_allclose(values[:, 1], TableInputs().fit_transform(ranks)[:, 0])
    np.testing.assert_array_equal(values[:, 4], [0, 1.5, 0, 0, 0, 1.5, 0])


def test_unseen_and_missing_levels_have_the_median_rank():
    inputs = TableInputs().fit(sizes("pandas"))
    other = pd.DataFrame({"size": ["S", "XL", None, "huge"], "n": 0.0})
    values = inputs.transform(other)
    assert (
        values[1, 1] > values[2, 1] == values[3, 1] > values[0, 1]
    )  # XL was declared, though no row had it
    middle = inputs.transform(pd.DataFrame({"size": ["M"], "n": 0.0}))
    assert values[2, 1] == middle[0, 1]


def test_texts_of_numbers_are_numbers_as_well():
    texts = ["1", "2", "10", "2.5", None, "1"]
    for column in (pd.Categorical(texts), pd.Series(texts, dtype=object)):
        inputs = TableInputs().fit(pd.DataFrame({"code": column}))
        values = inputs.transform(pd.DataFrame({"code": column}))
        plain = TableInputs().fit_transform(pd.DataFrame({"code": [1, 2, 10, 2.5, np.nan, 1]}))
        np.testing.assert_allclose(values[:, 0], plain[:, 0])
        assert inputs.get_feature_names_out()[0] == "order_code"
        unseen = inputs.transform(pd.DataFrame({"code": ["5", "2", "10"]}))[:, 0]
        assert unseen[1] < unseen[0] < unseen[2]


@pytest.mark.parametrize(
    "texts",
    [["10-19", "20-29", "30"], ["1", "2", "1"], ["nan", "1", "2"], ["a", "b", "c"], ["1_0", "2", "3"], ["1", "01", "1.0"]],
    ids=str,
)  # fmt: skip
def test_other_categories_have_no_order(texts):
    inputs = TableInputs().fit(pd.DataFrame({"kind": pd.Categorical(texts)}))
    assert len(inputs.ordered_) == 0
    two = pd.DataFrame({"kind": pd.Categorical(["no", "yes", "no"], ["no", "yes"], ordered=True)})
    assert TableInputs().fit(two).get_feature_names_out().tolist() == ["kind_yes"]


def test_named_columns_of_numbers_have_no_order():
    X = np.array([[1.0, 0.0], [2.0, 1.0], [5.0, 2.0], [1.0, 1.0]])
    assert len(TableInputs(categorical_features=[1]).fit(X).ordered_) == 0
    assert (
        len(
            TableInputs(categorical_features=["b"])
            .fit(pd.DataFrame(X, columns=["a", "b"]))
            .ordered_
        )
        == 0
    )


def test_slopes_are_differences_and_categories_have_none():
    frame = table()
    inputs = TableInputs().fit(frame)
    slopes = inputs.slopes(frame)
    assert np.all(np.isnan(slopes[:, [1, 5, 6]]))
    assert np.isnan(slopes[2, 0])
    assert np.isnan(slopes[4, 0])
    step = 1e-6
    up, down = (inputs.transform(frame.assign(size=frame["size"] + move)) for move in (step, -step))
    np.testing.assert_allclose(slopes[:2, 0], ((up - down) / (2 * step))[:2, 0], rtol=1e-8)
    constant = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [5.0, 5.0, 5.0]})
    np.testing.assert_array_equal(TableInputs().fit(constant).slopes(constant)[:, 1], 0)


# --- ranks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_a_share_of_a_number_is_its_rank(share, seed):
    values = np.random.default_rng(seed).lognormal(size=100)
    X = np.column_stack([values, values > 1])
    ranks = np.array([np.mean(values < v) + 0.5 / 100 for v in values])
    plain = TableInputs().fit_transform(X)
    found = TableInputs(ranks=share).fit(X).transform(X)
    np.testing.assert_allclose(
        found[:, 0], (1 - share) * plain[:, 0] + share * np.sqrt(12) * (ranks - 0.5), atol=1e-12
    )
    np.testing.assert_array_equal(found[:, 1], plain[:, 1])  # of two values ranks say nothing


def test_ranks_of_many_values_keep_few_knots_and_the_ends():
    values = np.random.default_rng(0).standard_cauchy(5000)[:, None]
    inputs = TableInputs(ranks=1.0).fit(values)
    assert inputs.knots_[0].shape[1] <= 256
    ranked = inputs.transform(values)[:, 0] / np.sqrt(12) + 0.5
    exact = (np.argsort(np.argsort(values[:, 0])) + 0.5) / 5000
    assert np.abs(ranked - exact).max() < 1 / 255
    outside = inputs.transform([[-1e300], [1e300]])[:, 0] / np.sqrt(12) + 0.5
    np.testing.assert_allclose(outside, [0.0001, 0.9999], atol=1e-12)


def test_ranks_are_those_of_repeated_rows(seed):
    values = np.random.default_rng(seed).normal(size=(30, 1))
    counts = np.random.default_rng(seed).integers(1, 4, size=30)
    weighted = TableInputs(ranks=0.5).fit(values, sample_weight=counts.astype(float))
    repeated = TableInputs(ranks=0.5).fit(np.repeat(values, counts, axis=0))
    np.testing.assert_allclose(weighted.transform(values), repeated.transform(values), atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_slopes_of_numbers_are_their_differences(share, seed):
    rng = np.random.default_rng(seed)
    inputs = TableInputs(ranks=share).fit(rng.lognormal(size=(60, 2)))
    X, step = rng.lognormal(size=(8, 2)), 1e-7
    found = inputs.slopes(X)
    for j in range(2):
        moved = np.where(np.arange(2) == j, step, 0.0)
        difference = (inputs.transform(X + moved) - inputs.transform(X - moved))[:, j] / (2 * step)
        np.testing.assert_allclose(found[:, j], difference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ranks", [-0.1, 1.5, "half"])
def test_a_share_that_is_none_is_refused(ranks):
    with pytest.raises((ValueError, TypeError), match="ranks"):
        TableInputs(ranks=ranks).fit(np.arange(10.0)[:, None])
