"""Which columns a model looks at, and as what: numbers, categories, or not at all; and what the target is."""

import difflib
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from .._columns import float_column, is_text
from .._text import some_names
from .reading import TableError, needed

_MOSTLY_DISTINCT = 0.5  # a text column where more of the values than this differ is an identifier or free text
_MAX_CLASSES_OF_NUMBERS = 20


class ColumnReader(TransformerMixin, BaseEstimator):
    """The columns of a pandas table that a model can use, as the front door takes them: floats and categories.

    Attributes
    ----------
    roles_ : "number" (or a truth value, or a date, in days) or "category" for each column that is used
    left_out_ : the reason for each column that is not
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide by the values of the training table."""
        roles, left_out = {}, {}
        for name in X.columns:
            present = X[name].dropna()
            if len(present) == 0:
                left_out[name] = "every value is missing"
            elif present.nunique() == 1 and len(present) == len(X):
                left_out[name] = "every row has the same value"
            elif not is_text(present):
                roles[name] = "number"
            elif present.astype(str).nunique() > max(20, _MOSTLY_DISTINCT * len(present)):
                left_out[name] = "nearly every row has its own text"
            else:
                roles[name] = "category"
        if not roles:
            reasons = "; ".join(f"{name!r}: {why}" for name, why in left_out.items())
            raise TableError(f"No column can be used: {reasons}.")
        self.roles_, self.left_out_ = roles, left_out
        return self

    def transform(self, X: Any) -> Any:
        """The frame for a model."""
        return self.read(X)[0]

    def read(self, X: Any) -> tuple[Any, list[str]]:
        """The frame for a model, and notes on what had to be changed."""
        pandas = needed("pandas")
        missing = [name for name in self.roles_ if name not in X.columns]
        if missing:
            raise TableError(f"The table lacks {some_names(missing)}, which the model was fitted with.")
        notes, columns = [], {}
        for name, role in self.roles_.items():
            column = X[name]
            if role == "category":
                columns[name] = _categories(column)
                continue
            values = pandas.to_numeric(column, errors="coerce") if is_text(column) else column
            lost = int((values.isna() & column.notna()).sum())
            if lost:
                notes.append(f"{lost} value(s) of column {name!r} are no numbers and count as missing.")
            columns[name] = float_column(values, name)
        return pandas.DataFrame(columns, index=X.index), notes


def _categories(column):
    """Any values as categories of texts; those of pandas stay as they are, they may have an order."""
    if str(column.dtype) == "category":
        return column
    return _whole(column).astype(object).map(str, na_action="ignore").astype("category")


def _whole(column):
    """Floats that all are whole numbers, as a hole in a column of integers makes them, as integers again."""
    is_whole = needed("pandas").api.types.is_float_dtype(column) and np.all(column.dropna() % 1 == 0)
    return column.astype("Int64") if is_whole else column


def split_target(frame: Any, target: str) -> tuple[Any, Any, int]:
    """The other columns, the target, and the number of rows dropped because their target is missing."""
    if target not in frame.columns:
        near = difflib.get_close_matches(target, frame.columns, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"its columns are {some_names(list(frame.columns))}."
        raise TableError(f"The table has no column {target!r}; {hint}")
    kept = frame[target].notna()
    if not kept.any():
        raise TableError(f"Every value of the target {target!r} is missing.")
    rest = frame.loc[kept].drop(columns=target)
    if rest.shape[1] == 0:
        raise TableError(f"The table has no column besides the target {target!r}: there is nothing to predict from.")
    return rest, frame.loc[kept, target], int((~kept).sum())


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
    """Class labels of their own type, whole numbers as integers; texts where a column holds anything else."""
    if str(target.dtype) == "category":
        target = target.astype(target.cat.categories.dtype)
    if needed("pandas").api.types.is_numeric_dtype(target):
        return np.array(_whole(target).tolist())
    return np.array([str(value) for value in target], dtype=object)
