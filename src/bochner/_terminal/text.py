"""Numbers, names and plain tables as text."""

import math
from numbers import Real
from typing import Any


def is_number(value: Any) -> bool:
    """Return True for real numbers except truth values."""
    return isinstance(value, Real) and not isinstance(value, bool)


def cell_number(cell: Any) -> Any:
    """Return the number or mean of a cell of a summary's table, None for other cells."""
    number: Any = cell.get("mean") if isinstance(cell, dict) else cell
    return number if is_number(number) and math.isfinite(number) else None


def cell_text(cell: Any) -> str:
    """Return a cell of a summary's table as a short text.

    >>> cell_text({"mean": 97.125, "std": 0.51, "n": 20}), cell_text(3), cell_text(None)
    ('97.12 ± 0.51', '3', '–')
    """
    if cell is None:
        return "–"
    if isinstance(cell, dict):
        return spread_text(cell["mean"], cell["std"])
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return number_text(cell) if is_number(cell) else str(cell)


def spread_text(mean: float, std: float) -> str:
    """Return mean ± spread, with two significant digits of the spread.

    >>> spread_text(90.664, 2.04), spread_text(0.99154, 0.00113), spread_text(100.0, 0.0)
    ('90.7 ± 2.0', '0.9915 ± 0.0011', '100 ± 0')
    """
    if std > 0 and math.isfinite(std):
        decimals = max(0, 1 - math.floor(math.log10(std)))
        if decimals <= 6:
            return f"{mean:.{decimals}f} ± {std:.{decimals}f}"
    return f"{number_text(mean)} ± {number_text(std, digits=2)}"


def number_text(number: float, digits: int = 4) -> str:
    """Return a number with ``digits`` significant digits, integers in full."""
    if isinstance(number, int) or (float(number).is_integer() and abs(number) < 1e15):
        return str(int(number))
    return f"{number:.{digits}g}"


def aligned(columns: list[str], rows: list[list[str]]) -> str:
    """Return a plain table, with numbers aligned to the right."""
    padded = []
    for heading, *cells in zip(columns, *rows):
        width = max(len(cell) for cell in (heading, *cells))
        numbers = all(cell[:1].isdigit() or cell[:1] in "-–+" for cell in cells)
        pad = str.rjust if numbers else str.ljust
        padded.append([pad(cell, width) for cell in (heading, "-" * width, *cells)])
    return "\n".join("  ".join(row).rstrip() for row in zip(*padded))


def some_names(names: list[str], limit: int = 8) -> str:
    """Return the first names of a list for a sentence.

    >>> some_names(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def quoted(text: str, limit: int = 40) -> str:
    """Return a text in quotation marks, shortened to ``limit`` characters.

    >>> quoted("soon"), quoted("x" * 50, limit=5)
    ("'soon'", "'xxxxx…'")
    """
    return repr(text if len(text) <= limit else f"{text[:limit]}…")


def one_line(error: BaseException) -> str:
    """Return the message of an error on one line of at most 200 characters."""
    return " ".join(str(error).split())[:200] or type(error).__name__
