"""Attacks on ``fit`` and on what follows: rows, targets and weights of every unusual kind.

An attack changes a plain example. It names what must happen: the same answers as those of the plain
example, some finite answer or a clear refusal, or a clear refusal only.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

SAME, FINITE, REFUSED = "same", "finite", "refused"


@dataclass(frozen=True)
class Example:
    """Rows and target of a fit, rows that are asked about, and weights where there are any."""

    X: Any
    y: Any
    asked: Any = None
    keywords: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Attack:
    name: str
    change: Callable[[Example], Example]
    must: str
    only: str = (
        ""  # where there is a "target", where it is "labels" or "values", where fit takes "weights"
    )


def rows(function):
    """An attack on all rows, those asked about included."""
    return lambda e: replace(e, X=function(e.X), asked=function(e.asked))


def fitted_rows(function):
    return lambda e: replace(e, X=function(e.X))


def asked(function):
    return lambda e: replace(e, asked=function(e.asked))


def target(function):
    return lambda e: replace(e, y=function(e.y))


def weights(make):
    return lambda e: replace(e, keywords={"sample_weight": make(len(e.y))})


def with_entry(value, row=7, column=1):
    def changed(X):
        X = X.copy()
        X[row, column] = value
        return X

    return changed


def with_target(value, row=7, dtype=None):
    def changed(y):
        y = y.astype(dtype or y.dtype)
        y[row] = value
        return y

    return changed


def duplicated(X):
    """CSR with every entry stored as two halves, which is allowed and means their sum."""
    whole = sp.coo_matrix(X)
    row, column = np.tile(whole.row, 2), np.tile(whole.col, 2)
    order = np.argsort(row, kind="stable")
    counts = np.bincount(row, minlength=X.shape[0])
    halves = np.tile(whole.data / 2, 2)
    return sp.csr_matrix(
        (halves[order], column[order], np.concatenate([[0], np.cumsum(counts)])), shape=X.shape
    )


def unsorted(X):
    matrix = sp.csr_matrix(X)
    for i in range(X.shape[0]):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        matrix.indices[part] = matrix.indices[part][::-1].copy()
        matrix.data[part] = matrix.data[part][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


def long_indices(X):
    matrix = sp.csr_matrix(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def spread_out(X):
    """A view with gaps in both directions."""
    holder = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    holder[::2, ::3] = X
    return holder[::2, ::3]


def pandas_frame(X, dtype=None, **keywords):
    import pandas

    frame = pandas.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])], **keywords)
    return frame if dtype is None else frame.astype(dtype)


def polars_frame(X):
    import polars

    return polars.DataFrame({f"column {j}": X[:, j] for j in range(X.shape[1])})


def series(y, **keywords):
    import pandas

    return pandas.Series(y, **keywords)


def category(X):
    import pandas

    return pandas_frame(X).assign(
        **{"column 1": pandas.Categorical(np.where(X[:, 1] > 0, "v", "w"))}
    )


SAME_ROWS = {
    "Fortran order": np.asfortranarray,
    "negative strides": lambda X: X[::-1].copy()[::-1],
    "columns backwards in memory": lambda X: X[:, ::-1].copy()[:, ::-1],
    "gaps in memory": spread_out,
    "read-only": read_only,
    "big-endian": lambda X: X.astype(">f8"),
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "long double": lambda X: X.astype(np.longdouble),
    "objects that are numbers": lambda X: X.astype(object),
    "list of lists": lambda X: X.tolist(),
    "tuple of arrays": tuple,
    "pandas frame": pandas_frame,
    "pandas frame of float32": lambda X: pandas_frame(X, "float32"),
    "pandas frame with an odd index": lambda X: pandas_frame(X, index=np.arange(len(X))[::-1] * 7),
    "pandas nullable numbers": lambda X: pandas_frame(X, "Float64"),
    "pandas Arrow numbers": lambda X: pandas_frame(X, "double[pyarrow]"),
    "polars frame": polars_frame,
    "CSR": sp.csr_matrix,
    "CSR array": sp.csr_array,
    "CSC": sp.csc_matrix,
    "COO": sp.coo_matrix,
    "CSR of halves": duplicated,
    "CSR unsorted": unsorted,
    "CSR with long indices": long_indices,
    "CSR of float32": lambda X: sp.csr_matrix(X.astype(np.float32)),
}
REFUSED_ROWS = {
    "infinity": with_entry(np.inf),
    "minus infinity": with_entry(-np.inf),
    "infinity in CSR": lambda X: sp.csr_matrix(with_entry(np.inf)(X)),
    "one dimension": lambda X: X[:, 0],
    "three dimensions": lambda X: X[:, :, None],
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
    "complex numbers": lambda X: X + 1j,
    "texts": lambda X: np.full(X.shape, "text"),
    "objects that are dicts": lambda X: np.full(X.shape, {}, dtype=object),
    "None": lambda X: None,
    "a text": lambda X: "rows.csv",
    "a number": lambda X: 3.0,
    "a dict": lambda X: {"a": [1, 2]},
    "ragged lists": lambda X: [[1.0, 2.0], [3.0]] * 30,
    "dates": lambda X: np.full(X.shape, np.datetime64("2020-01-01")),
}
FINITE_ROWS = {
    "whole numbers": lambda X: (4 * X).astype(int),
    "truth values": lambda X: X > 0,
    "small whole numbers": lambda X: (4 * X).astype(np.int8),
    "unsigned numbers": lambda X: (4 * X + 100).astype(np.uint16),
    "NaN": with_entry(np.nan),
    "NaN in CSR": lambda X: sp.csr_matrix(with_entry(np.nan)(X)),
    "a masked array": lambda X: np.ma.masked_array(X, mask=X > 3),
    "a constant column": with_entry(2.0, slice(None)),
    "all constant": np.ones_like,
    "all zero": np.zeros_like,
    "empty CSR": lambda X: sp.csr_matrix(X.shape),
    "one column": lambda X: X[:, :1],
    "columns twice": lambda X: np.hstack([X, X]),
    "more columns than rows": lambda X: np.tile(X, 40),
    "an outlier of 1e6": with_entry(1e6),
    "an outlier of 1e30": with_entry(1e30),
    "an outlier of 1e300": with_entry(1e300),
    "an offset of 1e12": lambda X: X + 1e12,
    "a scale of 1e-300": lambda X: 1e-300 * X,
    "a scale of 1e-160": lambda X: 1e-160 * X,
    "a scale of 1e150": lambda X: 1e150 * X,
    "a scale of 1e300": lambda X: 1e300 * X,
    "float32 at 1e-42": lambda X: (1e-42 * X).astype(np.float32),
    "float32 at 1e38": lambda X: (1e37 * X).astype(np.float32),
    "subnormal numbers": lambda X: 5e-324 * np.round(X),
    "columns of very different scale": lambda X: X * np.logspace(-100, 100, X.shape[1]),
    "categories of pandas": category,
    "texts in a pandas frame": lambda X: pandas_frame(X).assign(
        **{"column 1": np.where(X[:, 1] > 0, "v", "w")}
    ),
    "two equal column names": lambda X: pandas_frame(X).rename(columns={"column 1": "column 0"}),
    "column names of two types": lambda X: pandas_frame(X).rename(columns={"column 1": 1}),
    "all rows equal but one": lambda X: with_entry(5.0)(np.ones_like(X)),
}
ASKED = {
    "fewer columns asked": (lambda X: X[:, :2], REFUSED),
    "more columns asked": (lambda X: np.hstack([X, X]), REFUSED),
    "one row as a vector asked": (lambda X: X[0], REFUSED),
    "infinity asked": (with_entry(np.inf), REFUSED),
    "texts asked": (lambda X: np.full(X.shape, "text"), REFUSED),
    "NaN asked": (with_entry(np.nan), FINITE),
    "no rows asked": (lambda X: X[:0], FINITE),
    "one row asked": (lambda X: X[:1], FINITE),
    "rows of 1e30 asked": (lambda X: 1e30 * X, FINITE),
    "rows of 1e300 asked": (lambda X: 1e300 * X, FINITE),
    "float32 rows of 1e38 asked": (lambda X: (1e37 * X).astype(np.float32), FINITE),
    "CSR asked": (sp.csr_matrix, SAME),
    "CSR of halves asked": (duplicated, SAME),
    "Fortran order asked": (np.asfortranarray, SAME),
}


def _shorter(e):
    return replace(e, y=e.y[:-1])


ATTACKS = [
    *(Attack(name, rows(change), SAME) for name, change in SAME_ROWS.items()),
    *(Attack(name, fitted_rows(change), REFUSED) for name, change in REFUSED_ROWS.items()),
    *(Attack(name, rows(change), FINITE) for name, change in FINITE_ROWS.items()),
    *(Attack(name, asked(change), must) for name, (change, must) in ASKED.items()),
    # targets
    Attack("y as a list", target(list), SAME, "target"),
    Attack("y as a column", target(lambda y: y[:, None]), FINITE, "target"),
    Attack(
        "y as a pandas series with an odd index",
        target(lambda y: series(y, index=np.arange(len(y))[::-1])),
        SAME,
        "target",
    ),
    Attack("y read-only", target(read_only), SAME, "target"),
    Attack("y with gaps in memory", target(lambda y: np.repeat(y, 3)[::3]), SAME, "target"),
    Attack("y as objects", target(lambda y: y.astype(object)), SAME, "target"),
    Attack("y as a pandas category", target(lambda y: series(y, dtype="category")), SAME, "labels"),
    Attack("y as a pandas text", target(lambda y: series(y, dtype="string")), SAME, "labels"),
    Attack("y as truth values", target(lambda y: y == y[0]), FINITE, "labels"),
    Attack(
        "y as small whole numbers", target(lambda y: (y == y[0]).astype(np.int8)), FINITE, "labels"
    ),
    Attack("y as floats", target(lambda y: (y == y[0]).astype(float)), FINITE, "labels"),
    Attack("y as bytes", target(lambda y: y.astype("S")), FINITE, "labels"),
    Attack("y float32", target(lambda y: y.astype(np.float32)), FINITE, "values"),
    Attack("y whole numbers", target(lambda y: np.round(10 * y).astype(int)), FINITE, "values"),
    Attack("y nullable", target(lambda y: series(y, dtype="Float64")), SAME, "values"),
    Attack("y constant", target(np.zeros_like), FINITE, "values"),
    Attack("y at 1e300", target(lambda y: 1e300 * y), FINITE, "values"),
    Attack("y at 1e-300", target(lambda y: 1e-300 * y), FINITE, "values"),
    Attack("y with an outlier of 1e30", target(with_target(1e30)), FINITE, "values"),
    Attack("y with NaN", target(with_target(np.nan)), REFUSED, "values"),
    Attack("y with infinity", target(with_target(np.inf)), REFUSED, "values"),
    Attack("y with None", target(with_target(None, dtype=object)), REFUSED, "target"),
    Attack("y of texts and numbers", target(with_target(3, dtype=object)), REFUSED, "labels"),
    Attack("y of texts with NaN", target(with_target(np.nan, dtype=object)), REFUSED, "labels"),
    Attack("y of texts", target(lambda y: np.full(len(y), "text")), REFUSED, "values"),
    Attack("y complex", target(lambda y: y + 1j), REFUSED, "values"),
    Attack("y of one class", target(lambda y: np.full(len(y), y[0])), REFUSED, "labels"),
    Attack(
        "y with a class of one row", target(with_target("extra", dtype=object)), FINITE, "labels"
    ),
    Attack(
        "y with a class for each row",
        target(lambda y: np.arange(len(y)).astype(str)),
        FINITE,
        "labels",
    ),
    Attack("y too short", _shorter, REFUSED, "target"),
    Attack("y empty", target(lambda y: y[:0]), REFUSED, "target"),
    Attack("y of three dimensions", target(lambda y: np.zeros((len(y), 2, 2))), REFUSED, "target"),
    Attack("y None", target(lambda y: None), FINITE, "target"),
    Attack("y a text", target(lambda y: "column"), REFUSED, "target"),
    Attack("y a dict", target(lambda y: {"a": 1}), REFUSED, "target"),
    # few rows
    *(
        Attack(f"{n} rows", lambda e, n=n: replace(e, X=e.X[:n], y=e.y[:n]), FINITE)
        for n in (1, 2, 3, 5)
    ),
    Attack("rows thrice", lambda e: replace(e, X=np.tile(e.X, (3, 1)), y=np.tile(e.y, 3)), FINITE),
    # weights
    Attack("weights of one", weights(np.ones), SAME, "weights"),
    Attack("weights as a list", weights(lambda n: [1.0] * n), SAME, "weights"),
    Attack("weights of whole numbers", weights(lambda n: np.ones(n, int)), SAME, "weights"),
    Attack("weights at 1e-300", weights(lambda n: np.full(n, 1e-300)), FINITE, "weights"),
    Attack("weights at 1e300", weights(lambda n: np.full(n, 1e300)), FINITE, "weights"),
    Attack(
        "weights from 1e-12 to 1e12", weights(lambda n: np.logspace(-12, 12, n)), FINITE, "weights"
    ),
    Attack(
        "weights zero for half",
        weights(lambda n: (np.arange(n) % 2).astype(float)),
        FINITE,
        "weights",
    ),
    Attack("weights all zero", weights(np.zeros), REFUSED, "weights"),
    Attack("weights negative", weights(lambda n: np.linspace(-1, 1, n)), REFUSED, "weights"),
    Attack("weights NaN", weights(lambda n: np.full(n, np.nan)), REFUSED, "weights"),
    Attack("weights infinite", weights(lambda n: np.full(n, np.inf)), REFUSED, "weights"),
    Attack("weights too few", weights(lambda n: np.ones(n - 1)), REFUSED, "weights"),
    Attack("weights of two dimensions", weights(lambda n: np.ones((n, 2))), REFUSED, "weights"),
    Attack("weights as texts", weights(lambda n: np.full(n, "heavy")), REFUSED, "weights"),
]
