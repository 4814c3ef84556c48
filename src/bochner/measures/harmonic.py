"""Real spherical harmonics in any dimension, and measures over them: kernels on the sphere."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import comb, lgamma, pi
from typing import Any, Self

import numpy as np

from .._checks import check_count
from .._loops.arrays import as_dense, frozen_array, working_dtype
from ..data import Block, as_rows
from ..data.checks import check_gram_inputs
from .fourier import AtomicMeasure, frozen_weights

# The largest array of harmonics that is allocated at once; larger ones raise an error.
LARGEST_BASIS_BYTES = 2**31
_UNIT_TOLERANCE = 1e-5


def harmonic_count(n_features: int, degree: int) -> int:
    """Return N(d, ℓ) = C(ℓ+d−1, ℓ) − C(ℓ+d−3, ℓ−2), the number of harmonics of degree ℓ in R^d.

    (Bullins et al. 2018 print C(ℓ+d−1, ℓ−2), which gives 5 instead of 7 at d = 3, ℓ = 3.)

    >>> [harmonic_count(3, degree) for degree in range(4)]
    [1, 3, 5, 7]
    """
    lower = comb(degree + n_features - 3, degree - 2) if degree >= 2 else 0
    return comb(degree + n_features - 1, degree) - lower


def basis_size(n_features: int, max_degree: int) -> int:
    """Return the number of harmonics up to ``max_degree`` J; (J + 1)² in three dimensions."""
    lower = comb(n_features + max_degree - 2, max_degree - 1) if max_degree >= 1 else 0
    return comb(n_features + max_degree - 1, max_degree) + lower


def harmonic_indices(n_features: int, max_degree: int) -> np.ndarray:
    """Return degree and position within it of each column of ``spherical_harmonics``."""
    return _harmonics_of(np.arange(max_degree + 1), n_features)[0]


def _harmonics_of(degrees, n_features):
    """Return (degree, position) of all harmonics of these degrees, and the count per degree."""
    counts = [harmonic_count(n_features, int(degree)) for degree in degrees]
    positions = np.concatenate([np.arange(count) for count in counts])
    return np.column_stack([np.repeat(degrees, counts), positions]).astype(np.int64), counts


def sphere_area(n_features: int) -> float:
    """Return |S^{d−1}| = 2 π^{d/2} / Γ(d/2)."""
    return float(2 * np.exp(n_features / 2 * np.log(pi) - lgamma(n_features / 2)))


def spherical_harmonics(X: Any, max_degree: int) -> np.ndarray:
    """Real orthonormal spherical harmonics of degree 0 … ``max_degree`` at the unit rows of X.

    Columns are ordered as in ``harmonic_indices``; ∫ Y_a Y_b over the sphere is 1 for a = b and 0
    otherwise. They are homogeneous polynomials, built dimension by dimension by the three-term
    recurrence of orthonormal Gegenbauer polynomials. This needs no angles, so the poles are not
    special, and it is stable at high degree.

    Parameters
    ----------
    X : array (n_samples, n_features)
        Points of the unit sphere.
    max_degree : int
        The largest degree.

    Examples
    --------
    >>> import numpy as np
    >>> spherical_harmonics(np.array([[0.0, 0.0, 1.0]]), 1).round(4) + 0.0
    array([[0.2821, 0.4886, 0.    , 0.    ]])
    """
    max_degree = check_count(max_degree, "max_degree", minimum=0)
    X = as_dense(X)
    if X.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional (points, features), got {X.ndim} dimension(s)."
        )
    check_basis(X.shape[1], max_degree, X.shape[0])
    check_unit_rows(X)
    return np.concatenate(harmonics_by_degree(X, max_degree), axis=1).astype(
        working_dtype(X), copy=False
    )


def check_basis(n_features: int, max_degree: int, n_rows: int) -> int:
    """Return the number of columns up to ``max_degree``; reject a basis that is too large."""
    if n_features < 2:
        raise ValueError(
            f"Spherical harmonics need points with at least 2 features, got {n_features}."
        )
    n_columns = basis_size(n_features, max_degree)
    if 8 * n_columns * n_rows > LARGEST_BASIS_BYTES:
        raise ValueError(
            f"max_degree={max_degree} in {n_features} dimensions means {n_columns} harmonics; for "
            f"{n_rows} rows they take {8 * n_columns * n_rows / 2**30:.3g} GiB, and the limit is "
            f"{LARGEST_BASIS_BYTES / 2**30:.3g} GiB. Lower max_degree, or give fewer rows at once."
        )
    return n_columns


def check_unit_rows(X: np.ndarray) -> None:
    """Reject rows that do not lie on the unit sphere."""
    norms = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    wrong = ~(np.abs(norms - 1) <= _UNIT_TOLERANCE)
    if np.any(wrong):
        worst = int(np.argmax(wrong))
        advice = (
            "A row of zeros has no direction: drop it" if norms[worst] == 0 else "Normalize first"
        )
        raise ValueError(
            f"Spherical harmonics need unit rows, but row {worst} of X has norm "
            f"{norms[worst]:.3g}. {advice}, e.g. make_pipeline(Normalizer(), ...)."
        )


def harmonics_by_degree(X, max_degree):
    """Return the harmonics of each degree, (n_rows, N(d, degree)) in float64."""
    X = X.astype(np.float64, copy=False)
    planar = (X[:, 0] + 1j * X[:, 1])[:, None]
    power = np.ones_like(planar)
    levels = [np.full((len(X), 1), 1 / np.sqrt(2 * pi))]
    for _ in range(max_degree):
        power = power * planar
        levels.append(np.hstack([power.real, power.imag]) / np.sqrt(pi))
    squared_radius = X[:, 0] ** 2 + X[:, 1] ** 2
    for k in range(3, X.shape[1] + 1):
        squared_radius = squared_radius + X[:, k - 1] ** 2
        levels = _lifted(levels, X[:, k - 1], squared_radius, k, max_degree)
    return levels


def _lifted(levels, t, squared_radius, k, max_degree):
    """Return harmonics on the sphere in R^k from those in R^{k−1}.

    Each one of degree j is multiplied by the factors of degree 0 … J − j in the new coordinate.
    """
    lifted: list[list[np.ndarray]] = [[] for _ in range(max_degree + 1)]
    for j, lower in enumerate(levels):
        for m, factor in enumerate(
            _gegenbauer_factors(t, squared_radius, j + (k - 2) / 2, max_degree - j)
        ):
            lifted[j + m].append(np.asarray(factor)[..., None] * lower)
    return [np.hstack(columns) for columns in lifted]


def _gegenbauer_factors(
    t: np.ndarray, squared_radius: np.ndarray, mu: float, max_degree: int
) -> Iterator[np.ndarray]:
    """Yield the orthonormal Gegenbauer polynomials of index ``mu`` and degree 0 … ``max_degree``.

    They are homogeneous: r^m p_m(t / r), by the three-term recurrence.  The first one is a number.
    """
    previous, below = 0.0, 0.0
    current = np.exp((lgamma(mu + 1) - lgamma(mu + 0.5)) / 2) / pi**0.25
    for m in range(max_degree):
        yield current
        above = 0.5 * np.sqrt((m + 1) * (m + 2 * mu) / ((m + 1 + mu) * (m + mu)))
        previous, current = current, (t * current - below * squared_radius * previous) / above
        below = above
    yield current


@lru_cache(maxsize=2**14)
def degree_path(n_features: int, degree: int, position: int) -> tuple[tuple[int, ...], int]:
    """Return the degrees ℓ_2 <= … <= ℓ_d of the factors of one harmonic, and its planar position.

    ℓ_d is its degree, and ℓ_k that of the harmonic in R^k that the remaining factors multiply.
    """
    path = [degree]
    for k in range(n_features - 1, 1, -1):
        # Harmonics in R^{k+1} of one degree are ordered by those in R^k that they are made of.
        first = [0, *(basis_size(k, j) for j in range(degree))]
        degree = bisect_right(first, position) - 1
        position -= first[degree]
        path.append(degree)
    return tuple(path[::-1]), position


def harmonic_columns(X: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return single harmonics at the unit rows of X, (n_rows, n_indices) in float64.

    Equal to these columns of ``spherical_harmonics``, without the others: a harmonic is the real or
    imaginary part of a power in the plane times d − 2 Gegenbauer factors, O(d + degree) for each
    row.
    """
    coordinates = np.ascontiguousarray(X.T, dtype=np.float64)
    planar, squared_radii = coordinates[0] + 1j * coordinates[1], np.cumsum(coordinates**2, axis=0)
    columns = np.empty((len(indices), len(X)))
    for column, (degree, position) in zip(columns, indices.tolist(), strict=True):
        path, part = degree_path(len(coordinates), degree, position)
        power = planar ** path[0]
        np.divide(
            power.imag if part else power.real, np.sqrt(pi if path[0] else 2 * pi), out=column
        )
        steps = zip(coordinates[2:], squared_radii[2:], pairwise(path), strict=True)
        for k, (t, squared_radius, (lower, upper)) in enumerate(steps, start=3):
            *_, factor = _gegenbauer_factors(t, squared_radius, lower + (k - 2) / 2, upper - lower)
            column *= factor
    return columns.T


@dataclass(frozen=True, eq=False, repr=False)
class HarmonicMeasure(AtomicMeasure):
    """k(x, z) = |S| Σ_j weights[j] Y_j(x) Y_j(z) on the unit sphere.

    The factor |S|, the area of the sphere, makes the mean of k(x, x) over the sphere equal to the
    measure's mass. Single harmonics give a kernel, but not a rotation-invariant one: for that all
    harmonics of a degree need equal weight, see ``zonal``.

    Parameters
    ----------
    indices : array (n_atoms, 2) of int
        Degree and position of each harmonic.
    weights : array (n_atoms,)
        Their weights, not negative.

    Examples
    --------
    >>> import numpy as np
    >>> measure = HarmonicMeasure(np.array([[1, 0]]), np.array([1.0]))
    >>> measure.kernel(np.array([[0.0, 0.0, 1.0]])).round(6)
    array([[3.]])
    """

    indices: np.ndarray
    weights: np.ndarray

    def __post_init__(self) -> None:
        indices = np.asarray(self.indices)
        if (
            indices.ndim != 2
            or indices.shape[1] != 2
            or indices.dtype.kind not in "iu"
            or np.any(indices < 0)
        ):
            raise ValueError(
                "indices must be (n_atoms, 2) non-negative integers, rows of (degree, position "
                f"within the degree); got shape {indices.shape} and dtype {indices.dtype}. "
                "Write e.g. np.array([[2, 0]])."
            )
        object.__setattr__(self, "indices", frozen_array(indices, "indices", 2, dtype=np.int64))
        object.__setattr__(self, "weights", frozen_weights(self.weights, len(self.indices)))

    @classmethod
    def zonal(cls, degrees: Any, weights: Any, n_features: int) -> Self:
        """Return a rotation-invariant measure: the harmonics of a degree share its weight equally.

        k(x, x) is then the mass.
        """
        indices, counts = _harmonics_of(np.asarray(degrees), n_features)
        return cls(indices, np.repeat(np.asarray(weights) / counts, counts))

    @property
    def n_columns(self) -> int:
        """Number of columns of ``features``: one for each atom."""
        return len(self)

    def features(self, X: Any, out: np.ndarray | None = None) -> Any:
        """Return √(w_j |S|) Y_j(x), (n_samples, n_atoms), whose inner products are ``kernel``.

        Rows of X must be unit vectors.
        """
        rows = as_rows(X)
        max_degree, n_features = int(self.indices[:, 0].max()), rows.n_features
        check_basis(n_features, 0 if _is_sparse(self.indices, n_features) else max_degree, 1)
        last = np.array([harmonic_count(n_features, degree) for degree in range(max_degree + 1)])[
            self.indices[:, 0]
        ]
        if np.any(self.indices[:, 1] >= last):
            degree, position = self.indices[np.argmax(self.indices[:, 1] >= last)]
            raise ValueError(
                f"Atom (degree {degree}, position {position}) does not exist on the sphere in "
                f"{n_features} dimensions: degree {degree} has "
                f"{harmonic_count(n_features, int(degree))} harmonics."
            )
        return rows.map(self.block(n_features), self.n_columns, out=out)

    def block(self, n_features: int) -> Block:
        """Return the feature map as a function of a block of rows.

        A dense measure needs memory for the basis twice: degree by degree, then joined.
        """
        if _is_sparse(self.indices, n_features):
            row_bytes = 8 * (len(self) + 2 * n_features + 10)
        else:
            row_bytes = 16 * basis_size(n_features, int(self.indices[:, 0].max()))
        return Block(_features_block, self.indices, self.weights, row_bytes=row_bytes)

    def merged(self) -> Self:
        """Return the same kernel with equal harmonics joined and zero weights dropped."""
        return self._merged_by(self.indices)

    def onnx_features(self, X: Any, n_features: int) -> Any:
        """Return ``features`` as a tensor of an ONNX graph; unit norms of rows are not checked."""
        max_degree = int(self.indices[:, 0].max())
        x = [X.columns([k]) for k in range(n_features)]
        real, imaginary = 0.0 * x[0] + 1.0, 0.0 * x[0]
        levels = [[real / np.sqrt(2 * pi)]]
        for _ in range(max_degree):
            real, imaginary = real * x[0] - imaginary * x[1], real * x[1] + imaginary * x[0]
            levels.append([real / np.sqrt(pi), imaginary / np.sqrt(pi)])
        squared_radius = x[0] * x[0] + x[1] * x[1]
        for k in range(3, n_features + 1):
            t = x[k - 1]
            squared_radius = squared_radius + t * t
            lower_levels, levels = levels, [[] for _ in range(max_degree + 1)]
            for j, lower in enumerate(lower_levels):
                mu = j + (k - 2) / 2
                factors = _gegenbauer_factors(t, squared_radius, mu, max_degree - j)
                for m, factor in enumerate(factors):
                    levels[j + m].extend(factor * column for column in lower)
        chosen = X.graph.concat([levels[degree][position] for degree, position in self.indices])
        return chosen * np.sqrt(self.weights * sphere_area(n_features))


def _is_sparse(indices, n_features):
    """Return True if single harmonics cost less than the basis up to their largest degree."""
    max_degree = int(indices[:, 0].max())
    return len(indices) * (n_features + max_degree) < basis_size(n_features, max_degree)


def _features_block(indices, weights, X, out=None):
    X = as_dense(X)
    check_unit_rows(X)
    scale = np.sqrt(weights * sphere_area(X.shape[1]))
    if out is None:
        out = np.empty((len(X), len(indices)), working_dtype(X))
    if _is_sparse(indices, X.shape[1]):
        np.multiply(harmonic_columns(X, indices), scale, out=out, casting="same_kind")
        return out
    levels = harmonics_by_degree(X, int(indices[:, 0].max()))
    for column, (degree, position) in enumerate(indices):
        out[:, column] = scale[column] * levels[degree][:, position]
    return out


def arc_cosine_kernel(X: Any, Z: Any = None) -> np.ndarray:
    """Return (1/π) ‖x‖ ‖z‖ (sin θ + (π − θ) cos θ), θ the angle between x and z.

    This is the arc-cosine kernel of degree 1 (Cho & Saul 2009), a fixed rotation-invariant kernel
    and a baseline for learned ones on the sphere.

    Parameters
    ----------
    X : array (n_samples, n_features)
        Points other than the origin.
    Z : array (n_other_samples, n_features), default None
        Other points; None: X again.

    Examples
    --------
    >>> arc_cosine_kernel([[1.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]]).round(12)
    array([[1., 0.]])
    """
    X, Z = check_gram_inputs(X, Z)
    norms = np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(Z, axis=1))
    cosine = np.clip(X @ Z.T / np.where(norms > 0, norms, 1), -1, 1)
    angle = np.arccos(cosine)
    return norms * (np.sin(angle) + (pi - angle) * cosine) / pi
