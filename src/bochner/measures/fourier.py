"""Measures over frequencies, which are kernels: finite sets of weighted atoms."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from .._checks import (
    Seed,
    as_generator,
    check_choice,
    check_count,
    check_positive,
    missing_method,
)
from .._loops.arrays import frozen_array
from .._loops.blocks import features_block
from ..data import Block, as_rows
from ..data.checks import check_gram_inputs

SELECTIONS = ("multinomial", "systematic", "top", "all")

_Measure = TypeVar("_Measure", bound="AtomicMeasure")


class AtomicMeasure:
    """Base of all measures: a frozen dataclass of arrays with the atoms on axis 0.

    One of the arrays is ``weights``.
    """

    weights: np.ndarray
    features: Any

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        columns = f", {self.n_features} features" if hasattr(self, "n_features") else ""
        return f"{type(self).__name__}({len(self)} atoms{columns}, mass {self.mass:.4})"

    @property
    def mass(self) -> float:
        """Σ_j weights[j]; the value of the kernel at zero for unit atoms."""
        return float(np.sum(self.weights))

    def take(self, indices: Any) -> Self:
        """Return the measure on the selected atoms, with their weights."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return replace(self, **{name: getattr(self, name)[indices] for name in names})  # type: ignore

    def reweighted(self, weights: Any) -> Self:
        """Return the same atoms with other weights; atoms are shared and not checked again."""
        other = copy(self)
        object.__setattr__(other, "weights", frozen_weights(weights, len(self)))
        return other

    def resampled(self, n_atoms: int, rng: Seed, selection: str = "multinomial") -> Self:
        """Return ``n_atoms`` of the atoms, of the same total mass.

        ``rng`` is a Generator or a seed, ``selection`` is explained in ``selected_atoms``.
        """
        chosen, weights = selected_atoms(self.weights, n_atoms, as_generator(rng, "rng"), selection)
        return self.take(chosen).reweighted(weights)

    def kernel(self, X: Any, Z: Any = None) -> np.ndarray:
        """Return the inner products of ``features``, (n_samples, n_other_samples)."""
        X, Z = check_gram_inputs(X, Z)
        left = self.features(X)
        return left @ (left if Z is X else self.features(Z)).T

    def onnx(self, X: Any, n_features: int) -> Any:
        """Return ``features`` as a tensor of the ONNX graph of the tensor X."""
        raise missing_method(self, "onnx", "Export to ONNX")

    def _joined(self, others: Sequence[Self]) -> Self:
        """Return all atoms of this measure and of others of its kind."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        arrays = {
            name: np.concatenate([getattr(m, name) for m in (self, *others)]) for name in names
        }
        return replace(self, **arrays)  # type: ignore[type-var]

    def _merged_by(self, keys: np.ndarray) -> Self:
        """Join atoms whose rows of ``keys`` are equal byte by byte, and drop zero weights.

        The first of equal atoms is kept, with the sum of their weights.
        """
        kept = np.flatnonzero(self.weights > 0) if np.any(self.weights > 0) else np.array([0])
        seen: dict[bytes, int] = {}
        labels = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in keys[kept]])
        _, first = np.unique(labels, return_index=True)
        return self.take(kept[first]).reweighted(np.bincount(labels, weights=self.weights[kept]))


def selected_atoms(
    weights: np.ndarray, n_atoms: int, rng: np.random.Generator, selection: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted indices of the selected atoms, and their weights of the same total mass.

    ``"multinomial"`` draws with replacement in proportion to the weights, as the papers do (Letarte
    et al. 2019, Section 5.4); ``"systematic"`` uses one uniform number for all draws, so that atom
    j appears ⌊m w_j⌋ or ⌈m w_j⌉ times: the same mean with less variance. Both give equal weights to
    the draws. ``"top"`` keeps the largest weights, scaled up to the same mass; ``"all"`` keeps
    every atom as it is.
    """
    n_atoms = check_count(n_atoms, "n_atoms")
    check_choice(selection, "selection", SELECTIONS)
    cumulative = np.cumsum(weights, dtype=np.float64)
    if cumulative[-1] <= 0:
        raise ValueError("A measure of mass zero cannot be resampled: all its weights are zero.")
    if selection == "all":
        return np.arange(len(weights)), weights
    if selection == "top":
        largest = np.sort(np.argsort(-weights, kind="stable")[:n_atoms])
        return largest, weights[largest] * (cumulative[-1] / weights[largest].sum())
    if selection == "multinomial":
        positions = np.sort(rng.random(n_atoms))
    else:
        positions = (rng.random() + np.arange(n_atoms)) / n_atoms
    chosen = np.searchsorted(cumulative, positions * cumulative[-1], side="right")
    # By rounding, the last position may lie past the end or on a trailing atom of weight zero.
    return np.minimum(chosen, np.flatnonzero(weights)[-1]), np.full(
        n_atoms, np.sum(weights) / n_atoms
    )


def effective_atoms(weights: np.ndarray) -> Any:
    """Return (Σ w)² / Σ w² along the last axis: n for n equal weights, 1 for a single atom."""
    return np.sum(weights, axis=-1) ** 2 / np.sum(np.square(weights), axis=-1)


def concatenate(measures: Sequence[_Measure]) -> _Measure:
    """Return the sum of measures: all their atoms with their weights.

    Parameters
    ----------
    measures : sequence of measures
        Of one kind and dimension.

    Examples
    --------
    >>> import numpy as np
    >>> one = FourierMeasure(np.array([[1.0]]), np.array([0.5]))
    >>> concatenate([one, one]).mass
    1.0
    """
    if not measures:
        raise ValueError("Got no measures to concatenate; give at least one.")
    first = measures[0]
    if any(type(measure) is not type(first) for measure in measures):
        raise TypeError(
            "Only measures of one kind can be concatenated, got "
            + ", ".join(type(m).__name__ for m in measures)
        )
    return first._joined(measures[1:])


def frozen_weights(values: Any, n_atoms: int) -> np.ndarray:
    """Validate the weights of a measure, and return a read-only view."""
    weights = frozen_array(values, "weights", 1, dtype=np.float64)
    if n_atoms == 0:
        raise ValueError("A measure needs at least one atom, got none.")
    if len(weights) != n_atoms:
        raise ValueError(f"Got {len(weights)} weights for {n_atoms} atoms; each atom needs one.")
    if np.any(weights < 0):
        raise ValueError(
            f"Weights of a measure must be non-negative, got {weights.min():.3g}: with "
            "negative weights the sum is not a kernel."
        )
    return weights


@dataclass(frozen=True, eq=False, repr=False)
class FourierMeasure(AtomicMeasure):
    """k(x, z) = Σ_j weights[j] cos(frequencies[j] · (x − z)), a shift-invariant kernel.

    ``mu + nu``, ``c * mu`` and ``mu * nu`` are the measures of k + k', c k and k k'.

    Parameters
    ----------
    frequencies : array (n_atoms, n_features)
        The atoms; ω stands for the pair ±ω.
    weights : array (n_atoms,)
        Their weights, not negative.

    Examples
    --------
    >>> import numpy as np
    >>> measure = FourierMeasure(np.array([[1.0], [2.0]]), np.array([0.5, 0.5]))
    >>> Phi = measure.features(np.array([[0.0], [1.0]]))
    >>> np.allclose(Phi @ Phi.T, measure.kernel(np.array([[0.0], [1.0]])))
    True
    """

    # Weights stay attached to atoms instead of being folded into the features' scale: learners
    # compare prior and posterior weights atom by atom, and bounds need KL(q || p).
    frequencies: np.ndarray
    weights: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "frequencies", frozen_array(self.frequencies, "frequencies", 2))
        object.__setattr__(self, "weights", frozen_weights(self.weights, len(self.frequencies)))

    # Operators of NumPy's scalars then leave the work to the methods below.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> Self:
        return concatenate([self, other]) if type(other) is type(self) else NotImplemented

    def __mul__(self, other: Any) -> Self:
        """Return c k, or the product of kernels: cos a cos b = ½ cos(a + b) + ½ cos(a − b)."""
        if isinstance(other, Real):
            return self.reweighted(check_positive(other, "The factor of a measure") * self.weights)
        if type(other) is not type(self):
            return NotImplemented
        if other.n_features != self.n_features:
            raise ValueError(
                f"Measures with {self.n_features} and {other.n_features} features cannot be "
                "multiplied: their kernels compare points of different length."
            )
        pairs = self.frequencies[:, None], other.frequencies[None]
        both = np.concatenate([pairs[0] + pairs[1], pairs[0] - pairs[1]])
        weights = np.outer(self.weights, other.weights) / 2
        frequencies = both.reshape(-1, self.n_features)
        return replace(self, frequencies=frequencies, weights=np.tile(weights.ravel(), 2)).merged()

    __rmul__ = __mul__

    @property
    def n_features(self) -> int:
        """Number of columns of the points that the kernel compares."""
        return self.frequencies.shape[1]

    @property
    def n_columns(self) -> int:
        """Number of columns of ``features``: a cosine and a sine for each atom."""
        return 2 * len(self)

    def features(self, X: Any, out: np.ndarray | None = None) -> Any:
        """Return √w_j cos(ω_j·x), then √w_j sin(ω_j·x), (n_samples, 2 n_atoms).

        Their inner products are exactly ``kernel``. X may be dense, CSR, a memory map or a Dask
        array; ``out`` (also a memory map) receives the result.
        """
        rows = as_rows(X)
        if rows.n_features != self.n_features:
            raise ValueError(
                f"X has shape {rows.shape}, but this measure has {self.n_features} features."
            )
        return rows.map(self.block(), self.n_columns, out=out)

    def block(self) -> Block:
        """Return the feature map as a function of a block of rows, without checks."""
        return Block(features_block, self.frequencies, self.weights)

    def merged(self) -> Self:
        """Return the same kernel on fewer atoms: pairs ±ω are joined, zero weights dropped."""
        return self._merged_by(canonical_frequencies(self.frequencies))

    # A finite sum has all derivatives.
    has_finite_variance: ClassVar[bool] = True

    def onnx(self, X, n_features):
        angles = X @ self.frequencies.T
        waves = X.graph.beside([np.cos(angles), np.sin(angles)])
        return waves * np.sqrt(np.tile(self.weights, 2))


def canonical_frequencies(frequencies: np.ndarray) -> np.ndarray:
    """Return ω or −ω, the one with a positive leading coordinate: both give equal bytes."""
    leading = np.argmax(frequencies != 0, axis=1)
    signs = np.sign(frequencies[np.arange(len(frequencies)), leading])
    # + 0.0 turns -0.0 into 0.0, so that both compare equal byte by byte.
    return frequencies * np.where(signs == 0, 1, signs)[:, None] + 0.0
