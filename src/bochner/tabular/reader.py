"""Tables as they come to a model of the front door, and as they go through it again for
predictions: in memory, in files, on a cluster.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from .._loops.arrays import as_dense
from ..data import Block, LocalRows, RemoteTable, is_remote, zarr_as_dask
from ..data.checks import check_numbers, check_weights
from ..data.columns import column_kind, has_large_integers, is_frame, table_column
from ..data.inputs import TableInputs
from ..data.unfamiliar import warn_of_unfamiliar
from .preparation import select_rows

# Sparse rows are made dense up to this size.
_DENSE_BYTES = 2**31
# Rows of a frame that are predicted at once; as many at a time give the same digits whichever rows
# come before and after them.
FRAME_BLOCK = 4096


class TableDoor:
    """What lets rows in: frames, arrays, sparse matrices and memory maps, and collections of Dask."""

    categorical_features: Any
    trees: bool
    max_exact_rows: int
    n_features_in_: int
    inputs_: TableInputs

    def _received(self, X, sample_weight):
        """Return the rows that have a weight, how many rows were given, their numbers, and their
        weights.

        A table on Dask is returned whole, with weights that may be zero.
        """
        X = self._rows_at_the_door(X)
        n_rows = X.shape[0]
        if n_rows < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 rows, got n_samples = {n_rows}."
            )
        given = check_weights(sample_weight, n_rows)
        weights = np.ones(n_rows) if given is None else given
        kept = np.flatnonzero(weights > 0)
        if isinstance(X, RemoteTable):
            return X, n_rows, np.arange(n_rows), weights
        return select_rows(X, kept), n_rows, kept, weights[kept]

    def _rows_at_the_door(self, X):
        """Rows in memory or a memory map as they are; those of a cluster brought here if they are
        few, else left there.
        """
        X = zarr_as_dask(X)
        if is_remote(X):
            table = self._remote_table(X)
            self.n_features_in_ = table.n_features
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
            if table.shape[0] <= self.max_exact_rows:
                return self._checked_rows(table.here(), reset=True)
            if self.trees:
                raise ValueError(
                    f"trees=True needs all rows in memory, but X has {table.shape[0]} on a "
                    "cluster, more than max_exact_rows="
                    f"{self.max_exact_rows}. Write trees=False, or give X.compute()."
                )
            return table
        return self._checked_rows(X, reset=True)

    def _remote_table(self, X):
        table = RemoteTable(X)
        if (
            table.dtype is not None
            and table.dtype.kind not in "fiub"
            and not self._lists_categories()
        ):
            raise ValueError(
                f"Arrays are taken as numbers, but X is a Dask array of dtype {table.dtype}. Give "
                "a Dask frame, or name the columns that "
                "hold categories in categorical_features."
            )
        return table

    def _checked_rows(self, X, reset):
        if is_frame(X):
            if reset:
                self.n_features_in_ = X.shape[1]
                self.__dict__.pop("feature_names_in_", None)
            return X
        X = self._validated(X.source if isinstance(X, LocalRows) else X, reset)
        n_bytes = 8 * X.shape[0] * X.shape[1]
        if sp.issparse(X) and n_bytes > _DENSE_BYTES:
            raise ValueError(
                f"Sparse rows are made dense, and {X.shape[0]} x {X.shape[1]} numbers are "
                f"{n_bytes / 1e9:.1f} GB, more than "
                f"{_DENSE_BYTES / 1e9:.1f} GB. Fit fewer rows or columns, or use SpectralRidge, "
                "which keeps rows sparse."
            )
        return X.toarray() if sp.issparse(X) else X

    def _validated(self, X, reset):
        """An array or sparse matrix of numbers (of anything where some columns are named as
        categories), missing values allowed.
        """
        dtype = (
            None if self._lists_categories() or has_large_integers(X) else (np.float64, np.float32)
        )
        try:
            return check_numbers(
                self,
                X,
                accept_sparse="csr",
                dtype=dtype,
                ensure_all_finite="allow-nan",
                reset=reset,
            )
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            raise ValueError(
                f"Arrays are taken as numbers, but X holds texts: {error}. Give a pandas or polars "
                "frame, "
                "or name the columns that hold categories in categorical_features."
            ) from error

    def _lists_categories(self):
        return not isinstance(self.categorical_features, str)

    # --- predictions ------------------------------------------------------------------------------

    def _map_rows(self, X, function, n_columns):
        """Return ``function(prepared rows)``, (n_samples, n_columns), for any kind of X, block by
        block.

        float32 rows give float32.  One warning names the columns with cells that are unknown from
        training; of rows on a cluster, which are computed later, there is none.
        """
        check_is_fitted(self)
        X = zarr_as_dask(X)
        if is_remote(X):
            table = self._remote_table(X)
            if table.frame is not None:
                self.inputs_.check_columns(table.frame)
            elif table.n_features != self.n_features_in_:
                raise ValueError(
                    f"X has {table.n_features} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input."
                )
            transform = self.inputs_.transform_part
            return table.map(
                lambda part: self._map_here(part, function, n_columns, transform), n_columns
            )
        with warn_of_unfamiliar() as cells:
            transform = partial(self.inputs_._transform, whole=True, cells=cells)
            return self._map_here(X, function, n_columns, transform)

    def _map_here(self, X, function, n_columns, transform):
        if is_frame(X):
            return np.concatenate([function(transform(block)) for block in self._frame_blocks(X)])
        X = self._validated(X.source if isinstance(X, LocalRows) else X, reset=False)
        if self._lists_categories():
            return function(transform(as_dense(X)))

        def fill(block, out):
            out[...] = function(transform(as_dense(block)))

        return LocalRows(X).map(Block(fill, row_bytes=8 * len(self.inputs_.sources_)), n_columns)

    def _frame_blocks(self, X):
        """Numbers where there were categories are refused if none of all rows is known: these are
        looked at together.
        """
        known = X.shape[1] == self.n_features_in_
        together = known and any(
            column_kind(table_column(X, j)) != "objects" for j in self.inputs_.categories_
        )
        if together or X.shape[0] <= FRAME_BLOCK:
            return [X]
        return (
            select_rows(X, np.arange(rows.start, rows.stop))
            for rows in gen_batches(X.shape[0], FRAME_BLOCK)
        )

    def _prepared_for_looks(self, X):
        check_is_fitted(self)
        if is_remote(X):
            raise TypeError(
                "Effects and derivatives are of rows in memory, not on a cluster. Give some of "
                "them, e.g. X.head() or X[:1000].compute()."
            )
        with warn_of_unfamiliar() as cells:
            rows = X if is_frame(X) else self._checked_rows(X, reset=False)
            return self.inputs_._transform(rows, whole=True, cells=cells)
