"""Memory maps: detection, temporary files for large arrays, and release of resident pages."""

import errno
import mmap
import os
import shutil
import tempfile
from itertools import count
from weakref import WeakValueDictionary

import numpy as np

# Temporary files that are still in use, by a running number, since arrays are not hashable.
_SCRATCHES: WeakValueDictionary = WeakValueDictionary()
_numbers = count()


def is_mapped(X):
    """Return True if X is a view of a file; scikit-learn's checks hide the map behind an array."""
    return _mapped_owner(X) is not None


def _mapped_owner(X):
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return X
        X = X.base
    return None


def scratch(shape, dtype, most_bytes):
    """Return an empty array: in memory up to so many bytes, else in a temporary file.

    The file is deleted with the last reference to it.
    """
    n_bytes = np.dtype(dtype).itemsize * int(np.prod(shape))
    if n_bytes <= most_bytes:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile() as file:
        _reserve(file, n_bytes)
        return _registered(np.memmap(file, dtype, "w+", shape=shape))


def mapped_bytes(file):
    """Return the content of a temporary file, which is deleted with the last reference to it."""
    file.flush()
    return _registered(np.memmap(file, np.uint8, "r"))


def release_scratches():
    """Release the resident pages of all temporary files; their content stays in the files."""
    for scratch_map in list(_SCRATCHES.values()):
        release_pages(scratch_map, slice(None))


def _registered(scratch_map):
    _SCRATCHES[next(_numbers)] = scratch_map
    return scratch_map


def _reserve(file, n_bytes):
    """Raise if the disk has no room for a file: a full disk behind a map would kill the process."""
    folder = tempfile.gettempdir()
    n_free = shutil.disk_usage(folder).free
    try:
        if n_bytes > n_free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, n_bytes)
    except OSError as error:
        message = (
            f"{error.strerror}: a temporary file needs {n_bytes / 1e9:.2g} GB, and {folder} has "
            f"{n_free / 1e9:.2g} GB; let TMPDIR name a folder with more room."
        )
        raise OSError(error.errno, message) from None


def release_pages(array, rows):
    """Release the resident pages of a memory-mapped block; its content stays in the file.

    Without this, the pages of a file larger than memory count as ours until the system runs short.
    """
    owner = _mapped_owner(array)
    # Copy-on-write maps (mode "c") hold changes that are not in the file.
    if owner is None or owner.mode == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return
    block = array[rows]
    mapping = owner._mmap
    if mapping is None or not block.flags.c_contiguous or block.nbytes == 0:
        return
    start = block.ctypes.data - np.frombuffer(mapping, dtype=np.uint8).ctypes.data
    first_page = start // mmap.PAGESIZE * mmap.PAGESIZE
    mapping.madvise(mmap.MADV_DONTNEED, first_page, start + block.nbytes - first_page)
