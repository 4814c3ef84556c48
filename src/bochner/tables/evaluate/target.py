"""The column to predict: numbers or labels, and the task that follows."""

from typing import Any

import numpy as np

from ...data.columns import float_column, is_text
from ..columns.column_kinds import NumberColumn, coded_texts, is_category, is_value, whole
from ..columns.names import column_named
from ..columns.written_numbers import POINT, decimal_of
from ..errors import TableError, needed
from ..facts import CLASSIFICATION, REGRESSION
from ..read.spooling import rows_of

_MAX_CLASSES_OF_NUMBERS = 20
# Share of the texts that must be numbers.
_MOSTLY = 0.95


def split_target(frame: Any, target: str, decimal: str = POINT) -> tuple[Any, Any, int]:
    """Return the other columns, the target, and the number of rows dropped without a target.

    A target of texts such as "$1,234" becomes numbers, unless these are so few that they are
    classes.
    """
    target = column_named(target, frame.columns)
    values = _as_numbers(frame[target], target, decimal)
    kept = values.notna()
    if not kept.any():
        raise TableError(f"Every value of the target {target!r} is missing.")
    rest = frame.drop(columns=target)
    if rest.shape[1] == 0:
        raise TableError(f"The table has no column besides the target {target!r}.")
    if kept.all():
        return rest, values, 0
    return rows_of(rest, np.flatnonzero(kept)), values.loc[kept], int((~kept).sum())


def _as_numbers(column, name, decimal):
    """Return the numbers that the texts of a column stand for, or the column itself."""
    if not is_text(column) or is_category(column):
        return column
    codes, texts = coded_texts(column)
    values = is_value(texts)
    kind = NumberColumn(decimal_of([text for text, yes in zip(texts, values) if yes], decimal))
    present = codes[np.append(values, False)[codes]]
    if len(present) == 0 or np.mean(np.isfinite(kind.numbers(texts)[present])) < _MOSTLY:
        return column
    numbers = kind.read(column, name)[0][name]
    numbers = needed("pandas").Series(numbers, index=column.index, name=name)
    return numbers if task_of(numbers.dropna())[0] == REGRESSION else column


def task_of(target: Any) -> tuple[str, str]:
    """Return "classification" or "regression", and the property of the target that decides it."""
    if needed("pandas").api.types.is_bool_dtype(target):
        return CLASSIFICATION, "holds truth values"
    if is_text(target):
        return CLASSIFICATION, "holds text"
    values = float_column(target, str(target.name))
    n_distinct = len(np.unique(values))
    few = min(_MAX_CLASSES_OF_NUMBERS, max(2, len(values) // 10))
    if n_distinct <= few and np.all(values == np.round(values)):
        return CLASSIFICATION, f"has only {n_distinct} distinct whole numbers"
    return REGRESSION, "holds numbers"


def labels_of(target: Any) -> np.ndarray:
    """Return class labels: whole numbers as integers, other columns with their type or as texts."""
    pandas = needed("pandas")
    if is_category(target):
        target = target.astype(target.cat.categories.dtype)
    if pandas.api.types.is_numeric_dtype(target):
        return np.array(whole(target).tolist())
    if str(target.dtype) == "object":  # 1 and True are equal, their texts are not
        target = pandas.Series([str(value) for value in target], name=target.name)
    codes, values = pandas.factorize(target)
    texts = [str(value) for value in values]
    ended = next((text for text in texts if text.endswith("\0")), None)
    if ended is not None:
        raise TableError(
            f"Column {str(target.name)!r} holds the label {ended!r}, which ends in a NUL character "
            "that NumPy drops. Use other labels."
        )
    return np.array(texts, dtype=object)[codes]  # one object per label, not per row


def counted_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sorted classes, the class number of each row, and the rows of each class.

    As ``np.unique`` does, but without sorting all rows.

    >>> [part.tolist() for part in counted_labels(np.array(["b", "a", "b"], dtype=object))]
    [['a', 'b'], [1, 0, 1], [1, 2]]
    """
    codes, classes = needed("pandas").factorize(y)
    order = np.argsort(classes, kind="stable")
    codes = np.argsort(order)[codes]
    return classes[order], codes, np.bincount(codes, minlength=len(classes))
