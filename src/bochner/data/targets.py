"""Targets: y as labels, as values, or as a similarity of rows.

The similarity λ_ij of the targets is what a kernel should approximate, as a low-rank factorisation
Λ = U diag(s) Uᵀ.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target

from .._checks import check_choice, check_positive
from .._loops.arrays import frozen_array
from .checks import (
    MANY_LEVELS,
    as_values,
    check_labels,
    check_weights,
    coded,
    given_target,
    inconsistent_rows,
)
from .simplex import simplex_code

# Integers with many levels and fewer rows per level than this are rarely meant as classes.
_ROWS_A_LEVEL = 10


class Target(ABC):
    """y of n_samples rows, in memory, with the ``similarity`` of the rows."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, rows: Any) -> Self:
        """Return the target of some of the rows."""

    @abstractmethod
    def similarity(self, weights: Any = None) -> TargetSimilarity:
        """Return λ as factors and signs; weights of rows only matter for values."""

    @property
    def is_partial(self) -> bool:
        """True if some outputs of some rows are not observed."""
        return False


@dataclass(frozen=True, eq=False)
class TargetSimilarity(Target):
    """λ_ij = Σ_k signs[k] factors[i, k] factors[j, k]: any symmetric similarity of low rank.

    Bounds need |λ_ij| <= 1.

    Parameters
    ----------
    factors : array (n_samples, rank)
        One row of numbers for each row of the data.
    signs : array (rank,), default None
        Real numbers; None is ones.

    Examples
    --------
    >>> import numpy as np
    >>> target = TargetSimilarity.of_labels(["a", "b", "a"])
    >>> target.gram()
    array([[ 1., -1.,  1.],
           [-1.,  1., -1.],
           [ 1., -1.,  1.]])
    """

    factors: Any
    signs: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", frozen_array(self.factors, "factors", 2))
        signs = np.ones(self.factors.shape[1]) if self.signs is None else self.signs
        object.__setattr__(self, "signs", frozen_array(signs, "signs", 1, dtype=np.float64))
        if len(self.signs) != self.factors.shape[1]:
            raise ValueError(
                f"Got {self.factors.shape[1]} factors and {len(self.signs)} signs; each factor "
                "needs one."
            )

    def __len__(self) -> int:
        return self.factors.shape[0]

    def take(self, rows: Any) -> Self:
        return replace(self, factors=self.factors[rows])

    def similarity(self, weights: Any = None) -> TargetSimilarity:
        return self

    @classmethod
    def of_labels(cls, y: Any) -> TargetSimilarity:
        """Return λ = ±1 for equal and different labels: U = [√2 one-hot, 1], s = (1, …, 1, −1)."""
        return Labels.of(y).similarity()

    @classmethod
    def of_values(cls, y: Any) -> TargetSimilarity:
        """Return λ = u_i·u_j for real targets, u the centered rows of y, of norm at most one."""
        return Values.of(y).similarity()

    @classmethod
    def of_gram(cls, gram: Any, rank: int | None = None, tolerance: float = 1e-12) -> Self:
        """Return the pivoted Cholesky factors of a given positive semi-definite Λ.

        They end at ``rank`` columns, or when the rest of the trace is below ``tolerance`` · trace.
        """
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
        """Return Λ as (n_samples, n_samples); for small samples and tests."""
        return (self.factors * self.signs) @ self.factors.T

    @property
    def trace(self) -> float:
        """Σ_i λ_ii."""
        return float(np.sum(self.signs * np.sum(self.factors**2, axis=0)))

    @property
    def largest(self) -> float:
        """Upper bound of the absolute values of λ_ij.

        It is the largest Σ_k |signs[k]| factors[i, k]².
        """
        return float(np.max(self.factors**2 @ np.abs(self.signs), initial=0.0))


@dataclass(frozen=True, eq=False)
class Labels(Target):
    """Class labels as codes into the sorted ``classes``; λ = 2 · [same class] − 1.

    ``guessed`` is true for integers that were read as labels without being declared as such.
    """

    classes: np.ndarray
    codes: Any
    guessed: bool = False

    def __len__(self) -> int:
        return self.codes.shape[0]

    @classmethod
    def of(
        cls,
        y: Any,
        n_rows: int | None = None,
        *,
        classes: Any = None,
        fewest: int = 1,
        owner: str = "This learner",
        advice: str = "",
    ) -> Self:
        """Read y as labels of any type; with ``classes``, a label outside them is an error.

        ``fewest`` is the number of classes that ``owner`` needs, ``advice`` what to write for
        targets that are not labels.
        """
        y = given_target(y, n_rows, owner)
        if y.ndim == 2 and y.shape[1] > 1:
            raise ValueError(f"y must be one label per row, got shape {y.shape}. {advice}".rstrip())
        y = column_or_1d(y, warn=True)
        if classes is None:
            check_labels(y, advice)
            present = np.unique(y)
            if len(present) < fewest:
                raise ValueError(
                    f"{owner} needs at least {fewest} classes, but y has only 1 class: "
                    f"{present.tolist()[0]!r}. Check how the rows were selected."
                )
            return cls(present, coded(y, present))
        classes = np.unique(classes)
        unknown = np.setdiff1d(y, classes)
        if len(unknown):
            raise ValueError(
                f"y holds the labels {unknown.tolist()}, but classes={classes.tolist()} was "
                "declared."
            )
        return cls(classes, coded(y, classes))

    @classmethod
    def weighted(
        cls, y: Any, n_rows: int, sample_weight: Any, class_weight: Any, *, owner: str
    ) -> tuple[Self, Any]:
        """Return labels of at least two classes, and weights times those of the classes.

        Classes without weight are dropped, as they would be among repeated rows.
        """
        labels = cls.of(y, n_rows, fewest=2, owner=owner)
        weights = check_weights(sample_weight, n_rows)
        labels = labels.present(weights)
        costs = labels.costs(class_weight, weights)
        if costs is not None:
            weights = costs if weights is None else weights * costs
            labels = labels.present(weights)
        if len(labels.classes) < 2:
            raise ValueError(
                f"{owner} needs at least 2 classes, but all rows with a positive weight have one "
                f"class: {labels.classes.tolist()}."
            )
        return labels, weights

    def present(self, weights: Any) -> Self:
        """Drop classes without weight; codes of rows without weight may then be of any class."""
        if weights is None:
            return self
        present = np.flatnonzero(self.totals(weights))
        if len(present) == len(self.classes):
            return self
        codes = np.minimum(np.searchsorted(present, np.arange(len(self.classes))), len(present) - 1)
        return replace(self, classes=self.classes[present], codes=codes[self.codes])

    def totals(self, weights: Any = None) -> np.ndarray:
        """Return the number of rows, or the weight, of each class."""
        return np.bincount(self.codes, weights, minlength=len(self.classes))

    def costs(self, class_weight: Any, weights: Any = None) -> Any:
        """Return the class weight of each row, (n_samples,), or None.

        ``class_weight`` is None, "balanced" (equal totals for all classes) or a dictionary of
        labels and weights. Labels that it does not name have weight 1.
        """
        if class_weight is None:
            return None
        if isinstance(class_weight, str):
            check_choice(class_weight, "class_weight", ("balanced",))
            counts = self.totals(weights)
            return (counts.sum() / (len(counts) * counts))[self.codes]
        if not isinstance(class_weight, Mapping):
            raise TypeError(
                "class_weight must be None, 'balanced' or a dictionary of label and weight, got "
                f"{class_weight!r}."
            )
        labels = self.classes.tolist()
        unnamed = [label for label in labels if label not in class_weight]
        unknown = [label for label in class_weight if label not in labels]
        if unnamed and unknown:
            raise ValueError(f"class_weight names {unknown}, but the labels are {labels}.")
        for label, weight in class_weight.items():
            check_positive(weight, f"class_weight[{label!r}]", allow_zero=True)
        costs = np.array([float(class_weight.get(label, 1.0)) for label in labels])
        return costs[self.codes]

    def take(self, rows: Any) -> Self:
        return replace(self, codes=self.codes[rows])

    def similarity(self, weights: Any = None) -> TargetSimilarity:
        n_classes = len(self.classes)
        factors = np.column_stack([np.sqrt(2) * np.eye(n_classes), np.ones(n_classes)])
        return TargetSimilarity(factors[self.codes], np.append(np.ones(n_classes), -1.0))

    def one_hot(self, dtype: Any = np.float32) -> Any:
        """Return (n_samples, n_classes), 1 in the column of the row's class."""
        columns = np.zeros((len(self), len(self.classes)), dtype)
        columns[np.arange(len(self)), self.codes] = 1
        return columns

    def signs(self, dtype: Any = np.float64) -> Any:
        """Return the ±1 columns of the one-vs-rest problems, (n_samples, n_classes).

        Two classes have one column, + for the second class.
        """
        if len(self.classes) == 2:
            one = np.dtype(dtype).type(1)
            return np.where(self.codes == 1, one, -one)[:, None]
        return 2 * self.one_hot(dtype) - np.dtype(dtype).type(1)

    def corners(self) -> Any:
        """Return each class as a corner of the simplex, (n_samples, n_classes − 1)."""
        return np.ascontiguousarray(simplex_code(len(self.classes)).T)[self.codes]

    def decode(self, codes: Any) -> np.ndarray:
        """Return labels of the user's type."""
        return self.classes[codes]


@dataclass(frozen=True, eq=False)
class Values(Target):
    """Real targets: ``rows`` (n_samples, n_outputs), neither centered nor scaled.

    NaN is an output that was not observed.
    """

    rows: Any
    one_dimensional: bool = False

    def __len__(self) -> int:
        return self.rows.shape[0]

    @classmethod
    def of(
        cls,
        y: Any,
        n_rows: int | None = None,
        *,
        owner: str = "This learner",
        partial: bool = False,
    ) -> Self:
        """Read y as finite numbers, one column per output; ``partial`` accepts NaN in columns."""
        y = as_values(owner, given_target(y, n_rows, owner), partial)
        if y.ndim > 2:
            raise ValueError(
                "y must have one column per output, (n_samples, n_outputs), got shape "
                f"{tuple(y.shape)}."
            )
        one_dimensional = y.ndim == 1
        return cls(y[:, None] if one_dimensional else y, one_dimensional)

    def take(self, rows: Any) -> Self:
        return replace(self, rows=self.rows[rows])

    @property
    def is_partial(self) -> bool:
        return bool(np.isnan(self.rows).any())

    def mean(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the mean of the observed values of each output."""
        if not self.is_partial:
            return np.average(self.rows, axis=0, weights=weights)
        observed = ~np.isnan(self.rows)
        counted = observed if weights is None else weights[:, None] * observed
        return np.sum(counted * np.where(observed, self.rows, 0.0), axis=0) / counted.sum(axis=0)

    def covariance(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the covariance of the outputs.

        Of partial targets, an entry is the sum over the rows that observe both outputs, divided by
        the root of the product of the rows that observe each. This is positive semi-definite for
        any missing values, and correlations are smaller if few rows observe both.
        """
        centered, partial = self.rows - self.mean(weights), self.is_partial
        observed = ~np.isnan(centered)
        centered = np.where(observed, centered, 0.0) if partial else centered
        counted = centered if weights is None else weights[:, None] * centered
        products = counted.T @ centered
        if not partial:
            return products / (len(self) if weights is None else weights.sum())
        totals = np.sum(observed if weights is None else weights[:, None] * observed, axis=0)
        return products / np.sqrt(np.outer(totals, totals))

    def extent(
        self, center: np.ndarray, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return minimum and maximum of each output, and the largest distance from ``center``.

        Rows without weight do not count.
        """
        present = self.rows if weights is None else self.rows[weights > 0]
        return (
            present.min(axis=0),
            present.max(axis=0),
            float(np.sqrt(np.max(np.sum((present - center) ** 2, axis=1)))),
        )

    def similarity(self, weights: np.ndarray | None = None) -> TargetSimilarity:
        mean = np.average(self.rows, axis=0, weights=weights)
        _, _, largest = self.extent(mean, weights)
        return TargetSimilarity((self.rows - mean) / (largest if largest > 0 else 1.0))

    def as_given(self, outputs: Any) -> Any:
        """Return outputs (n_samples, n_outputs) in the shape of y."""
        return outputs[:, 0] if self.one_dimensional else outputs


def as_target(y: Any, n_rows: int, *, classes: Any = None, kind: str = "auto") -> Target:
    """Read y as ``"labels"``, as ``"values"``, or ``"auto"`` by its type.

    A ``Target`` is returned unchanged. Strings, booleans and integers are labels, as in
    scikit-learn; other numbers and several columns are values. Integers of many levels are rarely
    meant as classes: they are read as values, with a warning.
    """
    check_choice(kind, "target", ("auto", "labels", "values"))
    if isinstance(y, Target):
        if len(y) != n_rows:
            raise ValueError(inconsistent_rows(n_rows, len(y)))
        return y
    if classes is not None or kind == "labels":
        return Labels.of(y, n_rows, classes=classes)
    y = given_target(y, n_rows, "This learner")
    if kind == "values":
        return Values.of(y, n_rows)
    if y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f" and y.ndim == 1 and not np.all(np.isfinite(y)):
        raise ValueError("Input y contains NaN or infinity; bochner needs finite targets.")
    if y.dtype.kind == "O" and y.ndim == 1:
        check_labels(y, "")
    if y.ndim != 1 or type_of_target(y, input_name="y") not in ("binary", "multiclass"):
        return Values.of(y, n_rows)
    n_levels = len(np.unique(y)) if y.dtype.kind in "fiu" else 0
    if n_levels > MANY_LEVELS and n_levels * _ROWS_A_LEVEL > n_rows:
        warnings.warn(
            f"y holds {n_levels} different whole numbers in {n_rows} rows and is read as values, "
            "not as classes. Write target='values' or target='labels' to say which is meant.",
            stacklevel=2,
        )
        return Values.of(y, n_rows)
    return replace(Labels.of(y, n_rows), guessed=y.dtype.kind in "fiu")


def regressed(target: Target) -> Any:
    """Return the targets of the squared loss, one column per output.

    These are values, or the corners of the simplex for labels, which have no order. Integers that
    were only guessed to be labels are values.
    """
    if isinstance(target, Values):
        return target.rows
    if not isinstance(target, Labels):
        raise ValueError(
            f'loss="squared" needs numbers or labels, but y is a {type(target).__name__}.'
        )
    if target.guessed:
        return target.classes.astype(np.float64)[target.codes, None]
    return target.corners()
