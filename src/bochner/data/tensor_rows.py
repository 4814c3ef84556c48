"""Rows in arrays of the array API standard (torch, CuPy, array-api-strict), maybe on a GPU.

Block functions with an array API version run on the device. For others, blocks of rows are copied
to NumPy, one at a time. As in scikit-learn, ``array_api_dispatch`` must be set.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from .._loops.arrays import assert_finite
from .batches import shuffled_within
from .rows import Block, LocalRows, Rows, add_parts, blocks_of

# Rows and bytes of one block at most: devices need large blocks.
BLOCK_ROWS, BLOCK_BYTES = 2**14, 2**28

_versions: dict[Callable, Callable] = {}


def array_api_version_of(function: Callable) -> Callable[[Callable], Callable]:
    """Register, as a decorator, the array API version of a block function.

    It has the parameters of ``function`` after the namespace of the arrays. NumPy arrays among them
    have been copied to the device, and blocks have been replaced by their array API versions. It
    returns its result instead of filling ``out``.
    """

    def register(version: Callable) -> Callable:
        _versions[function] = version
        return version

    return register


def on_host(values: Any) -> Any:
    """Return an array of the standard, on any device, as a NumPy array."""
    compat = array_api_compat()
    if compat.is_torch_array(values):
        values = values.detach()
    if "cpu" not in str(compat.device(values)).lower():
        strict = compat.is_array_api_strict_namespace(compat.array_namespace(values))
        values = compat.to_device(
            values, compat.array_namespace(values).Device("CPU_DEVICE") if strict else "cpu"
        )
    return np.from_dlpack(values)


def array_api_compat() -> Any:
    """Return the module ``array_api_compat``, imported at its first use."""
    try:
        import array_api_compat as module
    except ImportError as error:
        raise ImportError(
            "Arrays of other libraries than NumPy need array-api-compat. Write pip install "
            "'bochner[arrays]', or give a NumPy array."
        ) from error
    return module


class TensorRows(Rows):
    """Two-dimensional array of the standard; sums are NumPy arrays, maps stay on the device."""

    def __init__(self, source: Any, block_size: int | str = "auto"):
        self.xp = array_api_compat().array_namespace(source)
        if source.ndim != 2:
            raise ValueError(
                f"X must be two-dimensional (points, features), got {source.ndim} dimension(s)."
            )
        if not self.xp.isdtype(source.dtype, ("bool", "integral", "real floating")):
            raise ValueError(f"Got an array of dtype {source.dtype}; bochner needs real numbers.")
        precise = source.dtype in (self.xp.float32, self.xp.float64)
        self.source = source if precise else self.xp.astype(source, self.xp.float64)
        self.device = array_api_compat().device(source)
        self.block_size = block_size

    @property
    def shape(self):
        return tuple(map(int, self.source.shape))

    @property
    def dtype(self):
        return np.dtype(np.float32 if self.source.dtype == self.xp.float32 else np.float64)

    @property
    def has_cheap_access(self):
        return True

    def sum(self, block, *signals):
        total, function = None, self._on_block(block)
        for rows in self._blocks(block):
            result = function(rows, signals)
            parts = tuple(
                self._exact(part) for part in (result if isinstance(result, tuple) else (result,))
            )
            total = add_parts(total, parts if isinstance(result, tuple) else parts[0])
        return total

    def map(self, block, n_columns=None, *, dtype=None, out=None, signals=()):
        if out is not None:
            raise ValueError(
                "out= is for NumPy arrays; the result for other arrays is on their device."
            )
        shape = (len(self),) if n_columns is None else (len(self), n_columns)
        dtype = np.dtype(self.dtype if dtype is None else dtype)
        function = self._on_block(block, shape[1:], dtype)
        result = self.xp.empty(shape, dtype=self._dtype(dtype), device=self.device)
        for rows in self._blocks(block):
            result[rows, ...] = self._on_device(function(rows, signals), dtype)
        return result

    def values(self, block, n_columns=None, *, dtype=None, signals=()):
        rows = LocalRows(on_host(self.source))
        return rows.map(block, n_columns, dtype=dtype, signals=signals)

    def take(self, numbers):
        if len(numbers) == len(self):
            return on_host(self.source)
        places = self._on_device(np.asarray(numbers, np.int64))
        return on_host(self.xp.take(self.source, places, axis=0))

    def batches(self, size, rng, kept=None) -> Iterator[tuple]:
        blocks = self._blocks()
        for i in rng.permutation(len(blocks)):
            yield from shuffled_within(
                blocks[i].start, on_host(self.source[blocks[i], :]), size, rng, kept
            )

    def assert_finite(self, name="X", names=None):
        """Raise for NaN and infinity, with their row and column."""
        for rows in self._blocks():
            block = self.source[rows, :]
            if not bool(self.xp.all(self.xp.isfinite(block))):
                assert_finite(on_host(block), name, names, first_row=rows.start)

    def _blocks(self, block=None):
        if self.block_size != "auto":
            return blocks_of(len(self), size=int(self.block_size))
        row_bytes = self.dtype.itemsize * self.n_features + (
            block.row_bytes if isinstance(block, Block) else 0
        )
        return blocks_of(len(self), size=max(1, min(BLOCK_ROWS, BLOCK_BYTES // row_bytes)))

    def _on_block(self, block, tail=None, dtype=None):
        """Return a function of a slice of rows and of signals.

        It calls the array API version on the device, or the block function on a copy of the rows.
        """
        version = self._version(block)
        if version is not None:
            return lambda rows, signals: version(
                self.source[rows, :], *(self._on_device(s[rows]) for s in signals)
            )

        def copied(rows, signals):
            X = np.ascontiguousarray(on_host(self.source[rows, :]))
            if tail is None:
                return block(X, *(signal[rows] for signal in signals))
            out = np.empty((len(X), *tail), dtype)
            block(X, *(signal[rows] for signal in signals), out=out)
            return out

        return copied

    def _version(self, block):
        """Return the array API version of a block with its parameters on the device, or None."""
        from . import tensor_blocks  # noqa: F401  (registers)

        function, parameters = (
            (block.func, block.args) if isinstance(block, partial) else (block, ())
        )
        # Block functions with an array API version have no keywords.
        if function not in _versions or (isinstance(block, partial) and block.keywords):
            return None
        moved = []
        for parameter in parameters:
            is_block = isinstance(parameter, Block)
            moved.append(self._version(parameter) if is_block else self._on_device(parameter))
            if is_block and moved[-1] is None:
                return None
        return partial(_versions[function], self.xp, *moved)

    def _on_device(self, values, dtype=None):
        """Copy NumPy arrays to the device of the rows; return other values unchanged.

        The array API versions choose the precision: targets need all of theirs.
        """
        if not isinstance(values, np.ndarray):
            return values
        values = np.ascontiguousarray(values if dtype is None else values.astype(dtype, copy=False))
        if values.dtype.kind == "u" and values.dtype != np.uint8:
            values = values.astype(np.int64)  # not every library has uint32 and uint64
        # A copy, since frozen arrays must not become writable.
        return self.xp.asarray(values, device=self.device, copy=True)

    def _dtype(self, dtype):
        return getattr(self.xp, np.dtype(dtype).name)

    def _exact(self, part):
        """Return a partial sum in float64 as a NumPy array: not every device has float64."""
        return np.asarray(
            part if isinstance(part, (np.ndarray, np.generic, float)) else on_host(part), np.float64
        )
