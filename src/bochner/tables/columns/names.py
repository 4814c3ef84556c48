"""Column names as users write them."""

import difflib
from collections.abc import Iterable

from ..._terminal.text import some_names
from ..errors import TableError

_MOST_LISTED = 200


def column_named(name: str, columns: Iterable[str], purpose: str = "") -> str:
    """Return the column with this name, ignoring blanks at its ends, or raise an error.

    >>> column_named(" price ", ["size", "price"])
    'price'
    """
    columns, name = list(columns), str(name)
    for candidate in (name, name.strip()):
        if candidate in columns:
            return candidate
    raise TableError(f"The table has no column {name!r}{purpose}{instead(name, columns)}")


def instead(name: str, columns: Iterable[str]) -> str:
    """Return the end of a sentence about a missing column: all columns, similar names first.

    >>> instead("prize", ["size", "price", "age"])
    "; did you mean 'price'? Its columns are 'price', 'size', 'age'."
    >>> instead("weight", ["a", "b"])
    "; its columns are 'a', 'b'."
    """
    columns = list(columns)
    lowered = {column.strip().casefold(): column for column in reversed(columns)}
    near = difflib.get_close_matches(name.strip().casefold(), list(lowered), n=3)
    first = [lowered[text] for text in near]
    listed = some_names([*first, *(one for one in columns if one not in first)], _MOST_LISTED)
    if first:
        return f"; did you mean {first[0]!r}? Its columns are {listed}."
    return f"; its columns are {listed}."
