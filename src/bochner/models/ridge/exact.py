"""OperatorKernelRidge: the exact operator-valued kernel ridge, to compare the random features with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..._checks import check_count
from ..._estimator import NestedDefaults, restore_on_failure
from ...data import Block, LocalRows
from ...data.checks import check_rows, check_weights
from ...data.repetitions import equal_rows
from ...data.targets import Values
from ...operators import Decomposable, OperatorKernel
from ...solvers.outputs import DecoupledOutputs
from ...solvers.systems import Eigensystem, left_out_residuals, ridge_solution
from .alphas import chosen_ridge, ridges


class OperatorKernelRidge(MultiOutputMixin, RegressorMixin, NestedDefaults):
    """f(x) = Σ_j K(x, x_j) c_j with (G + α / h) c = y, G the matrix of all K(x_i, x_j), h the
    weights: exact, and cubic in n.

    Decomposable kernels are solved through k and A apart (n x n instead of (n p) x (n p)).

    Parameters
    ----------
    kernel : an operator-valued kernel, default ``Decomposable()``
        ``Decomposable``, ``CurlFree``, ``DivergenceFree`` or ``Helmholtz``.
    alpha : "auto", float or list of floats, default "auto"
        The ridge. From a list the one with the smallest exact leave-one-out error is taken; a row
        is left out together with its copies and all their weight. "auto" is a list of 25, from 1e-6
        to 100 times the mean of K(x, x).
    max_bytes : int, default 2147483648
        Kernel matrices larger than this (2 GiB) are refused before they are allocated.

    Attributes
    ----------
    dual_coef_ : (n_points, n_outputs), the c_j of the different rows that have a weight
    kernel_ : the kernel with its bandwidth and output matrix as numbers
    alpha_ : the ridge in use
    alphas_, loo_errors_ : several ridges, and the mean squared leave-one-out error of each

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

    _defaults: ClassVar = {"kernel": Decomposable()}

    def __init__(
        self, kernel: OperatorKernel | None = None, *, alpha: Any = "auto", max_bytes: int = 2**31
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.max_bytes = max_bytes

    @restore_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OperatorKernelRidge:
        """Solve for the coefficients of the training points; a row of weight 2 counts as two rows."""
        ridges(self.alpha)
        check_count(self.max_bytes, "max_bytes")
        rows = check_rows(self, X, reset=True)
        if not rows.is_local:
            raise TypeError(
                "OperatorKernelRidge needs all rows at once on this machine; use OperatorRidge for "
                "a Dask array."
            )
        target = Values.of(y, len(rows), owner=type(self).__name__)
        y, self._one_dimensional = target.rows, target.one_dimensional
        weights = check_weights(sample_weight, len(rows))
        kernel = self._component("kernel", OperatorKernel).resolved(rows, weights)
        kernel.check_outputs(rows.n_features, y.shape[1])
        kept = np.arange(len(rows)) if weights is None else np.flatnonzero(weights)
        weights = np.ones(len(rows)) if weights is None else weights[kept]
        side = len(kept) * (1 if kernel.decomposable else y.shape[1])
        if 8 * side**2 > self.max_bytes:
            raise ValueError(
                f"The exact kernel matrix of {len(kept)} points has {side} x {side} entries, "
                f"{8e-9 * side**2:.1f} GB, more than "
                f"max_bytes={self.max_bytes}. Use OperatorRidge, or raise max_bytes."
            )
        together = weights  # the weight that is left out with each row
        equal = equal_rows(LocalRows(rows.take(kept)), target.take(kept), weights)
        if (
            equal is not None
        ):  # one point for all equal rows: a kernel matrix with equal rows loses digits
            first = np.sort(equal.first)
            kept, weights = kept[first], equal.totals[equal.groups[first]]
            together = equal.left_out_weights()[first]
        self.X_fit_ = rows.take(kept)
        for name in ("alphas_", "loo_errors_"):
            self.__dict__.pop(name, None)
        (self._fit_decomposable if kernel.decomposable else self._fit_whole)(
            kernel, y[kept], weights, together
        )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """f(X), (n_samples, n_outputs), or (n_samples,) for one-dimensional y."""
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        n_outputs = self.dual_coef_.shape[1]
        row_bytes = 8 * len(self.dual_coef_) * (1 if self.kernel_.decomposable else n_outputs**2)
        outputs = rows.map(Block(self._predict_block, row_bytes=row_bytes), n_outputs)
        return outputs[:, 0] if self._one_dimensional else outputs

    def _predict_block(self, X, out):
        if self.kernel_.decomposable:
            out[...] = (
                self.kernel_.checked_prior().kernel(X, self.X_fit_)
                @ self.dual_coef_
                @ self.kernel_.matrix()
            )
        else:
            out[...] = np.tensordot(
                self.kernel_.kernel(X, self.X_fit_), self.dual_coef_, axes=([1, 3], [0, 1])
            )

    # With r = √h, (G + α / h) c = y is (r G r + α) z = r y for c = r z: the system of rows that
    # count once.

    def _fit_decomposable(self, kernel, y, weights, together):
        """Turned by the eigenvectors of A, outputs are ridges (k + α/t) z = y of their own; c = z /
        t.
        """
        root = np.sqrt(weights)[:, None]
        gram = (
            root * np.asarray(kernel.checked_prior().kernel(self.X_fit_), dtype=np.float64) * root.T
        )
        several = len(ridges(self.alpha)) > 1
        system = Eigensystem.of(gram, root * y) if several or kernel.learns_outputs else None
        known = None
        if system is not None:
            projections = np.sqrt(system.values)[:, None] * system.projections
            known = (system.values, projections, (weights[:, None] * y).T @ y, float(weights.sum()))
        covariance = np.atleast_2d(np.cov(y.T, bias=True, aweights=weights))
        self.kernel_ = kernel.resolved_outputs(covariance, known)
        outputs = DecoupledOutputs.of(self.kernel_.matrix())
        y = outputs.turned(y)
        alphas = ridges(self.alpha, outputs.mean_diagonal(np.diag(gram)) / weights.sum())
        if system is None:
            self.alpha_ = float(alphas[0])
            solution = ridge_solution(gram, root * y, outputs.penalties(self.alpha_))
        else:
            system = system.turned(outputs.vectors)
            design = system.vectors * np.sqrt(system.values) / root
            self.alpha_ = self._chosen(
                alphas, system, outputs.penalties, design, y, weights, together
            )
            solution = system.solution(outputs.penalties(self.alpha_))
        scaled = np.divide(
            solution, outputs.scales, out=root * y / self.alpha_, where=outputs.scales > 0
        )
        self.dual_coef_ = root * outputs.turned(scaled, back=True)

    def _fit_whole(self, kernel, y, weights, together):
        self.kernel_ = kernel
        root = np.repeat(np.sqrt(weights), y.shape[1])[:, None]
        gram = (
            root * kernel.kernel(self.X_fit_).transpose(0, 2, 1, 3).reshape(y.size, y.size) * root.T
        )
        alphas = ridges(self.alpha, np.trace(gram) / (y.shape[1] * weights.sum()))
        if len(alphas) == 1:
            self.alpha_ = float(alphas[0])
            self.dual_coef_ = (
                root * ridge_solution(gram, root * y.reshape(-1, 1), alphas)
            ).reshape(y.shape)
            return
        system = Eigensystem.of(gram, root * y.reshape(-1, 1))
        design = (system.vectors * np.sqrt(system.values) / root).reshape(*y.shape, -1)
        self.alpha_ = self._chosen(
            alphas, system, lambda alpha: np.array([alpha]), design, y, weights, together
        )
        self.dual_coef_ = (root * system.solution(np.array([self.alpha_]))).reshape(y.shape)

    def _chosen(self, alphas, system, penalties, design, y, weights, together):
        """Return the ridge with the smallest leave-one-out error.

        ``design`` are the rows of a root of the kernel matrix, ``together`` the weight that is left
        out with each row.
        """
        if len(alphas) == 1:
            return float(alphas[0])
        root = replace(system, projections=np.sqrt(system.values)[:, None] * system.projections)
        left_out = [
            left_out_residuals(design, y, root, penalties(alpha), together) for alpha in alphas
        ]
        errors = [
            np.average(np.mean(residuals**2, axis=1), weights=weights) for residuals in left_out
        ]
        self.alphas_, self.loo_errors_ = alphas, np.array(errors)
        return chosen_ridge(alphas, self.loo_errors_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
