"""JointDescent: all frequencies moved at once, together with a linear head, by minibatch descent."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator

from .._compute import is_dask
from .._progress import track
from .._validation import check_choice, check_count, check_positive
from ..measures import FourierMeasure
from .duals import class_codes, regression_targets

# Rows are shuffled within chunks of this many bytes, so that a file larger than memory is read in large pieces.
_CHUNK_BYTES = 2**27
_START_ROWS = 10_000
_START_RIDGE = 30.0


@dataclass(frozen=True)
class DescentReport:
    """``losses``: mean training loss of each epoch; ``amplitudes`` (2 n_atoms, n_outputs) and ``intercepts``: the head on the
    features of the learned measure."""

    losses: np.ndarray
    amplitudes: np.ndarray
    intercepts: np.ndarray
    interrupted: bool


class JointDescent(BaseEstimator):
    """Move every frequency by Adam on the loss of a linear head: a cosine network trained from the prior's draws.

    It fits better with few frequencies than the margin game, and has none of its guarantees: no game, no certificate.
    The head is dropped; the learned measure keeps the starting weights, and any linear model may follow.

    Parameters
    ----------
    n_epochs, batch_size : passes over the rows, and rows of one step
    learning_rate : step of the frequencies in units of their starting size; falls linearly to 0
    amplitude_rate : step of the head
    frequency_decay : share of each frequency that is lost in each step; keeps noise out in many dimensions
    penalty : ℓ2 penalty on the head
    start_scale : the starting frequencies are those of the measure times this
    loss : "log_loss" (logistic, or multinomial for more than two classes) or "squared"

    In few dimensions frequencies may grow: a wide prior, ``learning_rate=0.01``, ``frequency_decay=0``,
    ``penalty=1e-4``, ``batch_size=64`` and 60 epochs are a better start there.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = (np.cos(X[:, 0] + X[:, 1]) > 0.3).astype(int)
    >>> measure, report = JointDescent(n_epochs=5).learn_with_report(Gaussian(gamma=0.5).sample(20, 3, rng), X, y, rng)
    >>> len(measure), bool(report.losses[-1] < report.losses[0])
    (20, True)
    """

    def __init__(
        self,
        n_epochs: int = 30,
        *,
        batch_size: int = 128,
        learning_rate: float = 0.06,
        amplitude_rate: float = 0.05,
        frequency_decay: float = 0.005,
        penalty: float = 0.01,
        start_scale: float = 0.75,
        loss: str = "log_loss",
    ):
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.amplitude_rate = amplitude_rate
        self.frequency_decay = frequency_decay
        self.penalty = penalty
        self.start_scale = start_scale
        self.loss = loss

    def learn(self, measure: FourierMeasure, X: Any, y: Any, rng: np.random.Generator) -> FourierMeasure:
        """The measure with its frequencies moved; see ``learn_with_report``."""
        return self.learn_with_report(measure, X, y, rng)[0]

    def learn_with_report(
        self, measure: FourierMeasure, X: Any, y: Any, rng: np.random.Generator
    ) -> tuple[FourierMeasure, DescentReport]:
        """The moved measure and a ``DescentReport``; interrupted, both as they are then."""
        self._check_parameters()
        targets, residual = self._targets(y, X.shape[0])
        network = _CosineNetwork(self, measure, targets, residual)
        network.start(X, targets, rng)
        losses: list[float] = []
        interrupted = False
        try:
            for epoch in track(range(self.n_epochs), "joint descent", status=lambda: f"loss {losses[-1]:.3g}"):
                losses.append(self._epoch(network, epoch, X, targets, rng))
        except KeyboardInterrupt:
            interrupted = True
            warnings.warn(f"Interrupted in epoch {len(losses) + 1} of {self.n_epochs}.", stacklevel=2)
        report = DescentReport(np.array(losses), network.amplitudes.copy(), network.intercepts.copy(), interrupted)
        return FourierMeasure(network.frequencies.astype(np.float64), measure.weights), report

    def _epoch(self, network, epoch, X, targets, rng):
        n_rows, total, seen = X.shape[0], 0.0, 0
        for chunk, rows in shuffled_chunks(X, rng):
            for first in range(0, len(rows), self.batch_size):
                batch = slice(first, first + self.batch_size)
                remaining = 1 - (epoch + seen / n_rows) / self.n_epochs
                total += network.step(chunk[batch], targets[rows[batch]], remaining)
                seen += len(rows[batch])
        return total / n_rows

    def _targets(self, y, n_rows):
        """Targets as float32 columns, and the function (scores, targets) -> (loss sum, ∂loss/∂scores)."""
        if self.loss == "squared":
            values = regression_targets(y, n_rows)
            return values.astype(np.float32), _squared
        codes, classes = class_codes(y, n_rows, advice='loss="squared"')
        if len(classes) == 2:
            return codes.astype(np.float32)[:, None], _logistic
        return (codes[:, None] == np.arange(len(classes))).astype(np.float32), _multinomial

    def _check_parameters(self):
        check_count(self.n_epochs, "n_epochs")
        check_count(self.batch_size, "batch_size")
        check_choice(self.loss, "loss", ("log_loss", "squared"))
        check_positive(self.start_scale, "start_scale")
        for name in ("learning_rate", "amplitude_rate", "frequency_decay", "penalty"):
            check_positive(getattr(self, name), name, allow_zero=True)


class _CosineNetwork:
    """f(x) = Σ_j amplitudes_j (cos, sin)(ω_j·x) + intercepts, and its Adam state; everything in float32.

    One float64 scalar would promote the frequencies and cost 3 to 5 times as much.
    """

    def __init__(self, settings, measure, targets, residual):
        self.settings = settings
        self.residual = residual
        self.frequencies = (settings.start_scale * measure.frequencies).astype(np.float32)
        self.size = np.float32(np.median(np.abs(self.frequencies)) / 0.6745 or 1.0)  # a robust standard deviation
        n_atoms = len(measure)
        # The head acts on the features of the measure, √w_j (cos, sin); rates and penalty refer to plain waves.
        self.root_weights = np.sqrt(np.tile(measure.weights, 2)).astype(np.float32)
        self.mean_weight = float(np.mean(measure.weights)) or 1.0
        self.amplitude_rate = settings.amplitude_rate * np.sqrt(50 / max(n_atoms, 50) / self.mean_weight)
        self.amplitudes = np.zeros((2 * n_atoms, targets.shape[1]), np.float32)
        self.intercepts = np.zeros(targets.shape[1], np.float32)
        self.adam = [_Adam(part.shape) for part in (self.frequencies, self.amplitudes, self.intercepts)]

    def start(self, X, targets, rng):
        """The head by ridge on the labels, from some rows; the squared-loss solution is a good place to start either loss."""
        n_rows = X.shape[0]
        rows = np.sort(rng.choice(n_rows, min(n_rows, _START_ROWS), replace=False))
        waves = self._waves(_float32_rows(X, rows))
        self.intercepts = targets.mean(axis=0)
        centered = targets[rows] - self.intercepts
        # Logistic heads act on scores, not probabilities: ±2 is where they say 0.12 and 0.88.
        gain = np.float32(1 if self.residual is _squared else 4)
        gram = (waves.T @ waves).astype(np.float64)
        gram[np.diag_indices_from(gram)] += _START_RIDGE * self.mean_weight
        self.amplitudes = gain * np.linalg.solve(gram, waves.T @ centered).astype(np.float32)
        self.intercepts = np.zeros_like(self.intercepts) if gain > 1 else self.intercepts

    def _waves(self, X):
        phases = X @ self.frequencies.T
        return np.concatenate([np.cos(phases), np.sin(phases)], axis=1) * self.root_weights

    def step(self, X, targets, remaining):
        """One step of descent on a batch; returns the sum of its losses."""
        waves = self._waves(X)
        loss, slopes = self.residual(waves @ self.amplitudes + self.intercepts, targets)
        slopes *= np.float32(1 / X.shape[0])
        n_atoms = len(self.frequencies)
        pull = slopes @ self.amplitudes.T  # ∂loss/∂waves
        pull = pull[:, n_atoms:] * waves[:, :n_atoms] - pull[:, :n_atoms] * waves[:, n_atoms:]
        gradient = (X.T @ pull).T if sp.issparse(X) else pull.T @ X
        settings = self.settings
        head_gradient = waves.T @ slopes
        head_gradient += np.float32(settings.penalty * self.mean_weight) * self.amplitudes
        frequency_rate = np.float32(settings.learning_rate * remaining * self.size)
        head_rate = np.float32(self.amplitude_rate * remaining)
        self.frequencies *= np.float32(1 - settings.frequency_decay * remaining)
        self.frequencies -= frequency_rate * self.adam[0].direction(gradient)
        self.amplitudes -= head_rate * self.adam[1].direction(head_gradient)
        self.intercepts -= np.float32(head_rate * np.sqrt(self.mean_weight)) * self.adam[2].direction(
            slopes.sum(axis=0)
        )
        return loss


class _Adam:
    """Running means of a gradient and its square; ``direction`` is their bias-corrected ratio (Kingma & Ba 2015)."""

    def __init__(self, shape):
        self.mean = np.zeros(shape, np.float32)
        self.square = np.zeros(shape, np.float32)
        self.n_steps = 0

    def direction(self, gradient):
        self.n_steps += 1
        self.mean += np.float32(0.1) * (gradient - self.mean)
        self.square += np.float32(0.001) * (gradient * gradient - self.square)
        mean_scale = np.float32(1 / (1 - 0.9**self.n_steps))
        square_scale = np.float32(1 / (1 - 0.999**self.n_steps))
        return mean_scale * self.mean / (np.sqrt(square_scale * self.square) + np.float32(1e-8))


def _squared(scores, targets):
    slopes = scores - targets
    return float(np.sum(slopes * slopes, dtype=np.float64)) / 2, slopes


def _logistic(scores, targets):
    loss = np.sum(np.logaddexp(0, scores) - targets * scores, dtype=np.float64)
    return float(loss), expit(scores) - targets


def _multinomial(scores, targets):
    probabilities = softmax(scores, axis=1)
    loss = -np.sum(np.log(np.maximum(np.sum(probabilities * targets, axis=1), 1e-30)), dtype=np.float64)
    return float(loss), probabilities - targets


def shuffled_chunks(X: Any, rng: np.random.Generator) -> Iterator[tuple[Any, np.ndarray]]:
    """(float32 rows in random order, their numbers), chunk after chunk in random order, until all rows were given.

    A chunk is as much as 128 MB hold, or a partition of a Dask array; data up to that size is shuffled as a whole.
    """
    if is_dask(X):
        stops = np.cumsum(X.chunks[0])
        for i in rng.permutation(len(stops)):
            order = rng.permutation(X.chunks[0][i])
            yield _float32_rows(X.blocks[int(i)].compute(), order), order + stops[i] - X.chunks[0][i]
        return
    n_rows = X.shape[0]
    n_chunks = max(1, -(-4 * n_rows * X.shape[1] // _CHUNK_BYTES))
    if sp.issparse(X):
        n_chunks = 1
    bounds = np.linspace(0, n_rows, n_chunks + 1).astype(int)
    for i in rng.permutation(n_chunks):
        order = rng.permutation(bounds[i + 1] - bounds[i])
        yield _float32_rows(X[bounds[i] : bounds[i + 1]], order), order + bounds[i]


def _float32_rows(X, rows):
    rows = X[rows]
    rows = rows.compute() if is_dask(rows) else rows
    return rows.astype(np.float32, copy=False)
