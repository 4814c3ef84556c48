"""Measures over frequencies, which are kernels: finite sets of weighted atoms."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from .._checks import (
    MissingMethod,
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
from .scikit_kernel import ScikitKernel

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
        arrays = {name: getattr(self, name)[indices] for name in self._arrays()}
        return replace(self, **arrays)  # type: ignore[type-var]

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

    def onnx_features(self, X: Any, n_features: int) -> Any:
        """Return ``features`` as a tensor of the ONNX graph of the tensor X."""
        raise missing_method(self, "onnx_features", "Export to ONNX")

    def __sklearn_clone__(self) -> Self:
        return self  # a value that is never changed

    def _arrays(self) -> list[str]:
        """Return the names of the fields that have atoms on axis 0."""
        return [field.name for field in fields(self) if not field.kw_only]  # type: ignore[arg-type]

    def _joined(self, others: Sequence[Self]) -> Self:
        """Return all atoms of this measure and of others of its kind."""
        arrays = {
            name: np.concatenate([getattr(m, name) for m in (self, *others)])
            for name in self._arrays()
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


def _refused(name: str, purpose: str) -> Callable[..., Any]:
    """Return a method that raises the error for an optional method of priors."""

    def method(self, *arguments, **keywords):
        raise missing_method(self, name, purpose, "A measure has fixed frequencies: use a prior.")

    return method


@dataclass(frozen=True, eq=False, repr=False)
class FourierMeasure(AtomicMeasure):
    """k(x, z) = Σ_j weights[j] cos(frequencies[j] · (x − z)), a shift-invariant kernel.

    A measure is accepted wherever a prior is. ``sample`` draws from its atoms, and ``kernel``,
    ``gradient`` and ``hessian`` are finite sums. It has no density, no factors of columns, and no
    rates that ``Evidence`` can learn: models that need these refuse it.
    ``mu + nu``, ``c * mu`` and ``mu * nu`` are the measures of k + k', c k and k k'.

    Parameters
    ----------
    frequencies : array (n_atoms, n_features)
        The atoms; ω stands for the pair ±ω.
    weights : array (n_atoms,)
        Their weights, not negative.
    learned : bool, default False
        True if the atoms or weights depend on data, as for the measures of learners. With such a
        measure as prior, bounds are not valid on the same rows. If it was learned on other rows,
        write ``dataclasses.replace(measure, learned=False)``.

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
    learned: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "frequencies", frozen_array(self.frequencies, "frequencies", 2))
        object.__setattr__(self, "weights", frozen_weights(self.weights, len(self.frequencies)))

    # Operators of NumPy's scalars then leave the work to the methods below.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> Self:
        return concatenate([self, other]) if type(other) is type(self) else NotImplemented

    def __mul__(self, other: Any) -> "FourierMeasure":
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
        learned = self.learned or other.learned
        return FourierMeasure(frequencies, np.tile(weights.ravel(), 2), learned=learned).merged()

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

    def marked_learned(self) -> Self:
        """Return the same measure with ``learned=True``."""
        other = copy(self)
        object.__setattr__(other, "learned", True)
        return other

    def _joined(self, others):
        return replace(
            super()._joined(others), learned=any(measure.learned for measure in (self, *others))
        )

    def onnx_features(self, X, n_features):
        angles = X @ self.frequencies.T
        waves = X.graph.concat([np.cos(angles), np.sin(angles)])
        return waves * np.sqrt(np.tile(self.weights, 2))

    # --- methods of priors, see ``SpectralPrior`` -------------------------------------------------

    has_finite_variance: ClassVar[bool] = True  # a finite sum has all derivatives
    has_column_factors: ClassVar[bool] = False
    categories: ClassVar[tuple[int, ...]] = ()
    _samplings: ClassVar[tuple[str, ...]] = ("iid", "qmc")
    log_density = _refused("log_density", "The density")
    column_factor = _refused("column_factor", "The split into effects")
    onnx_slopes = _refused("onnx_slopes", "Export of vector fields to ONNX")
    gaussian_variances = _refused("gaussian_variances", "The exact variance of vector fields")

    def groups(self, n_features: int) -> Any:
        """Raise an error: ``Evidence`` has nothing to learn."""
        raise MissingMethod(
            f"Evidence learns rates of priors, and {self!r} has fixed frequencies: write a prior, "
            "e.g. Gaussian()."
        )

    @property
    def _learned(self) -> bool:
        return self.learned

    def sample(self, n_atoms: int, n_features: int, rng: Seed, sampling: str = "iid") -> Self:
        """Draw ``n_atoms`` of the atoms in proportion to their weights; draws have equal weight.

        "iid" draws with replacement, "qmc" systematically, which has less variance.
        """
        check_choice(sampling, "sampling", ("iid", "orthogonal", "qmc"))
        if sampling not in self._samplings:
            raise ValueError(
                f"A FourierMeasure cannot be sampled with sampling={sampling!r}: its frequencies "
                "are fixed. Write sampling='iid' or sampling='qmc'."
            )
        frequencies = self._frequencies(n_atoms, n_features, as_generator(rng, "rng"), sampling)
        equal = np.full(len(frequencies), self.mass / len(frequencies))
        return replace(self, frequencies=frequencies, weights=equal)

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        self._check_features(n_features)
        selection = "systematic" if sampling == "qmc" else "multinomial"
        chosen, _ = selected_atoms(self.weights, n_atoms, rng, selection)
        # In random order, since models use consecutive frequencies as separate draws.
        return self.frequencies[rng.permutation(chosen)]

    def resolved(self, X: Any, weights: np.ndarray | None = None) -> Self:
        """Return this measure after a check of the columns of X: no parameter depends on rows."""
        self._check_features(as_rows(X).n_features)
        return self

    def _check_features(self, n_features):
        if n_features != self.n_features:
            raise ValueError(
                f"The measure has {self.n_features} features, got n_features={n_features}. Give a "
                "measure over frequencies with one coordinate for each column."
            )

    def _mass(self) -> float:
        return self.mass

    def _gram(self, X, Z):
        return self.kernel(X, Z)

    def lower_gram(self, X: np.ndarray) -> np.ndarray:
        """Return the Gram matrix of X in its dtype."""
        return self.kernel(X).astype(X.dtype, copy=False)

    def compiled(self, n_features: int) -> None:
        """Return None: there are no compiled loops."""

    def gradient(
        self, X: np.ndarray, points: np.ndarray, coefficients: np.ndarray, side: int = 0
    ) -> np.ndarray:
        """Return ∂/∂x Σ_i coefficients_i k(x, points_i), (n_samples, n_outputs, n_features)."""
        amplitudes = self.features(points).T @ coefficients
        cosine, sine = np.split(self.features(X), 2, axis=1)
        outputs = zip(*(part.T for part in np.split(amplitudes, 2)), strict=True)
        slopes = [(cosine * own - sine * along) @ self.frequencies for along, own in outputs]
        return np.stack(slopes, axis=1)

    def hessian(self, X: np.ndarray, Z: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return ∂²k(x, z)/∂x_a∂z_b, (n_samples, n_other_samples, n_columns, n_columns)."""
        left, right = self.features(X), self.features(Z)
        waves = np.tile(self.frequencies[:, columns], (2, 1))
        hessian = np.empty((len(left), len(right), len(columns), len(columns)))
        for a, b in np.ndindex(len(columns), len(columns)):
            hessian[:, :, a, b] = (left * waves[:, a] * waves[:, b]) @ right.T
        return hessian

    def onnx(self, X: Any, points: np.ndarray) -> Any:
        """Return k(x, points) as a tensor of the ONNX graph of the tensor X."""
        return self.onnx_features(X, self.n_features) @ self.features(points).T

    def as_kernel(self) -> ScikitKernel:
        """Return the kernel as an object for scikit-learn, see ``SpectralPrior.as_kernel``."""
        return ScikitKernel(self)


def canonical_frequencies(frequencies: np.ndarray) -> np.ndarray:
    """Return ω or −ω, the one with a positive leading coordinate: both give equal bytes."""
    leading = np.argmax(frequencies != 0, axis=1)
    signs = np.sign(frequencies[np.arange(len(frequencies)), leading])
    # + 0.0 turns -0.0 into 0.0, so that both compare equal byte by byte.
    return frequencies * np.where(signs == 0, 1, signs)[:, None] + 0.0
