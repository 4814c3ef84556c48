"""The column to predict: apart from the others, as numbers or as labels, and what kind of task that
makes.
"""

from typing import Any

import numpy as np

from ...data.columns import float_column, is_text
from ..columns.column_kinds import NumberColumn, coded_texts, telling, whole
from ..columns.names import column_named
from ..columns.written_numbers import POINT, decimal_of
from ..read.reading import TableError, needed
from ..read.spooling import rows_of

_MAX_CLASSES_OF_NUMBERS = 20
_MOSTLY = 0.95  # of the texts must be numbers


def split_target(frame: Any, target: str, decimal: str = POINT) -> tuple[Any, Any, int]:
    """Return the other columns, the target, and the number of rows dropped because their target is
    missing.

    A target of texts such as "$1,234" is turned into numbers, unless these are so few that they are
    classes.
    """
    target = column_named(target, frame.columns)
    values = _as_numbers(frame[target], target, decimal)
    kept = values.notna()
    if not kept.any():
        raise TableError(f"Every value of the target {target!r} is missing.")
    all_kept = bool(kept.all())
    rest = frame.drop(columns=target)
    if not all_kept:
        rest = rows_of(rest, np.flatnonzero(kept))
    if rest.shape[1] == 0:
        raise TableError(
            f"The table has no column besides the target {target!r}: there is nothing to predict "
            "from."
        )
    return rest, values if all_kept else values.loc[kept], int((~kept).sum())


def _as_numbers(column, name, decimal):
    """The column as it is, or the numbers that its texts say."""
    if not is_text(column) or str(column.dtype) == "category":
        return column
    codes, texts = coded_texts(column)
    tells = telling(texts)
    kind = NumberColumn(decimal_of([text for text, yes in zip(texts, tells) if yes], decimal))
    present = codes[np.append(tells, False)[codes]]
    if len(present) == 0 or np.mean(np.isfinite(kind.numbers(texts)[present])) < _MOSTLY:
        return column
    values = needed("pandas").Series(
        kind.read(column, name)[0][name], index=column.index, name=name
    )
    return values if task_of(values.dropna())[0] == "regression" else column


def task_of(target: Any) -> tuple[str, str]:
    """("classification" or "regression", why)."""
    if is_text(target) or needed("pandas").api.types.is_bool_dtype(target):
        return "classification", "its values are no numbers"
    values = float_column(target, str(target.name))
    n_distinct = len(np.unique(values))
    few = min(_MAX_CLASSES_OF_NUMBERS, max(2, len(values) // 10))
    if n_distinct <= few and np.all(values == np.round(values)):
        return "classification", f"it has only {n_distinct} distinct whole numbers"
    return "regression", "its values are numbers"


def labels_of(target: Any) -> np.ndarray:
    """Class labels of their own type, whole numbers as integers; texts where a column holds
    anything else.
    """
    if str(target.dtype) == "category":
        target = target.astype(target.cat.categories.dtype)
    if needed("pandas").api.types.is_numeric_dtype(target):
        return np.array(whole(target).tolist())
    if str(target.dtype) == "object":  # 1 and True are equal, their texts are not
        target = needed("pandas").Series([str(value) for value in target], name=target.name)
    codes, values = needed("pandas").factorize(target)
    texts = [str(value) for value in values]
    ended = next((text for text in texts if text.endswith("\0")), None)
    if ended is not None:
        raise TableError(
            f"Column {str(target.name)!r} holds the label {ended!r}, which ends in a NUL character "
            "that NumPy drops. Write other labels."
        )
    return np.array(list(texts), dtype=object)[codes]  # each text once, however many rows have it


def counted_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(the classes in order, the number of its class for each row, rows of each class), without
    sorting all rows.

    >>> [part.tolist() for part in counted_labels(np.array(["b", "a", "b"], dtype=object))]
    [['a', 'b'], [1, 0, 1], [1, 2]]
    """
    codes, classes = needed("pandas").factorize(y)
    order = np.argsort(classes, kind="stable")
    codes = np.argsort(order)[codes]
    return classes[order], codes, np.bincount(codes, minlength=len(classes))
