"""Find the start of the table in a text file, and its line of column names if there is one."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..columns.written_numbers import POINT, number_of

# Rows among which the header is searched.
_SEARCHED = 50
# Cells of the sample by which columns are described.
SAMPLE_CELLS = 20_000
_MOSTLY = 0.95  # of the values of a column of numbers are numbers
_FEW_ROWS = 5
MISSING = frozenset({"", "?", "-", ".", "na", "n/a", "nan", "null", "none"})
_DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ].*)?|\d{1,4}[-/]\d{1,2}|\d{1,2}:\d{2}(?::\d{2})?"
)
_DIGIT = re.compile(r"[0-9]")
_NUMBER, _DAY, _WORD = "number", "date", "text"
_FIRST_YEAR, _LAST_YEAR = 1800, 2200


@dataclass(frozen=True)
class Layout:
    """Number of rows before the table; True if its first row holds the names of columns."""

    n_before: int
    header: bool


def cell_kind(cell: str, decimal: str) -> str | None:
    """Return "number", "date" or "text", None for a missing value.

    >>> [cell_kind(cell, ".") for cell in ("$1,200", "007", "2021-04-25", "size", "n/a")]
    ['number', 'number', 'date', 'text', None]
    """
    cell = cell.strip()
    if cell.casefold() in MISSING:
        return None
    if not _DIGIT.search(cell):
        return _WORD
    if (cell.isascii() and cell.isdigit()) or np.isfinite(number_of(cell, decimal)):
        return _NUMBER
    return _DAY if _DATE.fullmatch(cell) else _WORD


def table_width(rows: Sequence[Sequence[str]]) -> int:
    """Return the most frequent number of fields, in a tie the one of the later rows."""
    counts = Counter(len(row) for row in rows)
    last = {len(row): i for i, row in enumerate(rows)}
    return max(counts, key=lambda width: (counts[width], last[width]), default=0)


def column_kinds(rows: Sequence[Sequence[str]], width: int, decimal: str) -> list[str | None]:
    """Return "number", "date" or "text" for each column, None for a column without values."""
    rows = rows[: max(2, SAMPLE_CELLS // max(width, 1))]
    kinds: list[str | None] = []
    for j in range(width):
        counts = Counter(cell_kind(row[j], decimal) for row in rows if j < len(row))
        del counts[None]
        most, n_most = counts.most_common(1)[0] if counts else (None, 0)
        kinds.append(most if n_most >= _MOSTLY * counts.total() else _WORD)
    return kinds


def find_layout(
    rows: Sequence[Sequence[str]],
    decimal: str | None,
    header: bool | None,
    expected: Sequence[str] = (),
) -> Layout:
    """Find the first row of the table, and decide if it holds names unless ``header`` is given.

    A row that has all names in ``expected`` is the header.

    >>> find_layout([["Sales 2020"], ["day", "n"], ["1", "2"], ["2", "5"]], ".", None)
    Layout(n_before=1, header=True)
    >>> find_layout([["1.5", "a"], ["2.5", "b"]], ".", None)
    Layout(n_before=0, header=False)
    """
    if header is not False and expected:
        for i, row in enumerate(rows[:_SEARCHED]):
            if set(expected) <= {cell.strip() for cell in row}:
                return Layout(i, True)
    if not rows:
        return Layout(0, header is not False)
    table = FirstRows(rows, decimal)
    first, names = table.first_row()
    if header is None:
        header = names or not table.holds_values(first)
    return Layout(first, header)


def are_names(cells: Iterable[str]) -> bool:
    """Return True if all cells are different words, none of them a number."""
    cells = [cell.strip() for cell in cells]
    return len(set(cells)) == len(cells) and all(cell_kind(cell, POINT) == _WORD for cell in cells)


class FirstRows:
    """Rows of the beginning of a file, and tests for a header."""

    def __init__(self, rows: Sequence[Sequence[str]], decimal: str | None):
        self.rows, self.decimal, self.width = rows, decimal or POINT, table_width(rows)

    def first_row(self) -> tuple[int, bool]:
        """Return the index of the first row of the table, and True if it is known to hold names."""
        padded = self._end_of_padded_lines()
        if padded:
            return padded, True
        searched = self.rows[:_SEARCHED]
        first = next((i for i, row in enumerate(searched) if len(row) == self.width), 0)
        if first == 0:
            return 0, False
        if self.is_header(first):
            return first, True
        *titles, last = self.rows[:first]
        # Lines may have one field more than the header: names of rows, or a separator at their end.
        shorter = len(last) > 1 or (self.width == 2 and " " not in last[0].strip())
        if are_names(last) and shorter and all(map(_is_title, titles)):
            return first - 1, True
        if _is_title(last) and all(map(_is_title, titles)):
            return first, False
        return 0, True

    def _end_of_padded_lines(self):
        """Count lines before the header that a spreadsheet has padded with separators."""
        for i, row in enumerate(self.rows[:_SEARCHED]):
            if len(row) != self.width or all(cell.strip() for cell in row):
                return i if i and len(row) == self.width > 2 and self.is_header(i) else 0
            if row[-1].strip():
                return 0
        return 0

    def is_header(self, i: int) -> bool:
        """Return True if the row has words where the rows below have numbers or dates."""
        n_same, n_other = self._compared(i)
        return n_other > 0 and (n_other >= n_same or self._are_numeric_names(i))

    def holds_values(self, i: int) -> bool:
        """Return True if the row has values like those below it instead of names."""
        n_same, n_other = self._compared(i)
        if n_same == n_other == 0:
            return self._recurs(i)
        return n_same > n_other and not self._are_numeric_names(i)

    def _compared(self, i):
        """Count cells of the same kind as the numbers and dates below, and of another kind."""
        n_same = n_other = 0
        for cell, kind in zip(self.rows[i], self._kinds_below(i)):
            own = cell_kind(cell, self.decimal)
            if kind in (_NUMBER, _DAY) and own is not None:
                n_same, n_other = n_same + (own == kind), n_other + (own != kind)
        return n_same, n_other

    def _kinds_below(self, i):
        return column_kinds(self.rows[i + 1 :], self.width, self.decimal)

    def _are_numeric_names(self, i):
        """Return True for names 0, 1, 2, … and for years above columns of other numbers."""
        kinds = self._kinds_below(i)
        places = [
            j for j, cell in enumerate(self.rows[i]) if cell_kind(cell, self.decimal) == _NUMBER
        ]
        places = [j for j in places if j < self.width and kinds[j] == _NUMBER]
        names = np.array([number_of(self.rows[i][j], self.decimal) for j in places])
        if len(names) == 0 or np.any(names != np.round(names)):
            return False
        counted = bool(np.all(np.diff(names) == 1)) and (names[0] == 0 or len(names) >= _FEW_ROWS)
        below = [
            number_of(row[j], self.decimal)
            for row in self.rows[i + 1 :]
            for j in places
            if j < len(row)
        ]
        years = len(set(names)) == len(names) and bool(np.all(_is_year(names)))
        return counted or (years and np.mean(_is_year(np.array(below))) < 0.5)

    def _recurs(self, i):
        """Return True if every word of the row is repeated below, in rows that differ from it."""
        row = [cell.strip() for cell in self.rows[i]]
        below = [[cell.strip() for cell in other] for other in self.rows[i + 1 :]]
        below = [other for other in below if other != row and len(other) == len(row)]
        words = [j for j, cell in enumerate(row) if cell]
        if len(words) < 2 or len(below) < _FEW_ROWS:
            return False
        return all(any(other[j] == row[j] for other in below) for j in words)


def _is_title(row):
    """Return True for a line that holds at most one text."""
    return sum(bool(cell.strip()) for cell in row) <= 1


def _is_year(numbers):
    return (numbers >= _FIRST_YEAR) & (numbers <= _LAST_YEAR)
