"""Kernels of priors and measures as objects for scikit-learn's estimators."""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel, StationaryKernelMixin


class ScikitKernel(StationaryKernelMixin, Kernel):
    """The kernel of a prior or measure, for ``SVC``, ``KernelRidge`` or Gaussian processes.

    It has no hyperparameters: the optimizer of a Gaussian process leaves it as it is. Sums and
    products with kernels of ``sklearn.gaussian_process.kernels`` work.

    Parameters
    ----------
    source : a prior or a FourierMeasure
        Its kernel is computed.
    """

    def __init__(self, source: Any):
        self.source = source

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return k(X, Y), or the number k(x, y) for two vectors.

        With ``eval_gradient`` also return the derivatives in no hyperparameters, (n, n, 0).
        """
        if np.ndim(X) == 1 and np.ndim(Y) == 1:
            return float(self.source.kernel(np.atleast_2d(X), np.atleast_2d(Y))[0, 0])
        gram = self.source.kernel(X, Y)
        return (gram, np.empty((*gram.shape, 0))) if eval_gradient else gram

    def diag(self, X: Any) -> np.ndarray:
        """Return k(x, x), the mass of the measure, for each row."""
        return np.full(len(X), self.source._mass())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source!r})"
