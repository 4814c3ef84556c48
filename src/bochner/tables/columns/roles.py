"""Decide how a column is read, with the reason: numbers, dates, categories, or left out."""

import re
from typing import Any

import numpy as np

from ..._terminal.text import quoted
from ...data.columns import column_kind, exact_values, float_column, integer_origin, is_text
from ..errors import TableError
from .column_kinds import (
    UNIX_UNITS,
    CategoryColumn,
    DateColumn,
    NumberColumn,
    coded_texts,
    is_category,
    is_dates,
    is_nested,
    is_value,
    missing_note,
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
from .written_numbers import decimal_of, notation_of

Kind = NumberColumn | DateColumn | CategoryColumn

# Roles that a user may give to a column.
ROLES = ("number", "date", "category", "identifier", "drop")
COUNTING_UP = "an identifier: whole numbers that count up"

# Share of the values that must be numbers.
_MOSTLY = 0.95
# Texts of which a larger share differ are identifiers or free text.
_MOSTLY_DISTINCT = 0.5
# Up to this many texts are categories in any case, and fewer rows are not identifiers.
_FEW = 20
# Mean number of words from which texts are sentences, and texts by which this is decided.
_WORDS_OF_TEXT = 4
_SAMPLE = 1000
_IDENTIFIER = re.compile(
    r"(?i:(?:^|[\s_.:-])(?:id|uuid|guid)$|^(?:row_?names|index|unnamed: 0)$)"
    r"|(?<=[a-z])(?:ID|Id|UUID|Uuid)$"
)
# Names of columns that may count up without being identifiers.
_TIMES = re.compile(
    r"(?:year|month|week|day|date|time|hour|minute|second|step|period|age|jahr|tag)s?$",
    re.IGNORECASE,
)


def decide_kind(column: Any, name: str, role: str | None, decimal: str) -> tuple[Kind | None, str]:
    """Return the kind of a column, None to leave it out, and the reason.

    ``role`` is the one that the user gave, or None.
    """
    if role in ("drop", "identifier"):
        return None, "as requested" if role == "drop" else "an identifier, as requested"
    if is_nested(column):
        return None, "its values are lists or objects"
    if role is not None:
        return _requested(column, name, role, decimal), "as requested"
    useless = _useless(column)
    return (None, useless) if useless else _inferred(column, name, decimal)


def _useless(column):
    """Return the reason to leave out a column whose values are all missing or all equal."""
    if is_text(column):
        codes = coded_texts(column)[0]
        missing, same = codes < 0, len(np.unique(codes)) == 1
    else:
        missing = column.isna()
        same = not missing.any() and column.min() == column.max()
    if missing.all():
        return "every value is missing"
    return "every row has the same value" if same else None


def _requested(column, name, role, decimal):
    """Return the kind for a role that the user gave; raise if no value can be read so."""
    if role == "category":
        return CategoryColumn(_levels(*coded_texts(column)))
    if role == "number":
        if is_text(column):
            decimal = decimal_of(coded_texts(column)[1][:_SAMPLE], decimal)
        kind: Kind = NumberColumn(decimal)
        known = np.isfinite(kind.read(column, name)[0][name])
    else:
        formats = _formats_of_numbers(column, name) if column_kind(column) == "numbers" else (ISO,)
        if is_text(column):
            texts = np.array(coded_texts(column)[1], dtype=object)
            formats = date_formats(texts, decimal)
            varying = _varying_order(texts, formats)
            if varying:
                raise TableError(f"Column {name!r} holds {varying}.")
        times, unread = times_of(column, formats, name)
        kind = DateColumn(tuple(formats), varying_parts(times), tuple(unread.distinct()))
        known = times.notna().to_numpy()
    if not known.any():
        values = (f"it holds values such as {str(value)!r}" for value in column.dropna())
        example = next(values, "every value is missing")
        raise TableError(f"Column {name!r} cannot be read as a {role}: {example}.")
    return kind


def _inferred(column, name, decimal):
    """Return the kind of a column by its values and its name, and the reason."""
    if is_dates(column):
        return _dates(column, (ISO,), name, "dates")
    if not is_text(column):
        return _numbers(column, name, decimal)
    codes, texts = coded_texts(column)
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))
    if is_category(column):
        return _category(codes, texts, counts, name)
    spellings = truth_spellings(texts, counts)
    if spellings:
        return CategoryColumn(tuple(sorted(spellings)), spellings), "words for true and false"
    present = is_value(texts)
    if present.any():
        values = [text for text, yes in zip(texts, present) if yes]
        kind = NumberColumn(decimal_of(values[:_SAMPLE], decimal))
        numbers = kind.numbers(texts)
        known = np.isfinite(numbers) & present
        share = counts[known].sum() / counts[present].sum()
        if share >= _MOSTLY or (share >= 0.5 and known.sum() > _FEW):
            return _written_numbers(kind, codes, texts, numbers, known, name)
        formats = date_formats(np.array(values, dtype=object), decimal)
        if formats:
            return _written_dates(column, values, formats, name)
    return _category(codes, texts, counts, name)


def _numbers(column, name, decimal):
    if column_kind(column) == "numbers" and str(column.dtype).lower() not in ("bool", "boolean"):
        # Large integers are distinguished by their differences from the smallest one.
        values = float_column(column, name, integer_origin(exact_values(column)))
        values = values[np.isfinite(values)]
        if len(values) and np.all(values % 1 == 0):
            decision = _whole_numbers(column, values, name)
            if decision:
                return decision
    return NumberColumn(decimal), "numbers"


def _whole_numbers(column, values, name):
    """Return the kind of identifiers and dates written as whole numbers, None for others."""
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
    """Leave out identifiers by name if all values differ, else read categories, never numbers."""
    present = codes[codes >= 0]
    if len(np.unique(present)) == len(present):
        return None, "an identifier by its name: every row has its own value"
    reason = "an identifier by its name, but values are repeated: categories"
    return CategoryColumn(_levels(codes, texts)), reason


def _years(values):
    return bool(np.all((values >= 1500) & (values <= 2200)))


def _formats_of_numbers(column, name):
    """Return the format of numbers that are dates: 20210425, 2021, or seconds since 1970."""
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
    if is_named_identifier(name) and np.all(numbers[known] % 1 == 0):
        return _named_identifier(codes, texts)
    signs = notation_of([text for text, yes in zip(texts, known) if yes][:_SAMPLE], kind.decimal)
    note = missing_note(codes, texts, known)
    return kind, _with_note(f"numbers written {signs}" if signs else "numbers", note)


def _with_note(reason, note):
    return reason if note is None else f"{reason}; {note}"


def _written_dates(column, texts, formats, name):
    varying = _varying_order(texts, formats)
    if varying:
        return None, varying
    kind, reason = _dates(column, formats, name, f"dates written as {formats_in_words(formats)}")
    order, separated = order_of(formats), any("/" in form or "-" in form for form in formats)
    if separated and order and not day_month_orders(texts):
        reason += f"; the order {order} is assumed, no value shows it"
    return kind, reason


def _varying_order(texts, formats):
    """Return a reason not to read dates whose order of day and month varies, else None."""
    orders = day_month_orders(texts) if order_of(formats) else {}
    if len(orders) < 2:
        return None
    first, second = map(quoted, orders.values())
    return (
        f"dates such as {first} and {second}, so the order of day and month varies; write "
        "year-month-day"
    )


def _dates(column, formats, name, what):
    times, unread = times_of(column, formats, name)
    parts = varying_parts(times)
    waves = f", sine and cosine of {' and '.join(parts)}" if parts else ""
    kind = DateColumn(tuple(formats), parts, tuple(unread.distinct()))
    note = unread.note("are not dates, read as missing")
    return kind, _with_note(f"{what}: trend in days{waves}", note)


def _category(codes, texts, counts, name):
    n_rows, n_distinct = int(counts.sum()), int(np.sum(counts > 0))
    if is_named_identifier(name) and n_rows > 1:
        return _named_identifier(codes, texts)
    if n_distinct <= max(_FEW, _MOSTLY_DISTINCT * n_rows):
        reason = f"categories, {n_distinct} level{'s' * (n_distinct > 1)}"
        return CategoryColumn(_levels(codes, texts)), reason
    present = [text for text, count in zip(texts, counts) if count]
    n_words = np.mean([len(text.split()) for text in present[:_SAMPLE]])
    if n_words >= _WORDS_OF_TEXT:
        return None, f"free text, about {n_words:.0f} words a row, which the model does not read"
    if n_distinct == n_rows:
        return None, "an identifier: every row has its own text"
    return None, "nearly every row has its own text"


def _levels(codes, texts):
    return tuple(sorted({texts[code] for code in np.unique(codes) if code >= 0}))


def is_named_identifier(name: str) -> bool:
    """Return True if a column's name is one of identifiers.

    >>> names = ("id", "customer_id", "customerID", "uuid", "paid", "humid", "ID")
    >>> [is_named_identifier(name) for name in names]
    [True, True, True, True, False, False, True]
    """
    return _IDENTIFIER.search(name) is not None
