"""Sums, multiples and products of priors, and priors that depend on some of the columns."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from .._checks import check_positive, missing_method
from .._loops.arrays import as_dense
from ..data import as_rows
from .base import ParameterGroup, SpectralPrior

# Rows from which ``OnColumns`` computes "scale" and "median".
_SOME_ROWS = 1000


@dataclass(frozen=True)
class CompositeKernel:
    """Compiled kernel that combines those of the parts of a prior."""

    join: Callable
    parts: tuple

    def gram(self, X, Z=None, *, lower=False):
        """Return k(x, z); with ``lower`` the upper half of a symmetric matrix is undefined."""
        with np.errstate(all="ignore"):
            return self.join(*(part.gram(X, Z, lower=lower) for part in self.parts))


@dataclass(frozen=True)
class ColumnsKernel:
    """Compiled kernel of some of the columns."""

    kernel: Any
    columns: np.ndarray

    def gram(self, X, Z=None, *, lower=False):
        """Return k(x, z); with ``lower`` the upper half of a symmetric matrix is undefined."""
        Z = None if Z is None else np.ascontiguousarray(Z[:, self.columns])
        return self.kernel.gram(np.ascontiguousarray(X[:, self.columns]), Z, lower=lower)


class _Composite(SpectralPrior):
    """Base of priors that consist of other priors: what all of these can do, it can do."""

    _names: ClassVar[tuple[str, ...]]  # the parameters that are priors

    def _parts(self) -> list[SpectralPrior]:
        parts = [getattr(self, name) for name in self._names]
        for name, part in zip(self._names, parts):
            if not isinstance(part, SpectralPrior):
                raise TypeError(
                    f"{name} of {type(self).__name__} must be a prior such as Gaussian(), got "
                    f"{part!r}."
                )
        return parts

    def _with_parts(self, parts) -> Self:
        return clone(self).set_params(**dict(zip(self._names, parts)))

    @property
    def _samplings(self):  # type: ignore[override]
        return tuple(
            name
            for name in SpectralPrior._samplings
            if all(name in part._samplings for part in self._parts())
        )

    @property
    def categories(self):
        return sorted({column for part in self._parts() for column in part.categories})

    @property
    def weighs_columns(self):
        return any(part.weighs_columns for part in self._parts())

    @property
    def has_finite_variance(self):
        return all(part.has_finite_variance for part in self._parts())

    def resolved(self, X, weights=None):
        return self._with_parts([part.resolved(X, weights) for part in self._parts()])

    def rescaled(self, scales):
        return self._with_parts([part.rescaled(scales) for part in self._parts()])

    def with_rates(self, rates, weights):
        """Return a copy in which all parts have these rates and weights of the columns."""
        return self._with_parts([part.with_rates(rates, weights) for part in self._parts()])

    def gram_slopes(self, X, gram, pull):
        raise missing_method(self, "gram_slopes", "The slope in common rates", "See group_slopes.")

    def groups(self, n_features):
        return [group for part in self._parts() for group in part.groups(n_features)]


class _Pair(_Composite):
    """Base of sums and products of two priors."""

    _names = ("left", "right")
    _join: ClassVar[Callable]

    def __init__(self, left, right):
        self.left = left
        self.right = right

    def _mass(self):
        return self._join(*(part._mass() for part in self._parts()))

    def _gram(self, X, Z):
        return self._join(*(part._gram(X, Z) for part in self._parts()))

    def lower_gram(self, X):
        with np.errstate(all="ignore"):  # entries above the diagonal are arbitrary
            return self._join(*(part.lower_gram(X) for part in self._parts()))

    def compiled(self, n_features):
        """Return the combined kernel, or None if a part has none."""
        parts = tuple(part.compiled(n_features) for part in self._parts())
        return None if None in parts else CompositeKernel(self._join, parts)

    def onnx(self, X, points):
        return self._join(*(part.onnx(X, points) for part in self._parts()))

    def _split(self, numbers):
        """Return the parts with their numbers, and the rest of the numbers."""
        left, right = self._parts()
        first = len(left.groups(1))
        both = first + len(right.groups(1))
        parts = left.with_groups(numbers[:first]), right.with_groups(numbers[first:both])
        return *parts, numbers[both:]


class PriorSum(_Pair):
    """The sum of two kernels, ``left + right``: a mixture of their spectra.

    Its mass, k(x, x), is the sum of the masses. ``Evidence`` learns the rates of both summands, and
    a factor of the right one. Sums of more priors are nested.

    Parameters
    ----------
    left, right : SpectralPrior
        The summands.

    Examples
    --------
    >>> from bochner import Gaussian, Matern
    >>> prior = Gaussian() + 2 * Matern()
    >>> prior
    Gaussian() + 2 * Matern()
    >>> prior.kernel([[0.0]])
    array([[3.]])
    >>> prior.set_params(left__gamma=0.5).left
    Gaussian(gamma=0.5)
    """

    _join = staticmethod(operator.add)

    def __repr__(self, N_CHAR_MAX=700):
        return f"{self.left!r} + {self.right!r}"

    def _shares(self):
        masses = np.array([part._mass() for part in self._parts()])
        return masses / masses.sum()

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        share = self._shares()[0]
        # Other samplings are stratified. In both cases n_atoms times the share is expected.
        n_left = (
            rng.binomial(n_atoms, share)
            if sampling == "iid"
            else int(n_atoms * share + rng.random())
        )
        is_left = np.arange(n_atoms) < n_left
        rng.shuffle(is_left)
        frequencies = np.empty((n_atoms, n_features))
        for part, chosen in zip(self._parts(), (is_left, ~is_left)):
            if chosen.any():
                count = np.count_nonzero(chosen)
                frequencies[chosen] = part._frequencies(count, n_features, rng, sampling)
        return frequencies

    def log_density(self, frequencies):
        values, slopes = zip(*(part.log_density(frequencies) for part in self._parts()))
        values = np.log(self._shares())[:, None] + np.array(values)
        total = np.logaddexp(*values)
        return total, np.einsum("pm,pmd->md", np.exp(values - total), np.array(slopes))

    def hessian(self, X, Z, columns):
        return sum(part.hessian(X, Z, columns) for part in self._parts())

    def gradient(self, X, points, coefficients, side=0):
        return sum(part.gradient(X, points, coefficients, side) for part in self._parts())

    def groups(self, n_features):
        """Return the groups of both summands, and the factor of the right one."""
        return [*super().groups(n_features), ParameterGroup("factor", 1.0, None)]

    def with_groups(self, numbers):
        left, right, (factor,) = self._split(numbers)
        return PriorSum(left, ScaledPrior(right, float(factor[0])))

    def group_slopes(self, X, gram, pull):
        left, right = self._parts()
        right_gram = right.lower_gram(X)
        with np.errstate(all="ignore"):  # entries above the diagonal are arbitrary
            product = np.tril(pull * right_gram)
        factor_slope = 2 * product.sum(dtype=np.float64) - np.trace(product, dtype=np.float64)
        return [
            *left.group_slopes(X, left.lower_gram(X), pull.copy()),
            *right.group_slopes(X, right_gram, pull),
            np.array([factor_slope]),
        ]


class PriorProduct(_Pair):
    """The product of two kernels, ``left * right``: sums of independent frequencies.

    Its mass, k(x, x), is the product of the masses.

    Parameters
    ----------
    left, right : SpectralPrior
        The factors.

    Examples
    --------
    >>> from bochner import Gaussian
    >>> prior = Gaussian(gamma=0.5) * Gaussian(gamma=1.5)
    >>> prior.kernel([[0.0]], [[1.0]]) == Gaussian(gamma=2.0).kernel([[0.0]], [[1.0]])
    array([[ True]])
    """

    _join = staticmethod(operator.mul)

    def __repr__(self, N_CHAR_MAX=700):
        return " * ".join(
            f"({part!r})" if isinstance(part, PriorSum) else repr(part)
            for part in (self.left, self.right)
        )

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        left, right = (
            part._frequencies(n_atoms, n_features, rng, sampling) for part in self._parts()
        )
        # Points of two Sobol nets with the same number depend on each other.
        return left + right[rng.permutation(n_atoms)]

    def hessian(self, X, Z, columns):
        """−∂_a ∂_b (l r) = −l_ab r − l r_ab − l_a r_b − l_b r_a, all derivatives in x − z."""
        left, right = self._parts()
        hessian = left.hessian(X, Z, columns) * right._gram(X, Z)[:, :, None, None]
        hessian += right.hessian(X, Z, columns) * left._gram(X, Z)[:, :, None, None]
        one, other = (part.gradient(X, Z, np.eye(len(Z)))[:, :, columns] for part in (left, right))
        crossed = one[:, :, :, None] * other[:, :, None, :]
        return hessian - crossed - crossed.swapaxes(2, 3)

    def gradient(self, X, points, coefficients, side=0):
        # The other factor depends on x, so that each row has its own coefficients.
        gradient = np.zeros((len(X), coefficients.shape[1], X.shape[1]))
        left, right = self._parts()
        for part, other in ((left, right), (right, left)):
            for i, factors in enumerate(other._gram(X, points)):
                own = factors[:, None] * coefficients
                gradient[i] += part.gradient(X[i : i + 1], points, own, side)[0]
        return gradient

    def column_factor(self, j, x, z, n_features, whole=False):
        (a, u), (b, v) = (part.column_factor(j, x, z, n_features, whole) for part in self._parts())
        return a * b, a * v + b * u + u * v

    def with_groups(self, numbers):
        return PriorProduct(*self._split(numbers)[:2])

    def group_slopes(self, X, gram, pull):
        left, right = self._parts()
        left_gram, right_gram = left.lower_gram(X), right.lower_gram(X)
        with np.errstate(all="ignore"):  # entries above the diagonal are arbitrary
            pulls = pull * right_gram, pull * left_gram
        return [
            *left.group_slopes(X, left_gram, pulls[0]),
            *right.group_slopes(X, right_gram, pulls[1]),
        ]


class ScaledPrior(_Composite):
    """The kernel ``factor * prior``: the same law of the frequencies, with another mass.

    ``Evidence`` ignores the factor: it learns the masses of summands relative to each other.

    Parameters
    ----------
    prior : SpectralPrior
        The prior that is multiplied.
    factor : float
        The factor, above zero.

    Examples
    --------
    >>> from bochner import Laplace
    >>> (2 * Laplace()).kernel([[0.0]])
    array([[2.]])
    """

    _names = ("prior",)

    def __init__(self, prior, factor):
        self.prior = prior
        self.factor = factor

    def __repr__(self, N_CHAR_MAX=700):
        inner = f"({self.prior!r})" if isinstance(self.prior, PriorSum) else repr(self.prior)
        return f"{self.factor:.6g} * {inner}"

    def _times(self, values):
        return check_positive(self.factor, "factor") * values

    def _mass(self):
        return self._times(self._parts()[0]._mass())

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        return self._parts()[0]._frequencies(n_atoms, n_features, rng, sampling)

    def _gram(self, X, Z):
        return self._times(self._parts()[0]._gram(X, Z))

    def lower_gram(self, X):
        return self._times(self._parts()[0].lower_gram(X))

    def compiled(self, n_features):
        """Return the multiplied kernel, or None if the prior has none."""
        kernel = self._parts()[0].compiled(n_features)
        return None if kernel is None else CompositeKernel(self._times, (kernel,))

    def log_density(self, frequencies):
        return self._parts()[0].log_density(frequencies)

    def hessian(self, X, Z, columns):
        return self._times(self._parts()[0].hessian(X, Z, columns))

    def gradient(self, X, points, coefficients, side=0):
        return self._times(self._parts()[0].gradient(X, points, coefficients, side))

    def column_factor(self, j, x, z, n_features, whole=False):
        constant, rest = self._parts()[0].column_factor(j, x, z, n_features, whole)
        return (self._times(constant), self._times(rest)) if j == 0 else (constant, rest)

    def onnx(self, X, points):
        return self._parts()[0].onnx(X, points) * self._times(1.0)

    def with_groups(self, numbers):
        return self._parts()[0].with_groups(numbers)

    def group_slopes(self, X, gram, pull):
        factor = self._times(1.0)
        return self._parts()[0].group_slopes(X, gram / factor, factor * pull)


class OnColumns(_Composite):
    """The kernel of a prior on some of the columns, constant in the others.

    Parameters
    ----------
    prior : SpectralPrior
        The prior of these columns.
    columns : sequence of int
        Numbers of the columns.

    Examples
    --------
    >>> from bochner import Gaussian, Periodic
    >>> prior = OnColumns(Periodic(period=1.0), [0]) * OnColumns(Gaussian(), [1])
    >>> prior.kernel([[0.0, 0.0]], [[3.0, 0.0], [0.0, 1.0]]).round(3)
    array([[1.   , 0.368]])
    """

    _names = ("prior",)

    def __init__(self, prior, columns):
        self.prior = prior
        self.columns = columns

    def _chosen(self, n_features=None):
        """Return the numbers of the columns after a check."""
        columns = np.asarray(self.columns)
        if columns.ndim != 1 or columns.size == 0 or columns.dtype.kind not in "iu":
            raise TypeError(
                f"columns must list numbers of columns, e.g. columns=[0], got {self.columns!r}."
            )
        if len(np.unique(columns)) < len(columns) or columns.min() < 0:
            raise ValueError(
                f"columns must be different numbers from zero on, got {self.columns!r}."
            )
        if n_features is not None and columns.max() >= n_features:
            raise ValueError(
                f"columns={self.columns!r} needs rows with at least {columns.max() + 1} columns, "
                f"got {n_features}."
            )
        return columns

    def _of(self, X):
        return np.ascontiguousarray(X[:, self._chosen(X.shape[1])])

    @property
    def categories(self):
        return [int(self._chosen()[j]) for j in self._parts()[0].categories]

    def resolved(self, X, weights=None):
        """Return this prior with numbers, computed from at most 1000 rows."""
        rows = as_rows(X)
        some = rows.spread(_SOME_ROWS, weights)
        points = self._of(as_dense(rows.take(some)))
        own = None if weights is None else weights[some]
        return self._with_parts([self._parts()[0].resolved(points, own)])

    def rescaled(self, scales):
        return self._with_parts([self._parts()[0].rescaled(scales[self._chosen(len(scales))])])

    def _mass(self):
        return self._parts()[0]._mass()

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        columns, frequencies = self._chosen(n_features), np.zeros((n_atoms, n_features))
        own = self._parts()[0]._frequencies(n_atoms, len(columns), rng, sampling)
        frequencies[:, columns] = own
        return frequencies

    def _gram(self, X, Z):
        return self._parts()[0]._gram(self._of(X), self._of(Z))

    def lower_gram(self, X):
        return self._parts()[0].lower_gram(self._of(X))

    def compiled(self, n_features):
        """Return the kernel of the columns, or None if the prior has none."""
        columns = self._chosen(n_features)
        kernel = self._parts()[0].compiled(len(columns))
        return None if kernel is None else ColumnsKernel(kernel, columns)

    def hessian(self, X, Z, columns):
        hessian = np.zeros((len(X), len(Z), len(columns), len(columns)))
        own = self._chosen(X.shape[1])
        _, places, numbers = np.intersect1d(columns, own, return_indices=True)
        inner = self._parts()[0].hessian(self._of(X), self._of(Z), numbers)
        hessian[:, :, places[:, None], places] = inner
        return hessian

    def gradient(self, X, points, coefficients, side=0):
        gradient = np.zeros((len(X), coefficients.shape[1], X.shape[1]))
        own = self._parts()[0].gradient(self._of(X), self._of(points), coefficients, side)
        gradient[:, :, self._chosen(X.shape[1])] = own
        return gradient

    def column_factor(self, j, x, z, n_features, whole=False):
        columns = self._chosen(n_features).tolist()
        if j in columns:
            own = columns.index(j)
            return self._parts()[0].column_factor(own, x, z, len(columns), whole)
        ones = np.ones((len(x), len(z)))
        return (0.0, ones) if whole else (1.0, 0 * ones)

    def onnx(self, X, points):
        columns = self._chosen(points.shape[1])
        return self._parts()[0].onnx(X.columns(columns), points[:, columns])

    def with_rates(self, rates, weights):
        """Return a copy with these rates and weights of the columns that it depends on."""
        columns = self._chosen(len(rates))
        weights = None if weights is None else weights[columns]
        return self._with_parts([self._parts()[0].with_rates(rates[columns], weights)])

    def groups(self, n_features):
        """Return the groups of the prior, with numbers of columns of X."""
        columns = self._chosen()
        return [
            ParameterGroup(
                one.kind, one.start, None if one.columns is None else columns[one.columns]
            )
            for one in self._parts()[0].groups(len(columns))
        ]

    def with_groups(self, numbers):
        return self._with_parts([self._parts()[0].with_groups(numbers)])

    def group_slopes(self, X, gram, pull):
        return self._parts()[0].group_slopes(self._of(X), gram, pull)
