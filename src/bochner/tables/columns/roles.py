"""How a person would read a column, with the reason: numbers, dates, categories, or nothing to
learn from.
"""

import re
from typing import Any

import numpy as np

from ..._terminal.text import quoted
from ...data.columns import column_kind, exact_values, float_column, integer_origin, is_text
from ...data.inputs import TableInputs
from ..read.reading import TableError
from .column_kinds import (
    UNIX_UNITS,
    CategoryColumn,
    DateColumn,
    NumberColumn,
    coded_texts,
    is_dates,
    is_nested,
    lost,
    telling,
    times_of,
    truth_spellings,
)
from .written_dates import (
    ISO,
    date_formats,
    day_month_orders,
    formats_in_words,
    order_of,
    varying_parts,
)
from .written_numbers import decimal_of, signs_of

Kind = NumberColumn | DateColumn | CategoryColumn

# Beyond these the front door has no column for each level.
MANY_LEVELS = TableInputs().max_levels
# What a column may be said to be.
WISHES = ("number", "date", "category", "identifier", "drop")
COUNTING_UP = "an identifier: whole numbers that count up"

_MOSTLY = 0.95  # of the values must be numbers or dates
_MOSTLY_DISTINCT = (
    0.5  # a text column where more of the values than this differ is an identifier or free text
)
_FEW = 20
_WORDS_OF_TEXT = 4
_SAMPLE = 1000
_IDENTIFIER = re.compile(
    r"(?i:(?:^|[\s_.:-])(?:id|uuid|guid)$|^(?:row_?names|index|unnamed: 0)$)|(?<=[a-z])(?:ID|Id|UUID|Uuid)$"
)
_TIMES = re.compile(
    r"(?:year|month|week|day|date|time|hour|minute|second|step|period|age|jahr|tag)s?$",
    re.IGNORECASE,
)


def decided(column: Any, name: str, wish: str | None, decimal: str) -> tuple[Kind | None, str]:
    """(how to read the column, None to leave it out; why)."""
    if wish in ("drop", "identifier"):
        return None, "as asked" if wish == "drop" else "an identifier, as asked"
    if is_nested(column):
        return None, "its values are lists or objects of their own"
    if wish is None:
        useless = _useless(column)
        return (None, useless) if useless else _found(column, name, decimal)
    kind = _asked(column, name, wish, decimal)
    return kind, "as asked"


def _useless(column):
    codes, _ = coded_texts(column) if is_text(column) else (np.where(column.isna(), -1, 0), [])
    if np.all(codes < 0):
        return "every value is missing"
    same = (
        len(np.unique(codes)) == 1
        if is_text(column)
        else not column.isna().any() and column.min() == column.max()
    )
    return "every row has the same value" if same else None


def _asked(column, name, wish, decimal):
    if wish == "category":
        return CategoryColumn(_levels(*coded_texts(column)))
    if wish == "number":
        decimal = (
            decimal_of(coded_texts(column)[1][:_SAMPLE], decimal) if is_text(column) else decimal
        )
        kind: Kind = NumberColumn(decimal)
        read = kind.read(column, name)[0][name]
        known = np.isfinite(read)
    else:
        formats = _formats_of_numbers(column, name) if column_kind(column) == "numbers" else (ISO,)
        if is_text(column):
            texts = np.array(coded_texts(column)[1], dtype=object)
            formats = date_formats(texts, decimal)
            exchanged = _exchanged(texts, formats)
            if exchanged:
                raise TableError(f"Column {name!r} holds {exchanged}.")
        times, unread = times_of(column, formats, name)
        kind = DateColumn(tuple(formats), varying_parts(times), tuple(unread.distinct()))
        known = times.notna().to_numpy()
    if not known.any():
        example = next(
            (f"it holds values such as {str(value)!r}" for value in column.dropna()),
            "every value is missing",
        )
        raise TableError(f"Column {name!r} cannot be read as a {wish}: {example}.")
    return kind


def _found(column, name, decimal):
    if is_dates(column):
        return _dates(column, (ISO,), name, "dates")
    if not is_text(column):
        return _numbers(column, name, decimal)
    codes, texts = coded_texts(column)
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))
    if str(column.dtype) == "category":
        return _category(codes, texts, counts, name)
    spellings = truth_spellings(texts, counts)
    if spellings:
        return CategoryColumn(tuple(sorted(spellings)), spellings), "words for true and false"
    tells = telling(texts)
    if tells.any():
        told = [text for text, yes in zip(texts, tells) if yes]
        kind = NumberColumn(decimal_of(told[:_SAMPLE], decimal))
        numbers = kind.numbers(texts)
        known = np.isfinite(numbers) & tells
        share = counts[known].sum() / counts[tells].sum()
        if share >= _MOSTLY or (share >= 0.5 and known.sum() > _FEW):
            return _written_numbers(kind, codes, texts, numbers, known, name)
        formats = date_formats(np.array(told, dtype=object), decimal)
        if formats:
            return _written_dates(column, told, formats, name)
    return _category(codes, texts, counts, name)


def _numbers(column, name, decimal):
    if column_kind(column) == "numbers" and str(column.dtype).lower() not in ("bool", "boolean"):
        # Large integers are told apart by their distances to the smallest one.
        values = float_column(column, name, integer_origin(exact_values(column)))
        values = values[np.isfinite(values)]
        if len(values) and np.all(values % 1 == 0):
            found = _whole_numbers(column, values, name)
            if found:
                return found
    return NumberColumn(decimal), "numbers"


def _whole_numbers(column, values, name):
    """Return the kind of identifiers and dates that look like numbers, None for others."""
    if is_named_identifier(name) and len(values) > 1:
        return _named_identifier(*coded_texts(column))
    n_distinct = len(np.unique(values))
    if "%Y%m%d" in _formats_of_numbers(column, name) and n_distinct > 2:
        return _dates(column, ("%Y%m%d",), name, "dates written as yearmonthday")
    dense = len(values) == len(column) >= _FEW and len(values) > (values[-1] - values[0] + 1) / 2
    if dense and np.all(np.diff(values) > 0) and not (_TIMES.search(name) or _years(values)):
        return None, COUNTING_UP
    return None


def _named_identifier(codes, texts):
    """Leave out a column whose name says that it holds identifiers if all values differ, else read
    categories.

    Such a column is never a quantity, however many rows there are.
    """
    present = codes[codes >= 0]
    if len(np.unique(present)) == len(present):
        return None, "an identifier by its name: every row has its own value"
    return CategoryColumn(
        _levels(codes, texts)
    ), "an identifier by its name, but values come again: categories"


def _years(values):
    return bool(np.all((values >= 1500) & (values <= 2200)))


def _formats_of_numbers(column, name):
    """What numbers say as dates: 20210425, 2021, or seconds or milliseconds since 1970; nothing for
    others.
    """
    values = float_column(column, name)
    values = values[np.isfinite(values)]
    if len(values) == 0 or values.min() < 0:
        return ()
    low, high = values.min(), values.max()
    if low >= 19000101 and high <= 21001231 and np.all(values % 1 == 0):
        months, days = values // 100 % 100, values % 100
        if np.all((months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)):
            return ("%Y%m%d",)
    if _years(values) and np.all(values % 1 == 0):
        return ("%Y",)
    seconds, milliseconds = UNIX_UNITS
    return (seconds,) if 1e8 <= high < 1e10 else (milliseconds,) if 1e11 <= high < 1e13 else ()


def _written_numbers(kind, codes, texts, numbers, known, name):
    signs = signs_of([text for text, yes in zip(texts, known) if yes][:_SAMPLE], kind.decimal)
    note = lost(codes, texts, known, "numbers")
    if is_named_identifier(name) and np.all(numbers[known] % 1 == 0):
        return _named_identifier(codes, texts)
    return kind, _and(f"numbers written {signs}" if signs else "numbers", note)


def _and(reason, note):
    return reason if note is None else f"{reason}; {note}"


def _written_dates(column, texts, formats, name):
    exchanged = _exchanged(texts, formats)
    if exchanged:
        return None, exchanged
    what = f"dates written as {formats_in_words(formats)}"
    unclear = (
        any("/" in form or "-" in form for form in formats)
        and order_of(formats)
        and not day_month_orders(texts)
    )
    kind, reason = _dates(column, formats, name, what)
    return (
        kind,
        f"{reason}; no value shows whether {order_of(formats)} is the right order"
        if unclear
        else reason,
    )


def _exchanged(texts, formats):
    """Return a reason not to read dates that need different orders of day and month, None for
    others.
    """
    orders = day_month_orders(texts) if order_of(formats) else {}
    if len(orders) < 2:
        return None
    first, second = orders.values()
    return f"dates such as {quoted(first)} and {quoted(second)}, so day and month change places; write year-month-day"


def _dates(column, formats, name, what):
    times, unread = times_of(column, formats, name)
    parts = varying_parts(times)
    circles = f", {' and '.join(parts)} as circles" if parts else ""
    kind = DateColumn(tuple(formats), parts, tuple(unread.distinct()))
    return kind, _and(
        f"{what}: the trend in days{circles}", unread.note("are no dates and count as missing")
    )


def _category(codes, texts, counts, name):
    n_rows, n_distinct = int(counts.sum()), int(np.sum(counts > 0))
    if is_named_identifier(name) and n_rows > 1:
        return _named_identifier(codes, texts)
    if n_distinct > max(_FEW, _MOSTLY_DISTINCT * n_rows):
        present = [text for text, count in zip(texts, counts) if count]
        n_words = np.mean([len(text.split()) for text in present[:_SAMPLE]])
        if n_words >= _WORDS_OF_TEXT:
            return (
                None,
                f"free text, about {n_words:.0f} words a row, which the model does not read",
            )
        all_differ = n_distinct == n_rows
        return (
            None,
            "an identifier: every row has its own text"
            if all_differ
            else "nearly every row has its own text",
        )
    return CategoryColumn(
        _levels(codes, texts)
    ), f"categories, {n_distinct} level{'s' * (n_distinct > 1)}"


def _levels(codes, texts):
    return tuple(sorted({texts[code] for code in np.unique(codes) if code >= 0}))


def is_named_identifier(name: str) -> bool:
    """Whether a column's name says that it holds identifiers.

    >>> [is_named_identifier(name) for name in ("id", "customer_id", "customerID", "uuid", "paid", "humid", "ID")]
    [True, True, True, True, False, False, True]
    """
    return _IDENTIFIER.search(name) is not None
