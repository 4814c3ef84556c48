"""A fitted booster is a finite Fourier expansion: frequencies, phases and signed amplitudes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._compute import assert_finite, is_dask, row_map
from .._compute.lazy import waves as kernels
from ..measures import frozen_array


@dataclass(frozen=True, eq=False)
class FourierExpansion:
    """f_k(x) = intercept_k + x·slopes_k + Σ_j amplitudes_jk cos(frequencies_j·x − phases_jk): a signed measure with phases.

    ``frequencies`` is (n_atoms, n_features); ``phases`` and ``amplitudes`` are (n_atoms, n_outputs), ``intercept`` is
    (n_outputs,) and ``slopes`` (n_features, n_outputs) or None.

    >>> import numpy as np
    >>> wave = FourierExpansion(np.array([[np.pi]]), np.zeros((1, 1)), np.array([[2.0]]), np.array([1.0]))
    >>> wave.evaluate(np.array([[0.0], [1.0]]))[:, 0].round(6)
    array([ 3., -1.])
    """

    frequencies: np.ndarray
    phases: np.ndarray
    amplitudes: np.ndarray
    intercept: np.ndarray
    slopes: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name, ndim in (("frequencies", 2), ("phases", 2), ("amplitudes", 2), ("intercept", 1)):
            object.__setattr__(self, name, frozen_array(getattr(self, name), name, ndim))
        if self.slopes is not None:
            object.__setattr__(self, "slopes", frozen_array(self.slopes, "slopes", 2))
        shape = (len(self.frequencies), len(self.intercept))
        if self.phases.shape != shape or self.amplitudes.shape != shape:
            raise ValueError(
                f"Got phases of shape {self.phases.shape} and amplitudes of shape {self.amplitudes.shape}; "
                f"{shape[0]} frequencies and {shape[1]} outputs need {shape}."
            )

    def __len__(self) -> int:
        return len(self.frequencies)

    @property
    def n_outputs(self) -> int:
        """Number of functions that share the frequencies."""
        return len(self.intercept)

    def evaluate(self, X: Any) -> Any:
        """f(X) as (n_samples, n_outputs), block by block; a Dask array gives a Dask array."""
        block = partial(
            kernels.expansion_block, self.frequencies, self.phases, self.amplitudes, self.slopes, self.intercept
        )
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        if is_dask(X):
            whole_rows = X.rechunk({1: -1})
            return whole_rows.map_blocks(_checked, block, dtype=dtype, chunks=(X.chunks[0], (self.n_outputs,)))
        return row_map(block, X, np.empty((X.shape[0], self.n_outputs), dtype), row_bytes=16 * min(len(self), 2**12))

    def staged(self, X: Any, atoms_per_round: int) -> Iterator[np.ndarray]:
        """f(X) after each round, from the first on; one array that is updated in place, copy what you keep."""
        scores = self.take(slice(0, 0)).evaluate(X)
        bare = replace(self, intercept=np.zeros_like(self.intercept), slopes=None)
        for start in range(0, len(self), atoms_per_round):
            scores += bare.take(slice(start, start + atoms_per_round)).evaluate(X)
            yield scores

    def input_gradient(self, X: Any) -> np.ndarray:
        """∂f_k/∂x as (n_samples, n_outputs, n_features)."""
        angles = np.asarray(X @ self.frequencies.T)
        # A Python loop over outputs: classes are few, and (n, atoms, outputs) never exists.
        gradient = np.empty((X.shape[0], self.n_outputs, self.frequencies.shape[1]), angles.dtype)
        for k in range(self.n_outputs):
            pull = -self.amplitudes[:, k] * np.sin(angles - self.phases[:, k])
            gradient[:, k] = pull @ self.frequencies
            if self.slopes is not None:
                gradient[:, k] += self.slopes[:, k]
        return gradient

    def take(self, atoms: Any) -> FourierExpansion:
        """The expansion on some of its atoms, intercept and slopes kept."""
        return replace(
            self, frequencies=self.frequencies[atoms], phases=self.phases[atoms], amplitudes=self.amplitudes[atoms]
        )

    def extended(self, frequencies: Any, phases: Any, amplitudes: Any) -> FourierExpansion:
        """This expansion with more atoms behind its own."""
        return replace(
            self,
            frequencies=np.concatenate([self.frequencies, frequencies]),
            phases=np.concatenate([self.phases, phases]),
            amplitudes=np.concatenate([self.amplitudes, amplitudes]),
        )


def constant_expansion(intercept: Any, n_features: int) -> FourierExpansion:
    """The expansion without atoms: f(x) = intercept."""
    intercept = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
    empty = np.zeros((0, len(intercept)))
    return FourierExpansion(np.zeros((0, n_features)), empty, empty, intercept)


def _checked(X: np.ndarray, block: Any) -> np.ndarray:
    assert_finite(X)
    return block(X)
