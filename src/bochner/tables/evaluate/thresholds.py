"""Decision threshold for two classes, chosen by cross-validation on training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from ...tabular import SpectralClassifier
from ..errors import TableError
from ..read.spooling import rows_of
from .copies import Observations

_FOLDS = 5
# Above this number of rows, one fold has enough rows, and the others are not fitted.
_MANY_ROWS = 10_000


@dataclass(frozen=True)
class ThresholdSpec:
    """``balanced``, or ``cost:FP,FN``: the costs of a false positive and of a false negative."""

    text: str
    costs: tuple[float, float] | None = None

    @classmethod
    def of(cls, text: str) -> ThresholdSpec:
        """Parse a text.

        >>> ThresholdSpec.of("cost:1,5").costs
        (1.0, 5.0)
        """
        if text == "balanced":
            return cls(text)
        kind, _, numbers = text.partition(":")
        try:
            of_positive, of_negative = (float(number) for number in numbers.split(","))
        except ValueError:
            of_positive = of_negative = -1.0
        if kind != "cost" or not (0 < of_positive < np.inf and 0 < of_negative < np.inf):
            raise TableError(
                "--threshold must be balanced, or cost:FP,FN with two positive numbers, e.g. "
                f"cost:1,10; got {text!r}."
            )
        return cls(text, (of_positive, of_negative))

    def row_costs(self, is_positive: np.ndarray) -> tuple[float, float]:
        """Return the costs of a false positive and of a false negative among these rows."""
        if self.costs is not None:
            return self.costs
        return 0.5 / max(np.sum(~is_positive), 1), 0.5 / max(np.sum(is_positive), 1)


class ThresholdClassifier(SpectralClassifier):
    """``SpectralClassifier`` that predicts ``positive`` from a given probability on.

    Parameters
    ----------
    threshold : float
    positive : label, None for the second class
    random_state : int or Generator
    monotonic_cst : directions of columns, as in ``SpectralClassifier``

    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> y = X[:, 0] + np.sin(50 * X[:, 0]) > 0
    >>> model = ThresholdClassifier(threshold=0.05, random_state=0).fit(X, y)
    >>> bool(np.all(model.predict(X) == (model.predict_proba(X)[:, 1] >= 0.05)))
    True
    """

    def __init__(
        self,
        threshold: float = 0.5,
        positive: Any = None,
        *,
        random_state: Any = None,
        monotonic_cst: Any = None,
    ):
        super().__init__(random_state=random_state, monotonic_cst=monotonic_cst)
        self.threshold = threshold
        self.positive = positive

    def _labels(self, probabilities):
        """Return ``positive`` if its probability is at least ``threshold``."""
        k = 1 if self.positive is None else self.classes_.tolist().index(self.positive)
        return self.classes_[np.where(probabilities[:, k] >= self.threshold, k, 1 - k)]


def out_of_sample_scores(
    reader: Any,
    classifier: Any,
    frame: Any,
    y: np.ndarray,
    positive: Any,
    groups: np.ndarray | None,
    observations: Observations,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and their cross-validated probabilities of ``positive``.

    Copies of a row, and rows of a group, are in one fold.
    """
    n_folds = min(_FOLDS, int(np.unique(y[observations.first()], return_counts=True)[1].min()))
    if n_folds < 2:
        raise TableError("A threshold needs at least two training rows of each class.")
    options: dict[str, Any] = {"n_splits": n_folds, "shuffle": True, "random_state": seed}
    if groups is None:
        folds = list(observations.folds(StratifiedKFold(**options), y))
    else:
        folds = list(StratifiedGroupKFold(**options).split(y, y, groups))
    scores, rows = [], []
    for kept, left_out in folds[: 1 if len(y) > _MANY_ROWS else n_folds]:
        read, model = clone(reader), clone(classifier)
        model.fit(read.fit_transform(rows_of(frame, kept)), y[kept])
        others = rows_of(frame, left_out)
        probabilities = model.predict_proba(read.accept_strays(others).transform(others))
        scores.append(probabilities[:, model.classes_.tolist().index(positive)])
        rows.append(left_out)
    return np.concatenate(rows), np.concatenate(scores)


def cheapest_threshold(scores: np.ndarray, is_positive: np.ndarray, spec: ThresholdSpec) -> float:
    """Return the threshold with the lowest cost on these rows, midway between two scores.

    >>> scores, is_positive = np.array([0.1, 0.2, 0.4]), np.array([False, True, True])
    >>> round(cheapest_threshold(scores, is_positive, ThresholdSpec.of("balanced")), 9)
    0.15
    """
    of_positive, of_negative = spec.row_costs(is_positive)
    order = np.argsort(-scores, kind="stable")
    ordered, level = is_positive[order], scores[order]
    # The first k rows are predicted positive: false positives among them, false negatives after.
    costs = of_positive * np.concatenate([[0], np.cumsum(~ordered)]) + of_negative * (
        ordered.sum() - np.concatenate([[0], np.cumsum(ordered)])
    )
    ends = np.concatenate([[1.001], level, [0.0]])  # above one, no row is predicted positive
    costs[1:-1][level[1:] == level[:-1]] = np.inf  # equal scores have equal predictions
    k = int(np.argmin(costs))
    return float((ends[k] + ends[k + 1]) / 2)
