"""Memory maps: telling them from arrays, making one for what does not fit, and giving their pages back."""

import mmap
import tempfile

import numpy as np


def is_mapped(X):
    """Whether X is a view of a file; scikit-learn's checks hide the map behind a plain array."""
    return _mapped_owner(X) is not None


def _mapped_owner(X):
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return X
        X = X.base
    return None


def scratch(shape, dtype, most_bytes):
    """Room for an array: in memory up to so many bytes, else in a temporary file that goes with the last reference to it."""
    if np.dtype(dtype).itemsize * int(np.prod(shape)) <= most_bytes:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype, "w+", shape=shape)


def release_pages(array, rows):
    """Give back the resident pages of a memory-mapped block; its content stays in the file and its cache.

    Without this the pages of a file larger than memory count as ours until the system runs short.
    """
    owner = _mapped_owner(array)
    # Copy-on-write maps (mode "c") hold changes that exist nowhere else: never drop those.
    if owner is None or owner.mode == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return
    block = array[rows]
    mapping = owner._mmap
    if mapping is None or not block.flags.c_contiguous or block.nbytes == 0:
        return
    start = block.ctypes.data - np.frombuffer(mapping, dtype=np.uint8).ctypes.data
    first_page = start // mmap.PAGESIZE * mmap.PAGESIZE
    mapping.madvise(mmap.MADV_DONTNEED, first_page, start + block.nbytes - first_page)
