"""Structure of the outputs of a ridge: decoupled in a basis, or coupled by operators of atoms.

The ridge of all outputs is (M + penalty I) z = b, with a penalty for each column of b.
``coefficients`` turns z into coefficients of the scalar features, (n_columns, n_outputs);
``right_side`` is its transpose, and M is right_side ∘ (ΦᵀΦ) ∘ coefficients. ``design`` are rows of
the factor of M in its eigenbasis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..operators import OperatorMeasure
from .statistics import TILE_ROWS

# Entries of Ψ(x) in memory at once: 32 MB.
_TILE_ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class DecoupledOutputs:
    """Outputs of a decomposable kernel k A, A = Q diag(t) Qᵀ, which decouple after a turn by Q.

    A ridge α becomes α / t. The stationarity condition ΦᵀΦ Θ BᵀB + αΘ = ΦᵀYB, A = BBᵀ, is a Stein
    equation (Brault et al. 2016, Eq. 12); turned by Q it is one ridge for each output, all of the
    same M = ΦᵀΦ.
    """

    vectors: np.ndarray
    scales: np.ndarray
    rows_at_once = TILE_ROWS

    @classmethod
    def of(cls, matrix: np.ndarray) -> DecoupledOutputs:
        """Decompose A; eigenvalues below 1e-12 of the largest count as zero."""
        scales, vectors = np.linalg.eigh(matrix)
        return cls(vectors, np.where(scales > 1e-12 * scales[-1], scales, 0.0))

    @property
    def n_outputs(self) -> int:
        return len(self.vectors)

    def matrix(self, gram: np.ndarray) -> np.ndarray:
        """Return M from the Gram matrix of the scalar features."""
        return gram

    def diagonal(self, gram_diagonal: np.ndarray) -> np.ndarray:
        """Return the diagonal of M, for all columns of b."""
        return gram_diagonal[:, None]

    def right_side(self, cross: np.ndarray) -> np.ndarray:
        """Return b from ΦᵀY."""
        return cross @ self.vectors

    def coefficients(self, solution: np.ndarray) -> np.ndarray:
        """Return coefficients of the scalar features from z."""
        return solution @ self.vectors.T

    def penalties(self, alpha: float) -> np.ndarray:
        """Return α / t for each column of b, infinite if t = 0."""
        infinite = np.full_like(self.scales, np.inf)
        return np.divide(alpha, self.scales, out=infinite, where=self.scales > 0)

    def largest(self, mean_squares: np.ndarray) -> float:
        """Return the largest eigenvalue of the mean of K(x, x), from mean squares of features."""
        return float(self.scales.max() * mean_squares.sum())

    def mean_diagonal(self, mean_squares: np.ndarray) -> float:
        """Return the mean diagonal of K(x, x), from mean squares of features."""
        return float(self.scales.mean() * mean_squares.sum())

    def equations(self, features: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (A, c) of some rows, with M = AᵀA and b = Aᵀc for these rows alone."""
        return features, self.turned(targets)

    def turned(self, values: np.ndarray, back: bool = False) -> np.ndarray:
        """Turn outputs (n_samples, n_outputs) into the basis where they decouple, or back."""
        return values @ (self.vectors.T if back else self.vectors)

    def design(self, features: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """Return φ(x) U, (n_samples, k)."""
        return features @ vectors

    def variances(
        self, features: np.ndarray, design: np.ndarray, inverse: np.ndarray, penalties: np.ndarray
    ) -> np.ndarray:
        """Return the variance of f at these rows per unit of noise, (n_samples, n_outputs)."""
        # Directions of features without data keep their prior variance 1 / penalty.
        unseen = np.maximum(np.sum(features**2, axis=1) - np.sum(design**2, axis=1), 0.0)
        return (design**2 @ inverse + unseen[:, None] / penalties) @ (self.vectors**2).T


@dataclass(frozen=True, eq=False)
class CoupledOutputs:
    """Outputs of any operator-valued measure: z are the parameters θ of f = Ψ(x) θ.

    Leverages are matrices. The (n p) x (2 D p') matrix Ψ is never built: Ψ(x) θ = φ(x) expand(θ),
    so M = contract ∘ (φᵀφ) ∘ expand follows from the Gram matrix of the *scalar* features.
    """

    measure: OperatorMeasure

    @property
    def n_outputs(self) -> int:
        return self.measure.n_outputs

    def matrix(self, gram):
        """Return M, whose entry ((a,j,r), (b,k,s)) is (φᵀφ)_{aj,bk} (B_jᵀB_k)_{rs}.

        For the curl-free kernel (B = ω) it is the entrywise product of φᵀφ and the Gram matrix of
        the frequencies.
        """
        n_atoms, rank = len(self.measure), self.measure.rank
        stacked = self.measure.factors.transpose(1, 0, 2).reshape(self.n_outputs, n_atoms * rank)
        overlaps = (stacked.T @ stacked).reshape(n_atoms, rank, n_atoms, rank)
        waves = gram.reshape(2, n_atoms, 2, n_atoms)
        product = waves[:, :, None, :, :, None] * overlaps[None, :, :, None, :, :]
        return product.reshape(self.measure.n_columns, self.measure.n_columns)

    def diagonal(self, gram_diagonal):
        squared = np.sum(self.measure.factors**2, axis=1)
        return (gram_diagonal.reshape(2, len(self.measure), 1) * squared).reshape(-1, 1)

    def right_side(self, cross):
        return self.measure.contract(cross)[:, None]

    def coefficients(self, solution):
        return self.measure.expand(solution)

    def penalties(self, alpha):
        return np.array([alpha])

    def largest(self, mean_squares):
        weights = mean_squares.reshape(2, -1).sum(axis=0)
        mean = np.einsum("j,jab->ab", weights, self.measure.operators())
        return float(np.linalg.eigvalsh(mean)[-1])

    def mean_diagonal(self, mean_squares):
        return float(self.diagonal(mean_squares).sum() / self.n_outputs)

    def equations(self, features, targets):
        return self.measure.spread(features).reshape(targets.size, -1), targets.reshape(-1, 1)

    def turned(self, values, back=False):
        return values

    def design(self, features, vectors):
        """Return Ψ(x) V, (n_rows, n_outputs, n_columns)."""
        return self.measure.spread(features) @ vectors

    def variances(self, features, design, inverse, penalties):
        return design**2 @ inverse[:, 0]

    @property
    def rows_at_once(self) -> int:
        return max(1, _TILE_ENTRIES // (self.measure.n_columns * self.n_outputs))


Outputs = DecoupledOutputs | CoupledOutputs
