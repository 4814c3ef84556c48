"""How numbers are computed: row blocks, threads, memory maps, Dask, and the fused kernels.

Nothing above this package knows about any of them: algorithms say *what* is summed over the rows.
"""

from .batches import BatchPlan, enough_rows
from .blocks import features_block, fourier_sums_block, gram_block, potential_gradient_block, tiles
from .dask_rows import as_rows, gathered, is_remote, mean_rows
from .landmark_blocks import landmark_block
from .maps import is_mapped, scratch
from .rows import Block, LocalRows, Rows, as_dense, assert_finite, blocks_of, evenly_spread, row_numbers, working_dtype
from .threads import at_most_threads, ordered_map, single_threaded_blas, thread_count, threads_for_rows_only
