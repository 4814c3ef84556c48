"""Ridge problems: sums over rows, structure of the outputs, rows, and the base of solvers.

The ridge of all outputs is (M + penalty I) z = b, with a penalty for each column of b. The outputs
decouple in a basis (``DecoupledOutputs``), or the operators of the atoms couple them
(``CoupledOutputs``). The linear map ``coefficients`` maps z to coefficients of the scalar features,
(n_columns, n_outputs), and ``right_side`` is its transpose. M is right_side ∘ (ΦᵀΦ) ∘ coefficients.
``design`` returns rows of the factor of M in its eigenbasis.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from .._checks import Seed
from .._loops.arrays import as_dense
from .._loops.blocks import tiles
from ..data import Block, Rows
from ..data.training import TrainingData
from ..measures.fourier import FourierMeasure
from ..operators import OperatorMeasure
from ..operators.measure import paired

if TYPE_CHECKING:
    from .direct import Eigensystem

# Rows whose features are in memory at once. A block of rows sums several of these tiles into one
# Gram matrix, because adding Gram matrices of small blocks takes as long as computing them.
TILE_ROWS = 1024
# Entries of Ψ(x) in memory at once: 32 MB.
_TILE_ENTRIES = 2**22
# Features that hardly vary around their mean are rounding errors below this share of their size.
_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class RidgeStatistics:
    """Sums over rows, weighted by h_i, that a ridge needs; they add up over batches.

    ``gram`` is Σ h φφᵀ, or its diagonal as a vector if the matrix would be too large. ``cross`` is
    Σ h φ(y − shift)ᵀ, and ``target_gram`` is Σ h (y − shift)(y − shift)ᵀ. The others are plain
    sums. The shift keeps sums of outputs with a large offset precise. ``tiled`` is True if some of
    ``gram`` was summed in float32 tiles, which is enough for well-conditioned systems only; see
    ``choice``.
    """

    gram: np.ndarray
    cross: np.ndarray
    target_gram: np.ndarray
    feature_sum: np.ndarray
    target_sum: np.ndarray
    weight: float
    shift: np.ndarray
    tiled: bool = False

    @classmethod
    def of(
        cls,
        features: Callable,
        data: TrainingData,
        shift: np.ndarray,
        *,
        whole_gram: bool = True,
        tiled: bool = False,
    ) -> RidgeStatistics:
        """Sum over the rows in one pass; ``features`` maps a block of rows to its features.

        ``tiled`` multiplies float32 features in float32, 1024 rows at a time, and adds these
        products in float64, which halves the time.
        """
        block = Block(_sums_block, features, shift, whole_gram, tiled, row_bytes=8 * len(shift))
        sums = dict(zip(_SUMMED, data.rows.sum(block, *data.signals), strict=True))
        sums["weight"] = float(sums["weight"])
        return cls(**sums, shift=shift, tiled=tiled and whole_gram)

    def __add__(self, other: RidgeStatistics) -> RidgeStatistics:
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMMED}
        return replace(self, **sums, tiled=self.tiled or other.tiled)

    def times(self, factor: float) -> RidgeStatistics:
        """Return the sums of ``factor`` times the rows."""
        return replace(self, **{name: factor * getattr(self, name) for name in _SUMMED})

    def around(self, shift: np.ndarray) -> RidgeStatistics:
        """Return the same sums with another shift of the outputs."""
        moved = self.shift - shift
        crossed = np.outer(self.target_sum, moved)
        squares = self.weight * np.outer(moved, moved)
        return replace(
            self,
            cross=self.cross + np.outer(self.feature_sum, moved),
            target_gram=self.target_gram + crossed + crossed.T + squares,
            target_sum=self.target_sum + self.weight * moved,
            shift=shift,
        )

    @property
    def gram_diagonal(self) -> np.ndarray:
        """Diagonal of ``gram``."""
        return self.gram if self.gram.ndim == 1 else np.diag(self.gram)

    @property
    def output_weights(self) -> Any:
        """Weight of the rows that observe an output."""
        return self.weight

    @property
    def feature_mean(self) -> np.ndarray:
        """Mean feature vector."""
        return self.feature_sum / self.weight

    @property
    def target_mean(self) -> np.ndarray:
        """Mean output, without the shift."""
        return self.target_sum / self.weight + self.shift

    @property
    def target_covariance(self) -> np.ndarray:
        """Covariance of the outputs."""
        removed = np.outer(self.target_sum, self.target_sum) / self.weight
        return (self.target_gram - removed) / self.weight

    def centered(self) -> RidgeStatistics:
        """Return the sums of features and outputs around their means, for an intercept."""
        removed = np.outer(self.feature_sum, self.feature_mean)
        return replace(
            self,
            gram=self.gram - (removed if self.gram.ndim == 2 else np.diag(removed)),
            cross=self.cross - np.outer(self.feature_mean, self.target_sum),
            target_gram=self.target_covariance * self.weight,
        )


_SUMMED = [field.name for field in fields(RidgeStatistics) if field.name not in ("shift", "tiled")]


def _sums_block(features, shift, whole_gram, tiled, X, Y, weights=None):
    Y = np.asarray(Y, dtype=np.float64) - shift
    weights = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    gram = product = None
    cross, feature_sum = 0.0, 0.0
    for rows in tiles(X.shape[0], TILE_ROWS):
        given = features(X[rows])
        # Vectors are summed in float64 even for float32 features: this takes little time.
        tile = np.asarray(given, dtype=np.float64, order="C")
        feature_sum = feature_sum + weights[rows] @ tile
        cross = cross + tile.T @ (weights[rows, None] * Y[rows])
        if not whole_gram:
            gram = (0.0 if gram is None else gram) + weights[rows] @ tile**2
            continue
        scaled = given if tiled and given.dtype == np.float32 else tile
        if not np.all(weights[rows] == 1):
            scaled = scaled * np.sqrt(weights[rows]).astype(scaled.dtype)[:, None]
        if product is None:
            shape = (tile.shape[1],) * 2
            gram, product = np.zeros(shape), np.empty(shape, scaled.dtype)
        # NumPy's product releases the lock of Python; SciPy's SYRK, which adds in place, does not.
        gram += np.matmul(scaled.T, scaled, out=product)
    weighted = weights[:, None] * Y
    return gram, cross, Y.T @ weighted, feature_sum, weighted.sum(axis=0), weights.sum()


@dataclass(frozen=True, eq=False)
class DecoupledOutputs:
    """Outputs of a decomposable kernel k A, A = Q diag(t) Qᵀ, which decouple after a turn by Q.

    A ridge α becomes α / t. The stationarity condition ΦᵀΦ Θ BᵀB + αΘ = ΦᵀYB with A = BBᵀ is a
    Stein equation (Brault et al. 2016, Eq. 12). In the basis Q it is one ridge for each output, and
    all have the same M = ΦᵀΦ.
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

    @property
    def n_unknowns(self) -> int:
        """Length of θ."""
        return self.measure.n_columns

    def matrix(self, gram):
        """Return M, whose entry ((a,j,r), (b,k,s)) is (φᵀφ)_{aj,bk} (B_jᵀB_k)_{rs}.

        For the curl-free kernel (B = ω) it is the entrywise product of φᵀφ and the Gram matrix of
        the frequencies. Complex factors B = F + iG act on cosine and sine as [[F, G], [−G, F]].
        """
        n_atoms, rank = len(self.measure), self.measure.rank
        waves = gram.reshape(2, n_atoms, 2, n_atoms)
        if self.measure.is_complex:
            pairs, indices = paired(self.measure.factors), "acjpr,ajbk,bdkps->cjrdks"
            product = np.einsum(indices, pairs, waves, pairs, optimize=True)
            return product.reshape(self.measure.n_columns, self.measure.n_columns)
        stacked = self.measure.factors.transpose(1, 0, 2).reshape(self.n_outputs, n_atoms * rank)
        overlaps = (stacked.T @ stacked).reshape(n_atoms, rank, n_atoms, rank)
        product = waves[:, :, None, :, :, None] * overlaps[None, :, :, None, :, :]
        return product.reshape(self.measure.n_columns, self.measure.n_columns)

    def diagonal(self, gram_diagonal):
        """Return the diagonal of M; for complex factors other numbers with the same sum."""
        squared = np.sum(np.abs(self.measure.factors) ** 2, axis=1)
        return (gram_diagonal.reshape(2, len(self.measure), 1) * squared).reshape(-1, 1)

    def right_side(self, cross):
        return self.measure.contract(cross)[:, None]

    def coefficients(self, solution):
        return self.measure.expand(solution)

    def penalties(self, alpha):
        return np.array([alpha])

    def largest(self, mean_squares):
        weights = mean_squares.reshape(2, -1).sum(axis=0)
        mean = np.einsum("j,jab->ab", weights, self.measure.operators().real)
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


def lifted_gram(waves: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the matrix of θ, entry ((a,j,r), (b,k,s)) = waves_{aj,bk} left_jr right_ks.

    ``waves`` (2 n_atoms, 2 n_atoms) is a sum of products of the scalar features; ``left`` and
    ``right`` (n_atoms, rank) are one row of each factor. Complex rows act as ``paired``.
    """
    m, rank = left.shape
    if np.iscomplexobj(left):
        pairs = waves.reshape(2, m, 2, m)
        product = np.einsum(
            "acjr,ajbk,bdks->cjrdks", paired(left), pairs, paired(right), optimize=True
        )
        return product.reshape(2 * m * rank, -1)
    pairs = waves.reshape(2, m, 1, 2, m, 1)
    product = left[None, :, :, None, None, None] * pairs * right[None, None, None, None]
    return product.reshape(2 * m * rank, -1)


def mean_kernel(given: RidgeStatistics, centered: RidgeStatistics, outputs: Outputs) -> float:
    """Return the mean of the diagonal of K(x, x), around the means if these are removed."""
    around, plain = (
        outputs.mean_diagonal(sums.gram_diagonal / sums.weight) for sums in (centered, given)
    )
    return max(around, _ROUNDING * plain) or 1.0


def feature_block(source: Any) -> Callable:
    """Return the function from a block of rows to its features, as a dense array."""
    if isinstance(source, FourierMeasure):
        return source.block()
    return Block(_transformed_block, source)


def _transformed_block(transformer, X):
    return as_dense(transformer.transform(X))


def feature_count(source: Any, rows: Rows) -> int:
    """Return the number of features of a FourierMeasure, or of the first row transformed."""
    if isinstance(source, FourierMeasure):
        return source.n_columns
    return source.transform(rows.take(np.array([0]))).shape[1]


@dataclass(frozen=True, eq=False)
class CenteredRows:
    """Features and targets around the means of the training rows, if there is an intercept.

    ``source`` is a FourierMeasure or a fitted transformer; ``share`` is the part of the intercept
    in a leverage: 1 / Σ weights, or 0. Partly observed outputs have a mean feature vector, a share
    and features of their own.
    """

    source: Any
    feature_mean: np.ndarray
    target_mean: np.ndarray
    share: Any

    @classmethod
    def of(cls, source: Any, statistics: RidgeStatistics, fit_intercept: bool) -> CenteredRows:
        """Return rows around the means of these sums."""
        features, targets = statistics.feature_mean, statistics.target_mean
        if fit_intercept:
            return cls(source, features, targets, 1 / statistics.output_weights)
        return cls(source, np.zeros_like(features), np.zeros_like(targets), 0.0)

    def __call__(self, X: Any) -> np.ndarray:
        features = feature_block(self.source)(X).astype(np.float64, copy=False)
        return (features if self.feature_mean.ndim == 1 else features[:, None]) - self.feature_mean

    @property
    def mean_share(self) -> float:
        """Mean of ``share`` over the observed outputs of the rows."""
        return self.share if np.ndim(self.share) == 0 else 1 / np.mean(1 / self.share)

    def intercept(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the constants that belong to coefficients around the means."""
        if self.feature_mean.ndim == 2:
            return self.target_mean - np.sum(self.feature_mean.T * coefficients, axis=0)
        return self.target_mean - self.feature_mean @ coefficients

    def in_tiles(self, X: Any, n_rows: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield at most ``n_rows`` rows of a block at a time: their slice and their features."""
        for rows in tiles(X.shape[0], n_rows):
            yield rows, self(X[rows])

    def targets(self, Y: Any) -> np.ndarray:
        """Return the targets around their mean."""
        return np.asarray(Y, dtype=np.float64) - self.target_mean


@dataclass(frozen=True, eq=False)
class RidgeProblem:
    """min Σ_i h_i ‖f(x_i) − y_i‖² + α ‖f‖²: sums over the rows, and the structure of the outputs.

    ``sums`` are around the means if there is an intercept; ``spectrum`` is the eigensystem of their
    Gram matrix and ΦᵀY, or None.
    """

    sums: RidgeStatistics
    rows: CenteredRows
    outputs: Outputs
    spectrum: Eigensystem | None = None

    @property
    def matrix(self) -> np.ndarray:
        """M of (M + penalty I) z = b."""
        return self.outputs.matrix(self.sums.gram)

    @property
    def right_side(self) -> np.ndarray:
        """b of (M + penalty I) z = b."""
        return self.outputs.right_side(self.sums.cross)


class Solution(NamedTuple):
    """Coefficients of the scalar features, (n_columns, n_outputs), and the number of steps."""

    coefficients: np.ndarray
    n_iter: int = 1


class Factorization(ABC):
    """A problem prepared by a solver, to be solved for one ridge after the other."""

    @abstractmethod
    def solve(self, alpha: float) -> Solution:
        """Return the minimizer for one ridge."""

    def mean_leverage(self, alpha: float) -> float:
        """Return the mean leverage of the rows; zero if no matrix was factorized."""
        return 0.0


class Solver(BaseEstimator, ABC):
    """Base of solvers of ridge problems; a parameter object, never fitted."""

    # True if it needs a matrix of all pairs of unknowns, or all rows and not only their sums.
    needs_matrix: ClassVar[bool] = False
    needs_rows: ClassVar[bool] = False

    @abstractmethod
    def init(
        self, problem: RidgeProblem, data: TrainingData | None = None, rng: Seed = None
    ) -> Factorization:
        """Return the factorization; ``data`` are the rows of the sums, None if not stored."""

    def check_parameters(self) -> None:
        """Raise an error for parameters that cannot be used."""
