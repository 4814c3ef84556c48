"""Trial of a model that was read from a file, which finds damage before it is used."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from ..data.inputs import TableInputs
from ..tabular.base import SpectralModel
from .columns.column_kinds import CategoryColumn, NumberColumn
from .columns.reader import ColumnReader

_METHODS = ("predict", "predict_proba", "decision_function", "predict_interval", "transform")
_ENCODERS = (OneHotEncoder, OrdinalEncoder, TargetEncoder)


def try_model(model: Any) -> None:
    """Predict and transform one made-up row; arrays of inconsistent shapes raise an error."""
    row = made_up_row(model)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the row differs from the training rows
        for method in filter(partial(hasattr, model), _METHODS):
            result = getattr(model, method)(row)
            is_proba = method == "predict_proba"
            if len(result) != 1 or (is_proba and result.shape != (1, len(model.classes_))):
                raise ValueError(f"{method} of one row returned an array of shape {result.shape}")


def made_up_row(model: Any) -> Any:
    """Return one row that the first step of a model accepts, as an array or a frame.

    Categories get a known level, dates are missing, and numbers are positive and of unit norm, so
    that logarithms and kernels on spheres are defined.
    """
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step not in (None, "passthrough")]
        return made_up_row(steps[0])
    if isinstance(model, ColumnReader):
        return _frame([_table_value(kind) for kind in model.kinds_.values()], list(model.kinds_))
    names = getattr(model, "feature_names_in_", None)
    values = _values(model, model.n_features_in_, names is not None)
    if names is not None:
        return _frame(values, list(names))
    return np.array(
        [values], dtype=object if any(isinstance(value, str) for value in values) else None
    )


def _table_value(kind):
    if isinstance(kind, CategoryColumn):
        return kind.levels[0] if kind.levels else np.nan
    return 1.0 if isinstance(kind, NumberColumn) else np.nan


def _values(model, n_features, named):
    if isinstance(model, SpectralModel):
        return _values(model.inputs_, n_features, named)
    if isinstance(model, TableInputs):
        if not named:  # the type of categories of an array is not stored
            return [np.nan] * n_features
        levels = {
            int(column): names[0]
            for column, names in zip(model.categories_, model.levels_)
            if len(names)
        }
        numbers = [1.0 if kind == "numbers" else np.nan for kind in model._kinds]
        return [
            levels.get(j, np.nan) if model.is_category_[j] else numbers[j]
            for j in range(n_features)
        ]
    if isinstance(model, _ENCODERS):
        return [categories[0] for categories in model.categories_]
    if isinstance(model, SimpleImputer):
        return list(model.statistics_)
    values: list[Any] = [1 / np.sqrt(n_features)] * n_features
    if isinstance(model, ColumnTransformer):
        for name, step, _ in model.transformers_:
            columns = model._transformer_to_input_indices[name]
            if step not in ("drop", "passthrough") and len(columns):
                row = np.asarray(made_up_row(step))[0]
                for column, value in zip(columns, row, strict=True):
                    values[column] = value
    return values


def _frame(values, names):
    import pandas

    return pandas.DataFrame({name: [value] for name, value in zip(names, values, strict=True)})
