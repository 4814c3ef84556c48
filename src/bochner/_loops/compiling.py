"""Compilation of kernels: one set of flags, and a cache on disk if there is a folder for it."""

import warnings
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache

_FLAGS: Any = {
    "nogil": True,
    "error_model": "numpy",
    # No reassociation: it would move the rounding of the range reduction.
    "fastmath": {"contract", "nnan", "ninf", "nsz", "arcp"},
    "no_cfunc_wrapper": True,  # kernels are not called from C
}
# For kernels with sums and without exponentials: additions in any order can be vectorised.
_SUMMING = _FLAGS | {"fastmath": {*_FLAGS["fastmath"], "reassoc"}}
# Functions called only by kernels need no wrapper for Python, which takes long to compile.
PART: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

_warned = False


def compiled(function: Callable | None = None, *, sums: bool = False, part: bool = False) -> Any:
    """Compile a kernel at its first call, for the types of its arguments.

    ``sums`` may add in any order; a ``part`` is called by kernels only. Kernels are compiled again
    in each process if numba has no folder for its cache, as in a read-only package without a home,
    or cannot write there. A folder of temporary files would not be safe: a cache is code, and
    others could write there.
    """
    if function is None:
        return lambda function: compiled(function, sums=sums, part=part)
    kernel = njit(**(_SUMMING if sums else _FLAGS) | (PART if part else {}))(function)
    try:
        kernel._cache = _Cache(function)
    except RuntimeError as error:  # numba finds no folder
        _warn(error)
    return kernel


# Errors of missing, read-only or full folders, and of damaged files.
_UNUSABLE = OSError, EOFError, UnpicklingError


class _Cache(FunctionCache):
    """numba's cache, without errors for files that cannot be read or written.

    numba compares date and size of a kernel's own file. But kernels call those of other files, and
    installers give all files one date. So this cache is valid as long as no file with kernels
    changes.
    """

    def __init__(self, function):
        super().__init__(function)
        self._cache_file._source_stamp = self._cache_file._source_stamp, sources()

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except _UNUSABLE as error:
            return _warn(error)

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except _UNUSABLE as error:
            _warn(error)


@cache
def sources() -> str:
    """Return a digest of all files with kernels."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()


def cache_place() -> str:
    """Return a clause on the folder of the compiled kernels."""
    try:
        kind = type(_Cache(_warn)._impl.locator).__name__.lstrip("_")
    except RuntimeError:
        return "not stored, compiled again in each process"
    places = {
        "UserProvided": "in NUMBA_CACHE_DIR",
        "InTree": "beside the package",
        "UserWide": "in the user's cache",
    }
    return "stored " + next(
        (words for name, words in places.items() if kind.startswith(name)), f"by {kind}"
    )


def _warn(error):
    """Warn once per process."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"Compiled code cannot be stored ({error}), so each process compiles it again for some "
            "seconds. Set the environment variable NUMBA_CACHE_DIR to a folder where only you may "
            "write.",
            stacklevel=3,
        )
