"""Which columns a model looks at, and as what: numbers, categories, or not at all."""

import difflib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._text import some_names
from .reading import TableError, import_pandas

_MOSTLY_DISTINCT = 0.5  # a text column where more of the values than this differ is an identifier or free text
_MAX_CLASSES_OF_NUMBERS = 20


@dataclass(frozen=True)
class Columns:
    """The columns of a table by role; ``left_out`` gives the reason for each column that is not used."""

    numeric: list[str]
    categorical: list[str]
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def used(self) -> list[str]:
        return [*self.numeric, *self.categorical]


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


def roles(frame: Any) -> Columns:
    """Decide by the values of the training table."""
    pandas = import_pandas()
    numeric, categorical, left_out = [], [], {}
    for name in frame.columns:
        column = frame[name]
        present = column.dropna()
        if len(present) == 0:
            left_out[name] = "every value is missing"
        elif present.nunique() == 1 and len(present) == len(column):
            left_out[name] = "every row has the same value"
        elif pandas.api.types.is_numeric_dtype(column):
            numeric.append(name)
        elif present.astype(str).nunique() > max(20, _MOSTLY_DISTINCT * len(present)):
            left_out[name] = "nearly every row has its own text"
        else:
            categorical.append(name)
    if not numeric and not categorical:
        raise TableError(
            "No column can be used: " + "; ".join(f"{name!r}: {why}" for name, why in left_out.items()) + "."
        )
    return Columns(numeric, categorical, left_out)


def inputs(frame: Any, columns: Columns) -> tuple[Any, list[str]]:
    """The columns that a model needs, numbers as floats and categories as text, and notes on what had to be changed."""
    pandas = import_pandas()
    missing = [name for name in columns.used if name not in frame.columns]
    if missing:
        raise TableError(f"The table lacks {some_names(missing)}, which the model was fitted with.")
    notes, parts = [], {}
    for name in columns.numeric:
        values = pandas.to_numeric(frame[name], errors="coerce")
        lost = int((values.isna() & frame[name].notna()).sum())
        if lost:
            notes.append(f"{lost} value(s) of column {name!r} are no numbers and count as missing.")
        floats = values.to_numpy(dtype=np.float64, na_value=np.nan)
        parts[name] = np.where(np.isfinite(floats), floats, np.nan)
    for name in columns.categorical:
        parts[name] = np.array([str(v) if known else "" for v, known in zip(frame[name], frame[name].notna())], object)
    return pandas.DataFrame(parts, columns=columns.used), notes


def task_of(target: Any) -> tuple[str, str]:
    """("classification" or "regression", why)."""
    pandas = import_pandas()
    if not pandas.api.types.is_numeric_dtype(target) or pandas.api.types.is_bool_dtype(target):
        return "classification", "its values are no numbers"
    values = target.to_numpy(dtype=np.float64)
    n_distinct = len(np.unique(values))
    few = min(_MAX_CLASSES_OF_NUMBERS, max(2, len(values) // 10))
    if n_distinct <= few and np.all(values == np.round(values)):
        return "classification", f"it has only {n_distinct} distinct whole numbers"
    return "regression", "its values are numbers"


def labels_of(target: Any) -> np.ndarray:
    """Class labels as text, whole numbers without a decimal point."""
    pandas = import_pandas()
    if pandas.api.types.is_float_dtype(target) and np.all(target == np.round(target)):
        target = target.astype(np.int64)
    return np.array([str(value) for value in target])
