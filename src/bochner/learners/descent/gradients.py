"""Gradient of the loss of one batch in all waves of an expansion, by compiled kernels."""

from __future__ import annotations

from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np

from ..._loops.arrays import as_dense, working_dtype
from ..._loops.lazy import waves as kernels
from ...expansions.waves import Expansion
from ...losses import Logistic, Loss

# Rows of a chunk, whose buffers fit into the cache.
CHUNK_ROWS = 512


@dataclass(frozen=True, eq=False)
class Standardization:
    """z = (x − shift) · scale for each column; becomes part of the expansion after a fit."""

    shift: np.ndarray
    scale: np.ndarray

    @classmethod
    def none(cls, n_features: int) -> Standardization:
        """Return z = x."""
        return cls(np.zeros(n_features), np.ones(n_features))

    def apply(self, rows: Any, dtype: Any) -> np.ndarray:
        """Return standardized rows as a C-ordered array."""
        precise = working_dtype(rows)
        result = np.subtract(as_dense(rows), self.shift.astype(precise), dtype=precise)
        result *= self.scale.astype(precise)
        return np.ascontiguousarray(result, dtype=dtype)


class WaveParameters:
    """Parameters of an expansion as views of one vector.

    Frequencies (T, d), cosine and sine amplitudes (T, L), slopes (d, L) and intercept (L,).
    """

    def __init__(self, n_waves: int, n_features: int, n_outputs: int, dtype: Any = np.float32):
        heads = [(n_waves, n_outputs)] * 2
        shapes = [(n_waves, n_features), *heads, (n_features, n_outputs), (n_outputs,)]
        sizes = [int(np.prod(shape)) for shape in shapes]
        self.vector = np.zeros(sum(sizes), dtype)
        parts = np.split(self.vector, np.cumsum(sizes)[:-1])
        views = [part.reshape(shape) for part, shape in zip(parts, shapes)]
        self.frequencies, self.cosine, self.sine, self.slopes, self.intercept = views

    @classmethod
    def of(cls, expansion: Expansion, dtype: Any = np.float32) -> WaveParameters:
        """Return a copy of the parameters of an expansion."""
        parameters = cls(len(expansion), expansion.n_features, expansion.n_outputs, dtype)
        slopes = 0.0 if expansion.slopes is None else expansion.slopes
        return parameters.fill(
            expansion.frequencies, (expansion.cosine, expansion.sine), slopes, expansion.intercept
        )

    def like(
        self, frequencies: Any = 0.0, amplitudes: Any = 0.0, slopes: Any = 0.0, intercept: Any = 0.0
    ) -> WaveParameters:
        """Return parameters of the same shapes, for gradients and rates."""
        n_waves, n_features = self.frequencies.shape
        same = WaveParameters(n_waves, n_features, len(self.intercept), self.vector.dtype)
        return same.fill(frequencies, (amplitudes, amplitudes), slopes, intercept)

    def fill(
        self, frequencies: Any, amplitudes: Any, slopes: Any, intercept: Any
    ) -> WaveParameters:
        """Overwrite all parameters; ``amplitudes`` are those of cosines and of sines."""
        self.frequencies[...], self.slopes[...] = frequencies, slopes
        self.cosine[...], self.sine[...] = amplitudes
        self.intercept[...] = intercept
        return self

    def expansion(self, with_slopes: bool) -> Expansion:
        """Return the current parameters as a frozen value in float64."""
        slopes = self.slopes.astype(np.float64) if with_slopes else None
        parts = (self.frequencies, self.cosine, self.sine, self.intercept)
        frequencies, cosine, sine, intercept = (part.astype(np.float64) for part in parts)
        return Expansion(frequencies, cosine, sine, intercept, slopes)


class BatchGradient:
    """Block function of a step: Σ_i w_i ℓ_i (or 0), the number of rows, and Σ_i w_i ∂ℓ_i/∂θ.

    It uses the current parameters, and is sent to workers with them.
    """

    def __init__(
        self,
        parameters: WaveParameters,
        loss: Loss,
        standardization: Standardization,
        with_losses: bool,
    ):
        self.parameters, self.loss = parameters, loss
        self.standardization, self.with_losses = standardization, with_losses
        self._own = local()

    def __reduce__(self) -> tuple:
        # A worker makes its own views of one vector, and its own buffers.
        shape = *self.parameters.frequencies.shape, len(self.parameters.intercept)
        others = self.loss, self.standardization, self.with_losses
        return _unpickled, (*shape, self.parameters.vector, *others)

    def __call__(
        self,
        source: Any,
        places: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray | None = None,
    ) -> tuple:
        """Return the sums of ``source[places]``; the next call in this thread overwrites them."""
        dense = isinstance(source, np.ndarray) and source.dtype.kind == "f"
        if not (dense and source.flags.c_contiguous):
            # The kernels need a contiguous array.
            source = np.ascontiguousarray(as_dense(source[places]), dtype=working_dtype(source))
            places = np.arange(len(places))
        n_chunks = max(1, -(-len(places) // CHUNK_ROWS))
        chunk = self._chunk(min(len(places), CHUNK_ROWS))
        gradient = chunk.gradient.vector if n_chunks == 1 else chunk.total
        loss = 0.0
        for k in range(n_chunks):
            part = slice(k * len(places) // n_chunks, (k + 1) * len(places) // n_chunks)
            loss += chunk.compute(
                source, places[part], targets[part], None if weights is None else weights[part]
            )
            if n_chunks > 1:
                np.add(chunk.gradient.vector, gradient if k else 0, out=gradient)
        return np.array(loss), np.array(float(len(places))), gradient

    def _chunk(self, n_rows):
        """Return the buffers of this thread."""
        chunk = self._own.__dict__.get("chunk")
        if chunk is None or len(chunk.rows) < n_rows:
            chunk = self._own.chunk = _Chunk(
                self.parameters, self.loss, self.standardization, self.with_losses, n_rows
            )
        return chunk


def _unpickled(n_waves, n_features, n_outputs, vector, *others):
    parameters = WaveParameters(n_waves, n_features, n_outputs, vector.dtype)
    parameters.vector[...] = vector
    return BatchGradient(parameters, *others)


class _Chunk:
    """Loss and gradient of one chunk of rows, with its own buffers.

    With one output, compiled code runs in one call for the logistic loss, and in two calls for
    other losses. There are few calls because threads wait for each other after each of them.
    """

    def __init__(self, parameters, loss, standardization, with_losses, n_rows):
        n_waves, n_features = parameters.frequencies.shape
        dtype = parameters.vector.dtype
        self.parameters, self.loss, self.with_losses = parameters, loss, with_losses
        self.shift, self.scale = standardization.shift, standardization.scale
        self.gradient = gradient = parameters.like()
        self.total = np.zeros_like(gradient.vector)
        self.ones = np.ones((n_rows, 1), dtype)
        self.rows = np.empty((n_rows, n_features), dtype)
        self.turns = np.empty((n_rows, n_waves), dtype)
        self.scores = np.empty((n_rows, len(parameters.intercept)), dtype)
        self.pull = np.empty_like(self.scores)
        # One output: vectors, as the kernels need them.
        self.waves = parameters.cosine[:, 0], parameters.sine[:, 0]
        self.slots = (
            gradient.frequencies,
            gradient.cosine[:, 0],
            gradient.sine[:, 0],
            gradient.slopes[:, 0],
        )

    def compute(self, source, picked, targets, weights):
        """Return Σ_i w_i ℓ_i (or 0) of ``source[picked]``; write the gradient to ``gradient``."""
        n_rows, parameters = len(picked), self.parameters
        weights = self.ones[:n_rows] if weights is None else weights
        rows, turns = self.rows[:n_rows], self.turns[:n_rows]
        scores, pull = self.scores[:n_rows], self.pull[:n_rows]
        gather = source, picked, self.shift, self.scale
        if scores.shape[1] > 1:
            kernels.standardized_rows(*gather, rows)
            self._matrix_products(rows, turns, scores, pull, targets, weights)
        else:
            linear = parameters.slopes[:, 0], parameters.intercept[0]
            waves = parameters.frequencies, *self.waves, *linear
            spaces = rows, turns, scores[:, 0]
            if isinstance(self.loss, Logistic):
                ends = targets[:, 0], weights[:, 0]
                kernels.logistic_gradient(*gather, *ends, *waves, *spaces, pull[:, 0], *self.slots)
            else:
                kernels.gathered_forward(*gather, *waves, *spaces)
                self._pull(targets, scores, weights, pull)
                kernels.joint_backward(rows, turns, pull[:, 0], *self.waves, *self.slots)
        np.sum(pull, axis=0, out=self.gradient.intercept)
        return float(self.loss.values(targets, scores) @ weights[:, 0]) if self.with_losses else 0.0

    def _pull(self, targets, scores, weights, pull):
        """Write w ∂ℓ/∂f, in the precision of the scores."""
        pull[...] = self.loss.gradient(targets, scores) * weights

    def _matrix_products(self, rows, turns, scores, pull, targets, weights):
        """Compute scores and gradient for several outputs, which share the sines."""
        parameters, gradient = self.parameters, self.gradient
        np.matmul(rows, parameters.frequencies.T, out=turns)
        turns *= turns.dtype.type(1 / np.pi)
        sines, cosines = np.empty_like(turns), np.empty_like(turns)
        kernels.trigonometry(turns, sines, cosines)
        scores[...] = parameters.intercept
        scores += rows @ parameters.slopes + cosines @ parameters.cosine + sines @ parameters.sine
        self._pull(targets, scores, weights, pull)
        np.matmul(cosines.T, pull, out=gradient.cosine)
        np.matmul(sines.T, pull, out=gradient.sine)
        np.multiply(cosines, pull @ parameters.sine.T, out=turns)
        turns -= sines * (pull @ parameters.cosine.T)
        np.matmul(turns.T, rows, out=gradient.frequencies)
        np.matmul(rows.T, pull, out=gradient.slopes)
