"""Metrics of predictions on held-out rows, with the influence of each row.

Row i has an influence a_i on a metric: for another sample of n rows, the metric differs by about
the mean of n independent influences. Its standard error is therefore that of a mean,
√(Σ a_i² / n(n − 1)). Two models on the same rows are compared as pairs: their difference has the
influences a_i − b_i. For the area under the ROC curve this is DeLong's error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import TableError

TWO, MANY, NUMBERS = "two classes", "more than two classes", "numbers"
_LEAST_PROBABILITY = float(np.finfo(np.float64).eps)  # as scikit-learn's log_loss


@dataclass(frozen=True, eq=False)
class Truth:
    """Target of the held-out rows: values, or labels among ``classes``."""

    y: np.ndarray
    classes: np.ndarray | None = None
    positive: Any = None
    groups: np.ndarray | None = None

    @property
    def kind(self) -> str:
        """Kind of target, which decides the metrics."""
        return NUMBERS if self.classes is None else TWO if len(self.classes) == 2 else MANY

    @property
    def is_positive(self) -> np.ndarray:
        """True for rows of the positive class."""
        return self.y == self.positive


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predicted values or labels, and for labels the probabilities of ``Truth.classes``."""

    y: np.ndarray
    probabilities: np.ndarray | None = None

    def of(self, label: Any, truth: Truth) -> np.ndarray:
        """Return the probabilities of a class."""
        assert self.probabilities is not None
        assert truth.classes is not None
        return self.probabilities[:, list(truth.classes).index(label)]


@dataclass(frozen=True)
class Metric:
    """A metric; ``measure`` returns its value and the influences of the rows."""

    heading: str
    form: str
    more_is_better: bool
    kinds: tuple[str, ...]
    measure: Callable[[Truth, Predicted], tuple[float, np.ndarray]]


def standard_error(influence: np.ndarray, groups: np.ndarray | None = None) -> float:
    """Return the standard error of a mean; rows of one group count as one observation."""
    n = len(influence)
    sums = influence
    if groups is not None:
        sums = np.bincount(np.unique(groups, return_inverse=True)[1], weights=influence)
    n_free = len(sums)
    return float(np.sqrt(np.sum(sums**2) * n_free / max(n_free - 1, 1)) / n)


def _mean(values):
    return float(values.mean()), values - values.mean()


def _accuracy(truth, predicted):
    return _mean((predicted.y == truth.y).astype(np.float64))


def row_log_losses(truth: Truth, predicted: Predicted) -> np.ndarray:
    """Return minus the logarithm of the predicted probability of each row's class."""
    assert predicted.probabilities is not None
    assert truth.classes is not None
    places = {label: k for k, label in enumerate(truth.classes.tolist())}
    columns = np.array([places[label] for label in truth.y.tolist()])
    given = predicted.probabilities[np.arange(len(columns)), columns]
    return -np.log(np.clip(given, _LEAST_PROBABILITY, 1.0))


def _log_loss(truth, predicted):
    return _mean(row_log_losses(truth, predicted))


def _balanced_accuracy(truth, predicted):
    right = (predicted.y == truth.y).astype(np.float64)
    present = np.unique(truth.y)
    influence, recalls = np.zeros(len(right)), []
    for label in present:
        own = truth.y == label
        recalls.append(right[own].mean())
        influence[own] = (right[own] - recalls[-1]) / (own.mean() * len(present))
    return float(np.mean(recalls)), influence


def _roc_area(truth, predicted):
    """Share of pairs of a positive and a negative row in the right order; ties count half."""
    positive, score = truth.is_positive, predicted.of(truth.positive, truth)
    # Share of the other class on the right side of each row.
    ahead = np.empty(len(score))
    for own, others in (
        (positive, np.sort(score[~positive])),
        (~positive, np.sort(score[positive])),
    ):
        below = (
            np.searchsorted(others, score[own], "left")
            + np.searchsorted(others, score[own], "right")
        ) / 2
        ahead[own] = below / len(others)
    ahead[~positive] = 1 - ahead[~positive]
    area = float(ahead[positive].mean())
    return area, (ahead - area) / np.where(positive, positive.mean(), 1 - positive.mean())


def _average_precision(truth, predicted):
    """Mean precision at the positive rows.

    (1/p) ∫ G/H dG, where G(s) = P(positive, score ≥ s), H(s) = P(score ≥ s), p = P(positive). Its
    influence is that of the mean over positives, of p, of G and of H.
    """
    positive, score = truth.is_positive, predicted.of(truth.positive, truth)
    n, share = len(score), positive.mean()
    levels, place = np.unique(score, return_inverse=True)
    at_level = np.bincount(place, weights=positive, minlength=len(levels)) / n
    above = np.cumsum((np.bincount(place, minlength=len(levels)) / n)[::-1])[::-1]  # H
    positive_above = np.cumsum(at_level[::-1])[::-1]  # G
    precision = positive_above / above
    value = float(np.sum(at_level * precision) / share)
    by_g, by_h = np.cumsum(at_level / above), np.cumsum(at_level * positive_above / above**2)
    influence = (
        positive * (precision[place] + by_g[place]) - by_h[place] - value * (positive - share)
    ) / share
    return value, influence - value


def _rmse(truth, predicted):
    squares = (predicted.y - truth.y) ** 2
    root = float(np.sqrt(squares.mean()))
    return root, (squares - squares.mean()) / (2 * root) if root > 0 else np.zeros(len(squares))


def _mae(truth, predicted):
    return _mean(np.abs(predicted.y - truth.y))


def _r2(truth, predicted):
    """One minus the ratio of two means; NaN for constant y."""
    squares, around = (predicted.y - truth.y) ** 2, (truth.y - truth.y.mean()) ** 2
    variance = around.mean()
    if not variance > 0:
        return float("nan"), np.zeros(len(squares))
    share = squares.mean() / variance
    return float(1 - share), (share * around - squares) / variance


METRICS: dict[str, Metric] = {
    "log-loss": Metric("log-loss", ".4f", False, (TWO, MANY), _log_loss),
    "auc": Metric("AUC", ".4f", True, (TWO,), _roc_area),
    "average-precision": Metric("average precision", ".4f", True, (TWO,), _average_precision),
    "accuracy": Metric("accuracy", ".2%", True, (TWO, MANY), _accuracy),
    "balanced-accuracy": Metric("balanced accuracy", ".2%", True, (TWO, MANY), _balanced_accuracy),
    "rmse": Metric("RMSE", ".4g", False, (NUMBERS,), _rmse),
    "r2": Metric("R²", ".3f", True, (NUMBERS,), _r2),
    "mae": Metric("mean absolute error", ".4g", False, (NUMBERS,), _mae),
}
_AUTO = {TWO: ["log-loss", "auc"], MANY: ["log-loss"], NUMBERS: ["rmse", "r2"]}


def chosen_metrics(metric: str, kind: str) -> list[str]:
    """Return the metric to compare models by, followed by the usual ones.

    >>> chosen_metrics("auto", TWO), chosen_metrics("mae", NUMBERS)
    (['log-loss', 'auc'], ['mae', 'rmse', 'r2'])
    """
    usual = _AUTO[kind]
    if metric == "auto":
        return list(usual)
    defined = [name for name, one in METRICS.items() if kind in one.kinds]
    if metric not in defined:
        raise TableError(
            f"There is no metric {metric!r} for {kind}; use one of auto, {', '.join(defined)}."
        )
    return [metric, *(name for name in usual if name != metric)]
