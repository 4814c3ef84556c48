"""What may be measured of predictions on held-out rows, each with what every row adds to it, from
which its standard error follows.

A measure m of n rows has an influence a_i for each: m of other rows of the same kind differs by
about the mean of independent such numbers. Its standard error is therefore that of a mean, √(Σ a_i²
/ n(n − 1)); the difference of two models on the same rows has the influences a_i − b_i, which is
what makes it a paired comparison. For the area under the ROC curve this is DeLong's error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..read.reading import TableError

TWO, MANY, NUMBERS = "two classes", "more than two classes", "numbers"
_LEAST_PROBABILITY = float(np.finfo(np.float64).eps)  # as scikit-learn's log_loss


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known of the held-out rows: values, or labels among ``classes`` (of two, ``positive``
    is the one to be found).
    """

    y: np.ndarray
    classes: np.ndarray | None = None
    positive: Any = None
    groups: np.ndarray | None = None

    @property
    def kind(self) -> str:
        """Which metrics there are for it."""
        return NUMBERS if self.classes is None else TWO if len(self.classes) == 2 else MANY


@dataclass(frozen=True, eq=False)
class Predicted:
    """Values or labels for the held-out rows, and of labels the probabilities of ``Truth.classes``."""

    y: np.ndarray
    probabilities: np.ndarray | None = None

    def of(self, label: Any, truth: Truth) -> np.ndarray:
        """The probability of a class."""
        assert self.probabilities is not None
        assert truth.classes is not None
        return self.probabilities[:, list(truth.classes).index(label)]


@dataclass(frozen=True)
class Metric:
    """A measure: its heading and format, whether more is better, what it is for, and its value with
    the influences of the rows.
    """

    heading: str
    form: str
    more_is_better: bool
    kinds: tuple[str, ...]
    measure: Callable[[Truth, Predicted], tuple[float, np.ndarray]]


def standard_error(influence: np.ndarray, groups: np.ndarray | None = None) -> float:
    """Of a mean whose rows have these influences; rows of one group are taken as one: they may all
    err together.
    """
    n = len(influence)
    sums = (
        influence
        if groups is None
        else np.bincount(np.unique(groups, return_inverse=True)[1], weights=influence)
    )
    n_free = len(sums)
    return float(np.sqrt(np.sum(sums**2) * n_free / max(n_free - 1, 1)) / n)


def _mean(values):
    return float(values.mean()), values - values.mean()


def _accuracy(truth, predicted):
    return _mean((predicted.y == truth.y).astype(np.float64))


def row_log_losses(truth: Truth, predicted: Predicted) -> np.ndarray:
    """Minus the logarithm of the probability that a row's class was given."""
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
    """The share of pairs of a positive and a negative row that stand in the right order, ties half."""
    found, score = truth.y == truth.positive, predicted.of(truth.positive, truth)
    ahead = np.empty(len(score))  # the share of the other class that a row is on the right side of
    for own, others in ((found, np.sort(score[~found])), (~found, np.sort(score[found]))):
        below = (
            np.searchsorted(others, score[own], "left")
            + np.searchsorted(others, score[own], "right")
        ) / 2
        ahead[own] = below / len(others)
    ahead[~found] = 1 - ahead[~found]
    area = float(ahead[found].mean())
    return area, (ahead - area) / np.where(found, found.mean(), 1 - found.mean())


def _average_precision(truth, predicted):
    r"""The mean precision at the positive rows: (1/p) ∫ G/H dG, where G(s) = P(positive, score ≥
    s), H(s) = P(score ≥ s), p = P(positive).

    Its influence is that of the mean over positives, of p, of G and of H.
    """
    found, score = truth.y == truth.positive, predicted.of(truth.positive, truth)
    n, share = len(score), found.mean()
    levels, place = np.unique(score, return_inverse=True)
    at_level = np.bincount(place, weights=found, minlength=len(levels)) / n
    above = np.cumsum((np.bincount(place, minlength=len(levels)) / n)[::-1])[::-1]  # H
    positive_above = np.cumsum(at_level[::-1])[::-1]  # G
    precision = positive_above / above
    value = float(np.sum(at_level * precision) / share)
    by_g, by_h = np.cumsum(at_level / above), np.cumsum(at_level * positive_above / above**2)
    influence = (
        found * (precision[place] + by_g[place]) - by_h[place] - value * (found - share)
    ) / share
    return value, influence - value


def _rmse(truth, predicted):
    squares = (predicted.y - truth.y) ** 2
    root = float(np.sqrt(squares.mean()))
    return root, (squares - squares.mean()) / (2 * root) if root > 0 else np.zeros(len(squares))


def _mae(truth, predicted):
    return _mean(np.abs(predicted.y - truth.y))


def _r2(truth, predicted):
    """One minus a ratio of two means; of constant y there is none."""
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


def chosen_metrics(wish: str, kind: str) -> list[str]:
    """The metric that a model is judged by, and others of its kind to be shown beside it.

    >>> chosen_metrics("auto", TWO), chosen_metrics("mae", NUMBERS)
    (['log-loss', 'auc'], ['mae', 'rmse', 'r2'])
    """
    usual = _AUTO[kind]
    if wish == "auto":
        return list(usual)
    known = [name for name, metric in METRICS.items() if kind in metric.kinds]
    if wish not in known:
        raise TableError(
            f"There is no metric {wish!r} for {kind}; write one of auto, {', '.join(known)}."
        )
    return [wish, *(name for name in usual if name != wish)]
