"""Blends of the members: weighted sums of values, and mixtures of probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import log_softmax, logsumexp, softmax

from ..expansions.kernels import KernelExpansion
from ..expansions.leaves import LeafExpansion
from .trees import TreeMember
from .waves import WaveMember

# Members of less weight are left out of predictions.
_LEAST_WEIGHT = 1e-3
# Penalty for unequal weights of a blend, as a number of rows with the error of the best member:
# held-out scores of a few hundred rows cannot distinguish members whose errors differ by a percent.
_EQUALITY = 100.0
# The same for mixtures of probabilities, as a number of rows with the log-loss of the best member.
_EQUAL_ROWS = 50.0
# Candidates for the smallest score: least squares may give a class a negative score, which has no
# logarithm. Noisy labels need a high one, classes that hardly overlap a low one.
_FLOORS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.0005)
# Rows that count as being of any class (Platt 1999): even if scores separate all held-out rows,
# probabilities must not be zero or one.
_DOUBT = 2.0


@dataclass(frozen=True, eq=False)
class ProbabilityLink:
    """Probabilities softmax(slope · log max(score, floor) + shifts) of least-squares scores."""

    slope: float
    shifts: np.ndarray
    floor: float

    @classmethod
    def of(
        cls, scores: np.ndarray, codes: np.ndarray, row_weights: np.ndarray | None = None
    ) -> ProbabilityLink:
        """Fit the link to held-out ``scores`` (n_samples, n_classes) by their log-loss.

        Half the squared shifts are added, as if they were the log-loss of one row. Two rows count
        as being of any class.
        """
        n_classes = scores.shape[1]
        counts = np.ones(len(codes)) if row_weights is None else row_weights
        total = counts.sum()
        doubt = _DOUBT / (total + _DOUBT)
        shares = (1 - doubt) * np.eye(n_classes)[codes] + doubt / n_classes

        def objective(parameters, logs):
            slope, shifts = np.exp(parameters[0]), parameters[1:]
            logits = slope * logs + shifts
            missed = counts[:, None] * (softmax(logits, axis=1) - shares)
            losses = -counts @ np.sum(shares * log_softmax(logits, axis=1), axis=1)
            value = (losses + 0.5 * shifts @ shifts) / total
            return value, np.append(
                slope * np.sum(missed * logs), missed.sum(axis=0) + shifts
            ) / total

        least, start = np.inf, np.zeros(n_classes + 1)
        for floor in _FLOORS:
            fit = minimize(objective, start, (_logs(scores, floor),), jac=True, method="L-BFGS-B")
            start = fit.x
            if floor == _FLOORS[0] or fit.fun < least:
                least, best = fit.fun, cls(float(np.exp(fit.x[0])), fit.x[1:], floor)
        return best

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities, (n_samples, n_classes)."""
        return softmax(self._logits(scores), axis=1)

    def log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the logarithms of ``probabilities``, finite also if those round to zero."""
        return log_softmax(self._logits(scores), axis=1)

    def _logits(self, scores):
        return self.slope * _logs(scores, self.floor) + self.shifts

    def jacobian(self, scores: np.ndarray) -> np.ndarray:
        """Return ∂ probabilities / ∂ scores, (n_samples, n_classes, n_classes)."""
        p = self.probabilities(scores)
        steepness = np.where(scores > self.floor, self.slope / np.maximum(scores, self.floor), 0.0)
        return p[:, :, None] * (np.eye(p.shape[1]) - p[:, None]) * steepness[:, None]


def class_scores(scores: np.ndarray) -> np.ndarray:
    """Return one column per class; a single column belongs to the second of two classes."""
    scores = np.asarray(scores, np.float64)
    return np.column_stack([1 - scores, scores]) if scores.shape[1] == 1 else scores


def _logs(scores, floor):
    return np.log(np.maximum(scores, floor))


@dataclass(frozen=True, eq=False)
class Blend:
    """f(z) = Σ_m weights[m] members[m](z) on prepared columns z."""

    members: tuple[KernelExpansion | LeafExpansion | WaveMember | TreeMember, ...]
    weights: tuple[float, ...]

    def evaluate(self, Z: np.ndarray) -> np.ndarray:
        """Return the scores, (n_samples, n_outputs), in float64."""
        return np.sum(
            [w * np.asarray(m.evaluate(Z), np.float64) for w, m in zip(self.weights, self.members)],
            axis=0,
        )

    def jacobian(self, Z: np.ndarray, side: int = 0) -> np.ndarray:
        """Return ∂f/∂z, (n_samples, n_outputs, n_columns); see ``KernelExpansion.jacobian``."""
        return np.sum([w * m.jacobian(Z, side) for w, m in zip(self.weights, self.members)], axis=0)


@dataclass(frozen=True, eq=False)
class Mixture(Blend):
    """Probabilities p(z) = Σ_m weights[m] links[m](members[m](z)) of classes.

    ``evaluate`` and ``jacobian`` are those of the weighted mean of the scores.
    """

    links: tuple[ProbabilityLink, ...]

    def probabilities(self, Z: np.ndarray) -> np.ndarray:
        """Return the probabilities, (n_samples, n_classes)."""
        return self.probabilities_of(m.evaluate(Z) for m in self.members)

    def log_probabilities(self, Z: np.ndarray) -> np.ndarray:
        """Return the logarithms of ``probabilities``, finite also if those round to zero."""
        return self.log_probabilities_of(m.evaluate(Z) for m in self.members)

    def probabilities_of(self, scores: Iterable[np.ndarray]) -> np.ndarray:
        """Return ``probabilities`` from the scores of each member."""
        parts = zip(self.weights, self.links, scores)
        return np.sum([w * link.probabilities(class_scores(own)) for w, link, own in parts], axis=0)

    def log_probabilities_of(self, scores: Iterable[np.ndarray]) -> np.ndarray:
        """Return ``log_probabilities`` from the scores of each member."""
        logs = [link.log_probabilities(class_scores(own)) for link, own in zip(self.links, scores)]
        return logsumexp(logs, axis=0, b=np.reshape(self.weights, (-1, 1, 1)))

    def probability_jacobian(self, Z: np.ndarray, side: int = 0) -> np.ndarray:
        """Return ∂p/∂z, (n_samples, n_classes, n_columns)."""
        total: Any = 0.0
        for weight, member, link in zip(self.weights, self.members, self.links):
            slopes = member.jacobian(Z, side)
            if slopes.shape[1] == 1:
                slopes = np.concatenate([-slopes, slopes], axis=1)
            total = total + weight * link.jacobian(class_scores(member.evaluate(Z))) @ slopes
        return total


def used_members(weights: np.ndarray) -> np.ndarray:
    """Return the weights of members that predictions need, with sum one, and zeros for others."""
    weights = np.where(weights < _LEAST_WEIGHT, 0.0, weights)
    return weights / weights.sum()


def blend_weights(
    held_out: np.ndarray, targets: np.ndarray, row_weights: np.ndarray | None = None
) -> np.ndarray:
    r"""Return non-negative weights of the members of a blend, with sum one.

    .. math:: \min_{w \ge 0} \sum_i h_i \|y_i - \bar y - \sum_m w_m (s_{mi} - \bar y)\|^2
        + \rho \|w - 1/M\|^2

    Here s is ``held_out`` (n_members, n_samples, n_outputs), y is ``targets`` (n_samples,
    n_outputs), and h is ``row_weights`` (n_samples,). The penalty ρ is 100 times the smallest mean
    squared error of a member. The solution is divided by its sum.

    >>> import numpy as np
    >>> y = np.arange(50.0)[:, None]
    >>> blend_weights(np.stack([y + 1, y[::-1]]), y).round(2)
    array([1., 0.])
    """
    n_members = len(held_out)
    if n_members == 1:
        return np.ones(1)
    counts = np.ones(len(targets)) if row_weights is None else row_weights
    mean = np.average(targets, axis=0, weights=counts)
    root = np.sqrt(counts)[:, None]
    columns = np.stack([(root * (scores - mean)).ravel() for scores in held_out], axis=1)
    errors = [
        np.average(np.mean((scores - targets) ** 2, axis=1), weights=counts) for scores in held_out
    ]
    pull = np.sqrt(_EQUALITY * max(min(errors), np.finfo(float).tiny))
    matrix = np.vstack([columns, pull * np.eye(n_members)])
    right = np.concatenate(
        [(root * (targets - mean)).ravel(), np.full(n_members, pull / n_members)]
    )
    weights = nnls(matrix, right)[0]
    total = weights.sum()
    return weights / total if total > 0 else np.full(n_members, 1 / n_members)


def mixture_weights(logs: np.ndarray, row_weights: np.ndarray) -> np.ndarray:
    r"""Return non-negative weights of the members of a mixture, with sum one.

    .. math:: \min_{w \ge 0, \sum_m w_m = 1} -\sum_i h_i \log \sum_m w_m p_{mi}
        + \frac{\rho M}{2} \|w - 1/M\|^2

    Here ``logs`` (n_members, n_samples) has log p, the log-probabilities of the true classes of
    held-out rows. M is the number of members, and h is ``row_weights`` (n_samples,). The penalty ρ
    is 50 times the smallest mean log-loss of a member.

    >>> import numpy as np
    >>> mixture_weights(np.log([[0.9] * 100, [0.3] * 100]), np.ones(100)).round(2)
    array([1., 0.])
    """
    n_members, total = len(logs), row_weights.sum()
    if n_members == 1:
        return np.ones(1)
    shares = np.exp(logs - logs.max(axis=0))
    pull = _EQUAL_ROWS * n_members * np.min(-logs @ row_weights) / total

    def objective(w):
        mixed, away = w @ shares, w - 1 / n_members
        value = -row_weights @ np.log(mixed) + 0.5 * pull * away @ away
        slope = -shares @ (row_weights / mixed) + pull * away
        return value / total, slope / total

    start = np.full(n_members, 1 / n_members)
    whole = {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like}
    fit = minimize(
        objective, start, jac=True, method="SLSQP", bounds=[(1e-9, 1.0)] * n_members,
        constraints=whole, options={"ftol": 1e-10},
    )  # fmt: skip
    weights = np.maximum(fit.x, 0.0)
    return weights / weights.sum()
