"""In-place matrix operations, all C-ordered: products, inverses and triangular systems.

Of symmetric matrices only the lower half is used. BLAS and LAPACK are called by address: ctypes
releases Python's lock, unlike SciPy's wrappers, so that several threads can each work on a matrix.
To Fortran a C-ordered array is its transpose, and its lower half the upper one.
"""

import ctypes
from functools import cache

import numpy as np

_UPPER, _LEFT, _TRANSPOSED, _PLAIN = b"U", b"L", b"T", b"N"
_N_ARGUMENTS = {"potrf": 5, "potri": 5, "syrk": 10, "symm": 12, "gemm": 13, "trsm": 11}
_TILE = 512


@cache
def _routine(library, name):
    from numba.extending import get_cython_function_address  # imported on first use

    address = get_cython_function_address(f"scipy.linalg.cython_{library}", name)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * _N_ARGUMENTS[name[1:]])(address)


def _call(library, name, *arguments):
    """Call the routine for the precision of the first array; numbers are passed by reference."""
    dtype = next(given.dtype for given in arguments if isinstance(given, np.ndarray))
    real = {np.dtype(np.float32): ctypes.c_float, np.dtype(np.float64): ctypes.c_double}[dtype]

    def pointer(given):
        if isinstance(given, np.ndarray):
            assert given.dtype == dtype
            assert given.flags.c_contiguous
            return given.ctypes.data
        if isinstance(given, (int, float)):
            given = ctypes.c_int(given) if isinstance(given, int) else real(given)
        return given if isinstance(given, bytes) else ctypes.byref(given)

    _routine(library, ("s" if real is ctypes.c_float else "d") + name)(*map(pointer, arguments))


def symmetric_product(lower: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return S @ columns."""
    right = np.ascontiguousarray(columns.T, dtype=lower.dtype)
    # Zeros, since for BLAS zero times NaN of an empty array may be NaN.
    out, (k, n) = np.zeros_like(right), right.shape
    _call("blas", "symm", _LEFT, _UPPER, n, k, 1.0, lower, n, right, n, 0.0, out, n)
    return out.T


def add_outer_products(
    lower: np.ndarray, columns: np.ndarray, alpha: float, beta: float = 1.0
) -> None:
    """Compute S ← beta S + alpha columns columnsᵀ in place."""
    columns = np.ascontiguousarray(columns, dtype=lower.dtype)
    n, k = columns.shape
    _call(
        "blas", "syrk", _UPPER, _TRANSPOSED, n, k, float(alpha), columns, k, float(beta), lower, n
    )


def inner_products(columns: np.ndarray) -> np.ndarray:
    """Return the symmetric columnsᵀ columns."""
    n, k = columns.shape
    out = np.zeros((k, k), columns.dtype)
    _call("blas", "syrk", _UPPER, _PLAIN, k, n, 1.0, columns, k, 0.0, out, k)
    return mirror(out)


def add_products(out: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Compute out ← out + left rightᵀ in place."""
    (m, k), n = left.shape, len(right)
    _call("blas", "gemm", _TRANSPOSED, _PLAIN, n, m, k, 1.0, right, k, left, k, 1.0, out, n)


def solve_lower(triangle: np.ndarray, rows: np.ndarray, transposed: bool = False) -> None:
    """Replace each row r by L⁻¹ r, or L⁻ᵀ r (``transposed``), for the lower triangle L."""
    n, k = rows.shape
    kind = _PLAIN if transposed else _TRANSPOSED
    _call("blas", "trsm", _LEFT, _UPPER, kind, _PLAIN, k, n, 1.0, triangle, k, rows, k)


def factorize(lower: np.ndarray) -> bool:
    """Replace S by its lower Cholesky factor; return False if it is not positive definite."""
    n, failed = len(lower), ctypes.c_int(0)
    _call("lapack", "potrf", _UPPER, n, lower, n, failed)
    return failed.value == 0


def invert(lower: np.ndarray) -> float | None:
    """Replace S by S⁻¹ and return ½ log det S, or None if S is not positive definite."""
    if not factorize(lower):
        return None
    half_log_determinant = float(np.sum(np.log(np.diag(lower).astype(np.float64))))
    _call("lapack", "potri", _UPPER, len(lower), lower, len(lower), ctypes.c_int(0))
    return half_log_determinant


def mirror(lower: np.ndarray) -> np.ndarray:
    """Copy the lower half to the upper one by tiles: a whole copy would double the memory."""
    for start in range(0, len(lower), _TILE):
        mirror_rows(lower, slice(start, start + _TILE))
    return lower


def mirror_rows(lower: np.ndarray, rows: slice) -> None:
    """Mirror the entries left of the diagonal of some rows."""
    lower[: rows.start, rows] = lower[rows, : rows.start].T
    corner = np.tril(lower[rows, rows])
    lower[rows, rows] = corner + np.tril(corner, -1).T
