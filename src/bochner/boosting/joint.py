"""Joint descent on all frequencies, amplitudes and the linear part at once: Adam over minibatches, streaming over the rows.

Boosting on a sample finds where the waves belong; these epochs over all rows then move them together.  A batch is cut into
chunks of fixed size whose gradients are added in order, so the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._compute import shuffled_batches, single_threaded_blas, thread_count
from .._compute.lazy import boosting as kernels
from .losses import Loss

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
    """Work space for the gradient of one chunk of rows."""

    def __init__(self, parameters, use_slopes):
        n_waves = len(parameters.frequencies)
        self.gradient = parameters.empty_like()
        self.turns = np.empty((CHUNK, n_waves), parameters.vector.dtype)
        self.use_slopes = use_slopes

    def compute(self, parameters, directions, loss, rows, targets, weights):
        """Σ_i w_i ∂ℓ_i/∂θ in ``self.gradient``; ``directions`` is (d, T), frequencies over π."""
        turns = self.turns[: len(rows)]
        np.matmul(rows, directions, out=turns)
        scores = np.empty((len(rows), len(parameters.intercept)), turns.dtype)
        scores[...] = parameters.intercept
        if self.use_slopes:
            scores += rows @ parameters.slopes
        gradient = self.gradient
        if scores.shape[1] == 1:
            cosine, sine = parameters.cosine[:, 0], parameters.sine[:, 0]
            kernels.joint_forward(turns, cosine, sine, scores[:, 0])
            pull = loss.gradient(targets, scores)
            pull *= weights
            gradient.cosine[...] = 0
            gradient.sine[...] = 0
            kernels.joint_backward(turns, pull[:, 0], cosine, sine, gradient.cosine[:, 0], gradient.sine[:, 0])
        else:
            sines, cosines = np.empty_like(turns), np.empty_like(turns)
            kernels.trigonometry(turns, sines, cosines)
            scores += cosines @ parameters.cosine + sines @ parameters.sine
            pull = loss.gradient(targets, scores)
            pull *= weights
            np.matmul(cosines.T, pull, out=gradient.cosine)
            np.matmul(sines.T, pull, out=gradient.sine)
            np.multiply(cosines, pull @ parameters.sine.T, out=turns)
            turns -= sines * (pull @ parameters.cosine.T)
        np.matmul(turns.T, rows, out=gradient.frequencies)
        if self.use_slopes:
            np.matmul(rows.T, pull, out=gradient.slopes)
        gradient.intercept[...] = pull.sum(axis=0)
        return gradient.vector


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
        steps_per_epoch = -(-n_rows // self.batch_size)
        n_steps = self.n_epochs * steps_per_epoch
        chunks = [_Chunk(parameters, use_slopes) for _ in range(-(-self.batch_size // CHUNK))]
        first, second = np.zeros_like(parameters.vector), np.zeros_like(parameters.vector)
        mean_weight = 1.0 if weights is None else float(weights.mean() if kept is None else weights[kept].mean())
        dtype = parameters.vector.dtype
        step = 0
        n_threads = min(thread_count(), len(chunks))
        with single_threaded_blas(), ThreadPoolExecutor(n_threads) if n_threads > 1 else nullcontext() as pool:
            for epoch in range(self.n_epochs):
                for rows in shuffled_batches(X, kept, self.batch_size, rng):
                    batch, picked = rows
                    batch = standardization.apply(batch, dtype)
                    batch_targets = targets[picked]
                    batch_weights = np.full((len(batch), 1), 1 / len(batch), dtype)
                    if weights is not None:
                        batch_weights *= (weights[picked, None] / mean_weight).astype(dtype)
                    gradient = self._gradient(parameters, chunks, batch, batch_targets, batch_weights, pool)
                    # Steps beyond the plan (streamed blocks end in short batches) keep the last, smallest rate.
                    rate = self.learning_rate * max(1 - step / n_steps, 1 / n_steps)
                    step += 1
                    _adam(parameters.vector, gradient, first, second, rate, step)
                if after_epoch(epoch):
                    return

    def _gradient(self, parameters, chunks, batch, targets, weights, pool):
        directions = np.ascontiguousarray((parameters.frequencies / np.float32(np.pi)).T)
        pieces = [slice(start, min(start + CHUNK, len(batch))) for start in range(0, len(batch), CHUNK)]

        def one(chunk, rows):
            return chunk.compute(parameters, directions, self.loss, batch[rows], targets[rows], weights[rows])

        if pool is None or len(pieces) == 1:
            parts = [one(chunk, rows) for chunk, rows in zip(chunks, pieces)]
        else:
            parts = [future.result() for future in [pool.submit(one, c, r) for c, r in zip(chunks, pieces)]]
        total = parts[0]
        for part in parts[1:]:
            total += part
        return total


def _adam(vector, gradient, first, second, rate, step):
    first *= _FIRST_DECAY
    first += (1 - _FIRST_DECAY) * gradient
    second *= _SECOND_DECAY
    np.square(gradient, out=gradient)
    gradient *= 1 - _SECOND_DECAY
    second += gradient
    # Bias corrections folded into two scalars; python floats keep float32 arrays float32.
    scale = rate / (1 - _FIRST_DECAY**step)
    root = np.sqrt(second, out=gradient)
    root *= float(1 / np.sqrt(1 - _SECOND_DECAY**step))
    root += 1e-8
    np.divide(first, root, out=root)
    root *= scale
    vector -= root
