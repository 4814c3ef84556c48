"""Joint descent on all frequencies, amplitudes and the linear part at once: Adam over minibatches, streaming over the rows.

Boosting on a sample finds where the waves belong; these epochs over all rows then move them together.  A batch is cut into
chunks of fixed size whose gradients are added in order, so the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._compute import ordered_map, shuffled_batches, threads_for_rows_only
from .._compute.lazy import waves as kernels
from .losses import Logistic, Loss

CHUNK = 512
_FIRST_DECAY, _SECOND_DECAY = 0.9, 0.99


@dataclass(frozen=True)
class Standardization:
    """z = (x − shift) · scale, column by column; folded into frequencies and phases when a fit is done."""

    shift: np.ndarray
    scale: np.ndarray

    def apply(self, rows: Any, dtype: Any) -> np.ndarray:
        """Standardised rows as a C-ordered array."""
        rows = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
        result = np.subtract(rows, self.shift.astype(rows.dtype))
        result *= self.scale.astype(rows.dtype)
        return np.ascontiguousarray(result, dtype=dtype)


class WaveParameters:
    """Frequencies (T, d), cosine and sine amplitudes (T, L), slopes (d, L) and intercept (L,): views of one vector."""

    def __init__(self, n_waves: int, n_features: int, n_outputs: int, dtype: Any = np.float32):
        shapes = [
            (n_waves, n_features),
            (n_waves, n_outputs),
            (n_waves, n_outputs),
            (n_features, n_outputs),
            (n_outputs,),
        ]
        sizes = [int(np.prod(shape)) for shape in shapes]
        self.vector = np.zeros(sum(sizes), dtype)
        parts = np.split(self.vector, np.cumsum(sizes)[:-1])
        views = [part.reshape(shape) for part, shape in zip(parts, shapes)]
        self.frequencies, self.cosine, self.sine, self.slopes, self.intercept = views

    def empty_like(self) -> WaveParameters:
        """Zeros of the same shapes, for a gradient."""
        n_waves, n_features = self.frequencies.shape
        return WaveParameters(n_waves, n_features, len(self.intercept), self.vector.dtype)


class _Chunk:
    """Gradient of one chunk of rows, with its own work space.

    Compiled code runs in one long stretch for the logistic loss and in two for others with one output: whenever two threads
    both want to be in Python, one waits for the other to be woken, which takes as long as a hundred rows.
    """

    def __init__(self, parameters, loss, use_slopes):
        n_waves, n_features = parameters.frequencies.shape
        dtype = parameters.vector.dtype
        self.parameters, self.loss, self.use_slopes = parameters, loss, use_slopes
        self.gradient = gradient = parameters.empty_like()
        self.rows = np.empty((CHUNK, n_features), dtype)
        self.turns = np.empty((CHUNK, n_waves), dtype)
        self.scores = np.empty((CHUNK, len(parameters.intercept)), dtype)
        # One output: all that the kernels take beside rows and work space, as vectors.
        self.waves = parameters.cosine[:, 0], parameters.sine[:, 0]
        self.slots = gradient.frequencies, gradient.cosine[:, 0], gradient.sine[:, 0], gradient.slopes[:, 0]

    def compute(self, source, shift, scale, picked, targets, weights):
        """Σ_i w_i ∂ℓ_i/∂θ over the standardised rows ``source[picked]``."""
        n_rows, parameters = len(picked), self.parameters
        rows, turns, scores = self.rows[:n_rows], self.turns[:n_rows], self.scores[:n_rows]
        gather = source, picked, shift, scale
        if scores.shape[1] > 1:
            kernels.standardized_rows(*gather, rows)
            pull = self._matrix_products(rows, turns, scores, targets, weights)
        else:
            waves = parameters.frequencies, *self.waves, parameters.slopes[:, 0], parameters.intercept[0]
            spaces = rows, turns, scores[:, 0]
            if isinstance(self.loss, Logistic):
                kernels.logistic_gradient(*gather, targets[:, 0], weights[:, 0], *waves, *spaces, *self.slots)
                pull = scores
            else:
                kernels.gathered_forward(*gather, *waves, *spaces)
                pull = self._pull(targets, scores, weights)
                kernels.joint_backward(rows, turns, pull[:, 0], *self.waves, *self.slots)
        if not self.use_slopes:
            self.gradient.slopes[...] = 0
        np.sum(pull, axis=0, out=self.gradient.intercept)
        return self.gradient.vector

    def _pull(self, targets, scores, weights):
        """w ∂ℓ/∂f in the scores' own precision, whatever that of targets and of the loss's constants."""
        return (self.loss.gradient(targets, scores) * weights).astype(scores.dtype, copy=False)

    def _matrix_products(self, rows, turns, scores, targets, weights):
        """The same for several outputs, which share the sines."""
        parameters, gradient = self.parameters, self.gradient
        np.matmul(rows, parameters.frequencies.T, out=turns)
        turns *= turns.dtype.type(1 / np.pi)
        sines, cosines = np.empty_like(turns), np.empty_like(turns)
        kernels.trigonometry(turns, sines, cosines)
        scores[...] = parameters.intercept
        scores += rows @ parameters.slopes + cosines @ parameters.cosine + sines @ parameters.sine
        pull = self._pull(targets, scores, weights)
        np.matmul(cosines.T, pull, out=gradient.cosine)
        np.matmul(sines.T, pull, out=gradient.sine)
        np.multiply(cosines, pull @ parameters.sine.T, out=turns)
        turns -= sines * (pull @ parameters.cosine.T)
        np.matmul(turns.T, rows, out=gradient.frequencies)
        np.matmul(rows.T, pull, out=gradient.slopes)
        return pull


@dataclass(frozen=True)
class JointEpochs:
    """Adam on the mean loss with a learning rate that falls linearly to zero over all epochs."""

    loss: Loss
    n_epochs: int
    batch_size: int
    learning_rate: float = 0.01

    def run(
        self,
        parameters: WaveParameters,
        standardization: Standardization,
        X: Any,
        targets: np.ndarray,
        weights: np.ndarray | None,
        kept: np.ndarray | None,
        use_slopes: bool,
        rng: np.random.Generator,
        after_epoch: Callable[[int], bool],
    ) -> None:
        """Move ``parameters`` in place; ``after_epoch(i)`` may stop.  ``kept`` marks the rows to learn from (None: all)."""
        n_rows = X.shape[0] if kept is None else int(kept.sum())
        n_steps = self.n_epochs * -(-n_rows // self.batch_size)
        chunks = [_Chunk(parameters, self.loss, use_slopes) for _ in range(-(-self.batch_size // CHUNK))]
        adam = _Adam(parameters.vector)
        dtype = parameters.vector.dtype
        if weights is not None:
            weights = (weights / (weights.mean() if kept is None else weights[kept].mean())).astype(dtype)
        step = 0
        with threads_for_rows_only():
            for epoch in range(self.n_epochs):
                for source, places, picked in shuffled_batches(X, kept, self.batch_size, rng):
                    rows = _plain(source, places, standardization, dtype)
                    row_weights = np.full((len(picked), 1), 1 / len(picked), dtype)
                    if weights is not None:
                        row_weights *= weights[picked, None]
                    gradient = _total(chunks, rows, targets[picked], row_weights)
                    # Steps beyond the plan (streamed blocks end in short batches) keep the last, smallest rate.
                    adam.step(gradient, self.learning_rate * max(1 - step / n_steps, 1 / n_steps))
                    step += 1
                if after_epoch(epoch):
                    return


def _plain(source, places, standardization, dtype):
    """(array, shift, scale, positions) that the kernels can gather from; what is no plain array gets dense here."""
    if isinstance(source, np.ndarray) and source.dtype.kind == "f" and source.flags.c_contiguous:
        return source, standardization.shift, standardization.scale, places
    rows = standardization.apply(source[places], dtype)
    return rows, np.zeros(rows.shape[1]), np.ones(rows.shape[1]), np.arange(len(rows))


def _total(chunks, rows, targets, weights):
    source, shift, scale, places = rows

    def one(k):
        piece = slice(k * CHUNK, (k + 1) * CHUNK)
        return chunks[k].compute(source, shift, scale, places[piece], targets[piece], weights[piece])

    total, *others = ordered_map(one, range(-(-len(places) // CHUNK)))
    for part in others:
        total += part
    return total


class _Adam:
    def __init__(self, vector):
        self.vector = vector
        self.first, self.second = np.zeros_like(vector), np.zeros_like(vector)
        self.steps = 0

    def step(self, gradient, rate):
        self.steps += 1
        # Bias corrections folded into two scalars.
        numbers = (
            rate / (1 - _FIRST_DECAY**self.steps), 1 / np.sqrt(1 - _SECOND_DECAY**self.steps), _FIRST_DECAY, _SECOND_DECAY,
        )  # fmt: skip
        kernels.adam_step(self.vector, gradient, self.first, self.second, *map(self.vector.dtype.type, numbers))
