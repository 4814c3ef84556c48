"""OperatorKernelRidge: the exact operator-valued kernel ridge, a reference for random features."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from ..._checks import check_count
from ..._estimator import Estimator
from ...data import Block
from ...operators import Decomposable, OperatorKernel
from ...solvers.choice import chosen_ridge, ridges
from ...solvers.direct import Eigensystem, left_out_residuals, ridge_solution
from ...solvers.problem import DecoupledOutputs


@dataclass(eq=False, repr=False)
class OperatorKernelRidge(MultiOutputMixin, RegressorMixin, Estimator):
    """Exact ridge regression with an operator-valued kernel; time is cubic in the number of rows.

    f(x) = Σ_j K(x, x_j) c_j with (G + α / h) c = y, G the matrix of all K(x_i, x_j), h the weights.
    Decomposable kernels k A are solved in two steps (n x n instead of (n p) x (n p) matrices).

    Parameters
    ----------
    kernel : an operator-valued kernel, default ``Decomposable()``
        ``Decomposable``, ``CurlFree``, ``DivergenceFree`` or ``Helmholtz``.
    alpha : "auto", float or list of floats, default "auto"
        The ridge. From a list, the value with the smallest exact leave-one-out error is chosen; a
        row is left out together with its copies and all their weight. "auto" is a list of 25, from
        1e-6 to 100 times the mean of K(x, x).
    max_bytes : int, default 2147483648
        Larger kernel matrices than this (2 GiB) raise an error before they are allocated.

    Attributes
    ----------
    dual_coef_ : (n_points, n_outputs), the c_j of the distinct rows with a weight
    kernel_ : the kernel with its bandwidth and output matrix as numbers
    alpha_ : the ridge in use
    alphas_, loo_errors_ : the ridges that were compared, and the leave-one-out error of each

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import DivergenceFree, Gaussian
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    >>> rotation = np.stack([-X[:, 1], X[:, 0]], axis=1)
    >>> kernel = DivergenceFree(Gaussian(gamma=0.5))
    >>> model = OperatorKernelRidge(kernel, alpha=1e-6).fit(X, rotation)
    >>> bool(model.score(X, rotation) > 0.9999)
    True
    """

    _defaults: ClassVar = {"kernel": Decomposable()}

    kernel: OperatorKernel | None = None
    _: KW_ONLY
    alpha: Any = "auto"
    max_bytes: int = 2**31

    def _check_parameters(self):
        ridges(self.alpha)
        check_count(self.max_bytes, "max_bytes")
        self._component("kernel", OperatorKernel)

    def _fit(self, data):
        rows = data.rows.local(
            0,
            "OperatorKernelRidge needs all rows at once on this machine; use OperatorRidge for a "
            "Dask array.",
        )
        y, self._one_dimensional = data.target.rows, data.target.one_dimensional
        kernel = self._component("kernel").resolved(rows, data.weights)
        kernel.check_outputs(rows.n_features, y.shape[1])
        kept = np.flatnonzero(data.row_weights)
        weights = data.row_weights[kept]
        side = len(kept) * (1 if kernel.decomposable else y.shape[1])
        if 8 * side**2 > self.max_bytes:
            raise ValueError(
                f"The exact kernel matrix of {len(kept)} points has {side} x {side} entries, "
                f"{8e-9 * side**2:.1f} GB, more than max_bytes={self.max_bytes}. Use "
                "OperatorRidge, or raise max_bytes."
            )
        together = weights  # the weight that is left out with each row
        equal = replace(data.take(kept), weights=weights).equal_rows()
        if equal is not None:
            # One point for all equal rows: a kernel matrix with equal rows loses digits.
            first = np.sort(equal.first)
            kept, weights = kept[first], equal.totals[equal.groups[first]]
            together = equal.left_out_weights()[first]
        self.X_fit_ = rows.take(kept)
        for name in ("alphas_", "loo_errors_"):
            self.__dict__.pop(name, None)
        fit = self._fit_decomposable if kernel.decomposable else self._fit_whole
        fit(kernel, y[kept], weights, together)

    def predict(self, X: Any) -> np.ndarray:
        """Return f(X), (n_samples, n_outputs), or (n_samples,) for one-dimensional y."""
        rows = self._read_rows(X)
        n_outputs = self.dual_coef_.shape[1]
        row_bytes = 8 * len(self.dual_coef_) * (1 if self.kernel_.decomposable else n_outputs**2)
        outputs = rows.map(Block(self._predict_block, row_bytes=row_bytes), n_outputs)
        return outputs[:, 0] if self._one_dimensional else outputs

    def _predict_block(self, X, out):
        if self.kernel_.decomposable:
            gram = self.kernel_.checked_prior().kernel(X, self.X_fit_)
            out[...] = gram @ self.dual_coef_ @ self.kernel_.matrix()
        else:
            gram = self.kernel_.kernel(X, self.X_fit_)
            out[...] = np.tensordot(gram, self.dual_coef_, axes=([1, 3], [0, 1]))

    # With r = √h, (G + α / h) c = y is (r G r + α) z = r y for c = r z: the system of rows with
    # weight one.

    def _fit_decomposable(self, kernel, y, weights, together):
        """Solve one ridge (k + α/t) z = y, c = z / t, for each eigenvector of A, eigenvalue t."""
        root = np.sqrt(weights)[:, None]
        gram = np.asarray(kernel.checked_prior().kernel(self.X_fit_), dtype=np.float64)
        gram = root * gram * root.T
        several = len(ridges(self.alpha)) > 1
        system = Eigensystem.of(gram, root * y) if several or kernel.learns_outputs else None
        learned_from = None
        if system is not None:
            projections = np.sqrt(system.values)[:, None] * system.projections
            squares = (weights[:, None] * y).T @ y
            learned_from = system.values, projections, squares, float(weights.sum())
        covariance = np.atleast_2d(np.cov(y.T, bias=True, aweights=weights))
        self.kernel_ = kernel.resolved_outputs(covariance, learned_from)
        outputs = DecoupledOutputs.of(self.kernel_.matrix())
        y = outputs.turned(y)
        alphas = ridges(self.alpha, outputs.mean_diagonal(np.diag(gram)) / weights.sum())
        if system is None:
            self.alpha_ = float(alphas[0])
            solution = ridge_solution(gram, root * y, outputs.penalties(self.alpha_))
        else:
            system = system.turned(outputs.vectors)
            design = system.vectors * np.sqrt(system.values) / root
            penalties = outputs.penalties
            self.alpha_ = self._chosen(alphas, system, penalties, design, y, weights, together)
            solution = system.solution(penalties(self.alpha_))
        start, scales = root * y / self.alpha_, outputs.scales
        scaled = np.divide(solution, scales, out=start, where=scales > 0)
        self.dual_coef_ = root * outputs.turned(scaled, back=True)

    def _fit_whole(self, kernel, y, weights, together):
        covariance = np.atleast_2d(np.cov(y.T, bias=True, aweights=weights))
        self.kernel_ = kernel = kernel.resolved_outputs(covariance)
        root = np.repeat(np.sqrt(weights), y.shape[1])[:, None]
        gram = kernel.kernel(self.X_fit_).transpose(0, 2, 1, 3).reshape(y.size, y.size)
        gram = root * gram * root.T
        alphas = ridges(self.alpha, np.trace(gram) / (y.shape[1] * weights.sum()))
        if len(alphas) == 1:
            self.alpha_ = float(alphas[0])
            solution = ridge_solution(gram, root * y.reshape(-1, 1), alphas)
            self.dual_coef_ = (root * solution).reshape(y.shape)
            return
        system = Eigensystem.of(gram, root * y.reshape(-1, 1))
        design = (system.vectors * np.sqrt(system.values) / root).reshape(*y.shape, -1)
        self.alpha_ = self._chosen(alphas, system, np.atleast_1d, design, y, weights, together)
        self.dual_coef_ = (root * system.solution(np.array([self.alpha_]))).reshape(y.shape)

    def _chosen(self, alphas, system, penalties, design, y, weights, together):
        """Return the ridge with the smallest leave-one-out error.

        ``design`` has the rows of a root of the kernel matrix; ``together`` is the weight that is
        left out with each row.
        """
        if len(alphas) == 1:
            return float(alphas[0])
        root = replace(system, projections=np.sqrt(system.values)[:, None] * system.projections)
        errors = np.empty(len(alphas))
        for index, alpha in enumerate(alphas):
            residuals = left_out_residuals(design, y, root, penalties(alpha), together)
            errors[index] = np.average(np.mean(residuals**2, axis=1), weights=weights)
        self.alphas_, self.loo_errors_ = alphas, errors
        return chosen_ridge(alphas, errors)
