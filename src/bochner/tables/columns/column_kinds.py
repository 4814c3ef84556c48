"""What one column of a table holds: numbers, dates or categories, and how each is read again from
another file.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._terminal.text import quoted
from ...data.columns import column_kind, exact_values, float_column, integer_origin, is_text
from ..read.reading import TableError, needed
from .written_dates import checked_order, date_columns, formats_in_words, other_formats, parsed
from .written_numbers import number_of, numbers_of

# What stands for a missing value in columns of numbers and dates.
MISSING_MARKS = frozenset(
    [
        "?",
        "-",
        "--",
        "–",
        ".",
        "n/a",
        "na",
        "n.a.",
        "nan",
        "none",
        "null",
        "nil",
        "missing",
        "unknown",
        "not available",
        "#n/a",
    ]
    + ["#value!", "#div/0!", "#ref!", "inf", "-inf"]
)
TRUTH_PAIRS = (("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("off", "on"), ("0", "1"))
_FALSE_WORDS, _TRUE_WORDS = map(frozenset, zip(*TRUTH_PAIRS))
# Numbers that count time from 1970, and how many of them a day has.
UNIX_UNITS = {"seconds since 1970": "s", "milliseconds since 1970": "ms"}


def coded_texts(column: Any) -> tuple[np.ndarray, list[str]]:
    """The values of a column as texts: a code for each row (−1: missing or blank) and the text of
    each code.
    """
    pandas = needed("pandas")
    if str(column.dtype) == "category":
        codes, values = np.asarray(column.cat.codes), column.cat.categories
    else:
        try:
            codes, values = pandas.factorize(whole(column))
        except TypeError:
            raise TableError(
                f"Column {column.name!r} holds lists or objects of their own; write one number or "
                "text in each row."
            ) from None
    texts = [str(value).strip() for value in values]
    # The last entry is for the code −1.
    renumbered = np.array(
        [code if text else -1 for code, text in enumerate(texts)] + [-1], dtype=np.intp
    )
    return renumbered[codes], texts


def whole(column: Any) -> Any:
    """Floats that all are whole numbers, as a hole in a column of integers makes them, as integers
    again.
    """
    is_whole = needed("pandas").api.types.is_float_dtype(column) and np.all(
        column.dropna() % 1 == 0
    )
    return (
        column.astype("Int64") if is_whole and np.all(np.abs(column.dropna()) < 2**53) else column
    )


def is_nested(column: Any) -> bool:
    """Whether values are lists or objects of their own, as JSON and Parquet may hold."""
    return str(column.dtype) == "object" and any(
        isinstance(value, list | dict | set | np.ndarray) for value in column
    )


def is_dates(column: Any) -> bool:
    """Whether the type of a column is one of dates or times, NumPy's or Arrow's."""
    return str(column.dtype).startswith(("date", "timestamp"))


def telling(texts: list[str]) -> np.ndarray:
    """Of each text whether it is more than a blank or a word for a missing value."""
    return np.array(
        [text != "" and text.casefold() not in MISSING_MARKS for text in texts], dtype=bool
    )


@dataclass(frozen=True)
class Strays:
    """So many values of a column, such as the first of them, are not what it holds; of pieces of a
    table they add up.
    """

    n_values: int
    example: str
    what: str

    def __str__(self) -> str:
        return f"{self.n_values} value(s) such as {quoted(self.example)} {self.what}"

    def __add__(self, other: "Strays") -> "Strays":
        return replace(self, n_values=self.n_values + other.n_values)


def strays(codes: np.ndarray, texts: list[str], strange: np.ndarray, what: str) -> Strays | None:
    """The rows that have one of the ``strange`` texts; None where there are none."""
    rows = np.flatnonzero(np.append(strange, False)[codes])
    return Strays(len(rows), texts[codes[rows[0]]], what) if len(rows) else None


def lost(codes: np.ndarray, texts: list[str], known: np.ndarray, what: str) -> Strays | None:
    """Texts that are not what the column holds and stand for more than a missing value."""
    return strays(codes, texts, ~known & telling(texts), f"are no {what} and count as missing")


def _spread(values: np.ndarray, codes: np.ndarray, missing: Any = np.nan) -> np.ndarray:
    """The value of each row from that of each code."""
    return np.append(values, missing)[codes]


@dataclass(frozen=True)
class NumberColumn:
    """Numbers, truth values or spans of time; texts are read with this decimal mark."""

    decimal: str
    role = "number"

    def read(self, column: Any, name: str) -> tuple[dict[str, Any], Strays | None]:
        """(the column as floats, a note on values that are no numbers)."""
        if not is_text(column):
            if is_dates(column):
                raise TableError(
                    f"Column {name!r} held numbers while fitting, but now holds dates such as "
                    f"{column.iloc[0]}."
                )
            values = exact_values(column)
            # Integers that floats cannot tell apart stay integers.
            return {name: values if integer_origin(values) else float_column(column, name)}, None
        codes, texts = coded_texts(column)
        numbers = self.numbers(texts)
        return {name: _spread(numbers, codes)}, lost(codes, texts, np.isfinite(numbers), "numbers")

    def numbers(self, texts: list[str]) -> np.ndarray:
        """Truth values that pandas gives beside missing ones are texts too."""
        truth = {"True": 1.0, "False": 0.0}
        numbers = numbers_of(texts, self.decimal)
        return np.array(
            [truth.get(text, number) for text, number in zip(texts, numbers)], dtype=np.float64
        )


@dataclass(frozen=True)
class Unread:
    """Texts of a column that no format reads and that stand for more than a missing value."""

    codes: np.ndarray
    texts: list[str]
    strange: np.ndarray

    def distinct(self) -> list[str]:
        """Return each of these texts once."""
        return [text for text, strange in zip(self.texts, self.strange) if strange]

    def note(self, what: str) -> Strays | None:
        """Return how many rows have one of these texts, None if there is no such row."""
        return strays(self.codes, self.texts, self.strange, what)


@dataclass(frozen=True)
class DateColumn:
    """Dates or times in these formats; ``parts`` of them are circles beside the trend.

    Texts in ``missing`` are no dates and counted as missing in the training table; others are
    refused.
    """

    formats: tuple[str, ...]
    parts: tuple[str, ...]
    missing: tuple[str, ...] = ()
    role = "date"

    def read(self, column: Any, name: str) -> tuple[dict[str, Any], Strays | None]:
        """Return columns of floats, and a note on dates that are written otherwise than in the
        training table.
        """
        formats = tuple(self.formats)
        times, unread = times_of(column, formats, name)
        new = [text for text in unread.distinct() if text not in self.missing]
        note = None
        if new:
            others = other_formats(new, formats, name)
            times, rest = times_of(column, formats + others, name)
            what = f"are dates as {formats_in_words(others)}; the training table has {formats_in_words(formats)}"
            note = replace(unread, strange=unread.strange & ~rest.strange).note(what)
        return date_columns(times, name, tuple(self.parts)), note

    def with_missing(self, column: Any, name: str) -> "DateColumn":
        """Return the same kind, for which the texts of this column that are no dates count as
        missing.
        """
        new = times_of(column, tuple(self.formats), name)[1].distinct()
        checked_order(new, tuple(self.formats), name)
        return replace(self, missing=tuple(dict.fromkeys([*self.missing, *new])))


def times_of(column: Any, formats: tuple[str, ...], name: str) -> tuple[Any, Unread]:
    """Return a pandas series of times of the local clock, and the texts that no format reads."""
    pandas = needed("pandas")
    nothing = Unread(np.empty(0, dtype=np.intp), [], np.empty(0, dtype=bool))
    if is_dates(column):
        if not str(column.dtype).startswith("datetime"):
            column = pandas.to_datetime(column.astype(object))
        zone_free = column.dt.tz_localize(None) if column.dt.tz is not None else column
        return zone_free.astype("datetime64[us]").reset_index(drop=True), nothing
    unit = UNIX_UNITS.get(formats[0]) if formats else None
    if unit and column_kind(column) == "numbers":
        numbers = pandas.Series(float_column(column, name))
        times = pandas.to_datetime(numbers, unit=unit, errors="coerce").astype("datetime64[us]")
        outside = numbers[numbers.notna() & times.isna()]
        if len(outside):
            raise TableError(
                f"Column {name!r} holds {outside.iloc[0]:g}, which is not a time in {formats[0]}."
            )
        return times, nothing
    codes, texts = coded_texts(column)
    if unit:
        known = pandas.to_datetime(
            pandas.Series([number_of(text) for text in texts]), unit=unit, errors="coerce"
        )
        known = known.astype("datetime64[us]").fillna(parsed(texts, formats[1:]))
    else:
        known = parsed(texts, formats)
    known = known.to_numpy(dtype="datetime64[us]")
    times = pandas.Series(_spread(known, codes, np.datetime64("NaT", "us")))
    return times, Unread(codes, texts, np.isnat(known) & telling(texts))


@dataclass(frozen=True)
class CategoryColumn:
    """Categories of texts; ``spellings`` are what words for true and false are written as."""

    levels: tuple[str, ...]
    spellings: tuple[str, ...] = ()
    role = "category"

    def read(self, column: Any, name: str) -> tuple[dict[str, Any], Strays | None]:
        """Return the column as pandas categories; declared categories stay as they are.

        Unknown levels are categories too: the model itself names them.
        """
        codes, texts = self.coded(column)
        if str(column.dtype) == "category":
            return {name: column.reset_index(drop=True)}, None
        levels = list(dict.fromkeys([*self.levels, *(text for text in texts if text)]))
        place = {level: k for k, level in enumerate(levels)}
        numbers = _spread(
            np.array([place.get(text, -1) for text in texts], dtype=np.intp), codes, -1
        )
        return {name: needed("pandas").Categorical.from_codes(numbers, levels)}, None

    def coded(self, column: Any) -> tuple[np.ndarray, list[str]]:
        """As ``coded_texts``, words for true and false in their one spelling."""
        codes, texts = coded_texts(column)
        if self.spellings:
            texts = [_spelled(text, tuple(self.spellings)) for text in texts]
        return codes, texts


def _spelled(text: str, spellings: tuple[str, ...]) -> str:
    false, true = spellings
    word = text.casefold()
    return false if word in _FALSE_WORDS else true if word in _TRUE_WORDS else text


def truth_spellings(texts: list[str], counts: np.ndarray) -> tuple[str, ...]:
    """The most frequent words for false and for true where all texts are such words, else nothing."""
    texts, counts = [text for text in texts if text], counts[[text != "" for text in texts]]
    words = {text.casefold() for text in texts}
    if not words <= _FALSE_WORDS | _TRUE_WORDS or not (
        words & _FALSE_WORDS and words & _TRUE_WORDS
    ):
        return ()
    if (
        len(words) == 2
        and tuple(sorted(words, key=lambda word: word in _TRUE_WORDS)) not in TRUTH_PAIRS
    ):
        return ()  # such as "t" beside "n"
    by_count = [texts[k] for k in np.argsort(-counts, kind="stable")]
    return tuple(
        next(text for text in by_count if text.casefold() in side)
        for side in (_FALSE_WORDS, _TRUE_WORDS)
    )
