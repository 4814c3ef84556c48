"""How a text file is written, told from its beginning: encoding, separator, decimal mark; and what is no text at all."""

import codecs
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

from .written_numbers import decimal_of

SEPARATORS = (",", ";", "\t", "|")
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"SQLite format 3": "a database",
    b"ARROW1": "an Arrow file",
}
_CONTROL = frozenset(map(chr, range(32))) - frozenset("\t\n\r\f\x1a")
_ROWS, _CELLS = 500, 20_000


class BinaryContent(ValueError):
    """Bytes that are no text; the message says what they are."""


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    ``decimal`` is None where it does not tell; a line has ``n_surplus`` fields more than the header; ``closed``: each ends in a separator.
    """

    separator: str
    decimal: str | None
    encoding: str
    n_surplus: int = 0
    closed: bool = False
    n_columns: int = field(default=1, repr=False, compare=False)


def dialect_of(
    beginning: bytes,
    complete: bool,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Dialect:
    """The dialect of a file that begins so (``complete``: that is all of it); what is given is not asked of the bytes.

    >>> dialect_of(b"size;kind\\n1,5;a, b\\n2,5;c\\n", True)
    Dialect(separator=';', decimal=',', encoding='utf-8', n_surplus=0, closed=False)
    """
    encoding = encoding or encoding_of(beginning, complete)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(beginning, complete)
    if not complete:
        text = text[: text.rfind("\n") + 1] or text
    separator = separator or _separator_of(text)
    header, *lines = [row for row in _rows(text, separator) if row] or [[]]
    cells = [cell.strip() for cell in islice(chain.from_iterable(lines), _CELLS)]
    n_surplus = max(0, len(lines[0]) - len(header)) if lines else 0
    closed = n_surplus == 1 and all(len(line) == len(header) + 1 and not line[-1] for line in lines)
    return Dialect(
        separator, decimal or decimal_of(cells, doubtful="") or None, encoding, n_surplus, closed, len(header)
    )


def encoding_of(beginning: bytes, complete: bool) -> str:
    """UTF-8 where the bytes are, UTF-16 and UTF-32 by their byte order mark or their zeros, else Windows-1252 or Latin-1."""
    for mark, name in _BYTE_ORDER_MARKS.items():
        if beginning.startswith(mark):
            return name
    foreign = next((what for start, what in _FOREIGN.items() if beginning.startswith(start)), None)
    if foreign:
        raise BinaryContent(f"it is {foreign}")
    if b"\0" in beginning:
        # Latin letters in UTF-16 have a zero in every other byte.
        for name, zeros, letters in (
            ("utf-16-le", slice(1, 2000, 2), slice(0, 2000, 2)),
            ("utf-16-be", slice(0, 2000, 2), slice(1, 2000, 2)),
        ):
            odd = beginning[zeros]
            if odd.count(0) > 0.7 * len(odd) and beginning[letters].count(0) == 0:
                return name
        raise BinaryContent("it holds bytes of zero")
    for name in ("utf-8", "cp1252"):
        try:
            text = codecs.getincrementaldecoder(name)().decode(beginning, complete)
        except UnicodeDecodeError:
            continue
        break
    else:
        name, text = "latin-1", beginning.decode("latin-1")
    if sum(character in _CONTROL for character in text) > 0.01 * len(text):
        raise BinaryContent("it is full of control characters")
    return name


def _separator_of(text: str) -> str:
    """The mark that splits the header, and most of the lines, into the same number of fields; a comma where none does."""

    def agreement(mark):
        counts = [len(row) for row in _rows(text, mark) if row]
        if not counts or counts[0] < 2:
            return 0.0, 0
        return sum(count == counts[0] for count in counts) / len(counts), counts[0]

    return max(SEPARATORS, key=agreement)


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    try:
        yield from islice(csv.reader(io.StringIO(text, newline=""), delimiter=separator), _ROWS)
    except csv.Error:  # a field without an end: those before it tell what there is to tell
        return
