"""Saving and loading of fitted estimators in the skops format."""

import io
import zipfile
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._terminal.files import written_whole
from .._terminal.text import one_line
from .errors import needed
from .facts import Facts
from .fitting import TableModel
from .model_schema import RefusedModel, decode
from .model_trial import try_model

FORMAT = "bochner table model 6"
# Files up to this size are compressed.
_COMPRESSED_BYTES = 2**25
# Facts that predictions need, with their types.
_FACTS = {"target": str, "task": str, "identifiers": list, "decimal": str}


class ModelFileError(ValueError):
    """A file is not a model of bochner, is damaged, or contains untrusted objects."""


def save(model: Any, path: str | Path) -> None:
    """Write a fitted estimator to a file, completely or not at all.

    A model that ``load`` would refuse raises an error before anything is written. Such models have
    functions, or steps that are not on the list of ``load``.

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
        parts = {"format": FORMAT, "model": model}
        content = skops.dumps(parts, compression=zipfile.ZIP_STORED)
        # Larger files may be too small for their numbers after compression, see ``MEMORY_LIMIT``.
        if len(content) <= _COMPRESSED_BYTES:
            content = skops.dumps(parts, compression=zipfile.ZIP_DEFLATED)
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

    Nothing in a file is executed: a file with an object of a type that is not on a fixed list is
    refused. A file is also refused if it needs more memory than 512 MB and than eight times its
    size, or if its model fails on a made-up row.

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


def load_table_model(path: str | Path) -> tuple[TableModel, Facts]:
    """Return the table model in a file, and its facts."""
    model = load(path)
    if not isinstance(model, TableModel):
        raise ModelFileError(
            f"{path} contains a {type(model).__name__}, which `bochner fit` did not write. Use "
            "bochner.load in Python."
        )
    return model, Facts.from_json(model.facts_)


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
    """Check the steps and the facts that predictions for tables need."""
    model["columns"].roles_, model["model"]
    facts = Facts.from_json(model.facts_)
    for name, kind in _FACTS.items():
        if not isinstance(getattr(facts, name), kind):
            raise TypeError(f"the fact {name!r} is not a {kind.__name__}")
    classes = None if facts.of_classes is None else facts.of_classes.classes
    if facts.classify and (classes is None or len(classes) != len(model.classes_)):
        raise ValueError("the facts have another number of classes than the model")
