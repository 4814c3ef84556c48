"""Dates and times as people write them, and what of them varies: the trend, the season, the
weekday, the hour.
"""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._terminal.text import quoted
from ..read.reading import TableError, needed
from .written_numbers import COMMA, POINT

ISO = "ISO8601"
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S")
_DAYS = {
    "/": ("%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%Y/%m/%d", "%d/%b/%Y", "%m/%Y"),
    ".": ("%d.%m.%Y", "%d.%m.%y", "%Y.%m.%d", "%m.%Y"),
    "-": ("%d-%m-%Y", "%m-%d-%Y", "%d-%b-%Y", "%d-%b-%y", "%d-%m-%y", "%m-%d-%y", "%b-%Y", "%b-%y"),
    " ": (
        "%d %b %Y",
        "%d %B %Y",
        "%b %d, %Y",
        "%B %d, %Y",
        "%b %d %Y",
        "%B %d %Y",
        "%d. %B %Y",
        "%b %Y",
        "%B %Y",
    ),
}
_WEEKDAY = re.compile(r"^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+", re.IGNORECASE)
_CLOCK = ("%H:%M", "%H:%M:%S", "%I:%M %p")
_LOOKS = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{4}-\d\d|\d[-/ .]+[a-z]{3}|[a-z]{3}[a-z.]*[-/ ]+\d|\d{1,2}:\d\d|\d{1,2}[/.]\d{4}",
    re.IGNORECASE,
)
_COMPACT = re.compile(r"\d{8}", re.ASCII)
# Day and month as numbers before a year.
_BOTH_NUMBERS = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(?:\d{4}|\d\d)(?!\d)", re.ASCII)
DAY_FIRST, MONTH_FIRST = "day/month", "month/day"
_ADVICE = "Write year-month-day, e.g. 2021-04-25"
_ZONE = re.compile(r"(?<=\d)\s*(?:Z|UTC|[+-]\d\d:?\d\d)$")
# Letters of a date; looking for one in a long text would take a time that grows with its square.
_LONGEST = 100
_SPELLINGS = 4  # in one column
_ENOUGH = 3  # different months, weekdays or hours that make a circle
_SAMPLE = 300
_IN_WORDS = {"%Y": "year", "%y": "year", "%m": "month", "%d": "day", "%b": "month", "%B": "month"}


def date_formats(texts: np.ndarray, doubtful_decimal: str = POINT) -> tuple[str, ...]:
    """Formats that read nearly all of the texts, nothing where there are none; of equally good ones
    the usual one.

    Which of 3/4/2021 is the month is told by values such as 25/4/2021. Where none tells, it is the
    first number, but the second one in a file with decimal commas.

    >>> date_formats(np.array(["25/4/2021", "3/4/2021"])), date_formats(np.array(["2021-04-25", "2021-04-25T10:00Z"]))
    (('%d/%m/%Y',), ('ISO8601',))
    """
    distinct = np.unique(texts)
    looks = np.array(
        [len(text) <= _LONGEST and _LOOKS.search(text) is not None for text in distinct]
    )
    if len(distinct) == 0 or looks.mean() < 0.9:
        return ()
    orders = day_month_orders(distinct)
    only = next(iter(orders)) if len(orders) == 1 else None
    distinct = _thinned(distinct)
    left = distinct
    found: list[str] = []
    while len(left) and len(found) < _SPELLINGS:
        best, count = _best_format(left, only, doubtful_decimal)
        if best is None or count < max(1, 0.05 * len(distinct)):
            break
        found.append(best)
        left = left[parsed(left, (best,)).isna().to_numpy()]
    return tuple(found) if len(left) <= 0.05 * len(distinct) else ()


def _thinned(texts):
    return (
        texts
        if len(texts) <= _SAMPLE
        else texts[np.linspace(0, len(texts) - 1, _SAMPLE).astype(int)]
    )


def _best_format(texts, order, doubtful_decimal=POINT):
    """Return (the format that reads most texts, how many); with an ``order``, none of the other
    order.
    """
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
    """Return the orders of day and month that some texts need, each with such a text.

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
    """Return the order of day and month in formats that write both as numbers before the year, else
    None.
    """
    return next((order for form in formats if (order := _order(form)) is not None), None)


def _order(form):
    return (
        DAY_FIRST
        if re.match("%d[-/.]%m", form)
        else MONTH_FIRST
        if re.match("%m[-/.]%d", form)
        else None
    )


def checked_order(texts: Iterable[str], fitted: tuple[str, ...], name: str) -> str | None:
    """Return the order of day and month in new texts; one that is not that of the fitted formats is
    refused.
    """
    orders, order = day_month_orders(texts), order_of(fitted)
    if len(orders) == 2:
        first, second = orders.values()
        raise TableError(
            f"Column {name!r} holds {quoted(first)} and {quoted(second)}, so day and month change "
            f"places. {_ADVICE}, in every row."
        )
    if order is not None and orders and order not in orders:
        raise TableError(
            f"Column {name!r} holds {quoted(next(iter(orders.values())))}, but the training table "
            "has dates as "
            f"{formats_in_words(fitted)}, so it is unclear which number is the month. {_ADVICE}."
        )
    return order if order is not None else next(iter(orders), None)


def other_formats(texts: list[str], fitted: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return formats that read all of these texts, none of which the fitted formats read; raise if
    there are none.
    """
    order = checked_order(texts, fitted, name)
    left = np.array(list(dict.fromkeys(texts)), dtype=object)
    found: list[str] = []
    while len(left):
        # Without any order, formats in which day and month could be exchanged are not tried.
        best, count = _best_format(_thinned(left), order or "unknown")
        if best is None or count == 0:
            break
        found.append(best)
        left = left[parsed(left, (best,)).isna().to_numpy()]
    if len(left) == 0:
        return tuple(found)
    words = formats_in_words(fitted)
    if _BOTH_NUMBERS.match(left[0]) and _best_format(left[:1], None)[1]:
        raise TableError(
            f"Column {name!r} holds {quoted(left[0])}, which may be day/month or month/day; the "
            f"training table has dates as {words}. "
            f"{_ADVICE}."
        )
    raise TableError(
        f"Column {name!r} holds {quoted(left[0])}, which is not a date; the training table has "
        f"dates as {words}. {_ADVICE}, or leave "
        "the cell empty."
    )


def _candidates(texts, doubtful_decimal):
    """Formats whose marks occur in the texts, the usual ones first."""
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
    """A pandas series of times of the local clock, NaT for texts of no format; the time zone that a
    text ends in is left away.
    """
    pandas = needed("pandas")
    bare = pandas.Series(
        [
            _WEEKDAY.sub("", _ZONE.sub("", text.strip()) if ":" in text else text.strip())
            for text in texts
        ],
        dtype=object,
    )
    times = pandas.Series(np.full(len(bare), "NaT", dtype="datetime64[us]"))
    for form in formats:
        open_ = times.isna()
        if open_.any():
            read = pandas.to_datetime(bare[open_], format=form, errors="coerce")
            times[open_] = read.astype("datetime64[us]")
    return times


def formats_in_words(formats: tuple[str, ...]) -> str:
    """Formats as one would say them: "month/day/year" or "day.month.year or year-month-day"."""
    said = []
    for form in formats:
        words = "year-month-day" if form == ISO else re.sub(r"[ T]?%[HIp].*", "", form)
        for code, word in _IN_WORDS.items():
            words = words.replace(code, word)
        said.append(words or "a time of day")
    return " or ".join(dict.fromkeys(said))


# --- what varies ----------------------------------------------------------------------------------


def varying_parts(times: Any) -> tuple[str, ...]:
    """Of "month", "weekday" and "hour" those that take at least three values: only these go round
    in circles here.
    """
    clock = times.dropna().dt
    values = {"month": clock.month, "weekday": clock.day_of_week, "hour": clock.hour}
    return tuple(part for part, found in values.items() if found.nunique() >= _ENOUGH)


def date_columns(times: Any, name: str, parts: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Days since 1970 under the column's own name, and sine and cosine of the time in the year,
    week or day for each of ``parts``.
    """
    clock, known = times.dt, times.notna().to_numpy()
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
        columns |= {
            f"{name}: {part} {wave}": np.where(known, values, np.nan)
            for wave, values in _waves(angle)
        }
    return columns


def _waves(angle):
    return ("sine", np.sin(angle)), ("cosine", np.cos(angle))
