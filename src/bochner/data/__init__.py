"""Rows, targets and weights: the only package that depends on where rows are stored.

Rows may be in memory, in memory maps or on Dask.
"""

from .._loops.arrays import assert_finite
from .batches import BatchPlan, enough_rows
from .checks import gathered, of_predictions
from .dask.clusters import with_the_scheduler
from .maps import mapped_bytes, release_scratches, scratch
from .repetitions import column_keys
from .rows import Block, LocalRows, Rows, as_rows, row_numbers

__all__ = [
    "BatchPlan",
    "Block",
    "LocalRows",
    "Rows",
    "as_rows",
    "assert_finite",
    "column_keys",
    "enough_rows",
    "gathered",
    "mapped_bytes",
    "of_predictions",
    "release_scratches",
    "row_numbers",
    "scratch",
    "with_the_scheduler",
]
