"""Rows, targets and weights: the only package that knows where rows live.

Rows may be in memory, in memory maps, on Dask or on other devices.
"""

from .batches import BatchPlan, enough_rows
from .dask.clusters import with_the_scheduler
from .dask.inputs import gathered, is_remote, of_predictions, zarr_as_dask
from .dask.rows import as_rows
from .dask.tables import RemoteTable
from .maps import is_mapped, mapped_bytes, release_scratches, scratch
from .row_keys import column_keys, row_keys
from .rows import Block, LocalRows, Rows, assert_finite, blocks_of, evenly_spread, row_numbers
from .tensor_rows import array_api_version_of

__all__ = [
    "BatchPlan",
    "Block",
    "LocalRows",
    "RemoteTable",
    "Rows",
    "array_api_version_of",
    "as_rows",
    "assert_finite",
    "blocks_of",
    "column_keys",
    "enough_rows",
    "evenly_spread",
    "gathered",
    "is_mapped",
    "is_remote",
    "mapped_bytes",
    "of_predictions",
    "release_scratches",
    "row_keys",
    "row_numbers",
    "scratch",
    "with_the_scheduler",
    "zarr_as_dask",
]
