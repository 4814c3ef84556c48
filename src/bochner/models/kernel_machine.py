"""KernelMachine: ridge regression with the closed-form kernel of a prior, exactly."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    as_generator,
    check_choice,
    check_count,
    check_flag,
    check_positive,
    refuse_class,
)
from .._estimator import CallbackSupportMixin, NestedDefaults, reporting, restore_on_failure
from .._loops.arrays import as_dense
from ..data import Block, LocalRows
from ..data.checks import check_rows, check_weights
from ..data.repetitions import draw_held_out, equal_rows, held_out_size
from ..data.targets import Values
from ..expansions.kernels import Effects, KernelExpansion, closed_form_gram
from ..priors import Laplace, SpectralPrior
from ..solvers.dual import (
    CholeskySystem,
    EigenPath,
    GramProducts,
    NystromPreconditioner,
    Solution,
    conjugate_gradients,
    largest_residual,
)
from .ridge.alphas import check_alphas

# Up to here a direct solution is a matter of seconds, and knows its leave-one-out errors.
_EXACT_ROWS = 4000
# Columns of the preconditioner: a quarter of all, between two numbers.
_NYSTROM = (100, 1000)
# Looser than this, float32 is precise enough for the kernel matrix of conjugate gradients.
_TOL_OF_FLOAT32 = 1e-4


class KernelMachine(CallbackSupportMixin, MultiOutputMixin, RegressorMixin, NestedDefaults):
    """Kernel ridge regression: minimizes Σ_i h_i ‖f(x_i) + b − y_i‖² + α ‖f‖² over the functions of
    a prior's closed-form kernel.

    The kernel is k(x, z) + Σ_j linear_j x_j z_j / d, and the intercept b is free. No features are
    sampled: this is what ``SpectralRidge`` tends to with more and more of them, for data whose
    kernel matrix is affordable.

    Parameters
    ----------
    prior : a prior of ``bochner.priors``, default None
        Its kernel is k; None is ``Laplace(gamma="scale")``. ``Evidence().learn_prior(Anova(), X, y,
        rng)`` gives one whose columns have rates and weights of their own.
    alpha : float or several, default (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
        The ridge. Of several the one with the smallest exact leave-one-out error is taken, all of
        them for one eigendecomposition (a row of weight h counts as h rows, one of which is left
        out); by conjugate gradients the one with the smallest error on held-out rows.
    linear : float or one per column, default 0.0
        Weight of the linear part.
    fit_intercept : bool, default True
        Whether there is a free constant b.
    solver : "auto", "cholesky" or "cg", default "auto"
        Direct, or by conjugate gradients with a Nyström preconditioner; "auto" is direct up to 4000
        rows if ``max_bytes`` allows it.
    max_bytes : int, default 2147483648
        Memory for kernel matrices, 2 GiB. A direct solution that needs more is refused before it is
        begun; conjugate gradients then compute the kernel anew for each product. Rows of Dask come
        to this machine where one kernel matrix of them is not larger.
    tol : float, default 1e-3
        Conjugate gradients stop at this residual of the linear system, relative to its right-hand
        side.
    max_iterations : int, default 200
        Steps of conjugate gradients at most; a ``ConvergenceWarning`` says so when they did not
        reach ``tol``.
    random_state : None, int, RandomState or Generator, default None
        For the columns of the preconditioner and the held-out rows of conjugate gradients.

    Attributes
    ----------
    expansion_ : KernelExpansion, the fitted function: values, derivatives, effects
    prior_ : the prior with numbers
    alpha_ : the ridge in use
    loo_errors_ : mean squared leave-one-out error of each of several ridges (direct solutions)
    held_out_errors_ : mean squared error of each of several ridges on held-out rows (conjugate
        gradients); infinite where not tried
    noise_variance_ : the most likely variance of the noise, for each output
    solver_ : "cholesky" or "cg"

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 6, 80)[:, None]
    >>> model = KernelMachine().fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.999)
    True
    """

    _defaults: ClassVar = {"prior": Laplace(gamma="scale")}

    def __init__(
        self,
        prior: SpectralPrior | None = None,
        *,
        # Several by default: one ridge fits no two data sets, and choosing among six costs no more
        # than an eigendecomposition.
        alpha: Any = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0),
        linear: Any = 0.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        max_bytes: int = 2**31,
        tol: float = 1e-3,
        max_iterations: int = 200,
        random_state: Any = None,
    ):
        self.prior = prior
        self.alpha = alpha
        self.linear = linear
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_bytes = max_bytes
        self.tol = tol
        self.max_iterations = max_iterations
        self.random_state = random_state

    @restore_on_failure
    @reporting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve for the coefficients of the training rows; sparse rows are made dense, rows of
        weight zero are left out.
        """
        alphas = self._checked_parameters()
        several = len(alphas) > 1
        data = check_rows(self, X, reset=True)
        if not data.is_local:
            data = self._brought_here(data)
        values = Values.of(y, len(data), owner=type(self).__name__)
        weights = check_weights(sample_weight, len(data))
        self._one_dimensional, targets = values.one_dimensional, values.rows
        self.prior_ = self._component("prior").resolved(data, weights)
        X = self._dense(data.source)
        kept = np.ones(X.shape[0], dtype=bool) if weights is None else weights > 0
        rows = X if kept.all() else X[kept]
        self._targets = np.ascontiguousarray(targets[kept])
        self._weights = np.ones(len(rows)) if weights is None else weights[kept]
        equal = equal_rows(LocalRows(rows), values.take(kept), self._weights)
        # Copies of a row are left out with it.
        self._left_out_share = 1.0 if equal is None else equal.left_out_weights() / self._weights
        self.solver_ = self._chosen_solver(len(rows))
        for name in ("loo_errors_", "held_out_errors_"):
            self.__dict__.pop(name, None)
        # Made when first asked for.
        self._system: CholeskySystem | None = None
        self._left_out: np.ndarray | None = None
        if self.solver_ == "cholesky":
            self._store(rows, self._solve_directly(rows, alphas, several))
        else:
            self._store(rows, self._solve_iteratively(rows, alphas, several, equal))
        # Rows of weight zero take no part: their predictions are those without them already.
        self._absent = None if weights is None else (~kept, self.expansion_.evaluate(X[~kept]))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictions, and with ``return_std`` the standard deviation of an observation (of weight
        one) around them.

        The deviation is that of the Gaussian process which the ridge is the mean of, with the most
        likely noise; it needs a direct solution.
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        mean = self._shaped(self.expansion_.evaluate(rows))
        if not return_std:
            return mean
        system = self._direct_system("Standard deviations need")
        block = Block(
            self._variance_block, system, self._points(), row_bytes=16 * len(self.expansion_)
        )
        variance = rows.map(block, dtype=np.float64)
        deviation = np.sqrt(
            np.atleast_1d(self.noise_variance_) * (1 + variance[:, None] / self.alpha_)
        )
        return mean, self._shaped(deviation)

    def _variance_block(self, system, points, X, out):
        X = as_dense(X).astype(np.float64)
        at_zero = closed_form_gram(self.prior_, np.zeros((1, X.shape[1])))[0, 0]
        out[...] = system.variance(self._gram(X, points), at_zero + X**2 @ self._linear)

    def leave_one_out(self) -> np.ndarray:
        """Return the exact prediction of each training row by the fit without it and its copies
        (same prior and ridge).
        """
        check_is_fitted(self)
        if self._left_out is None:
            system = self._direct_system("Exact leave-one-out predictions need")
            self._left_out = system.left_out(
                np.asarray(self.expansion_.coefficients), self._left_out_share
            )
        known = self._targets - self._left_out
        if self._absent is None:
            return self._shaped(known)
        absent, predicted = self._absent
        predictions = np.empty((len(absent), known.shape[1]))
        predictions[~absent], predictions[absent] = known, predicted
        return self._shaped(predictions)

    def jacobian(self, X: Any) -> np.ndarray:
        """∂f/∂x, (n_samples, n_outputs, n_features), or (n_samples, n_features) for one-dimensional
        y; see ``KernelExpansion``.
        """
        check_is_fitted(self)
        slopes = self.expansion_.jacobian(check_rows(self, X, reset=False))
        return slopes[:, 0] if self._one_dimensional else slopes

    def effects(self, X: Any, max_order: int = 2) -> Effects:
        """The prediction as a sum of main effects, pairs and the rest, for product kernels; see
        ``KernelExpansion``.
        """
        check_is_fitted(self)
        return self.expansion_.effects(check_rows(self, X, reset=False), max_order)

    @property
    def intercept_(self) -> Any:
        """The intercept, one number for each output."""
        return (
            float(self.expansion_.intercept[0])
            if self._one_dimensional
            else self.expansion_.intercept
        )

    # --- checks -----------------------------------------------------------------------------------

    def _checked_parameters(self):
        check_choice(self.solver, "solver", ("auto", "cholesky", "cg"))
        check_flag(self.fit_intercept, "fit_intercept")
        check_count(self.max_bytes, "max_bytes")
        check_count(self.max_iterations, "max_iterations")
        check_positive(self.tol, "tol")
        refuse_class(self.prior, "prior")
        if self.prior is not None and not isinstance(self.prior, SpectralPrior):
            raise TypeError(
                f"prior must be a prior such as Laplace(gamma=1.0), got {self.prior!r}."
            )
        return check_alphas(self.alpha)

    def _dense(self, X):
        n_features = X.shape[1]
        linear = np.asarray(self.linear, dtype=np.float64)
        if (
            linear.shape not in ((), (n_features,))
            or not np.all(np.isfinite(linear))
            or np.any(linear < 0)
        ):
            raise ValueError(
                f"linear must be one non-negative number, or one for each of {n_features} columns, "
                f"got {self.linear!r}."
            )
        self._linear = np.broadcast_to(linear / n_features, (n_features,))
        if not sp.issparse(X):
            return X
        n_bytes = X.dtype.itemsize * X.shape[0] * n_features
        if n_bytes > self.max_bytes:
            raise ValueError(
                f"Sparse rows are made dense, and {X.shape[0]} x {n_features} numbers are "
                f"{n_bytes / 1e9:.1f} GB, more than "
                f"max_bytes={self.max_bytes}. Use SpectralRidge, whose features keep rows sparse, "
                "or raise max_bytes."
            )
        return X.toarray()

    def _brought_here(self, data):
        """Rows of a cluster, which are the points of the expansion: as many as one kernel matrix
        may have.
        """
        needed = 8 * len(data) ** 2
        if needed > self.max_bytes:
            raise TypeError(
                f"KernelMachine keeps all rows on this machine, but X has {len(data)} of them in a "
                "Dask collection, whose kernel "
                f"matrix has {needed / 1e9:.1f} GB, more than max_bytes={self.max_bytes}. Use "
                "SpectralRidge, or raise max_bytes."
            )
        return LocalRows(data.take(np.arange(len(data))), data.block_size)

    def _chosen_solver(self, n_rows):
        needed = 3 * 8 * n_rows**2  # the matrix, and what LAPACK needs for its eigenvectors
        if self.solver == "cg" or (
            self.solver == "auto" and (n_rows > _EXACT_ROWS or needed > self.max_bytes)
        ):
            return "cg"
        if needed > self.max_bytes:
            raise ValueError(
                f"A direct solution for {n_rows} rows needs three matrices of {n_rows} x {n_rows}, "
                f"{needed / 1e9:.1f} GB, more than "
                f"max_bytes={self.max_bytes}. Write solver='cg', or raise max_bytes."
            )
        return "cholesky"

    # --- solutions --------------------------------------------------------------------------------

    def _gram(self, X, Z=None):
        """Kernel and linear part in float64."""
        gram = closed_form_gram(self.prior_, X, Z)
        if np.any(self._linear):
            gram += (X * self._linear) @ (X if Z is None else Z).T
        return gram

    def _solve_directly(self, X, alphas, several):
        X = np.ascontiguousarray(X, dtype=np.float64)
        self.alpha_ = float(alphas[0])
        if not several:
            self._system = CholeskySystem(
                self._gram(X), self._weights, self.alpha_, self.fit_intercept
            )
            return self._system.solve(self._targets)
        if len(X) < 2:
            raise ValueError(
                f"A choice between {len(alphas)} ridges needs rows to leave out, got n_samples = "
                f"{len(X)}. Write one, e.g. alpha=1.0."
            )
        path = EigenPath(self._gram(X), self._targets, self._weights, self.fit_intercept)
        self.loo_errors_ = np.empty(len(alphas))
        best = None
        for index, alpha in enumerate(alphas):
            solution = path.solve(alpha, self._left_out_share)
            self.loo_errors_[index] = self._mean_squares(solution.left_out, self._weights)
            if best is None or self.loo_errors_[index] < self.loo_errors_[:index].min():
                best, self.alpha_, self._left_out = solution, float(alpha), solution.left_out
        return best

    def _solve_iteratively(self, X, alphas, several, equal):
        rng = as_generator(self.random_state)
        X = np.ascontiguousarray(X, dtype=np.float32 if self.tol >= _TOL_OF_FLOAT32 else np.float64)
        self.alpha_ = float(alphas[0])
        if several:
            self.held_out_errors_ = self._held_out_errors(X, alphas, equal, rng)
            self.alpha_ = float(alphas[np.argmin(self.held_out_errors_)])
        products, preconditioner = self._iteration_parts(X, self._weights, rng)
        solution, _ = self._iterate(
            products, preconditioner, self.alpha_, self._targets, self._weights
        )
        return solution

    def _iteration_parts(self, X, weights, rng):
        products = GramProducts(self.prior_, X, self._linear, self.max_bytes)
        affordable = max(1, self.max_bytes // (4 * X.itemsize * len(X)))
        n_columns = min(max(len(X) // 4, _NYSTROM[0]), _NYSTROM[1], affordable, len(X))
        rows = np.sort(rng.choice(len(X), n_columns, replace=False))
        return products, NystromPreconditioner.of(products, rows, weights)

    def _iterate(self, products, preconditioner, alpha, targets, weights, start=None):
        """A solution by conjugate gradients for the targets and, where there is an intercept, for a
        column of ones.
        """
        center = (
            np.average(targets, axis=0, weights=weights)
            if self.fit_intercept
            else np.zeros(targets.shape[1])
        )
        rows = np.vstack([(targets - center).T, np.ones((int(self.fit_intercept), len(targets)))])
        solved = conjugate_gradients(
            products,
            alpha / weights,
            rows,
            preconditioner.at(alpha),
            self.tol,
            self.max_iterations,
            start,
        )
        residual = largest_residual(products, alpha / weights, rows, solved)
        # Measured anew a residual is a little larger than the one that was followed.
        if residual > 2 * self.tol:
            warnings.warn(
                f"Conjugate gradients reached a relative residual of {residual:.1e} instead of "
                f"tol={self.tol:.1e} for "
                f"alpha={alpha:.1e}. Write a larger alpha, a larger tol, or more max_iterations.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if not self.fit_intercept:
            return Solution(solved.T, np.zeros(targets.shape[1])), solved
        shift = solved[:-1].sum(axis=1) / solved[-1].sum()
        return Solution((solved[:-1] - shift[:, None] * solved[-1]).T, center + shift), solved

    def _held_out_errors(self, X, alphas, equal, rng):
        """Mean squared error of each ridge on rows that it was not fitted on; from strong ridges to
        weak, each starts from the last.

        Weaker ones than the first that is worse than the one before it are not tried, because they
        take the most steps: infinite.
        """
        n_held = held_out_size(len(X), 2)
        if n_held == 0:
            raise ValueError(
                f"A choice between {len(alphas)} ridges needs rows to hold out, got n_samples = "
                f"{len(X)}."
            )
        held = draw_held_out(equal, len(X), n_held, rng)
        inner = np.setdiff1d(np.arange(len(X)), held)
        products, preconditioner = self._iteration_parts(X[inner], self._weights[inner], rng)
        errors, start, last = np.full(len(alphas), np.inf), None, np.inf
        for index in np.argsort(-alphas):
            solution, start = self._iterate(
                products,
                preconditioner,
                float(alphas[index]),
                self._targets[inner],
                self._weights[inner],
                start,
            )
            predictions = self._expansion(X[inner], solution, X.dtype).evaluate(X[held])
            errors[index] = self._mean_squares(
                self._targets[held] - predictions, self._weights[held]
            )
            if errors[index] > last:
                break
            last = errors[index]
        return errors

    def _mean_squares(self, residuals, weights):
        return float(np.sum(weights[:, None] * residuals**2) / (weights.sum() * residuals.shape[1]))

    def _expansion(self, X, solution, dtype):
        slopes = self._linear[:, None] * (X.T.astype(np.float64) @ solution.dual)
        return KernelExpansion(
            self.prior_, X, solution.dual.astype(dtype), slopes, solution.intercept
        )

    def _store(self, X, solution):
        single = self.solver_ == "cg" and self.tol >= _TOL_OF_FLOAT32
        self.expansion_ = self._expansion(X, solution, np.float32 if single else np.float64)
        # The most likely noise of the Gaussian process is α (y − b)ᵀ(K + α / h)⁻¹(y − b) / Σ h.
        explained = np.sum((self._targets - solution.intercept) * solution.dual, axis=0)
        noise = np.maximum(self.alpha_ * explained, 0.0) / self._weights.sum()
        self.noise_variance_ = float(noise[0]) if self._one_dimensional else noise

    def _points(self):
        return np.asarray(self.expansion_.points, dtype=np.float64)

    def _direct_system(self, what):
        """The factor of K + α / h, made when first asked for."""
        if self.solver_ != "cholesky":
            raise ValueError(
                f"{what} a direct solution; this one is by conjugate gradients. Fit with "
                "solver='cholesky'."
            )
        if self._system is None:
            self._system = CholeskySystem(
                self._gram(self._points()), self._weights, self.alpha_, self.fit_intercept
            )
        return self._system

    def _shaped(self, values):
        return values[:, 0] if self._one_dimensional else values

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
