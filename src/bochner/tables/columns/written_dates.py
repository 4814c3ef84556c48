"""Dates and times in texts, and the columns made from them: trend, season, weekday, hour."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._terminal.text import quoted
from ..errors import TableError, needed
from .written_numbers import COMMA, POINT

ISO = "ISO8601"
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S")
_DAYS = {
    "/": ("%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%Y/%m/%d", "%d/%b/%Y", "%m/%Y"),
    ".": ("%d.%m.%Y", "%d.%m.%y", "%Y.%m.%d", "%m.%Y"),
    "-": ("%d-%m-%Y", "%m-%d-%Y", "%d-%b-%Y", "%d-%b-%y", "%d-%m-%y", "%m-%d-%y", "%b-%Y", "%b-%y"),
    " ": (
        *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d. %B %Y"),
        *("%b %Y", "%B %Y"),
    ),
}
_WEEKDAY = re.compile(r"^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+", re.IGNORECASE)
_CLOCK = ("%H:%M", "%H:%M:%S", "%I:%M %p")
_LIKE_DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{4}-\d\d|\d[-/ .]+[a-z]{3}|"
    r"[a-z]{3}[a-z.]*[-/ ]+\d|\d{1,2}:\d\d|\d{1,2}[/.]\d{4}",
    re.IGNORECASE,
)
_COMPACT = re.compile(r"\d{8}", re.ASCII)
# Day and month as numbers before a year.
_BOTH_NUMBERS = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(?:\d{4}|\d\d)(?!\d)", re.ASCII)
DAY_FIRST, MONTH_FIRST = "day/month", "month/day"
_ADVICE = "Write year-month-day, e.g. 2021-04-25"
_ZONE = re.compile(r"(?<=\d)\s*(?:Z|UTC|[+-]\d\d:?\d\d)$")
# Characters of a date; matching would take a time that grows with the square of the length.
_LONGEST = 100
_MAX_FORMATS = 4
# Different months, weekdays or hours of a column that gets their sine and cosine.
_ENOUGH = 3
_SAMPLE = 300
_IN_WORDS = {"%Y": "year", "%y": "year", "%m": "month", "%d": "day", "%b": "month", "%B": "month"}


def date_formats(texts: np.ndarray, doubtful_decimal: str = POINT) -> tuple[str, ...]:
    """Return formats that read nearly all texts, an empty tuple if there are none.

    Values such as 25/4/2021 decide the order of day and month. Without such values, 3/4/2021 is
    March 4, but April 3 in a file with decimal commas.

    >>> date_formats(np.array(["25/4/2021", "3/4/2021"]))
    ('%d/%m/%Y',)
    >>> date_formats(np.array(["2021-04-25", "2021-04-25T10:00Z"]))
    ('ISO8601',)
    """
    distinct = np.unique(texts)
    like_dates = [len(text) <= _LONGEST and bool(_LIKE_DATE.search(text)) for text in distinct]
    if len(distinct) == 0 or np.mean(like_dates) < 0.9:
        return ()
    orders = day_month_orders(distinct)
    only = next(iter(orders)) if len(orders) == 1 else None
    distinct = _thinned(distinct)
    few = 0.05 * len(distinct)
    formats, left = _best_formats(distinct, only, _MAX_FORMATS, max(1, few), doubtful_decimal)
    return formats if len(left) <= few else ()


def _best_formats(texts, order, most, fewest_texts, doubtful_decimal=POINT):
    """Select formats one by one, each by the texts it reads; return these and the other texts."""
    formats: list[str] = []
    while len(texts) and len(formats) < most:
        best, count = _best_format(_thinned(texts), order, doubtful_decimal)
        if best is None or count < fewest_texts:
            break
        formats.append(best)
        texts = texts[parsed(texts, (best,)).isna().to_numpy()]
    return tuple(formats), texts


def _thinned(texts):
    if len(texts) <= _SAMPLE:
        return texts
    return texts[np.linspace(0, len(texts) - 1, _SAMPLE).astype(int)]


def _best_format(texts, order, doubtful_decimal=POINT):
    """Return the format that reads most texts, and their number; only formats of this ``order``."""
    formats = [
        form
        for form in _candidates(texts, doubtful_decimal)
        if order is None or _order(form) in (None, order)
    ]
    counts = {form: int(np.sum(parsed(texts, (form,)).notna())) for form in formats}
    best = max(counts, key=lambda form: counts[form], default=None)
    return best, 0 if best is None else counts[best]


# --- day and month --------------------------------------------------------------------------------


def day_month_orders(texts: Iterable[str]) -> dict[str, str]:
    """Return the orders of day and month that texts show, each with a text that shows it.

    >>> day_month_orders(["3/4/2021", "25/4/2021"]), day_month_orders(["3/4/2021", "2021-04-25"])
    ({'day/month': '25/4/2021'}, {})
    """
    orders: dict[str, str] = {}
    for text in texts:
        match = _BOTH_NUMBERS.match(_WEEKDAY.sub("", text.strip()))
        if match:
            first, second = int(match[1]), int(match[3])
            if 12 < first <= 31 and 1 <= second <= 12:
                orders.setdefault(DAY_FIRST, text)
            elif 12 < second <= 31 and 1 <= first <= 12:
                orders.setdefault(MONTH_FIRST, text)
    return orders


def order_of(formats: tuple[str, ...]) -> str | None:
    """Return the order of day and month in numeric formats with the year last, else None."""
    return next((order for form in formats if (order := _order(form)) is not None), None)


def _order(form):
    if re.match("%d[-/.]%m", form):
        return DAY_FIRST
    return MONTH_FIRST if re.match("%m[-/.]%d", form) else None


def checked_order(texts: Iterable[str], fitted: tuple[str, ...], name: str) -> str | None:
    """Return the order of day and month in new texts; raise if the fitted formats have another."""
    orders, order = day_month_orders(texts), order_of(fitted)
    if len(orders) == 2:
        first, second = orders.values()
        raise TableError(
            f"Column {name!r} holds {quoted(first)} and {quoted(second)}, so the order of day and "
            f"month varies. {_ADVICE}, in every row."
        )
    if order is not None and orders and order not in orders:
        raise TableError(
            f"Column {name!r} holds {quoted(next(iter(orders.values())))}, but dates of the "
            f"training table are written as {formats_in_words(fitted)}, so the order of day and "
            f"month is unclear. {_ADVICE}."
        )
    return order if order is not None else next(iter(orders), None)


def other_formats(texts: list[str], fitted: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return further formats that together read these texts; raise an error if there are none."""
    order = checked_order(texts, fitted, name)
    distinct = np.array(list(dict.fromkeys(texts)), dtype=object)
    # Without an order, no format is tried in which day and month could be swapped.
    formats, left = _best_formats(distinct, order or "unknown", len(distinct), 1)
    if len(left) == 0:
        return formats
    words = formats_in_words(fitted)
    if _BOTH_NUMBERS.match(left[0]) and _best_format(left[:1], None)[1]:
        raise TableError(
            f"Column {name!r} holds {quoted(left[0])}, which may be day/month or month/day; dates "
            f"of the training table are written as {words}. {_ADVICE}."
        )
    raise TableError(
        f"Column {name!r} holds {quoted(left[0])}, which is not a date; dates of the training "
        f"table are written as {words}. {_ADVICE}, or leave the cell empty."
    )


def _candidates(texts, doubtful_decimal):
    """Yield formats whose separators occur in the texts, the usual ones first."""
    joined = " ".join(texts[:50])
    if re.match(r"\d{4}-\d\d", texts[0]):
        yield ISO
    if _COMPACT.fullmatch(texts[0]):
        yield "%Y%m%d"
    for mark, days in _DAYS.items():
        if mark not in joined:
            continue
        if mark == "/" and doubtful_decimal == COMMA:
            days = ("%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", *days[4:])
        yield from (
            day + time for day in days for time in (_TIMES if ":" in joined else _TIMES[:1])
        )
    if ":" in joined:
        yield from _CLOCK


def parsed(texts: Any, formats: tuple[str, ...]) -> Any:
    """Return a pandas series of local times, without time zones; NaT if no format reads a text."""
    pandas = needed("pandas")
    bare = [_ZONE.sub("", text.strip()) if ":" in text else text.strip() for text in texts]
    bare = pandas.Series([_WEEKDAY.sub("", text) for text in bare], dtype=object)
    times = pandas.Series(np.full(len(bare), "NaT", dtype="datetime64[us]"))
    for form in formats:
        unread = times.isna()
        if unread.any():
            read = pandas.to_datetime(bare[unread], format=form, errors="coerce")
            times[unread] = read.astype("datetime64[us]")
    return times


def formats_in_words(formats: tuple[str, ...]) -> str:
    """Describe formats: "month/day/year", or "day.month.year or year-month-day"."""
    described = []
    for form in formats:
        words = "year-month-day" if form == ISO else re.sub(r"[ T]?%[HIp].*", "", form)
        for code, word in _IN_WORDS.items():
            words = words.replace(code, word)
        described.append(words or "a time of day")
    return " or ".join(dict.fromkeys(described))


# --- columns --------------------------------------------------------------------------------------


def varying_parts(times: Any) -> tuple[str, ...]:
    """Return those of "month", "weekday" and "hour" that have at least three different values."""
    clock = times.dropna().dt
    parts = {"month": clock.month, "weekday": clock.day_of_week, "hour": clock.hour}
    return tuple(part for part, values in parts.items() if values.nunique() >= _ENOUGH)


def date_columns(times: Any, name: str, parts: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Return days since 1970, and for each of ``parts`` its sine and cosine.

    Month, weekday and hour stand for the time in the year, week and day.
    """
    clock, present = times.dt, times.notna().to_numpy()
    days = (times - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    columns = {name: days.to_numpy(dtype=np.float64)}
    hours = clock.hour + clock.minute / 60 + clock.second / 3600
    turns = {
        "month": lambda: (clock.day_of_year - 1 + hours / 24) / 365.25,
        "weekday": lambda: clock.day_of_week / 7,
        "hour": lambda: hours / 24,
    }
    for part in parts:
        angle = 2 * np.pi * turns[part]().to_numpy(dtype=np.float64, na_value=np.nan)
        for wave, function in (("sine", np.sin), ("cosine", np.cos)):
            columns[f"{name}: {part} {wave}"] = np.where(present, function(angle), np.nan)
    return columns
