"""Losses: value, gradient and curvature in the scores, the best constant, and what scores predict;
row by row.

Scores and targets are (n_rows, n_outputs). Every loss is convex in the scores, and its curvature is
positive (for Huber, quantile and hinge it is the constant 1 of the closed form, not the second
derivative, which vanishes; ``bend`` has that).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, log_softmax, softmax, xlogy

from ._checks import missing_method, refuse_class

__all__ = [
    "Exponential",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Multinomial",
    "Poisson",
    "Quantile",
    "Squared",
    "class_probabilities",
    "weighted_quantile",
]

# Curvatures are kept away from zero relative to their largest possible value: a Newton step needs
# one.
_LEAST_CURVATURE = 1e-6
_LARGEST_EXPONENT = 30.0


class Loss(ABC):
    """ℓ(y, H) summed over outputs; a frozen dataclass with its constants.

    Examples
    --------
    >>> isinstance(Squared(), Loss)
    True
    """

    @abstractmethod
    def values(self, targets: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """ℓ of each row, (n_rows,)."""

    @abstractmethod
    def derivatives(self, targets: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂ℓ/∂H and a curvature for ∂²ℓ/∂H², both (n_rows, n_outputs)."""

    @abstractmethod
    def start(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The best constant scores, (n_outputs,)."""

    def gradient(self, targets: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """∂ℓ/∂H alone."""
        return self.derivatives(targets, scores)[0]

    # Whether the second derivative of a row mixes its outputs.
    couples_outputs: ClassVar[bool] = False

    def bend(self, targets: np.ndarray, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """∂²ℓ/∂H² times a direction, (n_rows, n_outputs); the whole matrix of each row, where
        outputs are coupled.
        """
        return self.derivatives(targets, scores)[1] * direction

    def rounded(self, width: float) -> Self:
        """The same loss with its corner, if it has one, rounded over this width; smooth losses are
        left as they are.
        """
        return self

    def least(self, targets: np.ndarray) -> np.ndarray:
        """The least value that ℓ can have at each row, (n_rows,)."""
        return np.zeros(len(targets))

    def link(self, scores: np.ndarray) -> np.ndarray:
        """What scores predict: the mean (or quantile) of the target, or probabilities of classes,
        in the shape of the scores.

        One column of a loss for classes is the probability of the second of two.
        """
        return scores

    def onnx(self, scores: Any, n_outputs: int) -> Any:
        """Return ``link(scores)`` as a tensor of the ONNX graph of the tensor ``scores``."""
        if type(self).link is not Loss.link:
            raise missing_method(self, "onnx", "Export of predictions to ONNX")
        return scores


@dataclass(frozen=True)
class Logistic(Loss):
    """ln(1 + exp(−yH)), y = ±1.

    Examples
    --------
    >>> Logistic().values(np.array([[1.0]]), np.array([[0.0]])).round(3)
    array([0.693])
    """

    def values(self, targets, scores):
        margin = (targets * scores)[:, 0]
        return np.maximum(-margin, 0) + np.log(1 + np.exp(-np.abs(margin)))

    def derivatives(self, targets, scores):
        miss = _miss(targets, scores)
        return -targets * miss, np.maximum(miss * (1 - miss), _LEAST_CURVATURE)

    def gradient(self, targets, scores):
        return -targets * _miss(targets, scores)

    def bend(self, targets, scores, direction):
        miss = _miss(targets, scores)
        return miss * (1 - miss) * direction

    def start(self, targets, weights):
        mean = _bounded_mean(targets, weights)
        return np.log1p(2 * mean / (1 - mean))

    def link(self, scores):
        return expit(scores)

    def onnx(self, scores, n_outputs):
        return scores.graph.node("Sigmoid", scores)


@dataclass(frozen=True)
class Exponential(Loss):
    """exp(−yH), y = ±1; beyond yH = −30 it goes on as its tangent.

    Examples
    --------
    >>> Exponential().values(np.array([[1.0]]), np.array([[-1.0]])).round(3)
    array([2.718])
    """

    def values(self, targets, scores):
        z = (-targets * scores)[:, 0]
        return np.exp(np.minimum(z, _LARGEST_EXPONENT)) * (1 + np.maximum(z - _LARGEST_EXPONENT, 0))

    def derivatives(self, targets, scores):
        weight = np.exp(np.minimum(-targets * scores, _LARGEST_EXPONENT))
        return -targets * weight, weight + np.asarray(_LEAST_CURVATURE, scores.dtype)

    def start(self, targets, weights):
        mean = _bounded_mean(targets, weights)
        return 0.5 * np.log1p(2 * mean / (1 - mean))

    def link(self, scores):
        """1/(1 + exp(−2H)) is what the exponential loss estimates; several columns, one against the
        rest, by softmax of 2H.
        """
        return expit(2 * scores) if scores.shape[1] == 1 else softmax(2 * scores, axis=1)

    def onnx(self, scores, n_outputs):
        if n_outputs == 1:
            return scores.graph.node("Sigmoid", 2.0 * scores)
        return scores.graph.node("Softmax", 2.0 * scores, axis=1)


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 − yH), y = ±1, summed over outputs (one against the rest); what a support vector
    machine minimizes.

    Parameters
    ----------
    width : float, default 0.0
        Over how far the corner is rounded: the loss is m²/(2 width) for 0 <= m <= width, m = 1 −
        yH, and m − width/2 beyond.

    Examples
    --------
    >>> Hinge().values(np.array([[1.0]]), np.array([[-1.0]]))
    array([2.])
    """

    width: float = 0.0

    def values(self, targets, scores):
        gap = np.maximum(1 - targets * scores, 0)
        if self.width:
            gap = np.where(gap < self.width, gap**2 / (2 * self.width), gap - self.width / 2)
        return np.sum(gap, axis=1)

    def derivatives(self, targets, scores):
        gap = 1 - targets * scores
        slope = np.clip(gap / self.width, 0, 1) if self.width else gap > 0
        return (-targets * slope).astype(scores.dtype), np.ones_like(scores)

    def bend(self, targets, scores, direction):
        gap = 1 - targets * scores
        return direction * ((gap > 0) & (gap < self.width)) / (self.width or 1.0)

    def rounded(self, width):
        return replace(self, width=width)

    def start(self, targets, weights):
        return np.sign(_weighted_mean(targets, weights))


@dataclass(frozen=True)
class Multinomial(Loss):
    """−ln softmax(H)_y, targets one-hot; the diagonal of the curvature, so one 2 x 2 system for
    each class.

    Examples
    --------
    >>> Multinomial().values(np.array([[1.0, 0.0]]), np.array([[0.0, 0.0]])).round(3)
    array([0.693])
    """

    def values(self, targets, scores):
        return -np.sum(targets * log_softmax(scores, axis=1), axis=1)

    def derivatives(self, targets, scores):
        shares = softmax(scores, axis=1)
        return shares - targets, np.maximum(shares * (1 - shares), _LEAST_CURVATURE)

    couples_outputs: ClassVar[bool] = True

    def gradient(self, targets, scores):
        return softmax(scores, axis=1) - targets

    def bend(self, targets, scores, direction):
        shares = softmax(scores, axis=1)
        return shares * (direction - np.sum(shares * direction, axis=1, keepdims=True))

    def start(self, targets, weights):
        return np.log(np.maximum(_weighted_mean(targets, weights), 1e-12))

    def link(self, scores):
        return softmax(scores, axis=1)

    def onnx(self, scores, n_outputs):
        return scores.graph.node("Softmax", scores, axis=1)


@dataclass(frozen=True)
class Squared(Loss):
    """½ (H − y)².

    Examples
    --------
    >>> Squared().values(np.array([[1.0]]), np.array([[3.0]]))
    array([2.])
    """

    def values(self, targets, scores):
        return 0.5 * np.sum((scores - targets) ** 2, axis=1)

    def derivatives(self, targets, scores):
        return scores - targets, np.ones_like(scores)

    def start(self, targets, weights):
        return _weighted_mean(targets, weights)


@dataclass(frozen=True)
class Huber(Loss):
    """½ r² for |r| <= delta, linear beyond, r = H − y.

    Parameters
    ----------
    delta : array (n_outputs,)
        Where the loss becomes linear.

    Examples
    --------
    >>> Huber(np.array([1.0])).values(np.array([[0.0]]), np.array([[3.0]]))
    array([2.5])
    """

    delta: np.ndarray

    def values(self, targets, scores):
        size = np.abs(scores - targets)
        return np.sum(
            np.where(size <= self.delta, 0.5 * size**2, self.delta * (size - 0.5 * self.delta)),
            axis=1,
        )

    def derivatives(self, targets, scores):
        return np.clip(scores - targets, -self.delta, self.delta), np.ones_like(scores)

    def bend(self, targets, scores, direction):
        return direction * (np.abs(scores - targets) <= self.delta)

    def start(self, targets, weights):
        return weighted_quantile(targets, weights, 0.5)


@dataclass(frozen=True)
class Quantile(Loss):
    """The pinball loss: level · (y − H) above, (1 − level) · (H − y) below.

    Parameters
    ----------
    level : float
        Share of the targets that should lie below, between 0 and 1.
    width : float, default 0.0
        Over how far, to both sides, the corner is rounded: there the loss is r²/(4 width) + (level
        − ½) r + width/4, r = y − H.

    Examples
    --------
    >>> Quantile(0.9).values(np.array([[1.0]]), np.array([[0.0]]))
    array([0.9])
    """

    level: float
    width: float = 0.0

    def values(self, targets, scores):
        left = targets - scores
        sharp = np.maximum(self.level * left, (self.level - 1) * left)
        if self.width:
            curved = left**2 / (4 * self.width) + (self.level - 0.5) * left + self.width / 4
            sharp = np.where(np.abs(left) < self.width, curved, sharp)
        return np.sum(sharp, axis=1)

    def derivatives(self, targets, scores):
        if self.width:
            gradient = 0.5 - self.level - np.clip((targets - scores) / (2 * self.width), -0.5, 0.5)
        else:
            gradient = np.where(targets > scores, -self.level, 1 - self.level)
        return gradient.astype(scores.dtype), np.ones_like(scores)

    def bend(self, targets, scores, direction):
        return direction * (np.abs(targets - scores) < self.width) / (2 * self.width or 1.0)

    def rounded(self, width):
        return replace(self, width=width)

    def start(self, targets, weights):
        return weighted_quantile(targets, weights, self.level)


@dataclass(frozen=True)
class Poisson(Loss):
    """exp(H) − yH, the scores being logarithms of the mean; beyond H = 30 the exponential goes on
    as its tangent.

    Examples
    --------
    >>> Poisson().values(np.array([[2.0]]), np.array([[0.0]]))
    array([1.])
    """

    def values(self, targets, scores):
        bounded = np.minimum(scores, _LARGEST_EXPONENT)
        return np.sum(np.exp(bounded) * (1 + scores - bounded) - targets * scores, axis=1)

    def derivatives(self, targets, scores):
        mean = np.exp(np.minimum(scores, _LARGEST_EXPONENT))
        return mean - targets, np.maximum(mean, _LEAST_CURVATURE)

    def least(self, targets):
        return np.sum(targets - xlogy(targets, targets), axis=1)

    def start(self, targets, weights):
        return np.log(np.maximum(_weighted_mean(targets, weights), 1e-12))

    def link(self, scores):
        return np.exp(scores)

    def onnx(self, scores, n_outputs):
        return np.exp(scores)


def class_probabilities(loss: Loss, scores: np.ndarray) -> np.ndarray:
    """(n_rows, n_classes) from the scores of a loss for classes, which have one column where there
    are two classes.

    Parameters
    ----------
    loss : Loss
        A loss for classes.
    scores : array (n_rows, n_outputs)
        One column where there are two classes, else one for each.

    Examples
    --------
    >>> class_probabilities(Logistic(), np.array([[0.0]]))
    array([[0.5, 0.5]])
    """
    refuse_class(loss, "loss")
    predicted = loss.link(scores)
    return (
        np.concatenate([1 - predicted, predicted], axis=1) if predicted.shape[1] == 1 else predicted
    )


def predicted_codes(scores: np.ndarray) -> np.ndarray:
    """Numbers of the predicted classes: the largest score, or the second of two classes if its only
    score is positive.
    """
    return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else np.argmax(scores, axis=1)


def _miss(targets, scores):
    """1/(1 + exp(yH)) by way of tanh, which NumPy vectorises; scipy's expit is ten times slower."""
    miss = np.tanh(targets * scores * scores.dtype.type(0.5))
    miss *= -0.5
    miss += 0.5
    return miss


def _weighted_mean(targets, weights):
    return np.average(targets.astype(np.float64), axis=0, weights=weights)


def _bounded_mean(targets, weights):
    """The mean of ±1 targets, off ±1 by as much as half a row would bring."""
    limit = 1 - 1 / (2 * max(np.sum(weights), 1.0))
    return np.clip(_weighted_mean(targets, weights), -limit, limit)


def weighted_quantile(targets: np.ndarray, weights: np.ndarray, level: float) -> np.ndarray:
    """The smallest value below which at least ``level`` of the weight lies, for each column.

    Parameters
    ----------
    targets : array (n_rows, n_outputs)
        The values.
    weights : array (n_rows,)
        How often each row counts.
    level : float
        Between 0 and 1.

    Examples
    --------
    >>> weighted_quantile(np.array([[1.0], [2.0], [9.0]]), np.ones(3), 0.5)
    array([2.])
    """
    return np.array([lower_quantiles(column, weights, level) for column in targets.T])


def lower_quantiles(
    values: np.ndarray, weights: np.ndarray, levels: float | np.ndarray
) -> np.ndarray:
    """The smallest of the values (n_rows,) below which at least each level of the weight lies."""
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order], dtype=np.float64)
    # A hair below the level, so that equal weights and repeated rows meet the same row in spite of
    # rounding.
    positions = np.searchsorted(cumulative, np.multiply(levels, cumulative[-1]) * (1 - 1e-12))
    return values[order[np.minimum(positions, len(order) - 1)]]
