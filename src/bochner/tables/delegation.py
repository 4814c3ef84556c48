"""Methods of tabular models for tables as they are read from files."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..data.inputs import TableInputs
from ..tabular.effects import column_changes
from .columns.reader import ColumnReader
from .errors import needed


def on_table_columns(name: str) -> Any:
    """Return a method of a pipeline that calls the method ``name`` of its tabular model.

    The first step reads the columns of X. The pipeline has the method if the model has it.
    """

    def method(self, X: Any, *arguments: Any, **keywords: Any) -> Any:
        return getattr(self[-1], name)(self[:-1].transform(X), *arguments, **keywords)

    method.__name__ = name
    method.__qualname__ = f"TableModel.{name}"
    method.__doc__ = f"""Read the columns of X, and return ``{name}`` of the tabular model.

        Further arguments are those of ``SpectralRegressor.{name}``.
        """
    return available_if(lambda self: hasattr(type(self[-1]), name))(method)


def source_places(inputs: TableInputs, reader: ColumnReader, columns: list[str]) -> np.ndarray:
    """Return, for each prepared column, the place in ``columns`` of the column it comes from."""
    places = [columns.index(reader.sources_[name]) for name in inputs.names_]
    return np.array(places)[inputs.sources_]


def importances_by_column(model: Any) -> Any:
    """Return ``feature_importances_`` of a table model, by the columns of its table."""
    columns, fitted = list(model[0].reasons_), model[-1]
    changes = np.zeros(len(columns))
    sources = source_places(fitted.inputs_, model[0], columns)
    for j, squares in column_changes(fitted.blend_, sources, fitted._background):
        changes[j] = np.sum(squares)
    shares = changes / (changes.sum() or 1.0)
    return needed("pandas").Series(shares, index=columns, name="importance")
