"""Dates and times as people write them, and what of them varies: the trend, the season, the weekday, the hour."""

import re
from typing import Any

import numpy as np

from .reading import needed
from .written_numbers import COMMA, POINT

ISO = "ISO8601"
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S")
_DAYS = {
    "/": ("%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%Y/%m/%d", "%d/%b/%Y", "%m/%Y"),
    ".": ("%d.%m.%Y", "%d.%m.%y", "%Y.%m.%d", "%m.%Y"),
    "-": ("%d-%m-%Y", "%m-%d-%Y", "%d-%b-%Y", "%d-%b-%y", "%d-%m-%y", "%b-%Y", "%b-%y"),
    " ": ("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d. %B %Y", "%b %Y", "%B %Y"),
}
_WEEKDAY = re.compile(r"^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+", re.IGNORECASE)
_CLOCK = ("%H:%M", "%H:%M:%S", "%I:%M %p")
_LOOKS = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{4}-\d\d|\d[-/ .]+[a-z]{3}|[a-z]{3}[a-z.]*[-/ ]+\d|\d{1,2}:\d\d|\d{1,2}[/.]\d{4}",
    re.IGNORECASE,
)
_ZONE = re.compile(r"(?<=\d)\s*(?:Z|UTC|[+-]\d\d:?\d\d)$")
_LONGEST = 100  # letters of a date; looking for one in a long text would take a time that grows with its square
_SPELLINGS = 4  # in one column
_ENOUGH = 3  # different months, weekdays or hours that make a circle
_SAMPLE = 300
_IN_WORDS = {"%Y": "year", "%y": "year", "%m": "month", "%d": "day", "%b": "month", "%B": "month"}


def date_formats(texts: np.ndarray, doubtful_decimal: str = POINT) -> tuple[str, ...]:
    """Formats that read nearly all of the texts, nothing where there are none; of equally good ones the usual one.

    Which of 3/4/2021 is the month is told by values such as 25/4/2021.  Where none tells, it is the first number, but the
    second one in a file with decimal commas.

    >>> date_formats(np.array(["25/4/2021", "3/4/2021"])), date_formats(np.array(["2021-04-25", "2021-04-25T10:00Z"]))
    (('%d/%m/%Y',), ('ISO8601',))
    """
    distinct = np.unique(texts)
    looks = np.array([len(text) <= _LONGEST and _LOOKS.search(text) is not None for text in distinct])
    if len(distinct) == 0 or looks.mean() < 0.9:
        return ()
    if len(distinct) > _SAMPLE:
        distinct = distinct[np.linspace(0, len(distinct) - 1, _SAMPLE).astype(int)]
    left = distinct
    found: list[str] = []
    while len(left) and len(found) < _SPELLINGS:
        counts = {form: int(np.sum(parsed(left, (form,)).notna())) for form in _candidates(left, doubtful_decimal)}
        best = max(counts, key=lambda form: counts[form], default=None)
        if best is None or counts[best] < max(1, 0.05 * len(distinct)):
            break
        found.append(best)
        left = left[parsed(left, (best,)).isna().to_numpy()]
    return tuple(found) if len(left) <= 0.05 * len(distinct) else ()


def _candidates(texts, doubtful_decimal):
    """Formats whose marks occur in the texts, the usual ones first."""
    joined = " ".join(texts[:50])
    if re.match(r"\d{4}-\d\d", texts[0]):
        yield ISO
    for mark, days in _DAYS.items():
        if mark not in joined:
            continue
        if mark == "/" and doubtful_decimal == COMMA:
            days = ("%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", *days[4:])
        yield from (day + time for day in days for time in (_TIMES if ":" in joined else _TIMES[:1]))
    if ":" in joined:
        yield from _CLOCK


def parsed(texts: Any, formats: tuple[str, ...]) -> Any:
    """A pandas series of times of the local clock, NaT for texts of no format; the time zone that a text ends in is left away."""
    pandas = needed("pandas")
    bare = pandas.Series(
        [_WEEKDAY.sub("", _ZONE.sub("", text.strip()) if ":" in text else text.strip()) for text in texts], dtype=object
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


# --- what varies ------------------------------------------------------------------------------------------------------


def varying_parts(times: Any) -> tuple[str, ...]:
    """Of "month", "weekday" and "hour" those that take at least three values: only these go round in circles here."""
    clock = times.dropna().dt
    values = {"month": clock.month, "weekday": clock.day_of_week, "hour": clock.hour}
    return tuple(part for part, found in values.items() if found.nunique() >= _ENOUGH)


def date_columns(times: Any, name: str, parts: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Days since 1970 under the column's own name, and sine and cosine of the time in the year, week or day for each of ``parts``."""
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
        columns |= {f"{name}: {part} {wave}": np.where(known, values, np.nan) for wave, values in _waves(angle)}
    return columns


def _waves(angle):
    return ("sine", np.sin(angle)), ("cosine", np.cos(angle))
