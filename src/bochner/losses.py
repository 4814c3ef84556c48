"""Losses of scores: values, derivatives, the best constant, and the prediction of a score.

Scores and targets are (n_rows, n_outputs). Every loss is convex in the scores, and its curvature is
positive. The second derivatives of Huber, quantile and hinge vanish on intervals, so their
curvature is the constant 1; ``bend`` returns the second derivative.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, log_softmax, softmax, xlogy

from ._checks import check_choice, missing_method, refuse_class

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

# Least curvature, relative to the largest possible one: Newton steps divide by curvatures.
_LEAST_CURVATURE = 1e-6
# Beyond this score, exponential losses continue as their tangents, so that they cannot overflow.
_LARGEST_EXPONENT = 30.0


class Loss(ABC):
    """Convex loss ℓ(y, H) of targets y and scores H, summed over outputs.

    A loss of your own is a frozen dataclass with ``values``, ``derivatives`` and ``start``. The
    other methods are optional: if one is needed, an error names it. ``bochner.testing.check_loss``
    checks all of them.

    Examples
    --------
    >>> isinstance(Squared(), Loss)
    True
    """

    # True if the second derivative of a row mixes its outputs. Classifiers then pass one-hot
    # targets, otherwise one column of ±1 for two classes.
    couples_outputs: ClassVar[bool] = False
    # True if ℓ is a non-negative function of H − y, and scores predict y itself. Regressors may
    # then standardize y, and pass the scale to ``scaled``.
    of_residuals: ClassVar[bool] = False

    @abstractmethod
    def values(self, targets: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return ℓ of each row, (n_rows,)."""

    @abstractmethod
    def derivatives(self, targets: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ∂ℓ/∂H and a positive curvature for ∂²ℓ/∂H², both (n_rows, n_outputs)."""

    @abstractmethod
    def start(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the best constant scores, or nearly the best, (n_outputs,)."""

    def gradient(self, targets: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return ∂ℓ/∂H only."""
        return self.derivatives(targets, scores)[0]

    def bend(self, targets: np.ndarray, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return ∂²ℓ/∂H² times a direction, (n_rows, n_outputs).

        By default the curvature times the direction, which is enough if outputs are not coupled.
        """
        if self.couples_outputs:
            raise missing_method(self, "bend", "Newton's method with coupled outputs")
        return self.derivatives(targets, scores)[1] * direction

    def rounded(self, width: float) -> Self:
        """Return the loss with its corner rounded over this width; the loss itself if smooth."""
        return self

    def scaled(self, scale: np.ndarray) -> Self:
        """Return the loss for targets and scores that were divided by ``scale``, (n_outputs,).

        Override it if a constant of the loss has the unit of the target.
        """
        return self

    def least(self, targets: np.ndarray) -> np.ndarray:
        """Return the least value of ℓ at each row, (n_rows,)."""
        return np.zeros(len(targets))

    def check_targets(self, targets: np.ndarray) -> None:  # noqa: B027 (most losses accept all targets)
        """Raise ValueError for targets for which the loss is not defined."""

    def link(self, scores: np.ndarray) -> np.ndarray:
        """Return the predictions of scores, in the same shape.

        Predictions are probabilities of classes, or the mean (or quantile) of the target. By
        default they are the scores. One column is the probability of the second of two classes.
        """
        return scores

    def onnx(self, scores: Any, n_outputs: int) -> Any:
        """Return ``link(scores)`` as a tensor of an ONNX graph, see ``bochner.export``."""
        if has_method(self, "link"):
            raise missing_method(self, "onnx", "export to ONNX")
        return scores


def has_method(loss: Loss, name: str) -> bool:
    """Return True if the class of the loss defines this optional method itself."""
    return getattr(type(loss), name) is not getattr(Loss, name)


def check_loss_parameter(loss: Any, names: Sequence[str]) -> None:
    """Raise an error unless ``loss`` is one of the names or an object of ``Loss``."""
    refuse_class(loss, "loss")
    if not isinstance(loss, Loss):
        check_choice(loss, "loss", tuple(names))


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
    """exp(−yH), y = ±1; its tangent beyond yH = −30.

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
        """Return 1/(1 + exp(−2H)); softmax of 2H for several columns, one against the rest."""
        return expit(2 * scores) if scores.shape[1] == 1 else softmax(2 * scores, axis=1)

    def onnx(self, scores, n_outputs):
        node = scores.graph.node
        if n_outputs == 1:
            return node("Sigmoid", 2.0 * scores)
        return node("Softmax", 2.0 * scores, axis=1)


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 − yH), y = ±1, summed over outputs: the loss of support vector machines.

    Parameters
    ----------
    width : float, default 0.0
        Width over which the corner is rounded. With m = 1 − yH, the loss is m²/(2 width) for
        0 <= m <= width, and m − width/2 beyond.

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
    """−ln softmax(H)_y with one-hot targets.

    The curvature is the diagonal of the second derivative: one 2 x 2 system for each class.

    Examples
    --------
    >>> Multinomial().values(np.array([[1.0, 0.0]]), np.array([[0.0, 0.0]])).round(3)
    array([0.693])
    """

    couples_outputs: ClassVar[bool] = True

    def values(self, targets, scores):
        return -np.sum(targets * log_softmax(scores, axis=1), axis=1)

    def derivatives(self, targets, scores):
        shares = softmax(scores, axis=1)
        return shares - targets, np.maximum(shares * (1 - shares), _LEAST_CURVATURE)

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

    of_residuals: ClassVar[bool] = True

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
        Residual from which on the loss is linear.

    Examples
    --------
    >>> Huber(np.array([1.0])).values(np.array([[0.0]]), np.array([[3.0]]))
    array([2.5])
    """

    delta: np.ndarray
    of_residuals: ClassVar[bool] = True

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

    def scaled(self, scale):
        return replace(self, delta=self.delta / scale)

    def start(self, targets, weights):
        return weighted_quantile(targets, weights, 0.5)


@dataclass(frozen=True)
class Quantile(Loss):
    """Pinball loss: level · (y − H) for y > H, (1 − level) · (H − y) below.

    Parameters
    ----------
    level : float
        Share of the targets that should lie below, between 0 and 1.
    width : float, default 0.0
        Width over which the corner is rounded on either side. With r = y − H, the loss is
        r²/(4 width) + (level − ½) r + width/4 for |r| < width.

    Examples
    --------
    >>> Quantile(0.9).values(np.array([[1.0]]), np.array([[0.0]]))
    array([0.9])
    """

    level: float
    width: float = 0.0
    of_residuals: ClassVar[bool] = True

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

    def scaled(self, scale):
        return replace(self, width=float(self.width / np.max(scale)))

    def start(self, targets, weights):
        return weighted_quantile(targets, weights, self.level)


@dataclass(frozen=True)
class Poisson(Loss):
    """exp(H) − yH, with the tangent of exp beyond H = 30; scores are logarithms of the mean.

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

    def check_targets(self, targets):
        if (least := np.min(targets)) < 0:
            raise ValueError(
                f"The Poisson loss needs non-negative targets, got {least:.3g}. Use another loss, "
                "e.g. the squared loss."
            )

    def least(self, targets):
        return np.sum(targets - xlogy(targets, targets), axis=1)

    def start(self, targets, weights):
        return np.log(np.maximum(_weighted_mean(targets, weights), 1e-12))

    def link(self, scores):
        return np.exp(scores)

    def onnx(self, scores, n_outputs):
        return np.exp(scores)


def class_probabilities(loss: Loss, scores: np.ndarray) -> np.ndarray:
    """Return the probabilities of all classes, (n_rows, n_classes).

    Parameters
    ----------
    loss : Loss
        A loss for classes.
    scores : array (n_rows, n_outputs)
        One column for two classes, or one for each class.

    Examples
    --------
    >>> class_probabilities(Logistic(), np.array([[0.0]]))
    array([[0.5, 0.5]])
    """
    refuse_class(loss, "loss")
    predicted = loss.link(scores)
    if predicted.shape[1] > 1:
        return predicted
    return np.concatenate([1 - predicted, predicted], axis=1)


def predicted_codes(scores: np.ndarray) -> np.ndarray:
    """Return the class of the largest score; for one column, 1 if the score is positive."""
    return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else np.argmax(scores, axis=1)


def _miss(targets, scores):
    """Return 1/(1 + exp(yH)) by tanh, which NumPy vectorizes; expit is ten times slower."""
    miss = np.tanh(targets * scores * scores.dtype.type(0.5))
    miss *= -0.5
    miss += 0.5
    return miss


def _weighted_mean(targets, weights):
    return np.average(targets.astype(np.float64), axis=0, weights=weights)


def _bounded_mean(targets, weights):
    """Return the mean of ±1 targets, at least half a row away from ±1."""
    limit = 1 - 1 / (2 * max(np.sum(weights), 1.0))
    return np.clip(_weighted_mean(targets, weights), -limit, limit)


def weighted_quantile(targets: np.ndarray, weights: np.ndarray, level: float) -> np.ndarray:
    """Return the smallest value below which at least ``level`` of the weight lies, per column.

    Parameters
    ----------
    targets : array (n_rows, n_outputs)
        The values.
    weights : array (n_rows,)
        Weights of the rows.
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
    """Return the smallest of the values below which at least each level of the weight lies."""
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order], dtype=np.float64)
    # Slightly below the level, so that rounding cannot make weights and repeated rows differ.
    positions = np.searchsorted(cumulative, np.multiply(levels, cumulative[-1]) * (1 - 1e-12))
    return values[order[np.minimum(positions, len(order) - 1)]]
