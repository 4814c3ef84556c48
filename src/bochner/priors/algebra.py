"""Sums, multiples and products of priors."""

import operator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from .._checks import check_positive, missing_method
from .base import ParameterGroup, SpectralPrior


class Composite(SpectralPrior):
    """Base of priors that consist of other priors, whose kernels ``_join`` combines.

    The methods for derivatives are those of linear combinations.
    """

    _names: ClassVar[tuple[str, ...]]  # the parameters that are priors
    _join: Any

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
        each = [part._samplings for part in self._parts()]
        return tuple(one for one in SpectralPrior._samplings if all(one in own for own in each))

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

    def _mass(self):
        return self._join(*(part._mass() for part in self._parts()))

    def _gram(self, X, Z):
        return self._join(*(part._gram(X, Z) for part in self._parts()))

    def lower_gram(self, X):
        with np.errstate(all="ignore"):  # entries above the diagonal are arbitrary
            return self._join(*(part.lower_gram(X) for part in self._parts()))

    def hessian(self, X, Z, columns):
        return self._join(*(part.hessian(X, Z, columns) for part in self._parts()))

    def gradient(self, X, points, coefficients, side=0):
        parts = self._parts()
        return self._join(*(part.gradient(X, points, coefficients, side) for part in parts))

    def onnx(self, X, points):
        return self._join(*(part.onnx(X, points) for part in self._parts()))

    def with_rates(self, rates, weights):
        """Return a copy in which all parts have these rates and weights of the columns."""
        return self._with_parts([part.with_rates(rates, weights) for part in self._parts()])

    def gram_slopes(self, X, gram, pull):
        raise missing_method(self, "gram_slopes", "The slope in common rates", "See group_slopes.")

    def groups(self, n_features):
        return [group for part in self._parts() for group in part.groups(n_features)]

    def _split(self, numbers):
        """Return the parts with their numbers, and the numbers that are left."""
        parts = []
        for part in self._parts():
            count = len(part.groups(1))
            parts.append(part.with_groups(numbers[:count]))
            numbers = numbers[count:]
        return parts, numbers

    def with_groups(self, numbers):
        return self._with_parts(self._split(numbers)[0])


class PriorSum(Composite):
    """The sum of two kernels, ``left + right``: a mixture of their spectra.

    Its mass, k(x, x), is the sum of the masses. ``Evidence`` learns the numbers of both summands,
    and a factor of the right one. Sums of more priors are nested.

    Parameters
    ----------
    left : SpectralPrior
        The first summand.
    right : SpectralPrior
        The second summand.

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

    _names = ("left", "right")
    _join = staticmethod(operator.add)

    def __init__(self, left, right):
        self.left = left
        self.right = right

    def __repr__(self, N_CHAR_MAX=700):
        return f"{self.left!r} + {self.right!r}"

    def _shares(self):
        masses = np.array([part._mass() for part in self._parts()])
        return masses / masses.sum()

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        wanted = n_atoms * self._shares()[0]
        # Other samplings are stratified; the expected number is the same.
        is_iid = sampling == "iid"
        n_left = rng.binomial(n_atoms, wanted / n_atoms) if is_iid else int(wanted + rng.random())
        is_left = rng.permutation(n_atoms) < n_left
        frequencies = np.empty((n_atoms, n_features))
        for part, own in zip(self._parts(), (is_left, ~is_left)):
            if own.any():
                frequencies[own] = part._frequencies(own.sum(), n_features, rng, sampling)
        return frequencies

    def log_density(self, frequencies):
        values, slopes = zip(*(part.log_density(frequencies) for part in self._parts()))
        values = np.log(self._shares())[:, None] + np.array(values)
        total = np.logaddexp(*values)
        return total, np.einsum("pm,pmd->md", np.exp(values - total), np.array(slopes))

    def groups(self, n_features):
        """Return the groups of both summands, and the factor of the right one."""
        return [*super().groups(n_features), ParameterGroup("factor", 1.0, None)]

    def with_groups(self, numbers):
        (left, right), (factor,) = self._split(numbers)
        return PriorSum(left, ScaledPrior(right, float(factor[0])))

    def group_slopes(self, X, gram, pull):
        left, right = self._parts()
        right_gram = right.lower_gram(X)
        with np.errstate(all="ignore"):  # entries above the diagonal are arbitrary
            product = np.tril(pull * right_gram)
        factor_slope = 2 * product.sum(dtype=np.float64) - np.trace(product, dtype=np.float64)
        slopes = left.group_slopes(X, left.lower_gram(X), pull.copy())
        return [*slopes, *right.group_slopes(X, right_gram, pull), np.array([factor_slope])]


class PriorProduct(Composite):
    """The product of two kernels, ``left * right``: sums of independent frequencies.

    Its mass, k(x, x), is the product of the masses.

    Parameters
    ----------
    left : SpectralPrior
        The first factor.
    right : SpectralPrior
        The second factor.

    Examples
    --------
    >>> from bochner import Gaussian
    >>> prior = Gaussian(gamma=0.5) * Gaussian(gamma=1.5)
    >>> prior.kernel([[0.0]], [[1.0]]).round(3)  # exp(−2)
    array([[0.135]])
    """

    _names = ("left", "right")
    _join = staticmethod(operator.mul)

    def __init__(self, left, right):
        self.left = left
        self.right = right

    def __repr__(self, N_CHAR_MAX=700):
        return f"{_as_factor(self.left)} * {_as_factor(self.right)}"

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

    def group_slopes(self, X, gram, pull):
        left, right = self._parts()
        left_gram, right_gram = left.lower_gram(X), right.lower_gram(X)
        with np.errstate(all="ignore"):  # entries above the diagonal are arbitrary
            pulls = pull * right_gram, pull * left_gram
        slopes = left.group_slopes(X, left_gram, pulls[0])
        return [*slopes, *right.group_slopes(X, right_gram, pulls[1])]


class ScaledPrior(Composite):
    """The kernel ``factor * prior``: the same law of the frequencies, with another mass.

    ``Evidence`` ignores the factor: it learns factors of summands, and the scale of y.

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
        return f"{self.factor:.6g} * {_as_factor(self.prior)}"

    def _join(self, values):
        return values * check_positive(self.factor, "factor")

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        return self._parts()[0]._frequencies(n_atoms, n_features, rng, sampling)

    def log_density(self, frequencies):
        return self._parts()[0].log_density(frequencies)

    def column_factor(self, j, x, z, n_features, whole=False):
        constant, rest = self._parts()[0].column_factor(j, x, z, n_features, whole)
        return (self._join(constant), self._join(rest)) if j == 0 else (constant, rest)

    def with_groups(self, numbers):
        return self._parts()[0].with_groups(numbers)

    def group_slopes(self, X, gram, pull):
        return self._parts()[0].group_slopes(X, gram / self.factor, self._join(pull))


def _as_factor(prior):
    """Return the text of a prior, in parentheses if it is a sum."""
    return f"({prior!r})" if isinstance(prior, PriorSum) else repr(prior)
