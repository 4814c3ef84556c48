"""A closing row of totals in a text file, which is not an observation."""

import codecs
import re

import numpy as np

from ..._terminal.text import quoted
from ..columns.written_numbers import POINT, number_of
from .dialects import SAMPLE_ROWS, Dialect, split_rows
from .headers import MISSING, column_kinds

_WORDS = (
    r"(?:grand |sub)?totals?|sums?|(?:gesamt)?summe|gesamt|insgesamt|total général|somme|totale|"
    r"somma|suma|average|mean|mittelwert|durchschnitt|moyenne|итого|合計|合计|总计"
)
_TOTAL = re.compile(rf"(?:{_WORDS})\b[\s:=(].*|(?:{_WORDS})", re.IGNORECASE)
_SHOWN = 60  # characters
# Share of missing values in a column that is otherwise complete.
_HARDLY_EVER = 0.05


def closing_row(
    ending: bytes, beginning: bytes, dialect: Dialect, complete: bool
) -> tuple[int, list[str]]:
    """Return the number of bytes of a closing totals row, 0 if there is none, and a note on it.

    ``beginning`` and ``ending`` are the first and last bytes of the file. ``complete``: the dialect
    was found from all of its rows.
    """
    encoding = _without_mark(dialect.encoding, beginning)
    text = codecs.decode(ending, encoding, "replace")
    row = _last_row(text, dialect.separator)
    complete = complete and len(dialect.body) < SAMPLE_ROWS // 2
    above = dialect.body[:-1] if complete else dialect.body
    if row is None or len(above) < 2 or len(row) > len(above[0]):
        return 0, []
    row = [*row, *[""] * (len(above[0]) - len(row))]
    line = text[_start_of_last_line(text) :]
    shown = quoted(line.strip(), _SHOWN)
    seems, certain = _assessed(row, above, dialect.decimal or POINT, complete)
    if certain:
        note = f"The last row holds totals and is left out: {shown}."
        return len(line.encode(encoding, "replace")), [note]
    kept = f"The last row may hold totals, but is used: {shown}. If it does, delete it."
    return 0, [kept] if seems else []


def _assessed(row, above, decimal, complete):
    """Return True if the row seems to hold totals, and True if this is certain."""
    row = [cell.strip() for cell in row]
    filled = [j for j, cell in enumerate(row) if cell.casefold() not in MISSING]
    if not filled:
        return False, False
    kinds = column_kinds(above, len(row), decimal)
    empty = [j for j in range(len(row)) if j not in filled]
    missed = [j for j in empty if _share_missing(above, j) < _HARDLY_EVER]
    first = filled[0]
    if not _TOTAL.fullmatch(row[first]):
        numbers = all(
            np.isfinite(number_of(row[j], decimal)) and kinds[j] == "number" for j in filled
        )
        alone = len(filled) == 1 and len(missed) >= 2 and len(missed) == len(empty)
        return (numbers and alone,) * 2
    if any(_TOTAL.fullmatch(other[first].strip()) for other in above if first < len(other)):
        return False, False
    sums = complete and any(
        _is_sum(row[j], [other[j] for other in above if j < len(other)], decimal) for j in filled
    )
    return True, kinds[first] in ("number", "date") or len(missed) * 2 >= len(row) - 1 > 0 or sums


def _share_missing(rows, j):
    return np.mean([j >= len(row) or row[j].strip().casefold() in MISSING for row in rows])


def _is_sum(cell, cells, decimal):
    numbers = np.array([number_of(other, decimal) for other in cells])
    total = number_of(cell, decimal)
    return (
        len(numbers) > 1
        and np.isfinite(total)
        and bool(np.isclose(np.nansum(numbers), total, rtol=1e-6))
    )


def _without_mark(encoding: str, beginning: bytes) -> str:
    """Return the encoding of text that does not begin with a byte order mark."""
    if encoding in ("utf-16", "utf-32"):
        big_endian = beginning[:1] in (b"\xfe", b"\0")
        return f"{encoding}-{'be' if big_endian else 'le'}"
    return encoding.removesuffix("-sig")


def _start_of_last_line(text: str) -> int:
    """Return the start of the last line that is not blank, 0 if there is only one line."""
    stripped = text.rstrip()
    return max(stripped.rfind("\n"), stripped.rfind("\r")) + 1


def _last_row(text: str, separator: str) -> list[str] | None:
    """Return the fields of the last line, None if it is incomplete or part of a quoted field."""
    start = _start_of_last_line(text)
    line = text[start:].strip("\r\n")
    if start == 0 or line.count('"') % 2:
        return None
    row = next(split_rows([line], separator), None)
    return None if row is None else row.cells
