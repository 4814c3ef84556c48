"""Rows of a text file in pieces, read by pandas."""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from ..._terminal.text import one_line
from ..errors import TableError, needed
from .dialects import WHITESPACE, Dialect, TextOptions, dialect_of
from .encodings import encoding_note, encoding_of
from .pieces import rows_at_once
from .sources import Source

# Name of a field that no column has: names of rows, or nothing after the last separator.
_SURPLUS = "\0surplus"


@dataclass(frozen=True)
class TextFile:
    """A text file and its dialect."""

    source: Source
    dialect: Dialect
    decimal: str
    attrs: dict[str, Any]

    @classmethod
    def detect(cls, source: Source, options: TextOptions) -> Self:
        """Detect the dialect from the beginning of the file."""
        sep = WHITESPACE if options.sep == " " else options.sep
        options = replace(options, sep=sep or source.separator())
        dialect = dialect_of(*source.beginning(), options)
        if not dialect.names:
            raise TableError(
                f"{source.name} is empty: it needs a line of column names and lines of values."
            )
        if dialect.n_surplus > 1:
            n_names = len(dialect.names)
            raise TableError(
                f"{source.name} cannot be read: its lines have {n_names + dialect.n_surplus} "
                f"fields, but its header has {n_names}."
            )
        notes = list(dialect.notes)
        if dialect.n_surplus and not dialect.closed:
            notes.append("Lines have one field more than the header: the first holds row names.")
        attrs = {
            "sep": dialect.separator,
            "decimal": dialect.decimal,
            "notes": notes or None,
            "header": None if dialect.header else False,
            "skip_rows": options.skip_rows,
        }
        attrs = {name: value for name, value in attrs.items() if value is not None}
        return cls(source, dialect, dialect.decimal or options.doubtful_decimal, attrs)

    @classmethod
    def detect_from_letters(cls, source: Source, options: TextOptions) -> Self:
        """Detect the dialect, with the encoding of the whole file instead of its beginning."""
        encoding = encoding_of(source.letters(), complete=True)
        file = cls.detect(source, replace(options, encoding=encoding))
        notes = [*encoding_note(encoding), *file.attrs.get("notes", [])]
        return replace(file, attrs=file.attrs | ({"notes": notes} if notes else {}))

    def pieces(
        self, declared: Mapping[str, Any], columns: Sequence[str] | None = None, **options: Any
    ) -> Iterator[Any]:
        """Iterate over frames of some rows each; columns in ``declared`` have these types."""
        pandas = needed("pandas")
        names = list(self.dialect.names)
        if self.dialect.n_surplus:
            names = [*names, _SURPLUS] if self.dialect.closed else [_SURPLUS, *names]
        options = {
            "sep": self.dialect.separator,
            "decimal": self.decimal,
            "header": None,
            "names": names,
            "usecols": columns,
            "low_memory": False,  # a column of a piece has one type
            "skipinitialspace": True,
            "chunksize": rows_at_once(len(names)),
            "dtype": dict(declared) or None,
        } | options
        with self.source.lines(self.dialect.encoding) as stream:
            for _ in range(self.dialect.n_lines):
                stream.readline()
            try:
                with _without_warnings():
                    reader = pandas.read_csv(stream, **options)
                with reader:
                    while (piece := self._next(reader)) is not None:
                        yield piece
            except pandas.errors.ParserError as error:
                words = _parser_message(str(error), self.dialect.n_lines)
                raise TableError(f"{self.source.name} cannot be read: {words}") from None

    def whole_column(self, name: str) -> Any:
        """Return all values of a column at once."""
        return next(self.pieces({}, columns=[name], chunksize=2**62))[name]

    def _next(self, reader):
        with _without_warnings():
            piece = next(reader, None)
        if piece is None:
            return None
        if not isinstance(piece.index, needed("pandas").RangeIndex) or piece.index.step != 1:
            # pandas uses fields without a name as row names.
            raise TableError(
                f"{self.source.name} cannot be read: line {self.dialect.n_lines + 1} has more "
                f"fields than the {len(self.dialect.names)} names of columns."
            )
        if _SURPLUS in piece.columns:
            piece = piece.drop(columns=_SURPLUS)
        piece = piece.reset_index(drop=True)
        piece.attrs |= self.attrs
        return piece


def _without_warnings() -> Any:
    return warnings.catch_warnings(action="ignore", category=needed("pandas").errors.ParserWarning)


def _parser_message(error: str, n_before: int) -> str:
    """Rephrase errors of pandas about lines, after ``n_before`` skipped lines."""
    ragged = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", error)
    if ragged:
        expected, line, saw = map(int, ragged.groups())
        return (
            f"line {line + n_before} has {saw} fields, but the lines before it have {expected}. "
            "Put quotes around values that hold the separator."
        )
    unclosed = re.search(r"EOF inside string starting at row (\d+)", error)
    if unclosed:
        line = int(unclosed[1]) + 1 + n_before
        return f"a quotation mark that opens in line {line} is never closed."
    return one_line(ValueError(error.replace("Error tokenizing data. C error: ", "")))
