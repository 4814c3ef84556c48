"""How columns are read: each decision with its reason, and the same again for every other table."""

import re

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")

import messy_samples as messy
from sklearn.datasets import load_breast_cancer

from bochner.tables import ColumnReader, TableError
from bochner.tables.columns.reader import stray_notes
from bochner.tables.columns.written_dates import date_formats, formats_in_words, parsed
from bochner.tables.columns.written_numbers import decimal_of, number_of

N = 60


def read(values, roles=None, name="x", **options):
    """(what a column of these values is read as, its reason, its role)."""
    frame = pandas.DataFrame(
        {name: values, "other": np.tile([0.5, 1.5], (len(values) + 1) // 2)[: len(values)]}
    )
    reader = ColumnReader(roles, **options).fit(frame)
    return reader.transform(frame), reader.reasons_[name], reader.roles_.get(name)


# --- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("12", 12, 12),
        ("-3.5", -3.5, np.nan),
        ("3,5", np.nan, 3.5),
        ("1,234", 1234, 1.234),
        ("1.234", 1.234, 1234),
        ("0,234", np.nan, 0.234),
        ("1,234,567.89", 1234567.89, np.nan),
        ("1.234.567,89", np.nan, 1234567.89),
        ("1,23,456", np.nan, np.nan),
        ("1 234 567", 1234567, 1234567),
        ("1\u202f234,5", np.nan, 1234.5),
        ("1'234.5", 1234.5, np.nan),
        ("$1,234.50", 1234.5, np.nan),
        ("-$12", -12, -12),
        ("$-12", -12, -12),
        ("1.234,50 €", np.nan, 1234.5),
        ("EUR 5", 5, 5),
        ("12.5%", 12.5, np.nan),
        ("(1,234)", -1234, -1.234),
        ("−7", -7, -7),
        ("1e-3", 0.001, 0.001),
        (".5", 0.5, np.nan),
        ("1.2.2020", np.nan, np.nan),
        ("007", np.nan, np.nan),
        ("0", 0, 0),
        ("0.5", 0.5, np.nan),
        ("12 Elm Street", np.nan, np.nan),
        ("", np.nan, np.nan),
        ("$", np.nan, np.nan),
        ("٣", np.nan, np.nan),
    ],
)
def test_numbers_as_they_are_written(text, point, comma):
    np.testing.assert_equal([number_of(text), number_of(text, ",")], [point, comma])


def test_the_decimal_mark_is_the_one_that_the_texts_tell():
    assert decimal_of(["1,234", "0,5"]) == ","
    assert decimal_of(["1.234", "1.234.567"]) == ","
    assert decimal_of(["1,234", "1,234.5"], doubtful=",") == "."


@pytest.mark.parametrize(
    ("spell", "words"),
    [
        (messy.money, "currency signs, thousands separators and parentheses for negative numbers"),
        (lambda v: messy.money(v, "€ "), "currency signs"),
        (messy.percent, "percent signs"),
        (lambda v: [f"{x!r}".replace(".", ",") for x in v], "a decimal comma"),
        (lambda v: messy.german(v, 2), "thousands separators and a decimal comma"),
    ],
)
def test_written_numbers_are_the_numbers(spell, words):
    values = np.round(np.random.default_rng(0).normal(scale=3000, size=N), 2)
    frame, reason, role = read(spell(values.tolist()))
    assert role == "number"
    assert words in reason
    np.testing.assert_allclose(frame["x"], values)


def test_a_useful_column_with_thousands_separators_is_no_text():
    values = np.random.default_rng(0).integers(10**7, size=N)
    frame, reason, _ = read(messy.thousands(values))
    np.testing.assert_array_equal(frame["x"], values)
    assert reason == "numbers written with thousands separators"


def test_words_among_numbers_count_as_missing_and_are_named():
    values = np.random.default_rng(0).normal(size=N)
    texts = [f"{value:.3f}" for value in values]
    texts[3], texts[5], texts[7] = "broken", "n/a", " "
    frame, reason, role = read(texts)
    assert (role, reason) == (
        "number",
        "numbers; 1 value(s) such as 'broken' are not numbers, read as missing",
    )
    assert np.flatnonzero(frame["x"].isna()).tolist() == [3, 5, 7]
    mostly = messy.mixed(values, np.random.default_rng(1), words=["unknown reason"], share=0.4)
    assert read(mostly)[2] == "number"


def test_codes_with_leading_zeros_and_a_few_numbers_among_words_are_categories():
    assert read(["0012", "0345", "0007"] * 20)[2] == "category"
    assert read(["1", "2", "3+"] * 20)[2] == "category"


# --- dates ----------------------------------------------------------------------------------------

TIMES = pandas.Series(
    pandas.to_datetime("2019-11-03") + pandas.to_timedelta(np.arange(N) * 37.25, "h")
)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("%Y-%m-%d", "year-month-day"),
        ("%Y-%m-%dT%H:%M:%SZ", "year-month-day"),
        ("%Y-%m-%d %H:%M:%S.%f+02:00", "year-month-day"),
        ("%d.%m.%Y", "day.month.year"),
        ("%d.%m.%Y %H:%M", "day.month.year"),
        ("%m/%d/%Y", "month/day/year"),
        ("%m/%d/%Y %I:%M %p", "month/day/year"),
        ("%d/%m/%Y", "day/month/year"),
        ("%m/%d/%y", "month/day/year"),
        ("%d-%b-%Y", "day-month-year"),
        ("%B %d, %Y", "month day, year"),
        ("%a, %d %b %Y %H:%M:%S", "day month year"),
        ("%Y/%m/%d", "year/month/day"),
    ],
)
def test_dates_in_many_spellings(form, words):
    texts = TIMES.dt.strftime(form)
    frame, reason, role = read(texts)
    assert role == "date"
    assert f"dates written as {words}: trend in days" in reason
    precise = TIMES if "%M" in form else TIMES.dt.normalize()
    minutes = precise.dt.floor("min") if "%S" not in form else precise
    np.testing.assert_allclose(
        frame["x"], minutes.astype("datetime64[us]").astype("int64") / 86400e6, atol=1e-9
    )


def test_two_spellings_in_one_column_and_words_among_them():
    texts = [*TIMES.dt.strftime("%d.%m.%Y")[:30], *TIMES.dt.strftime("%Y-%m-%d")[30:]]
    texts[4] = "unknown"
    frame, reason, _ = read(texts)
    assert (
        "day.month.year or year-month-day" in reason or "year-month-day or day.month.year" in reason
    )
    assert np.flatnonzero(frame["x"].isna()).tolist() == [4]


def test_days_that_do_not_tell_are_read_by_the_custom_of_the_file():
    doubtful = np.array(["3/4/2021", "5/6/2021"], dtype=object)
    assert date_formats(doubtful) == ("%m/%d/%Y",)
    assert date_formats(doubtful, ",") == ("%d/%m/%Y",)
    assert formats_in_words(("%H:%M",)) == "a time of day"


def test_parts_that_vary_go_round_in_circles():
    hourly = pandas.Series(pandas.date_range("2020-01-01", periods=400, freq="31h"))
    frame, reason, _ = read(hourly)
    assert reason == "dates: trend in days, sine and cosine of month and weekday and hour"
    names = [
        f"x: {part} {wave}" for part in ("month", "weekday", "hour") for wave in ("sine", "cosine")
    ]
    assert [name for name in frame.columns if name.startswith("x")] == ["x", *names]
    for part in ("month", "weekday", "hour"):
        np.testing.assert_allclose(
            frame[f"x: {part} sine"] ** 2 + frame[f"x: {part} cosine"] ** 2, 1
        )
    angle = 2 * np.pi * (hourly.dt.hour + hourly.dt.minute / 60) / 24
    np.testing.assert_allclose(frame["x: hour cosine"], np.cos(angle), atol=1e-12)
    weekday = 2 * np.pi * hourly.dt.day_of_week / 7
    np.testing.assert_allclose(frame["x: weekday sine"], np.sin(weekday), atol=1e-12)
    yearly = pandas.Series(pandas.to_datetime([f"{year}-01-01" for year in range(1950, 2010)]))
    assert [name for name in read(yearly)[0].columns if "month" in name or "hour" in name] == []


def test_december_is_near_january():
    texts = pandas.Series(pandas.date_range("2019-12-31", periods=366)).astype(str)
    frame = read(texts)[0]
    circle = frame[["x: month sine", "x: month cosine"]].to_numpy()
    assert (
        np.linalg.norm(circle[0] - circle[1]) < 0.05 < 1.9 < np.linalg.norm(circle[1] - circle[183])
    )


def test_a_date_of_a_parquet_table_is_the_same_in_text():
    times = TIMES.dt.tz_localize("Europe/Berlin")
    frame = pandas.DataFrame({"x": times, "other": np.arange(N) % 7})
    reader = ColumnReader().fit(frame)
    of_text = reader.transform(frame.assign(x=times.astype(str)))
    pandas.testing.assert_frame_equal(of_text, reader.transform(frame))


def test_whole_numbers_that_are_dates():
    numbers = TIMES.dt.strftime("%Y%m%d").astype(int)
    frame, reason, role = read(numbers)
    assert (role, reason.split(":")[0]) == ("date", "dates written as yearmonthday")
    np.testing.assert_array_equal(
        frame["x"], TIMES.dt.normalize().astype("datetime64[s]").astype("int64") // 86400
    )
    assert read(np.arange(20190101, 20190101 + 3 * N, 3))[2] == "number"  # the 99th of January
    seconds = (TIMES.astype("datetime64[s]").astype("int64")).to_numpy()
    assert read(seconds)[2] == "number"
    frame, _, role = read(seconds, {"x": "date"})
    np.testing.assert_allclose(frame["x"], seconds / 86400)


def test_parsed_keeps_the_local_clock():
    times = parsed(
        ["2020-01-01T10:00:00+05:30", "no date", "Monday, 2020-01-06 09:00"], ("ISO8601",)
    )
    assert times.dt.hour.tolist()[0] == 10
    assert times.isna().tolist() == [False, True, False]


SEVERAL = ("%Y-%m-%d", "%d %b %Y", "%Y%m%d", "%B %d, %Y", "%m/%d/%Y", "%m-%d-%y", "%Y/%m/%d")


@pytest.mark.parametrize("form", SEVERAL)
@pytest.mark.parametrize("fitted", ["%m/%d/%Y", "%Y-%m-%d"])
def test_new_dates_may_be_written_in_another_way(fitted, form):
    reader = ColumnReader().fit(pandas.DataFrame({"x": TIMES.dt.strftime(fitted)}))
    expected = reader.transform(pandas.DataFrame({"x": TIMES.dt.strftime(fitted)}))
    found, strays = reader.read(pandas.DataFrame({"x": TIMES.dt.strftime(form)}))
    notes = stray_notes(strays)
    pandas.testing.assert_frame_equal(found, expected)
    same = fitted == form or (fitted[:2], form[:2]) == ("%Y", "%Y")  # ISO has several forms
    assert len(notes) == (not same)
    assert all(
        "are dates written as" in note and formats_in_words((fitted,)) in note for note in notes
    )


@pytest.mark.parametrize(
    ("fitted", "values", "words"),
    [
        (
            "%d/%m/%Y",
            ["soon"],
            "holds 'soon', which is not a date; dates of the training table are written as day/month/year. "
            "Write",
        ),
        ("%d/%m/%Y", ["la" * 9999], f"holds '{'la' * 20}…', which is not a date"),
        ("%d/%m/%Y", ["31/02/2021"], "holds '31/02/2021', which is not a date"),
        (
            "%d/%m/%Y",
            ["3/4/2021", "4/25/2021"],
            "holds '4/25/2021', but dates of the training table are written as day/month/year",
        ),
        (
            "%m/%d/%Y",
            ["25.4.2021"],
            "holds '25.4.2021', but dates of the training table are written as month/day/year",
        ),
        ("%m/%d/%Y", ["3.4.2021"], "holds '3.4.2021', which may be day/month or month/day"),
        ("%Y-%m-%d", ["3/4/2021"], "holds '3/4/2021', which may be day/month or month/day"),
        (
            "%Y-%m-%d",
            ["25/4/2021", "4/25/2021"],
            "holds '25/4/2021' and '4/25/2021', so the order of day and month varies",
        ),
    ],
)
def test_new_dates_that_are_none_or_unclear_are_refused(fitted, values, words):
    reader = ColumnReader().fit(pandas.DataFrame({"x": TIMES.dt.strftime(fitted)}))
    with pytest.raises(TableError, match=f"Column 'x' {re.escape(words)}.*e.g. 2021-04-25"):
        reader.transform(pandas.DataFrame({"x": values}))


def test_missing_dates_stay_missing_and_the_fitted_order_reads_doubtful_ones():
    reader = ColumnReader().fit(pandas.DataFrame({"x": TIMES.dt.strftime("%d/%m/%Y")}))
    found, notes = reader.read(pandas.DataFrame({"x": ["", "n/a", None, "3/4/2021"]}))
    np.testing.assert_array_equal(found["x"], [np.nan, np.nan, np.nan, 18720])  # April 3
    assert notes == {}


def test_texts_that_counted_as_missing_in_training_do_so_again():
    texts = [*TIMES.dt.strftime("%d/%m/%Y"), "tba"]
    reader = ColumnReader().fit(pandas.DataFrame({"x": texts}))
    assert "1 value(s) such as 'tba' are not dates, read as missing" in reader.reasons_["x"]
    assert np.isnan(reader.transform(pandas.DataFrame({"x": ["tba"]}))["x"][0])
    others = pandas.DataFrame({"x": ["never"]})
    with pytest.raises(TableError, match="'never', which is not a date"):
        reader.transform(others)
    assert np.isnan(reader.accept_strays(others).transform(others)["x"][0])
    with pytest.raises(TableError, match="the order of day and month is unclear"):
        reader.accept_strays(pandas.DataFrame({"x": ["4/25/2021"]}))


def test_days_and_months_that_change_places_are_left_out_and_doubtful_ones_are_said():
    mixed = np.where(np.arange(N) % 2, TIMES.dt.strftime("%d/%m/%Y"), TIMES.dt.strftime("%m/%d/%Y"))
    reader = ColumnReader().fit(pandas.DataFrame({"x": mixed, "other": np.arange(N) / 7}))
    assert re.fullmatch(
        "dates such as '.*' and '.*', so the order of day and month varies; write year-month-day",
        reader.left_out_["x"],
    )
    with pytest.raises(
        TableError, match=r"Column 'x' holds dates such as .* order of day and month varies"
    ):
        ColumnReader({"x": "date"}).fit(pandas.DataFrame({"x": mixed}))
    early = TIMES.map(lambda time: time.replace(day=1 + time.day % 12))
    reader.fit(pandas.DataFrame({"x": early.dt.strftime("%m/%d/%Y")}))
    assert reader.reasons_["x"].endswith("; the order month/day is assumed, no value shows it")


def test_one_clear_date_among_many_doubtful_ones_decides():
    doubtful = [
        f"{day}/{month}/{year}"
        for day in range(1, 13)
        for month in range(1, 13)
        for year in range(1900, 1950)
    ]
    assert date_formats(np.array([*doubtful, "13/5/1950"])) == ("%d/%m/%Y",)


# --- truth values, identifiers, text --------------------------------------------------------------


def test_words_for_true_and_false_are_two_levels_however_they_are_spelled():
    truth = np.random.default_rng(0).random(N) < 0.5
    frame, reason, role = read(messy.truths(truth, np.random.default_rng(1)))
    assert (role, reason) == ("category", "words for true and false")
    np.testing.assert_array_equal(frame["x"] == "Yes", truth)
    assert sorted(frame["x"].unique()) == ["No", "Yes"]
    assert read(["t", "n"] * 30)[1] == "categories, 2 levels"
    reader = ColumnReader().fit(
        pandas.DataFrame({"x": ["true", "false", None] * 20, "z": np.arange(60) % 7})
    )
    assert reader.transform(pandas.DataFrame({"x": [True, False], "z": 1}))["x"].tolist() == [
        "true",
        "false",
    ]


def test_identifiers_and_free_text_are_left_out_with_their_reasons():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(messy.identifiers(200, rng))
    frame["z"] = rng.normal(size=200)
    assert ColumnReader().fit(frame).left_out_ == {
        "customer_id": "an identifier by its name: every row has its own value",
        "row": "an identifier: whole numbers that count up",
        "token": "an identifier: every row has its own text",
        "remark": "free text, about 7 words a row, which the model does not read",
    }


def test_years_steps_and_shuffled_ranks_are_no_identifiers():
    counting = np.arange(N)
    assert read(1950 + counting)[2] == "number"
    assert read(counting, name="day")[2] == "number"
    assert read(np.random.default_rng(0).permutation(N))[2] == "number"
    assert read(np.repeat(counting, 2))[2] == "number"
    assert read(counting)[2] is None
    assert ColumnReader().fit(pandas.DataFrame({"x": counting})).roles_ == {
        "x": "number"
    }  # there is nothing else


@pytest.mark.parametrize("n_rows", [60, 200, 2000])
@pytest.mark.parametrize("written", [int, "{:,}".format, "c{}".format])
def test_a_named_identifier_is_no_quantity_however_many_rows_there_are(n_rows, written):
    """Of 60 rows nearly all values differ, of 2000 each comes often."""
    values = np.random.default_rng(0).integers(1000, 1300, size=n_rows)
    _, reason, role = read([written(value) for value in values], name="shop_id")
    assert (role, reason.split(",")[0]) == ("category", "an identifier by its name")


def test_large_identifiers_differ_as_integers():
    frame = pandas.DataFrame({"user_id": 2**60 + np.arange(50), "x": np.arange(50) / 7})
    assert "user_id" in ColumnReader().fit(frame).left_out_
    number = frame.rename(columns={"user_id": "size"}).assign(
        size=lambda f: f["size"] * (1 + np.arange(50) % 3)
    )
    made = ColumnReader({"size": "number"}).fit(number).transform(number)
    assert made["size"].nunique() == 50


def test_an_identifier_that_comes_again_is_a_category():
    frame, reason, role = read(np.tile([7, 11, 900], 20), name="store_id")
    assert (role, frame["store_id"].tolist()[:2]) == ("category", ["7", "11"])
    assert reason == "an identifier by its name, but values are repeated: categories"


def test_lists_are_left_out():
    assert read([[1, 2]] * N)[1] == "its values are lists or objects"


def test_a_second_column_of_a_name_is_used_unless_it_says_the_same():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(N, 3))
    frame = pandas.DataFrame(np.column_stack([values, values[:, 0]]), columns=["a", "a", "b", "a"])
    reader = ColumnReader().fit(frame)
    assert list(reader.roles_) == ["a", "a.1", "b"]
    assert reader.left_out_ == {"a.2": "the same values as column 'a'"}
    np.testing.assert_array_equal(reader.transform(frame), values)


# --- what is said overrules -----------------------------------------------------------------------


def test_roles_overrule():
    assert read([1, 2, 3] * 20, {"x": "category"})[2] == "category"
    assert read(["1", "2", "x"] * 20, {"x": "number"})[2] == "number"
    assert read(range(N), {"x": "number"})[1:] == ("as requested", "number")
    assert read([1.5, 2] * 30, {"x": "drop"})[1] == "as requested"
    assert read([1.5, 2] * 30, {"x": "identifier"})[1] == "an identifier, as requested"
    frame = read([2001, 2002, 2003] * 20, {"x": "date"})[0]
    np.testing.assert_allclose(frame["x"][:3].diff()[1:], 365)


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"y": "drop"}, "The table has no column 'y' to drop"),
        ({"othr": "number"}, "did you mean 'other'"),
        ({"x": "text"}, "The role of column 'x' is 'text', but must be 'number', 'date'"),
        ({"x": "number"}, "cannot be read as a number: it holds values such as 'a'"),
        ({"x": "date"}, "cannot be read as a date: it holds values such as 'a'"),
    ],
)
def test_roles_that_make_no_sense_are_refused(roles, message):
    with pytest.raises(TableError, match=message):
        read(["a", "b"] * 30, roles)


# --- the same again -------------------------------------------------------------------------------


def test_one_row_is_read_as_in_its_table():
    """Whatever was decided for all rows is repeated for one, whose values alone would not tell."""
    rng = np.random.default_rng(0)
    values = np.round(rng.uniform(0, 3000, N), 3)
    frame = pandas.DataFrame(
        {
            "german": messy.german(values),
            "money": messy.money(values),
            "day": TIMES.dt.strftime("%d/%m/%Y"),
            "truth": messy.truths(values > 1000, rng),
            "city": rng.choice(["Rome", "Oslo", "Bonn"], N),
            "size": values,
        }
    )
    reader = ColumnReader().fit(frame)
    whole = reader.transform(frame)
    for k in range(0, N, 7):
        one = reader.transform(frame.iloc[[k]])
        pandas.testing.assert_frame_equal(one, whole.iloc[[k]])


def test_a_file_with_another_decimal_mark_says_the_same():
    frame = pandas.DataFrame(
        {"x": ["1,234", "2,345", "0.5"] * 20, "y": ["0,5", "1,25", "3,125"] * 20}
    )
    reader = ColumnReader().fit(frame)
    german = pandas.DataFrame({"x": ["1.234", "2.345", "0,5"], "y": ["0,5", "1,25", "3,125"]})
    german.attrs["decimal"] = ","
    np.testing.assert_array_equal(
        reader.transform(german), [[1234, 0.5], [2345, 1.25], [0.5, 3.125]]
    )


def test_numbers_where_dates_were_and_the_other_way_round():
    numbers = ColumnReader().fit(pandas.DataFrame({"x": np.arange(N) / 7}))
    with pytest.raises(TableError, match="held numbers in the training table, but now holds dates"):
        numbers.transform(pandas.DataFrame({"x": TIMES}))
    with_dates = ColumnReader().fit(pandas.DataFrame({"x": TIMES.dt.strftime("%d.%m.%Y")}))
    with pytest.raises(TableError, match=r"holds '1\.5', which is not a date"):
        with_dates.read(pandas.DataFrame({"x": [1.5]}))


def test_columns_of_numbers_pass_unchanged():
    frame = load_breast_cancer(as_frame=True).data
    reader = ColumnReader().fit(frame)
    pandas.testing.assert_frame_equal(reader.transform(frame), frame, check_dtype=False)
    assert reader.get_feature_names_out().tolist() == list(frame.columns)
    holes = messy.with_holes(frame, np.random.default_rng(0))
    pandas.testing.assert_frame_equal(ColumnReader().fit_transform(holes), holes)
