"""Trial of a model that was read from a file: a damaged one fails here, not in production."""

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from ..front_door.base import SpectralModel
from ..inputs import TableInputs
from .columns import ColumnReader

_METHODS = ("predict", "predict_proba", "decision_function", "predict_interval", "transform")
_ENCODERS = (OneHotEncoder, OrdinalEncoder, TargetEncoder)


def try_model(model: Any) -> None:
    """Predict and transform one made-up row; arrays that do not agree in shape raise here."""
    row = made_up_row(model)
    with np.errstate(all="ignore"):
        for method in _METHODS:
            if hasattr(model, method):
                result = getattr(model, method)(row)
                if len(result) != 1 or (method == "predict_proba" and result.shape != (1, len(model.classes_))):
                    raise ValueError(f"{method} of one row returned an array of shape {result.shape}")


def made_up_row(model: Any) -> Any:
    """Return one row that the first step of a model accepts, as an array or a frame.

    Tables get missing values, encoders their first categories, and other models positive numbers of
    unit norm, which suit logarithms and spheres too.
    """
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step not in (None, "passthrough")]
        return made_up_row(steps[0])
    if isinstance(model, ColumnReader):
        return _frame([np.nan] * len(model.roles_), list(model.roles_))
    names = getattr(model, "feature_names_in_", None)
    values = _values(model, model.n_features_in_)
    if names is not None:
        return _frame(values, list(names))
    return np.array([values], dtype=object if any(isinstance(value, str) for value in values) else None)


def _values(model, n_features):
    if isinstance(model, (SpectralModel, TableInputs)):
        return [np.nan] * n_features
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
