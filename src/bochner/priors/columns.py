"""Priors that depend on some of the columns."""

from dataclasses import replace

import numpy as np

from .._loops.arrays import as_dense
from ..data import as_rows
from .algebra import Composite

# Rows from which "scale" and "median" are computed.
_SOME_ROWS = 1000


class OnColumns(Composite):
    """The kernel of a prior on some of the columns, constant in the others.

    Parameters
    ----------
    prior : SpectralPrior
        The prior of these columns.
    columns : sequence of int
        Numbers of the columns.

    Examples
    --------
    >>> from bochner import Gaussian
    >>> from bochner.priors import Periodic
    >>> prior = OnColumns(Periodic(period=1.0), [0]) * OnColumns(Gaussian(), [1])
    >>> prior.kernel([[0.0, 0.0]], [[3.0, 0.0], [0.0, 1.0]]).round(3)
    array([[1.   , 0.368]])
    """

    _names = ("prior",)

    def __init__(self, prior, columns):
        self.prior = prior
        self.columns = columns

    def _join(self, values):
        return values

    def _chosen(self, n_features=np.inf):
        """Return the numbers of the columns after a check."""
        columns = np.asarray(self.columns)
        is_list = columns.ndim == 1 and len(columns) > 0 and columns.dtype.kind in "iu"
        if not is_list or len(set(columns.tolist())) < len(columns) or columns.min() < 0:
            raise ValueError(
                "columns must list different numbers of columns, e.g. columns=[0], got "
                f"{self.columns!r}."
            )
        if columns.max() >= n_features:
            raise ValueError(f"columns={self.columns!r} do not exist in rows of {n_features}.")
        return columns

    def _of(self, X):
        return np.ascontiguousarray(X[:, self._chosen(X.shape[1])])

    @property
    def categories(self):
        return [int(self._chosen()[j]) for j in self.prior.categories]

    def resolved(self, X, weights=None):
        """Return this prior with numbers, computed from at most 1000 rows."""
        rows = as_rows(X)
        some = rows.spread(_SOME_ROWS, weights)
        own = None if weights is None else weights[some]
        return super().resolved(self._of(as_dense(rows.take(some))), own)

    def rescaled(self, scales):
        return super().rescaled(scales[self._chosen()])

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        columns, frequencies = self._chosen(n_features), np.zeros((n_atoms, n_features))
        own = self._parts()[0]._frequencies(n_atoms, len(columns), rng, sampling)
        frequencies[:, columns] = own
        return frequencies

    def _gram(self, X, Z):
        return super()._gram(self._of(X), self._of(Z))

    def lower_gram(self, X):
        return super().lower_gram(self._of(X))

    def hessian(self, X, Z, columns):
        _, places, numbers = np.intersect1d(columns, self._chosen(), return_indices=True)
        hessian = np.zeros((len(X), len(Z), len(columns), len(columns)))
        hessian[:, :, places[:, None], places] = super().hessian(self._of(X), self._of(Z), numbers)
        return hessian

    def gradient(self, X, points, coefficients, side=0):
        gradient = np.zeros((len(X), coefficients.shape[1], X.shape[1]))
        own = super().gradient(self._of(X), self._of(points), coefficients, side)
        gradient[:, :, self._chosen()] = own
        return gradient

    def column_factor(self, j, x, z, n_features, whole=False):
        columns = self._chosen(n_features).tolist()
        if j in columns:
            own = columns.index(j)
            return self._parts()[0].column_factor(own, x, z, len(columns), whole)
        return float(not whole), np.full((len(x), len(z)), float(whole))

    def onnx(self, X, points):
        columns = self._chosen(points.shape[1])
        return self._parts()[0].onnx(X.columns(columns), points[:, columns])

    def with_rates(self, rates, weights):
        """Return a copy with these rates and weights of the columns that it depends on."""
        columns = self._chosen(len(rates))
        return super().with_rates(rates[columns], None if weights is None else weights[columns])

    def groups(self, n_features):
        """Return the groups of the prior, with numbers of columns of X."""
        columns = self._chosen()
        return [
            one if one.columns is None else replace(one, columns=columns[one.columns])
            for one in super().groups(len(columns))
        ]

    def group_slopes(self, X, gram, pull):
        return self._parts()[0].group_slopes(self._of(X), gram, pull)
