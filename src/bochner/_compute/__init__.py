"""How numbers are computed: row blocks, threads, memory maps, Dask, and the fused kernels.

Nothing above this package knows about any of them: algorithms say *what* is summed over the rows.
"""

from .batches import BatchPlan, enough_rows
from .blocks import features_block, fourier_sums_block, gram_block, potential_gradient_block, tiles
from .clusters import with_the_scheduler
from .dask_inputs import gathered, is_remote, of_predictions, opened, remote_frame
from .dask_rows import as_rows
from .dask_tables import RemoteTable
from .landmark_blocks import landmark_block
from .maps import is_mapped, mapped_bytes, release_scratches, scratch
from .row_keys import column_keys, row_keys
from .rows import (
    Block,
    LocalRows,
    Rows,
    as_dense,
    assert_finite,
    assert_unmasked,
    blocks_of,
    evenly_spread,
    row_numbers,
    working_dtype,
)
from .tensor_rows import TensorRows, is_tensor, twin_of
from .threads import (
    at_most_threads,
    ordered_map,
    single_threaded_blas,
    thread_count,
    threads_for_matrices,
    threads_for_rows_only,
    threads_of_others,
)
