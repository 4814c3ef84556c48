"""How numbers are computed: row blocks, threads, memory maps, Dask, and the fused kernels.

Nothing above this package knows about any of them: algorithms say *what* is summed over the rows.
"""

from .batches import is_mapped, row_numbers, shuffled_batches, take_rows
from .blocks import features_block, fourier_sums_block, gram_block, potential_gradient_block, working_dtype
from .landmark_blocks import landmark_block, shared_landmark_block
from .rows import assert_finite, blocks_of, compute_rows, is_dask, row_block_size, row_map, row_sum
from .threads import ordered_map, single_threaded_blas, thread_count, threads_for_rows_only

__all__ = [
    "assert_finite",
    "blocks_of",
    "compute_rows",
    "features_block",
    "fourier_sums_block",
    "gram_block",
    "is_dask",
    "is_mapped",
    "landmark_block",
    "ordered_map",
    "potential_gradient_block",
    "row_block_size",
    "row_map",
    "row_numbers",
    "row_sum",
    "shared_landmark_block",
    "shuffled_batches",
    "single_threaded_blas",
    "take_rows",
    "thread_count",
    "threads_for_rows_only",
    "working_dtype",
]
