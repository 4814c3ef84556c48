"""Rows that live in another library's arrays, perhaps on a GPU: what has a twin for such arrays
runs where the rows are.

``TensorRows`` speaks the array API standard (torch, CuPy, array-api-strict). A block function
without a twin is right all the same: its blocks of rows are copied to NumPy, one at a time. As in
scikit-learn, this is asked for by ``array_api_dispatch``.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config

from .rows import Block, Rows, add_parts, assert_finite, blocks_of, shuffled_within

# Rows of one block, and the bytes that these may need: devices want large blocks.
BLOCK_ROWS, BLOCK_BYTES = 2**14, 2**28

_twins: dict[Callable, Callable] = {}


def array_api_version_of(function: Callable) -> Callable[[Callable], Callable]:
    """Register, as a decorator, what does on arrays of the standard what ``function`` does on
    NumPy's.

    A twin takes the parameters of ``function`` after the namespace of the arrays; NumPy arrays
    among them are on the device by then, and blocks are functions of such arrays. It returns its
    result, whatever ``out`` the function has.
    """

    def register(twin: Callable) -> Callable:
        _twins[function] = twin
        return twin

    return register


def is_tensor(X: Any) -> bool:
    """Whether X is an array of the standard, not of NumPy, that scikit-learn is told to dispatch
    on.
    """
    if (
        isinstance(X, (np.ndarray, np.generic, list, tuple, Rows))
        or sp.issparse(X)
        or not get_config()["array_api_dispatch"]
    ):
        return False
    return _compat().is_array_api_obj(X)


def on_host(values: Any) -> Any:
    """A NumPy array of the numbers of an array of the standard, wherever they are."""
    compat = _compat()
    if compat.is_torch_array(values):
        values = values.detach()
    if "cpu" not in str(compat.device(values)).lower():
        strict = compat.is_array_api_strict_namespace(compat.array_namespace(values))
        values = compat.to_device(
            values, compat.array_namespace(values).Device("CPU_DEVICE") if strict else "cpu"
        )
    return np.from_dlpack(values)


def _compat():
    try:
        import array_api_compat
    except ImportError as error:
        raise ImportError(
            "Arrays of other libraries than NumPy need array-api-compat. Write pip install "
            "'bochner[arrays]', or give a NumPy array."
        ) from error
    return array_api_compat


class TensorRows(Rows):
    """A two-dimensional array of the standard; sums come to NumPy, maps stay where the rows are."""

    # A pass over all rows may be a copy of them all.
    is_local = False

    def __init__(self, source: Any, block_size: int | str = "auto"):
        self.xp = _compat().array_namespace(source)
        if source.ndim != 2:
            raise ValueError(
                f"X must be two-dimensional (points, features), got {source.ndim} dimension(s)."
            )
        if not self.xp.isdtype(source.dtype, ("bool", "integral", "real floating")):
            raise ValueError(f"Got an array of dtype {source.dtype}; bochner needs real numbers.")
        precise = source.dtype in (self.xp.float32, self.xp.float64)
        self.source = source if precise else self.xp.astype(source, self.xp.float64)
        self.device = _compat().device(source)
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
            result[rows, ...] = self._here(function(rows, signals), dtype)
        return result

    def take(self, numbers):
        if len(numbers) == len(self):
            return on_host(self.source)
        return on_host(self.xp.take(self.source, self._here(np.asarray(numbers, np.int64)), axis=0))

    def batches(self, size, rng, kept=None) -> Iterator[tuple]:
        blocks = self._blocks()
        for i in rng.permutation(len(blocks)):
            yield from shuffled_within(
                blocks[i].start, on_host(self.source[blocks[i], :]), size, rng, kept
            )

    def persist(self, signal):
        return signal

    def assert_finite(self, name="X", names=None):
        """Refuse NaN and infinity, with their row and column."""
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
        """A function of a slice of rows and of the signals: the twin on the device, or the block
        itself on a copy of the rows.
        """
        twin = self._twin(block)
        if twin is not None:
            return lambda rows, signals: twin(
                self.source[rows, :], *(self._here(s[rows]) for s in signals)
            )

        def copied(rows, signals):
            X = np.ascontiguousarray(on_host(self.source[rows, :]))
            if tail is None:
                return block(X, *(signal[rows] for signal in signals))
            out = np.empty((len(X), *tail), dtype)
            block(X, *(signal[rows] for signal in signals), out=out)
            return out

        return copied

    def _twin(self, block):
        """The twin of a block with its parameters on the device, or None where it, or a block
        within it, has none.
        """
        from . import tensor_blocks  # noqa: F401  (registers)

        function, parameters = (
            (block.func, block.args) if isinstance(block, partial) else (block, ())
        )
        # Keywords of a block are not looked into: none of those that have a twin take any.
        if function not in _twins or (isinstance(block, partial) and block.keywords):
            return None
        here = [self._twin(p) if isinstance(p, Block) else self._here(p) for p in parameters]
        missing = any(
            isinstance(p, Block) and twin is None for p, twin in zip(parameters, here, strict=True)
        )
        return None if missing else partial(_twins[function], self.xp, *here)

    def _here(self, values, dtype=None):
        """Numbers of NumPy on the device of the rows, all else as it is.  Twins choose the
        precision: targets need all of theirs.
        """
        if not isinstance(values, np.ndarray):
            return values
        values = np.ascontiguousarray(values if dtype is None else values.astype(dtype, copy=False))
        if values.dtype.kind == "u" and values.dtype != np.uint8:
            values = values.astype(np.int64)  # not every library has the wider ones
        # A copy: what is frozen here must not be writable there.
        return self.xp.asarray(values, device=self.device, copy=True)

    def _dtype(self, dtype):
        return getattr(self.xp, np.dtype(dtype).name)

    def _exact(self, part):
        """A partial sum in float64, by NumPy: not every device has float64."""
        return np.asarray(
            part if isinstance(part, (np.ndarray, np.generic, float)) else on_host(part), np.float64
        )
