"""Kinds of columns: numbers, dates and categories. Each reads the same column of other tables."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._terminal.text import quoted
from ...data.columns import (
    EXACT_INTEGERS,
    column_kind,
    exact_values,
    float_column,
    integer_origin,
    is_text,
)
from ..errors import TableError, needed
from .written_dates import checked_order, date_columns, formats_in_words, other_formats, parsed
from .written_numbers import number_of, numbers_of

# Texts that stand for a missing value in columns of numbers and dates.
MISSING_MARKS = frozenset({
    *("?", "-", "--", "–", ".", "n/a", "na", "n.a.", "nan", "none", "null", "nil", "missing"),
    *("unknown", "not available", "#n/a", "#value!", "#div/0!", "#ref!", "inf", "-inf"),
})  # fmt: skip
TRUTH_PAIRS = (("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("off", "on"), ("0", "1"))
_FALSE_WORDS, _TRUE_WORDS = map(frozenset, zip(*TRUTH_PAIRS))
# Units of numbers that count time from 1970.
UNIX_UNITS = {"seconds since 1970": "s", "milliseconds since 1970": "ms"}


def coded_texts(column: Any) -> tuple[np.ndarray, list[str]]:
    """Return a code for each row (−1: missing or blank), and the text of each code."""
    if is_category(column):
        codes, values = np.asarray(column.cat.codes), column.cat.categories
    else:
        try:
            codes, values = needed("pandas").factorize(whole(column))
        except TypeError:
            raise TableError(
                f"Column {column.name!r} holds lists or objects; write one number or text in each "
                "row."
            ) from None
    texts = [str(value).strip() for value in values]
    # The last entry is for the code −1.
    renumbered = [code if text else -1 for code, text in enumerate(texts)] + [-1]
    return np.array(renumbered, dtype=np.intp)[codes], texts


def whole(column: Any) -> Any:
    """Convert floats that are all whole numbers to integers that may be missing."""
    if not needed("pandas").api.types.is_float_dtype(column):
        return column
    present = column.dropna()
    is_whole = np.all(present % 1 == 0) and np.all(np.abs(present) < EXACT_INTEGERS)
    return column.astype("Int64") if is_whole else column


def is_category(column: Any) -> bool:
    """Return True for a categorical column of pandas."""
    return str(column.dtype) == "category"


def is_nested(column: Any) -> bool:
    """Return True if values are lists or objects, as JSON and Parquet may hold."""
    return str(column.dtype) == "object" and any(
        isinstance(value, list | dict | set | np.ndarray) for value in column
    )


def is_dates(column: Any) -> bool:
    """Return True if the type of a column is one of dates or times, of NumPy or Arrow."""
    return str(column.dtype).startswith(("date", "timestamp"))


def is_value(texts: list[str]) -> np.ndarray:
    """Return False for texts that are blank or stand for a missing value."""
    return np.array(
        [text != "" and text.casefold() not in MISSING_MARKS for text in texts], dtype=bool
    )


@dataclass(frozen=True)
class Strays:
    """Values of a column that are not of its kind: their number, the first one, and their fate."""

    n_values: int
    example: str
    what: str

    def __str__(self) -> str:
        return f"{self.n_values} value(s) such as {quoted(self.example)} {self.what}"

    def __add__(self, other: "Strays") -> "Strays":
        return replace(self, n_values=self.n_values + other.n_values)


@dataclass(frozen=True)
class Unread:
    """Texts of a column; ``strange`` marks values that are not of the kind of the column."""

    codes: np.ndarray
    texts: list[str]
    strange: np.ndarray

    def distinct(self) -> list[str]:
        """Return each strange text once."""
        return [text for text, strange in zip(self.texts, self.strange) if strange]

    def note(self, what: str) -> Strays | None:
        """Count the rows with a strange text; None if there are none."""
        rows = np.flatnonzero(np.append(self.strange, False)[self.codes])
        return Strays(len(rows), self.texts[self.codes[rows[0]]], what) if len(rows) else None


def missing_note(codes: np.ndarray, texts: list[str], known: np.ndarray) -> Strays | None:
    """Count texts that are not numbers and do not stand for a missing value."""
    return Unread(codes, texts, ~known & is_value(texts)).note("are not numbers, read as missing")


def _spread(values: np.ndarray, codes: np.ndarray, missing: Any = np.nan) -> np.ndarray:
    """Return the value of each row from the value of each code."""
    return np.append(values, missing)[codes]


@dataclass(frozen=True)
class NumberColumn:
    """Numbers, truth values or spans of time; texts are read with this decimal mark."""

    decimal: str
    role = "number"

    def read(self, column: Any, name: str) -> tuple[dict[str, Any], Strays | None]:
        """Return the column as floats, and a note on values that are not numbers."""
        if not is_text(column):
            if is_dates(column):
                raise TableError(
                    f"Column {name!r} held numbers in the training table, but now holds dates such "
                    f"as {column.iloc[0]}."
                )
            values = exact_values(column)
            # Integers that floats cannot distinguish stay integers.
            return {name: values if integer_origin(values) else float_column(column, name)}, None
        codes, texts = coded_texts(column)
        numbers = self.numbers(texts)
        return {name: _spread(numbers, codes)}, missing_note(codes, texts, np.isfinite(numbers))

    def numbers(self, texts: list[str]) -> np.ndarray:
        """Return numbers; pandas has texts for truth values if others are missing."""
        truth = {"True": 1.0, "False": 0.0}
        numbers = numbers_of(texts, self.decimal)
        return np.array(
            [truth.get(text, number) for text, number in zip(texts, numbers)], dtype=np.float64
        )


@dataclass(frozen=True)
class DateColumn:
    """Dates or times in these formats; ``parts`` of them become sine and cosine.

    Texts in ``missing`` were read as missing in the training table; other texts that are not dates
    raise an error.
    """

    formats: tuple[str, ...]
    parts: tuple[str, ...]
    missing: tuple[str, ...] = ()
    role = "date"

    def read(self, column: Any, name: str) -> tuple[dict[str, Any], Strays | None]:
        """Return columns of floats, and a note on dates in other formats than in training."""
        formats = tuple(self.formats)
        times, unread = times_of(column, formats, name)
        new = [text for text in unread.distinct() if text not in self.missing]
        note = None
        if new:
            others = other_formats(new, formats, name)
            times, rest = times_of(column, formats + others, name)
            what = f"are dates written as {formats_in_words(others)}; in the training table, as "
            changed = replace(unread, strange=unread.strange & ~rest.strange)
            note = changed.note(what + formats_in_words(formats))
        return date_columns(times, name, tuple(self.parts)), note

    def with_missing(self, column: Any, name: str) -> "DateColumn":
        """Return the same kind; texts of this column that are not dates are read as missing."""
        new = times_of(column, tuple(self.formats), name)[1].distinct()
        checked_order(new, tuple(self.formats), name)
        return replace(self, missing=tuple(dict.fromkeys([*self.missing, *new])))


def times_of(column: Any, formats: tuple[str, ...], name: str) -> tuple[Any, Unread]:
    """Return a pandas series of local times, and the texts that no format reads."""
    pandas = needed("pandas")
    nothing = Unread(np.empty(0, dtype=np.intp), [], np.empty(0, dtype=bool))
    if is_dates(column):
        if not str(column.dtype).startswith("datetime"):
            column = pandas.to_datetime(column.astype(object))
        local = column.dt.tz_localize(None) if column.dt.tz is not None else column
        return local.astype("datetime64[us]").reset_index(drop=True), nothing
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
        numbers = pandas.Series([number_of(text) for text in texts])
        read = pandas.to_datetime(numbers, unit=unit, errors="coerce")
        read = read.astype("datetime64[us]").fillna(parsed(texts, formats[1:]))
    else:
        read = parsed(texts, formats)
    read = read.to_numpy(dtype="datetime64[us]")
    times = pandas.Series(_spread(read, codes, np.datetime64("NaT", "us")))
    return times, Unread(codes, texts, np.isnat(read) & is_value(texts))


@dataclass(frozen=True)
class CategoryColumn:
    """Categories of texts; ``spellings`` are its words for false and true, if it has no others."""

    levels: tuple[str, ...]
    spellings: tuple[str, ...] = ()
    role = "category"

    def read(self, column: Any, name: str) -> tuple[dict[str, Any], Strays | None]:
        """Return the column as pandas categories; declared categories stay as they are.

        New levels become categories too: the model reports them.
        """
        if is_category(column):
            return {name: column.reset_index(drop=True)}, None
        codes, texts = coded_texts(column)
        if self.spellings:
            texts = [_spelled(text, tuple(self.spellings)) for text in texts]
        levels = list(dict.fromkeys([*self.levels, *(text for text in texts if text)]))
        place = {level: k for k, level in enumerate(levels)}
        places = np.array([place.get(text, -1) for text in texts], dtype=np.intp)
        values = needed("pandas").Categorical.from_codes(_spread(places, codes, -1), levels)
        return {name: values}, None


def _spelled(text: str, spellings: tuple[str, ...]) -> str:
    false, true = spellings
    word = text.casefold()
    return false if word in _FALSE_WORDS else true if word in _TRUE_WORDS else text


def truth_spellings(texts: list[str], counts: np.ndarray) -> tuple[str, ...]:
    """Return the most frequent words for false and true, or () if there are other texts."""
    texts, counts = [text for text in texts if text], counts[[text != "" for text in texts]]
    words = {text.casefold() for text in texts}
    if not words <= _FALSE_WORDS | _TRUE_WORDS or words <= _FALSE_WORDS or words <= _TRUE_WORDS:
        return ()
    if len(words) == 2 and tuple(sorted(words, key=_TRUE_WORDS.__contains__)) not in TRUTH_PAIRS:
        return ()  # such as "t" beside "n"
    by_count = [texts[k] for k in np.argsort(-counts, kind="stable")]
    return tuple(
        next(text for text in by_count if text.casefold() in side)
        for side in (_FALSE_WORDS, _TRUE_WORDS)
    )
