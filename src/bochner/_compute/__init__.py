"""How numbers are computed: row blocks, threads, memory maps, Dask, and the fused kernels.

Nothing above this package knows about any of them: algorithms say *what* is summed over the rows.
"""

from .blocks import features_block, fourier_sums_block, gram_block, potential_gradient_block
from .dask_rows import as_rows, gathered, is_dask, mean_rows
from .landmark_blocks import landmark_block
from .legacy import assert_finite, compute_rows, row_block_size, row_map, row_sum, shuffled_batches, take_rows
from .maps import is_mapped
from .rows import Block, LocalRows, Rows, as_dense, blocks_of, evenly_spread, row_numbers, working_dtype
from .threads import ordered_map, single_threaded_blas, thread_count, threads_for_rows_only

__all__ = [
    "Block",
    "LocalRows",
    "Rows",
    "as_dense",
    "as_rows",
    "assert_finite",
    "blocks_of",
    "compute_rows",
    "evenly_spread",
    "features_block",
    "fourier_sums_block",
    "gathered",
    "gram_block",
    "is_dask",
    "is_mapped",
    "landmark_block",
    "mean_rows",
    "ordered_map",
    "potential_gradient_block",
    "row_block_size",
    "row_map",
    "row_numbers",
    "row_sum",
    "shuffled_batches",
    "single_threaded_blas",
    "take_rows",
    "thread_count",
    "threads_for_rows_only",
    "working_dtype",
]
