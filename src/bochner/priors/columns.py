"""Priors that depend on some of the columns."""

from dataclasses import replace

import numpy as np

from .metric import WithMetric


class OnColumns(WithMetric):
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

    def __init__(self, prior, columns):
        self.prior = prior
        self.columns = columns

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

    def _map(self, n_features):
        columns = self._chosen(n_features)
        matrix = np.zeros((n_features, len(columns)))
        matrix[columns, np.arange(len(columns))] = 1.0
        return matrix, np.zeros(n_features)

    @property
    def categories(self):
        return [int(self._chosen()[j]) for j in self.prior.categories]

    def rescaled(self, scales):
        return super().rescaled(scales[self._chosen()])

    def column_factor(self, j, x, z, n_features, whole=False):
        columns = self._chosen(n_features).tolist()
        if j in columns:
            own = columns.index(j)
            return self._parts()[0].column_factor(own, x, z, len(columns), whole)
        return float(not whole), np.full((len(x), len(z)), float(whole))

    def with_rates(self, rates, weights):
        """Return a copy with these rates and weights of the columns that it depends on."""
        columns = self._chosen(len(rates))
        return super().with_rates(rates[columns], None if weights is None else weights[columns])

    def groups(self, n_features):
        """Return the groups of the prior, with numbers of columns of X."""
        columns = self._chosen()
        return [
            one if one.columns is None else replace(one, columns=columns[one.columns])
            for one in self._parts()[0].groups(len(columns))
        ]

    def group_slopes(self, X, gram, pull):
        return self._parts()[0].group_slopes(self._mapped(X), gram, pull)
