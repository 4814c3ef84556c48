"""Fitted functions as expansions: a constant, a linear part, and a finite sum of waves."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._loops.arrays import as_dense, frozen_array
from .._loops.blocks import landmark_block
from .._loops.lazy import waves as kernels
from ..data import Block, as_rows
from ..measures.fourier import FourierMeasure


@dataclass(frozen=True, eq=False, repr=False)
class Expansion:
    """f_k(x) = intercept_k + x·slopes_k + Σ_j cosine_jk cos(ω_j·x) + sine_jk sin(ω_j·x).

    k is the output. Derivatives and parts of an expansion are expansions again.

    Parameters
    ----------
    frequencies : array (n_atoms, n_features)
        ω, one for each wave.
    cosine : array (n_atoms, n_outputs)
        Coefficients of the cosines.
    sine : array (n_atoms, n_outputs)
        Coefficients of the sines.
    intercept : array (n_outputs,)
        The constant part.
    slopes : array (n_features, n_outputs), default None
        The linear part, if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> wave = Expansion(np.array([[np.pi]]), np.array([[2.0]]), np.zeros((1, 1)), np.array([1.0]))
    >>> wave.evaluate(np.array([[0.0], [1.0]]))[:, 0].round(6)
    array([ 3., -1.])
    """

    frequencies: np.ndarray
    cosine: np.ndarray
    sine: np.ndarray
    intercept: np.ndarray
    slopes: np.ndarray | None = None

    def __post_init__(self) -> None:
        dimensions = {"frequencies": 2, "cosine": 2, "sine": 2, "intercept": 1, "slopes": 2}
        for name, ndim in dimensions.items():
            if name != "slopes" or self.slopes is not None:
                object.__setattr__(self, name, frozen_array(getattr(self, name), name, ndim))
        shape = (len(self.frequencies), len(self.intercept))
        if self.cosine.shape != shape or self.sine.shape != shape:
            raise ValueError(
                f"Got cosine amplitudes of shape {self.cosine.shape} and sine amplitudes of shape "
                f"{self.sine.shape}; {shape[0]} frequencies and {shape[1]} outputs need {shape}."
            )
        if self.slopes is not None and self.slopes.shape != (self.n_features, self.n_outputs):
            raise ValueError(
                f"Got slopes of shape {self.slopes.shape}, need "
                f"{(self.n_features, self.n_outputs)}."
            )

    @classmethod
    def of(
        cls, measure: FourierMeasure, coefficients: np.ndarray, intercept: Any = 0.0
    ) -> Expansion:
        """Return features(x) @ coefficients + intercept, for the features of ``measure``."""
        cosine, sine = np.sqrt(measure.weights)[:, None] * np.reshape(
            coefficients, (2, len(measure), -1)
        )
        constant = np.broadcast_to(np.asarray(intercept, dtype=np.float64), cosine.shape[1])
        return cls(measure.frequencies, cosine, sine, constant)

    @classmethod
    def constant(cls, intercept: Any, n_features: int) -> Expansion:
        """Return f(x) = intercept, without an atom."""
        intercept = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
        none = np.zeros((0, len(intercept)))
        return cls(np.zeros((0, n_features)), none, none, intercept)

    @classmethod
    def of_phases(cls, frequencies: Any, amplitudes: Any, phases: Any, intercept: Any) -> Expansion:
        """Return intercept_k + Σ_j amplitudes_jk cos(ω_j·x − phases_jk)."""
        return cls(frequencies, amplitudes * np.cos(phases), amplitudes * np.sin(phases), intercept)

    def __len__(self) -> int:
        return len(self.frequencies)

    def __repr__(self) -> str:
        sizes = f"{len(self)} atoms, {self.n_features} features, {self.n_outputs} outputs"
        return f"{type(self).__name__}({sizes})"

    @property
    def n_features(self) -> int:
        """Number of columns of the points."""
        return self.frequencies.shape[1]

    @property
    def n_outputs(self) -> int:
        """Number of functions that share the frequencies."""
        return len(self.intercept)

    @property
    def amplitudes(self) -> np.ndarray:
        """Amplitude of each wave, (n_atoms, n_outputs)."""
        return np.hypot(self.cosine, self.sine)

    @property
    def phases(self) -> np.ndarray:
        """Phase of each wave, which is amplitude · cos(ω·x − phase)."""
        return np.arctan2(self.sine, self.cosine)

    def evaluate(self, X: Any, out: np.ndarray | None = None) -> Any:
        """Return f(X), (n_samples, n_outputs), block by block; written into ``out`` if given."""
        rows = as_rows(X)
        if rows.n_features != self.n_features:
            raise ValueError(
                f"X has {rows.n_features} features, but this function has {self.n_features}."
            )
        return rows.map(self.block(), self.n_outputs, out=out)

    def block(self) -> Block:
        """Return the function of a block of rows, without checks."""
        arrays = self.frequencies, self.phases, self.amplitudes, self.slopes, self.intercept
        return Block(kernels.expansion_block, *arrays, row_bytes=16 * min(len(self), 2**12))

    def staged(self, X: Any, atoms_per_round: int = 1) -> Iterator[np.ndarray]:
        """Yield f(X) after each round of waves."""
        rows = as_rows(X)
        scores = self.take(slice(0, 0)).evaluate(rows)
        bare = replace(self, intercept=np.zeros_like(self.intercept), slopes=None)
        for start in range(0, len(self), atoms_per_round):
            scores = scores + bare.take(slice(start, start + atoms_per_round)).evaluate(rows)
            yield scores

    def derivative(self) -> Expansion:
        """Return ∂f_k/∂x_b as an expansion of n_outputs · n_features outputs, b running fastest."""
        slopes = np.zeros((self.n_features, self.n_outputs)) if self.slopes is None else self.slopes
        along = self.frequencies[:, None, :]
        cosine, sine = self.sine[:, :, None] * along, -self.cosine[:, :, None] * along
        shape = (len(self), self.n_outputs * self.n_features)
        return Expansion(
            self.frequencies, cosine.reshape(shape), sine.reshape(shape), slopes.T.ravel()
        )

    def jacobian(self, X: Any) -> Any:
        """Return the exact ∂f_k/∂x_b at each row, (n_samples, n_outputs, n_features)."""
        return self.derivative().evaluate(X).reshape(-1, self.n_outputs, self.n_features)

    def divergence(self, X: Any, space: np.ndarray | None = None) -> Any:
        """Return Σ_a ∂f_a/∂x_a, (n_samples,).

        ``space`` lists the columns of X that the outputs belong to, by default all.
        """
        space = np.arange(self.n_features) if space is None else np.asarray(space)
        if len(space) != self.n_outputs:
            raise ValueError(
                f"A divergence needs one output per direction; this function has {self.n_outputs} "
                f"outputs on {len(space)} directions."
            )
        outflow = np.zeros((self.n_outputs * self.n_features, 1))
        outflow[np.arange(self.n_outputs) * self.n_features + space] = 1
        return self.derivative().mixed(outflow).evaluate(X)[:, 0]

    def relevance(self, X: Any, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the mean over rows of Σ_k (∂f_k/∂x_b)², (n_features,).

        ``X`` is an array in memory; a row of weight h counts as h rows.
        """
        points = as_dense(X)
        half_turns = points @ (self.frequencies / np.pi).astype(points.dtype).T
        sines, cosines = np.empty_like(half_turns), np.empty_like(half_turns)
        kernels.trigonometry(half_turns, sines, cosines)
        total = np.zeros(self.n_features)
        for k in range(self.n_outputs):  # never allocates (n_samples, n_outputs, n_features)
            turned = (cosines * self.sine[:, k] - sines * self.cosine[:, k]).astype(points.dtype)
            gradient = turned @ self.frequencies.astype(points.dtype)
            if self.slopes is not None:
                gradient += self.slopes[:, k].astype(points.dtype)
            total += np.average(np.square(gradient, dtype=np.float64), axis=0, weights=weights)
        return total

    def take(self, atoms: Any) -> Expansion:
        """Return the expansion on some of its atoms, with intercept and slopes."""
        names = ("frequencies", "cosine", "sine")
        return replace(self, **{name: getattr(self, name)[atoms] for name in names})

    def extended(self, other: Expansion) -> Expansion:
        """Return this expansion with the atoms of another one appended."""
        joined = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("frequencies", "cosine", "sine")
        }
        return replace(self, **joined)

    def mixed(self, matrix: np.ndarray) -> Expansion:
        """Return x ↦ f(x) @ matrix for a matrix (n_outputs, n_new_outputs)."""
        slopes = None if self.slopes is None else self.slopes @ matrix
        return Expansion(
            self.frequencies,
            self.cosine @ matrix,
            self.sine @ matrix,
            self.intercept @ matrix,
            slopes,
        )

    def after_scaling(self, shift: np.ndarray, scale: np.ndarray) -> Expansion:
        """Return x ↦ f((x − shift) · scale), column by column."""
        frequencies = self.frequencies * scale
        turn = (frequencies @ shift)[:, None]
        cosine = self.cosine * np.cos(turn) - self.sine * np.sin(turn)
        sine = self.cosine * np.sin(turn) + self.sine * np.cos(turn)
        slopes = None if self.slopes is None else self.slopes * scale[:, None]
        intercept = self.intercept if slopes is None else self.intercept - shift @ slopes
        return Expansion(frequencies, cosine, sine, intercept, slopes)

    def rescaled(self, shift: Any, scale: Any) -> Expansion:
        """Return x ↦ shift + scale · f(x), output by output."""
        slopes = None if self.slopes is None else self.slopes * scale
        intercept = self.intercept * scale + shift
        return Expansion(
            self.frequencies, self.cosine * scale, self.sine * scale, intercept, slopes
        )

    def onnx(self, X: Any) -> Any:
        """Return f as a tensor of the ONNX graph of the tensor X."""
        slopes = np.zeros((self.n_features, self.n_outputs)) if self.slopes is None else self.slopes
        # Without waves the linear part, even with slopes zero, determines the shape.
        parts = [] if self.slopes is None and len(self) else [X @ slopes]
        if len(self):
            angles = X @ self.frequencies.T
            parts += [np.cos(angles) @ self.cosine, np.sin(angles) @ self.sine]
        return sum(parts[1:], parts[0]) + self.intercept


def derivative_importances(expansion: Expansion, X: Any, weights: np.ndarray) -> np.ndarray:
    """Return v_b · mean_i Σ_k (∂f_k/∂x_b)², divided by its sum over the columns: (n_features,).

    v_b is the variance of column b, so the unit of a column does not matter. ``X`` are some rows in
    memory. A function that depends on no column has zeros.
    """
    points = as_dense(X)
    # A sample of many rows may consist of rows without weight.
    weights = weights if weights.any() else np.ones_like(weights)
    center = np.average(points, axis=0, weights=weights)
    squares = np.square(points - center, dtype=np.float64)
    deviation = np.sqrt(np.average(squares, axis=0, weights=weights))
    # Columns in units of their deviations, rather than small derivatives times large variances.
    scale = np.where(deviation > 0, deviation, 1.0)
    scaled = expansion.after_scaling(np.zeros(len(scale)), scale)
    relevance = scaled.relevance(points / scale.astype(points.dtype), weights)
    relevance = np.where(deviation > 0, relevance, 0.0)
    total = relevance.sum()
    return relevance / total if 0 < total < np.inf else np.zeros(len(relevance))


class ExpansionModel(ABC):
    """Type of estimators whose prediction, or decision function, is the expansion ``expansion_``.

    Estimators are registered with ``@ExpansionModel.register`` and do not inherit from it. Export
    and plots use such models only through ``expansion_``.
    """

    expansion_: Expansion


@dataclass(frozen=True, eq=False, repr=False)
class ExpansionStack:
    """f_lk(x) = Σ_m amplitudes_lmk cos(ω_lm·x − phases_lm), expansions l of equally many atoms.

    ``frequencies`` is (n_expansions, n_atoms, n_features), ``phases`` (n_expansions, n_atoms),
    ``amplitudes`` (n_outputs, n_expansions, n_atoms). Equal to, and much faster than, evaluating
    ``stack[l]`` for each l.
    """

    frequencies: np.ndarray
    phases: np.ndarray
    amplitudes: np.ndarray

    def __post_init__(self) -> None:
        for name, ndim in (("frequencies", 3), ("phases", 2), ("amplitudes", 3)):
            object.__setattr__(self, name, frozen_array(getattr(self, name), name, ndim))
        if not self.frequencies.shape[:2] == self.phases.shape == self.amplitudes.shape[1:]:
            raise ValueError(
                f"Got phases of shape {self.phases.shape} and amplitudes of shape "
                f"{self.amplitudes.shape}; frequencies of shape {self.frequencies.shape} need "
                f"{self.frequencies.shape[:2]} of each."
            )

    def __len__(self) -> int:
        return len(self.frequencies)

    def __repr__(self) -> str:
        n_expansions, n_atoms, n_features = self.frequencies.shape
        sizes = f"{n_expansions} expansions of {n_atoms} atoms, {n_features} features"
        return f"{type(self).__name__}({sizes}, {len(self.amplitudes)} outputs)"

    def __getitem__(self, index: int) -> Expansion:
        """Return one of the expansions, of n_outputs outputs."""
        amplitudes, phases = self.amplitudes[:, index].T, self.phases[index][:, None]
        return Expansion.of_phases(
            self.frequencies[index], amplitudes, phases, np.zeros(len(self.amplitudes))
        )

    def take(self, indices: Any) -> ExpansionStack:
        """Return the stack of some of the expansions."""
        return ExpansionStack(
            self.frequencies[indices], self.phases[indices], self.amplitudes[:, indices]
        )

    def evaluate(self, X: Any, out: np.ndarray | None = None) -> Any:
        """Return the values, (n_samples, n_outputs · n_expansions), ordered by output."""
        rows = as_rows(X)
        n_features, n_columns = self.frequencies.shape[2], len(self.amplitudes) * len(self)
        if rows.n_features != n_features:
            raise ValueError(
                f"X has {rows.n_features} features, but these functions have {n_features}."
            )
        arrays = self.frequencies, self.phases, self.amplitudes
        row_bytes = 16 * self.frequencies.shape[1] + 8 * n_columns
        return rows.map(Block(landmark_block, *arrays, row_bytes=row_bytes), n_columns, out=out)

    def onnx(self, X: Any) -> Any:
        """Return ``evaluate`` as a tensor of the ONNX graph of the tensor X."""
        n_expansions, n_atoms, n_features = self.frequencies.shape
        angles = X @ self.frequencies.reshape(-1, n_features).T - self.phases.ravel()
        # In a shape of ONNX, 0 keeps the number of rows.
        shape = np.array([0, n_expansions, n_atoms], dtype=np.int64)
        waves = X.graph.node("Reshape", np.cos(angles), shape)
        sums = [(waves * amplitudes).row_sums() for amplitudes in self.amplitudes]
        return X.graph.concat([X.graph.node("Reshape", part, shape[:2]) for part in sums])
