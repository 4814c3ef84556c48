"""Columns of pandas and polars frames and of arrays, read as floats or as texts."""

import re
import sys
from datetime import date, datetime
from typing import Any

import numpy as np

# Values at which the share of rows below is kept.
_MOST_KNOTS = 256

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars frame; asked without importing either."""
    frames = [getattr(sys.modules.get(name), "DataFrame", None) for name in ("pandas", "polars")]
    return isinstance(X, tuple(frame for frame in frames if frame is not None))


def column_names(table: Any) -> list:
    """Names of a frame's columns, numbers of an array's."""
    return list(table.columns) if is_frame(table) else list(range(table.shape[1]))


def table_column(table: Any, j: int) -> Any:
    """The column at place ``j``."""
    return table[table.columns[j]] if is_frame(table) else table[:, j]


def is_text(column: Any) -> bool:
    """Whether a column of a frame holds text, categories or objects rather than numbers, truth values or dates."""
    kind = str(column.dtype).lower()
    return kind.startswith(("object", "str", "category", "categorical", "enum", "utf8"))


def column_kind(column: Any) -> str:
    """By its type, what a column holds: "dates" (or spans of time), "numbers" (or truth values), or "objects", which may be anything."""
    kind = str(column.dtype).lower()
    if kind.startswith(("date", "time", "duration")):
        return "dates"
    return "numbers" if kind.startswith(("int", "uint", "float", "bool", "decimal")) else "objects"


def float_column(column: Any, name: str) -> np.ndarray:
    """Numbers, truth values and dates (in days) as floats, missing values as NaN; infinite ones count as missing."""
    values = np.asarray(column)
    if values.dtype.kind in "Mm":
        days = (
            values.astype("datetime64[s]" if values.dtype.kind == "M" else "timedelta64[s]").astype(np.float64) / 86400
        )
        return np.where(np.isnat(values), np.nan, days)
    try:
        if values.dtype.kind == "O":  # nullable numbers, and dates with a time zone
            values = np.array([np.nan if is_missing(value) else _as_number(value) for value in values])
        values = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Column {name!r} is taken as numbers, but holds values such as {_first_text(values)!r}. Give the same columns in the same "
            "order, of the same types, or name it in categorical_features."
        ) from error
    return np.where(np.isfinite(values), values, np.nan)


def _as_number(value):
    """Dates and times in days, as those of NumPy."""
    if isinstance(value, datetime):
        return value.timestamp() / 86400
    return float(value.toordinal() - date(1970, 1, 1).toordinal()) if isinstance(value, date) else float(value)


def _first_text(values):
    return next((str(value) for value in values if isinstance(value, str)), values[0])


def is_missing(value: Any) -> bool:
    """None, NaN, NaT, or pandas' own NA, which is equal to nothing and no truth value."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def text_column(column: Any) -> np.ndarray:
    """Values of any type as text, missing ones as a level of their own."""
    if str(column.dtype) == "category":  # of pandas: a few categories stand for all rows
        names = np.array([*map(str, column.cat.categories), "missing"], dtype=object)
        return names[np.asarray(column.cat.codes)]
    return np.array(
        ["missing" if is_missing(value) else str(value) for value in np.asarray(column, dtype=object)], dtype=object
    )


def declared_order(column: Any) -> list[str] | None:
    """The levels in order of an ordered category of pandas or an Enum of polars, as texts; None where no order is declared."""
    if str(column.dtype) == "category":
        return [str(level) for level in column.cat.categories] if column.cat.ordered else None
    if str(column.dtype).startswith("Enum"):
        return [str(level) for level in column.dtype.categories]
    return None


def ordered_numbers(texts: np.ndarray, order: list[str] | None) -> np.ndarray:
    """The rank of each text in an order, or the number that it says where there is none; NaN for other texts.

    >>> ordered_numbers(np.array(["high", "low", "?"], dtype=object), ["low", "high"])
    array([ 1.,  0., nan])
    >>> ordered_numbers(np.array(["10", "2.5", "10-19"], dtype=object), None)
    array([10. ,  2.5,  nan])
    """
    if order is None:
        numbers = {text: float(text) for text in set(texts.tolist()) if _NUMBER.fullmatch(text)}
    else:
        numbers = {text: float(rank) for rank, text in enumerate(order)}
    return np.array([numbers.get(text, np.nan) for text in texts], dtype=np.float64)


# --- columns of numbers -----------------------------------------------------------------------------------------------


def counted(values, weights):
    """Distinct values in order, and the weight of each: equal for weighted and for repeated rows, to the last bit."""
    distinct, places = np.unique(values, return_inverse=True)
    return distinct, np.bincount(places, weights, minlength=len(distinct))


def quantile(distinct, counts, share):
    """The value that ``share`` of the weight lies below; midway between two where it lies exactly between them."""
    below = np.cumsum(counts)
    at = share * below[-1]
    low = np.searchsorted(below, at * (1 - 1e-12))
    high = np.searchsorted(below, at * (1 + 1e-12), side="right")
    return float(distinct[low] / 2 + distinct[min(high, len(distinct) - 1)] / 2)


def center_and_scale(distinct, counts, gap):
    """Of sorted distinct values and how often each occurs."""
    low, high = distinct[0], distinct[-1]
    if not high > low:
        return low, 1.0
    size = max(abs(low), abs(high))
    center = size * np.average(distinct / size, weights=counts)
    if len(distinct) == 2:
        return center, (high - low) / gap
    # Squares of huge numbers are no numbers.
    deviation = size * np.sqrt(np.average(((distinct - center) / size) ** 2, weights=counts))
    quartiles = [quantile(distinct, counts, share) for share in (0.25, 0.5, 0.75)]
    robust = (quartiles[2] - quartiles[0]) / 1.349  # the deviation, for a normal law
    if 0 < robust < deviation / 10:
        return quartiles[1], robust
    return (center, deviation) if deviation > 0 else (low, 1.0)


def rank_knots(distinct, counts):
    """(2, n_knots): values, evenly spread over the rows where there are many, and the share of the weight below each, half its own included."""
    shares = (np.cumsum(counts) - counts / 2) / counts.sum()
    if len(distinct) > _MOST_KNOTS:
        chosen = np.unique(np.searchsorted(shares, np.linspace(shares[0], shares[-1], _MOST_KNOTS)))
        distinct, shares = distinct[chosen], shares[chosen]
    return np.stack([distinct, shares])


def unit_sigmoid(z):
    """z / √(1 + z²), ±1 at infinity."""
    finite = np.where(np.isinf(z), 0.0, z)
    return np.where(np.isinf(z), np.sign(z), finite / np.hypot(1.0, finite))
