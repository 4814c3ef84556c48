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
from .operator import check_partial


@dataclass(eq=False, repr=False)
class OperatorKernelRidge(MultiOutputMixin, RegressorMixin, Estimator):
    """Exact ridge regression with an operator-valued kernel; time is cubic in the number of rows.

    f(x) = Σ_j K(x, x_j) c_j with (G + α / h) c = y. G is the matrix of all K(x_i, x_j), and h are
    the weights. For decomposable kernels k A, n x n matrices replace the (n p) x (n p) matrix G.

    NaN in a two-dimensional y is a missing output: G is then the matrix between the observed
    entries of y, also for a decomposable kernel. Leave-one-out leaves out a row with all its
    outputs. See ``OperatorRidge`` for ``output_matrix="covariance"``.

    Parameters
    ----------
    kernel : an operator-valued kernel, default ``Decomposable()``
        ``Decomposable``, ``CurlFree``, ``DivergenceFree``, ``Helmholtz`` or ``OperatorMeasure``.
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
    _accepts_missing_outputs: ClassVar[bool] = True

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
        if data.target.is_partial:
            check_partial(self, kernel)
        if data.target.is_partial or not kernel.decomposable:
            kernel = kernel.resolved_outputs(data.target.covariance(data.weights))
        kept = np.flatnonzero(data.row_weights)
        weights = data.row_weights[kept]
        decouples = kernel.decomposable and not data.target.is_partial
        side = len(kept) if decouples else len(kept) * y.shape[1]
        if kernel.decomposable and not decouples:
            side = np.count_nonzero(~np.isnan(y[kept]))
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
        fit = self._fit_decomposable if decouples else self._fit_whole
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
        """Solve for the observed entries of y: one equation for each row and output."""
        self.kernel_ = kernel
        seen = np.flatnonzero(~np.isnan(y))
        root = np.repeat(np.sqrt(weights), y.shape[1])[seen, None]
        gram = root * self._observed_gram(seen, y) * root.T
        alphas = ridges(self.alpha, np.trace(gram) / (y.shape[1] * _mean_observed(y, weights)))
        right_side, self.dual_coef_ = root * y.reshape(-1, 1)[seen], np.zeros_like(y)
        if len(alphas) == 1:
            self.alpha_ = float(alphas[0])
            solution = ridge_solution(gram, right_side, alphas)
        else:
            system = Eigensystem.of(gram, right_side)
            design = np.zeros((y.size, len(seen)))
            design[seen] = system.vectors * np.sqrt(system.values) / root
            design = design.reshape(*y.shape, -1)
            self.alpha_ = self._chosen(alphas, system, np.atleast_1d, design, y, weights, together)
            solution = system.solution(np.array([self.alpha_]))
        self.dual_coef_.reshape(-1, 1)[seen] = root * solution

    def _observed_gram(self, seen, y):
        """Return K between the observed entries of y, whose numbers are ``seen``."""
        if self.kernel_.decomposable:
            row, output = np.divmod(seen, y.shape[1])
            gram = np.asarray(self.kernel_.checked_prior().kernel(self.X_fit_), dtype=np.float64)
            return gram[np.ix_(row, row)] * self.kernel_.matrix()[np.ix_(output, output)]
        gram = self.kernel_.kernel(self.X_fit_).transpose(0, 2, 1, 3).reshape(y.size, y.size)
        return gram if len(seen) == y.size else gram[np.ix_(seen, seen)]

    def _chosen(self, alphas, system, penalties, design, y, weights, together):
        """Return the ridge with the smallest leave-one-out error.

        ``design`` has the rows of a root of the kernel matrix; ``together`` is the weight that is
        left out with each row.
        """
        if len(alphas) == 1:
            return float(alphas[0])
        root = replace(system, projections=np.sqrt(system.values)[:, None] * system.projections)
        errors = np.empty(len(alphas))
        share, filled = _mean_observed(y, weights) / weights.sum(), np.nan_to_num(y)
        for index, alpha in enumerate(alphas):
            residuals = left_out_residuals(design, filled, root, penalties(alpha), together)
            errors[index] = np.average(np.mean(residuals**2, axis=1), weights=weights) / share
        self.alphas_, self.loo_errors_ = alphas, errors
        return chosen_ridge(alphas, errors)


def _mean_observed(y, weights):
    """Return the mean over the outputs of the weight of the rows that observe them."""
    return np.sum(weights * np.mean(~np.isnan(y), axis=1))
