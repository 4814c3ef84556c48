"""Detect the dialect of a text file: encoding, separator, decimal mark, header."""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from ..._terminal.text import quoted
from ..columns.written_numbers import COMMA, POINT, decimal_of
from .encodings import encoding_note, encoding_of
from .headers import (
    SAMPLE_CELLS,
    FirstRows,
    Layout,
    are_names,
    column_kinds,
    find_layout,
    table_width,
)

SEPARATORS = (",", ";", "\t", "|")
WHITESPACE = r"\s+"  # runs of spaces and tabs, as pandas writes them
_SAMPLE_ROWS = 500
_SEPARATOR_LINE = re.compile(r'"?sep=(.)\1*"?[\r\n]*', re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_SHOWN_LINES = 3


@dataclass(frozen=True)
class Training:
    """Properties of the training table, for tables that are read like it.

    ``used`` are the columns that the model needs. ``unnamed`` are all columns of a file without a
    header, target included.
    """

    used: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()
    target: str = ""
    sep: str | None = None
    skip_rows: int | None = None

    def names(self, n_columns: int) -> list[str]:
        """Return names for the columns of a file without a header; the target may be missing."""
        others = [name for name in self.unnamed if name != self.target]
        if len(others) == n_columns:
            return others
        return [f"column_{k}" for k in range(1, n_columns + 1)]


@dataclass(frozen=True)
class TextOptions:
    """Properties of a text file; None for those to detect from its content.

    ``doubtful_decimal`` is the decimal mark if the file does not decide, e.g. with 1,234 only.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    skip_rows: int | None = None
    header: bool | None = None
    doubtful_decimal: str = POINT
    training: Training = field(default_factory=Training)


@dataclass(frozen=True)
class Dialect:
    """Notation of a text file.

    ``decimal`` is None if the file does not decide. ``n_lines`` come before the rows: the header
    and all before it. Rows have ``n_surplus`` fields more than the header; if ``closed``, a
    separator ends each.
    """

    separator: str
    decimal: str | None
    encoding: str
    n_surplus: int = 0
    closed: bool = False
    header: bool = True
    names: tuple[str, ...] = field(default=(), repr=False)
    n_lines: int = field(default=0, repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class _Line:
    """A row of fields, and the numbers of its first line and of the line after it."""

    cells: list[str]
    start: int
    end: int


def dialect_of(beginning: bytes, complete: bool, options: TextOptions | None = None) -> Dialect:
    """Return the dialect of a file that begins with these bytes (``complete``: the whole file).

    >>> dialect_of(b"size;kind\\n1,5;a, b\\n2,5;c\\n", True)
    Dialect(separator=';', decimal=',', encoding='utf-8', n_surplus=0, closed=False, header=True)
    """
    options = options or TextOptions()
    encoding = options.encoding or encoding_of(beginning, complete)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(beginning, complete)
    if not complete:
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text
    lines = list(io.StringIO(text, newline=""))
    separator, first = options.sep, 0
    if lines and (given := _SEPARATOR_LINE.fullmatch(lines[0])):
        separator, first = options.sep or given[1], 1
    if options.skip_rows is None:
        start = _after_comments(lines, first)
    else:
        start = first = max(first, options.skip_rows)
    dialect = _dialect(lines, first, start, separator, encoding, options)
    n_lines = options.training.skip_rows if options.skip_rows is None else None
    if n_lines and not set(options.training.used) <= set(dialect.names):
        return dialect_of(beginning, complete, replace(options, skip_rows=n_lines))
    return dialect


def _dialect(lines, first, start, separator, encoding, options):
    """Find the rest of the dialect; comments are between ``first`` and ``start``."""
    separator = separator or _separator_of(lines[start:], options.training.sep)
    rows = list(split_rows(lines[start:], separator, start))
    sample = _sample([row.cells for row in rows])
    decimal = options.decimal or decimal_of(sample, doubtful="") or None
    layout, rows = _layout(lines, first, start, rows, separator, decimal, options)
    rows = rows[layout.n_before :]
    head, body = (rows[0].cells, rows[1:]) if layout.header and rows else ([], rows)
    skipped = lines[first : rows[0].start] if rows else []
    body = [row.cells for row in body]
    notes = encoding_note(encoding) if options.encoding is None else []
    notes += _skipped_note(skipped, layout.header) if options.skip_rows is None else []
    n_surplus, closed = 0, False
    if layout.header:
        n_surplus = max(0, table_width([head, *body]) - len(head))
        closed = n_surplus == 1 and all(len(row) == len(head) + 1 and not row[-1] for row in body)
        written = [name.strip() or f"Unnamed: {j}" for j, name in enumerate(head)]
        names = unique_names(written)
        notes += numbered_note(written, names)
    else:
        names = options.training.names(table_width(body))
        if options.header is None and not options.training.unnamed and names:
            called = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
            notes.append(
                f"The file has no line of column names; its columns are called {called} "
                "(--header reads the first line as names)."
            )
    n_lines = (rows[0].end if layout.header else rows[0].start) if rows else len(lines)
    return Dialect(
        separator,
        decimal,
        encoding,
        n_surplus,
        closed,
        header=layout.header,
        names=tuple(names),
        n_lines=n_lines,
        notes=tuple(notes),
    )


def _layout(lines, first, start, rows, separator, decimal, options):
    """Return the layout and the rows; a last comment that holds the names is the first row."""
    cells = [row.cells for row in rows]
    table, header = FirstRows(cells, decimal), options.header
    if header is None and options.training.unnamed:
        named = find_layout(cells, decimal, None, options.training.used)
        names = [cell.strip() for cell in cells[named.n_before]] if cells else []
        header = set(options.training.used) <= set(names)
    if options.skip_rows is not None:
        if header is None:
            header = not cells or not table.holds_values(0)
        return Layout(0, header), rows
    layout = find_layout(cells, decimal, header, options.training.used)
    comment = _header_in_comment(lines, first, start, separator)
    in_comment = comment is not None and len(comment.cells) == table.width
    if in_comment and layout.n_before == 0 and header is None and not table.is_header(0):
        return Layout(0, True), [comment, *rows]
    return layout, rows


def _after_comments(lines, first):
    """Return the number of the first line that is neither blank nor a comment, or ``first``."""
    is_table = (bool(line.strip()) and not line.lstrip().startswith("#") for line in lines[first:])
    return next((first + i for i, yes in enumerate(is_table) if yes), first)


def _header_in_comment(lines, first, start, separator):
    """Return the last comment if it is a header such as "# x y z", else None."""
    number = next((i for i in range(start - 1, first - 1, -1) if lines[i].strip()), None)
    if number is None:
        return None
    text = lines[number].strip()
    if not text[1:].lstrip(" ").startswith(separator):  # the first name may be "#" itself
        text = text.lstrip("# \t")
    row = next(split_rows([text], separator, number), None)
    if row is None or len(row.cells) < 2 or not are_names(row.cells):
        return None
    return row


def _skipped_note(lines, header):
    texts = [" ".join(line.split()) for line in lines if line.strip(" \t\r\n,;|")]
    if not texts:
        return []
    shown = ", ".join(map(quoted, texts[:_SHOWN_LINES]))
    more = f" and {len(texts) - _SHOWN_LINES} more" if len(texts) > _SHOWN_LINES else ""
    counted = f"{len(texts)} line{'s' * (len(texts) > 1)}"
    where = "the header" if header else "the first row"
    return [f"Skipped {counted} before {where}: {shown}{more}."]


def unique_names(names: Sequence[str]) -> list[str]:
    """Number names that occur again, as pandas does.

    >>> unique_names(["a", "b", "a"])
    ['a', 'b', 'a.1']
    """
    unique: dict[str, None] = {}
    for name in names:
        k, numbered = 0, name
        while numbered in unique:
            k += 1
            numbered = f"{name}.{k}"
        unique[numbered] = None
    return list(unique)


def numbered_note(names: Sequence[str], unique: Sequence[str]) -> list[str]:
    """Return a note on column names that got a number."""
    numbered = [new for name, new in zip(names, unique) if new != name]
    shown = ", ".join(map(repr, numbered[:8]))
    return [f"Repeated column names got a number: {shown}."] if numbered else []


def _separator_of(lines: Sequence[str], usual: str | None = None) -> str:
    """Return the mark that splits most lines into the same number of fields; a comma if none does.

    Of equally good marks ``usual`` is preferred, then the one with the largest share of columns of
    numbers: 1,5;2,5 holds two numbers. Runs of spaces separate fields if all lines then have the
    same number of them, with more columns of numbers.
    """

    def agreement(mark):
        rows = [row.cells for row in split_rows(lines, mark)]
        width = table_width(rows)
        if mark == COMMA and _holds_decimal_commas(rows):
            return -1.0, False, 0.0, 0
        if width < 2:
            return 0.0, False, 0.0, 0
        share = sum(len(row) == width for row in rows) / len(rows)
        return share, mark == usual, _n_numeric(rows) / width, width

    best = max(SEPARATORS, key=agreement)
    by_spaces = [row.cells for row in split_rows(lines, WHITESPACE)]
    if len(by_spaces) < 2 or len({len(row) for row in by_spaces}) > 1 or len(by_spaces[0]) < 2:
        return best
    by_best = [row.cells for row in split_rows(lines, best)]
    return WHITESPACE if _n_numeric(by_spaces) > _n_numeric(by_best) else best


def _holds_decimal_commas(rows):
    """Return True for a single name above lines such as 1,5: then commas are decimal marks."""
    if len(rows) < 2 or len(rows[0]) != 1 or not are_names(rows[0]):
        return False
    return all(len(row) == 2 and _WHOLE.fullmatch(row[0]) and row[1].isdigit() for row in rows[1:])


def _n_numeric(rows):
    return column_kinds(rows[1:], table_width(rows), decimal_of(_sample(rows))).count("number")


def _sample(rows):
    return list(islice(chain.from_iterable(rows[1:]), SAMPLE_CELLS))


def split_rows(lines: Sequence[str], separator: str, first: int = 0) -> Iterator[_Line]:
    """Split lines into rows of fields as pandas does, without blank ones.

    ``first`` is the number of the first line.
    """
    if separator == WHITESPACE:
        separator = " "
        lines = [line.replace("\t", " ").strip() + "\n" for line in islice(lines, _SAMPLE_ROWS)]
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    start = first
    try:
        for cells in islice(reader, _SAMPLE_ROWS):
            if cells and (len(cells) > 1 or cells[0].strip()):
                yield _Line(cells, start, first + reader.line_num)
            start = first + reader.line_num
    except csv.Error:  # a field that is never closed or too long: use the rows before it
        return
