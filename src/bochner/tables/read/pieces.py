"""Tables in pieces that have the column types of the whole table, found by a first pass.

The type depends on all values: numbers with one word among them are texts, and integers with one
missing value are floats.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from ..._terminal.progress import track
from ...data import release_scratches
from ...data.columns import EXACT_INTEGERS
from ...data.tables import FRAME_BLOCK
from ..errors import TableError
from .spooling import column_buffer, is_large

# Rows of a piece, fewer for many columns: a multiple of the blocks of tabular models, so that
# predictions of pieces have the same digits as those of the whole table.
ROWS_AT_ONCE, _CELLS_AT_ONCE = 12 * FRAME_BLOCK, 2**22

# Iterates over the pieces of a table; the arguments are types of some columns of a text file (a
# mapping) and, optionally, the ``columns`` to read.
Read = Callable[..., Iterator[Any]]


def rows_at_once(n_columns: int) -> int:
    """Return the number of rows of a piece."""
    n_rows = _CELLS_AT_ONCE // max(n_columns, 1) // FRAME_BLOCK * FRAME_BLOCK
    return min(ROWS_AT_ONCE, max(n_rows, FRAME_BLOCK))


@dataclass
class _SeenTypes:
    """Types and kinds of a column in pieces with values, and its type in pieces without."""

    types: dict[str, Any] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)
    of_empty: Any = None
    largest: int = 0

    def add(self, column):
        if _is_empty(column):
            self.of_empty = column.dtype
            return
        self.types.setdefault(str(column.dtype), column.dtype)
        self.kinds.add(_kind(column))
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu":
            self.largest = max(self.largest, abs(int(column.min())), abs(int(column.max())))

    def whole_type(self):
        """Return the type of the whole column."""
        import pandas

        kinds = list(self.types.values())
        if not kinds:
            return self.of_empty
        has_empty_piece = self.of_empty is not None
        if has_empty_piece and all(
            isinstance(kind, np.dtype) and kind.kind in "iu" for kind in kinds
        ):
            kinds.append(np.dtype(np.float64))
        if len(kinds) == 1:
            is_truth = kinds[0].kind == "b"
            return np.dtype(object) if has_empty_piece and is_truth else kinds[0]
        if self.kinds == {"number"} and all(isinstance(kind, np.dtype) for kind in kinds):
            return np.result_type(*kinds)
        if all(isinstance(kind, pandas.CategoricalDtype) for kind in kinds):
            levels = list(dict.fromkeys(level for kind in kinds for level in kind.categories))
            return pandas.CategoricalDtype(levels, kinds[0].ordered)
        return np.dtype(object)


def _kind(column):
    """Return "number", "truth" or the name of a type; truth values with gaps are objects."""
    import pandas

    if column.dtype.kind in "iuf":
        return "number"
    infer = pandas.api.types.infer_dtype
    is_truth = column.dtype.kind == "b" or infer(column, skipna=True) == "boolean"
    return "truth" if is_truth else str(column.dtype)


def _is_empty(column):
    """Return True if all values are missing and the type could be any."""
    return (column.dtype.kind == "f" or str(column.dtype) == "object") and bool(column.isna().all())


@dataclass(frozen=True)
class Table:
    """A table whose pieces are read from its file each time; ``only`` is a single piece."""

    read: Read
    declared: dict[str, Any]
    types: dict[str, Any]
    n_rows: int
    attrs: dict[str, Any]
    only: Any = None

    def pieces(self) -> Iterator[Any]:
        """Iterate over frames with the types of the whole; a changed file raises an error."""
        if self.only is not None:
            yield self.only
            return
        n_read = 0
        for piece in self.read(self.declared):
            n_read += len(piece)
            if n_read <= self.n_rows:
                yield _typed(piece, self.types, self.attrs)
        if n_read != self.n_rows:
            raise TableError(
                f"The table had {self.n_rows} rows and now has {n_read}: its file was changed "
                "while it was read. Read it again."
            )

    def selected(self, names: Iterable[str]) -> "Table":
        """Return the table of some columns; if the format allows it, the others are not read."""
        types = {name: self.types[name] for name in names}
        declared = {name: kind for name, kind in self.declared.items() if name in types}
        return replace(
            self, read=partial(self.read, columns=list(types)), declared=declared, types=types
        )

    def whole(self) -> Any:
        """Return all rows in one frame; columns of a large table are in temporary files."""
        if self.only is not None:
            return self.only
        import pandas

        large = is_large(self.n_rows, len(self.types))
        buffers = {
            name: column_buffer(kind, self.n_rows, large) for name, kind in self.types.items()
        }
        for piece in self.pieces():
            for name, buffer in buffers.items():
                buffer.append(piece[name])
            if large:
                release_scratches()
        frame = pandas.DataFrame(
            {name: buffer.column() for name, buffer in buffers.items()}, copy=False
        )
        frame.attrs |= self.attrs
        return frame


def table_of(read: Read, whole_column: Callable[[str], Any] | None = None) -> Table:
    """Find the types of columns in a first pass.

    ``whole_column`` is for text files: it reads a column whose type pieces do not decide.
    """
    pieces = read({})
    first, second = next(pieces), next(pieces, None)
    if second is None:
        return Table(read, {}, dict(first.dtypes), len(first), first.attrs, first)
    seen: dict[str, _SeenTypes] = {}
    sizes: list[int] = []
    for piece in track(chain([first, second], pieces), "reading the types of columns"):
        for name in seen.keys() - set(piece.columns):
            seen[name].of_empty = np.dtype(np.float64)
        for name in piece.columns:
            if name not in seen:
                seen[name] = _SeenTypes(of_empty=np.dtype(np.float64) if sizes else None)
            seen[name].add(piece[name])
        sizes.append(len(piece))
    declared = {} if whole_column is None else _declared(seen, whole_column)
    types = {name: column.whole_type() for name, column in seen.items()} | declared
    return Table(read, declared, types, sum(sizes), dict(first.attrs))


def _declared(seen, whole_column):
    """Return types of columns of a text file that pieces alone would read differently.

    Different kinds together are texts. Integers above 2**53 beside other values are left to pandas.
    """
    import pandas

    text = pandas.Series(["a"]).dtype
    declared = {}
    for name, column in seen.items():
        mixed = len(column.types) > 1 or column.of_empty is not None
        if len(column.kinds) > 1:
            declared[name] = text
        elif mixed and column.largest >= EXACT_INTEGERS:
            kind = whole_column(name).dtype
            declared[name] = text if kind == np.dtype(object) else kind
    return declared


def _typed(piece, types, attrs):
    """Return a piece with the types of the whole; columns without values are missing values."""
    import pandas

    columns = {}
    for name, kind in types.items():
        column = piece[name] if name in piece.columns else None
        if column is not None and column.dtype == kind:
            columns[name] = column
        elif column is None or (_is_empty(column) and kind != np.dtype(object)):
            columns[name] = pandas.Series(np.nan, index=piece.index, dtype=kind)
        else:
            columns[name] = column.astype(kind)
    frame = pandas.DataFrame(columns, index=piece.index, copy=False)
    frame.attrs |= attrs
    return frame
