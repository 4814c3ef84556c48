"""The prior of columns that hold categories."""

import numpy as np

from .._loops.category_grams import CategoryKernel
from .._loops.grams import ProductKernel
from .base import SpectralPrior
from .derivatives import product_gradient, radial_gradient
from .sampling import uniforms

# Distance between any two levels of a category, that of binary columns of ``TableInputs``.
_GAP = 1.5


class WithCategories(SpectralPrior):
    """A product prior for rows with codes of categories: k(x, z) = k'(x', z') Π_j s_j^[x_j ≠ z_j].

    Codes are integers, whose order has no meaning. k' is the kernel of ``prior`` for the other
    columns. The factor of a column of codes is 1 if the codes are equal. Otherwise it is s_j, the
    factor of ``prior`` at the distance 1.5. For frequencies, ω_j is 0 with probability s_j, and
    otherwise uniform on (−π, π). On integers, the mean of cos(ω_j (x_j − z_j)) is then 1 for equal
    codes and s_j for different ones.

    ``Evidence`` learns a rate (and for ``Anova`` a weight) for each column of codes, too. The
    linear part leaves these columns out.

    Parameters
    ----------
    prior : Anova, Laplace or Gaussian
        The prior, with parameters for all columns.
    categories : sequence of int
        The columns that hold codes.

    Examples
    --------
    >>> from bochner import Laplace
    >>> prior = WithCategories(Laplace(gamma=0.5), categories=[1])
    >>> prior.kernel([[0.0, 4.0]], [[1.0, 4.0], [0.0, 0.0], [0.0, 9.0]]).round(3)
    array([[0.607, 0.472, 0.472]])
    """

    def __init__(self, prior, categories):
        self.prior = prior
        self.categories = categories

    @property
    def _samplings(self):  # type: ignore[override]
        return tuple(name for name in self.prior._samplings if name != "orthogonal")

    @property
    def family(self):
        return self.prior.family

    @property
    def has_column_factors(self):  # type: ignore[override]
        return self.prior.has_column_factors

    @property
    def weighs_columns(self):
        return self.prior.weighs_columns

    @property
    def has_finite_variance(self):
        return self.prior.has_finite_variance

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        frequencies = self.prior._frequencies(n_atoms, n_features, rng, sampling)
        shares = self.compiled(n_features).shares()
        uniform = uniforms(n_atoms, len(shares), rng, "iid")
        frequencies[:, list(self.categories)] = lattice_quantile(uniform, shares)
        return frequencies

    def _gram(self, X, Z):
        return self.compiled(X.shape[1]).gram(X, None if Z is X else Z)

    def compiled(self, n_features):
        """Return the kernel of the prior with the factors of the categories."""
        if not self.prior.has_column_factors:
            raise TypeError(
                "WithCategories needs a prior whose kernel is a product over columns, got "
                f"{self.prior!r}. Write e.g. WithCategories(Anova(), categories)."
            )
        columns = np.asarray(self.categories, dtype=np.intp)
        return CategoryKernel(self.prior.compiled(n_features), columns, _GAP)

    def start_rate(self, n_features):
        """Return the rate of all columns from which Evidence starts."""
        return self.prior.start_rate(n_features)

    def with_rates(self, rates, weights):
        """Return a copy with these rates and weights of all columns."""
        return WithCategories(self.prior.with_rates(rates, weights), self.categories)

    def gradient(self, X, points, coefficients, side=0):
        """Return the derivatives, which are zero for columns of codes."""
        kernel = self.compiled(X.shape[1])
        if isinstance(kernel.kernel, ProductKernel):
            gradient = product_gradient(kernel, X, points, coefficients, side)
        else:
            slope, rates = -kernel.gram(X, points) / 2, kernel.rates
            gradient = radial_gradient(X * rates, points * rates, slope, coefficients, rates)
        gradient[:, :, kernel.columns] = 0.0
        return gradient

    def column_factor(self, j, x, z, n_features, whole=False):
        kernel = self.compiled(n_features)
        if j not in kernel.columns:
            return self.prior.column_factor(j, x, z, n_features, whole)
        share = float(kernel.shares()[kernel.columns == j][0])
        is_equal = x[:, None] == z
        return (0.0, np.where(is_equal, 1.0, share)) if whole else (share, (1 - share) * is_equal)

    def onnx(self, X, points):
        kernel = self.compiled(points.shape[1])
        is_other = np.ones(points.shape[1])
        is_other[kernel.columns] = 0.0
        gram = self.prior.onnx(X * is_other, points * is_other)
        for j, share in zip(kernel.columns, kernel.shares(), strict=True):
            is_equal = X.graph.node("Equal", X.columns([j]), points[:, j][None])
            gram = gram * X.graph.where(is_equal, 1.0, float(share))
        return gram


def lattice_quantile(uniform: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return quantiles of a variable that is 0 with probability share, else uniform on (−π, π)."""
    centered = 2 * uniform - 1
    size = np.maximum(np.abs(centered) - shares, 0.0) / np.maximum(1 - shares, 1e-300)
    return np.pi * np.sign(centered) * size
