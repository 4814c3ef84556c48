"""Saving and loading of fitted estimators in the skops format."""

import io
import zipfile
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._terminal.files import written_whole
from .._terminal.text import one_line
from .fitting import TableModel
from .model_schema import RefusedModel, decode
from .model_trial import try_model
from .read.reading import needed

FORMAT = "bochner table model 6"
# What predictions for tables read of ``facts_``.
_FACTS = {"target": str, "task": str, "identifiers": list, "decimal": str}


class ModelFileError(ValueError):
    """A file is not a model of ours, is damaged, or contains objects that are not trusted."""


def save(model: Any, path: str | Path) -> None:
    """Write a fitted estimator to a file, completely or not at all.

    A model that ``load`` would refuse is refused here, before anything is written: one with
    functions, with steps that are not on the list of ``load``, or with more than 256 MB of numbers.

    Parameters
    ----------
    model : estimator
        A ``TableModel``, any fitted estimator of bochner, or a scikit-learn ``Pipeline`` of these
        with scalers, encoders, imputers, ``ColumnTransformer`` and linear models.
    path : str or path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from bochner import SpectralRegressor
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = SpectralRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.skops")
    ...     again = load(f"{folder}/model.skops")
    >>> bool(np.all(again.predict(X) == model.predict(X)))
    True
    """
    skops, name = needed("skops.io"), type(model).__name__
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"save needs a fitted estimator, got {name}.")
    check_is_fitted(model)
    try:
        try_model(model)  # also computes what a model computes at its first prediction
        content = skops.dumps({"format": FORMAT, "model": model}, compression=zipfile.ZIP_DEFLATED)
        _decoded(io.BytesIO(content))
    except Exception as error:
        raise ModelFileError(
            f"This {name} cannot be saved, because load would refuse it: {one_line(error)}. "
            "Use joblib, for files that you trust."
        ) from error
    with written_whole(path) as beside:
        beside.write_bytes(content)


def load(path: str | Path) -> Any:
    """Return the estimator in a file that ``save`` wrote.

    Nothing in a file is executed: each object is of a type on a fixed list, or the file is refused.
    So is a file that needs more than 512 MB of memory, and a model that fails on a made-up row.

    Parameters
    ----------
    path : str or path
        The file.

    Examples
    --------
    >>> load("nowhere.skops")
    Traceback (most recent call last):
        ...
    bochner.tables.model_file.ModelFileError: There is no model file nowhere.skops.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"There is no model file {path}.")
    try:
        with path.open("rb") as file:
            return _decoded(file)
    except RefusedModel as error:
        raise ModelFileError(f"{path} is refused: {error}.") from None
    except Exception as error:
        raise ModelFileError(f"{path} is damaged or not a model file: {one_line(error)}") from None


def load_table_model(path: str | Path) -> TableModel:
    """As ``load``, for models of tables only."""
    model = load(path)
    if not isinstance(model, TableModel):
        raise ModelFileError(
            f"{path} contains a {type(model).__name__}, which is not made by `bochner fit`. Use "
            "bochner.load in Python."
        )
    return model


def _decoded(file):
    content = decode(file)
    if (
        not isinstance(content, dict)
        or content.get("format") != FORMAT
        or set(content) != {"format", "model"}
    ):
        raise RefusedModel("it is a skops file, but not a model of this version of bochner")
    model = content["model"]
    if not isinstance(model, BaseEstimator):
        raise RefusedModel("it does not contain an estimator")
    try:
        try_model(model)
        if isinstance(model, TableModel):
            _check_table_model(model)
    except Exception as error:
        raise ValueError(f"the model fails on a made-up row ({one_line(error)})") from error
    return model


def _check_table_model(model):
    """Predictions for tables use the names of both steps and some facts."""
    model["columns"].roles_, model["model"]
    for name, kind in _FACTS.items():
        if not isinstance(model.facts_[name], kind):
            raise TypeError(f"the fact {name!r} is not a {kind.__name__}")
    if model.facts_["task"] == "classification" and len(model.facts_["classes"]) != len(
        model.classes_
    ):
        raise ValueError("the facts have another number of classes than the model")
