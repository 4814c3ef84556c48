"""Cells of one column: numbers, words for missing values, and words that are neither."""

import numpy as np
import pytest

from bochner.tables.columns.column_kinds import DateColumn, NumberColumn

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize("word", ["n/a", "N/A", "NULL", "Missing", "?", ""])
def test_words_for_missing_values_are_no_strays_in_any_case(word):
    columns, note = NumberColumn(".").read(pd.Series(["1", word, "2.5"]), "x")
    np.testing.assert_array_equal(columns["x"], [1, np.nan, 2.5])
    assert note is None
    days = pd.Series(["1.4.2021", word, "2.4.2021"])
    columns, note = DateColumn(("%d.%m.%Y",), ()).read(days, "day")
    assert np.isnan(columns["day"]).tolist() == [False, True, False]
    assert columns["day"][2] - columns["day"][0] == 1
    assert note is None


def test_other_words_among_numbers_are_counted():
    columns, note = NumberColumn(".").read(pd.Series(["1", "soon", "soon", "2"]), "x")
    np.testing.assert_array_equal(columns["x"], [1, np.nan, np.nan, 2])
    assert str(note) == "2 value(s) such as 'soon' are not numbers, read as missing"
