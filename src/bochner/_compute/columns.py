"""Columns with an entry for each row (targets, codes, weights), in memory or on a cluster: what is asked of them without moving them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .clusters import computed
from .dask_inputs import added, group_sizes, held_column, is_remote, remote_array
from .rows import assert_unmasked


def read_column(y: Any) -> Any:
    """y of a cluster as a Dask array of known lengths, computed once where there is room; its groups are those of rows of equal lengths."""
    return held_column(remote_array(y, "y", numbers=False))


def fold(function: Callable, combine: Callable, *columns: Any) -> Any:
    """``function`` of all entries, found part by part and combined in their order; the first one on a cluster says where.

    ``function(*parts)`` must be such that ``combine`` of two parts is what it gives for both together.
    """
    remote = [column for column in columns if is_remote(column)]
    if not remote:
        return function(*columns)
    import dask

    sizes = group_sizes(remote[0].chunks[0])
    stops = np.cumsum(sizes)
    pieces = []
    for column in columns:
        if is_remote(column):
            chunks = {0: sizes} | dict.fromkeys(range(1, column.ndim), -1)
            pieces.append(column.rechunk(chunks).to_delayed().ravel())
        else:
            pieces.append([column[stop - size : stop] for stop, size in zip(stops, sizes, strict=True)])
    apply = dask.delayed(partial(_on_part, function))
    found = [apply(*parts) for parts in zip(*pieces, strict=True)]
    return computed(added(found, np.ones(len(found), int), combine))[0]


def _on_part(function, *parts):
    for part in parts:
        assert_unmasked(part, "y")
    return function(*map(np.asarray, parts))


def entrywise(function: Callable, column: Any, dtype: Any, n_columns: int | None = None) -> Any:
    """``function(part)`` for every part of a column, with as many rows, one-dimensional or of ``n_columns``; where the column is."""
    if not is_remote(column):
        return function(column)
    shape: dict[str, Any] = {"meta": np.empty(0, dtype)}
    if column.ndim == 2:
        column = column.rechunk({1: -1})
    if column.ndim == 2 and n_columns is None:
        shape |= {"drop_axis": 1}
    if n_columns is not None:
        shape = {"meta": np.empty((0, 0), dtype), "chunks": (column.chunks[0], (n_columns,))}
        shape |= {"new_axis": 1} if column.ndim == 1 else {}
    return column.map_blocks(partial(_on_part, function), dtype=dtype, **shape)


def weights_or_ones(weights: Any, column: Any) -> Any:
    """The weights of the rows, or where there are none a one for each entry of a column, where that is; ones take no memory."""
    return entrywise(_ones, column, np.float64) if weights is None else weights


def _ones(column):
    return np.broadcast_to(np.float64(1), len(column))


def looked_up(table: np.ndarray, codes: Any) -> Any:
    """table[codes], where the codes are."""
    return entrywise(partial(np.take, table, axis=0), codes, table.dtype, table.shape[1] if table.ndim == 2 else None)


def entries(column: Any, numbers: np.ndarray) -> np.ndarray:
    """The entries of some rows, in memory."""
    if not is_remote(column):
        return column[numbers]
    # A cluster is asked for each row once, in order.
    wanted, places = np.unique(numbers, return_inverse=True)
    return np.asarray(computed(column[wanted])[0])[places.ravel()]


def cleared(column: Any, numbers: np.ndarray) -> Any:
    """The column with zeros in the rows of these sorted numbers, where it is."""
    if not is_remote(column):
        return _cleared(column, numbers)
    import dask
    import dask.array as da

    sizes, clear = column.chunks[0], dask.delayed(_cleared)
    stops = np.cumsum(sizes)
    pieces = np.split(numbers, np.searchsorted(numbers, stops[:-1]))
    parts = zip(column.to_delayed().ravel(), pieces, stops, sizes, strict=True)
    return da.concatenate(
        [da.from_delayed(clear(part, own - (stop - size)), (size,), column.dtype) for part, own, stop, size in parts]
    )


def _cleared(column, numbers):
    column = column.copy()
    column[numbers] = 0
    return column


def totals(codes: Any, n_codes: int, weights: Any = None) -> np.ndarray:
    """How often, or with which weight, each code occurs."""
    columns = [codes] if weights is None else [codes, weights]
    return fold(partial(_totals, n_codes), np.add, *columns)


def _totals(n_codes, codes, weights=None):
    return np.bincount(codes, weights, minlength=n_codes)


def codes_that_count(strata: Any, n_strata: int, weights: Any) -> tuple[Any, int]:
    """The codes of the rows, and how many codes there are; one more, which is not counted, for rows without weight.  None where all are alike."""
    if weights is None:
        return strata, n_strata
    if strata is None:
        return entrywise(_without_weight, weights, np.uint8), 1
    # Beyond all codes, in a type that has room for it.
    dtype = np.min_scalar_type(n_strata)
    return strata.astype(dtype) * (weights > 0) + n_strata * (weights <= 0).astype(dtype), n_strata


def _without_weight(weights):
    return (weights <= 0).astype(np.uint8)


def rows_of_code(codes: Any, code: int, ranks: np.ndarray) -> np.ndarray:
    """Numbers of the rows that have this code, the first of them of rank 0; ``ranks`` in any order."""
    if not is_remote(codes):
        return np.flatnonzero(codes == code)[ranks]
    import dask

    order = np.argsort(ranks, kind="stable")
    ranks = np.asarray(ranks)
    count, find = dask.delayed(partial(_count, code)), dask.delayed(partial(_places, code))
    parts, sizes = codes.to_delayed().ravel(), codes.chunks[0]
    counts = np.array(computed(*map(count, parts)))
    stops = np.cumsum(counts)
    wanted = np.split(ranks[order], np.searchsorted(ranks[order], stops[:-1]))
    found = computed(*(find(part, w - (s - c)) for part, w, s, c in zip(parts, wanted, stops, counts) if len(w)))
    starts = [stop - size for stop, size, w in zip(np.cumsum(sizes), sizes, wanted) if len(w)]
    numbers = np.empty(len(ranks), int)
    numbers[order] = np.concatenate([start + places for start, places in zip(starts, found)])
    return numbers


def _count(code, codes):
    return int(np.sum(codes == code))


def _places(code, codes, ranks):
    return np.flatnonzero(codes == code)[ranks]


def rows_at_shares(weights: Any, shares: np.ndarray) -> np.ndarray:
    """Numbers of the rows with which the weights, added up from the first row on, exceed these shares of all weight; never one without weight."""
    if not is_remote(weights):
        reached = np.cumsum(weights)
        return _first_beyond(reached, shares * reached[-1])
    import dask

    parts, sizes = weights.to_delayed().ravel(), np.array(weights.chunks[0])
    reached = np.cumsum(computed(*map(dask.delayed(np.sum), parts)))
    amounts = shares * reached[-1]
    places = _first_beyond(reached, amounts)
    left = amounts - np.append(0.0, reached)[places]
    looked = np.unique(places)
    find = dask.delayed(_places_beyond)
    found = computed(*(find(parts[place], left[places == place]) for place in looked))
    numbers = np.empty(len(shares), int)
    for place, within in zip(looked, found, strict=True):
        numbers[places == place] = int(sizes[:place].sum()) + within
    return numbers


def _places_beyond(weights, amounts):
    return _first_beyond(np.cumsum(weights), amounts)


def _first_beyond(reached, amounts):
    """The first place beyond each amount; of amounts that rounding has brought to the end, the last place with which something is reached."""
    return np.minimum(np.searchsorted(reached, amounts, side="right"), np.searchsorted(reached, reached[-1]))


def extent(values: Any, center: np.ndarray, weights: Any = None) -> tuple[np.ndarray, np.ndarray, float]:
    """Smallest and largest entry of each column, and the largest distance of a row from ``center``, over the rows that have a weight."""
    columns = [values] if weights is None else [values, weights]
    low, high, square = fold(partial(_extent, center), _wider, *columns)
    return low, high, float(np.sqrt(square))


def _extent(center, values, weights=None):
    present = values if weights is None else values[weights > 0]
    if not len(present):
        return np.full(values.shape[1], np.inf), np.full(values.shape[1], -np.inf), 0.0
    return present.min(axis=0), present.max(axis=0), np.max(np.sum((present - center) ** 2, axis=1))


def _wider(left, right):
    return np.minimum(left[0], right[0]), np.maximum(left[1], right[1]), max(left[2], right[2])


def mean_rows(values: Any, weights: Any = None) -> np.ndarray:
    """The (weighted) mean over the rows of a column, or of several, computed where they are."""
    columns = [values] if weights is None else [values, weights]
    if not any(map(is_remote, columns)):
        whole = np.average(values, axis=0, weights=weights) if weights is not None else np.mean(values, 0, np.float64)
        return np.asarray(whole)
    total, weight = fold(_weighted_sum, _both, *columns)
    return total / weight


def _weighted_sum(values, weights=None):
    if weights is None:
        return values.sum(axis=0, dtype=np.float64), float(len(values))
    return weights @ values, float(weights.sum())


def _both(left, right):
    return left[0] + right[0], left[1] + right[1]


# Bits that a pass of ``smallest_reaching`` finds.
_DIGIT = 8


def smallest_reaching(
    values: Any, weights: Any, amount: float, *, beyond: bool = False, read: Callable | None = None
) -> float:
    """The smallest of the values (n_rows,) that with all smaller ones has at least this weight; with ``beyond``, more than it.

    Numbers of 64 bits are found eight bits a pass, by the weight of each digit: nothing is sorted, and no value travels.  ``read`` makes values
    and weights of a part of the two columns, where they are not these themselves.
    """
    read = _as_they_are if read is None else read
    found, shift, below = np.uint64(0), 64, 0.0
    while shift:
        n_bits = min(_DIGIT, shift)
        shift -= n_bits
        of_digits = fold(partial(_digit_weights, read, found, shift, n_bits), np.add, values, weights)
        reached = below + np.cumsum(of_digits)
        digit = int(np.searchsorted(reached, amount, side="right" if beyond else "left"))
        digit = min(digit, int(np.flatnonzero(of_digits)[-1]))
        below = reached[digit] - of_digits[digit]
        found = (found << np.uint64(n_bits)) | np.uint64(digit)
    bits = found ^ _SIGN if found & _SIGN else ~found
    return float(bits.view(np.float64))


_SIGN = np.uint64(2**63)


def _as_they_are(values, weights):
    return values, weights


def _digit_weights(read, found, shift, n_bits, values, weights):
    """The weight of each next digit, of the numbers whose digits so far are ``found``."""
    values, weights = read(values, weights)
    bits = (values + 0.0).astype(np.float64).view(np.uint64)  # without negative zeros
    bits = np.where(bits & _SIGN, ~bits, bits | _SIGN) >> np.uint64(shift)  # in the order of the numbers
    own = (bits >> np.uint64(n_bits)) == found
    return np.bincount((bits[own] & np.uint64(2**n_bits - 1)).astype(np.intp), weights[own], minlength=2**n_bits)
