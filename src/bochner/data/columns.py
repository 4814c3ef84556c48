"""Columns of pandas and polars frames and of arrays, read as floats or as texts."""

import re
import sys
from collections.abc import Sequence
from datetime import date, datetime
from numbers import Integral
from typing import Any

import numpy as np

# Number of values at which the share of rows below is stored.
_MOST_KNOTS = 256
# Larger integers are not all exact as floats.
EXACT_INTEGERS = 2**53

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def is_frame(X: Any) -> bool:
    """Return True for a pandas or polars frame, without importing either."""
    frames = [getattr(sys.modules.get(name), "DataFrame", None) for name in ("pandas", "polars")]
    return isinstance(X, tuple(frame for frame in frames if frame is not None))


def column_names(table: Any) -> list:
    """Return the names of a frame's columns, or the numbers of an array's columns."""
    return list(table.columns) if is_frame(table) else list(range(table.shape[1]))


def table_column(table: Any, j: int) -> Any:
    """Return the column at place ``j``."""
    return table[table.columns[j]] if is_frame(table) else table[:, j]


def is_text(column: Any) -> bool:
    """Return True if a column of a frame holds text, categories or objects."""
    kind = str(column.dtype).lower()
    return kind.startswith(("object", "str", "category", "categorical", "enum", "utf8"))


def column_kind(column: Any) -> str:
    """Return "dates" (or durations), "numbers" (or truth values) or "objects", by dtype."""
    kind = str(column.dtype).lower()
    if kind.startswith(("date", "time", "duration")):
        return "dates"
    return "numbers" if kind.startswith(("int", "uint", "float", "bool", "decimal")) else "objects"


def categorical_places(listed: Any, table: Any) -> set[int]:
    """Return the places of the categorical columns.

    These are the columns of text in a frame, and the listed ones. ``listed`` is "from_dtype" for
    none, a list of names or places, or a mask. An integer that is a column's name is that column.
    """
    names = column_names(table)
    places = {
        j for j in range(len(names)) if is_frame(table) and _is_category(table_column(table, j))
    }
    if isinstance(listed, str):
        if listed != "from_dtype":
            raise ValueError(
                f"categorical_features must be 'from_dtype' or a list of columns, got {listed!r}."
            )
        return places
    listed = list(listed)
    if listed and all(isinstance(value, bool | np.bool_) for value in listed):
        if len(listed) != len(names):
            raise ValueError(
                f"categorical_features is a mask of {len(listed)} truth values, but there are "
                f"{len(names)} columns. Write one truth value for each column, or a list of names."
            )
        return places | set(np.flatnonzero(listed).tolist())
    by_name = {name: j for j, name in enumerate(names)}
    unknown = [name for name in listed if name not in by_name and not _is_place(name, len(names))]
    if unknown:
        raise ValueError(
            f"categorical_features lists {', '.join(map(repr, unknown))}, but there is no such "
            f"column. The columns are {', '.join(map(repr, names))}."
        )
    return places | {by_name[name] if name in by_name else int(name) for name in listed}


def lists_columns(listed: Any) -> bool:
    """Return True if ``categorical_features`` is a list; raise if it is neither list nor word."""
    if not isinstance(listed, (str, Sequence, np.ndarray)):
        raise TypeError(
            f"categorical_features must be 'from_dtype' or a list of columns, got {listed!r}. "
            'Write e.g. categorical_features=["zip"].'
        )
    return not isinstance(listed, str) and len(listed) > 0


def _is_category(column):
    """Return True for text, categories and objects other than dates."""
    return is_text(column) and not (str(column.dtype).lower() == "object" and _are_dates(column))


def _are_dates(values):
    present = (value for value in values if not is_missing(value))
    return isinstance(next(present, None), date) and all(isinstance(one, date) for one in present)


def _is_place(value, n_columns):
    return (
        isinstance(value, int | np.integer)
        and not isinstance(value, bool)
        and 0 <= value < n_columns
    )


def has_large_integers(X: Any) -> bool:
    """Return True for an array of integers some of which are not exact as floats."""
    if not (
        isinstance(X, np.ndarray) and X.dtype.kind in "iu" and X.dtype.itemsize == 8 and X.size
    ):
        return False
    return bool(X.max() > EXACT_INTEGERS or X.min() < -EXACT_INTEGERS)


def exact_values(column: Any) -> np.ndarray:
    """Return a column as an array, with integers as objects if they are not exact as floats."""
    values = np.asarray(column)
    if values.dtype.kind == "f" and str(column.dtype).lower().startswith(("int", "uint")):
        with np.errstate(invalid="ignore"):
            if np.any(np.abs(values) >= EXACT_INTEGERS):
                return np.array(list(column), dtype=object)
    return values


def integer_origin(values: np.ndarray) -> int:
    """Return the smallest of integers that are not exact as floats, zero for all other values.

    Differences from it are computed as integers, so that neighbors stay different.
    """
    if values.dtype.kind == "O":
        integers = [int(value) for value in values if isinstance(value, Integral)]
        return min(integers) if any(abs(value) > EXACT_INTEGERS for value in integers) else 0
    return int(values.min()) if has_large_integers(values) else 0


def float_column(column: Any, name: str, origin: int = 0) -> np.ndarray:
    """Return numbers, truth values and dates (in days) minus ``origin`` as floats.

    Missing and infinite values are NaN.  ``origin`` is subtracted from integers exactly.
    """
    values = exact_values(column) if origin else np.asarray(column)
    if values.dtype.kind in "Mm":
        days = (
            values.astype("datetime64[s]" if values.dtype.kind == "M" else "timedelta64[s]").astype(
                np.float64
            )
            / 86400
        )
        return np.where(np.isnat(values), np.nan, days)
    if origin and values.dtype.kind in "iu":
        return (values.astype(object) - origin).astype(np.float64)
    try:
        if values.dtype.kind == "O":  # nullable numbers, and dates with a time zone
            values = np.array(
                [np.nan if is_missing(value) else _as_number(value, origin) for value in values]
            )
            origin = 0
        values = values.astype(np.float64) - origin
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Column {name!r} is read as numbers, but holds values such as "
            f"{_first_text(values)!r}. Give the same columns in the same "
            "order, of the same types, or name it in categorical_features."
        ) from error
    return np.where(np.isfinite(values), values, np.nan)


def _as_number(value, origin):
    """Return dates and times in days, as those of NumPy, and other values minus ``origin``."""
    if isinstance(value, datetime):
        return value.timestamp() / 86400
    if isinstance(value, date):
        return float(value.toordinal() - date(1970, 1, 1).toordinal())
    return float(value - origin) if isinstance(value, Integral) else float(value) - origin


def _first_text(values):
    return next((str(value) for value in values if isinstance(value, str)), values[0])


def is_missing(value: Any) -> bool:
    """Return True for None, NaN, NaT and pandas' NA, which is not a truth value."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def text_column(column: Any) -> np.ndarray:
    """Return values of any type as text, missing ones as the level "missing"."""
    if str(column.dtype) == "category":  # of pandas
        names = np.array([*map(str, column.cat.categories), "missing"], dtype=object)
        return names[np.asarray(column.cat.codes)]
    return np.array(
        [
            "missing" if is_missing(value) else str(value)
            for value in np.asarray(column, dtype=object)
        ],
        dtype=object,
    )


def declared_order(column: Any) -> list[str] | None:
    """Return the ordered levels of a pandas category or a polars Enum as texts, or None."""
    if str(column.dtype) == "category":
        return [str(level) for level in column.cat.categories] if column.cat.ordered else None
    if str(column.dtype).startswith("Enum"):
        return [str(level) for level in column.dtype.categories]
    return None


def ordered_numbers(texts: np.ndarray, order: list[str] | None) -> np.ndarray:
    """Return the rank of each text in an order, or the number written in it; NaN for other texts.

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


# --- columns of numbers ---------------------------------------------------------------------------


def counted(values, weights):
    """Return sorted distinct values and their weights, bit-equal for weights and repetitions."""
    distinct, places = np.unique(values, return_inverse=True)
    return distinct, np.bincount(places, weights, minlength=len(distinct))


def quantile(distinct, counts, share):
    """Return the weighted quantile; the midpoint if it lies exactly between two values."""
    below = np.cumsum(counts)
    at = share * below[-1]
    low = np.searchsorted(below, at * (1 - 1e-12))
    high = np.searchsorted(below, at * (1 + 1e-12), side="right")
    return float(distinct[low] / 2 + distinct[min(high, len(distinct) - 1)] / 2)


def center_and_scale(distinct, counts, gap):
    """Return (center, scale) of sorted distinct values and how often each occurs.

    All is computed from distances to the smallest value, as shares of half the range: a large
    offset has no influence, and neither squares nor the range itself can overflow.
    """
    low, high = distinct[0], distinct[-1]
    half_range = high / 2 - low / 2
    if not half_range > 0:
        return low, 1.0
    shares = (distinct / 2 - low / 2) / half_range
    mean = np.average(shares, weights=counts)
    center = low + mean * half_range + mean * half_range
    if len(distinct) == 2:
        return center, 2 / gap * half_range
    deviation = 2 * np.sqrt(np.average((shares - mean) ** 2, weights=counts)) * half_range
    quartiles = [quantile(distinct, counts, share) for share in (0.25, 0.5, 0.75)]
    robust = (
        quartiles[2] - quartiles[0]
    ) / 1.349  # the standard deviation of a normal distribution
    if 0 < robust < deviation / 10:
        return quartiles[1], robust
    return (center, deviation) if deviation > 0 else (low, 1.0)


def rank_knots(distinct, counts):
    """Return values and the share of the weight below each, half its own included, (2, n_knots).

    Many values are thinned out evenly over the rows.
    """
    shares = (np.cumsum(counts) - counts / 2) / counts.sum()
    if len(distinct) > _MOST_KNOTS:
        chosen = np.unique(np.searchsorted(shares, np.linspace(shares[0], shares[-1], _MOST_KNOTS)))
        distinct, shares = distinct[chosen], shares[chosen]
    return np.stack([distinct, shares])


def unit_sigmoid(z):
    """Return z / √(1 + z²), which is ±1 at infinity."""
    finite = np.where(np.isinf(z), 0.0, z)
    return np.where(np.isinf(z), np.sign(z), finite / np.hypot(1.0, finite))


def frequent_levels(
    levels: np.ndarray, counts: np.ndarray, max_levels: int
) -> tuple[np.ndarray, bool]:
    """Return the sorted levels that get a column of their own, and whether the others share one.

    Of two levels the first needs none, and a column that is all one level has no column.
    """
    if len(levels) <= 2:
        return levels[1:].astype(object), False
    if len(levels) <= max_levels:
        return levels.astype(object), False
    often = np.sort(np.argsort(-counts, kind="stable")[: max_levels - 1])
    return levels[often].astype(object), True


def level_codes(texts: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return the position of each text among ``levels``, −1 for others."""
    place = {level: code for code, level in enumerate(levels)}
    return np.array([place.get(text, -1) for text in texts], dtype=np.intp)


def slopes_between(knots: np.ndarray, values: np.ndarray, side: int) -> np.ndarray:
    """Return the slope between the knots; at a knot from one side, or the mean of both."""
    knots, shares = knots
    rises = np.concatenate([[0.0], np.diff(shares) / np.diff(knots), [0.0]])
    below, above = (rises[np.searchsorted(knots, values, side=end)] for end in ("left", "right"))
    return below if side < 0 else above if side > 0 else (below + above) / 2
