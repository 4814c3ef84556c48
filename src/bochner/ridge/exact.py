"""OperatorKernelRidge: the exact operator-valued kernel ridge, to compare the random features with."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._compute import is_dask
from .._validation import check_count, check_rows
from ..operators import Decomposable, OperatorKernel
from .checks import check_alphas, check_targets
from .eigen import Eigensystem, OutputBasis
from .solver_choice import check_output_count, is_learned, numeric_output_matrix
from .statistics import RidgeStatistics

# Memory for one block of K(x, X_train) while predicting.
_PREDICT_BYTES = 2**26


class OperatorKernelRidge(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """f(x) = Σ_j K(x, x_j) c_j with (G + αI) c = y, G the matrix of all K(x_i, x_j): exact, and cubic in n.

    Decomposable kernels are solved through k and A apart (n x n instead of (n p) x (n p)).

    Parameters
    ----------
    kernel : Decomposable, CurlFree, DivergenceFree or Helmholtz; None is ``Decomposable()``
    alpha : float or list of floats, default 1.0
        From a list the ridge with the smallest exact leave-one-out error is taken.
    max_bytes : int, default 2 GiB
        Kernel matrices larger than this are refused before they are allocated.

    Attributes
    ----------
    dual_coef_ : (n_samples, n_outputs), the c_j
    kernel_ : the kernel with its bandwidth and output matrix as numbers
    alpha_, loo_errors_ : the ridge in use, and the mean squared leave-one-out error of each of several

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import DivergenceFree, Gaussian
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    >>> rotation = np.stack([-X[:, 1], X[:, 0]], axis=1)
    >>> model = OperatorKernelRidge(DivergenceFree(Gaussian(gamma=0.5)), alpha=1e-6).fit(X, rotation)
    >>> bool(model.score(X, rotation) > 0.9999)
    True
    """

    def __init__(self, kernel: OperatorKernel | None = None, *, alpha: Any = 1.0, max_bytes: int = 2**31):
        self.kernel = kernel
        self.alpha = alpha
        self.max_bytes = max_bytes

    def fit(self, X: Any, y: Any) -> OperatorKernelRidge:
        """Solve for the coefficients of the training points."""
        alphas, several = check_alphas(self.alpha)
        check_count(self.max_bytes, "max_bytes")
        if self.kernel is not None and not isinstance(self.kernel, OperatorKernel):
            raise TypeError(
                f"kernel must be an operator-valued kernel such as CurlFree(Gaussian()), got {self.kernel!r}."
            )
        X = check_rows(self, X, reset=True).source
        if is_dask(X):
            raise TypeError("The exact ridge needs all rows at once; use OperatorRidge for a Dask array.")
        y = np.asarray(check_targets(self, X, y, need_columns=True))
        kernel = (Decomposable() if self.kernel is None else self.kernel).resolved(X)
        decomposable = isinstance(kernel, Decomposable)
        side = X.shape[0] * (1 if decomposable else y.shape[1])
        if 8 * side**2 > self.max_bytes:
            raise ValueError(
                f"The exact kernel matrix of {X.shape[0]} points has {side} x {side} entries, {8e-9 * side**2:.1f} GB, more than "
                f"max_bytes={self.max_bytes}. Use OperatorRidge, or raise max_bytes."
            )
        self.X_fit_ = X
        self.__dict__.pop("loo_errors_", None)
        check_output_count(kernel, X.shape[1], y.shape[1])
        if decomposable:
            self._fit_decomposable(kernel, alphas, several, y)
        else:
            self._fit_whole(kernel, alphas, several, y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """f(X), (n_samples, n_outputs)."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False).source
        n_outputs = self.dual_coef_.shape[1]
        decomposable = isinstance(self.kernel_, Decomposable)
        row_bytes = 8 * len(self.dual_coef_) * (1 if decomposable else n_outputs**2)
        size = max(1, _PREDICT_BYTES // row_bytes)
        predictions = np.empty((X.shape[0], n_outputs), dtype=X.dtype)
        for start in range(0, X.shape[0], size):
            rows = slice(start, start + size)
            if decomposable:
                scalar = self.kernel_._checked_prior().kernel(X[rows], self.X_fit_)
                predictions[rows] = scalar @ self.dual_coef_ @ self.kernel_.matrix()
            else:
                blocks = self.kernel_.kernel(X[rows], self.X_fit_)
                predictions[rows] = np.tensordot(blocks, self.dual_coef_, axes=([1, 3], [0, 1]))
        return predictions

    def _fit_decomposable(self, kernel, alphas, several, y):
        gram = np.asarray(kernel._checked_prior().kernel(self.X_fit_), dtype=np.float64)
        word = kernel.output_matrix
        values = vectors = None
        if several or is_learned(word):
            values, vectors = _spectrum(gram)
        self.kernel_ = clone(kernel).set_params(output_matrix=self._output_matrix(word, y, values, vectors))
        basis = OutputBasis.of(self.kernel_.matrix())
        self.alpha_ = float(alphas[0])
        if values is None and np.ptp(basis.scales) <= 1e-12 * basis.scales[-1]:
            # Independent outputs of equal scale and one ridge: a Cholesky factor is ten times cheaper than eigenvectors.
            gram *= basis.scales[-1]
            gram[np.diag_indices_from(gram)] += self.alpha_
            self.dual_coef_ = cho_solve(cho_factor(gram, overwrite_a=True, check_finite=False), y, check_finite=False)
            return
        if values is None:
            values, vectors = _spectrum(gram)
        rotated = vectors.T @ (y @ basis.vectors)
        if several:
            squares = vectors**2
            self.loo_errors_ = np.empty(len(alphas))
            for index, alpha in enumerate(alphas):
                inverse = 1 / (values[:, None] * basis.scales + alpha)
                left_out = (vectors @ (rotated * inverse)) / (squares @ inverse)
                self.loo_errors_[index] = np.mean(left_out**2)
            self.alpha_ = float(alphas[np.argmin(self.loo_errors_)])
        shrunk = rotated / (values[:, None] * basis.scales + self.alpha_)
        self.dual_coef_ = vectors @ shrunk @ basis.vectors.T

    def _output_matrix(self, asked, y, values, vectors):
        system = None
        if values is not None:
            system = Eigensystem(values, vectors, np.sqrt(values)[:, None] * (vectors.T @ y))
        nothing = np.zeros(0)
        sums = RidgeStatistics(nothing, nothing, y.T @ y, nothing, y.sum(axis=0), float(len(y)), np.zeros(y.shape[1]))
        return numeric_output_matrix(asked, np.atleast_2d(np.cov(y.T, bias=True)), sums, system)

    def _fit_whole(self, kernel, alphas, several, y):
        self.kernel_ = kernel
        n_samples, n_outputs = y.shape
        gram = kernel.kernel(self.X_fit_).transpose(0, 2, 1, 3).reshape(y.size, y.size)
        self.alpha_ = float(alphas[0])
        if not several:
            gram[np.diag_indices_from(gram)] += self.alpha_
            solution = cho_solve(cho_factor(gram, overwrite_a=True, check_finite=False), y.ravel(), check_finite=False)
            self.dual_coef_ = solution.reshape(y.shape)
            return
        values, vectors = _spectrum(gram)
        rotated = vectors.T @ y.ravel()
        blocks = vectors.reshape(n_samples, n_outputs, -1)
        self.loo_errors_ = np.empty(len(alphas))
        for index, alpha in enumerate(alphas):
            inverse = 1 / (values + alpha)
            coefficients = (vectors @ (rotated * inverse)).reshape(y.shape)
            corners = np.einsum("iak,k,ibk->iab", blocks, inverse, blocks, optimize=True)
            self.loo_errors_[index] = np.mean(np.linalg.solve(corners, coefficients[:, :, None]) ** 2)
        self.alpha_ = float(alphas[np.argmin(self.loo_errors_)])
        self.dual_coef_ = (vectors @ (rotated / (values + self.alpha_))).reshape(y.shape)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.single_output = False
        return tags


def _spectrum(gram):
    values, vectors = eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
    return np.maximum(values, 0.0), vectors
