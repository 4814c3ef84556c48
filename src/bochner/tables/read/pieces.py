"""Tables in pieces of a few rows each that have the types of the whole: one pass over a file tells
these, the next ones use them.

What a column is depends on all of its values: numbers with one word among them are texts, and whole
numbers with one hole are floats.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from ..._terminal.progress import track
from ...data import release_scratches
from ...data.tables import FRAME_BLOCK
from ..errors import TableError
from .spooling import is_large, room_for

# Rows of a piece, fewer where there are many columns: always some blocks that the front door
# predicts at once, so that predictions of pieces have the digits of those of the whole.
ROWS_AT_ONCE, _CELLS_AT_ONCE = 12 * FRAME_BLOCK, 2**22
# Beyond these not every whole number is a float.
_EXACT = 2**53

# Iterates over the pieces of a table, given the types of some columns of a text file (a mapping)
# and, optionally, the ``columns`` to read.
Read = Callable[..., Iterator[Any]]


def rows_at_once(n_columns: int) -> int:
    """How many rows are read at once of a table of so many columns."""
    n_rows = _CELLS_AT_ONCE // max(n_columns, 1) // FRAME_BLOCK * FRAME_BLOCK
    return min(ROWS_AT_ONCE, max(n_rows, FRAME_BLOCK))


@dataclass
class _Seen:
    """The types and kinds that a column has in pieces that hold a value of it, and its type in
    pieces that hold none.
    """

    types: dict[str, Any] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)
    of_empty: Any = None
    largest: int = 0

    def meet(self, column):
        if _is_empty(column):
            self.of_empty = column.dtype
            return
        self.types.setdefault(str(column.dtype), column.dtype)
        self.kinds.add(_kind(column))
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu":
            self.largest = max(self.largest, abs(int(column.min())), abs(int(column.max())))


def _kind(column):
    """Truth values with a hole among them are objects."""
    import pandas

    if column.dtype.kind in "iuf":
        return "number"
    truth = (
        column.dtype.kind == "b" or pandas.api.types.infer_dtype(column, skipna=True) == "boolean"
    )
    return "truth" if truth else str(column.dtype)


def _is_empty(column):
    """Whether all values are missing and the type says nothing."""
    return (column.dtype.kind == "f" or str(column.dtype) == "object") and bool(column.isna().all())


@dataclass(frozen=True)
class Table:
    """A table whose pieces are read again whenever they are asked for: the types of its columns,
    and how many rows it has.
    """

    read: Read
    declared: dict[str, Any]
    types: dict[str, Any]
    n_rows: int
    attrs: dict[str, Any]

    def pieces(self) -> Iterator[Any]:
        """Iterate over frames whose columns have the types of the whole; a file that has changed
        raises an error.
        """
        n_read = 0
        for piece in self.read(self.declared):
            n_read += len(piece)
            if n_read <= self.n_rows:
                yield _typed(piece, self.types, self.attrs)
        if n_read != self.n_rows:
            raise TableError(
                f"The table had {self.n_rows} rows and now has {n_read}: its file was changed "
                "meanwhile. Read it again."
            )

    def selected(self, names: Iterable[str]) -> "Table":
        """Return the table of some columns; the others are not read where the file allows that."""
        types = {name: self.types[name] for name in names}
        declared = {name: kind for name, kind in self.declared.items() if name in types}
        return replace(
            self, read=partial(self.read, columns=list(types)), declared=declared, types=types
        )

    def whole(self) -> Any:
        """All rows in one frame, in files where they are many; beside it there is one piece in
        memory at a time.
        """
        import pandas

        large = is_large(self.n_rows, len(self.types))
        rooms = {name: room_for(kind, self.n_rows, large) for name, kind in self.types.items()}
        for piece in self.pieces():
            for name, room in rooms.items():
                room.append(piece[name])
            if large:
                release_scratches()
        frame = pandas.DataFrame({name: room.column() for name, room in rooms.items()}, copy=False)
        frame.attrs |= self.attrs
        return frame


def table_of(read: Read, whole_column: Callable[[str], Any] | None = None) -> Any:
    """The ``Table`` behind ``read``, or its one piece, a frame, where there are no more.

    ``whole_column`` is for text files: it reads one column as a whole, for types that pieces do not
    tell.
    """
    pieces = read({})
    first, second = next(pieces), next(pieces, None)
    if second is None:
        return first
    seen: dict[str, _Seen] = {}
    sizes: list[int] = []
    for piece in track(chain([first, second], pieces), "reading the types of columns"):
        for name in seen.keys() - set(piece.columns):
            seen[name].of_empty = np.dtype(np.float64)
        for name in piece.columns:
            if name not in seen:
                seen[name] = _Seen(of_empty=np.dtype(np.float64) if sizes else None)
            seen[name].meet(piece[name])
        sizes.append(len(piece))
    declared = {} if whole_column is None else _declared(seen, whole_column)
    types = {
        name: declared[name] if name in declared else _common(one) for name, one in seen.items()
    }
    return Table(read, declared, types, sum(sizes), dict(first.attrs))


def _declared(seen, whole_column):
    """Types of the columns of a text file that pieces read otherwise than the whole: different
    kinds together are texts.

    Whole numbers that no float is, beside other values, are decided by pandas in ways of its own.
    """
    import pandas

    text = pandas.Series(["a"]).dtype
    declared = {}
    for name, one in seen.items():
        mixed = len(one.types) > 1 or one.of_empty is not None
        if len(one.kinds) > 1:
            declared[name] = text
        elif mixed and one.largest >= _EXACT:
            found = whole_column(name).dtype
            declared[name] = text if found == np.dtype(object) else found
    return declared


def _common(one):
    """The type of a column whose pieces have these types."""
    import pandas

    kinds = list(one.types.values())
    if not kinds:
        return one.of_empty
    if one.of_empty is not None and all(
        isinstance(kind, np.dtype) and kind.kind in "iu" for kind in kinds
    ):
        kinds.append(np.dtype(np.float64))
    if len(kinds) == 1:
        return np.dtype(object) if one.of_empty is not None and kinds[0].kind == "b" else kinds[0]
    if one.kinds == {"number"} and all(isinstance(kind, np.dtype) for kind in kinds):
        return np.result_type(*kinds)
    if all(isinstance(kind, pandas.CategoricalDtype) for kind in kinds):
        levels = list(dict.fromkeys(level for kind in kinds for level in kind.categories))
        return pandas.CategoricalDtype(levels, kinds[0].ordered)
    return np.dtype(object)


def _typed(piece, types, attrs):
    """A piece with the types of the whole; columns that it lacks, or has no value of, are missing
    values of that type.
    """
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
