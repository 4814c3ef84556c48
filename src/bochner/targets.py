"""What a kernel should look like: the similarity λ_ij of the targets, as a low-rank factorisation Λ = U diag(s) Uᵀ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target

from ._compute import is_dask
from .measures import frozen_array


@dataclass(frozen=True, eq=False)
class TargetSimilarity:
    """λ_ij = Σ_k signs[k] factors[i, k] factors[j, k]: any symmetric similarity of low rank.

    ``factors`` is (n_samples, rank), ``signs`` (rank,) real, all ones by default.  Bounds need |λ_ij| <= 1.

    >>> import numpy as np
    >>> target = TargetSimilarity.of_labels(["a", "b", "a"])
    >>> target.gram()
    array([[ 1., -1.,  1.],
           [-1.,  1., -1.],
           [ 1., -1.,  1.]])
    """

    factors: np.ndarray
    signs: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", frozen_array(self.factors, "factors", 2))
        signs = np.ones(self.factors.shape[1]) if self.signs is None else self.signs
        object.__setattr__(self, "signs", frozen_array(signs, "signs", 1, dtype=np.float64))
        if len(self.signs) != self.factors.shape[1]:
            raise ValueError(f"Got {self.factors.shape[1]} factors and {len(self.signs)} signs; each factor needs one.")

    def __len__(self) -> int:
        return len(self.factors)

    @classmethod
    def of_labels(cls, y: Any) -> Self:
        """λ = 1 for equal labels and −1 for different ones: U = [√2 one-hot, 1], s = (1, …, 1, −1)."""
        labels = Labels.of(y)
        one_hot = np.eye(len(labels.classes))[labels.codes]
        factors = np.column_stack([np.sqrt(2) * one_hot, np.ones(len(labels))])
        return cls(factors, np.append(np.ones(len(labels.classes)), -1.0))

    @classmethod
    def of_values(cls, y: Any) -> Self:
        """λ = u_i·u_j for real targets, u the centered rows of y divided by the largest norm among them."""
        values = Values.of(y)
        centered = values.rows - values.rows.mean(axis=0)
        largest = np.sqrt(np.max(np.sum(centered**2, axis=1)))
        return cls(centered / (largest if largest > 0 else 1.0))

    @classmethod
    def of_gram(cls, gram: Any, rank: int | None = None, tolerance: float = 1e-12) -> Self:
        """A given positive semi-definite Λ, by pivoted Cholesky down to ``tolerance`` · trace or up to ``rank`` columns."""
        gram = frozen_array(gram, "gram", 2)
        if gram.shape[0] != gram.shape[1] or not np.allclose(gram, gram.T):
            raise ValueError(f"gram must be square and symmetric, got shape {gram.shape}.")
        rest = np.array(np.diag(gram), dtype=np.float64)
        stop = tolerance * max(rest.sum(), np.finfo(float).tiny)
        columns: list[np.ndarray] = []
        while rest.sum() > stop and len(columns) < (rank or len(gram)):
            pivot = int(np.argmax(rest))
            known = sum((c[pivot] * c for c in columns), np.zeros(len(gram)))
            column = (gram[pivot] - known) / np.sqrt(rest[pivot])
            columns.append(column)
            rest = np.maximum(rest - column**2, 0.0)
        return cls(np.column_stack(columns) if columns else np.zeros((len(gram), 1)))

    def gram(self) -> np.ndarray:
        """Λ as (n_samples, n_samples); for small samples and tests."""
        return (self.factors * self.signs) @ self.factors.T

    @property
    def trace(self) -> float:
        """Σ_i λ_ii."""
        return float(np.sum(self.signs * np.sum(self.factors**2, axis=0)))

    @property
    def largest(self) -> float:
        """A number that no |λ_ij| exceeds: the largest Σ_k |signs[k]| factors[i, k]²."""
        return float(np.max(self.factors**2 @ np.abs(self.signs), initial=0.0))


@dataclass(frozen=True, eq=False)
class Labels:
    """Class labels as codes into the sorted ``classes``; λ = 2 · [same class] − 1 without a factor matrix."""

    classes: np.ndarray
    codes: np.ndarray

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, y: Any, classes: Any = None) -> Self:
        """Encode y; with ``classes``, a label outside them is an error."""
        y = column_or_1d(y, warn=True)
        if classes is None:
            found, codes = np.unique(y, return_inverse=True)
            return cls(found, codes)
        classes = np.unique(classes)
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        strangers = np.unique(y[classes[codes] != y])
        if len(strangers):
            raise ValueError(f"y holds the labels {strangers.tolist()}, but classes={classes.tolist()} was declared.")
        return cls(classes, codes)


@dataclass(frozen=True, eq=False)
class Values:
    """Real targets, one row of outputs per sample, not yet centered or scaled."""

    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, y: Any) -> Self:
        rows = np.asarray(y, dtype=np.float64)
        if not np.all(np.isfinite(rows)):
            raise ValueError("Input y contains NaN or infinity; bochner needs finite targets.")
        return cls(rows[:, None] if rows.ndim == 1 else rows)


def as_target(y: Any, n_samples: int, classes: Any = None) -> Labels | Values | TargetSimilarity:
    """Read y: a ``TargetSimilarity`` as it is, labels (integers, strings, booleans) or real values by their type.

    Whole numbers are labels, as in scikit-learn; ``TargetSimilarity.of_values(y)`` makes them values.
    """
    if y is None:
        raise ValueError(
            "This learner requires y to be passed, but the target y is None: it learns which rows are alike from "
            "labels or values."
        )
    if is_dask(y):
        y = y.compute()
    if isinstance(y, TargetSimilarity):
        target: Labels | Values | TargetSimilarity = y
    else:
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
            raise ValueError("Input y contains NaN or infinity; bochner needs finite targets.")
        kind = "multiclass" if classes is not None else type_of_target(y, input_name="y")
        if kind in ("binary", "multiclass"):
            target = Labels.of(y, classes)
        elif kind == "unknown":
            raise ValueError(f"Unknown label type: y has dtype {y.dtype}. Give class labels or real numbers.")
        else:
            target = Values.of(y)
    if len(target) != n_samples:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_samples} rows, y {len(target)}."
        )
    return target
