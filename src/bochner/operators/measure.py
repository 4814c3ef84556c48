"""OperatorMeasure: a measure over frequencies whose atoms carry matrices instead of numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from .._loops.arrays import frozen_array
from ..data.checks import check_gram_inputs
from ..expansions.waves import Expansion
from ..measures.fourier import AtomicMeasure, FourierMeasure, canonical_frequencies, concatenate


def paired(factors: np.ndarray) -> np.ndarray:
    """Return [[F, G], [−G, F]] for complex factors F + iG, (2, 2, n_atoms, ...).

    It maps the two parameters of an atom to the coefficients of its cosine and its sine.
    """
    real, imaginary = factors.real, factors.imag
    return np.array([[real, imaginary], [-imaginary, real]])


@dataclass(frozen=True, eq=False, repr=False)
class OperatorMeasure(AtomicMeasure):
    """K(x, z) = Σ_j w_j cos(ω_j·(x − z)) B_j B_jᵀ, an operator-valued kernel as a finite measure.

    See Brault, Heinonen, d'Alché-Buc 2016, Proposition 5. Factors may be complex, for kernels that
    are not even in x − z: K(x, z) = Σ_j w_j Re(exp(i ω_j·(x − z)) B_j B_jᴴ). Models accept a
    measure in place of a kernel, and use all of its atoms as they are.

    Parameters
    ----------
    scalar : FourierMeasure
        The frequencies ω and weights w.
    factors : array (n_atoms, n_outputs, rank) or (1, n_outputs, rank)
        The matrices B, real or complex; one if all atoms share it.
    weights : array (n_atoms,), default None
        Other weights w than those of ``scalar``.

    Examples
    --------
    >>> import numpy as np
    >>> scalar = FourierMeasure(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0.5, 0.5]))
    >>> curl_free = OperatorMeasure(scalar, scalar.frequencies[:, :, None])
    >>> curl_free.kernel(np.zeros((1, 2)))[0, 0]
    array([[0.5, 0. ],
           [0. , 2. ]])
    """

    # ``weights`` are those of ``scalar`` unless they are given, as ``dataclasses.replace`` does:
    # then both have these.
    scalar: FourierMeasure
    factors: np.ndarray
    weights: Any = None

    def __post_init__(self) -> None:
        dtype = complex if np.iscomplexobj(self.factors) else None
        object.__setattr__(self, "factors", frozen_array(self.factors, "factors", 3, dtype=dtype))
        if len(self.factors) not in (1, len(self.scalar)):
            raise ValueError(
                f"Got {len(self.factors)} factors for {len(self.scalar)} atoms; give one per atom, "
                "or one for all of them."
            )
        if self.is_complex:  # one for each atom: this kernel is not decomposable
            object.__setattr__(self, "factors", self.atom_factors())
        if self.weights is not None:
            object.__setattr__(self, "scalar", self.scalar.reweighted(self.weights))
        object.__setattr__(self, "weights", self.scalar.weights)

    @property
    def n_features(self) -> int:
        """Dimension of the points that the kernel compares."""
        return self.scalar.n_features

    @property
    def n_outputs(self) -> int:
        """Size p of the matrix K(x, z)."""
        return self.factors.shape[1]

    @property
    def rank(self) -> int:
        """Columns p' of each factor."""
        return self.factors.shape[2]

    @property
    def shared(self) -> bool:
        """True if all atoms share one real factor: the kernel is then decomposable."""
        return len(self.factors) == 1 and not self.is_complex

    @property
    def is_complex(self) -> bool:
        """True if the factors are complex."""
        return np.iscomplexobj(self.factors)

    @property
    def n_columns(self) -> int:
        """Number of columns of ``features``: two for each column of the factor of each atom."""
        return 2 * len(self) * self.rank

    def atom_factors(self) -> np.ndarray:
        """Return B_j of each atom, (n_atoms, n_outputs, rank), also if all atoms share one."""
        return np.broadcast_to(self.factors, (len(self.scalar), *self.factors.shape[1:]))

    def operators(self) -> np.ndarray:
        """Return A_j = B_j B_jᴴ, (n_atoms or 1, n_outputs, n_outputs)."""
        return self.factors @ self.factors.conj().transpose(0, 2, 1)

    def take(self, indices: Any) -> Self:
        """Return the measure on the selected atoms, with their weights."""
        factors = self.factors if self.shared else self.factors[indices]
        return type(self)(self.scalar.take(indices), factors)

    def reweighted(self, weights: Any) -> Self:
        """Return the same atoms with other weights."""
        return replace(self, weights=weights)

    def merged(self) -> Self:
        """Return the same kernel with equal atoms joined and zero weights dropped."""
        keys = canonical_frequencies(self.scalar.frequencies)
        if not self.shared:
            turned = np.any(keys != self.scalar.frequencies, axis=1)[:, None, None]
            operators = np.where(turned, self.operators().conj(), self.operators())
            keys = np.column_stack([keys, operators.reshape(len(self), -1) + 0.0])
        return self._merged_by(keys)

    def _joined(self, others: Sequence[Self]) -> Self:
        """Keep one shared factor; pad factors of lower rank with columns of zeros."""
        measures = (self, *others)
        if len({m.n_outputs for m in measures}) > 1:
            raise ValueError(
                "Only measures with as many outputs can be concatenated, got "
                f"{[m.n_outputs for m in measures]}."
            )
        scalar = concatenate([m.scalar for m in measures])
        if all(m.shared and np.array_equal(m.factors, self.factors) for m in measures):
            return type(self)(scalar, self.factors)
        rank = max(m.rank for m in measures)
        padding = [((0, 0), (0, 0), (0, rank - m.rank)) for m in measures]
        factors = [np.pad(m.atom_factors(), p) for m, p in zip(measures, padding, strict=True)]
        return type(self)(scalar, np.concatenate(factors))

    def features(self, X: Any) -> np.ndarray:
        """Return Ψ(x), (n_samples, n_outputs, n_columns), with Ψ(x) Ψ(z)ᵀ = K(x, z).

        Columns are ordered as (cos/sin, atom, factor column). Ψ is p · p' times larger than the
        scalar features, so fits compute it for one block of rows at a time.
        """
        return self.spread(self.scalar.features(X))

    def spread(self, waves: np.ndarray) -> np.ndarray:
        """Return Ψ from the scalar features ``waves`` (n_samples, 2 n_atoms)."""
        if self.is_complex:
            cosine, sine = np.hsplit(waves, 2)
            products = (cosine + 1j * sine)[:, None, :, None] * self.factors.transpose(1, 0, 2)
            both = np.stack([products.real, products.imag], axis=2)
            return both.reshape(len(waves), self.n_outputs, self.n_columns)
        pairs = waves.reshape(len(waves), 1, 2, len(self), 1)
        return (pairs * self.factors.transpose(1, 0, 2)[:, None]).reshape(
            len(waves), self.n_outputs, self.n_columns
        )

    def expand(self, parameters: np.ndarray) -> np.ndarray:
        """Return coefficients of the scalar features, (2 n_atoms, n_outputs), for parameters θ.

        Row (·, j) is B_j θ_j. The field Ψ(x) θ is ``scalar.features(x) @ expand(θ)``, one matrix
        product. For complex factors, θ_cos − i θ_sin is multiplied by B_j.
        """
        theta = np.reshape(parameters, (2, len(self), self.rank))
        if self.is_complex:
            products = np.einsum("jr,jpr->jp", theta[0] - 1j * theta[1], self.factors)
            return np.concatenate([products.real, -products.imag])
        if self.shared:
            return (theta @ self.factors[0].T).reshape(2 * len(self), self.n_outputs)
        return np.einsum("ajr,jpr->ajp", theta, self.factors).reshape(2 * len(self), self.n_outputs)

    def contract(self, coefficients: np.ndarray) -> np.ndarray:
        """Apply the transpose of ``expand``, (2 n_atoms, n_outputs) to (n_columns,)."""
        stacked = np.reshape(coefficients, (2, len(self), self.n_outputs))
        if self.is_complex:
            products = np.einsum("jp,jpr->jr", stacked[0] - 1j * stacked[1], self.factors.conj())
            return np.concatenate([products.real, -products.imag]).ravel()
        if self.shared:
            return (stacked @ self.factors[0]).ravel()
        return np.einsum("ajp,jpr->ajr", stacked, self.factors).ravel()

    def kernel(self, X: Any, Z: Any = None) -> np.ndarray:
        """Return K(x, z) for all pairs, (n_samples, n_other_samples, n_outputs, n_outputs)."""
        X, Z = check_gram_inputs(X, Z)
        if self.shared:
            return self.scalar.kernel(X, Z)[:, :, None, None] * self.operators()[0]
        left = self.scalar.features(X)
        right = left if Z is X else self.scalar.features(Z)
        operators, odd = self.operators(), 0.0
        turned = np.concatenate([-left[:, len(self) :], left[:, : len(self)]], axis=1)
        gram = np.empty((len(X), len(Z), self.n_outputs, self.n_outputs), left.dtype)
        for a in range(self.n_outputs):
            for b in range(a + 1):  # A_j is Hermitian: the sine has opposite signs for (b, a)
                entries = np.tile(operators[:, a, b], 2)
                even = (left * entries.real.astype(left.dtype)) @ right.T
                if self.is_complex:
                    odd = (turned * entries.imag.astype(left.dtype)) @ right.T
                gram[:, :, a, b], gram[:, :, b, a] = even + odd, even - odd
        return gram

    # --- methods of kernels, see ``OperatorKernel`` -----------------------------------------------

    vector_field: ClassVar[bool] = False  # in general, its functions have no potential
    learns_outputs: ClassVar[bool] = False

    @property
    def decomposable(self) -> bool:
        """True if K(x, z) = k(x, z) A with one matrix A."""
        return self.shared

    def matrix(self) -> np.ndarray:
        """Return A of a decomposable kernel."""
        return self.operators()[0]

    def checked_prior(self) -> FourierMeasure:
        """Return the scalar measure."""
        return self.scalar

    def resolved(self, X: Any, weights: Any = None) -> Self:
        """Return this measure after a check of the columns of X."""
        self.scalar.resolved(X)
        return self

    def resolved_outputs(self, covariance: np.ndarray, spectrum: tuple | None = None) -> Self:
        """Return this measure, which has no parameters."""
        return self

    def check_outputs(self, n_features: int, n_outputs: int) -> None:
        """Raise an error if y does not have one column for each output."""
        if n_outputs != self.n_outputs:
            raise ValueError(
                f"The measure has {self.n_outputs} outputs, but y has {n_outputs} columns. Give y "
                "one column for each output."
            )

    def space(self, n_features: int) -> np.ndarray:
        """Return the indices of all columns of X."""
        return np.arange(n_features)

    def lift(self, scalar: FourierMeasure) -> Self:
        """Return the measure with the frequencies and weights of ``scalar``, atom by atom."""
        return type(self)(scalar, self.factors)

    def onnx(self, X: Any, points: Any, coefficients: np.ndarray) -> Any:
        """Return Σ_j K(x, points_j) coefficients_j as a tensor of the ONNX graph of X."""
        parameters = np.einsum("npc,np->c", self.features(points), coefficients)
        return Expansion.of(self.scalar, self.expand(parameters)).onnx(X)
