"""Tables with columns of any kind, in memory or on Dask, behind the same methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from .._loops.arrays import as_dense
from .checks import check_numbers
from .columns import column_kind, has_large_integers, is_frame, lists_columns, table_column
from .inputs import TableInputs
from .maps import release_scratches, scratch
from .repetitions import EqualRows, equal_keys, input_keys
from .rows import Block, LocalRows, is_remote
from .targets import Target
from .unfamiliar import FILLED, warn_of_unfamiliar

if TYPE_CHECKING:
    from .dask.tables import DaskTable

# Rows of a frame that are predicted at once. A fixed number gives the same digits for a row,
# whichever rows come before and after it.
FRAME_BLOCK = 4096
# Sparse rows are made dense up to this size.
_DENSE_BYTES = 2**31
# Rows that are prepared at once, and the size up to which all prepared rows are kept in memory
# instead of in a temporary file.
_ROWS_AT_ONCE, PREPARED_BYTES = 50_000, 2**28


def open_table(estimator: Any, X: Any, *, reset: bool = False) -> Table:
    """Validate X as a table, see ``check_rows`` for ``estimator`` and ``reset``.

    Frames are returned as they are: ``TableInputs`` checks their columns. Other rows must be
    numbers, unless ``estimator.categorical_features`` lists columns; missing values are allowed.
    """
    if is_remote(X):
        from .dask.tables import DaskTable

        return DaskTable(estimator, X, reset)
    return LocalTable(checked_part(estimator, X, reset))


class LocalTable:
    """A frame, an array, a sparse matrix or a memory map."""

    def __init__(self, source: Any):
        self.source = source

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    def in_memory(self, most_rows: float = np.inf, refusal: Exception | None = None) -> LocalTable:
        """Return the table with sparse rows made dense."""
        if not sp.issparse(self.source):
            return self
        n_rows, n_columns = self.shape
        n_bytes = 8 * n_rows * n_columns
        if n_bytes > _DENSE_BYTES:
            raise ValueError(
                f"Sparse rows are made dense, and {n_rows} x {n_columns} numbers are "
                f"{n_bytes / 1e9:.1f} GB, more than {_DENSE_BYTES / 1e9:.1f} GB. Fit fewer rows "
                "or columns, or use SpectralRidge, which keeps rows sparse."
            )
        return LocalTable(self.source.toarray())

    def without_rows(self) -> Any:
        """Return a frame or an array with the same columns and no rows."""
        return self.source[:0]

    def take(self, numbers: np.ndarray) -> Any:
        """Return the rows of these numbers as a frame or an array."""
        X = self.source
        if len(numbers) == X.shape[0] and np.array_equal(numbers, np.arange(len(numbers))):
            return X
        if not is_frame(X):
            return X[numbers]
        return X.iloc[numbers] if type(X).__module__.split(".")[0] == "pandas" else X[numbers]

    def select(self, numbers: np.ndarray) -> LocalTable:
        """Return a table of the rows of these numbers."""
        return LocalTable(self.take(numbers))

    def rows_to_read(self, weights: np.ndarray) -> np.ndarray:
        """Return the numbers of the rows that have a weight."""
        return np.flatnonzero(weights > 0)

    def equal_rows(self, target: Target, weights: np.ndarray) -> EqualRows | None:
        """Find equal rows, see ``equal_rows``."""
        return equal_keys(input_keys(self.source), target, weights)

    def prepared(self, inputs: TableInputs) -> LocalRows:
        """Return all rows with prepared columns in float32, in memory or in a temporary file."""
        n_rows, n_columns = self.shape[0], len(inputs.sources_)
        Z = scratch((n_rows, n_columns), np.float32, PREPARED_BYTES)
        for rows in gen_batches(n_rows, _ROWS_AT_ONCE):
            Z[rows] = inputs.transform(self.take(np.arange(rows.start, rows.stop)))
            release_scratches()
        return LocalRows(Z)

    def map_prepared(self, inputs: TableInputs, function: Callable, n_columns: int) -> np.ndarray:
        """Return ``function(prepared rows, marks)``, (n_rows, n_columns), block by block.

        Marks are those of ``TableInputs.transform_marked``. Rows in float32 give results in
        float32. One warning names the columns with marked cells.
        """
        with warn_of_unfamiliar() as cells:
            transform = partial(inputs.transform_marked, whole=True, cells=cells)
            return mapped_part(self.source, inputs, transform, function, n_columns)

    def transform(self, inputs: TableInputs) -> np.ndarray:
        """Return all rows with prepared columns; a warning names columns with marked cells."""
        with warn_of_unfamiliar(FILLED) as cells:
            return inputs.transform_marked(self.source, whole=True, cells=cells)[0]


Table: TypeAlias = "LocalTable | DaskTable"


def set_columns(estimator: Any, n_features: int) -> None:
    """Set the number of columns, and forget the names of those of an earlier fit."""
    estimator.n_features_in_ = n_features
    estimator.__dict__.pop("feature_names_in_", None)


def checked_part(estimator: Any, X: Any, reset: bool) -> Any:
    """Return a frame as it is, and other rows as an array or sparse matrix of numbers."""
    if is_frame(X):
        if reset:
            set_columns(estimator, X.shape[1])
        return X
    X = X.source if isinstance(X, LocalRows) else X
    keep = lists_columns(estimator.categorical_features) or has_large_integers(X)
    try:
        return check_numbers(
            estimator,
            X,
            accept_sparse="csr",
            dtype=None if keep else (np.float64, np.float32),
            ensure_all_finite="allow-nan",
            reset=reset,
        )
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(
            f"Arrays are read as numbers, but X holds texts: {error}. Give a pandas or polars "
            "frame, or name the columns that hold categories in categorical_features."
        ) from error


def mapped_part(
    X: Any, inputs: TableInputs, transform: Callable, function: Callable, n_columns: int
) -> np.ndarray:
    """Return ``function(*transform(X))``, computed block by block."""
    if is_frame(X):
        return np.concatenate([function(*transform(block)) for block in _frame_blocks(X, inputs)])
    if lists_columns(inputs.categorical_features):
        return function(*transform(as_dense(X)))

    def fill(block, out):
        out[...] = function(*transform(as_dense(block)))

    return LocalRows(X).map(Block(fill, row_bytes=8 * len(inputs.sources_)), n_columns)


def _frame_blocks(X: Any, inputs: TableInputs) -> Iterable[Any]:
    """Return blocks of rows; one block if a column of categories holds numbers.

    Such a column is refused if none of its values is a known level, which only all rows show.
    """
    has_same_columns = X.shape[1] == inputs.n_features_in_
    if X.shape[0] <= FRAME_BLOCK or (
        has_same_columns
        and any(column_kind(table_column(X, j)) != "objects" for j in inputs.categories_)
    ):
        return [X]
    table = LocalTable(X)
    return (
        table.take(np.arange(rows.start, rows.stop))
        for rows in gen_batches(X.shape[0], FRAME_BLOCK)
    )
